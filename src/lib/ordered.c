/*
 * ordered.c - an ordered volume's beginning and end, and what is recovered with the former (weir/ordered.h).
 *
 * Which servers and members there are is settled here; what is done with them is known in host/ordered.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ordered.h"
#include "order/entry.h"
#include "order/group.h"
#include "sys/clock.h"

enum {
	STRIPE = 64 * 1024, PIECES = 1024, PIECES_MAX = 65536, DEPTH = 128, DEPTH_MAX = 512, TIMEOUT_MS = 60000,
	READS = 16,            /* of a queue's I/Os, beside those of the stream */
	STOP_TURN_MS = 100,
};

static_assert((int)WEIR_GROUP_END == ORDER_END && (int)WEIR_GROUP_DURABLE == ORDER_DURABLE &&
    (int)WEIR_IN_PLACE == ORDER_IN_PLACE && (int)WEIR_MEMBERS_MAX == ORDER_SERVERS_MAX, "flags, and members");

/* ---- the end ---- */

static void
end_stream(struct weir_ordered *o)
{
	while (!ordered_stop(o->ordered))
		(void)queue_turn(ordered_seat(o), STOP_TURN_MS * INT64_C(1000000));
	for (unsigned i = 0; i < o->target_count; i++)
		queue_end(o->targets[i].queue);
	ordered_close(o->ordered);
}

/* A half-built one is accepted. */
static void
destroy(struct weir_ordered *o)
{
	if (o->ordered != NULL)
		end_stream(o);
	for (unsigned i = 0; o->targets != NULL && i < o->target_count; i++)
		weir_queue_close(o->targets[i].queue);
	free(o->targets);
	free(o->items);
	free(o->flushes);
	free(o);
}

void
weir_ordered_close(struct weir_ordered *o)
{
	if (o == NULL)
		return;
	assert(!ordered_seat(o)->turning);
	destroy(o);
}

/* ---- options ---- */

static int
check_options(struct weir_ordered_options *options)
{
	options->stripe = options_or(options->stripe, STRIPE);
	options->pieces = options_or(options->pieces, PIECES);
	options->depth = options_or(options->depth, DEPTH);
	options->timeout_ms = options_or(options->timeout_ms, TIMEOUT_MS);
	if (options->pieces > PIECES_MAX)
		return lib_fail(-EINVAL, "pieces is %u; it is %d at most", options->pieces, PIECES_MAX);
	if (options->depth > DEPTH_MAX)
		return lib_fail(-EINVAL, "depth is %u; it is %d at most", options->depth, DEPTH_MAX);
	if (options->priority > 3)
		return lib_fail(-EINVAL, "priority is %u; it is 3 at most", options->priority);
	return 0;
}

static struct weir_ordered *
make(const struct weir_ordered_options *options)
{
	struct weir_ordered *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->options = *options;
	o->targets = calloc(WEIR_MEMBERS_MAX, sizeof(*o->targets));
	if (o->targets != NULL)
		return o;
	free(o);
	return NULL;
}

/* ---- targets and members ---- */

static struct ordered_target *
target_of(struct weir_ordered *o, struct weir_subsys *ws)
{
	unsigned at = 0;

	while (at < o->target_count && o->targets[at].ws != ws)
		at++;
	if (at == o->target_count)
		o->targets[o->target_count++].ws = ws;
	return &o->targets[at];
}

static int
add_member(struct weir_ordered *o, const struct weir_member *member)
{
	struct ordered_target *target = target_of(o, member->subsys);
	unsigned at = o->layout.count;
	struct weir_namespace ns;
	int rc;

	if (member->subsys->host != o->targets[0].ws->host)
		return lib_fail(-EINVAL, "member %u is of another host", at);
	for (unsigned i = 0; i < at; i++)
		if (&o->targets[o->members[i].server] == target && o->members[i].nsid == member->nsid)
			return lib_fail(-EINVAL, "namespace %u of %s is a member twice", member->nsid,
			    member->subsys->nqn);
	rc = weir_subsys_namespace(member->subsys, member->nsid, &ns);
	if (rc != 0)
		return rc;
	if (at > 0 && ns.block_size != o->layout.block_length)
		return lib_fail(-EINVAL, "member %u has blocks of %u bytes, the first has some of %u", at,
		    ns.block_size, o->layout.block_length);
	o->layout.block_length = ns.block_size;
	o->block_shift = (unsigned)__builtin_ctz(ns.block_size);
	o->layout.blocks = at == 0 || ns.blocks < o->layout.blocks ? ns.blocks : o->layout.blocks;
	o->members[at] = (struct order_member){
		.server = (unsigned)(target - o->targets), .nsid = member->nsid,
		.most = ns.transfer_max / ns.block_size < 65536 ? ns.transfer_max / ns.block_size : 65536,
		.keeps = !ns.volatile_cache,
	};
	target->nsids[target->nsid_count++] = member->nsid;
	target->bytes = ns.transfer_max;
	o->layout.count++;
	return 0;
}

static int
lay_out(struct weir_ordered *o, const struct weir_member *members, unsigned count)
{
	struct order_layout *layout = &o->layout;

	if (count == 0 || count > WEIR_MEMBERS_MAX)
		return lib_fail(-EINVAL, "an ordered volume has 1 to %d members", WEIR_MEMBERS_MAX);
	for (unsigned i = 0; i < count; i++) {
		int rc = add_member(o, &members[i]);

		if (rc != 0)
			return rc;
	}
	layout->members = o->members;
	layout->servers = o->target_count;
	layout->stripe = count > 1 ? o->options.stripe / layout->block_length : 1;
	if (count > 1 && (layout->stripe == 0 || o->options.stripe % layout->block_length != 0))
		return lib_fail(-EINVAL, "a stripe of %u bytes is not whole blocks", o->options.stripe);
	if (count > 1)
		layout->blocks -= layout->blocks % layout->stripe;
	if (layout->blocks == 0)
		return lib_fail(-EINVAL, "a member has less blocks than a stripe");
	if (o->options.pieces < 8 * o->target_count)
		return lib_fail(-EINVAL, "pieces is %u; with %u targets it is %u at least", o->options.pieces,
		    o->target_count, 8 * o->target_count);
	o->items = calloc(o->options.pieces, sizeof(*o->items));
	o->flushes = calloc(o->options.pieces, sizeof(*o->flushes));
	if (o->items == NULL || o->flushes == NULL)
		return lib_fail(-ENOMEM, "there is no memory for %u pieces", o->options.pieces);
	return 0;
}

/* ---- the beginning ---- */

static int
open_queues(struct weir_ordered *o)
{
	struct weir_queue_options options = WEIR_OPTIONS(weir_queue_options);

	options.depth = o->options.depth + READS;
	options.with = o->options.with;
	for (unsigned i = 0; i < o->target_count; i++) {
		int rc = weir_queue_open(o->targets[i].ws, &options, &o->targets[i].queue);

		if (rc != 0)
			return rc;
		options.with = o->targets[0].queue;
	}
	return 0;
}

static int
open_stream(struct weir_ordered *o)
{
	struct ordered_server servers[WEIR_MEMBERS_MAX];
	struct ordered_options options = {
		.stream = o->options.stream, .force = o->options.force, .priority = o->options.priority,
		.depth = o->options.depth, .servers = servers, .count = o->target_count, .news = ordered_news,
		.owner = o,
	};

	for (unsigned i = 0; i < o->target_count; i++)
		servers[i] = (struct ordered_server){
			.lane = o->targets[i].queue->lane,
			.terms = { o->targets[i].nsids, o->targets[i].nsid_count, o->targets[i].bytes },
		};
	if (ordered_open(ordered_seat(o)->reactor, &options, &o->ordered) == 0)
		return 0;
	return lib_fail(-ENOMEM, "there is no memory for a stream of ordered writes");
}

/* The first one that has not come so far. */
static int
not_in_time(const struct weir_ordered *o)
{
	const struct order_session *session = ordered_session(o->ordered);

	for (unsigned i = 0; i < o->target_count; i++)
		if (session->links[i].is == ORDER_LINK_AWAY)
			return lib_fail(-ETIMEDOUT, "%s: there is no path by which ordered writes could go",
			    o->targets[i].ws->nqn);
	for (unsigned i = 0; i < o->target_count; i++)
		if (session->links[i].is != ORDER_LINK_LISTED && session->links[i].is != ORDER_LINK_READY)
			return lib_fail(-ETIMEDOUT, "%s: it has not stopped and cut the stream in time",
			    o->targets[i].ws->nqn);
	return lib_fail(-ETIMEDOUT, "the stream was not recovered in time");
}

/* Each of them is there, and has ordered writes, as far as is known. */
static int
check_targets(const struct weir_ordered *o)
{
	for (unsigned i = 0; i < o->target_count; i++)
		if (bound_is_in_vain(o->targets[i].queue->lane))
			return lib_fail(-EOPNOTSUPP, "%s has no ordered writes", o->targets[i].ws->nqn);
	return 0;
}

static int
wait_until_ready(struct weir_ordered *o)
{
	const struct order_session *session = ordered_session(o->ordered);
	int rc = check_targets(o);
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + o->options.timeout_ms * UINT64_C(1000000);

	while (rc == 0 && session->error == 0 && !order_session_is_ready(session) && now_ns < end_ns) {
		(void)queue_turn(ordered_seat(o), (int64_t)(end_ns - now_ns));
		now_ns = clock_now_ns();
		rc = check_targets(o);
	}
	if (rc != 0 || session->error != 0)
		return rc != 0 ? rc : ordered_failed(o);
	return order_session_is_ready(session) ? 0 : not_in_time(o);
}

/* What was written in place after the last group. */
static void
report(const struct weir_ordered *o)
{
	const struct order_session *session = ordered_session(o->ordered);

	for (unsigned i = 0; o->options.left != NULL && i < o->target_count; i++) {
		const struct order_listing *listing = &session->links[i].listing;

		for (uint32_t at = 0; at < listing->in_place_count; at++) {
			const struct weir_list_entry *entry = &listing->in_place[at];
			const struct weir_left left = {
				.subsys = o->targets[i].ws, .nsid = le32_get(entry->nsid),
				.lba = le64_get(entry->lba), .blocks = le32_get(entry->blocks),
			};

			if (order_above(le32_get(entry->last), session->there))
				o->options.left(o->options.arg, &left);
		}
	}
}

static int
recover(struct weir_ordered *o)
{
	int rc = open_queues(o);

	if (rc == 0)
		rc = open_stream(o);
	if (rc == 0)
		rc = wait_until_ready(o);
	if (rc == 0)
		report(o);
	return rc;
}

static void
begin(struct weir_ordered *o)
{
	const struct ordered_number first = { .group = ordered_session(o->ordered)->there };

	o->ended = o->complete = o->durable = first;
	ordered_go(o->ordered, &o->layout, o->items, o->options.pieces);
}

/* As it is told, with nothing in it. */
static int
make_told(const struct weir_ordered_options *given, struct weir_ordered **o)
{
	struct weir_ordered_options options;
	int rc = OPTIONS_TAKE(&options, given);

	if (rc == 0)
		rc = check_options(&options);
	if (rc != 0)
		return rc;
	*o = make(&options);
	return *o != NULL ? 0 : lib_fail(-ENOMEM, "there is no memory for a stream of ordered writes");
}

int
weir_ordered_open(const struct weir_member *members, unsigned count, const struct weir_ordered_options *given,
    struct weir_ordered **out)
{
	struct weir_ordered *o;
	int rc = make_told(given, &o);

	if (rc != 0)
		return rc;
	rc = lay_out(o, members, count);
	if (rc == 0)
		rc = recover(o);
	if (rc != 0) {
		destroy(o);
		return rc;
	}
	begin(o);
	*out = o;
	return 0;
}

/* ---- nobody needs it any more ---- */

static bool
may_end(const struct order_session *session)
{
	return session->begun ? list_empty(&session->sequencer.held) : order_session_is_ready(session);
}

/* The first one that it was waited for. */
static int
not_ended_in_time(const struct weir_ordered *o)
{
	const struct order_session *session = ordered_session(o->ordered);

	for (unsigned i = 0; i < o->target_count; i++)
		if (!session->links[i].forgot && session->links[i].is == ORDER_LINK_AWAY)
			return lib_fail(-ETIMEDOUT,
			    "%s: there is no path by which it could be told that the stream ends",
			    o->targets[i].ws->nqn);
	for (unsigned i = 0; i < o->target_count; i++)
		if (!(session->ending == ORDER_ENDS_FORGETTING ? session->links[i].forgot :
		    session->links[i].last_told))
			return lib_fail(-ETIMEDOUT, "%s: it has not forgotten the stream in time",
			    o->targets[i].ws->nqn);
	return lib_fail(-ETIMEDOUT, "the stream was not forgotten in time");
}

int
ordered_forget(struct weir_ordered *o, uint64_t end_ns)
{
	struct order_session *session = ordered_session(o->ordered);
	uint64_t now_ns = clock_now_ns();

	do {
		if (session->ending == ORDER_ENDS_NOT && may_end(session)) {
			order_session_end(session);
			ordered_soon(o->ordered);
		}
		(void)queue_turn(ordered_seat(o), now_ns < end_ns ? (int64_t)(end_ns - now_ns) : 0);
		now_ns = clock_now_ns();
	} while (session->error == 0 && session->ending != ORDER_ENDS_OVER && now_ns < end_ns);
	if (session->error != 0)
		return ordered_failed(o);
	return session->ending == ORDER_ENDS_OVER ? 0 : not_ended_in_time(o);
}

/* ---- for people ---- */

static int
add_targets(struct weir_ordered *o, struct weir_subsys *const *targets, unsigned count)
{
	if (count == 0 || count > WEIR_MEMBERS_MAX)
		return lib_fail(-EINVAL, "a stream has 1 to %d targets", WEIR_MEMBERS_MAX);
	for (unsigned i = 0; i < count; i++) {
		if (targets[i]->host != targets[0]->host)
			return lib_fail(-EINVAL, "target %u is of another host", i);
		(void)target_of(o, targets[i]);
	}
	return 0;
}

static int
recover_by_hand(struct weir_subsys *const *targets, unsigned count, const struct weir_ordered_options *given,
    bool forget, uint32_t *last)
{
	struct weir_ordered *o;
	int rc = make_told(given, &o);

	if (rc != 0)
		return rc;
	rc = add_targets(o, targets, count);
	if (rc == 0)
		rc = recover(o);
	if (rc == 0)
		*last = ordered_session(o->ordered)->there;
	if (rc == 0 && forget)
		rc = ordered_forget(o, clock_now_ns() + o->options.timeout_ms * UINT64_C(1000000));
	destroy(o);
	return rc;
}

int
weir_ordered_recover(struct weir_subsys *const *targets, unsigned count, const struct weir_ordered_options *options,
    uint32_t *last)
{
	return recover_by_hand(targets, count, options, false, last);
}

int
weir_ordered_forget(struct weir_subsys *const *targets, unsigned count, const struct weir_ordered_options *options,
    uint32_t *last)
{
	return recover_by_hand(targets, count, options, true, last);
}

/* Those from `from` on; how many there are in all. */
static int
list_streams(struct weir_subsys *target, uint16_t *streams, unsigned from, unsigned max)
{
	uint8_t page[ORDER_LISTING_BYTES] = { 0 };
	struct weir_list_head head;
	struct weir_admin admin = {
		.opcode = WEIR_ADMIN_LIST, .cdw10 = WEIR_LIST_STREAMS, .cdw11 = from, .cdw12 = sizeof(page) / 4 - 1,
		.data = page, .bytes = sizeof(page),
	};
	int rc = weir_subsys_admin(target, -1, &admin, NULL);

	if (rc != 0)
		return rc;
	memcpy(&head, page, sizeof(head));
	if (le32_get(head.count) > 65536)
		return lib_fail(-EPROTO, "%s: it lists %u streams, more than there are", target->nqn,
		    le32_get(head.count));
	for (unsigned at = sizeof(head); at < sizeof(page) && from < le32_get(head.count) && from < max; at += 2) {
		le16 stream;

		memcpy(&stream, page + at, sizeof(stream));
		streams[from++] = le16_get(stream);
	}
	return (int)le32_get(head.count);
}

int
weir_ordered_streams(struct weir_subsys *target, uint16_t *streams, unsigned max)
{
	enum { OF_PAGE = (ORDER_LISTING_BYTES - sizeof(struct weir_list_head)) / 2 };
	int count = 0;

	for (unsigned from = 0; from == 0 || (from < max && from < (unsigned)count); from += OF_PAGE) {
		count = list_streams(target, streams, from, max);
		if (count < 0)
			return count;
	}
	return (unsigned)count < max ? count : (int)max;
}
