/*
 * target/scratch: the few pieces of a core, and the line of those who wait for one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "target/command.h"

enum { WAITERS = 50000, VOLUME = 7, SHARE = SCRATCH_PIECES / 2 };

/* A core that has nothing but scratch pieces, a connection, and its requests. */
struct bench {
	struct arena arena;
	struct reactor reactor;
	struct core core;
	struct conn conn;
	struct request *holders, *waiters;
	unsigned served;
	unsigned depth, deepest; /* calls of granted() that have not returned */
	bool gives_up;           /* whoever has his turn finds that he needs nothing any more; */
	bool wants_more;         /* and the first one that he does, after all */
};

static unsigned
index_of(const struct bench *b, const struct request *req)
{
	return (unsigned)(req - b->waiters);
}

static void
granted(struct bufs_waiter *waiter)
{
	struct request *req = request_of(waiter);
	struct bench *b = container_of(req->conn, struct bench, conn);

	assert_int_equal(index_of(b, req), b->served++ % WAITERS);
	assert_non_null(req->io.old);
	if (++b->depth > b->deepest)
		b->deepest = b->depth;
	if (b->gives_up)
		scratch_give(req);
	if (b->wants_more && b->served == 1)
		assert_false(scratch_take(req, granted));
	b->depth--;
}

static struct request *
request_new(struct bench *b, struct request *req, uint16_t volume)
{
	req->conn = &b->conn;
	req->volume = volume;
	return req;
}

/* Whether one of those in line who hold nothing has its turn. */
static bool
is_served(const struct request *req)
{
	return req->io.old != NULL;
}

static int
begin_free(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	*state = b;
	arena_init(&b->arena, 0);
	b->reactor.arena = &b->arena;
	b->core.reactor = &b->reactor;
	b->conn.core = &b->core;
	b->holders = calloc(SCRATCH_PIECES, sizeof(*b->holders));
	b->waiters = calloc(WAITERS, sizeof(*b->waiters));
	assert_true(b->holders != NULL && b->waiters != NULL);
	assert_int_equal(share_begin(&b->core), 0);
	for (uint32_t slot = 0; slot <= VOLUME; slot++)
		share_ready(&b->core, slot);
	assert_int_equal(scratch_begin(&b->core), 0);
	return 0;
}

/* Commands of one volume hold what it may have, and WAITERS of it stand in line. */
static int
begin(void **state)
{
	struct bench *b;

	begin_free(state);
	b = *state;
	for (unsigned i = 0; i < SHARE; i++)
		assert_true(scratch_take(request_new(b, &b->holders[i], VOLUME), granted));
	for (unsigned i = 0; i < WAITERS; i++)
		assert_false(scratch_take(request_new(b, &b->waiters[i], VOLUME), granted));
	return 0;
}

static int
end(void **state)
{
	struct bench *b = *state;
	size_t left;

	scratch_end(&b->core);
	share_end(&b->core);
	left = b->arena.bytes;
	free(b->holders);
	free(b->waiters);
	free(b);
	return left == 0 ? 0 : -1;
}

/* A host may have as many in line as its queues are deep, and another one take away what all of them wait for. */
static void
those_who_give_up_at_their_turn_do_not_stand_on_each_other(void **state)
{
	struct bench *b = *state;

	b->gives_up = true;
	scratch_give(&b->holders[0]);
	assert_int_equal(b->served, WAITERS);
	assert_int_equal(b->deepest, 1);
	assert_false(scratch_wanted(&b->core));
	assert_true(scratch_take(&b->holders[0], granted));
}

static void
each_piece_that_is_given_back_serves_one_in_line(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < SHARE; i++) {
		scratch_give(&b->holders[i]);
		assert_null(b->holders[i].io.old);
		assert_int_equal(b->served, i + 1);
	}
	assert_true(scratch_wanted(&b->core));
}

static void
note(struct bufs_waiter *waiter)
{
	assert_true(is_served(request_of(waiter)));
}

/* Volumes whose devices do not answer have all that they can have, one after the other. */
static void
what_is_not_answered_takes_half_of_what_is_left_and_others_have_the_rest(void **state)
{
	static const unsigned shares[] = { SCRATCH_PIECES / 2, SCRATCH_PIECES / 4, SCRATCH_PIECES / 8 };
	struct bench *b = *state;
	struct request *next = b->waiters, *good;

	for (uint16_t volume = 0; volume < 3; volume++) {
		for (unsigned i = 0; i < shares[volume]; i++)
			assert_true(scratch_take(request_new(b, next++, volume), note));
		assert_false(scratch_take(request_new(b, next++, volume), note));
	}
	for (int i = 0; i < 100; i++) {
		good = request_new(b, next, 3);
		assert_true(scratch_take(good, note));
		assert_false(scratch_take(request_new(b, next + 1, 3), note));
		scratch_give(good);
		assert_true(is_served(next + 1));
		scratch_give(next + 1);
	}
}

static void
who_stands_in_line_is_served_when_another_volume_gives(void **state)
{
	struct bench *b = *state;
	struct request *others = b->holders, *next = b->waiters;

	for (unsigned i = 0; i < SCRATCH_PIECES / 4; i++)
		assert_true(scratch_take(request_new(b, &others[i], 1), note));
	while (scratch_take(request_new(b, next, VOLUME), note))
		next++;
	assert_int_equal(next - b->waiters, SHARE - 1);
	scratch_give(&others[0]);
	assert_true(is_served(next));
	assert_false(scratch_wanted(&b->core));
}

/* Though there is one free at the moment: the one that he gave. */
static void
who_gives_one_and_wants_one_stands_behind_those_in_line(void **state)
{
	struct bench *b = *state;

	b->gives_up = b->wants_more = true;
	scratch_give(&b->holders[0]);
	assert_int_equal(b->served, WAITERS + 1);
	assert_int_equal(b->deepest, 1);
}

/* Of one volume; and who has many waits behind his own. */
static void
connections_take_turns(void **state)
{
	struct bench *b = *state;
	struct conn other = { .core = &b->core };
	struct request more[3] = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		request_new(b, &more[i], VOLUME)->conn = &other;
		assert_false(scratch_take(&more[i], note));
	}
	scratch_give(&b->holders[0]);
	assert_true(is_served(&b->waiters[0]) && !is_served(&more[0]));
	scratch_give(&b->holders[1]);
	assert_true(is_served(&more[0]) && !is_served(&b->waiters[1]));
	scratch_leave(&more[1]);
	scratch_give(&b->waiters[0]);
	scratch_give(&more[0]);
	assert_true(is_served(&b->waiters[1]) && is_served(&more[2]) && !is_served(&more[1]));
	scratch_give(&more[2]);
	assert_true(is_served(&b->waiters[2]));
}

static void
who_leaves_the_line_is_not_served(void **state)
{
	struct bench *b = *state;

	scratch_leave(&b->waiters[0]);
	scratch_leave(&b->waiters[WAITERS - 1]);
	b->served = 1;
	b->gives_up = true;
	scratch_give(&b->holders[0]);
	assert_int_equal(b->served, WAITERS - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(those_who_give_up_at_their_turn_do_not_stand_on_each_other, begin, end),
		cmocka_unit_test_setup_teardown(each_piece_that_is_given_back_serves_one_in_line, begin, end),
		cmocka_unit_test_setup_teardown(
		    what_is_not_answered_takes_half_of_what_is_left_and_others_have_the_rest, begin_free, end),
		cmocka_unit_test_setup_teardown(
		    who_stands_in_line_is_served_when_another_volume_gives, begin_free, end),
		cmocka_unit_test_setup_teardown(who_gives_one_and_wants_one_stands_behind_those_in_line, begin, end),
		cmocka_unit_test_setup_teardown(connections_take_turns, begin, end),
		cmocka_unit_test_setup_teardown(who_leaves_the_line_is_not_served, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
