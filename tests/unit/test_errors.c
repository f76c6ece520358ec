/*
 * target/errors: what is told of commands that failed, and how much of it is under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/command.h"

enum { CONNS = 500, FAILURES = 100, KEY = 3 };

/* A core and connections of one controller on it, whose mail goes nowhere before the test says so. */
struct bench {
	struct world_ops world;
	struct reactor reactor;
	struct core core;
	struct conn conns[CONNS];
	struct mail posted[CONNS * FAILURES];
	unsigned count, told, missed;
};

static void
keep(struct reactor *reactor, unsigned to, const struct mail *mail)
{
	struct bench *b = container_of(reactor, struct bench, reactor);

	assert_int_equal(to, KEY % reactor->count);
	b->posted[b->count++] = *mail;
}

/* The controller's core has them all. */
static void
hear_all(struct bench *b)
{
	unsigned count = b->count;

	for (unsigned i = 0; i < count; i++) {
		struct target_mail mail;

		memcpy(&mail, &b->posted[i], sizeof(mail));
		assert_int_equal(mail.key, KEY);
		b->told += mail.kind == MAIL_ERROR;
		b->missed += mail.kind == MAIL_ERRORS_MISSED ? mail.error.missed : 0;
		errors_heard(mail.error.conn);
	}
	b->count -= count;
	memmove(b->posted, b->posted + count, b->count * sizeof(b->posted[0]));
}

static void
fail_some(struct bench *b, unsigned conn, unsigned times)
{
	struct request req = { .conn = &b->conns[conn] };

	while (times-- > 0)
		errors_tell(&req, nvme_status_of(NVME_SC_INVALID_OPCODE, true));
}

static int
begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	*state = b;
	b->world.post = keep;
	b->reactor.world = &b->world;
	b->reactor.count = 2;
	b->core.reactor = &b->reactor;
	for (unsigned i = 0; i < CONNS; i++) {
		b->conns[i].core = &b->core;
		b->conns[i].key = KEY;
	}
	return 0;
}

static int
end(void **state)
{
	free(*state);
	return 0;
}

static void
of_one_connection_so_many_are_under_way_as_its_log_has_lines(void **state)
{
	struct bench *b = *state;

	fail_some(b, 0, FAILURES);
	assert_int_equal(b->count, CTRL_ERROR_LOG);
	hear_all(b);
	assert_int_equal(b->told, CTRL_ERROR_LOG);
	assert_int_equal(b->count, 1);
	hear_all(b);
	assert_int_equal(b->missed, FAILURES - CTRL_ERROR_LOG);
	assert_int_equal(b->count, 0);
}

/* Whatever hosts do, the sum stays; and nobody is forgotten. */
static void
of_all_connections_there_is_a_limit_and_each_has_one(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < CONNS; i++)
		fail_some(b, i, FAILURES);
	assert_true(b->count <= 4096 + CONNS);
	for (unsigned i = 0; i < CONNS; i++)
		assert_true(b->conns[i].errors_unheard > 0);
	for (unsigned round = 0; round < 3; round++) {
		hear_all(b);
		assert_true(b->count <= CONNS);
	}
	assert_int_equal(b->count, 0);
	assert_int_equal(b->told + b->missed, CONNS * FAILURES);
	assert_int_equal(b->core.errors_unheard, 0);
}

static void
what_was_missed_is_itself_under_way_until_it_is_heard(void **state)
{
	struct bench *b = *state;

	fail_some(b, 0, FAILURES);
	hear_all(b);
	for (unsigned i = 0; i < 10; i++)
		fail_some(b, 0, FAILURES);
	assert_int_equal(b->count, CTRL_ERROR_LOG);
	hear_all(b);
	errors_tell_missed(&b->conns[0]);
	hear_all(b);
	assert_int_equal(b->told + b->missed, 11 * FAILURES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    of_one_connection_so_many_are_under_way_as_its_log_has_lines, begin, end),
		cmocka_unit_test_setup_teardown(of_all_connections_there_is_a_limit_and_each_has_one, begin, end),
		cmocka_unit_test_setup_teardown(what_was_missed_is_itself_under_way_until_it_is_heard, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
