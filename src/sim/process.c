/*
 * process.c - simulated processes: their reactors' turns, mail, birth and death.
 *
 * A reactor has a clock of its own that runs ahead of the simulation within a
 * turn: what the turn does happens at successive instants, and the next turn
 * begins when this one has ended.  Does not know what streams and files are.
 */
#include "sim/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	if (reactor->turn != NULL && reactor->turn_at_ns <= at_ns)
		return;
	event = sim_event_take(sim, SIM_TURN);
	event->reactor = reactor;
	event->life = reactor->process->life;
	sim_event_put(sim, event, at_ns);
	reactor->turn = event;
	reactor->turn_at_ns = at_ns;
}

void
sim_reactor_wake(struct sim_reactor *reactor, uint64_t at_ns)
{
	struct sim *sim = reactor->process->sim;

	/* Within its own turn it need not be woken: the turn's end looks what is left. */
	if (!reactor->in_turn)
		turn_at(reactor, at_ns + sim_delay(sim, 0, sim->options.wake_jitter_ns));
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

static void
turn(struct sim_reactor *reactor)
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
			return;
		}
	}
	deliver_mail(reactor);
	sim_net_accept(reactor);
	sim_file_done(reactor);
	end_errands(reactor);
	if (sim_chance(sim, sim->options.spurious_ppm))
		sim_net_spurious(reactor);
	reactor_turn(&reactor->base, sim->now_ns);
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
	bool counts = process->running && process->life == event->life && reactor->turn == event;

	sim_event_give(sim, event);
	if (!counts)
		return;
	sim_trace(sim, SIM_TURN, sim_reactor_name(reactor), process->life, 0);
	reactor->turn = NULL;
	reactor->in_turn = true;
	turn(reactor);
	reactor->in_turn = false;
	reactor->base.busy_ns += reactor->clock_ns - sim->now_ns;
	if (process->crash_asked)
		sim_process_crash(process, process->crash_flags);
	else
		turn_again(reactor);
}

/* ---- mail ---- */

static void
world_post(struct reactor *base, unsigned to, const struct mail *mail)
{
	struct sim_reactor *from = sim_reactor_of(base);
	struct sim_process *process = from->process;
	struct sim *sim = process->sim;
	struct sim_event *event = sim_event_take(sim, SIM_MAIL);
	uint64_t at_ns;

	assert(to < process->count && from->in_turn);
	event->reactor = &process->reactors[to];
	event->life = process->life;
	event->mail = *mail;
	event->mail.from = (uint16_t)base->index;
	at_ns = from->clock_ns + sim_delay(sim, sim->options.mail_ns, sim->options.mail_jitter_ns);
	if (at_ns < from->mail_at_ns[to])
		at_ns = from->mail_at_ns[to]; /* in order per sender */
	from->mail_at_ns[to] = at_ns;
	sim_event_put(sim, event, at_ns);
}

void
sim_reactor_handle_mail(struct sim *sim, struct sim_event *event)
{
	struct sim_reactor *reactor = event->reactor;

	if (!reactor->process->running || reactor->process->life != event->life) {
		sim_event_give(sim, event);
		return;
	}
	sim_trace(sim, SIM_MAIL, sim_reactor_name(reactor), event->mail.kind, event->mail.from);
	fifo_push(&reactor->inbox, &event->node);
	sim_reactor_wake(reactor, sim->now_ns);
}

/* ---- errands ---- */

/* One after another, but for those that are apart; and each takes as long as a file operation may. */
static void
world_errand(struct reactor *base, struct errand *errand)
{
	struct sim_reactor *reactor = sim_reactor_of(base);
	struct sim *sim = reactor->process->sim;
	struct sim_event *event;
	uint64_t after_ns = reactor->clock_ns;

	if (!reactor->in_turn) {
		errand->run(errand);
		errand->done(errand);
		return;
	}
	if (!errand->apart && after_ns < reactor->errand_at_ns)
		after_ns = reactor->errand_at_ns;
	after_ns += sim_delay(sim, sim->options.io_delay_ns, sim->options.io_jitter_ns);
	if (!errand->apart)
		reactor->errand_at_ns = after_ns;
	event = sim_event_take(sim, SIM_ERRAND);
	event->reactor = reactor;
	event->life = reactor->process->life;
	event->errand = errand;
	sim_event_put(sim, event, after_ns);
}

void
sim_reactor_handle_errand(struct sim *sim, struct sim_event *event)
{
	struct sim_reactor *reactor = event->reactor;
	struct errand *errand = event->errand;
	bool counts = reactor->process->running && reactor->process->life == event->life;

	sim_event_give(sim, event);
	if (!counts)
		return;
	sim_trace(sim, SIM_ERRAND, sim_reactor_name(reactor), 0, 0);
	errand->run(errand);
	fifo_push(&reactor->errands, &errand->node);
	sim_reactor_wake(reactor, sim->now_ns);
}

/* ---- annexes ---- */

struct annex {
	struct list node; /* in the process's annexes */
	struct sim_reactor reactor;
};

static struct reactor *
world_annex_open(struct reactor *base)
{
	struct sim_process *process = sim_reactor_of(base)->process;
	struct annex *annex = sim_alloc(process->sim, sizeof(*annex));
	struct sim_reactor *reactor = &annex->reactor;

	reactor->process = process;
	arena_init(&reactor->arena, process->options.arena_bytes);
	rng_seed(&reactor->rng, (uint64_t)process->life << 32 | ++process->annex_count);
	reactor->base.world = base->world;
	reactor->base.arena = &reactor->arena;
	reactor->base.index = base->index;
	reactor->base.count = base->count;
	list_push(&process->annexes, &annex->node);
	return &reactor->base;
}

static void
world_annex_close(struct reactor *base)
{
	struct annex *annex = container_of(sim_reactor_of(base), struct annex, reactor);

	arena_drop(&annex->reactor.arena);
	list_remove(&annex->node);
	arena_free(&annex->reactor.process->sim->arena, annex);
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
	arena_init(&reactor->arena, process->options.arena_bytes);
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
	process->crash_asked = false;
	process->crash_flags = 0;
	process->error = 0;
	process->life++;
	sim_trace(sim, SIM_START, process->index, process->life, process->count);
	arena_init(&process->pages, 0);
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
	process->boots += (flags & SIM_CRASH_KEEPS_WRITES) == 0;
	sim_net_crash(process, (flags & SIM_CRASH_HALF_OPEN) != 0);
	sim_file_crash(process, (flags & SIM_CRASH_KEEPS_WRITES) != 0);
	for (unsigned i = 0; i < process->count; i++) {
		struct sim_reactor *reactor = &process->reactors[i];
		struct fifo_node *node;

		while ((node = fifo_pop(&reactor->inbox)) != NULL)
			sim_event_give(sim, container_of(node, struct sim_event, node));
		arena_drop(&reactor->arena);
	}
	list_for_each(&process->annexes, node)
		world_annex_close(&container_of(node, struct annex, node)->reactor.base);
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

/* ---- the rest of the world ---- */

static void *
world_pages_map(struct reactor *reactor, size_t bytes)
{
	return arena_alloc_aligned(&sim_reactor_of(reactor)->process->pages, bytes, 4096);
}

/* Address space is memory here, so there is as much as is needed. */
static void *
world_pages_reserve(struct reactor *reactor, size_t bytes, size_t room)
{
	size_t most = sim_reactor_of(reactor)->process->options.room;

	return room == bytes || room <= most ? world_pages_map(reactor, room) : NULL;
}

static int
world_pages_use(struct reactor *reactor, void *pages, size_t bytes)
{
	assert(bytes % 4096 == 0);
	return 0; /* zeros since it was reserved */
}

static void
world_pages_unmap(struct reactor *reactor, void *pages, size_t bytes)
{
	arena_free(&sim_reactor_of(reactor)->process->pages, pages);
}

static void
world_pages_discard(struct reactor *reactor, void *pages, size_t bytes)
{
	assert(bytes % 4096 == 0);
	memset(pages, 0, bytes);
}

static uint64_t
world_boot(struct reactor *reactor)
{
	const struct sim_process *process = sim_reactor_of(reactor)->process;

	return (uint64_t)process->index << 32 | (process->boots + 1);
}

static uint64_t
world_random(struct reactor *reactor)
{
	return rng_next(&sim_reactor_of(reactor)->rng);
}

static uint64_t
world_wall_ms(struct reactor *reactor)
{
	struct sim *sim = sim_reactor_of(reactor)->process->sim;

	return sim->options.wall_ms + sim->now_ns / 1000000;
}

static void
world_log(struct reactor *base, int level, const char *text)
{
	struct sim_reactor *reactor = sim_reactor_of(base);
	struct sim *sim = reactor->process->sim;

	sim_trace(sim, SIM_LOG, sim_reactor_name(reactor), (uint64_t)level,
	    sim_hash_bytes(0, text, strlen(text)));
	if (sim->options.log != NULL)
		sim->options.log(sim->options.arg, reactor->process->name, base->index, level, text);
}

const struct world_ops sim_world_ops = {
	.listen = sim_net_listen,
	.unlisten = sim_net_unlisten,
	.connect = sim_net_connect,
	.move = reactor_move_each,
	.file_open = sim_file_open,
	.file_share = sim_file_share,
	.file_make = sim_file_make,
	.file_extend = sim_file_extend,
	.file_id = sim_file_id,
	.file_undo = sim_file_undo,
	.file_fetch = sim_file_fetch,
	.file_data = sim_file_data,
	.file_submit = sim_file_submit,
	.file_close = sim_file_close,
	.pages_map = world_pages_map,
	.pages_reserve = world_pages_reserve,
	.pages_use = world_pages_use,
	.pages_unmap = world_pages_unmap,
	.pages_discard = world_pages_discard,
	.post = world_post,
	.errand = world_errand,
	.annex_open = world_annex_open,
	.annex_close = world_annex_close,
	.boot = world_boot,
	.random = world_random,
	.wall_ms = world_wall_ms,
	.log = world_log,
};
