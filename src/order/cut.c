#include "order/cut.h"

#include <assert.h>
#include <stddef.h>

#include "order/group.h"

/* How far it is. */
enum {
	BEGINS,     /* a mark is to say that something is being taken back */
	BEGUN,      /* that is to be durable */
	TAKES_BACK,
	ENDS,       /* a mark is to say that it was */
	ENDED,      /* and that is to be durable */
	GOES_ON,
};

const char *
order_cut_begin(struct order_cut *cut, struct order_serve *serve, struct order_served *stream,
    const struct order_known *known, uint32_t count, const struct order_stream *read, uint32_t after, bool gone,
    uint32_t high)
{
	uint32_t greatest = order_known_greatest(known, count);
	bool taking = false;

	assert(order_serve_is_still(stream));
	if (order_above(read->list.floor, after))
		return "what is durable cannot be cut off";
	for (uint32_t i = 0; i < count; i++)
		taking = taking || order_is_taken_back(&known[i], after);
	if (order_above(stream->track.high, high))
		high = stream->track.high;
	*cut = (struct order_cut){
		.serve = serve, .stream = stream, .after = after, .last = order_list_last(&read->list, after),
		.high = order_above(greatest, high) ? greatest : high, .is = taking ? BEGINS : ENDS,
	};
	/* Another part may have it of later. */
	if (count > 0 || (int16_t)(read->term - stream->track.term) > 0)
		stream->track.term = read->term;
	order_track_tell(&stream->track, gone ? after : read->list.floor);
	return NULL;
}

static void
mark(struct order_cut *cut, bool taking, uint8_t then)
{
	if (order_serve_cut(cut->serve, cut->stream, cut->after, cut->high, taking))
		cut->is = then;
}

enum order_cut_next
order_cut_next(struct order_cut *cut)
{
	if (cut->is == BEGINS)
		mark(cut, true, BEGUN);
	else if (cut->is == BEGUN && order_serve_is_cut(cut->serve, cut->stream))
		cut->is = TAKES_BACK;
	else if (cut->is == ENDS)
		mark(cut, false, ENDED);
	else if (cut->is == ENDED && order_serve_is_cut(cut->serve, cut->stream)) {
		order_serve_go_on(cut->stream, cut->last);
		cut->is = GOES_ON;
	}
	return cut->is == TAKES_BACK ? ORDER_CUT_TAKES_BACK : cut->is == GOES_ON ? ORDER_CUT_GOES_ON : ORDER_CUT_WAITS;
}

void
order_cut_taken_back(struct order_cut *cut)
{
	assert(cut->is == TAKES_BACK);
	cut->is = ENDS;
}
