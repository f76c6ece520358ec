/* rt: sockets as streams, over loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rt/rt.h"

enum { ECHO_BYTES = 4 << 20, CLIENTS = 6 }; /* more clients than may be hot at once */

#define MUST(what) do { if (!(what)) abort(); } while (0)

static uint8_t
pattern(uint64_t at, unsigned salt)
{
	return (uint8_t)((at * 131 + (at >> 9) + salt * 17) & 0xff);
}

/* ---- a server that echoes, with a buffer smaller than what comes ---- */

struct echo {
	struct stream *stream;
	size_t begin, end;
	bool ended;
	uint8_t buffer[5000];
};

static void
echo_wants(struct echo *echo)
{
	unsigned events = 0;

	if (echo->begin < echo->end)
		events |= STREAM_WRITABLE;
	else if (!echo->ended)
		events |= STREAM_READABLE;
	echo->stream->ops->wants(echo->stream, events);
}

static void
echo_ready(struct stream *stream, unsigned events)
{
	struct echo *echo = stream->owner;
	struct iovec iov[3] = {
		{ echo->buffer, 7 }, { echo->buffer + 7, 993 }, { echo->buffer + 1000, 4000 },
	};
	ssize_t n;

	if (echo->begin == echo->end) {
		n = stream->ops->readv(stream, iov, 3);
		if (n == -EAGAIN)
			return;
		MUST(n >= 0);
		echo->ended = n == 0;
		echo->begin = 0;
		echo->end = (size_t)n;
	}
	if (echo->begin < echo->end) {
		iov[0] = (struct iovec){ echo->buffer + echo->begin, echo->end - echo->begin };
		n = stream->ops->writev(stream, iov, 1);
		MUST(n > 0 || n == -EAGAIN);
		if (n > 0)
			echo->begin += (size_t)n;
	}
	if (echo->ended) {
		stream->ops->close(stream, false);
		return;
	}
	echo_wants(echo);
}

static void
echo_start(struct stream *stream)
{
	struct echo *echo = arena_alloc(stream->reactor->arena, sizeof(*echo));

	MUST(echo != NULL);
	echo->stream = stream;
	stream->owner = echo;
	stream->ready = echo_ready;
	echo_wants(echo);
}

static void
accept_here(struct listener *listener, struct stream *stream)
{
	echo_start(stream);
}

/* ---- clients that check what comes back ---- */

struct client {
	struct stream *stream;
	struct reactor *reactor;
	unsigned salt;
	uint64_t bytes, sent, received;
	int error;
	bool closed;
	unsigned *left;
	uint8_t out[9000], in[7000];
};

static void
client_end(struct client *client)
{
	client->stream->ops->close(client->stream, false);
	client->stream = NULL;
	if (--*client->left == 0)
		rt_stop(rt_of(client->reactor));
}

static void
client_send(struct client *client)
{
	struct iovec iov[2] = { { client->out, 100 }, { client->out + 100, sizeof(client->out) - 100 } };
	uint64_t left = client->bytes - client->sent;
	ssize_t n;

	for (size_t i = 0; i < sizeof(client->out); i++)
		client->out[i] = pattern(client->sent + i, client->salt);
	if (left < sizeof(client->out))
		iov[0].iov_len = left < 100 ? left : 100;
	if (left < sizeof(client->out))
		iov[1].iov_len = left - iov[0].iov_len;
	n = client->stream->ops->writev(client->stream, iov, 2);
	if (n > 0)
		client->sent += (uint64_t)n;
	else if (n != -EAGAIN)
		client->error = (int)n;
}

static void
client_receive(struct client *client)
{
	struct iovec iov = { client->in, sizeof(client->in) };
	ssize_t n = client->stream->ops->readv(client->stream, &iov, 1);

	for (ssize_t i = 0; i < n; i++)
		MUST(client->in[i] == pattern(client->received + (uint64_t)i, client->salt));
	if (n > 0)
		client->received += (uint64_t)n;
	else if (n == 0)
		client->closed = true;
	else if (n != -EAGAIN)
		client->error = (int)n;
}

static void
client_ready(struct stream *stream, unsigned events)
{
	struct client *client = stream->owner;

	if ((events & STREAM_WRITABLE) && client->sent < client->bytes)
		client_send(client);
	if ((events & STREAM_READABLE) && client->error == 0)
		client_receive(client);
	if (client->error != 0 || client->closed || client->received == client->bytes)
		client_end(client);
	else
		stream->ops->wants(stream, STREAM_READABLE |
		    (client->sent < client->bytes ? (unsigned)STREAM_WRITABLE : 0));
}

static void
client_start(struct client *client, struct reactor *reactor, uint16_t port, unsigned *left)
{
	int rc = reactor->world->connect(reactor, "127.0.0.1", port, &client->stream);

	assert_int_equal(rc, 0);
	client->reactor = reactor;
	client->left = left;
	client->stream->owner = client;
	client->stream->ready = client_ready;
	client->stream->ops->wants(client->stream, STREAM_WRITABLE | STREAM_READABLE);
}

static struct rt *
open_rt(unsigned reactors, uint32_t spin_us, uint32_t socket_buffer)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	alarm(100);
	options.reactors = reactors;
	options.spin_us = spin_us;
	options.reactor = (struct reactor_options){ 16, 16 };
	options.sockets.sndbuf = options.sockets.rcvbuf = socket_buffer;
	assert_int_equal(rt_create(&rt, &options), 0);
	return rt;
}

static void
echo_through(struct rt *rt, struct listener *listener, struct reactor *from, unsigned clients, uint64_t bytes)
{
	struct client *all = calloc(clients, sizeof(*all));
	struct reactor *reactor = rt_reactor(rt, 0);
	unsigned left = clients;

	assert_non_null(all);
	snprintf(listener->host, sizeof(listener->host), "127.0.0.1");
	assert_int_equal(reactor->world->listen(reactor, listener), 0);
	assert_string_equal(listener->host, "127.0.0.1");
	assert_int_not_equal(listener->port, 0);
	for (unsigned i = 0; i < clients; i++) {
		all[i].salt = i;
		all[i].bytes = bytes;
		client_start(&all[i], from, listener->port, &left);
	}
	assert_int_equal(rt_run(rt), 0);
	for (unsigned i = 0; i < clients; i++) {
		assert_int_equal(all[i].error, 0);
		assert_int_equal(all[i].received, bytes);
	}
	reactor->world->unlisten(reactor, listener);
	free(all);
}

static void
what_is_echoed_through_small_buffers_is_what_was_sent(void **state)
{
	struct listener listener = { .accepted = accept_here };
	struct rt *rt = open_rt(1, 150, 8192);

	echo_through(rt, &listener, rt_reactor(rt, 0), 1, ECHO_BYTES);
	rt_destroy(rt);
}

static void
many_streams_are_served_beside_each_other(void **state)
{
	struct listener listener = { .accepted = accept_here };
	struct rt *rt = open_rt(1, 150, 0);

	echo_through(rt, &listener, rt_reactor(rt, 0), CLIENTS, ECHO_BYTES / 2);
	rt_destroy(rt);
}

static void
two_reactors_that_never_spin_wake_each_other_by_data(void **state)
{
	struct listener listener = { .accepted = accept_here };
	struct rt *rt = open_rt(2, 0, 16384);

	echo_through(rt, &listener, rt_reactor(rt, 1), 2, ECHO_BYTES / 4);
	rt_destroy(rt);
}

/* ---- handing a stream over ---- */

static void
accept_for_reactor_1(struct listener *listener, struct stream *stream)
{
	struct reactor *reactor = stream->reactor;

	stream->ops->detach(stream);
	reactor->world->post(reactor, 1, &(struct mail){ .words = { (uintptr_t)stream } });
}

static void
take_stream(struct reactor *reactor, const struct mail *mail)
{
	struct stream *stream = (struct stream *)(uintptr_t)mail->words[0];

	MUST(reactor->index == 1 && stream->ops->attach(stream, reactor) == 0);
	echo_start(stream);
}

static void
a_stream_given_to_another_reactor_loses_nothing(void **state)
{
	struct listener listener = { .accepted = accept_for_reactor_1 };
	struct rt *rt = open_rt(2, 20, 0);

	rt_reactor(rt, 1)->on_mail = take_stream;
	echo_through(rt, &listener, rt_reactor(rt, 0), CLIENTS, ECHO_BYTES / 4);
	rt_destroy(rt);
}

/* ---- ends ---- */

static void
nobody_listening_is_an_error_of_the_first_call(void **state)
{
	struct listener listener = { .accepted = accept_here, .host = "127.0.0.1" };
	struct rt *rt = open_rt(1, 0, 0);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct client client = { .bytes = 10 };
	unsigned left = 1;

	assert_int_equal(reactor->world->listen(reactor, &listener), 0);
	reactor->world->unlisten(reactor, &listener);
	client_start(&client, reactor, listener.port, &left);
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(client.error, -ECONNREFUSED);
	rt_destroy(rt);
}

/* Answers without having read what was asked, and closes. */
static void
accept_answer_and_close(struct listener *listener, struct stream *stream)
{
	uint8_t bytes[20000];
	struct iovec iov = { bytes, sizeof(bytes) };

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = pattern(i, 0);
	MUST(stream->ops->writev(stream, &iov, 1) == (ssize_t)sizeof(bytes));
	stream->ops->close(stream, *(bool *)listener->owner);
}

static void
run_rude_server(struct client *client, bool abort)
{
	struct listener listener = {
		.accepted = accept_answer_and_close, .owner = &abort, .host = "::1",
	};
	struct rt *rt = open_rt(1, 0, 0);
	struct reactor *reactor = rt_reactor(rt, 0);
	unsigned left = 1;

	if (reactor->world->listen(reactor, &listener) != 0) {
		/* No IPv6 here. */
		snprintf(listener.host, sizeof(listener.host), "localhost");
		assert_int_equal(reactor->world->listen(reactor, &listener), 0);
	}
	assert_int_equal(reactor->world->connect(reactor, listener.host, listener.port, &client->stream), 0);
	client->reactor = reactor;
	client->left = &left;
	client->stream->owner = client;
	client->stream->ready = client_ready;
	client->stream->ops->wants(client->stream, STREAM_WRITABLE | STREAM_READABLE);
	assert_int_equal(rt_run(rt), 0);
	rt_destroy(rt);
}

static void
bytes_written_before_a_close_arrive_though_the_peers_were_not_read(void **state)
{
	struct client client = { .bytes = 30000 };

	run_rude_server(&client, false);
	assert_int_equal(client.error, 0);
	assert_true(client.closed);
	assert_int_equal(client.received, 20000);
}

static void
an_abort_resets_the_connection(void **state)
{
	struct client client = { .bytes = 30000 };

	run_rude_server(&client, true);
	assert_false(client.closed);
	assert_true(client.error == -ECONNRESET || client.error == -EPIPE);
}

/* ---- no descriptors left ---- */

struct shortage {
	struct timer relief;
	struct reactor *reactor;
	int taken[4096];
	int count;
};

static void
relieve(struct timer *timer)
{
	struct shortage *shortage = container_of(timer, struct shortage, relief);

	while (shortage->count > 0)
		close(shortage->taken[--shortage->count]);
}

static void
accepting_rests_while_there_are_no_descriptors(void **state)
{
	struct listener listener = { .accepted = accept_here, .host = "127.0.0.1" };
	struct rt *rt = open_rt(1, 0, 0);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct shortage shortage = { .relief = { .fire = relieve } };
	struct client client = { .bytes = 1000 };
	struct rlimit before, few;
	unsigned left = 1;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(reactor->world->listen(reactor, &listener), 0);
	client_start(&client, reactor, listener.port, &left);
	while ((fd = dup(2)) >= 0)
		shortage.taken[shortage.count++] = fd;
	timer_set(&reactor->timers, &shortage.relief, reactor->now_ns + 30000000);
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(client.error, 0);
	assert_int_equal(client.received, 1000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	rt_destroy(rt);
}

/* ---- names ---- */

static void
a_place_that_cannot_be_listened_at_is_an_error(void **state)
{
	struct listener nowhere = { .accepted = accept_here, .host = "192.0.2.1" };
	struct listener first = { .accepted = accept_here, .host = "127.0.0.1" };
	struct listener same = first;
	struct rt *rt = open_rt(1, 0, 0);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct stream *stream;
	char name[80], expected[80];

	assert_int_equal(reactor->world->listen(reactor, &nowhere), -EADDRNOTAVAIL);
	assert_int_equal(reactor->world->listen(reactor, &first), 0);
	same.port = first.port;
	assert_int_equal(reactor->world->listen(reactor, &same), -EADDRINUSE);
	assert_int_equal(reactor->world->connect(reactor, "localhost", first.port, &stream), 0);
	stream->ops->name(stream, true, name, sizeof(name));
	snprintf(expected, sizeof(expected), "127.0.0.1:%u", first.port);
	assert_string_equal(name, expected);
	stream->ops->close(stream, true);
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_echoed_through_small_buffers_is_what_was_sent),
		cmocka_unit_test(many_streams_are_served_beside_each_other),
		cmocka_unit_test(two_reactors_that_never_spin_wake_each_other_by_data),
		cmocka_unit_test(a_stream_given_to_another_reactor_loses_nothing),
		cmocka_unit_test(nobody_listening_is_an_error_of_the_first_call),
		cmocka_unit_test(bytes_written_before_a_close_arrive_though_the_peers_were_not_read),
		cmocka_unit_test(an_abort_resets_the_connection),
		cmocka_unit_test(accepting_rests_while_there_are_no_descriptors),
		cmocka_unit_test(a_place_that_cannot_be_listened_at_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
