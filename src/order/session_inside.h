/* session_inside.h - what session.c and session_talk.c share: steps of a session. */
#ifndef WEIR_ORDER_SESSION_INSIDE_H
#define WEIR_ORDER_SESSION_INSIDE_H

#include <assert.h>

#include "order/session.h"

static inline struct order_link *
order_link_of(struct order_session *session, unsigned server)
{
	assert(server < session->servers);
	return &session->links[server];
}

/* What is in flight there is not heard any more. */
void order_link_enter(struct order_session *session, unsigned server, enum order_link_is is);

/* It has failed for good, if it has not before; as of struct order_session. */
void order_session_fail(struct order_session *session, unsigned server, int error, const char *why);

/* From the list on; not at once, and not for ever, where that goes wrong each time: then for that reason. */
void order_session_begin_again(struct order_session *session, unsigned server, int error, const char *why);

/* A server was listed: as the host was gone, all are cut, once all of them were; or as that one was lost. */
void order_session_cut_all(struct order_session *session);
void order_session_cut_one(struct order_session *session, unsigned server);

/* It was cut, and its term is known. */
void order_session_go_on(struct order_session *session, unsigned server);

/* If it ends: what comes next, where a server has done what it was told of that, or goes again. */
void order_session_end_on(struct order_session *session);

#endif
