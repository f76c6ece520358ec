#include "host/ordered.h"

#include <errno.h>

#include "order/travel.h"

#define NS_PER_MS UINT64_C(1000000)

/* What went wrong is tried again; a floor that nothing tells is told. */
static const uint64_t REST_NS = 20 * NS_PER_MS, TELL_NS = 100 * NS_PER_MS;

/* A command under way. */
struct command {
	struct ordered *ordered;
	struct command *next;      /* while it is free */
	struct order_item *item;
	unsigned server;
	uint32_t epoch;
	struct iovec iov[ORDER_TOGETHER_MAX];
};

struct way {
	struct ordered_server server;
	uint32_t serial;           /* of the association that its link goes by; 0: there is none */
	uint32_t in_flight;
	bool asking;
	struct bound_ask ask;
	struct iovec iov;
	uint8_t page[ORDER_LISTING_BYTES];
};

struct ordered {
	struct reactor *reactor;
	struct ordered_options options;
	struct order_session session;
	struct way *ways;
	struct command *commands, *free;
	struct order_listed *entries;
	struct weir_list_entry *in_place;
	struct task pump;
	struct timer rest, tell;
	uint64_t sent;
	bool stopped;
};

/* ---- admin commands ---- */

static void
answered(struct bound_ask *ask)
{
	struct way *way = container_of(ask, struct way, ask);
	struct ordered *o = ask->owner;
	const struct hreq *req = &ask->cmd.io.req;

	way->asking = false;
	if (o->stopped)
		return;
	order_session_told(&o->session, (unsigned)(way - o->ways), ask->lost, req->status, req->dw0, way->page);
	ordered_soon(o);
}

static void
ask(struct ordered *o, unsigned server)
{
	struct way *way = &o->ways[server];
	struct hreq *req = &way->ask.cmd.io.req;
	uint32_t bytes;

	if (way->serial == 0 || !order_session_ask(&o->session, server, &req->sqe, &bytes))
		return;
	memset(way->page, 0, sizeof(way->page));
	way->iov = (struct iovec){ way->page, bytes };
	req->data = bytes > 0 ? HREQ_READ : HREQ_NONE;
	req->length = bytes;
	req->iov = &way->iov;
	req->iov_count = bytes > 0;
	way->ask.done = answered;
	way->ask.owner = o;
	way->asking = true;
	bound_ask(way->server.lane, way->serial, &way->ask);
}

/* ---- links ---- */

static void
look(struct ordered *o, unsigned server)
{
	struct way *way = &o->ways[server];
	struct lane *lane = way->server.lane;

	if (way->serial != 0 && !bound_holds(lane, way->serial, &way->server.terms)) {
		way->serial = 0;
		order_session_parted(&o->session, server);
	}
	if (way->serial != 0)
		return;
	way->serial = bound_choose(lane, &way->server.terms);
	if (way->serial != 0)
		order_session_joined(&o->session, server, bound_qid(lane));
}

/* ---- writes ---- */

static void
done(void *arg, const struct lane_result *result)
{
	struct command *command = arg;
	struct ordered *o = command->ordered;
	struct order_item *item = command->item;
	uint32_t left = result->dw1 >> WEIR_ORDERED_LEFT_SHIFT;

	o->ways[command->server].in_flight--;
	command->next = o->free;
	o->free = command;
	if (o->stopped)
		return;
	order_session_answered(&o->session, command->server, item, command->epoch, result->error, left);
	ordered_soon(o);
}

/* What lies behind one another here is one piece. */
static uint32_t
gather(const struct order_item *item, uint32_t block_length, struct iovec *iov)
{
	uint32_t count = 0;

	for (const struct order_item *one = item; one != NULL; one = one->more) {
		size_t bytes = (size_t)one->blocks * block_length;

		if (bytes == 0)
			continue;
		if (count > 0 && (const char *)iov[count - 1].iov_base + iov[count - 1].iov_len == one->data)
			iov[count - 1].iov_len += bytes;
		else
			iov[count++] = (struct iovec){ (void *)(uintptr_t)one->data, bytes };
	}
	return count;
}

static void
send(struct ordered *o, unsigned server, struct order_item *item)
{
	uint32_t block_length = o->session.sequencer.layout->block_length, blocks = item->blocks_in_all;
	struct command *command = o->free;
	struct bound_io io = {
		.sqe = {
			.opcode = blocks > 0 ? NVME_WRITE : NVME_FLUSH, .nsid = le32_of(item->member->nsid),
			.cdw10 = le32_of((uint32_t)item->lba), .cdw11 = le32_of((uint32_t)(item->lba >> 32)),
			.cdw12 = le32_of(blocks > 0 ? blocks - 1 : 0),
		},
		.iov = command->iov, .iov_count = gather(item, block_length, command->iov),
		.bytes = blocks * block_length, .priority = o->options.priority, .done = done, .arg = command,
	};

	order_put(&item->attribute, o->options.stream, &io.sqe);
	o->free = command->next;
	command->item = item;
	command->server = server;
	command->epoch = o->session.links[server].epoch;
	o->ways[server].in_flight++;
	o->sent++;
	bound_submit(o->ways[server].server.lane, o->ways[server].serial, &io);
}

static void
send_all(struct ordered *o, unsigned server)
{
	struct way *way = &o->ways[server];
	const struct order_item *waiting;

	while (way->in_flight < o->options.depth && (waiting = order_session_waiting(&o->session, server)) != NULL &&
	    bound_room(way->server.lane, way->serial, waiting->member->nsid))
		send(o, server, order_session_next(&o->session, server));
}

/* ---- turns ---- */

static void
set(struct ordered *o, struct timer *timer, bool wanted, uint64_t wait_ns)
{
	if (wanted && !timer->armed)
		timer_set(&o->reactor->timers, timer, o->reactor->now_ns + wait_ns);
}

/* First what is new, then what is sent of it: nobody is told from between. */
static void
pump(struct task *task)
{
	struct ordered *o = container_of(task, struct ordered, pump);

	for (unsigned server = 0; server < o->options.count; server++)
		look(o, server);
	o->options.news(o);
	if (o->stopped)
		return;
	task_cancel(&o->pump); /* what was submitted meanwhile is sent now */
	for (unsigned server = 0; server < o->options.count; server++) {
		ask(o, server);
		send_all(o, server);
	}
	set(o, &o->rest, order_session_rests(&o->session), REST_NS);
	set(o, &o->tell, order_session_untold(&o->session), TELL_NS);
}

void
ordered_soon(struct ordered *o)
{
	if (!o->stopped)
		reactor_run_in(o->reactor, PHASE_SUBMIT, &o->pump);
}

static void
rested(struct timer *timer)
{
	struct ordered *o = container_of(timer, struct ordered, rest);

	order_session_wake(&o->session);
	ordered_soon(o);
}

static void
tell(struct timer *timer)
{
	struct ordered *o = container_of(timer, struct ordered, tell);

	order_session_tell(&o->session);
	ordered_soon(o);
}

/* ---- the beginning and the end ---- */

void *ordered_owner(const struct ordered *o) { return o->options.owner; }

struct order_session *ordered_session(struct ordered *o) { return &o->session; }

uint64_t ordered_sent(const struct ordered *o) { return o->sent; }

void
ordered_go(struct ordered *o, const struct order_layout *layout, struct order_item *items, uint32_t count)
{
	order_session_go(&o->session, layout, items, count);
	ordered_soon(o);
}

static int
make(struct ordered *o)
{
	struct arena *arena = o->reactor->arena;
	const struct ordered_options *of = &o->options;
	size_t listed = (size_t)of->count * ORDERED_LISTED_MAX;

	o->ways = arena_alloc(arena, of->count * sizeof(*o->ways));
	o->commands = arena_alloc_raw(arena, (size_t)of->count * of->depth * sizeof(*o->commands));
	/* Of what is never listed nothing is touched. */
	o->entries = arena_alloc_raw(arena, listed * sizeof(*o->entries));
	o->in_place = arena_alloc_raw(arena, listed * sizeof(*o->in_place));
	if (o->ways == NULL || o->commands == NULL || o->entries == NULL || o->in_place == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < of->count * of->depth; i++) {
		o->commands[i].ordered = o;
		o->commands[i].next = o->free;
		o->free = &o->commands[i];
	}
	order_session_init(&o->session, of->stream, of->count, ORDERED_LISTED_MAX, o->entries, o->in_place);
	o->session.force = of->force;
	o->session.holder = (uint32_t)o->reactor->world->random(o->reactor) | 1;
	return 0;
}

int
ordered_open(struct reactor *reactor, const struct ordered_options *options, struct ordered **out)
{
	struct ordered *o = arena_alloc(reactor->arena, sizeof(*o));

	assert(options->count > 0 && options->count <= ORDER_SERVERS_MAX && options->depth > 0);
	if (o == NULL)
		return -ENOMEM;
	o->reactor = reactor;
	o->options = *options;
	o->rest.fire = rested;
	o->tell.fire = tell;
	task_init(&o->pump, pump);
	if (make(o) != 0) {
		ordered_close(o);
		return -ENOMEM;
	}
	for (unsigned server = 0; server < options->count; server++) {
		o->ways[server].server = options->servers[server];
		bound_watch(options->servers[server].lane, &o->pump);
	}
	ordered_soon(o);
	*out = o;
	return 0;
}

bool
ordered_stop(struct ordered *o)
{
	bool asking = false;

	if (!o->stopped)
		for (unsigned server = 0; server < o->options.count; server++)
			bound_watch(o->ways[server].server.lane, NULL);
	o->stopped = true;
	task_cancel(&o->pump);
	timer_clear(&o->reactor->timers, &o->rest);
	timer_clear(&o->reactor->timers, &o->tell);
	for (unsigned server = 0; server < o->options.count; server++)
		asking = asking || o->ways[server].asking;
	return !asking;
}

void
ordered_close(struct ordered *o)
{
	struct arena *arena = o->reactor->arena;

	arena_free(arena, o->ways);
	arena_free(arena, o->commands);
	arena_free(arena, o->entries);
	arena_free(arena, o->in_place);
	arena_free(arena, o);
}
