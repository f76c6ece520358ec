/*
 * perf_streams.c - ordered writes of `weir perf` (weir/ordered.h).
 *
 * A write is in flight until its group is complete, and its buffer and its
 * place on the volume are taken until that is durable: what is written again
 * has a durable group between the two.  So there are more buffers than writes
 * in flight.
 */
#include "perf_streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	SPARE = 8,          /* pieces, for flushes that go alone */
	DEPTH_MAX = 512,    /* commands of a stream in flight to a target */
	LOOK_US = 100000,   /* so often each stream is looked at */
	FINISH_US = 10000000, /* so long a target may take to forget a stream */
	GAVE_UP = 1,        /* as leave_ns: it is over */
};

struct write {
	struct write *next; /* while it is idle; else the one that was submitted after it */
	const void *data;
	uint64_t slot, started_ns, group;
};

struct stream {
	struct load *load;
	struct weir_ordered *ordered; /* NULL: it is not open */
	struct write *writes;
	uint8_t *buffers;
	struct write *idle;
	struct write *first, *last;   /* in the order they were submitted; until they are durable */
	struct write *incomplete;     /* the first of them that is not complete, or NULL */
	unsigned in_flight;
	uint32_t in_group;            /* of the group that has begun */
	uint64_t groups;              /* that have ended */
	uint16_t number;
};

struct perf_streams {
	unsigned count, turn;         /* turn: which one is polled next */
	struct stream streams[];
};

/* Nothing more comes of it; what is in flight is not waited for.  It is one error, however often it is met. */
static void
failed(struct load *load)
{
	if (load->leave_ns == GAVE_UP)
		return;
	load->result.errors++;
	snprintf(load->result.first_error, sizeof(load->result.first_error), "%s", weir_error());
	load->broken = true;
	load->leave_ns = GAVE_UP;
}

/* ---- writing ---- */

static unsigned
end_flags(const struct stream *stream)
{
	uint32_t every = stream->load->job->flush_every;

	return WEIR_GROUP_END | (every > 0 && (stream->groups + 1) % every == 0 ? WEIR_GROUP_DURABLE : 0);
}

static void
ended(struct stream *stream)
{
	stream->in_group = 0;
	stream->groups++;
}

static void
submitted(struct stream *stream, struct write *write)
{
	stream->idle = write->next;
	write->next = NULL;
	if (stream->first == NULL)
		stream->first = write;
	else
		stream->last->next = write;
	stream->last = write;
	if (stream->incomplete == NULL)
		stream->incomplete = write;
	stream->in_flight++;
}

/* False: it has to wait, or there is nothing more. */
static bool
issue(struct stream *stream)
{
	struct load *load = stream->load;
	const struct perf_job *job = load->job;
	struct write *write = stream->idle;
	bool last = stream->in_group + 1 == job->group;

	if (write == NULL || stream->in_flight == job->qd || !perf_load_may_begin(load))
		return false;
	write->slot = perf_load_choose(load);
	write->started_ns = perf_now(load->clock);
	if (weir_ordered_write(stream->ordered, write->data, job->bs, perf_load_offset(load, write->slot),
	    last ? end_flags(stream) : 0, &write->group) != 0) {
		failed(load);
		return false;
	}
	perf_load_began(load, write->slot, write->started_ns);
	submitted(stream, write);
	if (last)
		ended(stream);
	else
		stream->in_group++;
	return true;
}

static void
fill(struct stream *stream)
{
	while (issue(stream))
		;
	if (stream->in_group == 0 || perf_load_has_more(stream->load))
		return;
	if (weir_ordered_end(stream->ordered, end_flags(stream) & WEIR_GROUP_DURABLE) != 0)
		failed(stream->load);
	else
		ended(stream);
}

void
perf_streams_fill(struct load *load)
{
	for (unsigned i = 0; i < load->streams->count; i++)
		fill(&load->streams->streams[i]);
}

/* ---- what has come ---- */

/* While one stream is polled others are called back as well, again and again: each time the clock is another. */
static uint64_t
clock_anew(struct load *load)
{
	load->clock->now_ns = 0;
	return perf_now(load->clock);
}

static void
count(struct perf_side *side, const struct load *load, const struct write *write, uint64_t now_ns)
{
	hist_add(&side->hist, now_ns - write->started_ns);
	side->bytes += load->job->bs;
}

static void
complete(void *arg, uint64_t group)
{
	struct stream *stream = arg;
	struct load *load = stream->load;
	uint64_t now_ns = clock_anew(load);

	for (struct write *write; (write = stream->incomplete) != NULL && write->group <= group;) {
		stream->incomplete = write->next;
		stream->in_flight--;
		perf_load_ended(load, now_ns);
		count(&load->result.write, load, write, now_ns);
	}
	fill(stream);
}

static void
durable(void *arg, uint64_t group)
{
	struct stream *stream = arg;
	struct load *load = stream->load;
	uint64_t now_ns = clock_anew(load);

	for (struct write *write; (write = stream->first) != NULL && write->group <= group;) {
		stream->first = write->next;
		write->next = stream->idle;
		stream->idle = write;
		load->busy[write->slot] = 0;
		if (load->result.durables)
			count(&load->result.durable, load, write, now_ns);
	}
	fill(stream);
}

bool
perf_streams_poll(struct load *load, int64_t timeout_us)
{
	struct perf_streams *streams = load->streams;
	struct stream *stream = &streams->streams[0];
	int rc;

	/* One that has nothing under way has nothing to tell. */
	for (unsigned i = 0; i < streams->count; i++) {
		stream = &streams->streams[streams->turn++ % streams->count];
		if (stream->first != NULL)
			break;
	}
	rc = weir_ordered_poll(stream->ordered, timeout_us < 0 || timeout_us > LOOK_US ? LOOK_US : timeout_us);
	if (rc < 0)
		failed(load);
	return rc > 0;
}

struct weir_queue *
perf_streams_queue(const struct load *load)
{
	return weir_ordered_queue(load->streams->streams[0].ordered);
}

/* ---- the end ---- */

void
perf_streams_settle(struct load *load)
{
	load->result.streams = load->streams->count;
	for (unsigned i = 0; i < load->streams->count; i++) {
		struct weir_ordered_state state;

		weir_ordered_state(load->streams->streams[i].ordered, &state);
		load->result.groups += state.written;
		load->result.commands += state.commands;
		if (!load->broken && weir_ordered_flush(load->streams->streams[i].ordered, NULL) != 0)
			failed(load);
	}
}

bool
perf_streams_settled(const struct load *load)
{
	for (unsigned i = 0; i < load->streams->count; i++)
		if (load->streams->streams[i].first != NULL)
			return false;
	return true;
}

/* Nobody goes on with it.  False: it stays. */
static bool
finish(struct stream *stream, int64_t timeout_us)
{
	if (weir_ordered_finish(stream->ordered, timeout_us) == 0)
		return true;
	fprintf(stderr, "weir: stream %u stays in the log of its target: %s\n", stream->number, weir_error());
	return false;
}

void
perf_streams_close(struct load *load)
{
	int64_t timeout_us = FINISH_US;

	for (unsigned i = 0; load->streams != NULL && i < load->streams->count; i++) {
		struct stream *stream = &load->streams->streams[i];

		/* Where one is waited for in vain none is waited for again. */
		if (stream->ordered != NULL && !load->broken && !finish(stream, timeout_us))
			timeout_us = 0;
		weir_ordered_close(stream->ordered);
		free(stream->writes);
		free(stream->buffers);
	}
	free(load->streams);
}

/* ---- the beginning ---- */

static bool
make_writes(struct stream *stream, const struct perf_job *job)
{
	unsigned kept = perf_streams_kept(job);

	stream->writes = calloc(kept, sizeof(*stream->writes));
	stream->buffers = aligned_alloc(PAGE, (kept * job->bs + PAGE - 1) / PAGE * PAGE);
	if (stream->writes == NULL || stream->buffers == NULL)
		return false;
	memset(stream->buffers, 0, kept * job->bs);
	for (unsigned i = kept; i-- > 0;) {
		stream->writes[i].data = stream->buffers + i * job->bs;
		stream->writes[i].next = stream->idle;
		stream->idle = &stream->writes[i];
	}
	return true;
}

static int
open_one(struct stream *stream, const struct weir_member *member, unsigned number, struct weir_queue *with)
{
	const struct perf_job *job = stream->load->job;
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);

	stream->number = options.stream = (uint16_t)number;
	options.priority = (uint8_t)job->priority;
	options.pieces = perf_streams_kept(job) + SPARE;
	options.depth = job->qd < DEPTH_MAX ? job->qd : DEPTH_MAX;
	options.with = with;
	options.complete = complete;
	options.durable = durable;
	options.arg = stream;
	return weir_ordered_open(member, 1, &options, &stream->ordered);
}

int
perf_streams_open(struct load *load, const struct weir_member *member, unsigned count, unsigned number,
    struct weir_queue *with, char why[PERF_WHY])
{
	struct perf_streams *streams = calloc(1, sizeof(*streams) + count * sizeof(streams->streams[0]));
	int rc = 0;

	load->streams = streams;
	snprintf(why, PERF_WHY, "out of memory");
	if (streams == NULL)
		return -ENOMEM;
	while (streams->count < count && rc == 0) {
		struct stream *stream = &streams->streams[streams->count++];

		stream->load = load;
		if (!make_writes(stream, load->job))
			return -ENOMEM;
		rc = open_one(stream, member, number--, with);
		if (rc == 0 && with == NULL)
			with = weir_ordered_queue(stream->ordered);
	}
	load->result.durables = load->job->flush_every > 0;
	if (rc == -EOPNOTSUPP)
		snprintf(why, PERF_WHY, "%s: what `weir serve` is told by --order-log", weir_error());
	else if (rc != 0)
		snprintf(why, PERF_WHY, "%s", weir_error());
	return rc;
}
