/*
 * fuzz_trace_spc.c - any bytes as a trace of SPC: however it is cut, the same comes of it.
 */
#include "fuzz.h"
#include "trace_bench.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bench_hold(TRACE_SPC, (const char *)data, size);
	return 0;
}
