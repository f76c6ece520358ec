#include "world/reactor.h"

#include <errno.h>

int
reactor_init(struct reactor *reactor, const struct world_ops *world, struct arena *arena,
    unsigned index, unsigned count, const struct reactor_options *options)
{
	*reactor = (struct reactor){
		.world = world, .arena = arena, .index = index, .count = count,
	};
	list_init(&reactor->ready);
	for (int i = 0; i < PHASE_COUNT; i++)
		list_init(&reactor->tasks[i]);
	reactor->scratch = arena_alloc_aligned(arena, REACTOR_SCRATCH, 4096);
	if (reactor->scratch == NULL)
		return -ENOMEM;
	if (bufs_init(&reactor->bufs, arena, options->small_bufs, options->large_bufs) != 0) {
		arena_free(arena, reactor->scratch);
		reactor->scratch = NULL;
		return -ENOMEM;
	}
	return 0;
}

void
reactor_fini(struct reactor *reactor)
{
	bufs_fini(&reactor->bufs);
	arena_free(reactor->arena, reactor->scratch);
	reactor->scratch = NULL;
}

void
reactor_stream_ready(struct stream *stream, unsigned events)
{
	stream->pending |= (uint8_t)events;
	if ((stream->pending & stream->wanted) != 0 && list_empty(&stream->ready_node))
		list_push(&stream->reactor->ready, &stream->ready_node);
}

void
reactor_stream_gone(struct stream *stream)
{
	list_remove(&stream->ready_node);
	stream->pending = stream->wanted = 0;
}

/* Those that become ready meanwhile have their turn in the next one: no stream starves another. */
static bool
deliver(struct reactor *reactor)
{
	struct list batch, *node;

	if (list_empty(&reactor->ready))
		return false;
	list_init(&batch);
	while ((node = list_pop(&reactor->ready)) != NULL)
		list_push(&batch, node);
	while ((node = list_pop(&batch)) != NULL) {
		struct stream *stream = container_of(node, struct stream, ready_node);
		unsigned events = stream->pending & stream->wanted;

		stream->pending &= (uint8_t)~events;
		if (events != 0)
			stream->ready(stream, events);
	}
	return true;
}

static bool
run_phase(struct reactor *reactor, enum reactor_phase phase)
{
	struct list batch, *node;

	if (list_empty(&reactor->tasks[phase]))
		return false;
	list_init(&batch);
	while ((node = list_pop(&reactor->tasks[phase])) != NULL)
		list_push(&batch, node);
	while ((node = list_pop(&batch)) != NULL) {
		struct task *task = container_of(node, struct task, node);

		task->run(task);
	}
	return true;
}

bool
reactor_turn(struct reactor *reactor, uint64_t now_ns)
{
	bool busy;

	reactor->now_ns = now_ns;
	reactor->turns++;
	busy = deliver(reactor);
	/* Before the timers: what a peer has sent in time must not be judged late because we were.  A look is
	 * no work; if something came, the world knows. */
	(void)run_phase(reactor, PHASE_RECEIVE);
	busy |= timers_run(&reactor->timers, now_ns) > 0;
	for (int phase = PHASE_RECEIVE + 1; phase < PHASE_COUNT; phase++)
		busy |= run_phase(reactor, (enum reactor_phase)phase);
	reactor->busy_turns += busy;
	return busy;
}

uint64_t
reactor_next(const struct reactor *reactor)
{
	if (!list_empty(&reactor->ready))
		return 0;
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (!list_empty(&reactor->tasks[phase]))
			return 0;
	return timers_next(&reactor->timers);
}

void
reactor_move_each(struct reactor *reactor, bool out, struct stream_move *moves, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct stream *stream = moves[i].stream;

		moves[i].result = out ? stream->ops->writev(stream, moves[i].iov, moves[i].count) :
		    stream->ops->readv(stream, moves[i].iov, moves[i].count);
	}
}
