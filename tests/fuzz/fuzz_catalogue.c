/*
 * fuzz_catalogue.c - any bytes as a catalogue of drives: refused in words and by line, or read, and then nothing is
 * wrong with any of them; and as a pool of the drives that are built in.
 */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "place/catalogue_read.h"
#include "read_bench.h"

static void
read_pool(struct arena *arena, const char *text, size_t size)
{
	struct csv_said said = { 0 }, ours = { 0 };
	const char *built_in = catalogue_texts[0].text;
	struct catalogue catalogue;
	struct catalogue_pool pool;

	assert(catalogue_read(&catalogue, arena, built_in, strlen(built_in), &catalogue_terms_usual, &ours) == 0);
	if (catalogue_pool_read(&pool, arena, text, size, &catalogue, &said) == 0)
		assert(pool.count > 0 && pool.list[0].count > 0 && pool.list[0].worn_gb >= 0);
	read_said_is_sound(&said, text, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct csv_said said = { 0 };
	struct catalogue catalogue;
	struct arena arena;

	arena_init(&arena, 0);
	if (catalogue_read(&catalogue, &arena, (const char *)data, size, &catalogue_terms_usual, &said) == 0) {
		for (uint32_t i = 0; i < catalogue.count; i++)
			assert(disk_model_wrong(&catalogue.list[i].disk) == NULL);
		assert(catalogue.count > 0 && said.wrong.count == 0);
	} else {
		assert(said.wrong.count > 0);
	}
	read_said_is_sound(&said, (const char *)data, size);
	read_pool(&arena, (const char *)data, size);
	arena_drop(&arena);
	return 0;
}
