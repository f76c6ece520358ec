/*
 * fuzz_trace_msr.c - any bytes as a trace of MSR Cambridge: however it is cut, the same comes of it.
 */
#include "fuzz.h"
#include "trace_bench.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bench_hold(TRACE_MSR, (const char *)data, size);
	return 0;
}
