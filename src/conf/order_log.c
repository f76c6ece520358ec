/* order_log.c - where the log of ordered writes is. */
#include "conf/internal.h"

#include <string.h>

#include "base/size.h"

const char *
conf_order_path(const char *place)
{
	static const char file[] = "file:";
	size_t length = sizeof(file) - 1;

	return strncmp(place, file, length) == 0 && place[length] == '/' && strlen(place) < CONF_SPEC ?
	    place + length : NULL;
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
	const char *text;

	if (log == NULL || !map_read(r, log, "`order_log`", keys, COUNT_OF(keys), 1, values))
		return;
	slots_read(r, values[1]);
	text = scalar_text(r, values[0], "place");
	if (text != NULL && conf_order_path(text) == NULL)
		complain(r->errors, values[0]->line,
		    "the place of `order_log` is file:PATH, with an absolute path, not %s", quote(text).text);
	else if (text != NULL)
		r->conf->order_log.place = reader_strdup(r, text);
}
