#include "order/session.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "order/group.h"

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

/* That a cut may make: that something is being taken back, and that it was. */
enum { CUT_MARKS = 2 };

/* ---- what goes wrong ---- */

static void
fail(struct order_session *session, unsigned server, int error, const char *why)
{
	if (session->error != 0)
		return;
	session->error = error;
	session->why = why;
	session->failed = server;
}

static struct order_link *
link_of(struct order_session *session, unsigned server)
{
	assert(server < session->servers);
	return &session->links[server];
}

/* What is in flight there is not heard any more. */
static void
enter(struct order_session *session, unsigned server, enum order_link_is is)
{
	struct order_link *link = link_of(session, server);

	if (link->is == ORDER_LINK_GOES) {
		order_sequencer_down(&session->sequencer, server);
		link->epoch++;
	}
	if (is == ORDER_LINK_LISTS)
		order_listing_begin(&link->listing);
	link->is = (uint8_t)is;
}

/* From the list on; not at once, and not for ever, where that goes wrong each time. */
static void
begin_again(struct order_session *session, unsigned server, int error, const char *why)
{
	struct order_link *link = link_of(session, server);

	if (link->is == ORDER_LINK_AWAY)
		return;
	enter(session, server, ORDER_LINK_LISTS);
	link->rests = link->tries > 0;
	if (++link->tries > ORDER_TRIES_MAX)
		fail(session, server, error, why);
}

/* ---- links ---- */

void
order_session_joined(struct order_session *session, unsigned server, uint16_t qid)
{
	struct order_link *link = link_of(session, server);

	assert(link->is == ORDER_LINK_AWAY);
	link->qid = qid;
	enter(session, server, ORDER_LINK_LISTS);
}

void
order_session_parted(struct order_session *session, unsigned server)
{
	struct order_link *link = link_of(session, server);

	enter(session, server, ORDER_LINK_AWAY);
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
				fail(session, i, -EINVAL, "it has the same log as another server of the stream");
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

static void
cut_all(struct order_session *session)
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
static void
cut_one(struct order_session *session, unsigned server)
{
	struct order_link *link = link_of(session, server);
	struct order_list list;
	struct order_there there;

	if (link->is != ORDER_LINK_LISTED || link->in_flight > 0)
		return;
	list = order_listing_list(&link->listing);
	there = order_server_prefix(&list);
	if (order_above(there.group, session->sequencer.group))
		fail(session, server, -EPROTO, "it lists groups that were never written");
	else if (!order_sequencer_cut(&session->sequencer, server, &there, &link->cut))
		fail(session, server, -EIO, "it has lost what was durable");
	else
		link->is = ORDER_LINK_CUTS;
}

static void
go_on(struct order_session *session, unsigned server)
{
	struct order_link *link = link_of(session, server);

	order_sequencer_up(&session->sequencer, server, link->last, le32_get(link->listing.head.guaranteed));
	link->is = ORDER_LINK_GOES;
	/* Else the next answer to a write says that all is well. */
	if (session->sequencer.ways[server].next == &session->sequencer.ways[server].items)
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
		go_on(session, server);
}

/* ---- what is asked ---- */

static void
cut_command(struct order_session *session, struct order_link *link, struct nvme_sqe *sqe)
{
	uint32_t flags = (session->begun ? 0 : WEIR_CUT_GONE) | (session->force ? WEIR_CUT_FORCE : 0);

	*sqe = (struct nvme_sqe){
		.opcode = WEIR_ADMIN_CUT, .cdw10 = le32_of(session->stream | (uint32_t)link->qid << 16),
		.cdw11 = le32_of(link->cut), .cdw12 = le32_of(flags), .cdw13 = le32_of(session->holder),
	};
	/* It may be done though nobody hears of it. */
	link->slack += CUT_MARKS;
}

static bool
ask_floor(struct order_session *session, unsigned server, struct nvme_sqe *sqe)
{
	const struct order_way *way = &session->sequencer.ways[server];
	struct order_link *link = link_of(session, server);
	bool tells = link->tells && way->next == &way->items;
	uint32_t floor;

	link->tells = false;
	if (!tells || !order_sequencer_floor(&session->sequencer, server, &floor))
		return false;
	*sqe = (struct nvme_sqe){
		.opcode = WEIR_ADMIN_FLOOR, .cdw10 = le32_of(session->stream), .cdw11 = le32_of(floor),
		.cdw13 = le32_of(session->holder),
	};
	return true;
}

static enum order_asked
choose_question(struct order_session *session, unsigned server, struct nvme_sqe *sqe, uint32_t *bytes)
{
	struct order_link *link = link_of(session, server);

	*bytes = 0;
	switch ((enum order_link_is)link->is) {
	case ORDER_LINK_LISTS:
		order_listing_ask(&link->listing, session->stream, session->holder, !link->taken, sqe);
		*bytes = ORDER_LISTING_BYTES;
		return ORDER_ASKED_LIST;
	case ORDER_LINK_CUTS:
		cut_command(session, link, sqe);
		return ORDER_ASKED_CUT;
	case ORDER_LINK_CUT:
		order_listing_ask_head(session->stream, sqe);
		*bytes = sizeof(struct weir_list_head);
		return ORDER_ASKED_HEAD;
	case ORDER_LINK_GOES:
		return ask_floor(session, server, sqe) ? ORDER_ASKED_FLOOR : ORDER_ASKED_NOTHING;
	case ORDER_LINK_AWAY:
	case ORDER_LINK_LISTED:
	case ORDER_LINK_READY:
		break;
	}
	return ORDER_ASKED_NOTHING;
}

bool
order_session_ask(struct order_session *session, unsigned server, struct nvme_sqe *sqe, uint32_t *bytes)
{
	struct order_link *link = link_of(session, server);

	if (session->error != 0 || link->asked != ORDER_ASKED_NOTHING || link->rests)
		return false;
	link->asked = (uint8_t)choose_question(session, server, sqe, bytes);
	link->asked_epoch = link->epoch;
	return link->asked != ORDER_ASKED_NOTHING;
}

/* ---- what is answered ---- */

/* Of a server that was restarted nobody has told that yet: then it is only the term that says so. */
static bool
is_taken(struct order_session *session, unsigned server, const uint8_t *page)
{
	struct weir_list_head head;
	uint32_t whose;

	memcpy(&head, page, sizeof(head));
	whose = le32_get(head.holder);
	if (link_of(session, server)->taken && whose != 0 && whose != session->holder)
		fail(session, server, -ESTALE, "somebody else has gone on with the stream");
	return session->error != 0;
}

/* Whether the stream is still ours there, in the log that we know. */
static bool
is_ours(struct order_session *session, unsigned server)
{
	const struct order_link *link = link_of(session, server);
	const struct weir_list_head *head = &link->listing.head;

	if (!session->force && (le32_get(head->flags) & WEIR_LIST_LOST) != 0)
		fail(session, server, -EIO, "entries of the stream are lost there");
	else if (!link->known)
		return true;
	else if (memcmp(link->log, head->log, sizeof(link->log)) != 0)
		fail(session, server, -EIO, "it has another log than it had");
	else if ((le32_get(head->flags) & WEIR_LIST_NEW) != 0 && !link->was_new)
		fail(session, server, -EIO, "its log knows nothing of the stream any more");
	else if ((uint16_t)(le16_get(head->term) - link->term) > link->slack)
		fail(session, server, -ESTALE, "somebody else has gone on with the stream");
	return session->error == 0;
}

static void
listed(struct order_session *session, unsigned server, const uint8_t *page)
{
	struct order_link *link = link_of(session, server);
	const char *wrong;

	if (is_taken(session, server, page))
		return;
	link->taken = true;
	wrong = order_listing_take(&link->listing, session->stream, page);
	if (wrong != NULL) {
		begin_again(session, server, -EPROTO, wrong);
		return;
	}
	if (!is_ours(session, server) || !order_listing_is_whole(&link->listing))
		return;
	link->is = ORDER_LINK_LISTED;
	if (session->begun)
		cut_one(session, server);
	else
		cut_all(session);
}

static void
have_term(struct order_session *session, unsigned server, const uint8_t *page)
{
	struct order_link *link = link_of(session, server);
	struct weir_list_head head;

	if (is_taken(session, server, page))
		return;
	memcpy(&head, page, sizeof(head));
	if ((le32_get(head.flags) & WEIR_LIST_STOPPED) != 0) {
		begin_again(session, server, -ESTALE, "it stops the stream again and again");
		return;
	}
	link->term = le16_get(head.term);
	link->slack = 0;
	link->was_new = false;
	link->is = ORDER_LINK_READY;
	if (session->begun)
		go_on(session, server);
}

static void
refused(struct order_session *session, unsigned server, enum order_asked asked, struct nvme_status status)
{
	enum nvme_sc sc = nvme_sc(status);

	if (asked == ORDER_ASKED_CUT && (sc == NVME_SC_SEQUENCE || sc == NVME_SC_DENIED))
		link_of(session, server)->slack -= CUT_MARKS; /* it has made none */
	if (asked == ORDER_ASKED_CUT && sc == NVME_SC_DENIED)
		fail(session, server, -EIO, "entries of the stream are lost there");
	else if (asked == ORDER_ASKED_LIST && status.dnr && sc == NVME_SC_INVALID_OPCODE)
		fail(session, server, -EOPNOTSUPP, "it has no ordered writes");
	else
		begin_again(session, server, nvme_status_errno(status), "it refuses to go on with the stream");
}

void
order_session_told(struct order_session *session, unsigned server, bool lost, struct nvme_status status,
    uint32_t dw0, const uint8_t *page)
{
	struct order_link *link = link_of(session, server);
	enum order_asked asked = (enum order_asked)link->asked;

	assert(asked != ORDER_ASKED_NOTHING);
	link->asked = ORDER_ASKED_NOTHING;
	if (link->asked_epoch != link->epoch || session->error != 0 || asked == ORDER_ASKED_FLOOR)
		return;
	if (lost) {
		begin_again(session, server, -ECONNRESET, "its connections are lost again and again");
	} else if (!nvme_ok(status)) {
		refused(session, server, asked, status);
	} else if (asked == ORDER_ASKED_LIST) {
		listed(session, server, page);
	} else if (asked == ORDER_ASKED_CUT) {
		link->last = dw0;
		link->is = ORDER_LINK_CUT;
	} else if (asked == ORDER_ASKED_HEAD) {
		have_term(session, server, page);
	}
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
	struct order_link *link = link_of(session, server);
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
	struct order_link *link = link_of(session, server);

	link->in_flight--;
	if (session->error != 0)
		return;
	if (epoch != link->epoch) {
		cut_one(session, server);
		return;
	}
	if (error != 0) {
		begin_again(session, server, error, "it does not do a write, however often it is sent");
		return;
	}
	link->tries = 0;
	if (!order_sequencer_answered(&session->sequencer, item, left))
		fail(session, server, -EPROTO, "it has answered a flush before what it covers");
}

bool
order_session_is_well(const struct order_session *session)
{
	return all_are(session, ORDER_LINK_GOES);
}
