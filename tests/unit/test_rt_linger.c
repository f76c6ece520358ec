/* rt: connections that were closed, while their peers do not close them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "rt/rt.h"

static struct rt *
open_rt(void)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	options.reactor = (struct reactor_options){ 16, 16 };
	assert_int_equal(rt_create(&rt, &options), 0);
	alarm(100);
	return rt;
}

/* Peers that stay, and a server that closes each connection at once. */
struct leaving {
	struct rt *rt;
	unsigned left;
};

static void
close_at_once(struct listener *listener, struct stream *stream)
{
	struct leaving *leaving = listener->owner;

	stream->ops->close(stream, false);
	if (--leaving->left == 0)
		rt_stop(leaving->rt);
}

static unsigned
open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 2048; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void
of_peers_that_never_close_some_are_waited_for_and_the_others_have_their_end_too(void **state)
{
	enum { PEERS = RT_LINGER_MAX * 3 };
	struct rt *rt = open_rt();
	struct reactor *reactor = rt_reactor(rt, 0);
	struct leaving leaving = { rt, PEERS };
	struct listener listener = { .accepted = close_at_once, .owner = &leaving, .host = "127.0.0.1" };
	struct sock_options options = { 0 };
	unsigned before = open_descriptors(); /* with those of rt */
	int peers[PEERS];

	assert_int_equal(reactor->world->listen(reactor, &listener), 0);
	for (unsigned i = 0; i < PEERS; i++) {
		peers[i] = sock_connect(listener.host, listener.port, &options);
		assert_true(peers[i] >= 0);
	}
	assert_int_equal(rt_run(rt), 0);
	assert_true(open_descriptors() <= before + 1 + PEERS + RT_LINGER_MAX);
	for (unsigned i = 0; i < PEERS; i++) {
		char byte;

		assert_int_equal(read(peers[i], &byte, 1), 0);
		close(peers[i]);
	}
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_peers_that_never_close_some_are_waited_for_and_the_others_have_their_end_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
