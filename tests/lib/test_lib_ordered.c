/* Ordered writes: what is written, told, waited for and read; what is refused; who takes a stream over. */
#include "lib_bench.h"

#include <errno.h>
#include <poll.h>

#include "between.h"

enum { BLOCK = 4096, STREAM = 11, STRIPE = 2 * BLOCK };

struct bench {
	struct served served;
	struct between between;
	struct weir_host *host;
	struct weir_subsys *subsys;
	struct weir_member members[2];
	struct weir_ordered *ordered;
	uint64_t complete, durable, calls; /* as it was told */
	int nested;                        /* what polling in a callback has answered */
};

static void
complete(void *arg, uint64_t group)
{
	struct bench *bench = arg;

	assert_true(group > bench->complete);
	bench->complete = group;
	bench->calls++;
	bench->nested = weir_ordered_poll(bench->ordered, 0);
}

static void
durable(void *arg, uint64_t group)
{
	struct bench *bench = arg;

	assert_true(group > bench->durable && group <= bench->complete);
	bench->durable = group;
}

static struct weir_ordered_options
options_of(struct bench *bench)
{
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);

	options.stream = STREAM;
	options.stripe = STRIPE;
	options.complete = complete;
	options.durable = durable;
	options.arg = bench;
	return options;
}

static void
open_it(struct bench *bench)
{
	const struct weir_ordered_options options = options_of(bench);

	bench->complete = bench->durable = 0;
	must(weir_ordered_open(bench->members, 2, &options, &bench->ordered));
}

static int
begin(void **state, const char *volume)
{
	static struct bench bench;

	bench = (struct bench){ 0 };
	served_start(&bench.served, "--ns", volume, "--ns", "mem:1M", NULL);
	between_start(&bench.between, &bench.served);
	bench.host = bench_host();
	must(weir_subsys_connect(bench.host, bench.between.uri, NULL, &bench.subsys));
	for (unsigned i = 0; i < 2; i++)
		bench.members[i] = (struct weir_member){ bench.subsys, 1 + i };
	*state = &bench;
	return 0;
}

static int
set_up(void **state)
{
	return begin(state, "mem:1M");
}

/* Its target says that a write may be lost until it is flushed. */
static int
set_up_cached(void **state)
{
	char volume[300];

	snprintf(volume, sizeof(volume), "file:%s,size=1M", served_file("ordered"));
	return begin(state, volume);
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	weir_ordered_close(bench->ordered);
	weir_subsys_disconnect(bench->subsys);
	weir_host_destroy(bench->host);
	between_stop(&bench->between);
	served_stop(&bench->served);
	served_clean();
	return 0;
}

/* Groups of a block for each, two blocks apart, from `first` on. */
static void
write_groups(struct bench *bench, uint8_t (*data)[BLOCK], unsigned first, unsigned count, unsigned flags)
{
	uint64_t group;

	for (unsigned i = first; i < first + count; i++) {
		bench_fill(data[i], BLOCK, i * UINT64_C(2) * BLOCK, i);
		must(weir_ordered_write(bench->ordered, data[i], BLOCK, i * UINT64_C(2) * BLOCK,
		    WEIR_GROUP_END | flags, &group));
	}
}

static void
what_is_written_is_told_in_order_and_read(void **state)
{
	enum { GROUPS = 60 };
	static uint8_t data[GROUPS][BLOCK], back[BLOCK];
	struct weir_ordered_state now;
	struct bench *bench = *state;

	open_it(bench);
	write_groups(bench, data, 0, GROUPS, 0);
	weir_ordered_state(bench->ordered, &now);
	assert_int_equal(now.written, GROUPS);
	assert_int_equal(now.pieces, GROUPS);
	assert_int_equal(now.targets, 1);
	assert_int_equal(now.away, 0);
	must(weir_ordered_wait(bench->ordered, GROUPS, -1));
	assert_int_equal(bench->complete, GROUPS);
	assert_int_equal(bench->durable, GROUPS);
	assert_int_equal(bench->nested, -EDEADLK);
	weir_ordered_state(bench->ordered, &now);
	assert_int_equal(now.durable, GROUPS);
	assert_int_equal(now.pieces, 0);
	assert_true(now.commands >= GROUPS / 2 && now.commands <= GROUPS);
	for (unsigned i = 0; i < GROUPS; i++) {
		must(weir_ordered_read(bench->ordered, back, BLOCK, i * UINT64_C(2) * BLOCK));
		bench_check(back, BLOCK, i * UINT64_C(2) * BLOCK, i);
	}
}

static void
a_stream_goes_on_where_it_was(void **state)
{
	static uint8_t data[17][BLOCK];
	struct weir_ordered_state now;
	struct bench *bench = *state;

	open_it(bench);
	weir_ordered_state(bench->ordered, &now);
	assert_int_equal(now.last, 0);
	write_groups(bench, data, 0, 10, 0);
	must(weir_ordered_wait(bench->ordered, 0, -1));
	weir_ordered_close(bench->ordered);
	open_it(bench);
	weir_ordered_state(bench->ordered, &now);
	assert_int_equal(now.last, 10);
	assert_int_equal(now.durable, 0);
	write_groups(bench, data, 10, 7, WEIR_GROUP_DURABLE);
	must(weir_ordered_wait(bench->ordered, 7, -1));
	assert_int_equal(bench->durable, 7);
}

static void
a_group_of_several_writes_ends_without_another_one(void **state)
{
	static uint8_t data[4][BLOCK];
	struct bench *bench = *state;
	uint64_t group = 0;

	open_it(bench);
	for (unsigned i = 0; i < 4; i++) {
		must(weir_ordered_write(bench->ordered, data[i], BLOCK, i * UINT64_C(3) * BLOCK, 0, &group));
		assert_int_equal(group, 1);
	}
	must_fail(weir_ordered_wait(bench->ordered, 1, -1), -EINVAL);
	must_say("has not ended");
	must(weir_ordered_end(bench->ordered, 0));
	must(weir_ordered_wait(bench->ordered, 1, -1));
	must(weir_ordered_end(bench->ordered, 0));
	must(weir_ordered_flush(bench->ordered, &group));
	assert_int_equal(group, 1);
	must_fail(weir_ordered_wait(bench->ordered, 2, -1), -EINVAL);
}

static void
what_waits_for_a_flush_is_flushed_by_who_waits(void **state)
{
	static uint8_t data[8][BLOCK];
	struct bench *bench = *state;

	open_it(bench);
	write_groups(bench, data, 0, 4, 0);
	while (bench->complete < 4)
		assert_true(weir_ordered_poll(bench->ordered, -1) >= 0);
	assert_int_equal(bench->durable, 0);
	assert_int_equal(weir_ordered_poll(bench->ordered, 20000), 0);
	must_fail(weir_ordered_wait(bench->ordered, 4, 0), -ETIMEDOUT);
	must(weir_ordered_wait(bench->ordered, 4, -1));
	assert_int_equal(bench->durable, 4);
	write_groups(bench, data, 4, 1, 0);
	must(weir_ordered_write(bench->ordered, data[5], BLOCK, 100 * BLOCK, 0, NULL));
	must_fail(weir_ordered_wait(bench->ordered, 5, -1), -EBUSY);
	must(weir_ordered_wait(bench->ordered, 0, -1));
	assert_int_equal(bench->durable, 6);
}

static void
what_there_is_no_room_for_goes_later(void **state)
{
	static uint8_t data[BLOCK];
	struct bench *bench = *state;
	struct weir_ordered_options options = options_of(bench);
	unsigned written = 0;
	int rc;

	options.pieces = 16;
	must(weir_ordered_open(bench->members, 2, &options, &bench->ordered));
	while ((rc = weir_ordered_write(bench->ordered, data, BLOCK, 2 * BLOCK * written, WEIR_GROUP_END, NULL)) == 0)
		written++;
	assert_int_equal(rc, -EAGAIN);
	assert_in_range(written, 4, 16);
	while (bench->durable == 0)
		assert_true(weir_ordered_poll(bench->ordered, -1) >= 0);
	must(weir_ordered_wait(bench->ordered, 0, -1));
	must(weir_ordered_write(bench->ordered, data, BLOCK, 2 * BLOCK * written, WEIR_GROUP_END, NULL));
	must(weir_ordered_wait(bench->ordered, 0, -1));
	/* 8 blocks are 4 pieces, in stripes of two. */
	for (written = 0; (rc = weir_ordered_write(bench->ordered, data, BLOCK, 2 * BLOCK * written, 0, NULL)) == 0;)
		written++;
	assert_int_equal(rc, -E2BIG);
}

static void
what_cannot_be_is_refused(void **state)
{
	static uint8_t data[2 * BLOCK];
	struct bench *bench = *state;
	uint64_t size;

	open_it(bench);
	size = weir_ordered_size(bench->ordered);
	assert_int_equal(size, 2 << 20);
	assert_int_equal(weir_ordered_block_size(bench->ordered), BLOCK);
	must_fail(weir_ordered_write(bench->ordered, data, BLOCK, 512, 0, NULL), -EINVAL);
	must_fail(weir_ordered_write(bench->ordered, data, 0, 0, 0, NULL), -EINVAL);
	must_fail(weir_ordered_write(bench->ordered, data, 2 * BLOCK, size - BLOCK, 0, NULL), -ERANGE);
	must_fail(weir_ordered_write(bench->ordered, data, BLOCK, 0, WEIR_GROUP_DURABLE, NULL), -EINVAL);
	must_fail(weir_ordered_read(bench->ordered, data, BLOCK, size), -ERANGE);
	must(weir_ordered_wait(bench->ordered, 0, -1));
}

static void
members_that_cannot_be_are_refused(void **state)
{
	struct bench *bench = *state;
	struct weir_ordered_options options = options_of(bench);
	struct weir_subsys *plain;
	struct weir_member member;

	must_fail(weir_ordered_open(bench->members, 0, &options, &bench->ordered), -EINVAL);
	options.stripe = 100;
	must_fail(weir_ordered_open(bench->members, 2, &options, &bench->ordered), -EINVAL);
	options.stripe = 2 << 20;
	must_fail(weir_ordered_open(bench->members, 2, &options, &bench->ordered), -EINVAL);
	options.stripe = STRIPE;
	options.pieces = 4;
	must_fail(weir_ordered_open(bench->members, 2, &options, &bench->ordered), -EINVAL);
	options.pieces = 0;
	bench->members[1].nsid = 1;
	must_fail(weir_ordered_open(bench->members, 2, &options, &bench->ordered), -EINVAL);
	must_say("twice");
	bench->members[1].nsid = 7;
	must_fail(weir_ordered_open(bench->members, 2, &options, &bench->ordered), -ENODEV);
	plain = bench_subsys(bench->host, &bench->served, NULL);
	member = (struct weir_member){ plain, 1 };
	must_fail(weir_ordered_open(&member, 1, &options, &bench->ordered), -EOPNOTSUPP);
	must_say("no ordered writes");
	weir_subsys_disconnect(plain);
}

static void
who_opens_a_stream_takes_it_over(void **state)
{
	static uint8_t data[4][BLOCK];
	struct bench *bench = *state;
	struct weir_ordered_options options = options_of(bench);
	struct weir_ordered *other;
	int rc;

	open_it(bench);
	write_groups(bench, data, 0, 3, 0);
	must(weir_ordered_wait(bench->ordered, 3, -1));
	options.complete = options.durable = NULL;
	must(weir_ordered_open(bench->members, 2, &options, &other));
	write_groups(bench, data, 3, 1, 0);
	while ((rc = weir_ordered_poll(bench->ordered, -1)) >= 0)
		;
	assert_int_equal(rc, -ESTALE);
	must_say("somebody else");
	must_fail(weir_ordered_write(bench->ordered, data[0], BLOCK, 0, 0, NULL), -ESTALE);
	must_fail(weir_ordered_wait(bench->ordered, 0, -1), -ESTALE);
	must(weir_ordered_write(other, data[0], BLOCK, 50 * BLOCK, WEIR_GROUP_END, NULL));
	must(weir_ordered_wait(other, 1, -1));
	weir_ordered_close(other);
}

static void
count_left(void *arg, const struct weir_left *left)
{
	assert_int_equal(left->nsid, 1);
	assert_int_equal(left->blocks, 1);
	*(unsigned *)arg += 1;
}

static void
people_recover_a_stream_and_hear_of_what_was_written_in_place(void **state)
{
	static uint8_t data[4][BLOCK];
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);
	struct weir_ordered_state now;
	struct bench *bench = *state;
	unsigned left = 0;
	uint32_t last;

	open_it(bench);
	write_groups(bench, data, 0, 3, 0);
	must(weir_ordered_wait(bench->ordered, 3, -1));
	must(weir_ordered_write(bench->ordered, data[3], BLOCK, 0, WEIR_IN_PLACE, NULL));
	do {
		(void)weir_ordered_poll(bench->ordered, 1000);
		weir_ordered_state(bench->ordered, &now);
	} while (now.commands < 4);
	options.stream = STREAM;
	options.left = count_left;
	options.arg = &left;
	must(weir_ordered_recover(&bench->subsys, 1, &options, &last));
	assert_int_equal(last, 3);
	assert_int_equal(left, 1);
}

/* ---- nobody needs it any more ---- */

static void
a_stream_that_is_finished_is_forgotten(void **state)
{
	static uint8_t data[6][BLOCK], back[BLOCK];
	struct weir_ordered_state now;
	struct bench *bench = *state;

	open_it(bench);
	write_groups(bench, data, 0, 5, 0);
	must(weir_ordered_write(bench->ordered, data[5], BLOCK, 99 * BLOCK, 0, NULL)); /* of a group that has begun */
	must(weir_ordered_finish(bench->ordered, -1));
	assert_int_equal(bench->durable, 6);
	must_fail(weir_ordered_write(bench->ordered, data[0], BLOCK, 0, 0, NULL), -ESHUTDOWN);
	must(weir_ordered_finish(bench->ordered, -1));
	must(weir_ordered_read(bench->ordered, back, BLOCK, 0));
	bench_check(back, BLOCK, 0, 0);
	weir_ordered_close(bench->ordered);
	open_it(bench);
	weir_ordered_state(bench->ordered, &now);
	assert_int_equal(now.last, 0);
}

static void
who_finishes_a_stream_does_not_wait_for_ever(void **state)
{
	static uint8_t data[2][BLOCK];
	struct weir_ordered_state now;
	struct bench *bench = *state;

	open_it(bench);
	write_groups(bench, data, 0, 2, 0);
	must_fail(weir_ordered_finish(bench->ordered, 0), -ETIMEDOUT);
	must_fail(weir_ordered_write(bench->ordered, data[0], BLOCK, 0, 0, NULL), -ESHUTDOWN);
	must(weir_ordered_wait(bench->ordered, 2, -1));
	must_fail(weir_ordered_finish(bench->ordered, 0), -ETIMEDOUT);
	must_say("has not forgotten the stream in time");
	weir_ordered_close(bench->ordered);
	open_it(bench);
	weir_ordered_state(bench->ordered, &now);
	assert_int_equal(now.last, 2);
	must(weir_ordered_finish(bench->ordered, -1));
}

static void
people_have_a_stream_forgotten(void **state)
{
	static uint8_t data[3][BLOCK];
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);
	struct bench *bench = *state;
	uint32_t last;

	open_it(bench);
	write_groups(bench, data, 0, 3, 0);
	must(weir_ordered_wait(bench->ordered, 3, -1));
	options.stream = STREAM;
	must(weir_ordered_forget(&bench->subsys, 1, &options, &last));
	assert_int_equal(last, 3);
	must(weir_ordered_recover(&bench->subsys, 1, &options, &last));
	assert_int_equal(last, 0);
}

/* One's own loop. */
static void
its_descriptor_tells_of_what_has_come(void **state)
{
	static uint8_t data[1][BLOCK];
	struct bench *bench = *state;

	open_it(bench);
	write_groups(bench, data, 0, 1, 0);
	while (bench->complete == 0) {
		struct pollfd pollfd = { weir_ordered_fd(bench->ordered), POLLIN, 0 };

		while (weir_ordered_poll(bench->ordered, 0) > 0)
			;
		assert_int_equal(bench->complete > 0 ? 1 : poll(&pollfd, 1, -1), 1);
	}
}

static void
what_goes_with_its_queue_is_polled_with_it(void **state)
{
	static uint8_t data[1][BLOCK], back[BLOCK];
	struct bench *bench = *state;
	struct weir_queue_options options = WEIR_OPTIONS(weir_queue_options);
	struct iovec iov = { back, BLOCK };
	struct weir_io io = { .op = WEIR_OP_READ, .nsid = 1, .blocks = 1, .iov = &iov, .iov_count = 1 };
	struct weir_queue_stats before, after;
	struct weir_queue *queue;

	open_it(bench);
	options.with = weir_ordered_queue(bench->ordered);
	must(weir_queue_open(bench->subsys, &options, &queue));
	weir_queue_stats(weir_ordered_queue(bench->ordered), &before);
	write_groups(bench, data, 0, 1, 0);
	while (bench->complete == 0)
		(void)weir_queue_poll(queue, 1000 * 1000);
	weir_queue_stats(weir_ordered_queue(bench->ordered), &after);
	assert_true(after.busy_turns > before.busy_turns);
	/* Whoever goes first, the other one goes on. */
	weir_ordered_close(bench->ordered);
	bench->ordered = NULL;
	must(weir_queue_run(queue, &io, NULL));
	assert_memory_equal(back, data[0], BLOCK);
	weir_queue_close(queue);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(what_is_written_is_told_in_order_and_read),
		test(a_stream_goes_on_where_it_was),
		test(a_group_of_several_writes_ends_without_another_one),
		cmocka_unit_test_setup_teardown(what_waits_for_a_flush_is_flushed_by_who_waits, set_up_cached,
		    tear_down),
		test(what_there_is_no_room_for_goes_later),
		test(what_cannot_be_is_refused),
		test(members_that_cannot_be_are_refused),
		test(who_opens_a_stream_takes_it_over),
		test(people_recover_a_stream_and_hear_of_what_was_written_in_place),
		test(a_stream_that_is_finished_is_forgotten),
		test(who_finishes_a_stream_does_not_wait_for_ever),
		test(people_have_a_stream_forgotten),
		test(its_descriptor_tells_of_what_has_come),
		test(what_goes_with_its_queue_is_polled_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
