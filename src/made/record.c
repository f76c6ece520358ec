/*
 * record.c - what hosts have made, as text that is kept (doc/formats/namespaces.md).
 *
 * Written and read as a whole; what is not exactly as it would be written is
 * not read.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/size.h"
#include "made/made.h"
#include "wire/feature.h"

static const char magic[] = "weir-namespaces 1\n";

enum { NQN_BYTES = 223, NQN_TEXT = 3 * NQN_BYTES + 1, LINE_MAX = NQN_TEXT + 256, END_BYTES = 13 };

/* ---- writing ---- */

struct printer {
	void (*put)(void *arg, const char *text, size_t bytes);
	void *arg;
	uint32_t crc;
};

static void __attribute__((format(printf, 2, 3)))
say(struct printer *p, const char *format, ...)
{
	char text[LINE_MAX];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert(length >= 0 && (size_t)length < sizeof(text));
	p->crc = crc32c(p->crc, text, (size_t)length);
	p->put(p->arg, text, (size_t)length);
}

/* A name is one word: what is neither a letter nor a digit nor one of a few signs stands as %XX. */
static bool
plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c != 0 && strchr(".:-_/", c));
}

static void
name_text(const char *name, char text[NQN_TEXT])
{
	for (; *name != '\0'; name++) {
		if (plain((uint8_t)*name))
			*text++ = *name;
		else
			text += sprintf(text, "%%%02X", (uint8_t)*name);
	}
	*text = '\0';
}

void
made_uuid_text(const uint8_t uuid[16], char text[MADE_UUID_TEXT])
{
	for (unsigned i = 0; i < 16; i++)
		text += sprintf(text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

/* What stands after a power cycle. */
static unsigned
protection_kept(const struct made_ns *ns)
{
	return ns->protection == NVME_PROTECT_UNTIL_POWER_CYCLE ? NVME_PROTECT_NONE : ns->protection;
}

static void
say_ns(struct printer *p, const struct made_ns *ns)
{
	char uuid[MADE_UUID_TEXT], name[NQN_TEXT];

	made_uuid_text(ns->uuid, uuid);
	name_text(ns->nqn, name);
	if (ns->own)
		say(p, "namespace %u %u %" PRIu64 " %s %u %u %s %s\n", ns->nsid, ns->block_size, ns->blocks,
		    ns->shared ? "shared" : "private", ns->ana_group, protection_kept(ns), uuid, name);
	else if (protection_kept(ns) != NVME_PROTECT_NONE)
		say(p, "protected %u %u %s %s\n", ns->nsid, protection_kept(ns), uuid, name);
	for (uint32_t i = 0; i < ns->host_count; i++) {
		name_text(ns->hosts[i], name);
		say(p, "attached %s\n", name);
	}
}

void
made_print(const struct made *made, void (*put)(void *arg, const char *text, size_t bytes), void *arg)
{
	struct printer p = { put, arg, 0 };

	say(&p, "%s", magic);
	say(&p, "target %016" PRIx64 "\n", made->id);
	for (uint32_t i = 0; i < made->count; i++)
		if (made->ns[i].kept)
			say_ns(&p, &made->ns[i]);
	say(&p, "end %08" PRIx32 "\n", p.crc);
}

/* ---- reading ---- */

/* Words of lines, one after the other; `wrong` once anything is not as it should be. */
struct words {
	const char *at, *end;
	bool wrong;
};

/* Up to the blank or the end of the line, which is taken too: `last` says which it must be. */
static void
word(struct words *w, char *text, size_t room, bool last)
{
	size_t length = 0;

	while (w->at + length < w->end && w->at[length] != ' ' && w->at[length] != '\n')
		length++;
	w->wrong = w->wrong || length == 0 || length >= room || w->at + length == w->end ||
	    w->at[length] != (last ? '\n' : ' ');
	text[0] = '\0';
	if (w->wrong)
		return;
	memcpy(text, w->at, length);
	text[length] = '\0';
	w->at += length + 1;
}

static uint64_t
number(struct words *w, uint64_t min, uint64_t max)
{
	char text[24];
	const char *at = text;
	uint64_t value = 0;

	word(w, text, sizeof(text), false);
	w->wrong = w->wrong || !number_parse(&at, &value) || *at != '\0' || value < min || value > max;
	return value;
}

static int
hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

bool
made_uuid_parse(const char *text, uint8_t uuid[16])
{
	for (unsigned i = 0; i < 16; i++) {
		int high, low;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		high = hex_digit(text[0]);
		low = high < 0 ? -1 : hex_digit(text[1]);
		if (low < 0)
			return false;
		uuid[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return *text == '\0';
}

static void
uuid_word(struct words *w, uint8_t uuid[16])
{
	char text[MADE_UUID_TEXT];

	word(w, text, sizeof(text), false);
	w->wrong = w->wrong || !made_uuid_parse(text, uuid);
}

static void
name_word(struct words *w, char name[NQN_BYTES + 1])
{
	char text[NQN_TEXT];
	size_t length = 0;

	word(w, text, sizeof(text), true);
	for (const char *at = text; *at != '\0' && !w->wrong; at++) {
		int c = (uint8_t)*at;

		if (*at == '%') {
			int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);

			c = low < 0 ? 0 : high << 4 | low;
			at += low < 0 ? 0 : 2;
		}
		w->wrong = c == 0 || length == NQN_BYTES;
		if (!w->wrong)
			name[length++] = (char)c;
	}
	name[length] = '\0';
}

/* Nothing of it contradicts what was read before. */
static bool
fits(const struct made *made, const struct made_ns *ns)
{
	if (ns->own && (made_own(made, ns->nqn, ns->nsid) != NULL || ns->blocks > INT64_MAX / ns->block_size))
		return false;
	if (!ns->own && made_of_operator(made, ns->nqn, ns->nsid, ns->uuid) != NULL)
		return false;
	for (uint32_t i = 0; i < made->count && ns->own; i++)
		if (made->ns[i].own && memcmp(made->ns[i].uuid, ns->uuid, sizeof(ns->uuid)) == 0)
			return false;
	return true;
}

static int
add_ns(struct arena *arena, struct words *w, struct made *made, bool own)
{
	struct made_ns ns = { .own = own, .kept = true };
	char name[NQN_BYTES + 1] = "", sharing[8] = "";

	ns.nsid = (uint32_t)number(w, 1, MADE_NSID_MAX);
	if (own) {
		ns.block_size = (uint32_t)number(w, 512, 4096);
		ns.blocks = number(w, 1, INT64_MAX);
		word(w, sharing, sizeof(sharing), false);
		ns.shared = strcmp(sharing, "shared") == 0;
		ns.ana_group = (uint32_t)number(w, 1, MADE_GROUP_MAX);
	}
	ns.protection = (uint8_t)number(w, own ? NVME_PROTECT_NONE : NVME_PROTECT_WRITES, NVME_PROTECT_WRITES);
	uuid_word(w, ns.uuid);
	name_word(w, name);
	ns.nqn = name;
	w->wrong = w->wrong || made->count == MADE_NS_MAX || (own && ns.block_size != 512 && ns.block_size != 4096) ||
	    (own && !ns.shared && strcmp(sharing, "private") != 0) || !fits(made, &ns);
	if (w->wrong)
		return 0;
	return made_add(arena, made, &ns) != NULL ? 0 : -ENOMEM;
}

/* To the namespace before. */
static int
add_host(struct arena *arena, struct words *w, struct made *made, uint32_t *all)
{
	struct made_ns *ns = made->count > 0 ? &made->ns[made->count - 1] : NULL;
	char name[NQN_BYTES + 1] = "";

	name_word(w, name);
	w->wrong = w->wrong || ns == NULL || !ns->own || !ns->shared || ns->host_count == MADE_HOSTS_MAX ||
	    ++*all > MADE_HOSTS_ALL_MAX || (ns->host_count > 0 && strcmp(ns->hosts[ns->host_count - 1], name) >= 0);
	if (w->wrong)
		return 0;
	if (ns->host_count == 0)
		ns->hosts = arena_alloc(arena, MADE_HOSTS_MAX * sizeof(*ns->hosts));
	if (ns->hosts == NULL)
		return -ENOMEM;
	ns->hosts[ns->host_count] = arena_strdup(arena, name);
	return ns->hosts[ns->host_count++] != NULL ? 0 : -ENOMEM;
}

static int
read_lines(struct arena *arena, struct words *w, struct made *made)
{
	uint32_t hosts = 0;
	char kind[16];
	int rc = 0;

	while (w->at < w->end && !w->wrong && rc == 0) {
		word(w, kind, sizeof(kind), false);
		if (strcmp(kind, "namespace") == 0 || strcmp(kind, "protected") == 0)
			rc = add_ns(arena, w, made, kind[0] == 'n');
		else if (strcmp(kind, "attached") == 0)
			rc = add_host(arena, w, made, &hosts);
		else
			w->wrong = true;
	}
	return rc != 0 ? rc : w->wrong ? -EUCLEAN : 0;
}

/* The last line is there, and says what all before it come to. */
static bool
whole(const char *text, size_t bytes)
{
	char end[END_BYTES + 1];

	if (bytes < sizeof(magic) - 1 + END_BYTES)
		return false;
	snprintf(end, sizeof(end), "end %08" PRIx32 "\n", crc32c(0, text, bytes - END_BYTES));
	return memcmp(text + bytes - END_BYTES, end, END_BYTES) == 0;
}

static uint64_t
target_line(struct words *w)
{
	char text[20];
	uint64_t id = 0;

	word(w, text, sizeof(text), false);
	w->wrong = w->wrong || strcmp(text, "target") != 0;
	word(w, text, sizeof(text), true);
	w->wrong = w->wrong || strlen(text) != 16;
	for (const char *at = text; *at != '\0' && !w->wrong; at++) {
		w->wrong = hex_digit(*at) < 0;
		id = id << 4 | (unsigned)(hex_digit(*at) & 15);
	}
	return id;
}

int
made_parse(struct arena *arena, const char *text, size_t bytes, struct made **out)
{
	struct words w = { 0 };
	struct made *made;
	int rc;

	if (!whole(text, bytes))
		return -EUCLEAN;
	if (memcmp(text, magic, sizeof(magic) - 1) != 0)
		return -EINVAL;
	made = made_copy(arena, NULL, MADE_NS_MAX);
	if (made == NULL)
		return -ENOMEM;
	w = (struct words){ text + sizeof(magic) - 1, text + bytes - END_BYTES, false };
	made->id = target_line(&w);
	rc = read_lines(arena, &w, made);
	if (rc == 0)
		*out = made;
	return rc;
}
