/*
 * configured.c - a configuration with the memory it lies in, and whether one can follow another at its addresses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "refuse.h"
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

/* New addresses are listened at before the old ones are given up, so that it can fail without a loss. */
static int
fits(const struct conf *now, const struct conf_listener *next, char why[256])
{
	const struct conf_listener *other = NULL;
	char text[CONF_ADDRESS_TEXT], had[CONF_ADDRESS_TEXT];

	for (uint32_t i = 0; i < now->listener_count; i++) {
		const struct conf_listener *l = &now->listeners[i];

		if (!conf_addresses_meet(&l->address, &next->address))
			continue;
		if (strcmp(l->address.host, next->address.host) == 0)
			return 0; /* it stays */
		other = l;
	}
	if (other == NULL)
		return 0;
	conf_address_text(&next->address, text);
	conf_address_text(&other->address, had);
	return refuse(why, -EADDRINUSE, "cannot listen on %s while %s is listened on: take that away in one change, "
	    "and bring this in the next", text, had);
}

int
configured_listens(const struct conf *now, const struct conf *next, char why[256])
{
	int rc = 0;

	for (uint32_t i = 0; i < next->listener_count && rc == 0; i++)
		rc = fits(now, &next->listeners[i], why);
	return rc;
}
