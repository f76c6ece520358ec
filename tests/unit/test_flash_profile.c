/*
 * flash/profile: every number is read, printed and hashed; what cannot be is refused by line and in words; what is
 * built in is sound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile_bench.h"

#define NAND FLASH_NAND
#define PLACE FLASH_IN_PLACE

/* Each number of each media once, as something else than in the base. */
static const struct changed {
	enum flash_media media;
	const char *changes, *name;
	uint32_t value;
} changed[] = {
	{ NAND, "capacity: 0.5 TB\n", "capacity", 500000 },
	{ NAND, "channels: 16\n", "channels", 16 },
	{ NAND, "dies: 40\n", "dies", 40 },
	{ NAND, "die: 65536 MiB\n", "die", 65536 },
	{ NAND, "planes: 4\n", "planes", 4 },
	{ NAND, "page: 32768 bytes\n", "page", 32768 },
	{ NAND, "pages: 771\n", "pages", 771 },
	{ NAND, "bits: 4\n", "bits", 4 },
	{ NAND, "unit: 32 KiB\n", "unit", 32768 },
	{ NAND, "spare: 142 permille\n", "spare", 142 },
	{ NAND, "reserve-blocks: 6\n", "reserve-blocks", 6 },
	{ NAND, "scale-blocks: 400\n", "scale-blocks", 400 },
	{ NAND, "read: 0.055001 ms\n", "read", 55001 },
	{ NAND, "read-spread: 0\n", "read-spread", 0 },
	{ NAND, "program: 4 s\n", "program", 4000000000 },
	{ NAND, "erase: 1 ns\n", "erase", 1 },
	{ NAND, "channel: 1.2 GB/s\n", "channel", 1200 },
	{ NAND, "overhead: 0\n", "overhead", 0 },
	{ NAND, "programs-max: 32\n", "programs-max", 32 },
	{ NAND, "suspends-program: no\n", "suspends-program", 0 },
	{ NAND, "suspends-erase: no\n", "suspends-erase", 0 },
	{ NAND, "suspend: 41 us\n", "suspend", 41000 },
	{ NAND, "resume: 31 us\n", "resume", 31000 },
	{ NAND, "suspends-max: 9\n", "suspends-max", 9 },
	{ NAND, "controller-read: 0\n", "controller-read", 0 },
	{ NAND, "controller-write: 0\n", "controller-write", 0 },
	{ NAND, "front-end-iops: 1000000000\n", "front-end-iops", 1000000000 },
	{ NAND, "commands-max: 1\n", "commands-max", 1 },
	{ NAND, "link: 7 GB/s\n", "link", 7000 },
	{ NAND, "buffer: 3 MiB\n", "buffer", 3145728 },
	{ NAND, "power-loss-protection: true\n", "power-loss-protection", 1 },
	{ NAND, "flush: 0\n", "flush", 0 },
	{ NAND, "power-loss-protection: yes\njournal\n", "journal", 0 },
	{ NAND, "slc: 5 %\n", "slc", 50 },
	{ NAND, "slc-fixed: 0.6 %\n", "slc-fixed", 6 },
	{ NAND, "slc-program: 350 us\n", "slc-program", 350000 },
	{ NAND, "policy: cost-benefit\n", "policy", FLASH_COST_BENEFIT },
	{ NAND, "gc-low: 3\n", "gc-low", 3 },
	{ NAND, "wear-gap\n", "wear-gap", 0 },
	{ NAND, "endurance: 1\n", "endurance", 1 },
	{ NAND, "pmr\n", "pmr", 0 },
	{ NAND, "erase-scales: false\n", "erase-scales", 0 },
	{ PLACE, "", "media", FLASH_IN_PLACE },
	{ PLACE, "capacity: 480 GB\n", "capacity", 480000 },
	{ PLACE, "channels: 14\n", "channels", 14 },
	{ PLACE, "dies: 42\n", "dies", 42 },
	{ PLACE, "die: 32 GiB\n", "die", 32768 },
	{ PLACE, "unit: 4 KiB\n", "unit", 4096 },
	{ PLACE, "read: 1.001 us\n", "read", 1001 },
	{ PLACE, "program: 201 ns\n", "program", 201 },
	{ PLACE, "channel: 343 MB/s\n", "channel", 343 },
	{ PLACE, "channel-write: 294 MB/s\n", "channel-write", 294 },
	{ PLACE, "controller-read: 3.5 us\n", "controller-read", 3500 },
	{ PLACE, "controller-write: 3.2 us\n", "controller-write", 3200 },
	{ PLACE, "front-end-iops: 1\n", "front-end-iops", 1 },
	{ PLACE, "commands-max: 65536\n", "commands-max", 65536 },
	{ PLACE, "link: 1 MB/s\n", "link", 1 },
	{ PLACE, "flush: 6 us\n", "flush", 6000 },
	{ PLACE, "endurance: 1000000000\n", "endurance", 1000000000 },
	{ PLACE, "pmr: 8 KiB\n", "pmr", 8192 },
};
enum { CHANGED = sizeof(changed) / sizeof(changed[0]) };

static void
changed_read(const struct changed *c, struct flash_profile *profile)
{
	struct arena arena;

	arena_init(&arena, 0);
	profile_of(profile_with(&arena, profile_bases[c->media], c->changes), profile);
	arena_drop(&arena);
}

static void
every_number_is_read(void **state)
{
	const struct flash_number *number;
	unsigned of[2] = { 0 };

	(void)state;
	for (unsigned i = 0; i < CHANGED; i++) {
		const struct changed *c = &changed[i];
		struct flash_profile base, profile;

		profile_of(profile_bases[c->media], &base);
		changed_read(c, &profile);
		number = flash_number_find(c->name);
		assert_non_null(number);
		if (flash_number_value(&profile, number) != c->value)
			fail_msg("%s: %u", c->changes, flash_number_value(&profile, number));
		assert_true(c->changes[0] == '\0' || flash_number_value(&base, number) != c->value);
		of[c->media]++;
	}
	/* All of them were. */
	for (unsigned i = 0; (number = flash_profile_number(i)) != NULL; i++)
		for (unsigned media = NAND; media <= PLACE; media++)
			of[media] -= (number->of & 1 << media) != 0;
	assert_int_equal(of[NAND] + 1, 0); /* its `media` is what all the others have */
	assert_int_equal(of[PLACE], 0);
}

static void
what_is_printed_is_read_back_as_the_same_drive(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CHANGED; i++) {
		struct flash_profile profile, again;
		struct arena arena;

		arena_init(&arena, 0);
		changed_read(&changed[i], &profile);
		profile_of(profile_text(&arena, &profile), &again);
		assert_memory_equal(&profile, &again, sizeof(profile));
		arena_drop(&arena);
	}
}

static void
the_hash_depends_on_each_number(void **state)
{
	uint64_t hashes[CHANGED + 1];
	struct flash_profile profile;

	(void)state;
	profile_of(profile_bases[NAND], &profile);
	hashes[CHANGED] = flash_profile_hash(&profile);
	for (unsigned i = 0; i < CHANGED; i++) {
		changed_read(&changed[i], &profile);
		hashes[i] = flash_profile_hash(&profile);
	}
	for (unsigned i = 0; i < CHANGED + 1; i++)
		for (unsigned j = 0; j < i; j++)
			assert_true(hashes[i] != hashes[j]);
}

static void
the_hash_does_not_depend_on_how_a_profile_is_written(void **state)
{
	static const char text[] =
	    "# Another order, other units, comments, a name, and what is so in any case.\n"
	    "pmr: 4096 KiB\nendurance: 32800\nflush: 5000 ns\nlink: 3200 MB/s\ncommands-max: 256\n"
	    "front-end-iops: 600000 # a second\ncontroller-write: 3300 ns\ncontroller-read: 0.0034 ms\n"
	    "channel-write: 0.293 GB/s\nchannel: 342MB/s\nprogram: 0.2 us\nread: 0.001 ms\nunit: 0.5 KiB\n"
	    "die: 16384 MiB\ndies: 28\nchannels: 7\ncapacity: 0.375 TB\nmedia: in-place\n"
	    "name: other\nsays: |-\n  of something else\n";
	struct flash_profile profile, base;

	(void)state;
	profile_of(text, &profile);
	profile_of(profile_bases[PLACE], &base);
	assert_true(flash_profile_hash(&profile) == flash_profile_hash(&base));
	assert_string_equal(profile.name, "other");
	assert_string_equal(profile.says, "of something else");
	assert_string_equal(base.name, "");
	/* And it is the same with every compiler. */
	if (flash_profile_hash(&base) != UINT64_C(0xc520ad7c3992732a))
		fail_msg("%016llx", (unsigned long long)flash_profile_hash(&base));
}

static void
what_is_not_said_has_its_default(void **state)
{
	struct flash_profile profile;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	profile_of(profile_with(&arena, profile_bases[NAND], "read-spread\noverhead\nsuspends-program: no\n"
	    "suspends-erase: no\nsuspend\nresume\nsuspends-max\npower-loss-protection: yes\njournal\nslc\nslc-fixed\n"
	    "slc-program\nwear-gap\npmr\nerase-scales\n"), &profile);
	assert_true(profile.read_spread_ns == 0 && profile.overhead_permille == 0 && profile.suspend_ns == 0 &&
	    profile.resume_ns == 0 && profile.suspends_max == 0 && profile.journal_ns == 0 &&
	    profile.slc_permille == 0 && profile.slc_fixed_permille == 0 && profile.slc_program_ns == 0 &&
	    profile.wear_gap == 0 && profile.pmr_bytes == 0 && profile.erase_scales == 0);
	assert_int_equal(profile.channel_write_mb_s, 533);
	profile_of(profile_with(&arena, profile_bases[PLACE], "channel-write\n"), &profile);
	assert_int_equal(profile.channel_write_mb_s, 342);
	assert_int_equal(profile.power_loss_protection, 1);
	arena_drop(&arena);
}

/* ---- mistakes ---- */

static const struct wrong {
	enum flash_media media;
	const char *changes, *name; /* in whose line it is; NULL: in the first */
	const char *words;
} wrongs[] = {
	/* what is no number */
	{ NAND, "dies: 0\n", "dies", "`dies` is a number from 1 to 4096, not `0`" },
	{ NAND, "dies: 4097\n", "dies", "`dies` is a number from 1 to 4096, not `4097`" },
	{ NAND, "dies: 4294967328\n", "dies", "`dies` is a number from 1 to 4096, not `4294967328`" },
	{ NAND, "dies: -32\n", "dies", "`dies` is a number from 1 to 4096, not `-32`" },
	{ NAND, "dies: [32]\n", "dies", "`dies` is one value, not a list" },
	{ NAND, "channels: 0\n", "channels", "`channels` is a number from 1 to 256, not `0`" },
	{ NAND, "read: -55 us\n", "read", "`read` is from 1 ns to 4 s, not `-55 us`" },
	{ NAND, "read: 0\n", "read", "`read` is from 1 ns to 4 s, not `0`" },
	{ NAND, "read: 4001 ms\n", "read", "`read` is from 1 ns to 4 s, not `4001 ms`" },
	{ NAND, "read: 55\n", "read", "`read` needs a unit: ns, us, ms or s, not `55`" },
	{ NAND, "read: 50-60 us\n", "read", "`read` is one amount, with nothing behind it, not `50-60 us`" },
	{ NAND, "read: fast\n", "read", "`read` is an amount like `5 ns`, not `fast`" },
	{ NAND, "read: 55.0001 us\n", "read", "`read` is a whole number of ns, not `55.0001 us`" },
	{ NAND, "read: 99999999999999999999 s\n", "read", "`read` is too large a number" },
	{ NAND, "channel: 533 MiB/s\n", "channel", "`channel` has one of the units MB/s or GB/s, not `533 MiB/s`" },
	{ NAND, "channel: 0\n", "channel", "`channel` is from 1 MB/s to 1000 GB/s, not `0`" },
	{ NAND, "capacity: 960 GiB\n", "capacity", "`capacity` has one of the units MB, GB or TB, not `960 GiB`" },
	{ NAND, "spare: -1 %\n", "spare", "`spare` is from 0 permille to 1000 %, not `-1 %`" },
	{ NAND, "spare: 14.25 %\n", "spare", "`spare` is a whole number of permille, not `14.25 %`" },
	{ NAND, "buffer: 4 GiB\n", "buffer", "`buffer` is from 512 bytes to 2 GiB, not `4 GiB`" },
	{ NAND, "suspends-max: 256\n", "suspends-max", "`suspends-max` is a number from 1 to 255, not `256`" },
	{ NAND, "journal: 0\n", "journal", "`journal` is from 1 ns to 4 s, not `0`" },
	{ NAND, "policy: lazy\n", "policy", "`policy` is greedy or cost-benefit, not `lazy`" },
	{ NAND, "suspends-erase: maybe\n", "suspends-erase", "`suspends-erase` is no, yes, false or true, not "
	    "`maybe`" },
	/* keys */
	{ NAND, "media: tape\n", "media", "`media` is nand or in-place, not `tape`" },
	{ NAND, "media\n", NULL, "a profile needs `media`" },
	{ NAND, "endurance\n", NULL, "a profile needs `endurance`" },
	{ NAND, "pages\nbages: 768\n", "bages", "a profile has no key `bages`; `pages` is meant?" },
	{ NAND, "colour: red\n", "colour", "a profile has no key `colour`; there is media, capacity, channels, dies," },
	{ NAND, "channel-write: 500 MB/s\n", "channel-write", "`channel-write` is of media that are written in place "
	    "alone" },
	{ PLACE, "planes: 2\n", "planes", "`planes` is of NAND alone" },
	{ PLACE, "power-loss-protection: no\n", "power-loss-protection", "`power-loss-protection` is of NAND alone" },
	{ PLACE, "read\n", NULL, "a profile needs `read`" },
	{ NAND, "name: a b\n", "name", "`name` is 1 to 31 letters, digits and - _ . behind the first one, not `a b`" },
	{ PLACE, "says: 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
	    "123456789 123456789 1234567890\n", "says", "`says` has 119 bytes at most, not 120" },
	/* drives that cannot be */
	{ NAND, "capacity: 2 TB\n", "capacity", "`capacity` is 2 TB, and 32 dies of 32 GiB have no more than 1099.511 "
	    "GB" },
	{ PLACE, "capacity: 482 GB\n", "capacity", "`capacity` is 482 GB, and 28 dies of 16 GiB have no more than " },
	{ NAND, "spare: 14.6 %\nslc\nslc-fixed\nslc-program\n", "spare", "`spare` of 14.6 % over 960 GB is more than "
	    "32 dies of 32 GiB have" },
	{ NAND, "spare: 14.3 %\n", "spare", "`spare` of 14.3 % over 960 GB, and what is always in SLC mode, is more "
	    "than 32 dies of 32 GiB have" },
	{ NAND, "dies: 44\n", "dies", "`dies` is a multiple of `channels`, which is 8, not 44" },
	{ PLACE, "dies: 27\n", "dies", "`dies` is a multiple of `channels`, which is 7, not 27" },
	{ NAND, "page: 12 KiB\n", "page", "`page` is a power of two, not 12 KiB" },
	{ NAND, "pages: 767\n", "pages", "`pages` is a multiple of `bits`, which is 3, not 767" },
	{ NAND, "unit: 12 KiB\n", "unit", "`unit` is a power of two, not 12 KiB" },
	{ PLACE, "unit: 520 bytes\n", "unit", "`unit` is a power of two, not 520 bytes" },
	{ NAND, "unit: 64 KiB\n", "unit", "`unit` is a part of a page, or pages of so many planes; it is 4 pages, of "
	    "which `planes`, 2, is no multiple" },
	{ NAND, "unit: 64 KiB\nplanes: 6\n", "unit", "`unit` is a part of a page, or pages of so many planes; it is "
	    "4" },
	{ NAND, "unit: 512 bytes\nplanes: 4\npage: 16 KiB\n", "unit", "`unit` is at least 768 bytes, as a row is "
	    "programmed at a stroke and has 256 units at most: it has 192 KiB" },
	{ NAND, "scale-blocks: 1366\n", "scale-blocks", "`scale-blocks` is 1366, and a die of 32 GiB has 1365 blocks "
	    "of "
	    "24 MiB" },
	{ NAND, "reserve-blocks: 198\n", "reserve-blocks", "`reserve-blocks` is below `scale-blocks`, which is 198, "
	    "not "
	    "198" },
	{ NAND, "programs-max: 33\n", "programs-max", "`programs-max` is 32 at most, as many as `dies`, not 33" },
	{ NAND, "buffer: 3068 KiB\n", "buffer", "`buffer` has a row of each die at least, 32 x 96 KiB, not 3068 KiB" },
	{ NAND, "buffer: 33000000 bytes\n", "buffer", "`buffer` is a multiple of `unit`, which is 4 KiB, not " },
	{ NAND, "journal\n", "power-loss-protection", "`power-loss-protection` is yes where there is no `journal`: the "
	    "map would be lost" },
	{ NAND, "read-spread: 55 us\n", "read-spread", "`read-spread` is less than `read`, which is 55 us, not 55 us" },
	{ NAND, "read: 4 s\nread-spread: 1 ns\n", "read-spread", "`read-spread` makes reads of 4 s at most, not "
	    "4000000.001 us" },
	{ NAND, "resume\n", "suspends-program", "`suspends-program` needs `suspend`, `resume` and `suspends-max`" },
	{ NAND, "suspends-program: no\nsuspends-max\n", "suspends-erase", "`suspends-erase` needs `suspend`, " },
	{ NAND, "suspends-program: no\nsuspends-erase: no\n", "suspend", "`suspend` is of what is suspended, and " },
	{ NAND, "suspends-program: no\nsuspends-erase: no\nsuspend\nresume\n", "suspends-max", "`suspends-max` is of" },
	{ NAND, "slc-program\n", "slc", "`slc` needs `slc-program`: how long a program takes in SLC mode" },
	{ NAND, "slc\nslc-fixed\n", "slc-program", "`slc-program` is of a share in SLC mode, and there is no `slc`" },
	{ NAND, "slc: 1 %\nslc-fixed: 2 %\n", "slc-fixed", "`slc-fixed` is a part of `slc`, which is 1 %, not 2 %" },
	{ NAND, "bits: 1\n", "slc", "`slc` is of cells with more than one bit, and `bits` is 1" },
	{ NAND, "pmr: 6 KiB\n", "pmr", "`pmr` is a multiple of 4 KiB, not 6 KiB" },
	{ NAND, "gc-low: 1\n", "gc-low", "`gc-low` is a number from 2 to 65536, not `1`" },
	{ NAND, "gc-low: 9\n", "gc-low", "`gc-low` leaves no room: of 200 blocks of a die hosts fill 184, 13 are held "
	    "back, 9 of them for `gc-low`, and the rest is too little" },
	{ NAND, "spare: 0\nreserve-blocks: 4\n", "gc-low", "`gc-low` leaves no room: of " },
	/* what cannot be reckoned with */
	{ NAND, "channel: 1 MB/s\nplanes: 16\npage: 256 KiB\nbits: 8\nunit: 128 KiB\nbuffer: 1 GiB\npages: "
	    "8\n", "channel",
	    "`channel` of 1 MB/s has to move 32 MiB at a stroke, and takes more than 4 s" },
	{ NAND, "die: 1 TiB\n", "die", "`die` has one of the units bytes, KiB, MiB or GiB, not `1 TiB`" },
	{ NAND, "capacity: 10 TB\ndies: 4096\nplanes: 8\npages: 24\nunit: 2 KiB\nscale-blocks: 3003\nbuffer: 2 GiB\n",
	    NULL, "the smallest of these drives cannot be: it has 2225" },
	{ NAND, "scale-blocks: 1003\nreserve-blocks: 1\ncapacity: 1 GB\n", NULL, "the smallest of these drives cannot "
	    "be: "
	    "it has 1 GB at most" },
};

static void
each_mistake_is_named_in_its_line(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const struct wrong *w = &wrongs[i];
		struct flash_profile profile;
		struct conf_errors errors;
		struct arena arena;
		const char *text;

		arena_init(&arena, 0);
		text = profile_with(&arena, profile_bases[w->media], w->changes);
		if (flash_profile_read(&arena, text, strlen(text), &errors, &profile) != -EINVAL)
			fail_msg("%s: is read", w->changes);
		if (errors.count != 1 || strncmp(errors.list[0].text, w->words, strlen(w->words)) != 0 ||
		    errors.list[0].line != (w->name != NULL ? profile_line(text, w->name) : 1))
			fail_msg("%s: %u, the first in line %u: %s", w->changes, errors.count, errors.list[0].line,
			    errors.list[0].text);
		arena_drop(&arena);
	}
}

static void
several_mistakes_are_told_in_the_order_of_lines(void **state)
{
	static const char text[] = "- 1\n", broken[] = "media: [\n";
	struct flash_profile profile;
	struct conf_errors errors;
	struct arena arena;
	const char *several;

	(void)state;
	arena_init(&arena, 0);
	several = profile_with(&arena, profile_bases[NAND], "dies: 0\nread: -1 us\npolicy: none\nchanel: 1\n");
	assert_int_equal(flash_profile_read(&arena, several, strlen(several), &errors, &profile), -EINVAL);
	assert_int_equal(errors.count, 4);
	for (unsigned i = 1; i < errors.count; i++)
		assert_true(errors.list[i - 1].line < errors.list[i].line);
	assert_int_equal(flash_profile_read(&arena, text, strlen(text), &errors, &profile), -EINVAL);
	assert_string_equal(errors.list[0].text, "a profile is keys with values, like `media: ...`");
	assert_int_equal(flash_profile_read(&arena, "", 0, &errors, &profile), -EINVAL);
	assert_string_equal(errors.list[0].text, "there is nothing in it");
	assert_int_equal(flash_profile_read(&arena, broken, strlen(broken), &errors, &profile), -EINVAL);
	arena_drop(&arena);
}

static void
memory_that_is_not_there_is_said_to_be_so(void **state)
{
	struct flash_profile profile;
	struct conf_errors errors;
	struct arena arena;

	(void)state;
	for (uint64_t fail_at = 1; fail_at <= 3; fail_at++) {
		arena_init(&arena, 0);
		arena.fail_at = fail_at;
		assert_int_equal(flash_profile_read(&arena, profile_bases[NAND], strlen(profile_bases[NAND]), &errors,
		    &profile), -ENOMEM);
		assert_int_equal(errors.count, 0);
		arena_drop(&arena);
	}
}

/* ---- those that are built in ---- */

static void
each_that_is_built_in_says_what_it_is(void **state)
{
	static const char *const names[] = { "tlc-plp", "tlc-consumer", "optane", "qlc" };
	struct flash_profile profile, other;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(flash_profile_count, 4);
	for (unsigned i = 0; i < flash_profile_count; i++) {
		assert_string_equal(flash_profile_texts[i].name, names[i]);
		profile_of(flash_profile_texts[i].text, &profile);
		assert_string_equal(profile.name, "");
		assert_true(profile.says[0] != '\0');
		assert_int_equal(flash_profile_find(&arena, names[i], &other), 0);
		assert_string_equal(other.name, names[i]);
		assert_true(flash_profile_hash(&profile) == flash_profile_hash(&other));
	}
	assert_int_equal(flash_profile_find(&arena, "tlc", &other), -ENOENT);
	arena_drop(&arena);
}

/* What hosts are told of a cache, and what a power loss takes, hangs on it. */
static void
only_the_consumer_drive_has_a_volatile_cache(void **state)
{
	struct flash_profile profile;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (unsigned i = 0; i < flash_profile_count; i++) {
		assert_int_equal(flash_profile_find(&arena, flash_profile_texts[i].name, &profile), 0);
		assert_int_equal(profile.power_loss_protection, strcmp(profile.name, "tlc-consumer") != 0);
	}
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_read),
		cmocka_unit_test(what_is_printed_is_read_back_as_the_same_drive),
		cmocka_unit_test(the_hash_depends_on_each_number),
		cmocka_unit_test(the_hash_does_not_depend_on_how_a_profile_is_written),
		cmocka_unit_test(what_is_not_said_has_its_default),
		cmocka_unit_test(each_mistake_is_named_in_its_line),
		cmocka_unit_test(several_mistakes_are_told_in_the_order_of_lines),
		cmocka_unit_test(memory_that_is_not_there_is_said_to_be_so),
		cmocka_unit_test(each_that_is_built_in_says_what_it_is),
		cmocka_unit_test(only_the_consumer_drive_has_a_volatile_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
