#include "trace/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { SECTOR = 512, FILETIME_NS = 100 };

#define SECOND_NS UINT64_C(1000000000)
#define FILETIME_2020 UINT64_C(132223104000000000) /* since 1601: a FILETIME of 0 is no time of anybody's */

const char *
trace_write_heading(enum trace_format format)
{
	return format == TRACE_VSCSI ? "version,time,op,size,lbn\n" : "";
}

size_t
trace_write(enum trace_format format, const struct trace_request *request, uint64_t number, char text[TRACE_WRITE_MAX])
{
	uint64_t sector = request->offset / SECTOR, seconds = request->time_ns / SECOND_NS;
	uint64_t ns = request->time_ns % SECOND_NS;
	uint32_t sectors = request->bytes / SECTOR, volume = request->volume;
	bool writes = request->is_write;
	int length = 0;

	switch (format) {
	case TRACE_MSR:
		length = snprintf(text, TRACE_WRITE_MAX, "%" PRIu64 ",weir,%" PRIu32 ",%s,%" PRIu64 ",%" PRIu32
		    ",0\n", FILETIME_2020 + request->time_ns / FILETIME_NS, volume, writes ? "Write" : "Read",
		    request->offset, request->bytes);
		break;
	case TRACE_SPC:
		length = snprintf(text, TRACE_WRITE_MAX, "%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%s,%" PRIu64 ".%09"
		    PRIu64 "\n", volume, sector, request->bytes, writes ? "W" : "R", seconds, ns);
		break;
	case TRACE_FIU:
		length = snprintf(text, TRACE_WRITE_MAX, "%" PRIu64 " 1 weir %" PRIu64 " %" PRIu32 " %s 8 %" PRIu32
		    "\n", request->time_ns, sector, sectors, writes ? "W" : "R", volume);
		break;
	case TRACE_SSDSIM:
		length = snprintf(text, TRACE_WRITE_MAX, "%" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %d\n",
		    request->time_ns, volume, sector, sectors, writes ? 0 : 1);
		break;
	case TRACE_VSCSI: /* of one volume alone */
		length = snprintf(text, TRACE_WRITE_MAX, "1,%" PRIu64 ".%09" PRIu64 ",%s,%" PRIu32 ",%" PRIu64 "\n",
		    seconds, ns, writes ? "2a" : "28", request->bytes, sector);
		break;
	case TRACE_BLKPARSE:
		length = snprintf(text, TRACE_WRITE_MAX, "  8,%-3" PRIu32 " 0 %8" PRIu64 " %5" PRIu64 ".%09" PRIu64
		    "     1  Q %3s %" PRIu64 " + %" PRIu32 " [weir]\n", volume, number + 1, seconds, ns,
		    writes ? "W" : "R", sector, sectors);
		break;
	case TRACE_FORMATS:
		assert(false);
	}
	assert(length > 0 && length < TRACE_WRITE_MAX);
	return (size_t)length;
}
