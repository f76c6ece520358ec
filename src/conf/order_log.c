/* order_log.c - where the log of ordered writes is. */
#include "conf/internal.h"

#include <string.h>

#include "base/size.h"

const char *
conf_order_path(const char *place, enum conf_order_kind *kind)
{
	static const char *const kinds[] = {
		[CONF_ORDER_FILE] = "file:", [CONF_ORDER_MEMORY] = "memory:", [CONF_ORDER_PERSISTENT] = "persistent:",
	};

	for (unsigned i = 0; i < COUNT_OF(kinds); i++) {
		size_t length = strlen(kinds[i]);

		if (strncmp(place, kinds[i], length) != 0)
			continue;
		*kind = (enum conf_order_kind)i;
		return place + length;
	}
	return NULL;
}

static void
slots_read(struct reader *r, const struct node *node)
{
	uint64_t slots;
	const char *text = node != NULL ? scalar_text(r, node, "slots") : NULL;

	if (text == NULL)
		return;
	if (!size_parse(text, &slots) || !conf_order_slots(slots))
		complain(r->errors, node->line, "`slots` is a power of two, 1024 to 16M, not %s", quote(text).text);
	else
		r->conf->order_log.slots = (uint32_t)slots;
}

void
order_log_read(struct reader *r, const struct node *log)
{
	static const char *const keys[] = { "place", "slots" };
	const struct node *values[COUNT_OF(keys)];
	enum conf_order_kind kind;
	const char *text, *path;

	if (log == NULL || !map_read(r, log, "`order_log`", keys, COUNT_OF(keys), 1, values))
		return;
	slots_read(r, values[1]);
	text = scalar_text(r, values[0], "place");
	path = text != NULL ? conf_order_path(text, &kind) : NULL;
	if (text != NULL && (path == NULL || path[0] != '/'))
		complain(r->errors, values[0]->line,
		    "the place of `order_log` is file:, memory: or persistent: and an absolute path, not %s",
		    quote(text).text);
	else if (text != NULL && strlen(text) >= CONF_SPEC)
		complain(r->errors, values[0]->line, "the place of `order_log` has %d bytes at most, not %zu",
		    CONF_SPEC - 1, strlen(text));
	else if (text != NULL)
		r->conf->order_log.place = reader_strdup(r, text);
}
