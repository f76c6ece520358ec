/*
 * fuzz_trace_fiu.c - any bytes as a trace of FIU: however it is cut, the same comes of it.
 */
#include "fuzz.h"
#include "trace_bench.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bench_hold(TRACE_FIU, (const char *)data, size);
	return 0;
}
