/*
 * test_ctrlr_events.c - what a host's controller is told of a target whose ANA
 * groups change, and what it may do when it is told.
 */
#include <string.h>

#include "anatt_bench.h"
#include "ctrlr_bench.h"

enum { CHANGES = 4 };

/* The states through the first listener, a second apart. */
static const struct step steps[] = {
	{ 0, { NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED }, false },
	{ 1000, { NVME_ANA_NON_OPTIMIZED, NVME_ANA_OPTIMIZED }, false },
	{ 2000, { NVME_ANA_NON_OPTIMIZED, NVME_ANA_INACCESSIBLE }, false },
	{ 3000, { NVME_ANA_OPTIMIZED, NVME_ANA_INACCESSIBLE }, false },
	{ 4000, { NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED }, false },
	{ .at_ms = UINT64_MAX },
};

static struct ctrlr_cmd reading;
static struct iovec reading_iov;
static uint8_t page[4096];
static unsigned pages;

static void
log_read(struct ctrlr_cmd *cmd)
{
	assert_true(nvme_ok(cmd->io.req.status));
	pages++;
}

/* Only then is the next change told. */
static void
read_log(struct guest *g, uint32_t dw0)
{
	assert_int_equal(dw0, NVME_EVENT_NOTICE | NVME_NOTICE_ANA << 8 | NVME_LOG_ANA << 16);
	reading = (struct ctrlr_cmd){ .done = log_read };
	reading_iov = (struct iovec){ page, sizeof(page) };
	reading.io.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(NVME_LOG_ANA | (sizeof(page) / 4 - 1) << 16) };
	reading.io.req.data = HREQ_READ;
	reading.io.req.length = sizeof(page);
	reading.io.req.iov = &reading_iov;
	reading.io.req.iov_count = 1;
	ctrlr_submit(g->ctrlr, &reading);
}

static void
leave(struct guest *g, uint32_t dw0)
{
	(void)dw0;
	guest_end(g);
}

static void
init(struct guest *g, uint32_t events, void (*on_event)(struct guest *g, uint32_t dw0))
{
	guest_init(g);
	strcpy(g->options.subnqn, "nqn.2026-11.local.weir:anatt");
	g->options.hostid[0] = 2;
	g->options.kato_ms = 1000;
	g->options.events = events;
	g->on_event = on_event;
	g->end_ns = 6000 * ms;
	g->by_close = true;
}

/* All changes, and a second more. */
static struct sim_process *
play(uint64_t seed, struct guest *g, struct history *t)
{
	struct sim_process *process;

	history_begin(t, seed, steps, 0, false);
	process = guest_process(t->sim, g);
	history_run(t, 5000);
	assert_int_equal(g->readies, 1);
	assert_int_equal(g->losts, 0);
	return process;
}

static void
each_change_is_told_when_the_one_before_was_read(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 9; seed++) {
		struct sim_process *process;
		struct guest g;
		struct history t;

		init(&g, NVME_ASYNC_ANA, seed % 3 == 0 ? NULL : read_log);
		pages = 0;
		process = play(seed, &g, &t);
		assert_true(g.facts.ana);
		assert_int_equal(g.facts.events, NVME_ASYNC_ANA);
		assert_int_equal(g.events, seed % 3 == 0 ? 1 : CHANGES);
		assert_int_equal(pages, seed % 3 == 0 ? 0 : CHANGES);
		history_run(&t, 7000);
		assert_int_equal(g.closes, 1);
		assert_true(guest_idle(&g, process));
		history_end(&t);
	}
}

static void
it_may_be_ended_by_who_is_told_of_an_event(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct sim_process *process;
		struct guest g;
		struct history t;

		init(&g, NVME_ASYNC_ANA, leave);
		g.by_close = seed & 1;
		process = play(seed, &g, &t);
		assert_int_equal(g.events, 1);
		assert_int_equal(g.closes, g.by_close);
		assert_true(guest_idle(&g, process));
		history_end(&t);
	}
}

static void
nobody_is_told_who_did_not_ask(void **state)
{
	struct guest g;
	struct history t;

	(void)state;
	init(&g, 0, NULL);
	play(1, &g, &t);
	assert_int_equal(g.events, 0);
	assert_int_equal(g.facts.events, 0);
	history_end(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_change_is_told_when_the_one_before_was_read),
		cmocka_unit_test(it_may_be_ended_by_who_is_told_of_an_event),
		cmocka_unit_test(nobody_is_told_who_did_not_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
