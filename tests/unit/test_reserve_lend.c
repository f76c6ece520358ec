/*
 * target/hostline and target/reserve_lend: whose turn it is, and how much of it is core 0's at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/hostline.h"
#include "target/reserve.h"

enum { COMMANDS = 5000, NAMESPACES = 2, SLOT = 7 };

/* A core that has only lines, and connections of one command each. */
struct bench {
	struct arena arena;
	struct reactor reactor;
	struct core core;
	struct ns_info info[NAMESPACES];
	struct view_ns ns[NAMESPACES];
	struct view_subsys subsys;
	struct conn conns[COMMANDS];
	struct target_mail posted[COMMANDS];
	unsigned count;
};

static void
post(struct reactor *reactor, unsigned to, const struct mail *mail)
{
	struct bench *b = container_of(reactor, struct bench, reactor);

	(void)to;
	assert_true(b->count < COMMANDS);
	memcpy(&b->posted[b->count++], mail, sizeof(*mail));
}

static const struct world_ops posts = { .post = post };

static int
begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	*state = b;
	arena_init(&b->arena, 0);
	b->reactor = (struct reactor){ .world = &posts, .arena = &b->arena, .index = 1, .count = 2 };
	b->core.reactor = &b->reactor;
	b->subsys.ns = b->ns;
	b->subsys.ns_limit = NAMESPACES;
	for (unsigned i = 0; i < NAMESPACES; i++) {
		b->info[i].nsid = i + 1;
		b->ns[i] = (struct view_ns){ .info = &b->info[i], .volume = SLOT + i };
	}
	assert_int_equal(reserve_lend_begin(&b->core), 0);
	return 0;
}

static int
end(void **state)
{
	struct bench *b = *state;

	arena_drop(&b->arena);
	free(b);
	return 0;
}

/* Connection n, of that host, and its command. */
static struct request *
command(struct bench *b, unsigned n, unsigned host, uint32_t nsid)
{
	struct conn *conn = &b->conns[n];

	*conn = (struct conn){
		.core = &b->core, .phase = CONN_LIVE, .qid = 1, .subsys = &b->subsys, .held = 1, .request_count = 1,
		.hostid = { (uint8_t)host, (uint8_t)(host >> 8), 1 },
		.first = { .conn = conn, .volume = nsid <= NAMESPACES ? b->ns[nsid - 1].volume : 0 },
	};
	conn->slots = &conn->first;
	conn->first.sqe.opcode = NVME_RESV_REGISTER;
	conn->first.sqe.nsid = le32_of(nsid);
	return &conn->first;
}

/* Its data is there. */
static void
arrives(struct bench *b, unsigned n, unsigned host, uint32_t nsid)
{
	reserve_data(command(b, n, host, nsid));
}

static unsigned
number_of(const struct bench *b, const struct target_mail *mail)
{
	return (unsigned)(container_of(mail->reserve.req, struct conn, first) - b->conns);
}

/* Core 0 is done with that one, whose host does not listen any more. */
static void
comes_back(struct bench *b, unsigned at)
{
	struct target_mail mail = b->posted[at];

	mail.kind = MAIL_RESERVED;
	if (mail.reserve.req != NULL)
		mail.reserve.req->conn->phase = CONN_DEAD;
	reserve_returned(&b->core, &mail);
}

static void
hosts_take_turns(void **state)
{
	static const struct {
		unsigned hosts[8], order[8];
	} rows[] = {
		{ { 1, 1, 1, 1, 2, 2, 3, 1 }, { 0, 4, 6, 1, 5, 2, 3, 7 } },
		{ { 1, 2, 3, 4, 5, 6, 7, 8 }, { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ { 9, 9, 9, 9, 9, 9, 9, 9 }, { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ { 1, 2, 1, 2, 1, 2, 1, 2 }, { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ { 1, 256, 1, 256, 2, 2, 2, 2 }, { 0, 1, 4, 2, 3, 5, 6, 7 } },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct list line;

		list_init(&line);
		for (unsigned n = 0; n < 8; n++)
			hostline_push(&line, command(b, n, rows[i].hosts[n], 1));
		for (unsigned n = 0; n < 8; n++)
			assert_ptr_equal(hostline_pop(&line), &b->conns[rows[i].order[n]].first);
		assert_null(hostline_pop(&line));
	}
}

static void
who_has_had_his_turn_is_behind_those_that_came_meanwhile(void **state)
{
	struct bench *b = *state;
	struct list line;

	list_init(&line);
	for (unsigned n = 0; n < 100; n++)
		hostline_push(&line, command(b, n, 1, 1));
	assert_ptr_equal(hostline_pop(&line), &b->conns[0].first);
	hostline_push(&line, command(b, 100, 2, 1));
	hostline_push(&line, command(b, 101, 2, 1));
	assert_ptr_equal(hostline_pop(&line), &b->conns[1].first);
	assert_ptr_equal(hostline_pop(&line), &b->conns[100].first);
	assert_ptr_equal(hostline_pop(&line), &b->conns[2].first);
	assert_ptr_equal(hostline_pop(&line), &b->conns[101].first);
}

static void
core_0_has_one_command_of_a_namespace_at_a_time(void **state)
{
	struct bench *b = *state;

	for (unsigned n = 0; n < COMMANDS; n++)
		arrives(b, n, 1 + n % 3, 1 + n % NAMESPACES);
	assert_int_equal(b->count, NAMESPACES);
	for (unsigned n = 0; n < COMMANDS; n++) {
		assert_int_equal(b->count, n + NAMESPACES < COMMANDS ? n + NAMESPACES : COMMANDS);
		comes_back(b, n);
		assert_int_equal(b->conns[number_of(b, &b->posted[n])].request_count, 0);
	}
	b->count = 0;
	arrives(b, 0, 1, 1);
	assert_int_equal(b->count, 1);
	assert_int_equal(b->posted[0].reserve.slot, SLOT);
}

static void
another_host_waits_for_one_of_the_first(void **state)
{
	struct bench *b = *state;

	for (unsigned n = 0; n < COMMANDS - 1; n++)
		arrives(b, n, 1, 1);
	arrives(b, COMMANDS - 1, 2, 1);
	comes_back(b, 0);
	comes_back(b, 1);
	assert_int_equal(number_of(b, &b->posted[2]), COMMANDS - 1);
}

/* Each of them would be executed, one after the other, for nobody. */
static void
what_nobody_waits_for_any_more_does_not_go_to_core_0(void **state)
{
	struct bench *b = *state;
	unsigned left = COMMANDS - 2, round = 0;

	for (unsigned n = 0; n < COMMANDS - 1; n++)
		arrives(b, n, 1, 1);
	arrives(b, COMMANDS - 1, 2, 1);
	for (unsigned n = 1; n < COMMANDS; n++)
		b->conns[n].phase = CONN_DEAD;
	while (left > 0) {
		unsigned gone = 0;

		comes_back(b, round++);
		for (unsigned n = 1; n < COMMANDS; n++)
			gone += b->conns[n].request_count == 0;
		assert_true(COMMANDS - 1 - gone <= left && gone + left <= COMMANDS - 1 + 64);
		left = COMMANDS - 1 - gone;
		assert_int_equal(b->count, left > 0 ? round + 1 : round);
		if (left > 0)
			assert_true(b->posted[round].kind == MAIL_RESERVED && b->posted[round].reserve.req == NULL);
	}
	arrives(b, 0, 1, 1);
	assert_int_equal(b->count, round + 1);
}

/* It stood in line for a volume that has gone since, and another one has its place: of all it has the next one's
 * turn. */
static void
whose_volume_is_another_one_does_not_go_to_core_0(void **state)
{
	struct bench *b = *state;
	struct assoc assoc = { .subsys = &b->subsys };
	struct request *io = command(b, 1, 1, 1), *all = command(b, 2, 2, UINT32_MAX);

	for (unsigned i = 0; i < NAMESPACES; i++)
		b->info[i].rescap = NVME_RESCAP_PTPL;
	arrives(b, 0, 1, 1);
	b->conns[1].blocked = true; /* its answer stays in line */
	fifo_init(&b->conns[1].tc.out);
	io->xfer.state = XFER_HELD;
	reserve_data(io);
	b->conns[2].qid = 0;
	b->conns[2].assoc = &assoc;
	reserve_set_ptpl(all, UINT32_MAX);
	assert_int_equal(b->count, 1);
	b->ns[0].volume += TARGET_VOLUMES_MAX;
	assert_int_equal(volume_slot(b->ns[0].volume), SLOT);
	comes_back(b, 0);
	assert_int_equal(le16_get(io->xfer.status),
	    le16_get(nvme_status_put(nvme_status_of(NVME_SC_INVALID_NS, true))));
	assert_int_equal(b->count, 2);
	assert_ptr_equal(b->posted[1].reserve.req, all);
	assert_int_equal(b->posted[1].reserve.slot, SLOT + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hosts_take_turns, begin, end),
		cmocka_unit_test_setup_teardown(who_has_had_his_turn_is_behind_those_that_came_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(core_0_has_one_command_of_a_namespace_at_a_time, begin, end),
		cmocka_unit_test_setup_teardown(another_host_waits_for_one_of_the_first, begin, end),
		cmocka_unit_test_setup_teardown(what_nobody_waits_for_any_more_does_not_go_to_core_0, begin, end),
		cmocka_unit_test_setup_teardown(whose_volume_is_another_one_does_not_go_to_core_0, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
