/*
 * borrow.c - who is lent memory of a volume, and how long he may keep what others wait for.
 *
 * What is half sent and could not be copied keeps its blocks from who wants to
 * write them.  While nobody does, it may.  Then its peer has to get on: who has
 * taken little before has some milliseconds, and each byte that he took earns him
 * more, so that keeping others waiting costs taking as much.  Who does not is
 * lent nothing for a while, nor is his host on its other connections, which are
 * many as a rule: what they read is copied first, into memory of a share of its own.
 */
#include "target/conn.h"

enum {
	STILL_NS = 20000000,       /* so long may who has earned nothing (conn_earned_ns()) take nothing more, */
	KEPT_NS = 1000000000,      /* so long anybody, and so long may all of it take */
	REFUSED_BYTES = 64 * 1024 * 1024, /* who was refused is lent again when he has taken so much, */
};

static const uint64_t refused_ns = UINT64_C(60) * 1000 * 1000 * 1000; /* or on a connection after that */

bool
borrow_is_over(struct conn *conn, const struct request *req)
{
	uint64_t now = conn->core->reactor->now_ns;

	if (!req->chan->blk->ops->wanted(req->chan, &req->io)) {
		conn->lend_since_ns = 0;
		return false;
	}
	if (conn->lend_since_ns == 0 || conn->lend_moved != conn->tx_bytes) {
		conn->lend_moved = conn->tx_bytes;
		conn->lend_moved_ns = now;
	}
	if (conn->lend_since_ns == 0)
		conn->lend_since_ns = now;
	return now - conn->lend_since_ns >= KEPT_NS || now - conn->lend_moved_ns >= STILL_NS + conn_earned_ns(conn);
}

static struct borrow_host *
find(const struct conn *conn)
{
	struct borrow *borrow = &conn->core->borrow;

	for (unsigned i = 0; i < BORROW_HOSTS; i++)
		if (borrow->hosts[i].until_ns > conn->core->reactor->now_ns &&
		    memcmp(borrow->hosts[i].hostid, conn->hostid, sizeof(conn->hostid)) == 0)
			return &borrow->hosts[i];
	return NULL;
}

static void
refuse(struct conn *conn)
{
	conn->lent_nothing = true;
	conn->lend_from = conn->tx_bytes + REFUSED_BYTES;
}

void
borrow_begin(struct conn *conn)
{
	if (find(conn) != NULL)
		refuse(conn);
}

bool
borrow_may_again(struct conn *conn)
{
	conn->lent_nothing = conn->tx_bytes < conn->lend_from;
	return !conn->lent_nothing;
}

/* Its other connections are told once in that time. */
void
borrow_refuse(struct conn *conn)
{
	struct core *core = conn->core;
	struct borrow_host *host;

	if (find(conn) != NULL)
		return;
	host = &core->borrow.hosts[core->borrow.next++ % BORROW_HOSTS];
	memcpy(host->hostid, conn->hostid, sizeof(host->hostid));
	host->until_ns = core->reactor->now_ns + refused_ns;
	list_for_each(&core->conns, node) {
		struct conn *other = container_of(node, struct conn, node);

		if (other->qid != 0 && memcmp(other->hostid, conn->hostid, sizeof(conn->hostid)) == 0)
			refuse(other);
	}
}
