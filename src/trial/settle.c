/*
 * settle.c - when can nothing of a host come any more at a target?
 *
 * What a host has sent comes by connections that it has made, as long as the target has them open; and what has come
 * may be at a device until its connection, closed, has been given back.  So what is unknown is settled when the target
 * has none of those left that it had then; a host that comes again has other ones, from later ports.  The death of the
 * target's process settles all at once: what is on its way to it finds nobody.
 */
#include <stdlib.h>
#include <string.h>

#include "target/conn.h"
#include "trial/internal.h"

/* From which port of the host it comes; false: it is closed, or of another host. */
static bool
comes_from(const struct conn *conn, const struct user *user, uint16_t *port)
{
	size_t length = strlen(user->address);
	char peer[80];

	if (conn->stream == NULL)
		return false;
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	if (strncmp(peer, user->address, length) != 0 || peer[length] != ':')
		return false;
	*port = (uint16_t)strtoul(peer + length + 1, NULL, 10);
	return true;
}

/* It is closed, and some of its commands are at a device, or wait. */
static bool
is_going(const struct conn *conn, const struct user *user)
{
	return conn->stream == NULL && strcmp(conn->hostnqn, user->nqn) == 0;
}

static bool
not_after(uint16_t port, uint16_t mark)
{
	return (uint16_t)(mark - port) < 0x8000; /* they begin anew some day */
}

/* Before the first reactor of a life has begun there are no connections. */
static bool
is_there(const struct served *served)
{
	return sim_process_running(served->process) && served->started > 0;
}

/* Calls `each` until it answers true, and whether one did. */
static bool
any_conn(const struct served *served, bool (*each)(const struct conn *conn, const struct user *user,
    struct unsettled *unsettled), const struct user *user, struct unsettled *unsettled)
{
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_TARGET_REACTORS); i++) {
		struct core *core = served->target->cores[i];

		if (core == NULL)
			continue;
		list_for_each(&core->conns, node)
			if (each(container_of(node, struct conn, node), user, unsettled))
				return true;
	}
	return false;
}

static bool
mark(const struct conn *conn, const struct user *user, struct unsettled *unsettled)
{
	uint16_t port;

	if (comes_from(conn, user, &port) && (!unsettled->any || not_after(unsettled->port, port))) {
		unsettled->any = true;
		unsettled->port = port;
	}
	return false;
}

void
settle_wait(struct served *served, const struct user *user)
{
	struct unsettled *unsettled = &served->unsettled[user->index];

	unsettled->waits = true;
	if (is_there(served))
		any_conn(served, mark, user, unsettled);
	else
		settle_all(served);
}

static bool
is_left(const struct conn *conn, const struct user *user, struct unsettled *unsettled)
{
	uint16_t port;

	return is_going(conn, user) ||
	    (unsettled->any && comes_from(conn, user, &port) && not_after(port, unsettled->port));
}

static bool
is_left_of(const struct conn *conn, const struct user *user, struct unsettled *unsettled)
{
	uint16_t port;

	return is_going(conn, user) || (comes_from(conn, user, &port) && port == unsettled->port);
}

bool
settle_is_left(const struct served *served, const struct user *user, uint16_t port)
{
	struct unsettled of = { .any = true, .port = port };

	return is_there(served) && any_conn(served, is_left_of, user, &of);
}

static void
settle(struct served *served, uint32_t host)
{
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++)
		history_settled(served->volumes[i].history, host);
	served->unsettled[host] = (struct unsettled){ 0 };
}

void
settle_look(struct served *served)
{
	for (uint32_t i = 0; i < trial_knob(served->trial, KNOB_HOSTS); i++)
		if (served->unsettled[i].waits && !(is_there(served) &&
		    any_conn(served, is_left, &served->trial->users[i], &served->unsettled[i])))
			settle(served, i);
}

void
settle_all(struct served *served)
{
	for (uint32_t i = 0; i < trial_knob(served->trial, KNOB_HOSTS); i++)
		if (served->unsettled[i].waits)
			settle(served, i);
}
