/* test_order_end.c - a stream that nobody needs any more: its servers forget it, once all know that all is durable. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "order/group.h"
#include "order_session_bench.h"

static unsigned
forgot(const struct sess_bench *bench)
{
	unsigned count = 0;

	for (unsigned i = 0; i < bench->session.servers; i++)
		count += bench->servers[i].forgot;
	return count;
}

static void
is_over(const struct sess_bench *bench)
{
	assert_int_equal(bench->session.error, 0);
	assert_int_equal(bench->session.ending, ORDER_ENDS_OVER);
	assert_int_equal(forgot(bench), bench->session.servers);
}

/* Somebody opens a stream of that number: what the last one has written is there, whoever remembers it. */
static void
begins_anew(struct sess_bench *bench, uint32_t group)
{
	sess_host(bench);
	sess_join_all(bench);
	sess_settle(bench);
	assert_true(bench->session.there == group || bench->session.there == ORDER_NO_GROUP);
	bench->durable = ORDER_NO_GROUP; /* it may begin with the first number */
	bench->session.there = group;
	sess_hold(bench, group);
	free(bench);
}

static void
all_servers_forget_a_stream_that_ends(void **state)
{
	struct sess_bench *bench = sess_started(1, 3, 5);
	uint32_t group;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_true(sess_submit(bench, 3, ORDER_END));
	sess_finish(bench);
	group = bench->durable;
	order_session_end(&bench->session);
	sess_settle(bench);
	is_over(bench);
	begins_anew(bench, group);
}

static void
one_that_was_recovered_and_not_gone_on_with_ends_too(void **state)
{
	struct sess_bench *bench = sess_started(2, 2, 1);

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_true(sess_submit(bench, 3, ORDER_END));
	for (unsigned i = 0; i < 200; i++)
		sess_step(bench);
	sess_host(bench);
	sess_join_all(bench);
	sess_settle(bench);
	assert_true(order_session_is_ready(&bench->session));
	order_session_end(&bench->session);
	sess_settle(bench);
	is_over(bench);
	sess_hold(bench, bench->session.there);
	free(bench);
}

static void
one_in_which_nothing_was_written_ends_too(void **state)
{
	struct sess_bench *bench = sess_started(3, 2, 1);

	(void)state;
	order_session_end(&bench->session);
	sess_settle(bench);
	is_over(bench);
	free(bench);
}

static void
none_forgets_it_while_another_does_not_know_that_all_is_durable(void **state)
{
	struct sess_bench *bench = sess_started(4, 2, 3);

	(void)state;
	assert_true(sess_submit(bench, 16, ORDER_END));
	sess_finish(bench);
	sess_lose(bench, 1);
	order_session_end(&bench->session);
	sess_settle(bench);
	assert_int_equal(bench->session.ending, ORDER_ENDS_TELLING);
	assert_int_equal(forgot(bench), 0);
	sess_join_all(bench);
	sess_settle(bench);
	is_over(bench);
	free(bench);
}

static void
a_floor_of_before_the_end_is_not_the_last_one(void **state)
{
	struct sess_bench *bench = sess_started(5, 1, 1);
	struct order_session *session = &bench->session;
	struct nvme_sqe sqe;
	uint32_t bytes;

	(void)state;
	assert_true(sess_submit(bench, 3, ORDER_END));
	sess_finish(bench);
	order_session_tell(session);
	assert_true(order_session_ask(session, 0, &sqe, &bytes));
	assert_int_equal(sqe.opcode, WEIR_ADMIN_FLOOR);
	order_session_end(session);
	order_session_told(session, 0, false, NVME_OK, 0, NULL);
	assert_false(session->links[0].last_told);
	sess_settle(bench);
	is_over(bench);
	free(bench);
}

static void
a_server_that_refuses_the_last_floor_again_and_again_ends_it_with_an_error(void **state)
{
	struct sess_bench *bench = sess_started(6, 1, 1);
	struct order_session *session = &bench->session;
	struct sess_server *server = &bench->servers[0];
	unsigned refused = 0;

	(void)state;
	order_session_end(session);
	while (session->error == 0 && refused <= 2 * ORDER_TRIES_MAX) {
		sess_step(bench);
		if (!server->asked || server->question.opcode != WEIR_ADMIN_FLOOR)
			continue;
		server->asked = false;
		order_session_told(session, 0, false, nvme_status_of(NVME_SC_INTERNAL, false), 0, NULL);
		refused++;
	}
	assert_int_equal(session->error, -EIO);
	assert_int_equal(refused, ORDER_TRIES_MAX + 1);
	free(bench);
}

/* While another one is waited for, which may take as long as it likes. */
static void
a_server_that_is_lost_now_and_then_does_not_end_it_with_an_error(void **state)
{
	struct sess_bench *bench = sess_started(8, 2, 3);
	struct order_session *session = &bench->session;

	(void)state;
	sess_lose(bench, 1);
	order_session_end(session);
	sess_settle(bench);
	assert_true(session->links[0].last_told);
	for (unsigned i = 0; i < 2 * ORDER_TRIES_MAX; i++) {
		struct sess_server *server = &bench->servers[0];

		sess_lose(bench, 0);
		sess_join(bench, 0);
		while (!server->asked)
			sess_step(bench);
		server->asked = false;
		order_session_told(session, 0, true, NVME_OK, 0, NULL);
		sess_settle(bench);
		assert_int_equal(session->links[0].is, ORDER_LINK_GOES);
	}
	assert_int_equal(session->error, 0);
	sess_join_all(bench);
	sess_settle(bench);
	is_over(bench);
	free(bench);
}

static void
somebody_who_takes_it_while_it_ends_has_it(void **state)
{
	struct sess_bench *bench = sess_started(7, 2, 3);

	(void)state;
	assert_true(sess_submit(bench, 16, ORDER_END));
	sess_finish(bench);
	bench->servers[1].holder = bench->session.holder + 1;
	order_session_end(&bench->session);
	sess_settle(bench);
	assert_int_equal(bench->session.error, -ESTALE);
	assert_int_equal(forgot(bench), 0);
	free(bench);
}

/* Connections are lost, and the host may be gone: then another one goes on with it. */
static void
whatever_is_lost_it_is_over_and_all_is_there(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct sess_bench *bench = sess_started(seed, 1 + (unsigned)seed % SESS_SERVERS, (unsigned)seed % 8);
		uint32_t group;

		for (unsigned i = 0; i < 12; i++)
			(void)sess_submit(bench, 1 + (uint32_t)rng_below(&bench->rng, 8), ORDER_END);
		sess_finish(bench);
		group = bench->durable;
		order_session_end(&bench->session);
		for (unsigned i = 0; i < 400 && bench->session.ending != ORDER_ENDS_OVER; i++) {
			unsigned at = (unsigned)rng_below(&bench->rng, bench->session.servers);

			if (!bench->servers[at].linked && rng_below(&bench->rng, 8) == 0)
				sess_join(bench, at);
			else if (bench->servers[at].linked && rng_below(&bench->rng, 12) == 0)
				sess_lose(bench, at);
			sess_step(bench);
		}
		sess_hold(bench, group);
		if (seed % 4 == 0) {
			begins_anew(bench, group);
			continue;
		}
		sess_join_all(bench);
		sess_settle(bench);
		is_over(bench);
		begins_anew(bench, group);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_servers_forget_a_stream_that_ends),
		cmocka_unit_test(one_that_was_recovered_and_not_gone_on_with_ends_too),
		cmocka_unit_test(one_in_which_nothing_was_written_ends_too),
		cmocka_unit_test(none_forgets_it_while_another_does_not_know_that_all_is_durable),
		cmocka_unit_test(a_floor_of_before_the_end_is_not_the_last_one),
		cmocka_unit_test(a_server_that_refuses_the_last_floor_again_and_again_ends_it_with_an_error),
		cmocka_unit_test(a_server_that_is_lost_now_and_then_does_not_end_it_with_an_error),
		cmocka_unit_test(somebody_who_takes_it_while_it_ends_has_it),
		cmocka_unit_test(whatever_is_lost_it_is_over_and_all_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
