/*
 * volume.c - the volume of a namespace: its kind, its path, its size.
 *
 * What a kind means, and whether a file is there, is for those who open it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/internal.h"

enum { VOLUME_BYTES_MIN = 1024 * 1024 };

static bool
is_flash(const char *volume)
{
	return strncmp(volume, "flash:", 6) == 0;
}

/* What is behind all filters; NULL: nothing is.  A modelled drive is one where its contents are another volume's. */
static const char *
without_filters(const char *volume)
{
	for (;;) {
		bool faults = strncmp(volume, "fault:", 6) == 0;
		const char *at = strchr(volume, '@');

		if (!faults && strncmp(volume, "volatile:", 9) != 0 && (!is_flash(volume) || at == NULL))
			return volume;
		if (at == NULL || (faults && at == volume + 6))
			return NULL;
		volume = at + 1;
	}
}

static bool
in_memory(const char *volume)
{
	return strcmp(volume, "mem") == 0 || strcmp(volume, "null") == 0;
}

const char *
volume_path(const char *volume)
{
	const char *inner = without_filters(volume);

	return inner != NULL && strncmp(inner, "file:", 5) == 0 ? inner + 5 : NULL;
}

bool
volume_forgets(const char *volume)
{
	const char *inner = without_filters(volume);

	return inner != NULL && (strcmp(inner, "mem") == 0 || is_flash(inner));
}

static bool
volume_check(struct reader *r, const struct node *node, const char *volume)
{
	const char *inner = without_filters(volume), *option;
	struct quoted q = quote(volume);

	if (strlen(volume) > CONF_VOLUME_MAX)
		complain(r->errors, node->line, "a volume's text has %d bytes at most, not %zu: %s", CONF_VOLUME_MAX,
		    strlen(volume), q.text);
	else if (inner == NULL)
		complain(r->errors, node->line,
		    "%s: a filter is written fault:FAULT@VOLUME or volatile:OPTIONS@VOLUME", q.text);
	else if (is_flash(inner) && inner[6] != '\0' && inner[6] != ',' && strstr(inner, ",size=") == NULL)
		return true;
	else if (is_flash(inner))
		complain(r->errors, node->line,
		    "%s: a modelled drive is written flash:PROFILE[,OPTION...], and the size stands in `size`", q.text);
	else if (strncmp(inner, "mem:", 4) == 0 || strncmp(inner, "null:", 5) == 0)
		complain(r->errors, node->line, "%s: it is `%.*s` alone, and the size stands in `size`", q.text,
		    (int)strcspn(inner, ":"), inner);
	else if (strncmp(inner, "file:", 5) != 0 && !in_memory(inner))
		complain(r->errors, node->line,
		    "%s is not a volume; there are mem, null, file:PATH, flash:PROFILE, fault:FAULT@VOLUME and "
		    "volatile:OPTIONS@VOLUME", q.text);
	else if (!in_memory(inner) && (inner[5] != '/' || inner[6] == '\0'))
		complain(r->errors, node->line, "%s: the path of a file begins with / and goes on", q.text);
	else if ((option = strrchr(inner, ',')) != NULL && strncmp(option, ",size=", 6) == 0)
		complain(r->errors, node->line, "%s: the size stands in `size`", q.text);
	else
		return true;
	return false;
}

static void
size_read(struct reader *r, const struct node *node, struct conf_ns *ns)
{
	const char *text = scalar_text(r, node, "size");
	uint64_t bytes;

	if (text == NULL)
		return;
	if (!size_parse(text, &bytes))
		complain(r->errors, node->line, "`size` is a number with K, M, G or T, like 10G, not %s",
		    quote(text).text);
	else if (bytes < VOLUME_BYTES_MIN)
		complain(r->errors, node->line, "`size` is 1M at least, not %s", quote(text).text);
	else if (bytes > INT64_MAX)
		complain(r->errors, node->line, "`size`: %s is too large", quote(text).text);
	else if (bytes % ns->block_size != 0)
		complain(r->errors, node->line, "`size` is a multiple of the block size, %u, which %s is not",
		    ns->block_size, quote(text).text);
	else
		ns->size = bytes;
}

void
volume_read(struct reader *r, const struct node *volume, const struct node *size, struct conf_ns *ns)
{
	const char *text = scalar_text(r, volume, "volume");

	size_read(r, size, ns);
	if (text == NULL || !volume_check(r, volume, text))
		return;
	if (size == NULL && volume_path(text) == NULL)
		complain(r->errors, volume->line, "%s needs `size`", quote(text).text);
	ns->volume = reader_strdup(r, text);
}

static bool
pool_check(struct reader *r, const struct node *node, const char *text)
{
	if (strcmp(text, "mem") == 0)
		return true;
	if (strncmp(text, "file:/", 6) != 0 || text[6] == '\0')
		complain(r->errors, node->line,
		    "hosts make namespaces in mem or in file:FOLDER, a path that begins with / and goes on, not in %s",
		    quote(text).text);
	else if (strlen(text) > CONF_POOL_MAX)
		complain(r->errors, node->line, "the volume of `host_namespaces` has %d bytes at most, not %zu",
		    CONF_POOL_MAX, strlen(text));
	else if (strchr(text, ',') != NULL)
		complain(r->errors, node->line, "%s: the name of a folder for volumes has no comma", quote(text).text);
	else if (r->conf->state_dir == NULL)
		complain(r->errors, node->line,
		    "namespaces in files need a `state_dir`, where it is kept which there are");
	else
		return true;
	return false;
}

void
pool_read(struct reader *r, const struct node *map, struct conf_subsys *subsys)
{
	static const char *const keys[] = { "volume", "size", "count" };
	struct conf_ns all = { .block_size = 4096 };
	const struct node *values[COUNT_OF(keys)];
	const char *text;

	if (map == NULL || !map_read(r, map, "`host_namespaces`", keys, COUNT_OF(keys), 2, values))
		return;
	text = scalar_text(r, values[0], keys[0]);
	size_read(r, values[1], &all);
	if (text == NULL || !pool_check(r, values[0], text))
		return;
	subsys->pool_count = CONF_DEFAULT_POOL_COUNT;
	number_read(r, values[2], keys[2], 1, CONF_NS_MAX, &subsys->pool_count);
	r->ns_all += subsys->pool_count;
	if (r->ns_all > CONF_NS_ALL_MAX)
		complain(r->errors, map->line,
		    "more than %d namespaces in the file, with those that hosts may make (`count`)",
		    CONF_NS_ALL_MAX);
	subsys->pool = reader_strdup(r, text);
	subsys->pool_size = all.size;
}

void
conf_volume_spec(const struct conf_ns *ns, char spec[CONF_SPEC])
{
	const char *inner = without_filters(ns->volume);
	bool comma = volume_path(ns->volume) != NULL || (inner != NULL && is_flash(inner));
	const char *before = comma ? ",size=" : ":";

	if (ns->size == 0)
		snprintf(spec, CONF_SPEC, "%s", ns->volume);
	else
		snprintf(spec, CONF_SPEC, "%s%s%" PRIu64, ns->volume, before, ns->size);
}
