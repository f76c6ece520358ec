/*
 * value.c - what a node says: a mapping's keys, a list's length, and scalars of each kind.
 *
 * Whatever is wrong is complained about here, with the key and what would be
 * right; the caller goes on with what it had.
 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/internal.h"

bool
reader_done(const struct reader *r)
{
	return r->no_memory || r->errors->more;
}

void *
reader_alloc(struct reader *r, size_t count, size_t bytes)
{
	void *memory = r->no_memory ? NULL : arena_alloc(r->arena, count * bytes);

	if (memory == NULL)
		r->no_memory = true;
	return memory;
}

const char *
reader_strdup(struct reader *r, const char *text)
{
	char *copy = reader_alloc(r, strlen(text) + 1, 1);

	if (copy != NULL)
		memcpy(copy, text, strlen(text) + 1);
	return copy;
}

/* ---- mappings and lists ---- */

/* Answers the index of the key that seems to be meant, or `count`. */
static unsigned
unknown_key(struct reader *r, const struct node *key, const char *what, const char *const *keys, unsigned count)
{
	unsigned meant = nearest(key->text, keys, count);

	if (meant < count)
		complain(r->errors, key->line, "%s has no key %s; `%s` is meant?", what, quote(key->text).text,
		    keys[meant]);
	else
		complain(r->errors, key->line, "%s has no key %s; there is %s", what, quote(key->text).text,
		    wordlist(keys, count).text);
	return meant;
}

bool
map_read(struct reader *r, const struct node *map, const char *what, const char *const *keys, unsigned count,
    unsigned required, const struct node **values)
{
	uint32_t misspelt = 0; /* of those that must be there: one complaint is enough */

	assert(required <= 32);
	for (unsigned i = 0; i < count; i++)
		values[i] = NULL;
	if (map->kind != NODE_MAP) {
		complain(r->errors, map->line, "%s is keys with values, like `%s: ...`", what, keys[0]);
		return false;
	}
	for (const struct node *key = map->first; key != NULL && !reader_done(r); key = key->next->next) {
		unsigned i = 0;

		if (key->kind != NODE_SCALAR) {
			complain(r->errors, key->line, "a key of %s is not a word", what);
			continue;
		}
		while (i < count && strcmp(keys[i], key->text) != 0)
			i++;
		if (i == count) {
			unsigned meant = unknown_key(r, key, what, keys, count);

			if (meant < required)
				misspelt |= UINT32_C(1) << meant;
		} else if (values[i] != NULL)
			complain(r->errors, key->line, "`%s` is there twice, first in line %u", keys[i],
			    values[i]->line);
		else
			values[i] = key->next;
	}
	for (unsigned i = 0; i < required; i++)
		if (values[i] == NULL && !(misspelt & UINT32_C(1) << i))
			complain(r->errors, map->line, "%s needs `%s`", what, keys[i]);
	return true;
}

bool
list_check(struct reader *r, const struct node *node, const char *key, uint32_t min, uint32_t max)
{
	if (node->kind != NODE_LIST)
		complain(r->errors, node->line, "`%s` is a list%s", key, min == 0 ? ", [] where it is empty" : "");
	else if (node->count < min)
		complain(r->errors, node->line, "`%s` has %u at least", key, min);
	else if (node->count > max)
		complain(r->errors, node->line, "`%s` has %u at most, not %u", key, max, node->count);
	else
		return true;
	return false;
}

/* ---- scalars ---- */

const char *
scalar_text(struct reader *r, const struct node *node, const char *key)
{
	if (node == NULL)
		return NULL;
	if (node->kind == NODE_SCALAR)
		return node->text;
	complain(r->errors, node->line, "`%s` is one value, not a %s", key, node->kind == NODE_LIST ? "list" :
	    "mapping");
	return NULL;
}

void
number_read(struct reader *r, const struct node *node, const char *key, uint32_t min, uint32_t max, uint32_t *value)
{
	const char *text = scalar_text(r, node, key), *end = text;
	uint64_t number;

	if (text == NULL)
		return;
	if (number_parse(&end, &number) && *end == '\0' && number >= min && number <= max)
		*value = (uint32_t)number;
	else
		complain(r->errors, node->line, "`%s` is a number from %u to %u, not %s", key, min, max,
		    quote(text).text);
}

void
word_read(struct reader *r, const struct node *node, const char *key, const char *const *words, unsigned count,
    unsigned *value)
{
	const char *text = scalar_text(r, node, key);

	if (text == NULL)
		return;
	for (unsigned i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0) {
			*value = i;
			return;
		}
	complain(r->errors, node->line, "`%s` is %s, not %s", key, wordlist(words, count).text, quote(text).text);
}

void
bool_read(struct reader *r, const struct node *node, const char *key, bool *value)
{
	static const char *const words[] = { "yes", "no", "true", "false" };
	unsigned word = *value ? 0 : 1;

	word_read(r, node, key, words, COUNT_OF(words), &word);
	*value = word % 2 == 0;
}

void
label_read(struct reader *r, const struct node *node, const char *key, char *value, size_t room)
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *text = scalar_text(r, node, key);
	size_t length = text != NULL ? strlen(text) : 0;

	if (text == NULL)
		return;
	if (length == 0 || length >= room || strspn(text, signs) < length || strchr("-_.", text[0]) != NULL)
		complain(r->errors, node->line, "`%s` is 1 to %zu letters, digits and - _ . behind the first one, "
		    "not %s", key, room - 1, quote(text).text);
	else
		memcpy(value, text, length + 1);
}

void
time_read(struct reader *r, const struct node *node, const char *key, uint32_t *value_ms)
{
	static const struct { const char *name; uint32_t ms; } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 } };
	const char *text = scalar_text(r, node, key), *end = text;
	uint64_t number;

	if (text == NULL)
		return;
	if (number_parse(&end, &number) && number >= 1)
		for (unsigned i = 0; i < COUNT_OF(units); i++)
			if (strcmp(end, units[i].name) == 0 && number <= CONF_TIME_MAX_MS / units[i].ms) {
				*value_ms = (uint32_t)number * units[i].ms;
				return;
			}
	complain(r->errors, node->line, "`%s` is a time from 1ms to 60m, like 500ms, 10s or 2m, not %s", key,
	    quote(text).text);
}

void
ascii_read(struct reader *r, const struct node *node, const char *key, size_t max, const char **value)
{
	const char *text = scalar_text(r, node, key);
	size_t length;

	if (text == NULL)
		return;
	length = strlen(text);
	for (size_t i = 0; i < length; i++)
		if ((uint8_t)text[i] >= 0x80) {
			complain(r->errors, node->line, "`%s` is ASCII, which %s is not", key, quote(text).text);
			return;
		}
	if (length == 0 || length > max)
		complain(r->errors, node->line, "`%s` has 1 to %zu characters, not %zu", key, max, length);
	else if (text[0] == ' ' || text[length - 1] == ' ')
		complain(r->errors, node->line, "`%s` begins or ends with a space: %s", key, quote(text).text);
	else
		*value = reader_strdup(r, text);
}

void
nqn_read(struct reader *r, const struct node *node, const char *key, const char **value)
{
	const char *text = scalar_text(r, node, key);

	if (text == NULL)
		return;
	if (strlen(text) > CONF_NQN_MAX)
		complain(r->errors, node->line, "an NQN has %d bytes at most, not %zu: %s", CONF_NQN_MAX, strlen(text),
		    quote(text).text);
	else if (!nqn_valid(text, strlen(text)))
		complain(r->errors, node->line, "%s is not an NQN: it begins with nqn., a date as 2026-11 and a full "
		    "stop, and goes on", quote(text).text);
	else if (strcmp(text, NQN_DISCOVERY) == 0)
		complain(r->errors, node->line, "%s is the discovery subsystem's", text);
	else
		*value = reader_strdup(r, text);
}

/* ---- identifiers ---- */

static bool
dash_allowed(unsigned digits, bool uuid)
{
	if (uuid)
		return digits == 8 || digits == 12 || digits == 16 || digits == 20;
	return digits > 0 && digits < 32 && digits % 2 == 0;
}

static bool
id_parse(const char *text, bool uuid, uint8_t id[16])
{
	static const char hex[] = "0123456789abcdef";
	unsigned digits = 0, dashes = 0;

	memset(id, 0, 16);
	for (; *text != '\0'; text++) {
		const char *digit = strchr(hex, tolower((unsigned char)*text));

		if (*text == '-') {
			if (!dash_allowed(digits, uuid) || text[-1] == '-')
				return false;
			dashes++;
			continue;
		}
		if (digit == NULL || digits == 32)
			return false;
		id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | (digit - hex));
		digits++;
	}
	return digits == 32 && (!uuid || dashes == 4);
}

void
id_read(struct reader *r, const struct node *node, const char *key, bool uuid, uint8_t value[16])
{
	static const uint8_t zeros[16];
	const char *text = scalar_text(r, node, key);
	uint8_t id[16];

	if (text == NULL)
		return;
	if (!id_parse(text, uuid, id))
		complain(r->errors, node->line, "`%s` is 32 hexadecimal digits%s, not %s", key,
		    uuid ? " as 8-4-4-4-12" : "", quote(text).text);
	else if (memcmp(id, zeros, sizeof(id)) == 0)
		complain(r->errors, node->line, "`%s` is all zeros, which is none", key);
	else
		memcpy(value, id, sizeof(id));
}
