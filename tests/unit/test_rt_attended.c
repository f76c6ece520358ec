/* rt, attended: reactors that callers' threads take, turn and give back, beside one that has a thread of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "rt_attended_bench.h"

enum { ROUNDS = 1000, MESSAGE = 3000, BURST = 5000 };

/* Callbacks run on threads that cmocka cannot leave. */
#define MUST(what) do { if (!(what)) abort(); } while (0)

/* ---- bytes: who asks writes a message, and the other one sends it back ---- */

struct end {
	struct stream *stream;
	size_t got;
	unsigned rounds; /* it has asked, or answered */
	bool asks, quiet;
	uint8_t bytes[MESSAGE];
};

static void
end_send(struct end *end)
{
	struct iovec iov = { end->bytes, MESSAGE };

	MUST(end->stream->ops->writev(end->stream, &iov, 1) == MESSAGE);
	end->got = 0;
	end->rounds++;
}

static void
end_ask(struct end *end)
{
	memset(end->bytes, (int)end->rounds, MESSAGE);
	end_send(end);
}

static void
end_ready(struct stream *stream, unsigned events)
{
	struct end *end = stream->owner;
	struct iovec iov = { end->bytes + end->got, MESSAGE - end->got };
	ssize_t n;

	if (events & STREAM_WRITABLE) {
		stream->ops->wants(stream, STREAM_READABLE);
		end_ask(end);
		return;
	}
	n = stream->ops->readv(stream, &iov, 1);
	if (n == -EAGAIN)
		return;
	if (n == 0) {
		stream->ops->close(stream, false);
		end->stream = NULL;
		return;
	}
	MUST(n > 0);
	end->got += (size_t)n;
	if (end->got < MESSAGE)
		return;
	if (!end->asks) {
		end_send(end);
		return;
	}
	MUST(end->bytes[0] == (uint8_t)(end->rounds - 1) && end->bytes[MESSAGE - 1] == end->bytes[0]);
	if (!end->quiet)
		end_ask(end);
}

static void
end_begin(struct end *end, struct stream *stream, bool asks)
{
	end->stream = stream;
	end->asks = asks;
	stream->owner = end;
	stream->ready = end_ready;
	stream->ops->wants(stream, asks ? STREAM_WRITABLE : STREAM_READABLE);
}

static void
answer_here(struct listener *listener, struct stream *stream)
{
	struct end *end = arena_alloc(stream->reactor->arena, sizeof(*end));

	MUST(end != NULL);
	end_begin(end, stream, false);
	listener->owner = end;
}

static void
listen_on(struct reactor *reactor, struct listener *listener)
{
	*listener = (struct listener){ .accepted = answer_here, .host = "127.0.0.1" };
	MUST(reactor->world->listen(reactor, listener) == 0);
}

static void
connect_to(struct reactor *reactor, const struct listener *listener, struct end *end)
{
	struct stream *stream;

	MUST(reactor->world->connect(reactor, listener->host, listener->port, &stream) == 0);
	end_begin(end, stream, true);
}

static void
hang_up(struct end *end)
{
	end->stream->ops->close(end->stream, false);
	end->stream = NULL;
}

struct visitor {
	struct rt *rt;
	const struct listener *listener;
	bool by_poll;
	pthread_t thread;
};

static void *
ask_often(void *arg)
{
	struct visitor *visitor = arg;
	struct reactor *reactor = rt_taken(visitor->rt);
	struct end end = { 0 };

	connect_to(reactor, visitor->listener, &end);
	while (end.rounds < ROUNDS)
		rt_attend(reactor, visitor->by_poll);
	hang_up(&end);
	rt_give(reactor);
	return NULL;
}

static void
bytes_wake_who_sleeps(uint32_t spin_us)
{
	struct rt *rt = attended_open(RT_REACTORS_MAX, spin_us);
	struct listener listener;
	struct visitor visitors[2] = {
		{ .rt = rt, .listener = &listener }, { .rt = rt, .listener = &listener, .by_poll = true },
	};

	listen_on(rt_reactor(rt, 0), &listener);
	assert_int_equal(rt_start(rt), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&visitors[i].thread, NULL, ask_often, &visitors[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(visitors[i].thread, NULL);
	rt_end(rt);
	rt_destroy(rt);
}

static void
threads_exchange_bytes_with_reactor_0_and_sleep_as_they_like(void **state)
{
	bytes_wake_who_sleeps(150);
	bytes_wake_who_sleeps(0);
}

/* Turns of one that waits for nothing for 20 ms. */
static uint64_t
turns_of_waiting(uint32_t spin_us)
{
	struct rt *rt = attended_open(2, spin_us);
	struct reactor *reactor = rt_taken(rt);
	uint64_t turns;

	rt_rest(reactor);
	turns = reactor->turns;
	(void)rt_turn(reactor, 20 * 1000 * 1000);
	turns = reactor->turns - turns;
	rt_give(reactor);
	rt_destroy(rt);
	return turns;
}

/* Who has one processor only sleeps, so that what he waits for may run; who says that he spins does. */
static void
on_one_processor_it_spins_where_that_is_said(void **state)
{
	cpu_set_t all, one;
	unsigned cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_true(turns_of_waiting(RT_SPIN_AUTO) < 5);
	assert_true(turns_of_waiting(20 * 1000) >= 5);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* Two reactors of one thread, that ask and answer. */
struct couple {
	struct rt *rt;
	struct reactor *asking, *answering;
	struct listener listener;
	struct end end;
};

static void
couple_open(struct couple *couple)
{
	*couple = (struct couple){ .rt = attended_open(3, 150) };
	couple->asking = rt_taken(couple->rt);
	couple->answering = rt_taken(couple->rt);
	listen_on(couple->answering, &couple->listener);
	connect_to(couple->asking, &couple->listener, &couple->end);
	while (couple->listener.owner == NULL || couple->end.rounds == 0) {
		(void)rt_turn(couple->asking, 0);
		(void)rt_turn(couple->answering, 0);
	}
	couple->answering->world->unlisten(couple->answering, &couple->listener);
}

static void
couple_close(struct couple *couple)
{
	struct end *other = couple->listener.owner;

	hang_up(&couple->end);
	hang_up(other);
	arena_free(couple->answering->arena, other);
	rt_give(couple->asking);
	rt_give(couple->answering);
	rt_destroy(couple->rt);
}

static void
a_turn_of_a_busy_connection_is_one_read_and_one_write(void **state)
{
	struct couple couple;
	uint64_t syscalls, turns;

	couple_open(&couple);
	while (couple.end.rounds < 10) {
		(void)rt_turn(couple.answering, -1);
		(void)rt_turn(couple.asking, -1);
	}
	syscalls = couple.asking->syscalls;
	turns = couple.asking->turns;
	while (couple.end.rounds < ROUNDS) {
		(void)rt_turn(couple.answering, -1);
		(void)rt_turn(couple.asking, -1);
	}
	turns = couple.asking->turns - turns;
	assert_true(couple.asking->syscalls - syscalls <= 2 * turns + turns / 8 + 10);
	couple_close(&couple);
}

static void
the_descriptor_is_readable_only_while_there_is_something_to_do(void **state)
{
	struct couple couple;

	couple_open(&couple);
	for (unsigned round = 1; round < 100; round++) {
		/* Hot or not, turns with a stale edge or without. */
		rt_rest(couple.asking);
		assert_false(rt_readable(couple.asking, 0));
		rt_attend(couple.answering, round % 2 == 0);
		rt_rest(couple.answering);
		assert_false(rt_readable(couple.answering, 0));
		couple.end.quiet = true;
		while (couple.end.got < MESSAGE) {
			assert_true(rt_readable(couple.asking, -1));
			rt_rest(couple.asking);
		}
		couple.end.quiet = false;
		end_ask(&couple.end);
	}
	couple_close(&couple);
}

/* ---- mail ---- */

static void
send_back(struct reactor *reactor, const struct mail *mail)
{
	reactor->world->post(reactor, mail->from, mail);
}

static void
count_back(struct reactor *reactor, const struct mail *mail)
{
	uint32_t *next = reactor->owner;

	MUST(mail->from == 0 && mail->arg == (*next)++);
}

static void *
write_often(void *arg)
{
	struct visitor *visitor = arg;
	struct reactor *reactor = rt_taken(visitor->rt);
	uint32_t next = 0;

	reactor->owner = &next;
	reactor->on_mail = count_back;
	while (next < ROUNDS) {
		uint32_t one = next;

		reactor->world->post(reactor, 0, &(struct mail){ .arg = one });
		while (next == one)
			rt_attend(reactor, visitor->by_poll);
	}
	for (uint32_t i = 0; i < BURST; i++)
		reactor->world->post(reactor, 0, &(struct mail){ .arg = ROUNDS + i });
	while (next < ROUNDS + BURST)
		rt_attend(reactor, visitor->by_poll);
	rt_give(reactor);
	return NULL;
}

static void
mail_wakes_both_sides_and_keeps_its_order(void **state)
{
	struct rt *rt = attended_open(3, 0);
	struct visitor visitors[2] = { { .rt = rt }, { .rt = rt, .by_poll = true } };

	rt_reactor(rt, 0)->on_mail = send_back;
	assert_int_equal(rt_start(rt), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&visitors[i].thread, NULL, write_often, &visitors[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(visitors[i].thread, NULL);
	rt_end(rt);
	rt_destroy(rt);
}

static void
count_mail(struct reactor *reactor, const struct mail *mail)
{
	++*(uint32_t *)reactor->owner;
}

static void
mail_to_one_that_was_given_back_does_not_find_the_next(void **state)
{
	struct rt *rt = attended_open(3, 0);
	struct reactor *first = rt_taken(rt), *writer = rt_taken(rt), *second;
	uint32_t count = 0;

	for (uint32_t i = 0; i < BURST; i++)
		writer->world->post(writer, first->index, &(struct mail){ 0 });
	rt_give(first);
	writer->world->post(writer, 1, &(struct mail){ 0 });
	second = rt_taken(rt);
	assert_int_equal(second->index, 1);
	second->owner = &count;
	second->on_mail = count_mail;
	rt_rest(second);
	assert_int_equal(count, 0);
	assert_false(rt_readable(second, 0));
	writer->world->post(writer, 1, &(struct mail){ 0 });
	assert_true(rt_readable(second, 0));
	rt_rest(second);
	assert_int_equal(count, 1);
	/* To itself: after the turn in which it was posted there is one more to take. */
	second->world->post(second, 1, &(struct mail){ 0 });
	assert_true(rt_turn(second, 0));
	assert_int_equal(count, 2);
	rt_give(second);
	rt_give(writer);
	rt_destroy(rt);
}

/* ---- calls ---- */

struct caller {
	struct rt_call call;
	struct rt *rt;
	sem_t done;
	unsigned index, expected, count;
	pthread_t ran_on;
	bool quit;
};

static void
note_call(struct rt_call *call, struct reactor *reactor)
{
	struct caller *caller = call->owner;

	MUST(reactor->index == caller->index);
	caller->count++;
	caller->ran_on = pthread_self();
	sem_post(&caller->done);
}

static void
quit_call(struct rt_call *call, struct reactor *reactor)
{
	((struct caller *)call->owner)->quit = true;
}

static void *
be_called(void *arg)
{
	struct caller *caller = arg;
	struct reactor *reactor = rt_taken(caller->rt);

	caller->index = reactor->index;
	sem_post(&caller->done);
	while (!caller->quit)
		rt_attend(reactor, caller->count % 2 == 0);
	rt_give(reactor);
	return NULL;
}

static void
call_and_wait(struct caller *caller)
{
	caller->call = (struct rt_call){ .run = note_call, .owner = caller };
	rt_call(caller->rt, caller->index, &caller->call);
	while (sem_wait(&caller->done) != 0)
		;
}

static void
a_call_wakes_its_reactor_and_is_run_there(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct caller zero = { .rt = rt }, other = { .rt = rt };
	struct rt_call quit = { .run = quit_call, .owner = &other };
	pthread_t thread;

	sem_init(&zero.done, 0, 0);
	sem_init(&other.done, 0, 0);
	assert_int_equal(rt_start(rt), 0);
	assert_int_equal(pthread_create(&thread, NULL, be_called, &other), 0);
	while (sem_wait(&other.done) != 0)
		;
	for (unsigned i = 0; i < ROUNDS; i++) {
		call_and_wait(&zero);
		call_and_wait(&other);
		assert_true(pthread_equal(other.ran_on, thread) && !pthread_equal(zero.ran_on, pthread_self()));
	}
	rt_call(rt, 1, &quit);
	pthread_join(thread, NULL);
	rt_end(rt);
	assert_int_equal(zero.count, ROUNDS);
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_exchange_bytes_with_reactor_0_and_sleep_as_they_like),
		cmocka_unit_test(on_one_processor_it_spins_where_that_is_said),
		cmocka_unit_test(a_turn_of_a_busy_connection_is_one_read_and_one_write),
		cmocka_unit_test(the_descriptor_is_readable_only_while_there_is_something_to_do),
		cmocka_unit_test(mail_wakes_both_sides_and_keeps_its_order),
		cmocka_unit_test(mail_to_one_that_was_given_back_does_not_find_the_next),
		cmocka_unit_test(a_call_wakes_its_reactor_and_is_run_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
