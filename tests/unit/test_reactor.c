/* world/reactor: the order of a turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world/reactor.h"

/* What happened, a letter each. */
static char history[64];

static struct arena arena;
static struct reactor reactor;

static void
happened(char letter)
{
	size_t end = strlen(history);

	assert_true(end + 1 < sizeof(history));
	history[end] = letter;
	history[end + 1] = '\0';
}

struct thing {
	struct task task;
	struct timer timer;
	struct stream stream;
	char letter;
	unsigned events;     /* the last that its stream was ready for */
	struct thing *next;  /* what its task asks for in turn */
	enum reactor_phase next_phase;
};

static void
run(struct task *task)
{
	struct thing *thing = container_of(task, struct thing, task);

	happened(thing->letter);
	if (thing->next != NULL)
		reactor_run_in(&reactor, thing->next_phase, &thing->next->task);
}

static void
fire(struct timer *timer)
{
	happened(container_of(timer, struct thing, timer)->letter);
}

static void
ready(struct stream *stream, unsigned events)
{
	struct thing *thing = container_of(stream, struct thing, stream);

	happened(thing->letter);
	thing->events = events;
}

static void
thing_init(struct thing *thing, char letter)
{
	*thing = (struct thing){ .letter = letter };
	task_init(&thing->task, run);
	thing->timer.fire = fire;
	thing->stream.reactor = &reactor;
	thing->stream.ready = ready;
	list_init(&thing->stream.ready_node);
}

static int
open_reactor(void **state)
{
	const struct reactor_options options = { 16, 16 };

	history[0] = '\0';
	arena_init(&arena, 0);
	return reactor_init(&reactor, NULL, &arena, 0, 1, &options);
}

static int
close_reactor(void **state)
{
	int left;

	reactor_fini(&reactor);
	left = arena.bytes == 0 ? 0 : -1;
	arena_drop(&arena);
	return left;
}

static void
a_turn_tells_streams_and_receives_then_timers_then_each_phase(void **state)
{
	struct thing send, settle, collect, submit, timer, receive, stream;

	thing_init(&send, 's');
	thing_init(&settle, 'e');
	thing_init(&collect, 'c');
	thing_init(&submit, 'b');
	thing_init(&timer, 't');
	thing_init(&receive, 'v');
	thing_init(&stream, 'r');
	reactor_run_in(&reactor, PHASE_SEND, &send.task);
	reactor_run_in(&reactor, PHASE_SETTLE, &settle.task);
	reactor_run_in(&reactor, PHASE_COLLECT, &collect.task);
	reactor_run_in(&reactor, PHASE_SUBMIT, &submit.task);
	reactor_run_in(&reactor, PHASE_RECEIVE, &receive.task);
	timer_set(&reactor.timers, &timer.timer, 5);
	stream.stream.wanted = STREAM_READABLE;
	reactor_stream_ready(&stream.stream, STREAM_READABLE);
	assert_true(reactor_turn(&reactor, 5));
	assert_string_equal(history, "rvtbces");
	assert_int_equal(reactor.now_ns, 5);
	assert_false(reactor_turn(&reactor, 6));
	assert_string_equal(history, "rvtbces");
	assert_int_equal(reactor.turns, 2);
	assert_int_equal(reactor.busy_turns, 1);
}

/* A reactor that polls would else never find that it has nothing to do. */
static void
looking_for_bytes_makes_no_turn_busy(void **state)
{
	struct thing receive;

	thing_init(&receive, 'v');
	reactor_run_in(&reactor, PHASE_RECEIVE, &receive.task);
	assert_int_equal(reactor_next(&reactor), 0);
	assert_false(reactor_turn(&reactor, 1));
	assert_string_equal(history, "v");
	assert_int_equal(reactor.busy_turns, 0);
}

static void
a_task_is_run_once_however_often_it_was_asked_for(void **state)
{
	struct thing thing, cancelled;

	thing_init(&thing, 'a');
	thing_init(&cancelled, 'x');
	for (int i = 0; i < 3; i++)
		reactor_run_in(&reactor, PHASE_SEND, &thing.task);
	reactor_run_in(&reactor, PHASE_SEND, &cancelled.task);
	task_cancel(&cancelled.task);
	reactor_turn(&reactor, 1);
	assert_string_equal(history, "a");
}

static void
a_task_for_a_later_phase_runs_in_this_turn_and_for_this_or_an_earlier_one_in_the_next(void **state)
{
	struct thing later, same, earlier, collect[3];

	thing_init(&later, 'l');
	thing_init(&same, 's');
	thing_init(&earlier, 'e');
	for (int i = 0; i < 3; i++)
		thing_init(&collect[i], (char)('1' + i));
	collect[0].next = &later;
	collect[0].next_phase = PHASE_SEND;
	collect[1].next = &same;
	collect[1].next_phase = PHASE_COLLECT;
	collect[2].next = &earlier;
	collect[2].next_phase = PHASE_SUBMIT;
	for (int i = 0; i < 3; i++)
		reactor_run_in(&reactor, PHASE_COLLECT, &collect[i].task);
	reactor_turn(&reactor, 1);
	assert_string_equal(history, "123l");
	assert_int_equal(reactor_next(&reactor), 0);
	reactor_turn(&reactor, 2);
	assert_string_equal(history, "123les");
	assert_true(reactor_next(&reactor) == UINT64_MAX);
}

static void
only_what_a_stream_wants_is_delivered_and_the_rest_is_kept(void **state)
{
	struct thing thing;

	thing_init(&thing, 'r');
	thing.stream.wanted = STREAM_READABLE;
	reactor_stream_ready(&thing.stream, STREAM_WRITABLE);
	assert_true(reactor_next(&reactor) == UINT64_MAX);
	reactor_stream_ready(&thing.stream, STREAM_READABLE);
	assert_int_equal(reactor_next(&reactor), 0);
	reactor_turn(&reactor, 1);
	assert_string_equal(history, "r");
	assert_int_equal(thing.events, STREAM_READABLE);
	/* It comes to want what was kept. */
	thing.stream.wanted = STREAM_READABLE | STREAM_WRITABLE;
	reactor_stream_ready(&thing.stream, 0);
	reactor_turn(&reactor, 2);
	assert_string_equal(history, "rr");
	assert_int_equal(thing.events, STREAM_WRITABLE);
}

static void
a_stream_that_left_or_wants_nothing_any_more_is_not_called(void **state)
{
	struct thing gone, tired;

	thing_init(&gone, 'g');
	thing_init(&tired, 'd');
	gone.stream.wanted = tired.stream.wanted = STREAM_READABLE;
	reactor_stream_ready(&gone.stream, STREAM_READABLE);
	reactor_stream_ready(&tired.stream, STREAM_READABLE);
	reactor_stream_gone(&gone.stream);
	tired.stream.wanted = 0;
	reactor_turn(&reactor, 1);
	assert_string_equal(history, "");
}

/* Is ready again as soon as it was served. */
static void
ready_again(struct stream *stream, unsigned events)
{
	ready(stream, events);
	reactor_stream_ready(stream, STREAM_READABLE);
}

static void
a_stream_that_is_always_ready_starves_no_other(void **state)
{
	struct thing busy, other;

	thing_init(&busy, 'b');
	thing_init(&other, 'o');
	busy.stream.ready = ready_again;
	busy.stream.wanted = other.stream.wanted = STREAM_READABLE;
	reactor_stream_ready(&busy.stream, STREAM_READABLE);
	reactor_stream_ready(&other.stream, STREAM_READABLE);
	reactor_turn(&reactor, 1);
	assert_string_equal(history, "bo");
	reactor_turn(&reactor, 2);
	assert_string_equal(history, "bob");
	reactor_stream_gone(&busy.stream);
}

static void
the_next_turn_is_due_with_the_earliest_timer(void **state)
{
	struct thing one, two;

	thing_init(&one, '1');
	thing_init(&two, '2');
	assert_true(reactor_next(&reactor) == UINT64_MAX);
	timer_set(&reactor.timers, &one.timer, 70);
	timer_set(&reactor.timers, &two.timer, 50);
	assert_int_equal(reactor_next(&reactor), 50);
	assert_true(reactor_turn(&reactor, 60));
	assert_string_equal(history, "2");
	assert_int_equal(reactor_next(&reactor), 70);
	timer_clear(&reactor.timers, &one.timer);
}

static void
without_memory_there_is_no_reactor_and_nothing_is_left(void **state)
{
	const struct reactor_options options = { 16, 16 };
	struct reactor half;
	struct arena small;

	for (uint64_t n = 1; n <= 5; n++) {
		arena_init(&small, 0);
		small.fail_at = n;
		assert_int_equal(reactor_init(&half, NULL, &small, 0, 1, &options), -12);
		assert_int_equal(small.bytes, 0);
	}
}

#define with_reactor(test) cmocka_unit_test_setup_teardown(test, open_reactor, close_reactor)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_reactor(a_turn_tells_streams_and_receives_then_timers_then_each_phase),
		with_reactor(looking_for_bytes_makes_no_turn_busy),
		with_reactor(a_task_is_run_once_however_often_it_was_asked_for),
		with_reactor(a_task_for_a_later_phase_runs_in_this_turn_and_for_this_or_an_earlier_one_in_the_next),
		with_reactor(only_what_a_stream_wants_is_delivered_and_the_rest_is_kept),
		with_reactor(a_stream_that_left_or_wants_nothing_any_more_is_not_called),
		with_reactor(a_stream_that_is_always_ready_starves_no_other),
		with_reactor(the_next_turn_is_due_with_the_earliest_timer),
		cmocka_unit_test(without_memory_there_is_no_reactor_and_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
