/*
 * test_exercise.c - a closed loop on a drive: how much is under way, where, and what was written before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flash/exercise.h"

enum { KIB = 1024, BYTES = 600 * KIB * KIB, BLOCKS = BYTES / (4 * KIB) };

struct gym {
	struct arena arena;
	struct drive *drive;
	struct exercise *exercise;
	uint8_t *store;
	uint64_t ended, wrong, last, steps; /* `steps`: that ended one place behind the one before */
	uint8_t touched[BLOCKS];
};

static void
gym_open(struct gym *gym, const char *profile, bool with_contents)
{
	struct drive_options options = { .seed = 1 };
	char why[FLASH_WHY];

	memset(gym, 0, sizeof(*gym));
	arena_init(&gym->arena, 0);
	assert_int_equal(flash_profile_find(&gym->arena, profile, &options.profile), 0);
	if (flash_geometry_init(&options.geometry, &options.profile, BYTES, why) != 0)
		fail_msg("%s", why);
	if (with_contents) {
		options.store = gym->store = arena_alloc(&gym->arena, BYTES);
		assert_non_null(gym->store);
	}
	assert_int_equal(drive_create(&gym->arena, &options, &gym->drive), 0);
	for (uint32_t unit = 0; drive_ftl(gym->drive) != NULL && unit < options.geometry.units; unit++)
		ftl_write(drive_ftl(gym->drive), unit);
	if (drive_ftl(gym->drive) != NULL)
		ftl_finish_rows(drive_ftl(gym->drive));
}

static void
gym_load(struct gym *gym, const struct exercise_load *load)
{
	assert_int_equal(exercise_create(&gym->arena, gym->drive, load, &gym->exercise), 0);
}

static void
gym_close(struct gym *gym)
{
	exercise_destroy(gym->exercise);
	drive_destroy(gym->drive);
	arena_free(&gym->arena, gym->store);
	arena_drop(&gym->arena);
}

static void
look(const struct drive_cmd *cmd, void *arg)
{
	struct gym *gym = arg;

	assert_in_range(cmd->offset, 0, BYTES - cmd->bytes);
	gym->ended++;
	gym->steps += cmd->offset == gym->last + cmd->bytes;
	gym->last = cmd->offset;
	gym->touched[cmd->offset / (4 * KIB)]++;
	if (cmd->iov != NULL)
		gym->wrong += memcmp(cmd->iov->iov_base, gym->store + cmd->offset, cmd->bytes) != 0;
}

/* What commands took, all together, is what passed, as often as there are some under way (Little's law). */
static void
as_many_are_under_way_as_were_asked_for(void **state)
{
	static const uint32_t depths[] = { 1, 7, 128 };
	struct gym gym;

	for (unsigned i = 0; i < 3; i++) {
		struct exercise_load load = { .bytes = 4 * KIB, .depth = depths[i], .read_percent = 50, .seed = 2 };
		const struct exercise_result *result;
		uint64_t sum;

		gym_open(&gym, "tlc-plp", false);
		gym_load(&gym, &load);
		exercise_run(gym.exercise, 1000);
		exercise_forget(gym.exercise);
		exercise_run(gym.exercise, 20000);
		result = exercise_result(gym.exercise);
		sum = result->latency[EXERCISE_READS].sum + result->latency[EXERCISE_WRITES].sum;
		assert_in_range(sum * 100 / result->ns, depths[i] * 99, depths[i] * 101);
		gym_close(&gym);
	}
}

static void
reads_are_as_many_as_the_load_says(void **state)
{
	struct exercise_load load = { .bytes = 4 * KIB, .depth = 16, .read_percent = 70, .seed = 3 };
	const struct exercise_result *result;
	struct gym gym;

	gym_open(&gym, "optane", false);
	gym_load(&gym, &load);
	exercise_fill_buffer(gym.exercise); /* and there is none */
	exercise_run(gym.exercise, 10000);
	result = exercise_result(gym.exercise);
	assert_in_range(result->latency[EXERCISE_READS].count, 6850, 7150);
	assert_int_equal(result->latency[EXERCISE_READS].count + result->latency[EXERCISE_WRITES].count, 10000);
	assert_int_equal(result->programmed_bytes, 0);
	gym_close(&gym);
}

static void
a_stream_goes_from_the_start_to_the_end_and_again(void **state)
{
	struct gym gym;
	struct exercise_load load = { .bytes = 128 * KIB, .depth = 1, .read_percent = 100, .sequential = true,
		.ended = look, .arg = &gym };

	gym_open(&gym, "optane", false);
	gym_load(&gym, &load);
	exercise_run(gym.exercise, 2 * BYTES / (128 * KIB));
	assert_int_equal(gym.steps, gym.ended - 2);
	assert_int_equal(gym.touched[0], 2);
	assert_int_equal(gym.touched[BLOCKS - 32], 2);
	gym_close(&gym);
}

static void
random_commands_are_anywhere_at_their_steps(void **state)
{
	struct gym gym;
	struct exercise_load load = { .bytes = 8 * KIB, .depth = 8, .read_percent = 100, .step_bytes = 64 * KIB,
		.ended = look, .arg = &gym };
	uint32_t touched = 0;

	gym_open(&gym, "tlc-plp", false);
	gym_load(&gym, &load);
	exercise_run(gym.exercise, 5 * BLOCKS);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		touched += gym.touched[block] > 0;
		assert_true(block % 16 == 0 || gym.touched[block] == 0);
	}
	assert_int_equal(touched, BLOCKS / 16);
	gym_close(&gym);
}

static void
who_reads_is_given_what_is_there(void **state)
{
	struct gym gym;
	struct exercise_load load = { .bytes = 4 * KIB, .depth = 32, .read_percent = 100, .ended = look, .arg = &gym };

	gym_open(&gym, "tlc-plp", true);
	for (uint32_t i = 0; i < BYTES; i += 8)
		memcpy(gym.store + i, &(uint64_t){ i }, 8);
	load.contents = arena_alloc(&gym.arena, (size_t)load.depth * load.bytes);
	assert_non_null(load.contents);
	gym_load(&gym, &load);
	exercise_run(gym.exercise, 5000);
	assert_int_equal(gym.ended, 5000);
	assert_int_equal(gym.wrong, 0);
	gym_close(&gym);
}

/* Units that are moved while twice its buffer is written at random to a drive that was filled in order. */
static uint64_t
moved(bool use_spare)
{
	struct exercise_load load = { .bytes = 4 * KIB, .depth = 32, .seed = 4 };
	uint64_t before, after;
	struct gym gym;

	gym_open(&gym, "tlc-plp", false);
	gym_load(&gym, &load);
	if (use_spare)
		exercise_use_spare(gym.exercise);
	before = ftl_counts(drive_ftl(gym.drive))->gc_units;
	exercise_fill_buffer(gym.exercise);
	after = ftl_counts(drive_ftl(gym.drive))->gc_units;
	assert_null(drive_check(gym.drive, false));
	gym_close(&gym);
	return after - before;
}

static void
who_has_used_his_spare_collects(void **state)
{
	assert_int_equal(moved(false), 0);
	assert_in_range(moved(true), 500, 50000);
}

/* What is written again in order leaves blocks that nothing valid is in: there is little to collect, and an end to
 * it. */
static void
who_writes_in_order_uses_his_spare_too(void **state)
{
	struct exercise_load load = { .bytes = 128 * KIB, .depth = 4, .sequential = true };
	struct gym gym;

	gym_open(&gym, "tlc-plp", false);
	gym_load(&gym, &load);
	exercise_use_spare(gym.exercise);
	exercise_fill_blocks(gym.exercise);
	assert_in_range(exercise_result(gym.exercise)->ns, 1, UINT64_MAX);
	gym_close(&gym);
}

static void
a_block_of_each_die_is_written(void **state)
{
	struct exercise_load load = { .bytes = 4 * KIB, .depth = 64, .read_percent = 70 };
	const struct flash_geometry *g;
	uint64_t before;
	struct gym gym;

	gym_open(&gym, "tlc-plp", false);
	gym_load(&gym, &load);
	g = drive_geometry(gym.drive);
	before = ftl_counts(drive_ftl(gym.drive))->host_units;
	exercise_fill_blocks(gym.exercise);
	assert_in_range(ftl_counts(drive_ftl(gym.drive))->host_units - before, g->dies * g->block_units,
	    g->dies * g->block_units + 1000);
	gym_close(&gym);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_are_under_way_as_were_asked_for),
		cmocka_unit_test(reads_are_as_many_as_the_load_says),
		cmocka_unit_test(a_stream_goes_from_the_start_to_the_end_and_again),
		cmocka_unit_test(random_commands_are_anywhere_at_their_steps),
		cmocka_unit_test(who_reads_is_given_what_is_there),
		cmocka_unit_test(who_has_used_his_spare_collects),
		cmocka_unit_test(who_writes_in_order_uses_his_spare_too),
		cmocka_unit_test(a_block_of_each_die_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
