/*
 * ordered_asked.c - what core 0 asks of a part about a stream, at the part's core: to stop it, what there is of it, to
 * cut it and go on with it here; and floors, which parts tell each other.
 */
#include <assert.h>

#include "target/assoc.h"
#include "target/ordered.h"

static struct nvme_status
refused(enum nvme_sc sc)
{
	return nvme_status_of(sc, true);
}

/* Back to core 0. */
static void
answer(struct core *core, struct ordered_ask *ask)
{
	struct target_mail mail = { .kind = MAIL_ORDER_SAID, .order_ask = ask };

	core_post(core, 0, &mail);
}

/* Nothing of it is at a device or waits for a commit. */
static bool
is_still(const struct ordered_stream *stream)
{
	return order_serve_is_still(&stream->served) && stream->flush_left == 0 && !stream->backing;
}

/* ---- what there is of it ---- */

static void
fill(struct ordered_part *part, const struct ordered_stream *stream, struct ordered_ask *ask)
{
	const struct order_track *track = &stream->served.track;

	ask->still = is_still(stream);
	ask->guaranteed = part->serve.log.guaranteed;
	if (order_above(track->high, ask->high))
		ask->high = track->high;
	if (order_above(track->stands, ask->floor))
		ask->floor = track->stands;
	if (!ask->is_there || (int16_t)(track->term - ask->term) > 0)
		ask->term = track->term;
	ask->is_there = true;
	ask->count = order_track_count(track);
	if (ask->count <= ask->room)
		ask->count = order_track_list(&part->serve.log, track, part->number, ask->known);
}

/* ---- it is cut, and goes on here ---- */

static struct conn *
find_queue(struct core *core, uint16_t key, uint16_t qid)
{
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (conn->key == key && conn->qid == qid && conn->attached && conn->phase == CONN_LIVE &&
		    conn->ordered_writes != NULL)
			return conn;
	}
	return NULL;
}

static void
leave_queue(struct ordered_stream *stream)
{
	list_remove(&stream->conn_node);
	if (stream->conn != NULL)
		stream->conn->stream_last = NULL;
	stream->conn = NULL;
}

static void
cut_over(struct ordered_stream *stream, struct nvme_status status)
{
	const struct order_track *track = &stream->served.track;
	struct ordered_ask *ask = stream->asked;

	ask->began = stream->cutting &&
	    (ask->is_there ? track->term != ask->read->term : track->newest != ORDER_NO_PLACE);
	stream->asked = NULL;
	stream->cutting = false;
	ask->status = status;
	ask->guaranteed = stream->part->serve.log.guaranteed;
	answer(stream->part->core, ask);
	if (track->newest == ORDER_NO_PLACE)
		ordered_end_stream(stream);
}

/* The queue may have gone meanwhile: then it is cut, and goes on by none. */
static void
go_on(struct ordered_stream *stream)
{
	struct ordered_ask *ask = stream->asked;
	struct conn *conn = find_queue(stream->part->core, ask->key, ask->qid);

	stream->has_priority = stream->was_stuck = false;
	stream->closed = false;
	memcpy(stream->elsewhere, ask->elsewhere, sizeof(stream->elsewhere));
	memset(stream->telling, 0, sizeof(stream->telling));
	stream->told = ORDER_NO_GROUP;
	ask->was_cut = true;
	ask->last = stream->cut.last;
	if (conn == NULL) {
		order_serve_stop(&stream->part->serve, &stream->served);
		cut_over(stream, refused(NVME_SC_INVALID_FIELD));
		return;
	}
	stream->conn = conn;
	list_push(&conn->streams, &stream->conn_node);
	cut_over(stream, NVME_OK);
}

static void
cut_goes_on(struct ordered_stream *stream)
{
	if (stream->backing)
		return;
	if (stream->part->serve.broken) {
		cut_over(stream, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	switch (order_cut_next(&stream->cut)) {
	case ORDER_CUT_WAITS:
		break;
	case ORDER_CUT_TAKES_BACK:
		ordered_back(stream);
		break;
	case ORDER_CUT_GOES_ON:
		go_on(stream);
		break;
	}
}

void
ordered_back_done(struct ordered_stream *stream, bool done)
{
	if (!done) {
		cut_over(stream, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	order_cut_taken_back(&stream->cut);
	ordered_pump(stream->part);
}

static void
cut(struct ordered_part *part, struct ordered_stream *stream, struct ordered_ask *ask)
{
	const char *wrong;

	stream->asked = ask;
	if (part->serve.broken) {
		cut_over(stream, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	if (find_queue(part->core, ask->key, ask->qid) == NULL) {
		cut_over(stream, refused(NVME_SC_INVALID_FIELD));
		return;
	}
	leave_queue(stream);
	wrong = order_cut_begin(&stream->cut, &part->serve, &stream->served, ask->known, ask->count, ask->read,
	    ask->after, ask->gone, ask->high);
	if (wrong != NULL) {
		cut_over(stream, refused(NVME_SC_INVALID_FIELD));
		return;
	}
	stream->as = ask->as;
	stream->cutting = true;
	ordered_mind(stream);
}

/* ---- floors ---- */

/* What is durable here other parts may forget. */
void
ordered_tell_floor(struct ordered_stream *stream)
{
	const struct order_track *track = &stream->served.track;
	struct core *core = stream->part->core;
	struct target_mail mail = {
		.kind = MAIL_ORDER_HOLD,
		.order_hold = {
			.owner = track->owner, .stream = track->stream, .floor = track->stands,
			.home = stream->part->number, .term = track->term,
		},
	};

	if (track->stands == stream->told || track->newest >= stream->part->serve.log.durable)
		return;
	stream->told = track->stands;
	for (uint32_t part = 0; part < ORDER_PARTS_MAX; part++) {
		if (!ordered_has(stream->elsewhere, part) || ordered_has(stream->telling, part))
			continue;
		ordered_set(stream->telling, part);
		mail.order_hold.part = (uint16_t)part;
		core_post(core, ordered_core_of(core, part), &mail);
	}
}

/* It goes on in another part, in which there is a durable mark. */
static void
close_here(struct ordered_part *part, struct ordered_stream *stream)
{
	if (stream->closed)
		return;
	leave_queue(stream);
	order_track_close(&part->serve.log, &stream->served.track, true);
	stream->closed = true;
	ordered_mind(stream);
}

static struct ordered_stream *
told_of(struct core *core, const struct target_mail *mail)
{
	struct ordered_part *part = ordered_part(core, mail->order_hold.part);

	return part != NULL ? ordered_find(part, mail->order_hold.owner, mail->order_hold.stream) : NULL;
}

/* Of a later term than it has here: so it goes on there. */
static void
hold(struct core *core, const struct target_mail *mail)
{
	struct ordered_stream *stream = told_of(core, mail);
	struct target_mail back = *mail;

	back.kind = MAIL_ORDER_HELD;
	back.order_hold.done = stream == NULL;
	if (stream != NULL && (int16_t)(mail->order_hold.term - stream->served.track.term) > 0)
		close_here(stream->part, stream);
	if (stream != NULL && stream->closed) {
		order_track_hold(&stream->part->serve.log, &stream->served.track, mail->order_hold.floor);
		back.order_hold.done = stream->served.track.writes.count == 0 &&
		    stream->served.track.marks.count == 0;
		ordered_pump(stream->part);
	}
	core_post(core, mail->from, &back);
}

static void
held(struct core *core, const struct target_mail *mail)
{
	struct ordered_part *part = ordered_part(core, mail->order_hold.home);
	struct ordered_stream *stream = ordered_find(part, mail->order_hold.owner, mail->order_hold.stream);

	if (stream == NULL)
		return;
	ordered_clear(stream->telling, mail->order_hold.part);
	if (mail->order_hold.done) {
		ordered_clear(stream->elsewhere, mail->order_hold.part);
	} else if (mail->order_hold.floor != stream->served.track.stands) {
		stream->told = mail->order_hold.floor; /* there is a later one by now */
		ordered_tell_floor(stream);
	}
}

static void
closes(struct core *core, const struct target_mail *mail)
{
	struct ordered_stream *stream = told_of(core, mail);

	if (stream == NULL)
		return;
	close_here(stream->part, stream);
}

/* It stands in an entry that is durable; then, if nobody needs the stream any more, it goes. */
static void
floor_goes_on(struct ordered_stream *stream)
{
	struct ordered_part *part = stream->part;
	struct order_track *track = &stream->served.track;
	struct ordered_ask *ask = stream->asked;

	if (part->serve.broken)
		ask->status = nvme_status_of(NVME_SC_INTERNAL, false);
	else if (!stream->closed && (!order_log_stand(&part->serve.log, track) ||
	    track->newest >= part->serve.log.durable))
		return;
	stream->asked = NULL;
	if (nvme_ok(ask->status) && ask->what == ORDERED_END) {
		if (!stream->closed)
			order_track_close(&part->serve.log, track, false);
		stream->closed = true;
		leave_queue(stream);
	}
	answer(part->core, ask);
}

static void
begin_floor(struct ordered_part *part, struct ordered_stream *stream, struct ordered_ask *ask)
{
	if (ask->ends && !is_still(stream)) {
		ask->status = refused(NVME_SC_SEQUENCE);
		answer(part->core, ask);
		return;
	}
	order_track_tell(&stream->served.track, ask->after);
	/* What was above was taken back everywhere, or written in place and reported: nothing of it is to stay. */
	if (ask->ends)
		order_track_tell(&stream->served.track, stream->served.track.high);
	stream->asked = ask;
	ordered_mind(stream);
}

/* ---- what is asked ---- */

void
ordered_asked_go_on(struct ordered_stream *stream)
{
	struct ordered_ask *ask = stream->asked;

	if (stream->cutting) {
		cut_goes_on(stream);
	} else if (ask->what == ORDERED_FLOOR || ask->what == ORDERED_END) {
		floor_goes_on(stream);
	} else if (is_still(stream)) {
		stream->asked = NULL;
		answer(stream->part->core, ask);
	}
}

static struct ordered_stream *
begin_stream(struct ordered_part *part, const struct ordered_ask *ask)
{
	return order_log_opens(&part->serve.log) ? ordered_begin_stream(part, ask->owner, ask->number, ask->as) : NULL;
}

static void
asked(struct core *core, struct ordered_ask *ask)
{
	struct ordered_part *part = ordered_part(core, ask->part);
	struct ordered_stream *stream = ordered_find(part, ask->owner, ask->number);

	ask->status = NVME_OK;
	ask->began = ask->was_cut = false;
	if (stream == NULL && ask->what == ORDERED_CUT)
		stream = begin_stream(part, ask);
	if (stream != NULL && ask->what == ORDERED_CUT && stream->closed && !order_log_opens(&part->serve.log))
		stream = NULL; /* what was guaranteed to it others may have */
	if (stream == NULL) { /* it has left meanwhile; or there is no room */
		ask->count = 0;
		ask->still = true;
		if (ask->what == ORDERED_CUT)
			ask->status = nvme_status_of(NVME_SC_INTERRUPTED, false);
		answer(core, ask);
		return;
	}
	switch (ask->what) {
	case ORDERED_STOP:
		assert(stream->asked == NULL);
		ordered_stream_stop(stream);
		stream->asked = ask;
		ordered_mind(stream);
		return;
	case ORDERED_FILL:
		fill(part, stream, ask);
		break;
	case ORDERED_CUT:
		cut(part, stream, ask);
		return;
	case ORDERED_FLOOR:
	case ORDERED_END:
		begin_floor(part, stream, ask);
		return;
	}
	answer(core, ask);
}

void
ordered_asked_mail(struct core *core, const struct target_mail *mail)
{
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_ORDER_ASK:
		asked(core, mail->order_ask);
		return;
	case MAIL_ORDER_HOLD:
		hold(core, mail);
		return;
	case MAIL_ORDER_HELD:
		held(core, mail);
		return;
	case MAIL_ORDER_CLOSE:
		closes(core, mail);
		return;
	default:
		assert(false); /* not for us */
	}
}
