/*
 * fuzz_target.c - any bytes to the target's side of a connection: it neither
 * breaks nor minds how they are cut, and what it sends is what it has to say.
 */
#include <assert.h>

#include "fuzz.h"
#include "streams.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = play_target(data, size, size > 0 ? size : 1);
	struct outcome pieces = play_target(data, size, 7);

	assert(whole.fes == pieces.fes && whole.fei == pieces.fei);
	assert(whole.events == pieces.events && whole.hash == pieces.hash);
	return 0;
}
