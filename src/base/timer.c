#include "base/timer.h"

#include <stddef.h>

static bool
before(const struct timer *a, const struct timer *b)
{
	if (a->deadline_ns != b->deadline_ns)
		return a->deadline_ns < b->deadline_ns;
	return a->order < b->order;
}

/* Joins two heaps whose roots have no siblings. */
static struct timer *
meld(struct timer *a, struct timer *b)
{
	struct timer *top, *sub;

	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	top = before(a, b) ? a : b;
	sub = top == a ? b : a;
	sub->prev = top;
	sub->next = top->child;
	if (top->child != NULL)
		top->child->prev = sub;
	top->child = sub;
	return top;
}

/* Two passes over the children: pair them left to right, then join right to left. */
static struct timer *
meld_children(struct timer *first)
{
	struct timer *pairs = NULL, *all = NULL;

	while (first != NULL) {
		struct timer *a = first, *b = a->next, *pair;

		first = b != NULL ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b != NULL)
			b->next = b->prev = NULL;
		pair = meld(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs != NULL) {
		struct timer *pair = pairs;

		pairs = pair->next;
		pair->next = NULL;
		all = meld(all, pair);
	}
	return all;
}

void
timer_clear(struct timers *timers, struct timer *timer)
{
	struct timer *rest;

	if (!timer->armed)
		return;
	timer->armed = false;
	rest = meld_children(timer->child);
	timer->child = NULL;
	if (timer == timers->root) {
		timers->root = rest;
		return;
	}
	if (timer->prev->child == timer)
		timer->prev->child = timer->next;
	else
		timer->prev->next = timer->next;
	if (timer->next != NULL)
		timer->next->prev = timer->prev;
	timer->next = timer->prev = NULL;
	timers->root = meld(timers->root, rest);
}

void
timer_set(struct timers *timers, struct timer *timer, uint64_t deadline_ns)
{
	timer_clear(timers, timer);
	timer->deadline_ns = deadline_ns;
	timer->order = timers->order++;
	timer->child = timer->next = timer->prev = NULL;
	timer->armed = true;
	timers->root = meld(timers->root, timer);
}

uint64_t
timers_next(const struct timers *timers)
{
	return timers->root != NULL ? timers->root->deadline_ns : UINT64_MAX;
}

unsigned
timers_run(struct timers *timers, uint64_t now_ns)
{
	unsigned fired = 0;

	while (timers->root != NULL && timers->root->deadline_ns <= now_ns) {
		struct timer *timer = timers->root;

		timer_clear(timers, timer);
		timer->fire(timer);
		fired++;
	}
	return fired;
}
