/*
 * order_session_bench.h - a host's session and its servers: src/order at both ends, and between them commands as they
 * travel.
 *
 * Blocks have four bytes and are written once.  Servers have one drive each, which keeps what it answered or not, and
 * lose nothing; connections, writes and hosts are lost as a test says.
 */
#ifndef WEIR_TESTS_ORDER_SESSION_BENCH_H
#define WEIR_TESTS_ORDER_SESSION_BENCH_H

#include "base/rng.h"
#include "order/cut.h"
#include "order/session.h"

enum { SEED = 0x5eed };
enum {
	SESS_SERVERS = 3, SESS_SLOTS = ORDER_SLOTS_LEAST, SESS_BLOCKS = 256, SESS_ALL = SESS_SERVERS * SESS_BLOCKS,
	SESS_ITEMS = 256, SESS_FLIGHTS = 128, SESS_STREAM = 9, SESS_QID = 3, SESS_NSID = 1,
};

/* A command on its way: there, at the server, or back. */
struct sess_flight {
	enum sess_flight_is { SESS_FREE, SESS_THERE, SESS_ARRIVED, SESS_BACK, SESS_LOST } is;
	struct order_item *item;
	unsigned server;
	uint32_t epoch, serial; /* of the connection */
	uint64_t number;        /* in the order in which they were sent */
	struct nvme_sqe sqe;
	uint32_t values[ORDER_TOGETHER_MAX * 8];
	struct order_write write;
	int error;
};

struct sess_server {
	struct order_serve serve;
	struct order_image slots[SESS_SLOTS];
	struct order_slot states[SESS_SLOTS];
	uint8_t is[SESS_SLOTS];
	uint32_t words[SESS_SLOTS];
	struct order_served stream;
	struct order_cut cut;
	struct order_known known[SESS_SLOTS];
	struct order_listed room[SESS_SLOTS];
	uint32_t media[SESS_BLOCKS];
	uint32_t known_count;
	struct order_stream read;
	uint16_t qid;           /* by which the stream goes on */
	uint32_t serial;        /* and whose connection that is of */
	bool keeps, cutting;
	uint8_t log;            /* of its UUID */
	uint32_t holder;        /* that has the stream; 0: none */
	bool forgot;            /* it was told to forget the stream, */
	bool remembers;         /* and its log has something of it for a while */

	bool linked;            /* what the host has: */
	uint32_t link_serial;
	bool asked;             /* a question is under way, */
	uint32_t asked_serial;
	struct nvme_sqe question;
};

struct sess_bench {
	struct rng rng;
	struct order_session session;
	struct sess_server servers[SESS_SERVERS];
	struct sess_flight flights[SESS_FLIGHTS];
	struct order_member members[SESS_SERVERS];
	struct order_layout layout;
	struct order_item items[SESS_ITEMS];
	struct order_listed entries[SESS_SERVERS * SESS_SLOTS];
	struct weir_list_entry in_place[SESS_SERVERS * SESS_SLOTS];
	uint64_t sent;
	uint32_t serials, hosts;
	unsigned fails;         /* so many of a hundred writes fail at a drive */
	bool deaf;              /* what is answered is not heard */
	uint64_t next;          /* the first block that nobody has written */
	uint32_t value;
	uint32_t values[SESS_ALL], groups[SESS_ALL];
	uint32_t durable;       /* the last group that was told so */
};

/* `keeps`: bits, by servers.  A host begins, and nothing is linked. */
struct sess_bench *sess_begin(uint64_t seed, unsigned servers, unsigned keeps);

/* The host is gone, and another one begins. */
void sess_host(struct sess_bench *bench);

void sess_join(struct sess_bench *bench, unsigned server);
void sess_lose(struct sess_bench *bench, unsigned server);

/* A write of so many blocks that nobody has written; false: there is no room for it now. */
bool sess_submit(struct sess_bench *bench, uint32_t blocks, unsigned flags);

/* Something goes on, by chance; and all, until nothing does. */
void sess_step(struct sess_bench *bench);
void sess_settle(struct sess_bench *bench);

/* Of what was submitted all up to that group is there, and nothing that came after it. */
void sess_hold(const struct sess_bench *bench, uint32_t group);

/* The session is ready, and goes on. */
void sess_go(struct sess_bench *bench);

/* All servers are linked; a host has begun, and goes on; all that it has submitted becomes durable, and is there. */
void sess_join_all(struct sess_bench *bench);
struct sess_bench *sess_started(uint64_t seed, unsigned servers, unsigned keeps);
void sess_finish(struct sess_bench *bench);

/* ---- order_session_server.c ---- */

/* It knows no stream. */
void sess_new(struct sess_server *server);

/* All that it can do by itself is done; a cut goes on, and whether it is over. */
void sess_turn(struct sess_bench *bench, struct sess_server *server);
bool sess_cut_on(struct sess_server *server);

/* What has come to it; false: it is answered later, and to be asked about again. */
void sess_arrive(struct sess_bench *bench, struct sess_flight *flight);
bool sess_do_question(struct sess_bench *bench, unsigned server);

/* It is done, if it was a floor, and its answer is lost. */
void sess_lose_answer(struct sess_bench *bench, unsigned server);

#endif
