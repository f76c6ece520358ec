/*
 * profile_read.c - a profile as people write it: what its keys say, and whether there can be such a drive.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/tree.h"
#include "flash/geometry.h"

enum { NUMBERS_MAX = 64, MEDIA = 2 };

struct reading {
	struct reader r;
	const struct node *root;
	const struct node *values[NUMBERS_MAX]; /* by number; NULL: it is absent */
	struct flash_profile *profile;
};

/* An amount, for what is said of it. */
struct said {
	char text[AMOUNT_TEXT];
};

static struct said
say(uint64_t value, const char *unit)
{
	struct said said;

	amount_print(value, unit, said.text);
	return said;
}

/* ---- numbers ---- */

static void
amount_number_read(struct reader *r, const struct node *node, const struct flash_number *number, uint32_t *value)
{
	const char *text = scalar_text(r, node, number->name);
	char why[AMOUNT_WHY];
	uint64_t read;

	if (text == NULL)
		return;
	if (text[0] != '-' && !amount_read(text, number->unit, &read, why))
		complain(r->errors, node->line, "`%s` %s, not %s", number->name, why, quote(text).text);
	else if (text[0] == '-' || read < number->least || read > number->most)
		complain(r->errors, node->line, "`%s` is from %s to %s, not %s", number->name, say(number->least,
		    number->unit).text, say(number->most, number->unit).text, quote(text).text);
	else
		*value = (uint32_t)read;
}

static void
words_read(struct reader *r, const struct node *node, const struct flash_number *number, uint32_t *value)
{
	unsigned word = *value;

	word_read(r, node, number->name, number->words, number->words_count, &word);
	*value = word % (number->most + 1);
}

static void
one_read(struct reading *g, const struct node *node, const struct flash_number *number)
{
	uint32_t *value = flash_number_of(g->profile, number);

	if (!(number->of & 1 << g->profile->media))
		complain(g->r.errors, node->line, "`%s` is of %s alone", number->name, number->of & 1 << FLASH_NAND ?
		    "NAND" : "media that are written in place");
	else if (number->words != NULL)
		words_read(&g->r, node, number, value);
	else if (number->unit[0] == '\0')
		number_read(&g->r, node, number->name, number->least, number->most, value);
	else
		amount_number_read(&g->r, node, number, value);
}

/* Which media it is of says what else must be there.  MEDIA: it is not said, or is not one. */
static unsigned
media_find(const struct node *root)
{
	const struct flash_number *media = flash_profile_number(0);

	if (root->kind != NODE_MAP)
		return MEDIA;
	for (const struct node *key = root->first; key != NULL; key = key->next->next)
		if (key->kind == NODE_SCALAR && strcmp(key->text, media->name) == 0 && key->next->kind == NODE_SCALAR)
			for (unsigned word = 0; word < media->words_count; word++)
				if (strcmp(key->next->text, media->words[word]) == 0)
					return word;
	return MEDIA;
}

/* The keys there are, those first without which `media` cannot be; `numbers[i]` is what the i-th key is.  So many
 * are needed; the last two are not numbers. */
static unsigned
keys_gather(unsigned media, const char *keys[NUMBERS_MAX], unsigned numbers[NUMBERS_MAX], unsigned *count)
{
	unsigned needed = 0;

	*count = 0;
	for (unsigned pass = 0; pass < 2; pass++) {
		const struct flash_number *number;

		for (unsigned i = 0; (number = flash_profile_number(i)) != NULL; i++) {
			bool need = i == 0 || (media < MEDIA && (number->needed & 1 << media));

			if (need != (pass == 0))
				continue;
			assert(*count + 2 < NUMBERS_MAX);
			numbers[*count] = i;
			keys[(*count)++] = number->name;
		}
		if (pass == 0)
			needed = *count;
	}
	keys[*count] = "name";
	keys[*count + 1] = "says";
	return needed;
}

static void
says_read(struct reading *g, const struct node *node)
{
	const char *text = scalar_text(&g->r, node, "says");

	if (text == NULL)
		return;
	if (strlen(text) >= FLASH_SAYS_MAX)
		complain(g->r.errors, node->line, "`says` has %d bytes at most, not %zu", FLASH_SAYS_MAX - 1,
		    strlen(text));
	else
		memcpy(g->profile->says, text, strlen(text) + 1);
}

/* False, with complaints: it has not all that there has to be. */
static bool
numbers_read(struct reading *g)
{
	const struct node *values[NUMBERS_MAX];
	const char *keys[NUMBERS_MAX];
	unsigned order[NUMBERS_MAX], count, media = media_find(g->root);
	unsigned needed = keys_gather(media, keys, order, &count);

	if (!map_read(&g->r, g->root, "a profile", keys, count + 2, needed, values))
		return false;
	label_read(&g->r, values[count], "name", g->profile->name, sizeof(g->profile->name));
	says_read(g, values[count + 1]);
	for (unsigned i = 0; i < count; i++)
		g->values[order[i]] = values[i];
	g->profile->media = media < MEDIA ? media : FLASH_NAND;
	for (unsigned i = 0; i < count && !reader_done(&g->r); i++)
		if (g->values[i] != NULL && (i == 0 || media < MEDIA))
			one_read(g, g->values[i], flash_profile_number(i));
	if (g->profile->channel_write_mb_s == 0)
		g->profile->channel_write_mb_s = g->profile->channel_mb_s;
	if (media == FLASH_IN_PLACE)
		g->profile->power_loss_protection = 1;
	return g->r.errors->count == 0;
}

/* ---- whether there can be such a drive ---- */

/* Said where the number stands, or, where it is absent, where the profile begins. */
static void __attribute__((format(printf, 3, 4)))
refuse(struct reading *g, const char *name, const char *format, ...)
{
	const struct node *at = g->root;
	char why[AMOUNT_WHY];
	va_list args;

	for (unsigned i = 0; flash_profile_number(i) != NULL; i++)
		if (strcmp(flash_profile_number(i)->name, name) == 0 && g->values[i] != NULL)
			at = g->values[i];
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	complain(g->r.errors, at->line, "`%s` %s", name, why);
}

static bool
is_power_of_two(uint32_t value)
{
	return (value & (value - 1)) == 0;
}

static void
media_check(struct reading *g)
{
	const struct flash_profile *p = g->profile;
	uint64_t raw_mb = (uint64_t)p->dies * p->die_mib * 1048576 / 1000000;

	if (p->dies % p->channels != 0)
		refuse(g, "dies", "is a multiple of `channels`, which is %u, not %u", p->channels, p->dies);
	if (!is_power_of_two(p->unit_bytes))
		refuse(g, "unit", "is a power of two, not %s", say(p->unit_bytes, "bytes").text);
	if (p->capacity_mb > raw_mb)
		refuse(g, "capacity", "is %s, and %u dies of %s have no more than %s", say(p->capacity_mb, "MB").text,
		    p->dies, say(p->die_mib, "MiB").text, say(raw_mb, "MB").text);
	else if ((uint64_t)p->capacity_mb * flash_raw_permille(p) > raw_mb * 1000)
		refuse(g, "spare", "of %s over %s%s is more than %u dies of %s have", say(p->spare_permille,
		    "permille").text, say(p->capacity_mb, "MB").text, p->slc_fixed_permille > 0 ?
		    ", and what is always in SLC mode," : "", p->dies, say(p->die_mib, "MiB").text);
	if (p->pmr_bytes % 4096 != 0)
		refuse(g, "pmr", "is a multiple of 4 KiB, not %s", say(p->pmr_bytes, "bytes").text);
}

static uint32_t
row_bytes(const struct flash_profile *p)
{
	return p->media == FLASH_NAND ? p->planes * p->bits * p->page_bytes : p->unit_bytes;
}

/* Pages, rows and blocks. */
static void
layout_check(struct reading *g)
{
	const struct flash_profile *p = g->profile;
	uint32_t unit_pages = p->unit_bytes / p->page_bytes, row = row_bytes(p);
	uint64_t block = (uint64_t)p->planes * p->pages * p->page_bytes;
	uint64_t blocks = ((uint64_t)p->die_mib << 20) / block;

	if (!is_power_of_two(p->page_bytes))
		refuse(g, "page", "is a power of two, not %s", say(p->page_bytes, "bytes").text);
	if (p->pages % p->bits != 0)
		refuse(g, "pages", "is a multiple of `bits`, which is %u, not %u", p->bits, p->pages);
	if (unit_pages > 1 && p->planes % unit_pages != 0)
		refuse(g, "unit", "is a part of a page, or pages of so many planes; it is %u pages, of which "
		    "`planes`, %u, is no multiple", unit_pages, p->planes);
	if (is_power_of_two(p->unit_bytes) && row / p->unit_bytes > FLASH_ROW_UNITS_MAX)
		refuse(g, "unit", "is at least %s, as a row is programmed at a stroke and has %u units at most: it has "
		    "%s", say(row / FLASH_ROW_UNITS_MAX, "bytes").text, FLASH_ROW_UNITS_MAX, say(row, "bytes").text);
	if (blocks < p->scale_blocks)
		refuse(g, "scale-blocks", "is %u, and a die of %s has %" PRIu64 " blocks of %s", p->scale_blocks,
		    say(p->die_mib, "MiB").text, blocks, say(block, "bytes").text);
	if (p->reserve_blocks >= p->scale_blocks)
		refuse(g, "reserve-blocks", "is below `scale-blocks`, which is %u, not %u", p->scale_blocks,
		    p->reserve_blocks);
}

static void
channel_check(struct reading *g, const char *name, uint32_t mb_s)
{
	const struct flash_profile *p = g->profile;

	if ((uint64_t)row_bytes(p) * (1000 + p->overhead_permille) / mb_s > FLASH_TIME_MAX_NS)
		refuse(g, name, "of %s has to move %s at a stroke, and takes more than %s", say(mb_s, "MB/s").text,
		    say(row_bytes(p), "bytes").text, say(FLASH_TIME_MAX_NS, "ns").text);
}

static void
times_check(struct reading *g)
{
	const struct flash_profile *p = g->profile;
	bool suspends = p->suspends_program || p->suspends_erase;

	channel_check(g, "channel", p->channel_mb_s);
	if (p->media == FLASH_IN_PLACE)
		channel_check(g, "channel-write", p->channel_write_mb_s);
	if (p->read_spread_ns >= p->read_ns)
		refuse(g, "read-spread", "is less than `read`, which is %s, not %s", say(p->read_ns, "ns").text,
		    say(p->read_spread_ns, "ns").text);
	else if ((uint64_t)p->read_ns + p->read_spread_ns > FLASH_TIME_MAX_NS)
		refuse(g, "read-spread", "makes reads of %s at most, not %s", say(FLASH_TIME_MAX_NS, "ns").text,
		    say((uint64_t)p->read_ns + p->read_spread_ns, "ns").text);
	if (suspends && (p->suspend_ns == 0 || p->resume_ns == 0 || p->suspends_max == 0))
		refuse(g, p->suspends_program ? "suspends-program" : "suspends-erase", "needs `suspend`, `resume` and "
		    "`suspends-max`");
	if (!suspends && (p->suspend_ns > 0 || p->resume_ns > 0 || p->suspends_max > 0))
		refuse(g, p->suspend_ns > 0 ? "suspend" : p->resume_ns > 0 ? "resume" : "suspends-max",
		    "is of what is suspended, and nothing is: `suspends-program` and `suspends-erase` are no");
}

static void
slc_check(struct reading *g)
{
	const struct flash_profile *p = g->profile;

	if (p->slc_permille > 0 && p->slc_program_ns == 0)
		refuse(g, "slc", "needs `slc-program`: how long a program takes in SLC mode");
	if (p->slc_permille == 0 && p->slc_program_ns > 0)
		refuse(g, "slc-program", "is of a share in SLC mode, and there is no `slc`");
	if (p->slc_fixed_permille > p->slc_permille)
		refuse(g, "slc-fixed", "is a part of `slc`, which is %s, not %s", say(p->slc_permille, "permille").text,
		    say(p->slc_fixed_permille, "permille").text);
	if (p->slc_permille > 0 && p->bits == 1)
		refuse(g, "slc", "is of cells with more than one bit, and `bits` is 1");
}

static void
buffer_check(struct reading *g)
{
	const struct flash_profile *p = g->profile;
	uint64_t least = (uint64_t)p->dies * row_bytes(p);

	if (p->programs_max > p->dies)
		refuse(g, "programs-max", "is %u at most, as many as `dies`, not %u", p->dies, p->programs_max);
	if (p->buffer_bytes < least)
		refuse(g, "buffer", "has a row of each die at least, %u x %s, not %s", p->dies, say(row_bytes(p),
		    "bytes").text, say(p->buffer_bytes, "bytes").text);
	if (is_power_of_two(p->unit_bytes) && p->buffer_bytes % p->unit_bytes != 0)
		refuse(g, "buffer", "is a multiple of `unit`, which is %s, not %s", say(p->unit_bytes, "bytes").text,
		    say(p->buffer_bytes, "bytes").text);
	if (!p->power_loss_protection && p->journal_ns == 0)
		refuse(g, "power-loss-protection", "is yes where there is no `journal`: the map would be lost");
}

static void
check(struct reading *g)
{
	struct flash_geometry geometry;
	char why[FLASH_WHY];
	int error = 0;

	media_check(g);
	if (g->profile->media == FLASH_NAND) {
		layout_check(g);
		slc_check(g);
		buffer_check(g);
	}
	times_check(g);
	/* What collection needs is seen best where there are fewest blocks. */
	if (g->r.errors->count == 0)
		error = flash_geometry_init(&geometry, g->profile, flash_geometry_smallest(g->profile), why);
	if (error == -ENOSPC)
		refuse(g, "gc-low", "leaves no room: %s", why);
	else if (error != 0)
		complain(g->r.errors, g->root->line, "the smallest of these drives cannot be: %s", why);
}

/* ---- the file ---- */

int
flash_profile_read(struct arena *arena, const char *text, size_t bytes, struct conf_errors *errors,
    struct flash_profile *profile)
{
	struct reading g = { .r = { .arena = arena, .errors = errors }, .profile = profile };
	struct node *root;
	int error;

	*errors = (struct conf_errors) { .count = 0 };
	*profile = (struct flash_profile) { .media = FLASH_NAND };
	error = tree_read(arena, text, bytes, errors, &root);
	if (error != 0)
		return error;
	g.root = root;
	if (numbers_read(&g))
		check(&g);
	complaints_sort(errors);
	return errors->count == 0 ? 0 : -EINVAL;
}
