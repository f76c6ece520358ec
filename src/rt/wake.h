/*
 * wake.h - waking a reactor that sleeps in the kernel.
 *
 * The one place of rt with atomics.  A reactor that is about to sleep says so,
 * then looks once more at what others may have left for it; who leaves
 * something looks afterwards whether it sleeps.  Either the sleeper sees what
 * was left, or the caller sees the sleeper: both exchange the same word, and
 * exchanges of one word have one order.
 */
#ifndef WEIR_RT_WAKE_H
#define WEIR_RT_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WAKER_TRIES = 3 };

struct waker {
	_Alignas(64) _Atomic uint32_t asleep;
	int fd; /* an eventfd, looked at by the reactor's engine on its edges and never read */
};

/* The sleeper: from here on it is called.  It then looks at everything a last time. */
static inline void
waker_doze(struct waker *waker)
{
	/* Acquire: pairs with the release of a caller that came before us in the order of
	 * exchanges; what that one left (the tail of a ring, the word to stop) is seen by the
	 * loads that follow.  Release orders nothing of ours; it keeps the order total. */
	atomic_exchange_explicit(&waker->asleep, 1, memory_order_acq_rel);
}

/* The sleeper is up again. */
static inline void
waker_rise(struct waker *waker)
{
	/* Relaxed: orders nothing.  A caller that still sees 1 makes one needless edge. */
	atomic_store_explicit(&waker->asleep, 0, memory_order_relaxed);
}

/* After leaving something; true where that took a system call.  Safe in a signal handler. */
static inline bool
waker_call(struct waker *waker)
{
	uint64_t one = 1;

	/* Release: our store of what was left comes before the exchange, and so is seen by a
	 * sleeper that exchanges later.  If it exchanged earlier, we see its 1 and wake it. */
	if (atomic_exchange_explicit(&waker->asleep, 0, memory_order_acq_rel) == 0)
		return false;
	/* Cannot block: the counter would have to reach 2^64 - 1.  Nobody else will call, so it is tried
	 * again should it fail nevertheless. */
	for (int tries = 0; tries < WAKER_TRIES; tries++)
		if (write(waker->fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
			break;
	return true;
}

/* A word for a reactor that it reads once per turn: to stop, or that something is in its inbox. */
struct flag {
	_Alignas(64) _Atomic uint32_t set;
};

/* Relaxed: the word carries nothing else; waker_call() after it orders it before a sleep. */
static inline void
flag_set(struct flag *flag, bool set)
{
	atomic_store_explicit(&flag->set, set, memory_order_relaxed);
}

static inline bool
flag_is_set(const struct flag *flag)
{
	return atomic_load_explicit(&flag->set, memory_order_relaxed) != 0;
}

#endif
