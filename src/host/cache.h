/*
 * cache.h - has a target lost what its cache held, since somebody's writes were last flushed?
 *
 * Answers it for one namespace, when a Flush was answered (doc/failover.md).  A
 * target tells a number that is another one when what it had answered and
 * nobody had flushed may be gone: a *life* of its cache.  Here stands in which
 * life was written, and in which flushed, and when: time is counted in Flushes
 * that were submitted.  Knows lives and moments; not targets, paths or queues.
 *
 * Shared by all queues of a subsystem, whatever threads they are on: what any
 * of them has written the Flush of any other covers.  What is said of
 * reactor 0 is for that alone.
 */
#ifndef WEIR_HOST_CACHE_H
#define WEIR_HOST_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_LIVES = 8 };

/* What it means to people that a Flush fails for it. */
#define CACHE_LOST_WORDS "the target has lost its cache: what was written and not flushed may be gone"

struct cache_life {
	uint64_t number;          /* reactor 0's: what the target calls it; 0: none had this place */
	unsigned users;           /* reactor 0's: associations of this life */
	_Atomic uint64_t written; /* the last moment when a write was answered; 0: none was */
	_Atomic uint64_t flushed; /* what was written up to this moment is durable */
};

/* Zeros: nothing was ever written. */
struct cache {
	_Atomic uint64_t flushes; /* submitted so far */
	_Atomic uint64_t told;    /* the greatest moment that a Flush which failed has spoken for */
	/* The first is of those that have no place of their own: what it was written no Flush covers. */
	struct cache_life lives[1 + CACHE_LIVES];
};

/*
 * Reactor 0: the life that the target calls so, for an association to use until
 * it gives it back; NULL for the number 0: nothing is known of it.  It is the
 * same for all of that number, and as long as anybody uses it no other's.
 */
struct cache_life *cache_life_take(struct cache *cache, uint64_t number);
void cache_life_give(struct cache_life *life);

void cache_raise(_Atomic uint64_t *moment, uint64_t to);

/* A write of that life was answered, and is not durable by itself.  Any thread; after it was received. */
static inline void
cache_wrote(struct cache *cache, struct cache_life *life)
{
	uint64_t now = atomic_load_explicit(&cache->flushes, memory_order_relaxed) + 1;

	if (life != NULL && atomic_load_explicit(&life->written, memory_order_relaxed) < now)
		cache_raise(&life->written, now);
}

/* A Flush is submitted, by any thread: its moment.  It covers what was answered up to that, and nothing later. */
static inline uint64_t
cache_flush(struct cache *cache)
{
	return atomic_fetch_add_explicit(&cache->flushes, 1, memory_order_acq_rel) + 1;
}

/*
 * The Flush of that moment was answered under this life: true, it covers all
 * that was written before it.  False: something was written in another life,
 * and not flushed in that, after the moment `told`: it may be lost.  `told` is
 * the moment of the last Flush that has told the same user so before this one
 * was submitted, or 0.
 */
bool cache_flushed(struct cache *cache, struct cache_life *life, uint64_t moment, uint64_t told)
    __attribute__((warn_unused_result));

/* What others were told of by now: who comes now is not told again. */
uint64_t cache_told(const struct cache *cache);

#endif
