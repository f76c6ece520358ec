/*
 * session.h - a stream at its host, and its servers: what each of them is asked and sent next, and what its answer
 * means.  (doc/ordered-writes.md, Recovery; doc/extension.md, ORDER)
 *
 * It begins with all that is to be done where a host was gone: the lists of all servers, the last group p that is
 * there, and a cut at p everywhere.  Then the stream goes on behind p, and a server that was lost is listed, cut and
 * sent again what it lacks, by itself, as often as that happens.
 *
 * Between it and a server there is a *link*, which comes and goes: a queue of a controller that knows ORDER, and that
 * controller's admin queue.  Both are the caller's, as are clocks: it says what has become of them, and asks what is to
 * be done after whatever it has told.  A LIST that stops the stream is what a FENCE would be: what a lost queue has on
 * its way finds the stream stopped, and then going on by another queue, and is refused.
 *
 * The first list of each server *takes* the stream there: the server then refuses what any other holder asks of it
 * but to take it in turn, and tells that one whose it is now.  So what was listed is what is cut, and of two that would
 * have it at once one has it at most: who is not the last to take it at some server hears so.
 *
 * One thread.  Memory is the caller's.
 */
#ifndef WEIR_ORDER_SESSION_H
#define WEIR_ORDER_SESSION_H

#include "order/listing.h"
#include "order/sequencer.h"

enum order_link_is {
	ORDER_LINK_AWAY,    /* there is no connection */
	ORDER_LINK_LISTS,   /* the stream is to stop there, and to be listed */
	ORDER_LINK_LISTED,  /* it is; what is in flight is waited for, or other servers are */
	ORDER_LINK_CUTS,    /* it is to be cut */
	ORDER_LINK_CUT,     /* it was; it is asked which term that has made */
	ORDER_LINK_READY,   /* and has one; other servers are waited for */
	ORDER_LINK_GOES,
	ORDER_LINK_ENDS,    /* it was stopped, and is to forget the stream */
};

enum order_asked {
	ORDER_ASKED_NOTHING, ORDER_ASKED_LIST, ORDER_ASKED_CUT, ORDER_ASKED_HEAD,
	ORDER_ASKED_FLOOR, /* that is told now and then, */
	ORDER_ASKED_LAST,  /* the last one, */
	ORDER_ASKED_END,   /* and to forget the stream */
};

struct order_link {
	struct order_listing listing;
	uint32_t cut, last;        /* groups: where it is cut, and what it has then */
	uint32_t epoch;            /* what was sent in another one is not heard any more */
	uint32_t in_flight;        /* of all epochs */
	uint32_t asked_epoch;
	uint16_t qid;
	uint16_t term, slack;      /* the stream's there, and what our own unheard cuts may have added; once `known` */
	uint8_t log[16];           /* UUID */
	uint8_t is, asked;
	uint8_t tries;             /* without anything that went well */
	bool taken;                /* by us */
	bool known;                /* p was decided, by this log with this term: */
	bool was_new;              /* there was nothing of the stream in it, and no cut has been heard of */
	bool rests;                /* until order_session_wake() */
	bool tells;                /* a floor by itself, when nothing goes there that does */
	bool last_told;            /* it knows that all is durable, */
	bool forgot;               /* and has forgotten the stream */
};

enum order_ending {
	ORDER_ENDS_NOT,
	ORDER_ENDS_TELLING,    /* each server the last floor, */
	ORDER_ENDS_FORGETTING, /* and when all of them know it, that nobody needs the stream any more; then it is */
	ORDER_ENDS_OVER,
};

enum { ORDER_TRIES_MAX = 16 };

struct order_session {
	struct order_sequencer sequencer; /* once it has begun */
	struct order_link links[ORDER_SERVERS_MAX];
	unsigned servers;
	uint16_t stream;
	uint32_t holder;           /* our number as one, that no other has; 0: none, and anybody may be it */
	bool force;                /* a stream of which some entries are lost is gone on with */
	bool decided;              /* p is known: */
	uint32_t there;
	bool begun;                /* there is a sequencer */
	uint8_t ending;            /* enum order_ending */
	int error;                 /* negative errno: it has failed for good, and nothing more is to be done; */
	const char *why;           /* in plain words, */
	unsigned failed;           /* at this server */
};

/* `entries` and `in_place` have room for `room` of each server, one after the other. */
void order_session_init(struct order_session *session, uint16_t stream, unsigned servers, uint32_t room,
    struct order_listed *entries, struct weir_list_entry *in_place);

/* A link came about, by that queue of a controller; or is gone, and all that was sent by it will end as lost. */
void order_session_joined(struct order_session *session, unsigned server, uint16_t qid);
void order_session_parted(struct order_session *session, unsigned server);

/* An admin command for that server, or false.  There is one of a server at a time.  `bytes`: of data to come. */
bool order_session_ask(struct order_session *session, unsigned server, struct nvme_sqe *sqe, uint32_t *bytes);

/* Its end: lost, or a status, and with success what it has brought. */
void order_session_told(struct order_session *session, unsigned server, bool lost, struct nvme_status status,
    uint32_t dw0, const uint8_t *page);

/* Some time has passed: what went wrong is tried again. */
void order_session_wake(struct order_session *session);
bool order_session_rests(const struct order_session *session);

/* A floor is not known where nothing goes that tells it; after a while it is told by itself. */
bool order_session_untold(const struct order_session *session);
void order_session_tell(struct order_session *session);

/* All servers have been cut at p.  What their listings have in place, of groups after p, was not taken back. */
bool order_session_is_ready(const struct order_session *session);

/* It is ready, and goes on: from here on there is a sequencer, to which writes are submitted. */
void order_session_go(struct order_session *session, const struct order_layout *layout, struct order_item *items,
    uint32_t count);

/* What is to be sent to that server next, or NULL. */
const struct order_item *order_session_waiting(const struct order_session *session, unsigned server);

/* It is sent, or NULL; with it goes `links[server].epoch`, to be handed back. */
struct order_item *order_session_next(struct order_session *session, unsigned server);

/*
 * It has ended: 0 and how many more entries the stream may have there; -ECONNRESET: its connection was lost; another
 * negative errno: the server has not done it.
 */
void order_session_answered(struct order_session *session, unsigned server, struct order_item *item, uint32_t epoch,
    int error, uint32_t left);

/*
 * It is ready, or goes on and all that was submitted is durable, and nobody needs it any more: as soon as all servers
 * know that all is durable, each is to forget it.  Nothing is submitted from here on.  A host that is gone before it is
 * over, or gives up, has lost nothing: whoever goes on with the stream finds all of it.
 */
void order_session_end(struct order_session *session);

/* All servers go. */
bool order_session_is_well(const struct order_session *session);

#endif
