#include "host/cache.h"

/*
 * Why it is sound: a write whose moment is not greater than a Flush's read `flushes` before that Flush counted it up.
 * It did so after the write's answer was received; so the target had done the write before the Flush was even sent.
 */

void
cache_raise(_Atomic uint64_t *moment, uint64_t to)
{
	uint64_t was = atomic_load_explicit(moment, memory_order_relaxed);

	while (was < to && !atomic_compare_exchange_weak_explicit(moment, &was, to, memory_order_release,
	    memory_order_relaxed))
		;
}

static uint64_t
get(const _Atomic uint64_t *moment)
{
	return atomic_load_explicit(moment, memory_order_acquire);
}

/* Unflushed: the last moment when something was written that no Flush has covered; 0: there is nothing. */
static uint64_t
unflushed(const struct cache_life *life)
{
	uint64_t written = get(&life->written);

	return written > get(&life->flushed) ? written : 0;
}

/* The place that was written in longest ago. */
static struct cache_life *
find_free(struct cache *cache)
{
	struct cache_life *free = NULL;

	for (unsigned i = 1; i <= CACHE_LIVES; i++) {
		struct cache_life *life = &cache->lives[i];

		if (life->users == 0 && (free == NULL || get(&life->written) < get(&free->written)))
			free = life;
	}
	return free;
}

/* What was not flushed of the life before is remembered first, and then forgotten; what is written from now on is
 * younger than that. */
static void
begin(struct cache *cache, struct cache_life *life, uint64_t number)
{
	cache_raise(&cache->lives[0].written, unflushed(life));
	cache_raise(&life->flushed, cache_flush(cache));
	life->number = number;
}

struct cache_life *
cache_life_take(struct cache *cache, uint64_t number)
{
	struct cache_life *life = NULL;

	if (number == 0)
		return NULL;
	for (unsigned i = 1; i <= CACHE_LIVES; i++)
		if (cache->lives[i].number == number)
			life = &cache->lives[i];
	if (life == NULL) {
		life = find_free(cache);
		if (life != NULL)
			begin(cache, life, number);
		else
			life = &cache->lives[0];
	}
	life->users++;
	return life;
}

void
cache_life_give(struct cache_life *life)
{
	if (life != NULL)
		life->users--;
}

/* The last place first: what begin() moves to the first one is seen in one of the two. */
bool
cache_flushed(struct cache *cache, struct cache_life *life, uint64_t moment, uint64_t told)
{
	bool all = true;

	if (life != NULL && life != &cache->lives[0])
		cache_raise(&life->flushed, moment);
	for (unsigned i = CACHE_LIVES + 1; i-- > 0;)
		if ((&cache->lives[i] != life || i == 0) && unflushed(&cache->lives[i]) > told)
			all = false;
	if (!all)
		cache_raise(&cache->told, moment);
	return all;
}

uint64_t
cache_told(const struct cache *cache)
{
	return get(&cache->told);
}
