/* session_talk.c - what a session asks its servers, LIST, CUT and FLOOR, and what their answers mean. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "order/session_inside.h"

/* That a cut may make: that something is being taken back, and that it was. */
enum { CUT_MARKS = 2 };

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

static void
floor_command(const struct order_session *session, uint32_t floor, uint32_t flags, struct nvme_sqe *sqe)
{
	*sqe = (struct nvme_sqe){
		.opcode = WEIR_ADMIN_FLOOR, .cdw10 = le32_of(session->stream), .cdw11 = le32_of(floor),
		.cdw12 = le32_of(flags), .cdw13 = le32_of(session->holder),
	};
}

/* All that there is of it is durable. */
static uint32_t
last_floor(const struct order_session *session)
{
	return session->begun ? session->sequencer.durable : session->there;
}

static enum order_asked
ask_floor(struct order_session *session, unsigned server, struct nvme_sqe *sqe)
{
	const struct order_way *way = &session->sequencer.ways[server];
	struct order_link *link = order_link_of(session, server);
	bool tells = link->tells && way->next == &way->items;
	uint32_t floor;

	link->tells = false;
	if (session->ending != ORDER_ENDS_NOT) {
		floor_command(session, last_floor(session), 0, sqe);
		return link->last_told ? ORDER_ASKED_NOTHING : ORDER_ASKED_LAST;
	}
	if (!tells || !order_sequencer_floor(&session->sequencer, server, &floor))
		return ORDER_ASKED_NOTHING;
	floor_command(session, floor, 0, sqe);
	return ORDER_ASKED_FLOOR;
}

static enum order_asked
choose_question(struct order_session *session, unsigned server, struct nvme_sqe *sqe, uint32_t *bytes)
{
	struct order_link *link = order_link_of(session, server);

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
		return ask_floor(session, server, sqe);
	case ORDER_LINK_ENDS:
		floor_command(session, last_floor(session), WEIR_FLOOR_ENDS, sqe);
		return ORDER_ASKED_END;
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
	struct order_link *link = order_link_of(session, server);

	if (session->error != 0 || link->asked != ORDER_ASKED_NOTHING || link->rests || link->forgot)
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
	if (order_link_of(session, server)->taken && whose != 0 && whose != session->holder)
		order_session_fail(session, server, -ESTALE, "somebody else has gone on with the stream");
	return session->error != 0;
}

/* Whether the stream is still ours there, in the log that we know. */
static bool
is_ours(struct order_session *session, unsigned server)
{
	const struct order_link *link = order_link_of(session, server);
	const struct weir_list_head *head = &link->listing.head;
	bool lost = (le32_get(head->flags) & WEIR_LIST_LOST) != 0 && session->ending != ORDER_ENDS_FORGETTING;

	if (lost && !session->force)
		order_session_fail(session, server, -EIO, "entries of the stream are lost there");
	else if (!link->known)
		return true;
	else if (memcmp(link->log, head->log, sizeof(link->log)) != 0)
		order_session_fail(session, server, -EIO, "it has another log than it had");
	else if ((le32_get(head->flags) & WEIR_LIST_NEW) != 0 && !link->was_new)
		order_session_fail(session, server, -EIO, "its log knows nothing of the stream any more");
	else if ((uint16_t)(le16_get(head->term) - link->term) > link->slack)
		order_session_fail(session, server, -ESTALE, "somebody else has gone on with the stream");
	return session->error == 0;
}

static void
heard_end(struct order_session *session, unsigned server, enum order_asked asked)
{
	struct order_link *link = order_link_of(session, server);

	link->tries = 0;
	link->last_told = true;
	link->forgot = asked == ORDER_ASKED_END;
	order_session_end_on(session);
}

/* It is no more; else it has stopped, and may be told to forget it, whatever there is of it. */
static void
listed_to_end(struct order_session *session, unsigned server, const uint8_t *page)
{
	struct order_link *link = order_link_of(session, server);
	struct weir_list_head *head = &link->listing.head;

	memcpy(head, page, sizeof(*head));
	if ((le32_get(head->flags) & WEIR_LIST_NEW) != 0)
		heard_end(session, server, ORDER_ASKED_END);
	else if ((le32_get(head->flags) & WEIR_LIST_STOPPED) == 0)
		order_session_begin_again(session, server, -EPROTO, "the stream was to stop, and has not");
	else if (is_ours(session, server))
		link->is = ORDER_LINK_ENDS;
}

static void
listed(struct order_session *session, unsigned server, const uint8_t *page)
{
	struct order_link *link = order_link_of(session, server);
	const char *wrong;

	if (is_taken(session, server, page))
		return;
	link->taken = true;
	if (session->ending == ORDER_ENDS_FORGETTING) {
		listed_to_end(session, server, page);
		return;
	}
	wrong = order_listing_take(&link->listing, session->stream, page);
	if (wrong != NULL) {
		order_session_begin_again(session, server, -EPROTO, wrong);
		return;
	}
	if (!is_ours(session, server) || !order_listing_is_whole(&link->listing))
		return;
	link->is = ORDER_LINK_LISTED;
	if (session->begun)
		order_session_cut_one(session, server);
	else
		order_session_cut_all(session);
}

static void
have_term(struct order_session *session, unsigned server, const uint8_t *page)
{
	struct order_link *link = order_link_of(session, server);
	struct weir_list_head head;

	if (is_taken(session, server, page))
		return;
	memcpy(&head, page, sizeof(head));
	if ((le32_get(head.flags) & WEIR_LIST_STOPPED) != 0) {
		order_session_begin_again(session, server, -ESTALE, "it stops the stream again and again");
		return;
	}
	link->term = le16_get(head.term);
	link->slack = 0;
	link->was_new = false;
	link->is = ORDER_LINK_READY;
	if (session->begun)
		order_session_go_on(session, server);
	order_session_end_on(session);
}

static void
refused(struct order_session *session, unsigned server, enum order_asked asked, struct nvme_status status)
{
	enum nvme_sc sc = nvme_sc(status);

	if (asked == ORDER_ASKED_CUT && (sc == NVME_SC_SEQUENCE || sc == NVME_SC_DENIED))
		order_link_of(session, server)->slack -= CUT_MARKS; /* it has made none */
	if (asked == ORDER_ASKED_CUT && sc == NVME_SC_DENIED)
		order_session_fail(session, server, -EIO, "entries of the stream are lost there");
	else if (asked == ORDER_ASKED_LIST && status.dnr && sc == NVME_SC_INVALID_OPCODE)
		order_session_fail(session, server, -EOPNOTSUPP, "it has no ordered writes");
	else
		order_session_begin_again(session, server, nvme_status_errno(status),
		    "it refuses to go on with the stream");
}

void
order_session_told(struct order_session *session, unsigned server, bool lost, struct nvme_status status,
    uint32_t dw0, const uint8_t *page)
{
	struct order_link *link = order_link_of(session, server);
	enum order_asked asked = (enum order_asked)link->asked;

	assert(asked != ORDER_ASKED_NOTHING);
	link->asked = ORDER_ASKED_NOTHING;
	if (link->asked_epoch != link->epoch || session->error != 0 || asked == ORDER_ASKED_FLOOR)
		return;
	if (lost) {
		order_session_begin_again(session, server, -ECONNRESET, "its connections are lost again and again");
	} else if (!nvme_ok(status)) {
		refused(session, server, asked, status);
	} else if (asked == ORDER_ASKED_LIST) {
		listed(session, server, page);
	} else if (asked == ORDER_ASKED_CUT) {
		link->last = dw0;
		link->is = ORDER_LINK_CUT;
	} else if (asked == ORDER_ASKED_HEAD) {
		have_term(session, server, page);
	} else {
		heard_end(session, server, asked);
	}
}
