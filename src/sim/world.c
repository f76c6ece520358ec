/*
 * world.c - what a reactor may ask of the simulated world beside streams and files.
 *
 * Mail, errands, annexes, pages, the boot id, chance, the date and the log;
 * and the table of all that it may ask.
 */
#include "sim/internal.h"
#include "sim/memory.h"

#include <string.h>

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
	sim_arena_init(&reactor->arena, process->options.arena_bytes);
	rng_seed(&reactor->rng, rng_next(&process->sim->rng));
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

void
sim_annexes_drop(struct sim_process *process)
{
	list_for_each(&process->annexes, node)
		world_annex_close(&container_of(node, struct annex, node)->reactor.base);
}

/* ---- the rest of the world ---- */

static void *
world_pages_map(struct reactor *reactor, size_t bytes, bool apart)
{
	return arena_alloc_aligned(&sim_reactor_of(reactor)->process->pages, bytes, 4096);
}

/* Address space is memory here, so there is as much as is needed. */
static void *
world_pages_reserve(struct reactor *reactor, size_t bytes, size_t room)
{
	size_t most = sim_reactor_of(reactor)->process->options.room;

	return room == bytes || room <= most ? world_pages_map(reactor, room, false) : NULL;
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
world_time_ns(struct reactor *reactor)
{
	return sim_reactor_of(reactor)->process->sim->now_ns;
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
	.file_load = sim_file_load,
	.file_data = sim_file_data,
	.file_map = sim_file_map,
	.file_write_back = sim_file_write_back,
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
	.time_ns = world_time_ns,
	.wall_ms = world_wall_ms,
	.log = world_log,
};
