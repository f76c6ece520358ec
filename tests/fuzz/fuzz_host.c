/*
 * fuzz_host.c - any bytes to the host's side of a connection: it neither
 * breaks nor minds how they are cut.
 */
#include <assert.h>

#include "fuzz.h"
#include "streams.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = play_host(data, size, size > 0 ? size : 1);
	struct outcome pieces = play_host(data, size, 7);

	assert(whole.fes == pieces.fes && whole.fei == pieces.fei);
	assert(whole.events == pieces.events && whole.hash == pieces.hash);
	return 0;
}
