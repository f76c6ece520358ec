/*
 * fuzz_ordered.c - a stream of ordered writes at its host, and servers that answer anything to what they are asked:
 * what is told complete or durable never goes back, no list is longer than there is room for, and a stream that has
 * failed does nothing more.
 *
 * The input: steps, each a byte and what it takes of those behind it.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "order/group.h"
#include "order/session.h"

#include "fuzz.h"

enum { SERVERS = 2, ROOM = 40, ITEMS = 32, FLIGHTS = 16, BLOCKS = 1 << 16, STREAM = 5 };

enum step { LINK, PAGE, STATUS, LOST, WRITE, SEND, ANSWER, TIME, STEPS };

struct play {
	struct order_session session;
	struct order_listed entries[SERVERS * ROOM];
	struct weir_list_entry in_place[SERVERS * ROOM];
	struct order_item items[ITEMS];
	struct { struct order_item *item; uint32_t epoch; unsigned server; } flights[FLIGHTS];
	unsigned flight_count;
	bool linked[SERVERS], asked[SERVERS];
	uint32_t complete, durable;
	uint64_t lba;
	const uint8_t *in;
	size_t left;
};

static const struct order_member members[SERVERS] = { { 0, 1, 4, true }, { 1, 1, 4, false } };
static const struct order_layout layout = { members, SERVERS, SERVERS, 512, 4, BLOCKS };
static const char data[BLOCKS]; /* never looked at */

static uint8_t
byte(struct play *p)
{
	if (p->left == 0)
		return 0;
	p->left--;
	return *p->in++;
}

static void
answer(struct play *p, unsigned at, int error, uint32_t left)
{
	struct order_item *item = p->flights[at].item;
	uint32_t epoch = p->flights[at].epoch;
	unsigned server = p->flights[at].server;

	memmove(&p->flights[at], &p->flights[at + 1], (--p->flight_count - at) * sizeof(p->flights[0]));
	order_session_answered(&p->session, server, item, epoch, error, left);
}

static void
change_link(struct play *p, unsigned server)
{
	p->linked[server] = !p->linked[server];
	if (p->linked[server]) {
		order_session_joined(&p->session, server, 1);
		return;
	}
	for (unsigned at = p->flight_count; at-- > 0;)
		if (p->flights[at].server == server)
			answer(p, at, -ECONNRESET, 0);
	order_session_parted(&p->session, server);
}

static void
told(struct play *p, unsigned server, enum step how)
{
	uint8_t page[ORDER_LISTING_BYTES] = { 0 }, bytes = how == PAGE ? byte(p) : 0, sc = how == STATUS ? byte(p) : 0;

	for (unsigned i = 0; i < bytes; i++)
		page[i] = byte(p);
	if (!p->asked[server])
		return;
	p->asked[server] = false;
	order_session_told(&p->session, server, how == LOST, nvme_status_of(sc & 0x7f, sc >> 7), byte(p), page);
}

static void
write_some(struct play *p, uint8_t how)
{
	unsigned flags = how & (ORDER_END | ORDER_DURABLE | ORDER_IN_PLACE);
	uint32_t blocks = 1 + (how >> 3 & 7), group;

	if (!p->session.begun || p->session.error != 0)
		return;
	if (how >> 6 == 3)
		order_sequencer_end(&p->session.sequencer, flags & ORDER_DURABLE);
	else if (how >> 6 == 2)
		(void)order_sequencer_flush(&p->session.sequencer, &group);
	else if (order_sequencer_submit(&p->session.sequencer, p->lba, blocks, data, (flags & ORDER_END) != 0 ? flags :
	    flags & ~(unsigned)ORDER_DURABLE, &group) == ORDER_TAKEN)
		p->lba = (p->lba + blocks) % BLOCKS;
}

static void
send(struct play *p, unsigned server)
{
	struct order_item *item;

	if (p->flight_count == FLIGHTS || !p->linked[server] || !p->session.begun)
		return;
	item = order_session_next(&p->session, server);
	assert(item == NULL || p->session.error == 0);
	if (item == NULL)
		return;
	p->flights[p->flight_count].item = item;
	p->flights[p->flight_count].epoch = p->session.links[server].epoch;
	p->flights[p->flight_count++].server = server;
}

static void
pass_time(struct play *p)
{
	order_session_wake(&p->session);
	if (p->session.begun)
		order_session_tell(&p->session);
	if (order_session_is_ready(&p->session))
		order_session_go(&p->session, &layout, p->items, ITEMS);
	if (p->session.begun && p->complete == 0)
		p->complete = p->durable = p->session.there;
}

static void
hold(struct play *p)
{
	const struct order_sequencer *sequencer = &p->session.sequencer;

	for (unsigned server = 0; server < SERVERS; server++) {
		const struct order_listing *listing = &p->session.links[server].listing;
		struct nvme_sqe sqe;
		uint32_t bytes;

		assert(listing->entry_count <= ROOM && listing->in_place_count <= ROOM);
		if (p->asked[server] || !p->linked[server])
			continue;
		p->asked[server] = order_session_ask(&p->session, server, &sqe, &bytes);
		assert(!p->asked[server] || (p->session.error == 0 && bytes <= ORDER_LISTING_BYTES));
	}
	assert((p->session.error == 0) == (p->session.why == NULL));
	if (!p->session.begun)
		return;
	assert(!order_after(p->complete, sequencer->complete) && !order_after(p->durable, sequencer->durable));
	assert(!order_after(sequencer->durable, sequencer->complete) && sequencer->free_count <= ITEMS);
	p->complete = sequencer->complete;
	p->durable = sequencer->durable;
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
	static struct play p;

	p = (struct play){ .in = in, .left = size };
	order_session_init(&p.session, STREAM, SERVERS, ROOM, p.entries, p.in_place);
	while (p.left > 0) {
		uint8_t what = byte(&p);
		unsigned server = what >> 3 & 1;

		switch ((enum step)(what % STEPS)) {
		case LINK: change_link(&p, server); break;
		case PAGE: case STATUS: case LOST: told(&p, server, (enum step)(what % STEPS)); break;
		case WRITE: write_some(&p, byte(&p)); break;
		case SEND: send(&p, server); break;
		case ANSWER:
			if (p.flight_count > 0)
				answer(&p, (what >> 4) % p.flight_count, what & 8 ? -EIO : 0, byte(&p));
			break;
		case TIME: pass_time(&p); break;
		case STEPS: break;
		}
		hold(&p);
	}
	return 0;
}
