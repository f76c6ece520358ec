/*
 * weir/limiter.h - may I submit so many bytes now, or when?
 *
 * For an application that would rather wait itself, and do something else meanwhile, than let its I/O wait at a device
 * that others share.  A pure thing: it reads no clock and asks no target, and has no memory but its own:
 *
 *     struct weir_limiter limiter;
 *     weir_limiter_init(&limiter);
 *     ...
 *     weir_limiter_heed(&limiter, &view, now_ns);            // each second or so, after weir_volume_view()
 *     ...
 *     while ((wait_ns = weir_limiter_take(&limiter, WEIR_READS, bytes, now_ns)) > 0)
 *             now_ns = do_something_else(wait_ns);
 *
 * What it lets go in a second, of reads and of writes each, is what the host had in the last one and its part of what
 * is left, the headroom, which it shares with the other hosts that are there.  Where nothing is left it is an eighth
 * less each time while the device is overloaded or I/O of the host waits there, and else an eighth more: what others
 * have may be more than their due.  Before the first view, and where there is no bound, all goes.  (Gimbal, 3.7)
 */
#ifndef WEIR_LIMITER_H
#define WEIR_LIMITER_H

#include <weir/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its members are the library's.  One thread at a time; of several, each has its own, or they take turns. */
struct weir_limiter {
	struct weir_limit {
		uint64_t rate;     /* bytes a second, or WEIR_ENDLESS */
		uint64_t due_ns;   /* when all that was let go is paid for */
	} limits[2];
};

void weir_limiter_init(struct weir_limiter *limiter);

/* What the target says now.  Times never go back, and are of a clock that does not either. */
void weir_limiter_heed(struct weir_limiter *limiter, const struct weir_view *view, uint64_t now_ns);

/* WEIR_READS or WEIR_WRITES.  0: they may go, and are counted; else so many ns are to be waited, and nothing is. */
uint64_t weir_limiter_take(struct weir_limiter *limiter, int kind, uint64_t bytes, uint64_t now_ns);

/* Bytes a second that it lets go, or WEIR_ENDLESS. */
uint64_t weir_limiter_rate(const struct weir_limiter *limiter, int kind);

#ifdef __cplusplus
}
#endif

#endif
