/*
 * fuzz_trace_vscsi.c - any bytes as a trace of vscsi as CSV: however it is cut, the same comes of it.
 */
#include "fuzz.h"
#include "trace_bench.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bench_hold(TRACE_VSCSI, (const char *)data, size);
	return 0;
}
