/* test_blk_flash.c - what a volume on a modelled drive says of its wear, through whatever is before it. */
#include <string.h>

#include "blk/devices.h"
#include "blk_bench.h"

static struct blk_health
health(void)
{
	struct blk_health health;

	assert_true(blk_health(chans[0], &health));
	assert_false(blk_health(chans[1], &health)); /* it is at home on the first reactor */
	return health;
}

static void
what_is_before_a_drive_tells_how_it_is(void **state)
{
	static const char *const specs[] = {
		"flash:optane,8M", "flash:optane@mem:8M", "volatile:@flash:optane,8M",
		"fault:drop-write=2@flash:optane,8M", "fault:read-error=0@volatile:@flash:optane,8M",
	};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct blk_health before, after;

		blk_begin(specs[i]);
		before = health();
		write_now(3, 4, 'a');
		io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
		after = health();
		assert_int_equal(before.written_bytes, 0);
		assert_int_equal(after.written_bytes, 4 * BS);
		assert_int_equal(after.media_bytes, 4 * BS);
		assert_int_equal(after.writes, 1);
		if (strncmp(specs[i], "fault:drop", 10) == 0) {
			write_now(9, 4, 'b');
			assert_int_equal(health().writes, 1); /* the second one never came to it */
		}
		blk_end();
	}
}

static void
what_does_not_wear_says_nothing(void **state)
{
	static const char *const specs[] = { "mem:8M", "null:8M", "volatile:@mem:8M", "fault:dead=1@mem:8M" };
	struct blk_health health;

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		blk_begin(specs[i]);
		assert_false(blk_health(chans[0], &health));
		assert_false(blk_health(chans[1], &health));
		blk_end();
	}
}

/* It was filled and written all over three times before anybody could see it. */
static void
what_it_was_prepared_with_is_of_its_life(void **state)
{
	struct blk_health h;

	blk_begin("flash:tlc-plp,513M,state=fragmented");
	h = health();
	assert_int_equal(h.written_bytes, 4 * UINT64_C(513) << 20);
	assert_true(h.media_bytes > 2 * h.written_bytes);
	assert_int_equal(h.writes, 0);
	assert_true(h.erases_least > 0 && h.erases_most > h.erases_least);
	assert_int_equal(h.used_percent, 0); /* of 5100 times */
	blk_end();
}

static void
open_with_region(uint64_t pages_most, int wanted)
{
	struct flash_plan plan = { .bytes = 8 << 20, .data = true };
	struct arena scratch;
	char why[BLK_WHY];

	fakeworld_init(&fw, CHANS);
	arena_init(&scratch, 0);
	assert_int_equal(flash_profile_find(&scratch, "optane", &plan.profile), 0);
	arena_drop(&scratch);
	plan.profile.pmr_bytes = 16 << 20;
	fw.pages_most = pages_most;
	assert_int_equal(flash_open(&fw.reactors[0], &plan, NULL, BS, &blk, why), wanted);
	if (wanted == 0) {
		blk_open_chans();
		write_now(0, 1, 'x');
		blk_end();
	} else {
		fakeworld_fini(&fw);
	}
}

/* Nothing of it is left when the volume is gone, nor where there are no pages for it. */
static void
a_drive_may_have_a_persistent_memory_region(void **state)
{
	open_with_region(0, 0);
	open_with_region(8 << 20, -12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_before_a_drive_tells_how_it_is),
		cmocka_unit_test(what_does_not_wear_says_nothing),
		cmocka_unit_test(what_it_was_prepared_with_is_of_its_life),
		cmocka_unit_test(a_drive_may_have_a_persistent_memory_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
