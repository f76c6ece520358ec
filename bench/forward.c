/*
 * forward.c - weir-forward: a path that can be cut.
 *
 *     weir-forward LISTEN-ADDR:PORT CONNECT-ADDR:PORT
 *
 * Accepts, connects on, and copies bytes both ways as they come; a half that
 * is closed in order is closed in order on the other side, and a reset is a
 * reset there.  What had come before a reset is passed on, and then the end is
 * one in order, which cannot overtake it as a reset would.
 *
 * However the process ends, SIGKILL included, both peers see a reset at once:
 * sockets linger for no time from their first moment, which the kernel heeds
 * too when it closes what a killed process leaves; only where all has been
 * passed on in order this is taken back.  It knows no protocol.
 *
 * It says "forward: busy" for each connection by which much has come from who
 * connected.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024, EVENTS = 64, BACKLOG = 128, MUCH = 64 * 1024 };

/* One of the two sockets of a connection that is passed on. */
struct end {
	struct end *peer, *next_gone;
	int fd;                /* -1: closed, and freed after this round of events */
	bool connecting;
	bool came;             /* of the one who connected to us */
	bool watched;
	bool ended;            /* it sends no more */
	bool passed;           /* the peer has been told so, behind all bytes */
	uint32_t events;
	uint64_t passed_on;    /* bytes */
	size_t first, count;   /* buffer[first..first + count) came here and waits for the peer */
	uint8_t buffer[BUFFER];
};

static int epoll;
static struct sockaddr_in onward;
static struct end *gone;

static void
die(const char *what)
{
	fprintf(stderr, "weir-forward: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
set_linger(int fd, bool reset)
{
	struct linger linger = { .l_onoff = reset, .l_linger = 0 };

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) != 0)
		die("SO_LINGER");
}

static void
close_end(struct end *end, bool reset)
{
	set_linger(end->fd, reset);
	close(end->fd);
	end->fd = -1;
	end->next_gone = gone;
	gone = end;
}

static void
close_both(struct end *end, bool reset)
{
	close_end(end->peer, reset);
	close_end(end, reset);
}

/* What epoll is to tell of, from what can be done.  Who has hung up and is of no interest would be told of for ever. */
static void
watch(struct end *end, bool hung_up)
{
	struct epoll_event event = { .data.ptr = end };

	if (!end->ended && end->count == 0)
		event.events |= EPOLLIN;
	if (end->connecting || end->peer->count > 0)
		event.events |= EPOLLOUT;
	if (event.events == 0 && hung_up) {
		if (end->watched)
			epoll_ctl(epoll, EPOLL_CTL_DEL, end->fd, NULL);
		end->watched = false;
	} else if (end->watched ? event.events != end->events : event.events != 0) {
		if (epoll_ctl(epoll, end->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, end->fd, &event) != 0)
			die("epoll_ctl");
		end->watched = true;
	}
	end->events = event.events;
}

/* 0, or -1: the connection is lost. */
static int
receive(struct end *end)
{
	ssize_t n;

	if (end->ended || end->count > 0)
		return 0;
	n = recv(end->fd, end->buffer, BUFFER, 0);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	end->ended = n == 0;
	end->first = 0;
	end->count = (size_t)n;
	return 0;
}

static void
count_passed(struct end *end, size_t bytes)
{
	if (end->came && end->passed_on < MUCH && end->passed_on + bytes >= MUCH) {
		printf("forward: busy\n");
		fflush(stdout);
	}
	end->passed_on += bytes;
}

/* To the peer what came here, and its end behind it.  0, or -1: the connection is lost. */
static int
pass(struct end *end)
{
	struct end *to = end->peer;

	if (to->connecting)
		return 0;
	while (end->count > 0) {
		ssize_t n = send(to->fd, end->buffer + end->first, end->count, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		end->first += (size_t)n;
		end->count -= (size_t)n;
		count_passed(end, (size_t)n);
	}
	if (end->ended && !end->passed) {
		end->passed = true;
		return shutdown(to->fd, SHUT_WR);
	}
	return 0;
}

/* What had come before a reset: a path that was held up delivers late.  Whether there was any, and all has gone. */
static bool
pass_last(struct end *end)
{
	bool some = end->count > 0;

	while (pass(end) == 0 && end->count == 0 && !end->ended && receive(end) == 0 && end->count > 0)
		some = true;
	/* Closing with something unread would be a reset. */
	while (end->count == 0 && some && recv(end->peer->fd, end->buffer, BUFFER, 0) > 0)
		continue;
	return some && end->count == 0;
}

static void
serve(struct end *end, uint32_t events)
{
	if (end->fd < 0)
		return;
	if (events & EPOLLOUT)
		end->connecting = false;
	if (events & EPOLLERR) {
		close_both(end, !pass_last(end));
	} else if (receive(end) != 0 || pass(end) != 0 || pass(end->peer) != 0) {
		close_both(end, true);
	} else if (end->passed && end->peer->passed) {
		close_both(end, false);
	} else {
		watch(end, events & EPOLLHUP);
		watch(end->peer, false);
	}
}

static struct end *
end_create(int fd)
{
	struct end *end = calloc(1, sizeof(*end));
	int one = 1;

	if (fd < 0 || end == NULL)
		die("a connection");
	set_linger(fd, true);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	end->fd = fd;
	return end;
}

static void
accept_one(int listening)
{
	int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct end *here, *there;

	if (fd < 0)
		return; /* it has gone again */
	here = end_create(fd);
	here->came = true;
	there = end_create(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	here->peer = there;
	there->peer = here;
	there->connecting = true;
	if (connect(there->fd, (struct sockaddr *)&onward, sizeof(onward)) != 0 && errno != EINPROGRESS) {
		close_both(here, true);
		return;
	}
	watch(here, false);
	watch(there, false);
}

static struct sockaddr_in
address(char *text)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	char *colon = strrchr(text, ':');

	if (colon != NULL)
		*colon = '\0';
	if (colon == NULL || inet_pton(AF_INET, text, &at.sin_addr) != 1) {
		fprintf(stderr, "weir-forward: '%s': not IPV4-ADDR:PORT\n", text);
		exit(2);
	}
	at.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	return at;
}

static int
listen_at(struct sockaddr_in at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	struct epoll_event event = { .events = EPOLLIN };
	socklen_t length = sizeof(at);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &length) != 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		die("listening");
	printf("forward: listening on %s:%u\nforward: ready\n", inet_ntoa(at.sin_addr), ntohs(at.sin_port));
	fflush(stdout);
	return fd;
}

int
main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];
	int listening;

	if (argc != 3) {
		fprintf(stderr, "usage: weir-forward LISTEN-ADDR:PORT CONNECT-ADDR:PORT\n");
		return 2;
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	onward = address(argv[2]);
	listening = listen_at(address(argv[1]));
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == NULL)
				accept_one(listening);
			else
				serve(events[i].data.ptr, events[i].events);
		}
		while (gone != NULL) {
			struct end *end = gone;

			gone = end->next_gone;
			free(end);
		}
	}
}
