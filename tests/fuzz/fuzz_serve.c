/*
 * fuzz_serve.c - a whole target with few buffers, and hosts who do anything:
 * nobody else is harmed, and nothing is left of them.
 */
#include <assert.h>

#include "fuzz.h"
#include "script.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script_end end = script_play(data, size);

	assert(end.served && end.nothing_left);
	return 0;
}
