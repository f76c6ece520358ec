/*
 * synth.c - one request after the other, as synth_plan.c has laid out.
 */
#include "trace/synth.h"

enum { PAGE = 4096, JITTER_BITS = 16 };

/* Of `total` things that are spread evenly over `parts`, how many are in the first `part`. */
static uint64_t
share(uint64_t total, uint64_t part, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)total * part / parts);
}

/* ---- when ---- */

/* How much time before the end of a window is not of the peak. */
static uint64_t
quiet_until(const struct synth *synth, uint64_t window)
{
	uint64_t end = (window + 1) * synth->window_ns;

	end = end < synth->duration_ns ? end : synth->duration_ns;
	return window >= synth->peak_window ? end - synth->window_ns : end;
}

static uint64_t
requests_of(const struct synth *synth, uint64_t window)
{
	uint64_t requests = synth->requests - synth->peak_requests, quiet_ns = synth->duration_ns - synth->window_ns;
	uint64_t before_ns = window > 0 ? quiet_until(synth, window - 1) : 0;

	if (window == synth->peak_window)
		return synth->peak_requests;
	return share(requests, quiet_until(synth, window), quiet_ns) - share(requests, before_ns, quiet_ns);
}

/* The first one comes at 0, and the last one at the end: rates are over what lies between. */
static uint64_t
choose_time(struct synth *synth)
{
	uint64_t begin_ns, end_ns, part;

	while (synth->in_window == synth->window_requests) {
		synth->window_requests = requests_of(synth, synth->windows_begun++);
		synth->in_window = 0;
	}
	begin_ns = (synth->windows_begun - 1) * synth->window_ns;
	end_ns = begin_ns + synth->window_ns < synth->duration_ns ? begin_ns + synth->window_ns : synth->duration_ns;
	part = (synth->in_window++ << JITTER_BITS) + rng_below(&synth->rng, 1 << JITTER_BITS);
	if (synth->done == 0)
		return 0;
	if (synth->done == synth->requests - 1)
		return synth->duration_ns;
	return begin_ns + share(end_ns - begin_ns, part, synth->window_requests << JITTER_BITS);
}

/* ---- where ---- */

/* The next part of an area, or, where all were used, any. */
static uint64_t
choose_part(struct synth *synth, struct synth_area *area)
{
	if (area->used == area->parts)
		return rng_below(&synth->rng, area->parts);
	return (uint64_t)(((unsigned __int128)area->used++ * area->stride + area->first) % area->parts);
}

/* Places lie evenly, in whole pages, and no further apart than a run is long: together they are all of the area. */
static uint64_t
run_begins(const struct synth *synth)
{
	uint64_t place = synth->run % synth->run_places;

	if (place == 0)
		return 0;
	return share((synth->run_area - synth->run_bytes) / PAGE, place, synth->run_places - 1) * PAGE;
}

static uint64_t
choose_write(struct synth *synth)
{
	uint64_t in_run = 0, in_order = 0;

	if (synth->runs > 0) {
		while (synth->written >= share(synth->writes, synth->run + 1, synth->runs))
			synth->run++;
		in_run = synth->written - share(synth->writes, synth->run, synth->runs);
		in_order = share(synth->ordered, synth->run + 1, synth->runs) -
		    share(synth->ordered, synth->run, synth->runs);
	}
	synth->written++;
	if (in_run < in_order)
		return run_begins(synth) + in_run * synth->write_bytes;
	return synth->slots.base + choose_part(synth, &synth->slots) * synth->slots.pitch;
}

/* Any page of the working set, and what follows it there. */
static void
read_anywhere(struct synth *synth, struct trace_request *request)
{
	uint64_t runs = synth->run_area, slots = synth->slots.parts * synth->slot_bytes;
	uint64_t at = rng_below(&synth->rng, (runs + slots + synth->rest_bytes) / PAGE) * PAGE, room;

	if (at < runs) {
		request->offset = at;
		room = runs - at;
	} else if (at < runs + slots) {
		at -= runs;
		request->offset = synth->slots.base + at / synth->slot_bytes * synth->slots.pitch +
		    at % synth->slot_bytes;
		room = synth->slot_bytes - at % synth->slot_bytes;
	} else {
		at -= runs + slots;
		request->offset = synth->rest.base + at;
		room = synth->rest_bytes - at;
	}
	request->bytes = synth->read_bytes < room ? synth->read_bytes : (uint32_t)room;
}

static void
choose_read(struct synth *synth, struct trace_request *request)
{
	uint64_t at;

	if (synth->rest.used == synth->rest.parts) {
		read_anywhere(synth, request);
		return;
	}
	at = choose_part(synth, &synth->rest) * synth->read_bytes;
	request->offset = synth->rest.base + at;
	request->bytes = synth->read_bytes;
	if (synth->rest_bytes - at < request->bytes)
		request->bytes = (uint32_t)(synth->rest_bytes - at);
}

bool
synth_next(struct synth *synth, struct trace_request *request)
{
	uint64_t writes = share(synth->writes, synth->done, synth->requests);

	if (synth->done == synth->requests)
		return false;
	*request = (struct trace_request) {
		.time_ns = choose_time(synth), .bytes = synth->write_bytes,
		.is_write = share(synth->writes, synth->done + 1, synth->requests) > writes,
	};
	if (request->is_write)
		request->offset = choose_write(synth);
	else
		choose_read(synth, request);
	synth->done++;
	return true;
}
