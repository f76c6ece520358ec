/*
 * fuzz_conf.c - any bytes as a configuration: refused in words and by line, or
 * accepted, and then printed and read again it is the same and changes nothing.
 */
#include "conf/diff.h"

#include <string.h>

#include "conf_bench.h"
#include "fuzz.h"

static void
tell(void *arg, const struct conf_change *change)
{
	(void)arg;
	assert(change->text[0] == '+' || change->text[0] == '-' || change->text[0] == '~');
}

static void
accepted(const struct conf *conf)
{
	struct arena texts, arena;
	struct conf_errors errors;
	size_t bytes, again_bytes;
	char *text, *again_text;
	struct conf *again;
	int error;

	arena_init(&texts, 0);
	arena_init(&arena, 0);
	text = conf_printed(&texts, conf, &bytes);
	error = conf_parse(&arena, text, bytes, &again, &errors);
	assert(error == 0 && conf_difference(conf, again) == NULL);
	assert(conf_diff(conf, again, tell, NULL) == 0);
	again_text = conf_printed(&texts, again, &again_bytes);
	assert(bytes == again_bytes && memcmp(text, again_text, bytes) == 0);
	arena_drop(&arena);
	arena_drop(&texts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_errors errors;
	struct arena arena;
	struct conf *conf;
	int error;

	arena_init(&arena, 0);
	error = conf_parse(&arena, (const char *)data, size, &conf, &errors);
	if (error == 0)
		accepted(conf);
	else
		conf_errors_are_sound(&errors, size);
	arena_drop(&arena);
	return 0;
}
