/*
 * cut.h - a stream that has stopped at a server is cut there, and goes on: what is done in which order?
 * (doc/ordered-writes.md, Recovery)
 *
 * Nothing is kept but what is handed in; the log's commits and the deallocating are the caller's.
 */
#ifndef WEIR_ORDER_CUT_H
#define WEIR_ORDER_CUT_H

#include "order/known.h"
#include "order/serve.h"

enum order_cut_next {
	ORDER_CUT_WAITS,      /* for a commit of the log */
	ORDER_CUT_TAKES_BACK, /* blocks are to be deallocated, see order_is_taken_back(), and that is to be durable */
	ORDER_CUT_GOES_ON,    /* it is cut; it takes writes again */
};

struct order_cut {
	struct order_serve *serve;
	struct order_served *stream;
	uint32_t after;       /* the last group that stays */
	uint32_t last;        /* the last one that this server has then */
	uint32_t high;        /* the greatest that the stream has had */
	uint8_t is;           /* how far it is */
};

/*
 * Begins; the stream is still, and goes on in the part of `serve`, in which it may not have been before.  `known` is
 * all that is known of it, in all parts, as order_stream_read() left it, and `read` what that said; zeros where nothing
 * is.
 * `gone`: its host was, and `after` is a floor, too.  `high`: the greatest group of earlier terms that another part
 * knows of, or ORDER_NO_GROUP.  NULL, or why it cannot be cut there, in plain words.
 */
const char *order_cut_begin(struct order_cut *cut, struct order_serve *serve, struct order_served *stream,
    const struct order_known *known, uint32_t count, const struct order_stream *read, uint32_t after, bool gone,
    uint32_t high);

/* What is to be done next: to be asked after it has begun, after each commit, and when that was done. */
enum order_cut_next order_cut_next(struct order_cut *cut);

/* What was to be deallocated is, durably. */
void order_cut_taken_back(struct order_cut *cut);

#endif
