#include "trace/reader.h"

const char *const trace_format_names[TRACE_FORMATS] = {
	[TRACE_MSR] = "msr",       [TRACE_SPC] = "spc",     [TRACE_FIU] = "fiu",
	[TRACE_SSDSIM] = "ssdsim", [TRACE_VSCSI] = "vscsi", [TRACE_BLKPARSE] = "blkparse",
};
