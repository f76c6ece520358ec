/*
 * rates.h - how much is read and written, how fast, and how many requests arrive when most do.
 *
 * Time is cut into windows, of which the first begins with the first request;
 * the peak is that of the window with most requests.  A request that is earlier
 * than one before it counts in the window that it belongs to, if that is one of
 * the last RATES_KEPT, else in the oldest of these, and is counted as misplaced;
 * one that is earlier than the first counts in the first window.
 *
 * It knows nothing of where requests go.
 */
#ifndef WEIR_TRACE_RATES_H
#define WEIR_TRACE_RATES_H

#include "trace/request.h"

enum { RATES_KEPT = 8 };
#define RATES_WINDOW_NS UINT64_C(300000000000) /* five minutes */
#define RATES_LEAST_NS UINT64_C(1000000000)    /* what is shorter says nothing of a rate */

struct rates {
	uint64_t window_ns;
	uint64_t reads, writes, read_bytes, written_bytes;
	uint64_t first_ns;            /* of the request that came first; */
	uint64_t earliest_ns, latest_ns;
	uint64_t backwards;           /* requests that are earlier than one before */
	uint64_t misplaced;           /* of them in a window that is not theirs */
	uint64_t newest;              /* number of the newest window */
	uint64_t kept[RATES_KEPT];    /* requests of window n, at n % RATES_KEPT: that one and those before it */
	uint64_t peak;                /* the most in a window that is not kept any more */
};

void rates_init(struct rates *rates, uint64_t window_ns);
void rates_add(struct rates *rates, const struct trace_request *request);

/* From the earliest request to the latest. */
uint64_t rates_duration_ns(const struct rates *rates);

/*
 * Requests per second in the window with most.  Of what is shorter than a window, over all of it; the last window
 * counts as a whole one.  NAN: it is shorter than RATES_LEAST_NS.
 */
double rates_peak_iops(const struct rates *rates);

/* 10^9 bytes per day, over all of it; NAN: it is shorter than RATES_LEAST_NS. */
double rates_write_gb_day(const struct rates *rates);

/* Writes among all requests, 0 to 1; NAN: there are none. */
double rates_write_ratio(const struct rates *rates);

#endif
