/*
 * asked.c - buffers that wait for data of peers.
 *
 * Who was asked for data may never send it.  So what is asked for takes a share
 * of each pool at most, and of what a volume may have of it, and what comes without
 * being asked for, in capsules, and what is read always finds buffers that come free
 * by themselves.  Of that share a host has as much as it leaves free, however many
 * connections it has, so that another one that asks little finds something at once.
 * Beyond it who asks waits, and hosts take turns; and where anybody waits, for the
 * share or for buffers, who owes data for too long loses its connection.
 *
 * Anybody may say that he is another host each time.  So where one has to wait that has
 * brought what it was asked for before, for the minute after that connections that have
 * not, strangers, have no more than a quarter of each of these together, and everybody
 * has only the time that he earned (conn.h).  The two classes take turns, which counts
 * only as long as strangers have not their quarter.
 *
 * The buffers are of the volume's share (world/bufs.h).  All is looked at together:
 * who lacks any of it holds nothing of the rest, and of one host those for a volume
 * that has its share let pass those for one that has not.
 */
#include "target/conn.h"

enum {
	LOOKS = 4,    /* in a second, for who keeps others waiting */
	GUARD_S = 60, /* so long strangers have their quarter alone */
};

static const uint64_t second_ns = 1000 * 1000 * 1000;

/* ---- the share ---- */

static struct asked_host *
host_of(const struct request *req)
{
	return &req->conn->core->asked.hosts[req->stranger][conn_host(req->conn)];
}

/* Where nothing is taken, there are as many as one transfer needs in any pool. */
static uint32_t
left(uint32_t most, uint32_t taken, uint32_t pieces)
{
	if (taken == 0 && most < pieces)
		return pieces;
	return most > taken ? most - taken : 0;
}

/* One waited who is no stranger. */
static bool
is_guarded(const struct core *core)
{
	return core->reactor->now_ns < core->asked.guarded_ns;
}

/* And of a quarter of it. */
static uint32_t
left_for_strangers(uint32_t most, uint32_t taken, uint32_t pieces, uint32_t left_of_it)
{
	uint32_t theirs = left(most / 4, taken, pieces);

	return theirs < left_of_it ? theirs : left_of_it;
}

/* Of three quarters of the pool. */
static uint32_t
left_of_all(struct core *core, bool stranger, bool large, uint32_t pieces)
{
	uint32_t most = bufs_pool(&core->reactor->bufs, large)->count / 4 * 3;
	uint32_t all = left(most, core->asked.pieces[large], pieces);

	return !stranger || !is_guarded(core) ? all :
	    left_for_strangers(most, core->asked.orders[large].classes[true].pieces, pieces, all);
}

/* Of what the volume may have, half of what there is for it, all but an eighth: with the buffers that a target has, one
 * read of the largest size. */
static uint32_t
left_of_volume(struct core *core, const struct share *volume, bool stranger, bool large, uint32_t pieces)
{
	uint32_t most = bufs_room(&core->reactor->bufs, &volume->bufs, large) / 2 * 7 / 8;
	uint32_t all = left(most, volume->asked[large].pieces, pieces);

	return !stranger || !is_guarded(core) ? all :
	    left_for_strangers(most, volume->asked[large].strangers, pieces, all);
}

/* The host would have more than were left for others.  Who has nothing may have what there is. */
static bool
too_much(const struct asked_host *host, bool large, uint32_t pieces, uint32_t most)
{
	uint32_t has = host->pieces[large];

	return has > 0 && has + 2 * pieces > most;
}

static struct share *
volume_of(const struct request *req)
{
	return container_of(req->waiter.share, struct share, bufs);
}

/* It was taken for it, or is given back. */
static void
count(struct request *req, int sign)
{
	struct core *core = req->conn->core;
	bool large = bufs_are_large(req->waiter.bytes);
	uint32_t pieces = (uint32_t)sign * bufs_pieces(req->waiter.bytes);

	core->asked.pieces[large] += pieces;
	core->asked.orders[large].classes[req->stranger].pieces += pieces;
	host_of(req)->pieces[large] += pieces;
	volume_of(req)->asked[large].pieces += pieces;
	if (req->stranger)
		volume_of(req)->asked[large].strangers += pieces;
	req->asks = sign > 0;
}

/* Somebody waits who could have asked before it: of its class anybody, of the other one who waits for the same. */
static bool
has_turn_after_others(const struct request *req)
{
	const struct asked_order *order = &req->conn->core->asked.orders[bufs_are_large(req->waiter.bytes)];

	return !list_empty(&order->classes[req->stranger].hosts) ||
	    (!list_empty(&order->order.line.waiting) &&
	     (order->stuck || volume_of(req)->asked[order->large].passed[req->stranger] == order->turn));
}

static bool
take_now(struct request *req)
{
	struct core *core = req->conn->core;
	uint32_t bytes = req->waiter.bytes, pieces = bufs_pieces(bytes);
	bool large = bufs_are_large(bytes), stranger = req->stranger;
	uint32_t of_all = left_of_all(core, stranger, large, pieces);
	uint32_t of_volume = left_of_volume(core, volume_of(req), stranger, large, pieces);
	uint32_t most = of_all < of_volume ? of_all : of_volume;

	return !has_turn_after_others(req) && pieces <= most &&
	    !too_much(host_of(req), large, pieces, most) &&
	    bufs_take(&core->reactor->bufs, req->waiter.share, bytes, &req->bufs);
}

static void
join(struct asked_order *order, struct request *req)
{
	struct asked_class *class = &order->classes[req->stranger];
	struct asked_host *host = host_of(req);

	turn_join(&host->waiting[order->large], req->waiter.share, req);
	if (list_empty(&host->node[order->large]))
		list_push(&class->hosts, &host->node[order->large]);
	if (list_empty(&class->node))
		list_push(&order->order.line.waiting, &class->node);
}

bool
asked_take(struct request *req, uint32_t bytes, void (*granted)(struct bufs_waiter *))
{
	struct core *core = req->conn->core;
	struct bufs *bufs = &core->reactor->bufs;
	bool large = bufs_are_large(bytes);

	req->stranger = req->conn->brought == 0;
	req->waiter = (struct bufs_waiter){
		.bytes = bytes, .share = &share_of(req)->bufs, .list = &req->bufs, .granted = granted,
	};
	if (take_now(req)) {
		count(req, 1);
		return true;
	}
	if (!req->stranger)
		core->asked.guarded_ns = core->reactor->now_ns + GUARD_S * second_ns;
	req->stage = STAGE_SHARE;
	req->waiter.share->part[large].asks++;
	join(&core->asked.orders[large], req);
	bufs_ordered(bufs, large); /* from here on it may be gone */
	if (bufs_waited(bufs, large)) {
		traffic_buffers_short(core);
		asked_watch(core);
	}
	return false;
}

/* What it waits for is not there: of the same volume, others wait behind it; where it is strangers that have too much
 * of it, only those. */
static bool
is_behind(struct asked_order *order, struct request *req, uint32_t pieces, uint32_t most)
{
	struct share_asked *asked = &volume_of(req)->asked[order->large];

	if (pieces > most)
		asked->passed[req->stranger] = order->turn;
	if (req->stranger && pieces > left_of_volume(order->core, volume_of(req), false, order->large, pieces))
		asked->passed[false] = order->turn;
	return asked->passed[req->stranger] == order->turn;
}

/* Of one host, the first for a volume that has not its share. */
static struct request *
next_of(struct asked_order *order, struct asked_host *host)
{
	struct core *core = order->core;
	bool large = order->large;

	list_for_each(&host->waiting[large], node) {
		struct request *first = container_of(node, struct request, waiter.node);
		uint32_t pieces = bufs_pieces(first->waiter.bytes);
		bool stranger = first->stranger;
		uint32_t most = left_of_volume(core, volume_of(first), stranger, large, pieces);

		if (too_much(host, large, pieces, left_of_all(core, stranger, large, pieces)))
			order->short_of_share = true;
		else if (!too_much(host, large, pieces, most) && !is_behind(order, first, pieces, most) &&
		    bufs_may_have(&core->reactor->bufs, first->waiter.share, first->waiter.bytes))
			return first;
	}
	return NULL;
}

/* Of one class; NULL also where what is left is kept for its first one. */
static struct request *
next_of_class(struct asked_order *order, struct asked_class *class)
{
	bool stranger = class == &order->classes[true];
	uint32_t most = left_of_all(order->core, stranger, order->large, 1);

	list_for_each(&class->hosts, node) {
		struct asked_host *host = container_of(node, struct asked_host, node[order->large]);
		struct request *first = NULL;
		uint32_t pieces;

		if (too_much(host, order->large, 1, most))
			order->short_of_share = true;
		else
			first = next_of(order, host);
		if (first == NULL)
			continue;
		pieces = bufs_pieces(first->waiter.bytes);
		if (pieces <= left_of_all(order->core, stranger, order->large, pieces))
			return first;
		order->short_of_share = true;
		order->stuck = pieces > left_of_all(order->core, false, order->large, pieces);
		return NULL; /* nobody takes what it waits for */
	}
	return NULL;
}

static struct bufs_waiter *
next(struct bufs_order *base)
{
	struct asked_order *order = container_of(base, struct asked_order, order);

	order->short_of_share = order->stuck = false;
	order->turn++;
	list_for_each(&base->line.waiting, node) {
		struct request *first = next_of_class(order, container_of(node, struct asked_class, node));

		if (first != NULL)
			return &first->waiter;
		if (order->stuck)
			return NULL;
	}
	return NULL;
}

/* Those that remain of the host have their next turn after all others, and so has the class. */
static void
leave(struct bufs_order *base, struct bufs_waiter *waiter)
{
	struct asked_order *order = container_of(base, struct asked_order, order);
	struct request *req = request_of(waiter);
	struct asked_class *class = &order->classes[req->stranger];
	struct asked_host *host = host_of(req);

	turn_take(req);
	waiter->share->part[order->large].asks--;
	list_remove(&host->node[order->large]);
	if (!list_empty(&host->waiting[order->large]))
		list_push(&class->hosts, &host->node[order->large]);
	list_remove(&class->node);
	if (!list_empty(&class->hosts))
		list_push(&base->line.waiting, &class->node);
	count(req, 1);
}

void
asked_give(struct request *req)
{
	if (!req->asks)
		return;
	count(req, -1);
	bufs_ordered(&req->conn->core->reactor->bufs, bufs_are_large(req->waiter.bytes));
}

void
asked_leave(struct request *req)
{
	struct asked_host *host = host_of(req);
	bool large = bufs_are_large(req->waiter.bytes);
	struct asked_class *class = &req->conn->core->asked.orders[large].classes[req->stranger];

	turn_leave(req);
	req->waiter.share->part[large].asks--;
	if (list_empty(&host->waiting[large]))
		list_remove(&host->node[large]);
	if (list_empty(&class->hosts))
		list_remove(&class->node);
	bufs_ordered(&req->conn->core->reactor->bufs, large);
}

/* ---- who keeps others waiting ---- */

/* Somebody waits for what it holds: not who waits for the share of a volume that it has nothing of. */
static bool
is_waited_for(struct core *core, const struct bufs_list *list)
{
	const struct asked_order *order = &core->asked.orders[list->large];

	return bufs_wanted(&core->reactor->bufs, list) ||
	    (!list_empty(&order->order.line.waiting) && order->short_of_share);
}

/* How long it may owe data that others wait for the place of. */
static uint64_t
patience_ns(const struct conn *conn)
{
	uint64_t most = CONN_WAITED_FOR_S * second_ns, has = CONN_STRANGER_S * second_ns + conn_earned_ns(conn);

	return is_guarded(conn->core) && has < most ? has : most;
}

/* Since when the peer owes it.  While a connection is paused nothing is read of it, and then it is not the peer that
 * keeps us; but it may cause a pause, so all of them together give it no more than the same time once again. */
static uint64_t
owed_since(const struct request *req)
{
	const struct conn *conn = req->conn;
	uint64_t since = conn->paused ? conn->core->reactor->now_ns : conn->resumed_ns;
	uint64_t latest = req->since_ns + patience_ns(conn);

	return since < req->since_ns ? req->since_ns : since < latest ? since : latest;
}

/* Data that the peer owes, for too long, has a place that somebody waits for. */
static bool
keeps(const struct request *req)
{
	const struct conn *conn = req->conn;
	const struct request *place = req->bufs.bytes > 0 || req->partner == NULL ? req : req->partner;

	return (request_owed(req) || req == conn->fused) && place->bufs.bytes > 0 && req != conn->admin_user &&
	    conn->core->reactor->now_ns - owed_since(req) >= patience_ns(conn) &&
	    is_waited_for(conn->core, &place->bufs);
}

/* An answer of which the peer took a part, and then for too long not all, has a place that somebody waits for: of
 * copies, which have no line of their own, anybody who waits for any.  However it gets on: a few bytes now and then
 * keep it as well.  What counts is the time in which others waited: before that there was no hurry.  Those of which
 * nothing was sent are taken back at once (traffic.c). */
static bool
keeps_answer(const struct conn *conn)
{
	const struct request *req = traffic_half_sent(conn);
	const struct core *core = conn->core;
	const struct bufs *bufs = &core->reactor->bufs;
	uint64_t since = core->asked.since_ns;

	if (req == NULL || req->stage != STAGE_SLOW || conn->qid == 0 || req->bufs.bytes == 0)
		return false;
	if (req->since_ns > since)
		since = req->since_ns;
	return core->reactor->now_ns - since >= CONN_WAITED_FOR_S * second_ns &&
	    (bufs_wanted(bufs, &req->bufs) ||
	     (req->bufs.share == &core->shares[SHARE_SLOW].bufs && bufs_waited(bufs, req->bufs.large)));
}

static bool
owes_any(const struct conn *conn)
{
	/* Nothing is owed: not asked for, not the rest of a capsule, not the other half of a pair. */
	if (conn->asked_bytes == 0 && !framer_midway(&conn->tc.framer) && conn->fused == NULL)
		return false;
	for (uint32_t i = 0; i < conn->tc.slots_used; i++)
		if (keeps(&conn->slots[i]))
			return true;
	return false;
}

static void
look_later(struct core *core)
{
	timer_set(&core->reactor->timers, &core->asked.timer, core->reactor->now_ns + second_ns / LOOKS);
}

static void
look(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, asked.timer);
	const struct bufs *bufs = &core->reactor->bufs;
	const char *how;
	char peer[80];

	if (!bufs_waited(bufs, false) && !bufs_waited(bufs, true))
		return;
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		/* Also one that is not served any more: what of it is half sent is sent to its end. */
		if (conn->phase < CONN_LIVE || conn->phase == CONN_DEAD)
			continue;
		if (owes_any(conn))
			how = "owes data";
		else if (keeps_answer(conn))
			how = "takes too long over a read";
		else
			continue;
		conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
		core_log_peer(core, "%s: closed: it %s, and others wait for the memory", peer, how);
		conn_kill(conn);
	}
	traffic_buffers_short(core); /* what is waited for may be another by now */
	look_later(core);
}

void
asked_watch(struct core *core)
{
	if (core->asked.timer.armed)
		return;
	core->asked.since_ns = core->reactor->now_ns;
	look_later(core);
}

/* ---- beginning and end ---- */

static void
order_begin(struct core *core, bool large)
{
	struct asked_order *order = &core->asked.orders[large];

	order->core = core;
	order->large = large;
	order->order.next = next;
	order->order.leave = leave;
	list_init(&order->order.line.node);
	list_init(&order->order.line.waiting);
	for (unsigned class = 0; class < 2; class++) {
		list_init(&order->classes[class].node);
		list_init(&order->classes[class].hosts);
		for (unsigned i = 0; i < CONN_HOSTS; i++) {
			list_init(&core->asked.hosts[class][i].waiting[large]);
			list_init(&core->asked.hosts[class][i].node[large]);
		}
	}
	bufs_pool(&core->reactor->bufs, large)->order = &order->order;
}

void
asked_begin(struct core *core)
{
	core->asked.timer.fire = look;
	order_begin(core, false);
	order_begin(core, true);
}

void
asked_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->asked.timer);
	core->reactor->bufs.small.order = core->reactor->bufs.large.order = NULL;
}
