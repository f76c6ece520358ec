/* session.c - a stream at its host: its links, where it is cut, and its writes; session_talk.c has the commands. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "order/group.h"
#include "order/session_inside.h"

void
order_session_init(struct order_session *session, uint16_t stream, unsigned servers, uint32_t room,
    struct order_listed *entries, struct weir_list_entry *in_place)
{
	assert(servers > 0 && servers <= ORDER_SERVERS_MAX);
	*session = (struct order_session){ .stream = stream, .servers = servers };
	for (unsigned server = 0; server < servers; server++) {
		struct order_listing *listing = &session->links[server].listing;

		listing->room = room;
		listing->entries = entries + (size_t)server * room;
		listing->in_place = in_place + (size_t)server * room;
	}
}

/* ---- what goes wrong ---- */

void
order_session_fail(struct order_session *session, unsigned server, int error, const char *why)
{
	if (session->error != 0)
		return;
	session->error = error;
	session->why = why;
	session->failed = server;
}

void
order_link_enter(struct order_session *session, unsigned server, enum order_link_is is)
{
	struct order_link *link = order_link_of(session, server);

	if (link->is == ORDER_LINK_GOES) {
		order_sequencer_down(&session->sequencer, server);
		link->epoch++;
	}
	if (is == ORDER_LINK_LISTS)
		order_listing_begin(&link->listing);
	link->is = (uint8_t)is;
}

void
order_session_begin_again(struct order_session *session, unsigned server, int error, const char *why)
{
	struct order_link *link = order_link_of(session, server);

	if (link->is == ORDER_LINK_AWAY)
		return;
	order_link_enter(session, server, ORDER_LINK_LISTS);
	link->rests = link->tries > 0;
	if (++link->tries > ORDER_TRIES_MAX)
		order_session_fail(session, server, error, why);
}

/* ---- links ---- */

void
order_session_joined(struct order_session *session, unsigned server, uint16_t qid)
{
	struct order_link *link = order_link_of(session, server);

	assert(link->is == ORDER_LINK_AWAY);
	link->qid = qid;
	order_link_enter(session, server, ORDER_LINK_LISTS);
}

void
order_session_parted(struct order_session *session, unsigned server)
{
	struct order_link *link = order_link_of(session, server);

	order_link_enter(session, server, ORDER_LINK_AWAY);
	link->rests = link->tells = false;
	/* What was asked is answered as lost, and says nothing of the next link. */
	link->asked_epoch--;
}

/* ---- the host was gone ---- */

/* Two members of the same target in two subsystems would be two servers with one list. */
static bool
is_one_twice(struct order_session *session)
{
	for (unsigned i = 0; i < session->servers; i++)
		for (unsigned j = 0; j < i; j++)
			if (memcmp(session->links[i].listing.head.log, session->links[j].listing.head.log,
			    sizeof(session->links[i].listing.head.log)) == 0) {
				order_session_fail(session, i, -EINVAL,
				    "it has the same log as another server of the stream");
				return true;
			}
	return false;
}

/* As it was when it was listed. */
static void
know(struct order_link *link)
{
	const struct weir_list_head *head = &link->listing.head;

	link->term = le16_get(head->term);
	link->slack = 0;
	memcpy(link->log, head->log, sizeof(link->log));
	link->was_new = (le32_get(head->flags) & WEIR_LIST_NEW) != 0;
	link->known = true;
}

/* Once: from then on each server is cut there, whatever becomes of others meanwhile. */
static void
decide(struct order_session *session)
{
	struct order_list lists[ORDER_SERVERS_MAX];

	for (unsigned i = 0; i < session->servers; i++) {
		if (session->links[i].is != ORDER_LINK_LISTED)
			return;
		lists[i] = order_listing_list(&session->links[i].listing);
	}
	if (is_one_twice(session))
		return;
	for (unsigned i = 0; i < session->servers; i++)
		know(&session->links[i]);
	session->there = order_prefix(lists, session->servers);
	session->decided = true;
}

void
order_session_cut_all(struct order_session *session)
{
	if (!session->decided)
		decide(session);
	for (unsigned i = 0; session->decided && i < session->servers; i++) {
		struct order_link *link = &session->links[i];

		if (link->is != ORDER_LINK_LISTED)
			continue;
		link->cut = session->there;
		link->is = ORDER_LINK_CUTS;
	}
}

static bool
all_are(const struct order_session *session, enum order_link_is is)
{
	for (unsigned i = 0; i < session->servers; i++)
		if (session->links[i].is != is)
			return false;
	return session->error == 0;
}

bool
order_session_is_ready(const struct order_session *session)
{
	return all_are(session, ORDER_LINK_READY);
}

/* ---- a server was lost ---- */

/* What was sent before has to have ended: buffers that have been read are not read again, and nobody answers then. */
void
order_session_cut_one(struct order_session *session, unsigned server)
{
	struct order_link *link = order_link_of(session, server);
	struct order_list list;
	struct order_there there;

	if (link->is != ORDER_LINK_LISTED || link->in_flight > 0)
		return;
	list = order_listing_list(&link->listing);
	there = order_server_prefix(&list);
	if (order_above(there.group, session->sequencer.group))
		order_session_fail(session, server, -EPROTO, "it lists groups that were never written");
	else if (!order_sequencer_cut(&session->sequencer, server, &there, &link->cut))
		order_session_fail(session, server, -EIO, "it has lost what was durable");
	else
		link->is = ORDER_LINK_CUTS;
}

void
order_session_go_on(struct order_session *session, unsigned server)
{
	struct order_link *link = order_link_of(session, server);

	order_sequencer_up(&session->sequencer, server, link->last, le32_get(link->listing.head.guaranteed));
	link->is = ORDER_LINK_GOES;
	/* Else the next answer to a write, or to the last floor, says that all is well. */
	if (session->sequencer.ways[server].next == &session->sequencer.ways[server].items &&
	    (session->ending == ORDER_ENDS_NOT || link->last_told))
		link->tries = 0;
}

void
order_session_go(struct order_session *session, const struct order_layout *layout, struct order_item *items,
    uint32_t count)
{
	assert(order_session_is_ready(session) && layout->servers == session->servers);
	session->begun = true;
	order_sequencer_init(&session->sequencer, layout, items, count, session->there);
	for (unsigned server = 0; server < session->servers; server++)
		order_session_go_on(session, server);
}

/* ---- time ---- */

void
order_session_wake(struct order_session *session)
{
	for (unsigned server = 0; server < session->servers; server++)
		session->links[server].rests = false;
}

bool
order_session_rests(const struct order_session *session)
{
	for (unsigned server = 0; session->error == 0 && server < session->servers; server++)
		if (session->links[server].rests)
			return true;
	return false;
}

bool
order_session_untold(const struct order_session *session)
{
	for (unsigned server = 0; session->error == 0 && server < session->servers; server++)
		if (session->links[server].is == ORDER_LINK_GOES &&
		    session->sequencer.ways[server].told != session->sequencer.durable)
			return true;
	return false;
}

void
order_session_tell(struct order_session *session)
{
	for (unsigned server = 0; server < session->servers; server++)
		session->links[server].tells = session->links[server].is == ORDER_LINK_GOES;
}

/* ---- writes ---- */

const struct order_item *
order_session_waiting(const struct order_session *session, unsigned server)
{
	const struct order_way *way = &session->sequencer.ways[server];

	if (session->error != 0 || session->links[server].is != ORDER_LINK_GOES || way->next == &way->items)
		return NULL;
	return container_of(way->next, struct order_item, at_server);
}

struct order_item *
order_session_next(struct order_session *session, unsigned server)
{
	struct order_link *link = order_link_of(session, server);
	struct order_item *item;

	if (session->error != 0 || link->is != ORDER_LINK_GOES)
		return NULL;
	item = order_sequencer_next(&session->sequencer, server);
	link->in_flight += item != NULL;
	return item;
}

void
order_session_answered(struct order_session *session, unsigned server, struct order_item *item, uint32_t epoch,
    int error, uint32_t left)
{
	struct order_link *link = order_link_of(session, server);

	link->in_flight--;
	if (session->error != 0)
		return;
	if (epoch != link->epoch) {
		order_session_cut_one(session, server);
		return;
	}
	if (error != 0) {
		order_session_begin_again(session, server, error, "it does not do a write, however often it is sent");
		return;
	}
	link->tries = 0;
	if (!order_sequencer_answered(&session->sequencer, item, left))
		order_session_fail(session, server, -EPROTO, "it has answered a flush before what it covers");
}

bool
order_session_is_well(const struct order_session *session)
{
	return all_are(session, ORDER_LINK_GOES);
}

/* ---- the end ---- */

static bool
all_have(const struct order_session *session, bool (*has)(const struct order_link *link))
{
	for (unsigned i = 0; i < session->servers; i++)
		if (!has(&session->links[i]))
			return false;
	return true;
}

static bool knows(const struct order_link *link) { return link->last_told; }
static bool forgot(const struct order_link *link) { return link->forgot; }

/* By being listed. */
static void
stop_those_that_go(struct order_session *session)
{
	for (unsigned server = 0; server < session->servers; server++) {
		const struct order_link *link = &session->links[server];

		if (link->is == ORDER_LINK_GOES || link->is == ORDER_LINK_READY)
			order_link_enter(session, server, ORDER_LINK_LISTS);
	}
}

void
order_session_end_on(struct order_session *session)
{
	if (session->ending == ORDER_ENDS_TELLING && all_have(session, knows))
		session->ending = ORDER_ENDS_FORGETTING;
	if (session->ending == ORDER_ENDS_FORGETTING)
		stop_those_that_go(session);
	if (session->ending == ORDER_ENDS_FORGETTING && all_have(session, forgot))
		session->ending = ORDER_ENDS_OVER;
}

void
order_session_end(struct order_session *session)
{
	assert(session->begun ? list_empty(&session->sequencer.held) : order_session_is_ready(session));
	session->ending = ORDER_ENDS_TELLING;
	/* Where the host was gone, each cut was a floor. */
	for (unsigned server = 0; !session->begun && server < session->servers; server++)
		session->links[server].last_told = true;
	order_session_end_on(session);
}
