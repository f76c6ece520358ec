/*
 * process.c - simulated processes: their reactors' turns, birth and death.
 *
 * A reactor has a clock of its own that runs ahead of the simulation within a
 * turn: what the turn does happens at successive instants, and the next turn
 * begins when this one has ended.  Does not know what streams and files are.
 */
#include "sim/internal.h"
#include "sim/memory.h"

#include <stdio.h>
#include <string.h>

enum { HALF_PPM = 500000 };

uint64_t
sim_reactor_name(const struct sim_reactor *reactor)
{
	return (uint64_t)reactor->process->index << 16 | reactor->base.index;
}

uint64_t
sim_reactor_spend(struct sim_reactor *reactor, uint64_t ns)
{
	reactor->clock_ns += ns;
	return reactor->clock_ns;
}

/* ---- turns ---- */

static void
turn_at(struct sim_reactor *reactor, uint64_t at_ns)
{
	struct sim *sim = reactor->process->sim;
	struct sim_event *event;

	if (at_ns < reactor->clock_ns)
		at_ns = reactor->clock_ns;
	if (at_ns < reactor->paused_until_ns && reactor->pause != PAUSE_COMES)
		at_ns = reactor->paused_until_ns;
	if (reactor->turn != NULL && reactor->turn_at_ns <= at_ns)
		return;
	reactor->turn_at_ns = at_ns;
	if (reactor->turn != NULL) {
		sim_event_hasten(sim, reactor->turn, at_ns);
		return;
	}
	event = sim_event_take(sim, SIM_TURN);
	event->reactor = reactor;
	event->life = reactor->process->life;
	sim_event_put(sim, event, at_ns);
	reactor->turn = event;
}

void
sim_reactor_wake(struct sim_reactor *reactor, uint64_t at_ns)
{
	struct sim *sim = reactor->process->sim;

	/* Within its own turn it need not be woken: the turn's end looks what is left. */
	if (!reactor->in_turn)
		turn_at(reactor, at_ns + sim_delay(sim, 0, sim->options.wake_jitter_ns));
}

/* A turn that it waits for is put off when it is due, or brought forward where an earlier pause was longer. */
void
sim_process_pause(struct sim_process *process, unsigned index, uint64_t until_ns)
{
	struct sim *sim = process->sim;
	struct sim_reactor *reactor = &process->reactors[index];
	bool sooner = until_ns < reactor->paused_until_ns;

	assert(index < process->count);
	if (!process->running)
		return;
	sim_trace(sim, SIM_PAUSE, sim_reactor_name(reactor), until_ns, 0);
	reactor->paused_until_ns = until_ns;
	if (reactor->pause != PAUSE_WITHIN)
		reactor->pause = until_ns > sim->now_ns && sim_chance(sim, HALF_PPM) ? PAUSE_COMES : PAUSE_BETWEEN;
	if (sooner && reactor->turn != NULL)
		turn_at(reactor, sim->now_ns);
}

static void
deliver_mail(struct sim_reactor *reactor)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&reactor->inbox)) != NULL) {
		struct sim_event *event = container_of(node, struct sim_event, node);

		assert(reactor->base.on_mail != NULL);
		reactor->base.on_mail(&reactor->base, &event->mail);
		sim_event_give(reactor->process->sim, event);
	}
}

static void
end_errands(struct sim_reactor *reactor)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&reactor->errands)) != NULL) {
		struct errand *errand = container_of(node, struct errand, node);

		errand->done(errand);
	}
}

static void
process_fail(struct sim_process *process, int error)
{
	process->error = error;
	process->crash_asked = true;
	process->crash_flags |= SIM_CRASH_KEEPS_WRITES;
}

/* Takes what others have left there; false: it could not even start. */
static bool
turn_begin(struct sim_reactor *reactor)
{
	struct sim_process *process = reactor->process;
	struct sim *sim = process->sim;
	int rc;

	reactor->base.now_ns = sim->now_ns;
	reactor->clock_ns = sim->now_ns + sim->options.turn_ns;
	if (!reactor->started) {
		reactor->started = true;
		rc = process->options.start(&reactor->base, process->options.arg);
		if (rc < 0) {
			process_fail(process, rc);
			return false;
		}
	}
	deliver_mail(reactor);
	sim_net_accept(reactor);
	sim_file_done(reactor);
	end_errands(reactor);
	if (sim_chance(sim, sim->options.spurious_ppm))
		sim_net_spurious(reactor);
	return true;
}

/* It goes by the time at which it began. */
static void
turn_end(struct sim_reactor *reactor)
{
	if (reactor->clock_ns < reactor->process->sim->now_ns)
		reactor->clock_ns = reactor->process->sim->now_ns;
	reactor_turn(&reactor->base, reactor->base.now_ns);
}

/* Whether it is over. */
static bool
turn(struct sim_reactor *reactor)
{
	if (reactor->pause != PAUSE_WITHIN && !turn_begin(reactor))
		return true;
	if (reactor->pause == PAUSE_COMES && reactor->process->sim->now_ns < reactor->paused_until_ns) {
		reactor->pause = PAUSE_WITHIN;
		return false;
	}
	reactor->pause = PAUSE_BETWEEN;
	turn_end(reactor);
	return true;
}

/* The turn that was just taken may have left work that nothing else will announce. */
static void
turn_again(struct sim_reactor *reactor)
{
	uint64_t next_ns = reactor_next(&reactor->base);

	if (!fifo_empty(&reactor->inbox) || !fifo_empty(&reactor->done) || !fifo_empty(&reactor->errands) ||
	    !list_empty(&reactor->accepts))
		next_ns = 0;
	if (next_ns != UINT64_MAX)
		turn_at(reactor, next_ns);
}

void
sim_reactor_handle_turn(struct sim *sim, struct sim_event *event)
{
	struct sim_reactor *reactor = event->reactor;
	struct sim_process *process = reactor->process;
	bool counts = process->running && process->life == event->life, over;

	if (reactor->turn == event)
		reactor->turn = NULL;
	sim_event_give(sim, event);
	if (!counts)
		return;
	if (sim->now_ns < reactor->paused_until_ns && reactor->pause != PAUSE_COMES) {
		turn_at(reactor, sim->now_ns);
		return;
	}
	sim_trace(sim, SIM_TURN, sim_reactor_name(reactor), process->life, 0);
	reactor->in_turn = true;
	over = turn(reactor);
	reactor->in_turn = false;
	reactor->base.busy_ns += reactor->clock_ns - sim->now_ns;
	if (process->crash_asked)
		sim_process_crash(process, process->crash_flags);
	else if (over)
		turn_again(reactor);
	else
		turn_at(reactor, reactor->paused_until_ns);
}

/* ---- birth and death ---- */

static void
reactor_start(struct sim_process *process, unsigned index)
{
	struct sim *sim = process->sim;
	struct sim_reactor *reactor = &process->reactors[index];
	uint64_t *mail_at_ns = reactor->mail_at_ns;
	int rc;

	memset(mail_at_ns, 0, process->count * sizeof(*mail_at_ns));
	*reactor = (struct sim_reactor){ .process = process, .mail_at_ns = mail_at_ns };
	sim_arena_init(&reactor->arena, process->options.arena_bytes);
	rng_seed(&reactor->rng, rng_next(&sim->rng));
	fifo_init(&reactor->inbox);
	fifo_init(&reactor->done);
	fifo_init(&reactor->errands);
	list_init(&reactor->accepts);
	rc = reactor_init(&reactor->base, &sim_world_ops, &reactor->arena, index, process->count,
	    &process->options.reactor);
	if (rc != 0)
		process_fail(process, rc);
}

void
sim_process_start(struct sim_process *process)
{
	struct sim *sim = process->sim;

	assert(!process->running);
	process->running = true;
	if (process->dark) {
		process->dark = false;
		sim_net_let_go(sim);
	}
	process->crash_asked = false;
	process->crash_flags = 0;
	process->error = 0;
	process->life++;
	sim_trace(sim, SIM_START, process->index, process->life, process->count);
	sim_arena_init(&process->pages, 0);
	for (unsigned i = 0; i < process->count; i++)
		reactor_start(process, i);
	if (process->crash_asked) {
		sim_process_crash(process, process->crash_flags);
		return;
	}
	for (unsigned i = 0; i < process->count; i++)
		sim_reactor_wake(&process->reactors[i], sim->now_ns);
}

static bool
in_turn(const struct sim_process *process)
{
	for (unsigned i = 0; i < process->count; i++)
		if (process->reactors[i].in_turn)
			return true;
	return false;
}

void
sim_process_crash(struct sim_process *process, unsigned flags)
{
	struct sim *sim = process->sim;

	if (!process->running)
		return;
	if (in_turn(process)) {
		process->crash_asked = true;
		process->crash_flags |= flags;
		return;
	}
	sim_trace(sim, SIM_CRASH, process->index, flags, 0);
	process->running = false;
	process->dark = (flags & SIM_CRASH_HALF_OPEN) != 0;
	process->boots += (flags & SIM_CRASH_KEEPS_WRITES) == 0;
	sim_net_crash(process, process->dark);
	sim_file_crash(process, (flags & SIM_CRASH_KEEPS_WRITES) != 0);
	for (unsigned i = 0; i < process->count; i++) {
		struct sim_reactor *reactor = &process->reactors[i];
		struct fifo_node *node;

		while ((node = fifo_pop(&reactor->inbox)) != NULL)
			sim_event_give(sim, container_of(node, struct sim_event, node));
		arena_drop(&reactor->arena);
	}
	sim_annexes_drop(process);
	arena_drop(&process->pages);
}

struct sim_process *
sim_process_create(struct sim *sim, const char *name, unsigned reactors,
    const struct sim_process_options *options)
{
	struct sim_process *process = sim_alloc(sim, sizeof(*process));
	char address[32];

	assert(reactors > 0 && options->start != NULL);
	process->sim = sim;
	process->index = ++sim->process_count;
	process->name = sim_strdup(sim, name);
	process->count = reactors;
	process->options = *options;
	process->next_port = 40000;
	process->slow = 1;
	if (process->options.reactor.small_bufs == 0)
		process->options.reactor.small_bufs = BUFS_IOV_MAX;
	if (process->options.reactor.large_bufs == 0)
		process->options.reactor.large_bufs = BUFS_IOV_MAX;
	snprintf(address, sizeof(address), "10.0.%u.%u", process->index / 250, process->index % 250 + 1);
	process->address = sim_strdup(sim, options->address != NULL ? options->address : address);
	process->reactors = sim_alloc(sim, reactors * sizeof(*process->reactors));
	for (unsigned i = 0; i < reactors; i++)
		process->reactors[i].mail_at_ns = sim_alloc(sim, reactors * sizeof(uint64_t));
	list_init(&process->streams);
	list_init(&process->handles);
	list_init(&process->annexes);
	list_push(&sim->processes, &process->node);
	sim_process_start(process);
	return process;
}

bool sim_process_running(const struct sim_process *process) { return process->running; }
int sim_process_error(const struct sim_process *process) { return process->error; }
unsigned sim_process_streams(const struct sim_process *process) { return process->stream_count; }

struct reactor *
sim_process_reactor(struct sim_process *process, unsigned index)
{
	assert(process->running && index < process->count);
	return &process->reactors[index].base;
}
