#include "flash/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/tree.h"

static const char *const media_words[] = { "nand", "in-place" };
static const char *const policy_words[] = { "greedy", "cost-benefit" };
static const char *const yes_words[] = { "no", "yes", "false", "true" };

enum {
	NAND = 1 << FLASH_NAND,
	PLACE = 1 << FLASH_IN_PLACE,
	BOTH = NAND | PLACE,
	NONE = 0,

	KIB = 1024,
	MIB = 1024 * 1024,
};

#define TIME_MAX FLASH_TIME_MAX_NS

/* A number: `needed` is as `of`, or NONE.  A word: NULL, a list of words. */
#define ROW(name_, field_, unit_, of_, needed_, least_, most_, time_) { .name = name_, .field = #field_, \
	.unit = unit_, .offset = offsetof(struct flash_profile, field_), .of = of_, .needed = needed_, \
	.least = least_, .most = most_, .time = time_ }
#define WORD(name_, field_, of_, needed_, words_) { .name = name_, .field = #field_, .unit = "", \
	.words = words_, .words_count = COUNT_OF(words_), .offset = offsetof(struct flash_profile, field_), \
	.of = of_, .needed = needed_, .most = 1 }

static const struct flash_number numbers[] = {
	WORD("media",               media,                 BOTH,  BOTH,  media_words),
	/*   name                   field                  unit        of     needed least     most          time */
	ROW("capacity",             capacity_mb,           "MB",       BOTH,  BOTH,  1,        1000000000,   false),
	ROW("channels",             channels,              "",         BOTH,  BOTH,  1,        256,          false),
	ROW("dies",                 dies,                  "",         BOTH,  BOTH,  1,        4096,         false),
	ROW("die",                  die_mib,               "MiB",      BOTH,  BOTH,  1,        MIB,          false),
	ROW("planes",               planes,                "",         NAND,  NAND,  1,        16,           false),
	ROW("page",                 page_bytes,            "bytes",    NAND,  NAND,  512,      256 * KIB,    false),
	ROW("pages",                pages,                 "",         NAND,  NAND,  1,        65536,        false),
	ROW("bits",                 bits,                  "",         NAND,  NAND,  1,        8,            false),
	ROW("unit",                 unit_bytes,            "bytes",    BOTH,  BOTH,  512,      MIB,          false),
	ROW("spare",                spare_permille,        "permille", NAND,  NAND,  0,        10000,        false),
	ROW("reserve-blocks",       reserve_blocks,        "",         NAND,  NAND,  0,        65536,        false),
	ROW("scale-blocks",         scale_blocks,          "",         NAND,  NAND,  1,        65536,        false),
	ROW("read",                 read_ns,               "ns",       BOTH,  BOTH,  1,        TIME_MAX,     true),
	ROW("read-spread",          read_spread_ns,        "ns",       NAND,  NONE,  0,        TIME_MAX,     true),
	ROW("program",              program_ns,            "ns",       BOTH,  BOTH,  1,        TIME_MAX,     true),
	ROW("erase",                erase_ns,              "ns",       NAND,  NAND,  1,        TIME_MAX,     true),
	ROW("channel",              channel_mb_s,          "MB/s",     BOTH,  BOTH,  1,        1000000,      true),
	ROW("channel-write",        channel_write_mb_s,    "MB/s",     PLACE, NONE,  1,        1000000,      true),
	ROW("overhead",             overhead_permille,     "permille", NAND,  NONE,  0,        1000,         false),
	ROW("programs-max",         programs_max,          "",         NAND,  NAND,  1,        4096,         false),
	WORD("suspends-program",    suspends_program,      NAND,  NAND,  yes_words),
	WORD("suspends-erase",      suspends_erase,        NAND,  NAND,  yes_words),
	ROW("suspend",              suspend_ns,            "ns",       NAND,  NONE,  1,        TIME_MAX,     true),
	ROW("resume",               resume_ns,             "ns",       NAND,  NONE,  1,        TIME_MAX,     true),
	ROW("suspends-max",         suspends_max,          "",         NAND,  NONE,  1,        255,          false),
	ROW("controller-read",      controller_read_ns,    "ns",       BOTH,  BOTH,  0,        TIME_MAX,     true),
	ROW("controller-write",     controller_write_ns,   "ns",       BOTH,  BOTH,  0,        TIME_MAX,     true),
	ROW("front-end-iops",       front_end_iops,        "",         BOTH,  BOTH,  1,        1000000000,   true),
	ROW("commands-max",         commands_max,          "",         BOTH,  BOTH,  1,        65536,        false),
	ROW("link",                 link_mb_s,             "MB/s",     BOTH,  BOTH,  1,        1000000,      true),
	ROW("buffer",               buffer_bytes,          "bytes",    NAND,  NAND,  512,      2048u * MIB,  false),
	WORD("power-loss-protection", power_loss_protection, NAND, NAND, yes_words),
	ROW("flush",                flush_ns,              "ns",       BOTH,  BOTH,  0,        TIME_MAX,     true),
	ROW("journal",              journal_ns,            "ns",       NAND,  NONE,  1,        TIME_MAX,     true),
	ROW("slc",                  slc_permille,          "permille", NAND,  NONE,  1,        1000,         false),
	ROW("slc-fixed",            slc_fixed_permille,    "permille", NAND,  NONE,  0,        1000,         false),
	ROW("slc-program",          slc_program_ns,        "ns",       NAND,  NONE,  1,        TIME_MAX,     true),
	WORD("policy",              policy,                NAND,  NAND,  policy_words),
	ROW("gc-low",               gc_low,                "",         NAND,  NAND,  2,        65536,        false),
	ROW("wear-gap",             wear_gap,              "",         NAND,  NONE,  0,        1000000000,   false),
	ROW("endurance",            endurance,             "",         BOTH,  BOTH,  1,        1000000000,   false),
	ROW("pmr",                  pmr_bytes,             "bytes",    BOTH,  NONE,  0,        1024u * MIB,  false),
	WORD("erase-scales",        erase_scales,          NAND,  NONE,  yes_words),
};

const struct flash_number *
flash_profile_number(unsigned index)
{
	return index < COUNT_OF(numbers) ? &numbers[index] : NULL;
}

const struct flash_number *
flash_number_find(const char *name)
{
	for (unsigned i = 0; i < COUNT_OF(numbers); i++)
		if (strcmp(numbers[i].name, name) == 0)
			return &numbers[i];
	return NULL;
}

void
flash_number_text(const struct flash_profile *profile, const struct flash_number *number, char text[AMOUNT_TEXT])
{
	uint32_t value = flash_number_value(profile, number);

	if (number->words != NULL)
		snprintf(text, AMOUNT_TEXT, "%s", number->words[value]);
	else
		amount_print(value, number->unit, text);
}

/* FNV-1a, of each number four bytes, the lowest first. */
uint64_t
flash_profile_hash(const struct flash_profile *profile)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned i = 0; i < COUNT_OF(numbers); i++)
		for (unsigned shift = 0; shift < 32; shift += 8) {
			hash ^= flash_number_value(profile, &numbers[i]) >> shift & 0xff;
			hash *= UINT64_C(0x100000001b3);
		}
	return hash;
}

int
flash_profile_find(struct arena *arena, const char *name, struct flash_profile *profile)
{
	for (unsigned i = 0; i < flash_profile_count; i++) {
		const struct flash_profile_text *one = &flash_profile_texts[i];
		struct conf_errors errors;
		int error;

		if (strcmp(one->name, name) != 0)
			continue;
		error = flash_profile_read(arena, one->text, strlen(one->text), &errors, profile);
		assert(error != -EINVAL);
		snprintf(profile->name, sizeof(profile->name), "%s", name);
		return error;
	}
	return -ENOENT;
}
