/*
 * synth.h - a trace that nobody recorded, with the statistics that are asked for.
 *
 * Which requests: all writes have one size.  Those in order come in runs of 4 MiB
 * and more, and of 32 writes, one behind the other; the others go each to one of many slots, which
 * lie so far apart that the detector (streams.h) takes no two of them for
 * neighbours, whatever their order.  Reads cover what of the working set is not
 * written, and then go anywhere in it.  One window has the peak, and the others
 * share the rest evenly; within its part of a window each request comes at
 * random.
 *
 * What stat.h says of it is what was asked for, within 5 % and mostly within 1 %.
 */
#ifndef WEIR_TRACE_SYNTH_H
#define WEIR_TRACE_SYNTH_H

#include "base/rng.h"
#include "trace/request.h"

enum { SYNTH_WHY = 256 };

/* As of struct trace_stat. */
struct synth_demand {
	double seq_ratio;      /* 0 to 1; of no matter where nothing is written */
	double write_gb_day;
	double peak_iops;
	double write_ratio;    /* 0 to 1 */
	double working_set_gb;
	uint64_t window_ns, duration_ns; /* two windows at least */
	uint64_t seed;
};

/* An area of which each part is used once, in an order that looks like none, before any is used again. */
struct synth_area {
	uint64_t base, pitch;  /* bytes: where it begins, from one part to the next */
	uint64_t parts, stride; /* coprime */
	uint64_t first, used;  /* which part was the first, and how many were used so far */
};

struct synth {
	struct rng rng;
	uint64_t requests, done;
	/* Time. */
	uint64_t window_ns, duration_ns;
	uint64_t peak_window, peak_requests;
	uint64_t windows_begun, in_window, window_requests; /* the last of them is being filled, and is so far */
	/* Writes. */
	uint64_t writes, written;
	uint32_t write_bytes;
	uint64_t ordered;      /* of the writes, in all */
	uint64_t runs, run;    /* how many, and which one */
	uint64_t run_area;     /* bytes, from 0 on, in which they lie; */
	uint64_t run_bytes, run_places; /* of one, and how many places they have by turns: the first begins with the
	                        * area, the last ends with it */
	struct synth_area slots;
	uint32_t slot_bytes;   /* of each, whole pages */
	/* Reads. */
	uint32_t read_bytes;
	uint64_t rest_bytes;   /* what only they touch */
	struct synth_area rest;
};

/* Whether there can be such a trace; else why not, in words for people. */
bool synth_begin(struct synth *synth, const struct synth_demand *demand, char why[SYNTH_WHY]);

/* The next request, in order of time; false: there are no more.  The same demand gives the same ones everywhere. */
bool synth_next(struct synth *synth, struct trace_request *request);

#endif
