/*
 * configured.c - a configuration with the memory it lies in.
 */
#include <stdlib.h>

#include "serving.h"

struct configured *
configured_make(void)
{
	struct configured *configured = calloc(1, sizeof(*configured));

	if (configured != NULL)
		arena_init(&configured->arena, 0);
	return configured;
}

void
configured_drop(struct configured *configured)
{
	if (configured == NULL)
		return;
	arena_drop(&configured->arena);
	free(configured);
}
