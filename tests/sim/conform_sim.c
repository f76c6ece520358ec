#include "conform_sim.h"

#include "sim/internal.h"

enum { TURN_NS = 3000, MAIL_NS = 20000, ROOM = 2 * CONFORM_BYTES };

static struct sim *sim;
static struct sim_process *process;
static size_t bytes[CONFORM_REACTORS]; /* that each reactor has by itself */
static uint64_t seed;                  /* another one for each test */

static int
start(struct reactor *reactor, void *arg)
{
	reactor->on_mail = blk_mail;
	return 0;
}

static void
turn(void)
{
	(void)sim_run_until(sim, sim_now(sim) + TURN_NS, NULL, NULL);
}

static void
begin(unsigned reactors)
{
	const struct sim_process_options options = { .start = start, .room = ROOM };
	struct sim_options sim_options = sim_options_default();

	if (sim != NULL)
		sim_destroy(sim); /* a test has failed */
	sim_options.mail_ns = 100;
	sim_options.mail_jitter_ns = (uint32_t)(++seed * 7919 % MAIL_NS);
	sim_options.max_events = UINT64_MAX;
	sim_options.max_ns = UINT64_MAX;
	sim = sim_create(seed, &sim_options);
	process = sim_process_create(sim, "target", reactors, &options);
	for (unsigned i = 0; i < reactors; i++)
		bytes[i] = sim_process_reactor(process, i)->arena->bytes;
}

static void
end(void)
{
	assert_int_equal(sim_process_files(process, NULL), 0);
	assert_int_equal(process->pages.bytes, 0);
	for (unsigned i = 0; i < process->count; i++)
		assert_int_equal(sim_process_reactor(process, i)->arena->bytes, bytes[i]);
	sim_destroy(sim);
	sim = NULL;
}

static struct reactor *
reactor_at(unsigned index)
{
	return sim_process_reactor(process, index);
}

static void
wake(struct reactor *reactor)
{
	sim_reactor_wake(sim_reactor_of(reactor), sim_now(sim));
}

static void
cut(void)
{
	sim_process_crash(process, 0);
	sim_process_start(process);
}

const struct conform_world conform_sim = {
	.begin = begin, .end = end, .reactor = reactor_at, .wake = wake, .turn = turn, .cut = cut,
};
