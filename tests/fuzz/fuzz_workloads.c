/*
 * fuzz_workloads.c - any bytes as a file of workloads: refused in words and by line, or read, and then nothing is wrong
 * with any of them.
 */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "place/workloads_read.h"
#include "read_bench.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct csv_said said = { 0 };
	struct workloads workloads;
	struct arena arena;

	arena_init(&arena, 0);
	if (workloads_read(&workloads, &arena, (const char *)data, size, &said) == 0) {
		assert(said.wrong.count == 0 && workloads.count > 0);
		for (uint32_t i = 0; i < workloads.count; i++)
			assert(workload_wrong(&workloads.list[i]) == NULL && workloads.list[i].name[0] != '\0');
	} else {
		assert(said.wrong.count > 0);
	}
	read_said_is_sound(&said, (const char *)data, size);
	arena_drop(&arena);
	return 0;
}
