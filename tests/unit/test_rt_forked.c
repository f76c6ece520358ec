/* rt, attended: connections that are given up while a child of the program, which has them too, lives on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt_attended_bench.h"

enum { STREAMS = RT_LINGER_MAX + 1, PATIENCE_MS = 10 * 1000 };

/* Streams of a reactor, plain sockets at their other ends, and a child that has all of them and does nothing. */
struct family {
	struct rt *rt;
	struct reactor *reactor;
	pid_t child;
	unsigned count;
	struct stream *streams[STREAMS];
	int peers[STREAMS];
};

static void
await_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, PATIENCE_MS), 1);
}

static void
connect_all(struct family *family)
{
	struct listener at = { .host = "127.0.0.1" };
	int listening = sock_listen(at.host, 0, NULL);

	assert_true(listening >= 0);
	assert_int_equal(sock_address(listening, false, at.host, sizeof(at.host), &at.port), 0);
	for (unsigned i = 0; i < family->count; i++) {
		struct reactor *reactor = family->reactor;

		assert_int_equal(reactor->world->connect(reactor, at.host, at.port, &family->streams[i]), 0);
		await_readable(listening);
		family->peers[i] = sock_accept(listening, NULL);
		assert_true(family->peers[i] >= 0);
	}
	close(listening);
}

/* It ends with us at the latest. */
static pid_t
idle_child(void)
{
	pid_t parent = getpid(), child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return child;
}

static void
family_begin(struct family *family, unsigned count)
{
	memset(family, 0, sizeof(*family));
	family->rt = attended_open(2, 0);
	family->reactor = rt_taken(family->rt);
	family->count = count;
	connect_all(family);
	rt_rest(family->reactor);
	family->child = idle_child();
}

static void
family_end(struct family *family)
{
	assert_int_equal(waitpid(family->child, NULL, WNOHANG), 0); /* it was there all the time */
	kill(family->child, SIGKILL);
	assert_int_equal(waitpid(family->child, NULL, 0), family->child);
	for (unsigned i = 0; i < family->count; i++)
		close(family->peers[i]);
	rt_give(family->reactor);
	rt_destroy(family->rt);
}

static void
close_stream(struct family *family, unsigned i, bool abort)
{
	family->streams[i]->ops->close(family->streams[i], abort);
}

/* What the peer finds when it reads: a number of bytes or a negative errno. */
static ssize_t
peer_finds(const struct family *family, unsigned i)
{
	uint8_t byte;
	struct iovec iov = { &byte, 1 };

	await_readable(family->peers[i]);
	return sock_read(family->peers[i], &iov, 1);
}

static void
an_abort_resets_the_connection_though_a_child_has_it(void **state)
{
	struct family family;

	family_begin(&family, 1);
	close_stream(&family, 0, true);
	assert_int_equal(peer_finds(&family, 0), -ECONNRESET);
	family_end(&family);
}

static void
what_was_not_sent_is_not_sent_after_an_abort(void **state)
{
	static uint8_t bytes[1 << 20];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct family family;
	size_t taken = 0, arrived = 0;
	ssize_t n;

	family_begin(&family, 1);
	while ((n = family.streams[0]->ops->writev(family.streams[0], &iov, 1)) > 0)
		taken += (size_t)n;
	assert_int_equal(n, -EAGAIN);
	close_stream(&family, 0, true);
	do {
		await_readable(family.peers[0]);
		n = sock_read(family.peers[0], &iov, 1);
		arrived += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	assert_int_equal(n, -ECONNRESET);
	assert_true(arrived < taken);
	family_end(&family);
}

static void
nothing_is_heard_of_one_that_was_aborted(void **state)
{
	struct family family;

	family_begin(&family, 1);
	assert_false(rt_readable(family.reactor, 0));
	close_stream(&family, 0, true);
	assert_false(rt_readable(family.reactor, 0));
	family_end(&family);
}

/* Until no closed stream is waited for any more: what is heard from here on is no timer. */
static void
rest_without_timers(struct reactor *reactor)
{
	rt_rest(reactor);
	while (timers_next(&reactor->timers) != UINT64_MAX)
		rt_attend(reactor, true);
}

/* So many that the first one is waited for less than the others: what its peer then says still comes to the child's. */
static void
an_orderly_end_arrives_and_nothing_is_heard_after_it(void **state)
{
	struct family family;

	family_begin(&family, STREAMS);
	for (unsigned i = 0; i < STREAMS; i++) {
		close_stream(&family, i, false);
		assert_int_equal(peer_finds(&family, i), 0);
	}
	rest_without_timers(family.reactor);
	assert_false(rt_readable(family.reactor, 0));
	assert_int_equal(send(family.peers[0], "more", 4, MSG_NOSIGNAL), 4);
	assert_false(rt_readable(family.reactor, 0));
	family_end(&family);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_abort_resets_the_connection_though_a_child_has_it),
		cmocka_unit_test(what_was_not_sent_is_not_sent_after_an_abort),
		cmocka_unit_test(nothing_is_heard_of_one_that_was_aborted),
		cmocka_unit_test(an_orderly_end_arrives_and_nothing_is_heard_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
