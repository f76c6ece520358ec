/* rt: several streams read or written at a time, through io_uring and by a system call for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/rt.h"
#include "sandbox.h"

enum { STREAMS = 150, ROOM = 16 }; /* more streams than one system call takes */

#define MUST(what) do { if (!(what)) abort(); } while (0)

/* Streams of one reactor, and plain sockets at their other ends. */
struct ends {
	struct rt *rt;
	struct reactor *reactor;
	struct listener listener;
	unsigned count, wanted;
	struct stream *streams[STREAMS];
	int peers[STREAMS];
	unsigned told[STREAMS]; /* events of each since they were asked for */
	unsigned left;          /* streams of which events are awaited */
};

static void
note(struct stream *stream, unsigned events)
{
	struct ends *ends = rt_owner(rt_of(stream->reactor));

	for (unsigned i = 0; i < ends->count; i++) {
		if (ends->streams[i] != stream)
			continue;
		ends->left -= ends->told[i] == 0;
		ends->told[i] |= events;
	}
	stream->ops->wants(stream, 0);
	if (ends->left == 0)
		rt_stop(ends->rt);
}

static void
accepted(struct listener *listener, struct stream *stream)
{
	struct ends *ends = listener->owner;

	stream->ready = note;
	ends->streams[ends->count++] = stream;
	if (ends->count == ends->wanted)
		rt_stop(ends->rt);
}

static void
open_ends(struct ends *ends, enum rt_moves moves, unsigned count)
{
	struct rt_options options = rt_options_default();
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	alarm(100);
	memset(ends, 0, sizeof(*ends));
	ends->wanted = count;
	ends->listener = (struct listener){ .accepted = accepted, .owner = ends, .host = "127.0.0.1" };
	options.reactor = (struct reactor_options){ 16, 16 };
	options.moves = moves;
	options.owner = ends;
	MUST(rt_create(&ends->rt, &options) == 0);
	ends->reactor = rt_reactor(ends->rt, 0);
	MUST(ends->reactor->world->listen(ends->reactor, &ends->listener) == 0);
	at.sin_port = htons(ends->listener.port);
	for (unsigned i = 0; i < count; i++) {
		ends->peers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		MUST(ends->peers[i] >= 0 && connect(ends->peers[i], (struct sockaddr *)&at, sizeof(at)) == 0);
	}
	/* Connections are accepted in the order in which they were made. */
	MUST(rt_run(ends->rt) == 0 && ends->count == count);
}

static void
close_ends(struct ends *ends)
{
	for (unsigned i = 0; i < ends->count; i++)
		if (ends->peers[i] >= 0)
			close(ends->peers[i]);
	ends->reactor->world->unlisten(ends->reactor, &ends->listener);
	rt_destroy(ends->rt);
}

/* Runs until each of the streams from `first` on was told of one of the events. */
static void
await(struct ends *ends, unsigned events, unsigned first)
{
	memset(ends->told, 0, sizeof(ends->told));
	ends->left = ends->count - first;
	for (unsigned i = first; i < ends->count; i++)
		ends->streams[i]->ops->wants(ends->streams[i], events);
	assert_int_equal(rt_run(ends->rt), 0);
	for (unsigned i = first; i < ends->count; i++)
		assert_int_equal(ends->told[i], events);
}

static void
move_all(struct ends *ends, bool out, uint8_t (*bytes)[ROOM], struct stream_move *moves)
{
	struct iovec iov[STREAMS];

	for (unsigned i = 0; i < ends->count; i++) {
		iov[i] = (struct iovec){ bytes[i], ROOM };
		moves[i] = (struct stream_move){ ends->streams[i], &iov[i], 1, 0 };
	}
	ends->reactor->world->move(ends->reactor, out, moves, ends->count);
}

static void
say(const struct ends *ends, unsigned i, const char *text)
{
	MUST(send(ends->peers[i], text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

/* ---- reading ---- */

enum { SILENT, SHORT, FULL, CLOSED, RESET, KINDS };

static void
each_read_says_what_it_would_have_said_alone(enum rt_moves how)
{
	const ssize_t expected[KINDS] = { -EAGAIN, 5, ROOM, 0, -ECONNRESET };
	const struct linger reset = { .l_onoff = 1 };
	static uint8_t bytes[STREAMS][ROOM];
	struct stream_move moves[STREAMS];
	struct ends ends;

	open_ends(&ends, how, STREAMS);
	for (unsigned i = 0; i < STREAMS; i++) {
		switch (i % KINDS) {
		case SHORT:
			say(&ends, i, "hello");
			break;
		case FULL:
			say(&ends, i, "0123456789abcdefmore");
			break;
		case RESET:
			MUST(setsockopt(ends.peers[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
			__attribute__((fallthrough));
		case CLOSED:
			close(ends.peers[i]);
			ends.peers[i] = -1;
			break;
		}
	}
	move_all(&ends, false, bytes, moves);
	for (unsigned i = 0; i < STREAMS; i++)
		assert_int_equal(moves[i].result, expected[i % KINDS]);
	for (unsigned i = SHORT; i < STREAMS; i += KINDS)
		assert_memory_equal(bytes[i], "hello", 5);
	for (unsigned i = FULL; i < STREAMS; i += KINDS)
		assert_memory_equal(bytes[i], "0123456789abcdef", ROOM);
	close_ends(&ends);
}

/* The edge was told of before the read.  What a full read left is told of at once, what comes later when it comes. */
static void
no_edge_is_lost_by_a_read_with_others(enum rt_moves how)
{
	static uint8_t bytes[STREAMS][ROOM];
	struct stream_move moves[STREAMS];
	struct ends ends;

	open_ends(&ends, how, STREAMS);
	for (unsigned i = 0; i < STREAMS; i++)
		say(&ends, i, i % 2 == 0 ? "0123456789abcdefmore" : "0123456789abcdef");
	await(&ends, STREAM_READABLE, 0);
	move_all(&ends, false, bytes, moves);
	for (unsigned i = 0; i < STREAMS; i++)
		assert_int_equal(moves[i].result, ROOM);
	for (unsigned i = 1; i < STREAMS; i += 2)
		say(&ends, i, "more");
	await(&ends, STREAM_READABLE, 0);
	move_all(&ends, false, bytes, moves);
	for (unsigned i = 0; i < STREAMS; i++) {
		assert_int_equal(moves[i].result, 4);
		assert_memory_equal(bytes[i], "more", 4);
	}
	close_ends(&ends);
}

/* ---- writing ---- */

static void
what_is_written_arrives_and_a_full_socket_says_so(enum rt_moves how)
{
	static uint8_t bytes[STREAMS][ROOM], junk[1 << 20];
	struct iovec all = { junk, sizeof(junk) };
	struct stream_move moves[STREAMS];
	struct ends ends;
	size_t filled = 0;
	ssize_t n;

	open_ends(&ends, how, STREAMS);
	/* The last one takes nothing any more. */
	while ((n = ends.streams[STREAMS - 1]->ops->writev(ends.streams[STREAMS - 1], &all, 1)) > 0)
		filled += (size_t)n;
	assert_int_equal(n, -EAGAIN);
	for (unsigned i = 0; i < STREAMS; i++)
		memset(bytes[i], (int)i, ROOM);
	move_all(&ends, true, bytes, moves);
	for (unsigned i = 0; i < STREAMS - 1; i++) {
		uint8_t back[ROOM + 1];

		assert_int_equal(moves[i].result, ROOM);
		assert_int_equal(recv(ends.peers[i], back, sizeof(back), 0), ROOM);
		assert_memory_equal(back, bytes[i], ROOM);
	}
	/* Its peer's last acknowledgement may have been late, and made room again. */
	n = moves[STREAMS - 1].result;
	assert_true(n == -EAGAIN || n == ROOM);
	filled += n > 0 ? (size_t)n : 0;
	while (filled > 0) {
		n = recv(ends.peers[STREAMS - 1], junk, filled < sizeof(junk) ? filled : sizeof(junk), 0);
		MUST(n > 0);
		filled -= (size_t)n;
	}
	await(&ends, STREAM_WRITABLE, STREAMS - 1);
	close_ends(&ends);
}

static void
pieces_of_several_streams_are_sent_in_their_order(enum rt_moves how)
{
	struct iovec iov[3] = { { (void *)"one ", 4 }, { (void *)"two ", 4 }, { (void *)"three", 5 } };
	struct stream_move moves[2];
	struct ends ends;
	char back[32];

	open_ends(&ends, how, 2);
	for (unsigned i = 0; i < 2; i++)
		moves[i] = (struct stream_move){ ends.streams[i], iov + i, 3 - (int)i, 0 };
	ends.reactor->world->move(ends.reactor, true, moves, 2);
	assert_int_equal(moves[0].result, 13);
	assert_int_equal(moves[1].result, 9);
	assert_int_equal(recv(ends.peers[0], back, sizeof(back), 0), 13);
	assert_memory_equal(back, "one two three", 13);
	assert_int_equal(recv(ends.peers[1], back, sizeof(back), 0), 9);
	assert_memory_equal(back, "two three", 9);
	close_ends(&ends);
}

/* ---- how ---- */

static uint64_t
calls_of_a_read(enum rt_moves how)
{
	static uint8_t bytes[STREAMS][ROOM];
	struct stream_move moves[STREAMS];
	struct ends ends;
	uint64_t before;

	open_ends(&ends, how, STREAMS);
	before = ends.reactor->syscalls;
	move_all(&ends, false, bytes, moves);
	before = ends.reactor->syscalls - before;
	close_ends(&ends);
	return before;
}

static void
io_uring_takes_many_at_a_time(void **state)
{
	assert_int_equal(calls_of_a_read(RT_MOVES_CALLS), STREAMS);
	if (!sandbox_has_io_uring())
		return;
	assert_int_equal(calls_of_a_read(RT_MOVES_URING), 3);
	assert_int_equal(calls_of_a_read(RT_MOVES_AUTO), 3);
}

static void
move_without_io_uring(void)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	sandbox_forbid(SYS_io_uring_setup, EPERM);
	options.moves = RT_MOVES_URING;
	MUST(rt_create(&rt, &options) == -EPERM);
	MUST(calls_of_a_read(RT_MOVES_AUTO) == STREAMS);
}

static void
without_io_uring_each_has_its_system_call_unless_it_was_asked_for(void **state)
{
	sandbox_run(move_without_io_uring);
}

struct check {
	const char *name;
	void (*run)(enum rt_moves how);
};

/* Each of these must hold however it is done. */
static const struct check checks[] = {
	{ "each_read_says_what_it_would_have_said_alone", each_read_says_what_it_would_have_said_alone },
	{ "no_edge_is_lost_by_a_read_with_others", no_edge_is_lost_by_a_read_with_others },
	{ "what_is_written_arrives_and_a_full_socket_says_so", what_is_written_arrives_and_a_full_socket_says_so },
	{ "pieces_of_several_streams_are_sent_in_their_order", pieces_of_several_streams_are_sent_in_their_order },
};

static void
run_both_ways(void **state)
{
	const struct check *check = *state;

	check->run(RT_MOVES_CALLS);
	if (sandbox_has_io_uring())
		check->run(RT_MOVES_URING);
}

enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

int
main(void)
{
	struct CMUnitTest tests[CHECKS + 2] = {
		cmocka_unit_test(io_uring_takes_many_at_a_time),
		cmocka_unit_test(without_io_uring_each_has_its_system_call_unless_it_was_asked_for),
	};

	for (unsigned i = 0; i < CHECKS; i++)
		tests[2 + i] = (struct CMUnitTest){ checks[i].name, run_both_ways, NULL, NULL, (void *)&checks[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
