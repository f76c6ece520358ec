/*
 * flash/nand: times of few jobs, worked out by hand.
 *
 * A channel moves a byte in a nanosecond: a read of 4096 bytes takes 50000 + 4096 = 54096, a program of two pages
 * 2 x 16384 + 1000000 = 1032768.  Dies 0, 2, 4 and 6 are on channel 0, the others on channel 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flash/nand.h"

enum {
	SENSE = 50000, UNIT = 4096, PAGE = 16384, CELLS = 1000000, ERASE = 3000000,
	READ = SENSE + UNIT, PROGRAM = 2 * PAGE + CELLS, SUSPEND = 40000, RESUME = 30000,
	JOBS = 32,
};

struct bench {
	struct arena arena;
	struct flash_profile profile;
	struct nand *nand;
	struct nand_job jobs[JOBS];
	unsigned ends[JOBS]; /* numbers of jobs in the order in which they ended */
	unsigned count, ended;
};

static struct flash_profile
simple(void)
{
	return (struct flash_profile){
		.page_bytes = PAGE, .channel_mb_s = 1000, .channel_write_mb_s = 1000, .programs_max = 8,
		.suspends_program = 1, .suspends_erase = 1,
		.suspend_ns = SUSPEND, .resume_ns = RESUME, .suspends_max = 2,
	};
}

static void
begin(struct bench *bench, struct flash_profile profile)
{
	struct flash_geometry geometry = { .dies = 8, .channels = 2 };

	*bench = (struct bench){ .profile = profile };
	arena_init(&bench->arena, 0);
	assert_int_equal(nand_create(&bench->arena, &geometry, &profile, &bench->nand), 0);
	assert_true(nand_next(bench->nand) == UINT64_MAX);
}

static void
run(struct bench *bench, uint64_t until_ns)
{
	struct nand_job *job;

	while ((job = nand_run(bench->nand, until_ns)) != NULL) {
		assert_true(job->end_ns <= until_ns);
		bench->ends[bench->ended++] = (unsigned)(job - bench->jobs);
	}
}

static unsigned
submit(struct bench *bench, uint64_t at_ns, struct nand_job job)
{
	unsigned number = bench->count++;

	run(bench, at_ns);
	bench->jobs[number] = job;
	nand_submit(bench->nand, &bench->jobs[number], at_ns);
	return number;
}

static void
read_of(struct bench *bench, uint16_t die, uint32_t cells_ns, bool urgent)
{
	submit(bench, 0, (struct nand_job){ .op = NAND_READ, .urgent = urgent, .die = die, .cells_ns = cells_ns,
	    .bytes = UNIT });
}

static void
host_read(struct bench *bench, uint64_t at_ns, uint16_t die)
{
	submit(bench, at_ns, (struct nand_job){ .op = NAND_READ, .urgent = true, .die = die, .cells_ns = SENSE,
	    .bytes = UNIT });
}

static void
own_read(struct bench *bench, uint64_t at_ns, uint16_t die)
{
	submit(bench, at_ns, (struct nand_job){ .op = NAND_READ, .die = die, .cells_ns = SENSE, .bytes = UNIT });
}

static void
program_of(struct bench *bench, uint64_t at_ns, uint16_t die, uint32_t bytes)
{
	submit(bench, at_ns, (struct nand_job){ .op = NAND_PROGRAM, .die = die, .cells_ns = CELLS, .bytes = bytes });
}

static void
program(struct bench *bench, uint64_t at_ns, uint16_t die)
{
	program_of(bench, at_ns, die, 2 * PAGE);
}

static void
erase(struct bench *bench, uint64_t at_ns, uint16_t die)
{
	submit(bench, at_ns, (struct nand_job){ .op = NAND_ERASE, .die = die, .cells_ns = ERASE });
}

/* All end, the jobs in the order in which they were submitted at these times. */
#define assert_ends(bench, ...) \
	do { \
		const uint64_t times[] = { __VA_ARGS__ }; \
		run(bench, UINT64_MAX); \
		assert_int_equal((bench)->count, sizeof(times) / sizeof(times[0])); \
		assert_int_equal((bench)->ended, (bench)->count); \
		for (unsigned i = 0; i < (bench)->count; i++) \
			assert_int_equal((bench)->jobs[i].end_ns, times[i]); \
		assert_true(nand_next((bench)->nand) == UINT64_MAX); \
		finish(bench); \
	} while (0)

static void
finish(struct bench *bench)
{
	nand_destroy(bench->nand);
	assert_int_equal(bench->arena.bytes, 0);
}

/* ---- reads ---- */

static void
a_read_senses_and_moves(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	host_read(&bench, 1000, 3);
	assert_int_equal(nand_next(bench.nand), 1000 + SENSE);
	assert_null(nand_run(bench.nand, 1000 + READ - 1));
	assert_int_equal(nand_next(bench.nand), 1000 + READ);
	assert_ends(&bench, 1000 + READ);
}

static void
reads_of_a_die_are_one_after_another(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	host_read(&bench, 0, 0);
	host_read(&bench, 10, 0);
	host_read(&bench, 200000, 0);
	assert_ends(&bench, READ, 2 * READ, 200000 + READ);
}

static void
dies_of_a_channel_sense_together_and_move_in_turn(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	host_read(&bench, 0, 4);
	host_read(&bench, 0, 0);
	host_read(&bench, 0, 2);
	/* All have sensed at the same instant: the lowest goes first. */
	assert_ends(&bench, READ + 2 * UNIT, READ, READ + UNIT);
}

static void
channels_do_not_wait_for_one_another(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	host_read(&bench, 0, 1);
	host_read(&bench, 0, 0);
	run(&bench, UINT64_MAX);
	assert_int_equal(bench.ends[0], 1); /* of the same instant the lower die */
	assert_ends(&bench, READ, READ);
}

static void
a_read_holds_its_die_until_its_data_is_moved(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	host_read(&bench, 0, 0); /* moves from 50000 */
	host_read(&bench, 0, 2); /* waits until 54096, and moves to 58192 */
	host_read(&bench, 0, 2); /* senses only then, to 108192 */
	assert_ends(&bench, READ, READ + UNIT, READ + UNIT + READ);
}

static void
what_is_moved_is_rounded_up_and_has_overhead(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.overhead_permille = 60;
	profile.channel_mb_s = 533;
	profile.channel_write_mb_s = 400;
	begin(&bench, profile);
	/* 4096 x 1.060 / 0.533 = 8145.9; 16384 x 1.060 / 0.4 = 43417.6, and a page of 100: 265 */
	host_read(&bench, 0, 0);
	program_of(&bench, 0, 1, PAGE + 100);
	assert_ends(&bench, SENSE + 8146, 43418 + 265 + CELLS);
}

/* ---- programs and erases ---- */

static void
without_suspending_reads_wait(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.suspends_program = 0;
	begin(&bench, profile);
	program(&bench, 0, 0);
	host_read(&bench, 500000, 0);
	assert_ends(&bench, PROGRAM, PROGRAM + READ);
}

static void
a_read_suspends_a_program(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	host_read(&bench, 500000, 0);
	/* 1032768 - 500000 = 532768 are left.  540000: suspended; 594096: read; 624096: resumed. */
	assert_ends(&bench, 624096 + 532768, 540000 + READ);
}

static void
what_is_over_as_soon_is_not_suspended(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	host_read(&bench, PROGRAM - SUSPEND, 0);
	program(&bench, 0, 1);
	host_read(&bench, PROGRAM - SUSPEND - 1, 1); /* SUSPEND + 1 are left */
	assert_ends(&bench, PROGRAM, PROGRAM + READ, PROGRAM - 1 + READ + RESUME + SUSPEND + 1, PROGRAM - 1 + READ);
}

static void
what_was_suspended_often_enough_goes_on_to_its_end(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	host_read(&bench, 100000, 0); /* 932768 left; 140000, 194096, 224096 */
	host_read(&bench, 300000, 0); /* 932768 - 75904 = 856864 left; 340000, 394096, 424096 */
	host_read(&bench, 500000, 0);
	assert_ends(&bench, 424096 + 856864, 194096, 394096, 1280960 + READ);
}

/* Nothing is known of the cells until all of the data is there. */
static void
a_read_that_meets_data_being_moved_suspends_when_that_is_over(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	host_read(&bench, 10000, 0); /* 32768: cells begin; 72768: suspended; 126864; 156864: resumed */
	assert_ends(&bench, 156864 + CELLS, 126864);
}

static void
a_read_that_meets_a_program_resuming_suspends_it_again(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	host_read(&bench, 100000, 0); /* 932768 left; 140000, 194096, 224096 */
	host_read(&bench, 200000, 0); /* 264096, 318192, 348192 */
	assert_ends(&bench, 348192 + 932768, 194096, 318192);
}

static void
reads_that_come_while_it_is_suspended_are_served_too(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	host_read(&bench, 100000, 0); /* 932768 left; 140000, 194096 */
	host_read(&bench, 110000, 0); /* while it is being suspended: 248192 */
	host_read(&bench, 240000, 0); /* 302288 */
	assert_ends(&bench, 302288 + RESUME + 932768, 194096, 248192, 302288);
}

static void
a_suspension_serves_a_bounded_number_of_reads(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	for (unsigned i = 0; i < NAND_READS_AHEAD + 2; i++)
		host_read(&bench, 100000, 0);
	/*
	 * 932768 left; 140000: suspended; 8 reads, 572768; resumed 602768, and suspended a second time: 642768;
	 * 2 reads, 750960; resumed 780960.
	 */
	assert_ends(&bench, 780960 + 932768, 194096, 248192, 302288, 356384, 410480, 464576, 518672, 572768, 696864,
	    750960);
}

static void
reads_do_not_keep_a_program_from_beginning_for_ever(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.suspends_program = 0;
	begin(&bench, profile);
	host_read(&bench, 0, 0);
	program(&bench, 0, 0);
	for (unsigned i = 0; i < NAND_READS_AHEAD + 1; i++)
		host_read(&bench, 0, 0);
	assert_ends(&bench, READ, 9 * READ + PROGRAM, 2 * READ, 3 * READ, 4 * READ, 5 * READ, 6 * READ, 7 * READ,
	    8 * READ, 9 * READ, 10 * READ + PROGRAM);
}

static void
an_erase_takes_its_time_and_is_suspended(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	erase(&bench, 0, 0);
	erase(&bench, 0, 1);
	host_read(&bench, 1000000, 0); /* 2000000 left; 1040000, 1094096, 1124096 */
	assert_ends(&bench, 1124096 + 2000000, ERASE, 1094096);
}

static void
each_kind_is_suspended_where_the_drive_can(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.suspends_program = 0;
	begin(&bench, profile);
	program(&bench, 0, 0);
	erase(&bench, 0, 1);
	host_read(&bench, 1000000, 0);
	host_read(&bench, 1000000, 1);
	assert_ends(&bench, PROGRAM, 3124096, PROGRAM + READ, 1094096);
}

/* ---- power ---- */

static void
only_so_many_dies_program_at_a_time(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.programs_max = 2;
	begin(&bench, profile);
	program(&bench, 0, 0);
	erase(&bench, 0, 1);
	program(&bench, 0, 3);   /* after the first */
	erase(&bench, 0, 2);     /* after the third: 2065536 */
	program(&bench, 10, 0);  /* is behind both of them: after the erase, at 3000000 */
	assert_ends(&bench, PROGRAM, ERASE, 2 * PROGRAM, 2 * PROGRAM + ERASE, ERASE + PROGRAM);
}

/* What a drive reads to move it costs power as its programs do; what a host reads is never short of it. */
static void
what_a_drive_reads_for_itself_needs_power(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.programs_max = 1;
	begin(&bench, profile);
	own_read(&bench, 0, 0);
	own_read(&bench, 0, 1);
	program(&bench, 0, 3);
	host_read(&bench, 0, 2);
	assert_ends(&bench, READ + UNIT, 2 * READ + UNIT, 2 * READ + UNIT + PROGRAM, READ);
}

static void
a_die_whose_program_waits_for_power_serves_reads(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.programs_max = 1;
	begin(&bench, profile);
	program(&bench, 0, 0);
	program(&bench, 0, 1);
	host_read(&bench, 100000, 1);
	host_read(&bench, 1000000, 1); /* is on the die when there is power, at 1032768 */
	assert_ends(&bench, PROGRAM, 1000000 + READ + PROGRAM, 100000 + READ, 1000000 + READ);
}

/* Reads have gone before it while there was none, and power does not lie idle. */
static void
who_is_given_power_begins_when_the_die_is_free(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.programs_max = 1;
	profile.suspends_program = 0;
	begin(&bench, profile);
	program(&bench, 0, 0);
	program(&bench, 0, 1);
	host_read(&bench, 1000000, 1); /* is on the die when there is power, at 1032768 */
	host_read(&bench, 1000000, 1);
	assert_ends(&bench, PROGRAM, 1000000 + READ + PROGRAM, 1000000 + READ, 1000000 + 2 * READ + PROGRAM);
}

static void
a_suspended_program_keeps_its_power(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.programs_max = 1;
	begin(&bench, profile);
	program(&bench, 0, 0);
	program(&bench, 0, 1);
	host_read(&bench, 500000, 0); /* as above: the program ends at 1156864 */
	assert_ends(&bench, 1156864, 1156864 + PROGRAM, 594096);
}

/* ---- who goes first ---- */

static void
what_a_drive_reads_for_itself_delays_a_host_by_one_job(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	own_read(&bench, 0, 0);
	own_read(&bench, 0, 0);
	own_read(&bench, 0, 0);
	assert_int_equal(nand_load(bench.nand, 0), 3);
	host_read(&bench, 1000, 0);
	assert_int_equal(nand_load(bench.nand, 0), 3);
	assert_int_equal(nand_load(bench.nand, 1), 0);
	run(&bench, 3 * READ);
	assert_int_equal(nand_load(bench.nand, 0), 1);
	assert_ends(&bench, READ, 3 * READ, 4 * READ, 2 * READ);
}

static void
a_read_goes_between_the_pages_of_a_program(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program_of(&bench, 0, 0, 6 * PAGE);
	host_read(&bench, 0, 2); /* senses to 50000; the fourth page moves to 65536; then this, to 69632 */
	assert_ends(&bench, 6 * PAGE + UNIT + CELLS, 69632);
}

static void
programs_take_turns_on_a_channel(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0);
	program(&bench, 0, 2);
	assert_ends(&bench, 3 * PAGE + CELLS, 4 * PAGE + CELLS);
}

static void
urgent_reads_go_first_on_a_channel(void **state)
{
	struct bench bench;

	begin(&bench, simple());
	program(&bench, 0, 0); /* the first page to 16384 */
	read_of(&bench, 2, 5000, false);
	read_of(&bench, 4, 6000, true);
	read_of(&bench, 6, 18000, true);
	/* At 16384 that of die 4, to 20480; that of die 6 asks at 18000, to 24576; then die 2; then the second page. */
	assert_ends(&bench, 24576 + UNIT + PAGE + CELLS, 24576 + UNIT, 20480, 24576);
}

/* ---- the power is gone ---- */

static void
a_cut_gives_every_job_back(void **state)
{
	struct flash_profile profile = simple();
	struct bench bench;

	profile.programs_max = 1;
	begin(&bench, profile);
	program(&bench, 0, 0);
	program(&bench, 0, 2);
	erase(&bench, 0, 4);
	own_read(&bench, 0, 6);
	host_read(&bench, 0, 2);
	host_read(&bench, 0, 2);
	host_read(&bench, 0, 1);
	run(&bench, 52000); /* in the midst of a program, a transfer and a sensing, two wait for power, and one reads */
	nand_cut(bench.nand);
	assert_true(nand_next(bench.nand) == UINT64_MAX);
	assert_null(nand_run(bench.nand, UINT64_MAX));
	for (uint32_t die = 0; die < 8; die++)
		assert_int_equal(nand_load(bench.nand, die), 0);
	bench.count = bench.ended = 0;
	program(&bench, 52000, 2);
	host_read(&bench, 52000, 6);
	host_read(&bench, 52000, 0);
	program(&bench, 52000, 7); /* nobody else waits for power */
	/* Two pages from 52000 to 84768; both reads have sensed at 102000. */
	assert_ends(&bench, 52000 + PROGRAM, 102000 + 2 * UNIT, 102000 + UNIT, 52000 + 2 * PROGRAM);
}

static void
memory_that_is_short_is_said(void **state)
{
	struct flash_geometry geometry = { .dies = 8, .channels = 2 };
	struct flash_profile profile = simple();
	struct arena arena;
	struct nand *nand;
	unsigned failed = 0;

	arena_init(&arena, 0);
	for (;;) {
		arena.fail_at = failed + 1;
		if (nand_create(&arena, &geometry, &profile, &nand) == 0)
			break;
		assert_int_equal(arena.bytes, 0);
		failed++;
	}
	assert_int_equal(failed, 5);
	nand_destroy(nand);
	assert_int_equal(arena.bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_senses_and_moves),
		cmocka_unit_test(reads_of_a_die_are_one_after_another),
		cmocka_unit_test(dies_of_a_channel_sense_together_and_move_in_turn),
		cmocka_unit_test(channels_do_not_wait_for_one_another),
		cmocka_unit_test(a_read_holds_its_die_until_its_data_is_moved),
		cmocka_unit_test(what_is_moved_is_rounded_up_and_has_overhead),
		cmocka_unit_test(without_suspending_reads_wait),
		cmocka_unit_test(a_read_suspends_a_program),
		cmocka_unit_test(what_is_over_as_soon_is_not_suspended),
		cmocka_unit_test(what_was_suspended_often_enough_goes_on_to_its_end),
		cmocka_unit_test(a_read_that_meets_data_being_moved_suspends_when_that_is_over),
		cmocka_unit_test(a_read_that_meets_a_program_resuming_suspends_it_again),
		cmocka_unit_test(reads_that_come_while_it_is_suspended_are_served_too),
		cmocka_unit_test(a_suspension_serves_a_bounded_number_of_reads),
		cmocka_unit_test(reads_do_not_keep_a_program_from_beginning_for_ever),
		cmocka_unit_test(an_erase_takes_its_time_and_is_suspended),
		cmocka_unit_test(each_kind_is_suspended_where_the_drive_can),
		cmocka_unit_test(only_so_many_dies_program_at_a_time),
		cmocka_unit_test(what_a_drive_reads_for_itself_needs_power),
		cmocka_unit_test(a_die_whose_program_waits_for_power_serves_reads),
		cmocka_unit_test(who_is_given_power_begins_when_the_die_is_free),
		cmocka_unit_test(a_suspended_program_keeps_its_power),
		cmocka_unit_test(what_a_drive_reads_for_itself_delays_a_host_by_one_job),
		cmocka_unit_test(a_read_goes_between_the_pages_of_a_program),
		cmocka_unit_test(programs_take_turns_on_a_channel),
		cmocka_unit_test(urgent_reads_go_first_on_a_channel),
		cmocka_unit_test(a_cut_gives_every_job_back),
		cmocka_unit_test(memory_that_is_short_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
