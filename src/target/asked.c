/*
 * asked.c - buffers that wait for peers: for data that they are asked for, and for
 * what is read because they asked for it.
 *
 * Who was asked for data may never send it, and who asked for it may never take it.
 * So a host has as much of what a volume may have as it leaves free, however many
 * connections it has, and another one finds something at once.  Beyond that it waits, and
 * hosts take turns.  What peers are asked for takes a share of each pool at most, and
 * of what a volume may have, so that what comes without being asked for, in capsules,
 * and what is read finds buffers that come free by themselves.
 *
 * Anybody may say that he is another host each time.  So where one has to wait that has
 * shown that he is in earnest, for the minute after that connections that have not,
 * strangers, have no more than a quarter of each of these together, and everybody has
 * only the time that he earned (patience.c).  Data that he brought when he was asked
 * for it shows that, and more of it taken than kernels keep for who takes none.  The
 * two classes take turns, which counts only as long as strangers have not their quarter.
 *
 * A device may not answer, which is no host's fault.  What it has of a host is, of data
 * that was asked for, not counted any more, and of data that is read only where its
 * volume is concerned: there a host and a volume are what one host is here.
 *
 * The buffers are of the volume's share (world/bufs.h).  All is looked at together:
 * who lacks any of it holds nothing of the rest, and of one host those for a volume
 * that has its share let pass those for one that has not.
 */
#include "target/conn.h"

static const uint64_t guard_ns = UINT64_C(60) * 1000 * 1000 * 1000; /* so long strangers have their quarter alone */

/* ---- the share ---- */

static struct asked_order *
order_of(const struct request *req)
{
	return &req->conn->core->asked.orders[req->by_peer][bufs_are_large(req->waiter.bytes)];
}

static struct share *
volume_of(const struct request *req)
{
	return container_of(req->waiter.share, struct share, bufs);
}

/* Of its volume, what counts for its order. */
static struct share_asked *
asked_of(const struct request *req)
{
	return &volume_of(req)->asked[req->by_peer][bufs_are_large(req->waiter.bytes)];
}

static struct asked_class *
class_of(const struct request *req)
{
	return &order_of(req)->classes[req->stranger];
}

static struct asked_host *
host_of(const struct request *req)
{
	unsigned host = conn_host(req->conn);

	if (req->by_peer)
		host += (unsigned)(volume_of(req) - req->conn->core->shares);
	return &class_of(req)->all[host % CONN_HOSTS];
}

/* Where nothing is taken, there are as many as one transfer needs in any pool. */
static uint32_t
left(uint32_t most, uint32_t taken, uint32_t pieces)
{
	if (taken == 0 && most < pieces)
		return pieces;
	return most > taken ? most - taken : 0;
}

bool
asked_guarded(const struct core *core)
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

/* Of three quarters of the pool, for what peers are asked for. */
static uint32_t
left_of_all(const struct asked_order *order, bool stranger, uint32_t pieces)
{
	uint32_t theirs = order->classes[true].pieces, all;
	uint32_t most = bufs_pool(&order->core->reactor->bufs, order->large)->count / 4 * 3;

	if (order->by_peer)
		return UINT32_MAX;
	all = left(most, order->classes[false].pieces + theirs, pieces);
	return !stranger || !asked_guarded(order->core) ? all : left_for_strangers(most, theirs, pieces, all);
}

/* Of what the volume may have, half of what there is for it; for what peers are asked for, all but an eighth: with the
 * buffers that a target has, one read of the largest size. */
static uint32_t
left_of_volume(const struct asked_order *order, const struct share *volume, bool stranger, uint32_t pieces)
{
	const struct share_asked *asked = &volume->asked[order->by_peer][order->large];
	uint32_t may_have = bufs_room(&order->core->reactor->bufs, &volume->bufs, order->large) / 2;
	uint32_t most = order->by_peer ? may_have : may_have * 7 / 8;
	uint32_t all = left(most, order->by_peer ? volume->bufs.part[order->large].held : asked->pieces, pieces);

	return !stranger || !asked_guarded(order->core) ? all :
	    left_for_strangers(most, asked->strangers, pieces, all);
}

/* The host would have more than were left for others.  Who has nothing may have what there is. */
static bool
too_much(const struct asked_host *host, uint32_t pieces, uint32_t most)
{
	return host->pieces > 0 && host->pieces + 2 * pieces > most;
}

/* It was taken for it, or is given back. */
static void
count(struct request *req, int sign)
{
	uint32_t pieces = (uint32_t)sign * bufs_pieces(req->waiter.bytes);

	class_of(req)->pieces += pieces;
	host_of(req)->pieces += pieces;
	asked_of(req)->pieces += pieces;
	if (req->stranger)
		asked_of(req)->strangers += pieces;
	req->asks = sign > 0;
}

/* Somebody waits who could have asked before it: of its class anybody, of the other one who waits for the same. */
static bool
has_turn_after_others(const struct request *req)
{
	const struct asked_order *order = order_of(req);

	return !list_empty(&class_of(req)->hosts) ||
	    (!list_empty(&order->order.line.waiting) &&
	     (order->stuck || asked_of(req)->passed[req->stranger] == order->turn));
}

static bool
take_now(struct request *req)
{
	struct core *core = req->conn->core;
	const struct asked_order *order = order_of(req);
	uint32_t bytes = req->waiter.bytes, pieces = bufs_pieces(bytes);
	uint32_t of_all = left_of_all(order, req->stranger, pieces);
	uint32_t of_volume = left_of_volume(order, volume_of(req), req->stranger, pieces);
	uint32_t most = of_all < of_volume ? of_all : of_volume;

	return !has_turn_after_others(req) && pieces <= most && !too_much(host_of(req), pieces, most) &&
	    bufs_take(&core->reactor->bufs, req->waiter.share, bytes, &req->bufs);
}

static void
join(struct request *req)
{
	struct asked_order *order = order_of(req);
	struct asked_class *class = class_of(req);
	struct asked_host *host = host_of(req);

	req->waiter.share->part[order->large].asks++;
	turn_join(&host->waiting, req->waiter.share, req);
	if (list_empty(&host->node))
		list_push(&class->hosts, &host->node);
	if (list_empty(&class->node))
		list_push(&order->order.line.waiting, &class->node);
}

static bool
take(struct request *req, enum stage waits)
{
	struct core *core = req->conn->core;
	struct asked_order *order = order_of(req);
	struct bufs *bufs = &core->reactor->bufs;

	if (take_now(req)) {
		count(req, 1);
		return true;
	}
	if (!req->stranger)
		core->asked.guarded_ns = core->reactor->now_ns + guard_ns;
	req->stage = waits;
	join(req);
	bufs_ordered(bufs, order->large, &order->order); /* from here on it may be gone */
	if (bufs_waited(bufs, order->large)) {
		traffic_buffers_short(core);
		patience_watch(core);
	}
	return false;
}

bool
asked_fetch(struct request *req, uint32_t bytes, void (*granted)(struct bufs_waiter *))
{
	req->by_peer = false;
	req->stranger = req->conn->brought == 0;
	req->waiter = (struct bufs_waiter){
		.bytes = bytes, .share = &share_of(req)->bufs, .list = &req->bufs, .granted = granted,
	};
	return take(req, STAGE_SHARE);
}

bool
asked_send(struct request *req, struct share *share, void (*granted)(struct bufs_waiter *))
{
	req->by_peer = true;
	req->stranger = req->conn->tx_bytes < CONN_SHOWN_BYTES;
	req->waiter = (struct bufs_waiter){
		.bytes = req->xfer.length, .share = &share->bufs, .list = &req->bufs, .granted = granted,
	};
	return take(req, STAGE_READ);
}

/* What it waits for is not there: of the same volume, others wait behind it; where it is strangers that have too much
 * of it, only those. */
static bool
is_behind(struct asked_order *order, struct request *req, uint32_t pieces, uint32_t most)
{
	struct share_asked *asked = asked_of(req);

	if (pieces > most)
		asked->passed[req->stranger] = order->turn;
	if (req->stranger && pieces > left_of_volume(order, volume_of(req), false, pieces))
		asked->passed[false] = order->turn;
	return asked->passed[req->stranger] == order->turn;
}

/* Of one host, the first for a volume that has not its share. */
static struct request *
next_of(struct asked_order *order, struct asked_host *host)
{
	list_for_each(&host->waiting, node) {
		struct request *first = container_of(node, struct request, waiter.node);
		uint32_t pieces = bufs_pieces(first->waiter.bytes);
		bool stranger = first->stranger;
		uint32_t most = left_of_volume(order, volume_of(first), stranger, pieces);

		if (too_much(host, pieces, left_of_all(order, stranger, pieces)))
			order->short_of_share = true;
		else if (!too_much(host, pieces, most) && !is_behind(order, first, pieces, most) &&
		    bufs_may_have(&order->core->reactor->bufs, first->waiter.share, first->waiter.bytes))
			return first;
	}
	return NULL;
}

/* Of one class; NULL also where what is left is kept for its first one. */
static struct request *
next_of_class(struct asked_order *order, struct asked_class *class)
{
	bool stranger = class == &order->classes[true];
	uint32_t most = left_of_all(order, stranger, 1);

	list_for_each(&class->hosts, node) {
		struct asked_host *host = container_of(node, struct asked_host, node);
		struct request *first = NULL;
		uint32_t pieces;

		if (too_much(host, 1, most))
			order->short_of_share = true;
		else
			first = next_of(order, host);
		if (first == NULL)
			continue;
		pieces = bufs_pieces(first->waiter.bytes);
		if (pieces <= left_of_all(order, stranger, pieces))
			return first;
		order->short_of_share = true;
		order->stuck = pieces > left_of_all(order, false, pieces);
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
	struct request *req = request_of(waiter);
	struct asked_order *order = container_of(base, struct asked_order, order);
	struct asked_class *class = class_of(req);
	struct asked_host *host = host_of(req);

	turn_take(req);
	waiter->share->part[order->large].asks--;
	list_remove(&host->node);
	if (!list_empty(&host->waiting))
		list_push(&class->hosts, &host->node);
	list_remove(&class->node);
	if (!list_empty(&class->hosts))
		list_push(&base->line.waiting, &class->node);
	count(req, 1);
}

void
asked_give(struct request *req)
{
	struct asked_order *order;

	if (!req->asks)
		return;
	order = order_of(req);
	count(req, -1);
	bufs_ordered(&req->conn->core->reactor->bufs, order->large, &order->order);
}

void
asked_leave(struct request *req)
{
	struct asked_order *order = order_of(req);
	struct asked_class *class = class_of(req);
	struct asked_host *host = host_of(req);

	turn_leave(req);
	req->waiter.share->part[order->large].asks--;
	if (list_empty(&host->waiting))
		list_remove(&host->node);
	if (list_empty(&class->hosts))
		list_remove(&class->node);
	bufs_ordered(&req->conn->core->reactor->bufs, order->large, &order->order);
}

bool
asked_short(const struct core *core, bool large)
{
	const struct asked_order *order = &core->asked.orders[false][large];

	return !list_empty(&order->order.line.waiting) && order->short_of_share;
}

/* ---- beginning ---- */

static void
class_begin(struct asked_class *class)
{
	list_init(&class->node);
	list_init(&class->hosts);
	for (unsigned i = 0; i < CONN_HOSTS; i++) {
		list_init(&class->all[i].waiting);
		list_init(&class->all[i].node);
	}
}

static void
order_begin(struct core *core, bool by_peer, bool large)
{
	struct asked_order *order = &core->asked.orders[by_peer][large];

	order->core = core;
	order->by_peer = by_peer;
	order->large = large;
	order->order.next = next;
	order->order.leave = leave;
	bufs_order_init(&order->order);
	class_begin(&order->classes[false]);
	class_begin(&order->classes[true]);
}

void
asked_begin(struct core *core)
{
	for (unsigned i = 0; i < 4; i++)
		order_begin(core, i / 2, i % 2);
}
