/*
 * serve.h - ordered writes at a server, those of the streams that go on in one part of its log: each comes, has its
 * entry appended, goes to its drive, ends, persists and is answered.  (doc/ordered-writes.md, At the server)
 *
 * What is to be done outside stands in lines, which the caller empties after whatever it has told, and asks for more
 * until each has none: writes that go to their drives, streams of which drives are to be flushed, writes that are
 * answered; and what the log is to have (order_log_take() of `log`).
 *
 * One thread.  Memory is the caller's, and nothing fails.
 */
#ifndef WEIR_ORDER_SERVE_H
#define WEIR_ORDER_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "order/gate.h"
#include "order/log.h"

enum { ORDER_FLUSHED_MAX = 64 }; /* namespaces of a server that a stream writes to and that are to be flushed */

enum order_outcome {
	ORDER_DONE,
	ORDER_FAILED,  /* its drive did not do it */
	ORDER_ABORTED, /* the stream stopped before it was done */
};

/* A write, or a flush alone; in the request of whoever asks. */
struct order_write {
	/* To be filled in before it arrives. */
	struct order_attribute attribute;
	uint64_t lba;
	uint32_t blocks, nsid;
	bool keeps;            /* its drive keeps what it has answered, even where it loses power */

	enum order_outcome outcome; /* once it is answered */

	struct order_piece piece;
	struct list in_line;   /* of its stream */
	struct order_served *stream;
	uint64_t place;        /* of its entry; ORDER_NO_PLACE: it has none yet */
	uint64_t word;         /* it persists for good when there are so many durable words */
	bool ended;
};

/* A stream. */
struct order_served {
	struct order_track track;
	struct order_gate gate;
	struct list line;      /* writes that have an entry: those that have not ended, and flushes; as they came */
	struct list node;      /* among those that can append */
	struct list flush_node;
	struct order_write *covered; /* the last one that the flush on its way is for, or NULL */
	uint64_t mark;         /* place of the mark with which its term began */
	uint64_t dirty, flushing; /* bits: which of these it has written to, and which are flushed */
	uint32_t nsids[ORDER_FLUSHED_MAX], nsid_count;
	uint32_t held;         /* writes that came and are not answered; */
	uint32_t under_way;    /* of them those that have an entry */
	bool stopped;          /* until it is cut it takes nothing */
	bool refused;          /* there was no room for what goes next, the last time that was looked at */
};

struct order_serve {
	struct order_log log;  /* begun by the caller, with order_log_init() or order_log_load() */
	struct list appending; /* streams */
	struct list appended;  /* writes, by places; those of which that is durable go */
	struct list flushes;
	struct list persisting; /* writes, by words; those of which that is durable are answered, */
	struct list answers;   /* and these, that do not wait for any */
	bool broken;           /* nothing more will be durable */
};

void order_serve_init(struct order_serve *serve);

/* `track` is begun by the caller.  It takes nothing until it is cut. */
void order_serve_stream(struct order_served *stream);

/*
 * One comes.  NULL, or why it cannot be, in plain words: then nothing has changed.  Of a stream that has stopped it is
 * answered as aborted.
 */
const char *order_serve_arrive(struct order_serve *serve, struct order_served *stream, struct order_write *write);

/* All of its data is there. */
void order_serve_ready(struct order_serve *serve, struct order_write *write);

/* Appends what can be.  To be called once in a turn, before what is to be durable is taken from the log. */
void order_serve_append(struct order_serve *serve);

/* What was taken from the log is durable. */
void order_serve_durable(struct order_serve *serve);

/* What was taken may never be durable, and nothing later either: what waits for that has failed, and so does all that
 * comes to it.  No stream takes anything any more once it was stopped, and none can be cut. */
void order_serve_break(struct order_serve *serve);

/* What goes to its drive now, or NULL; a flush alone goes nowhere, and has ended when it is its turn.  It is to be told
 * when it has ended. */
struct order_write *order_serve_go(struct order_serve *serve);
void order_serve_ended(struct order_serve *serve, struct order_write *write, bool done);

/* A stream of which all that `flushing` says is to be flushed, or NULL.  It is to be told when all of that was. */
struct order_served *order_serve_flush(struct order_serve *serve);
void order_serve_flushed(struct order_serve *serve, struct order_served *stream, bool done);

/* What is to be answered, or NULL; it is the caller's again. */
struct order_write *order_serve_answer(struct order_serve *serve);

/* Nothing more of it goes to a drive. */
void order_serve_stop(struct order_serve *serve, struct order_served *stream);

/*
 * Whether it waits for room in the log, has more there than is guaranteed, and nothing is under way that could tell a
 * floor: with others that do so it may wait for ever.  Who has seen it so for a while stops it.
 */
bool order_serve_is_stuck(const struct order_serve *serve, const struct order_served *stream);

/* Of a stream that has stopped: nothing of it is under way, and all that its entries say is durable. */
bool order_serve_is_still(const struct order_served *stream);

/*
 * Cuts a stream that is still, as order_log_cut() does.  False: not now; but after a commit.  Where there is anything
 * to be taken back, first with `taking`, and when that is durable, and then that it was taken back, without.  It can go
 * on when that mark is durable, behind `last`, the last group that this server has of it then.
 */
bool order_serve_cut(struct order_serve *serve, struct order_served *stream, uint32_t cut, uint32_t high,
    bool taking);
bool order_serve_is_cut(const struct order_serve *serve, const struct order_served *stream);
void order_serve_go_on(struct order_served *stream, uint32_t last);

#endif
