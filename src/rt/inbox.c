/*
 * inbox.c - mail and calls for the reactors of a process that is attended.
 *
 * Reactors come and go there, with the threads that take them, and what is left
 * for one that has gone must not find its successor: who leaves something does
 * so under the lock of an inbox, which is open while its reactor is taken, and
 * wakes it under that lock too.  Neither is done per I/O.
 */
#include <errno.h>
#include <stdlib.h>

#include "rt/internal.h"

struct letter {
	struct fifo_node node;
	struct mail mail;
};

struct inbox {
	_Alignas(64) pthread_mutex_t lock;
	struct core *core;      /* whose it is; NULL: nobody's.  Here and below under the lock */
	struct fifo mail, calls;
	uint32_t count;         /* letters in it */
	struct letter *letters; /* MAIL_SPARE of them, the core's; memory is asked for when there are more */
	uint32_t fresh;         /* so many of these were never used, */
	struct fifo free;       /* and these again are free */
};

static struct inbox *inbox_of(const struct core *core) { return &core->rt->inboxes[core->reactor.index]; }

int
inboxes_open(struct rt *rt)
{
	rt->inboxes = arena_alloc_aligned(&rt->arena, rt->count * sizeof(*rt->inboxes), 64);
	if (rt->inboxes == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < rt->count; i++)
		pthread_mutex_init(&rt->inboxes[i].lock, NULL);
	return inbox_open(rt->cores[0]);
}

void
inboxes_close(struct rt *rt)
{
	for (unsigned i = 0; rt->inboxes != NULL && i < rt->count; i++)
		pthread_mutex_destroy(&rt->inboxes[i].lock);
}

int
inbox_open(struct core *core)
{
	struct inbox *inbox = inbox_of(core);
	struct letter *letters = arena_alloc_raw(&core->arena, MAIL_SPARE * sizeof(*letters));

	if (letters == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&inbox->lock);
	inbox->core = core;
	inbox->letters = letters;
	inbox->fresh = MAIL_SPARE;
	inbox->count = 0;
	fifo_init(&inbox->free);
	fifo_init(&inbox->mail);
	fifo_init(&inbox->calls);
	pthread_mutex_unlock(&inbox->lock);
	return 0;
}

static struct letter *
letter_take(struct inbox *inbox)
{
	struct fifo_node *node = fifo_pop(&inbox->free);

	if (node != NULL)
		return container_of(node, struct letter, node);
	if (inbox->fresh > 0)
		return &inbox->letters[--inbox->fresh];
	return inbox->count < RT_MAIL_MAX ? malloc(sizeof(struct letter)) : NULL;
}

static void
letter_give(struct inbox *inbox, struct letter *letter)
{
	if (letter >= inbox->letters && letter < inbox->letters + MAIL_SPARE)
		fifo_push(&inbox->free, &letter->node);
	else
		free(letter);
}

/* Under the lock: while its owner cannot go.  True where that took a system call. */
static bool
call(struct inbox *inbox)
{
	flag_set(&inbox->core->called, true);
	return waker_call(&inbox->core->waker);
}

void
inbox_post(struct core *from, unsigned to, const struct mail *mail)
{
	struct inbox *inbox = &from->rt->inboxes[to];
	struct letter *letter = NULL;
	bool open;

	pthread_mutex_lock(&inbox->lock);
	open = inbox->core != NULL;
	if (open)
		letter = letter_take(inbox);
	if (letter != NULL) {
		letter->mail = *mail;
		fifo_push(&inbox->mail, &letter->node);
		inbox->count++;
		from->reactor.syscalls += call(inbox);
	}
	pthread_mutex_unlock(&inbox->lock);
	if (open && letter == NULL)
		mail_lost(from);
}

void
rt_call(struct rt *rt, unsigned index, struct rt_call *rt_call)
{
	struct inbox *inbox = &rt->inboxes[index];

	assert(index < rt->count);
	pthread_mutex_lock(&inbox->lock);
	assert(inbox->core != NULL);
	fifo_push(&inbox->calls, &rt_call->node);
	(void)call(inbox);
	pthread_mutex_unlock(&inbox->lock);
}

static bool
take_mail(struct inbox *inbox, struct mail *mail)
{
	struct fifo_node *node;

	pthread_mutex_lock(&inbox->lock);
	node = fifo_pop(&inbox->mail);
	if (node != NULL) {
		struct letter *letter = container_of(node, struct letter, node);

		*mail = letter->mail;
		letter_give(inbox, letter);
		inbox->count--;
	}
	pthread_mutex_unlock(&inbox->lock);
	return node != NULL;
}

/* It may be gone when it has been run. */
static void
run_calls(struct core *core, struct fifo *calls)
{
	struct fifo_node *node;

	while ((node = fifo_pop(calls)) != NULL) {
		struct rt_call *rt_call = container_of(node, struct rt_call, node);

		core->moved++;
		rt_call->run(rt_call, &core->reactor);
	}
}

/*
 * What comes meanwhile is for the next turn, so that two who answer each other do not hold this one.  Inlined it would
 * cost every turn registers.
 */
__attribute__((noinline)) void
inbox_empty(struct core *core)
{
	struct inbox *inbox = inbox_of(core);
	struct fifo calls;
	struct mail mail;
	uint32_t count;

	fifo_init(&calls);
	pthread_mutex_lock(&inbox->lock);
	flag_set(&core->called, false);
	count = inbox->count;
	fifo_splice(&calls, &inbox->calls);
	pthread_mutex_unlock(&inbox->lock);
	for (; count > 0 && take_mail(inbox, &mail); count--) {
		core->moved++;
		core->reactor.on_mail(&core->reactor, &mail);
	}
	run_calls(core, &calls);
}

void
inbox_close(struct core *core)
{
	struct inbox *inbox = inbox_of(core);
	struct fifo_node *node;
	struct fifo calls;

	fifo_init(&calls);
	pthread_mutex_lock(&inbox->lock);
	while (!fifo_empty(&inbox->calls)) {
		fifo_splice(&calls, &inbox->calls);
		pthread_mutex_unlock(&inbox->lock);
		run_calls(core, &calls);
		pthread_mutex_lock(&inbox->lock);
	}
	inbox->core = NULL;
	while ((node = fifo_pop(&inbox->mail)) != NULL)
		letter_give(inbox, container_of(node, struct letter, node));
	flag_set(&core->called, false);
	pthread_mutex_unlock(&inbox->lock);
}
