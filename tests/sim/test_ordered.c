/*
 * test_ordered.c - a stream of ordered writes over lanes: what is sent, what is lost and sent again, and by which path.
 */
#include <stdlib.h>

#include "order/group.h"
#include "ordered_bench.h"

static bool
is_listing(void *arg)
{
	struct play *p = arg;

	return p->ordered != NULL && ordered_session(p->ordered)->links[0].asked == ORDER_ASKED_LIST;
}

static bool
has_cut_again(void *arg)
{
	const struct play *p = arg;

	return p->orderers[0].cuts == 2;
}

static bool
has_failed(void *arg)
{
	struct play *p = arg;

	return p->ordered != NULL && ordered_session(p->ordered)->error != 0;
}

static void
what_is_written_goes_in_order_to_both_servers_merged(void **state)
{
	struct play *p = play_create();

	(void)state;
	play_start(p, 1);
	play_run(p, play_is_finished);
	assert_true(p->finished);
	for (unsigned i = 0; i < SERVERS; i++) {
		assert_true(p->orderers[i].merged > 0);
		assert_true(p->orderers[i].writes < BLOCKS);
		assert_int_equal(p->orderers[i].lists, 2); /* one of the entries, one of the term */
		assert_int_equal(p->orderers[i].cuts, 1);
		assert_int_equal(p->orderers[i].refused, 0);
	}
	play_end(p);
}

static void
a_floor_is_told_when_nothing_more_is_written(void **state)
{
	struct play *p = play_create();
	uint32_t durable;

	(void)state;
	play_start(p, 2);
	play_run(p, play_is_finished);
	durable = ordered_session(p->ordered)->sequencer.durable;
	assert_true(order_above(durable, p->orderers[0].floor));
	play_wait(p, 200);
	for (unsigned i = 0; i < SERVERS; i++) {
		assert_int_equal(p->orderers[i].floor, durable);
		assert_true(p->orderers[i].floors > 0 && p->orderers[i].floors < 4);
	}
	play_end(p);
}

static void
what_a_lost_path_had_is_sent_again_when_it_is_back(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct play *p = play_create();

		p->lost_at = 20 + (uint32_t)seed * 20;
		play_start(p, seed);
		play_run(p, play_has_written);
		sim_cut(p->sim, play_hosts[0], CLUSTER_PORT, SIM_CUT_RESET);
		play_wait(p, 30);
		assert_false(p->finished);
		sim_mend(p->sim, play_hosts[0], CLUSTER_PORT);
		play_run(p, play_is_finished);
		assert_int_equal(p->orderers[0].cuts, 2);
		assert_int_equal(p->orderers[1].cuts, 1);
		play_end(p);
	}
}

static void
a_stream_goes_on_by_another_path_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct play *p = play_create();

		p->paths = 2;
		p->lost_at = 20 + (uint32_t)seed * 20;
		play_start(p, seed);
		play_run(p, play_has_written);
		sim_cut(p->sim, play_hosts[0], CLUSTER_PORT, SIM_CUT_RESET);
		play_run(p, play_is_finished);
		assert_int_equal(p->orderers[0].cuts, 2);
		play_end(p);
	}
}

/* What it had on its way comes when the stream goes on by the other one. */
static void
what_a_silent_path_held_back_is_refused(void **state)
{
	unsigned refused = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct play *p = play_create();

		p->paths = 2;
		p->orderers[0].fenceless = true;
		p->orderers[0].kato_ms = 10000;
		p->lost_at = 20 + (uint32_t)seed * 20;
		play_start(p, seed);
		play_run(p, play_has_written);
		sim_cut(p->sim, play_hosts[0], CLUSTER_PORT, SIM_CUT_HOLD);
		play_run(p, has_cut_again);
		sim_mend(p->sim, play_hosts[0], CLUSTER_PORT);
		play_run(p, play_is_finished);
		play_wait(p, 20);
		refused += p->orderers[0].refused;
		play_end(p);
	}
	assert_true(refused > 0);
}

static void
a_write_that_fails_stops_the_stream_and_is_sent_again(void **state)
{
	struct play *p = play_create();

	(void)state;
	p->orderers[1].fails = 1;
	play_start(p, 3);
	play_run(p, play_is_finished);
	assert_true(p->orderers[1].refused >= 1);
	assert_int_equal(p->orderers[1].cuts, 2);
	assert_int_equal(p->orderers[0].cuts, 1);
	play_end(p);
}

static void
a_write_that_always_fails_ends_the_stream(void **state)
{
	struct play *p = play_create();

	(void)state;
	p->orderers[0].fails = UINT32_MAX;
	play_start(p, 4);
	play_run(p, has_failed);
	assert_true(has_failed(p));
	assert_int_equal(p->orderers[0].cuts, 1 + ORDER_TRIES_MAX);
	sim_destroy(p->sim);
	free(p);
}

/* Its association goes on; the stream waits for a path that can. */
static void
a_path_without_ordered_writes_is_not_used(void **state)
{
	struct play *p = play_create();

	(void)state;
	p->orderers[0].withholds = true;
	play_start(p, 5);
	play_wait(p, 500);
	assert_int_equal(p->lanes_up, SERVERS);
	assert_int_equal(ordered_session(p->ordered)->links[0].is, ORDER_LINK_AWAY);
	assert_int_equal(ordered_session(p->ordered)->links[1].is, ORDER_LINK_LISTED);
	p->orderers[0].withholds = false;
	sim_cut(p->sim, play_hosts[0], CLUSTER_PORT, SIM_CUT_RESET);
	sim_mend(p->sim, play_hosts[0], CLUSTER_PORT);
	play_end(p);
}

static void
a_stream_ends_with_writes_under_way_and_leaves_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct play *p = play_create();

		p->lost_at = 20 + (uint32_t)seed * 20;
		play_start(p, seed);
		play_run(p, seed % 2 == 0 ? play_has_written : is_listing);
		assert_true(seed % 2 == 0 || !ordered_stop(p->ordered));
		while (!ordered_stop(p->ordered))
			play_wait(p, 1);
		p->closing = true;
		play_run(p, play_is_closed);
		assert_true(play_is_closed(p));
		ordered_close(p->ordered);
		assert_int_equal(p->lane_reactor->arena->bytes, p->before);
		sim_destroy(p->sim);
		free(p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_goes_in_order_to_both_servers_merged),
		cmocka_unit_test(a_floor_is_told_when_nothing_more_is_written),
		cmocka_unit_test(what_a_lost_path_had_is_sent_again_when_it_is_back),
		cmocka_unit_test(a_stream_goes_on_by_another_path_at_once),
		cmocka_unit_test(what_a_silent_path_held_back_is_refused),
		cmocka_unit_test(a_write_that_fails_stops_the_stream_and_is_sent_again),
		cmocka_unit_test(a_write_that_always_fails_ends_the_stream),
		cmocka_unit_test(a_path_without_ordered_writes_is_not_used),
		cmocka_unit_test(a_stream_ends_with_writes_under_way_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
