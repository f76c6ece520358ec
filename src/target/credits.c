/*
 * credits.c - what a host is told, with the end of an I/O, of how many may be under way (doc/extension.md, CREDITS).
 */
#include "target/command.h"
#include "wire/extension.h"

enum { AGAIN_NS = WEIR_CREDITS_MS / 4 * 1000000 };

static bool
knows(const struct conn *conn, uint32_t nsid, uint16_t credits)
{
	return conn->told.nsid == nsid && conn->told.credits == credits &&
	    conn->core->reactor->now_ns - conn->told.ns < AGAIN_NS;
}

void
credits_tell(struct request *req)
{
	struct conn *conn = req->conn;
	uint32_t nsid = le32_get(req->sqe.nsid);
	uint16_t credits = req->io.credits;

	req->io.credits = 0;
	if (!conn->credits || (req->io.op == BLK_READ && knows(conn, nsid, credits)))
		return;
	req->xfer.dw1 = credits;
	conn->told.nsid = nsid;
	conn->told.credits = credits;
	conn->told.ns = conn->core->reactor->now_ns;
}
