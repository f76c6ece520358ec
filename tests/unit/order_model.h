/*
 * order_model.h - ordered writes as a model: hosts of one stream each, servers with a log and drives, and wires between
 * them, in which whatever may happen next happens by chance, and everything can be lost at any time.
 *
 * What hosts and servers do is src/order; the model is what lies between and below.  It is one piece of memory at one
 * place, so that it can be put back to what it was.
 */
#ifndef WEIR_TESTS_ORDER_MODEL_H
#define WEIR_TESTS_ORDER_MODEL_H

#include "base/rng.h"
#include "order/cut.h"
#include "order/sequencer.h"
#include "order/serve.h"

enum {
	RIO_SERVERS = 2,
	RIO_PARTS = 2,        /* of its log */
	RIO_DRIVES = 2,       /* of a server */
	RIO_STREAMS = 2,
	RIO_BLOCKS = 64,      /* of a drive */
	RIO_SLOTS = ORDER_SLOTS_LEAST,
	SEED = 0x5eed, /* of the sums of its log */
	RIO_ITEMS = 48,
	RIO_WRITES = 600,     /* of a stream */
	RIO_RUN = 8,          /* blocks of a write, and of a command */
	RIO_REQUESTS = 48,
	RIO_WIRE = RIO_ITEMS,
	RIO_ALL = RIO_SERVERS * RIO_DRIVES * RIO_BLOCKS,
	RIO_NONE = -1,
	RIO_UNKNOWN = 0x7fffffff,
};

/* What a history is of. */
struct rio_plan {
	unsigned streams, servers, drives, parts;
	uint32_t stripe;
	bool keeps[RIO_DRIVES]; /* drives of each server */
	bool long_log;          /* the log goes round while it is watched */
	unsigned group_end, durable, in_place, joined; /* of 100 writes so many */
	unsigned depth;         /* of a wire */
};

/* ---- drives ---- */

struct rio_pending {
	uint8_t drive, block;
	uint32_t value;
	int16_t request;        /* of which it is; RIO_NONE: it has ended, or is one that takes back */
	int8_t taking_back;     /* a stream, or RIO_NONE */
	uint64_t ended;         /* the how many-th, or 0 */
};

/* ---- servers ---- */

struct rio_request {
	struct order_write write;
	struct order_item *item;
	uint32_t values[RIO_RUN * ORDER_TOGETHER_MAX];
	unsigned stream, epoch, drive;
	bool used, at_drive;
};

/* A part of a server's log, and the streams that have something in it. */
struct rio_part {
	struct order_serve serve;
	struct order_served streams[RIO_STREAMS];
	bool has[RIO_STREAMS];
	struct order_commit commit;
	uint32_t commit_words[RIO_SLOTS];
	uint64_t kept_hash;
	uint32_t words[RIO_SLOTS];
	struct order_slot states[RIO_SLOTS];
	uint8_t is[RIO_SLOTS];
	struct order_image slots[RIO_SLOTS], kept[RIO_SLOTS];
};

struct rio_server {
	struct rio_part parts[RIO_PARTS];
	unsigned home[RIO_STREAMS];               /* the part in which each goes on */
	struct rio_request requests[RIO_REQUESTS];
	uint32_t media[RIO_DRIVES][RIO_BLOCKS];
	struct rio_pending pending[512];
	unsigned pending_count;
	uint64_t ended, flush_of[RIO_STREAMS]; /* what had ended when a flush began; 0: there is none */
};

/* ---- hosts ---- */

struct rio_message {
	struct order_item *item;
	struct order_attribute attribute;
	uint64_t lba;
	uint32_t blocks, nsid, values[RIO_RUN];
};

struct rio_answer {
	struct order_item *item;
	enum order_outcome outcome;
	uint32_t left;
};

enum rio_way_is {
	RIO_STOPPED,          /* it is waited for what is under way */
	RIO_LISTED,           /* it is known where its stream is cut */
	RIO_CUTTING,
	RIO_TAKING_BACK,
	RIO_CUT,
	RIO_GOES,
};

/* Of a stream to a server. */
struct rio_way {
	enum rio_way_is is;
	unsigned epoch, in_flight;
	uint32_t cut, last;
	struct order_cut cutting;
	bool floor_told;
	uint32_t floor;
	struct rio_message wire[RIO_WIRE];
	unsigned wire_from, wire_count;
	struct rio_answer back[RIO_WIRE];
	unsigned back_from, back_count;
};

struct rio_write {
	uint32_t group;
	bool in_place, ended;
};

struct rio_stream {
	struct order_sequencer sequencer;
	struct order_item items[RIO_ITEMS];
	struct rio_way ways[RIO_SERVERS];
	struct rio_write writes[RIO_WRITES];
	uint32_t data[RIO_WRITES][RIO_RUN];
	unsigned write_count;
	uint32_t durable, ended; /* groups: told durable, and submitted whole */
	uint64_t next;          /* volume block at which the last write ended */
	bool gone;              /* its host is; it is to be recovered */
	bool any_cut;           /* some server was cut at: */
	uint32_t there;
	struct { uint32_t first, last; } joined[RIO_WRITES];
	unsigned joined_count;
	bool reported[RIO_SERVERS][RIO_DRIVES][RIO_BLOCKS];
	unsigned merged, split;
};

struct rio {
	struct rng rng;
	struct rio_plan plan;
	struct order_member members[RIO_SERVERS * RIO_DRIVES];
	struct order_layout layout;
	struct rio_stream streams[RIO_STREAMS];
	struct rio_server servers[RIO_SERVERS];
	int16_t writer[RIO_ALL];  /* of each block of the volume, stream * RIO_WRITES + write, */
	uint32_t values[RIO_ALL]; /* and what that wrote */
	uint32_t under[RIO_ALL];  /* what was there before something was written in place; RIO_UNKNOWN: nobody knows */
	struct { uint32_t value, group; int8_t stream; } left[RIO_ALL]; /* in place, and after what is there */
	const char *violation;  /* NULL, or what was not kept */
	bool no_more;           /* nothing more is submitted */
	unsigned resting;       /* bits: streams to which nothing happens */
	uint64_t refused;
	uint32_t serial;        /* of the last write that was tried */
};

void rio_begin(struct rio *model, const struct rio_plan *plan, uint64_t seed);

/* Something happens, or nothing. */
void rio_step(struct rio *model);

/* Whoever is named loses what it has in memory; what was on its way to be kept is or not.  Bits by number. */
void rio_crash(struct rio *model, unsigned servers, unsigned hosts);

/* A connection is lost. */
void rio_lose(struct rio *model, unsigned stream, unsigned server);

/* Whether no stream is being recovered. */
bool rio_is_well(const struct rio *model);

/* What a crash left, and what its host was told. */
uint64_t rio_hash(const struct rio *model);

/* Writes that are durable are not told of any more, as if they were of long ago. */
void rio_forget(struct rio *model, unsigned stream);

/* All that was submitted is durable, and is what was written. */
void rio_finish(struct rio *model);

#endif
