/*
 * nbd_client.c - weir-nbd-client: the load of `weir perf` through libnbd, as fast as libnbd lets us.
 *
 * What Weir's pair is compared with: `depth` I/Os in flight in total over one
 * or several connections of one thread, asynchronously.  libnbd checks nothing
 * and clears no buffer that will be filled anyway; of a socket that has
 * something all replies are taken at once.  It knows nothing of Weir but random numbers.
 */
#include <errno.h>
#include <getopt.h>
#include <libnbd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/bytes.h"
#include "base/rng.h"

enum { BLOCK = 4096, CONNECTIONS_MAX = 64, DEPTH_MAX = 1024 };

struct slot {
	struct load *load;
	unsigned connection;
	uint64_t place; /* byte of the disk */
	uint8_t *buffer;
};

struct load {
	const char *host, *port, *congestion;
	unsigned connections, depth;
	int cpu; /* -1: wherever */
	bool write, sequential, pattern, spin, simple;
	uint64_t ios, seed;

	struct nbd_handle *nbd[CONNECTIONS_MAX];
	struct slot slots[DEPTH_MAX], *freed[DEPTH_MAX];
	unsigned freed_count;
	uint64_t blocks, issued, done;
	struct rng rng;
};

__attribute__((noreturn, format(printf, 1, 2))) static void
die(const char *format, ...)
{
	const char *said = nbd_get_error();
	va_list args;

	va_start(args, format);
	fputs("weir-nbd-client: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "%s%s\n", said != NULL ? ": " : "", said != NULL ? said : "");
	exit(1);
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- what is written with --pattern, and must be read ---- */

static uint64_t
word_at(uint64_t place)
{
	return (place / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void
fill(const struct slot *slot)
{
	for (unsigned i = 0; i < BLOCK; i += 8)
		put_le64(slot->buffer + i, word_at(slot->place + i));
}

static void
check(const struct slot *slot)
{
	for (unsigned i = 0; i < BLOCK; i += 8) {
		if (get_le64(slot->buffer + i) != word_at(slot->place + i))
			die("byte %llu of the disk is not what was written there", (unsigned long long)slot->place + i);
	}
}

/* ---- the load ---- */

/* Called by libnbd from within its state machine, where nothing new may be issued. */
static int
completed(void *user, int *error)
{
	struct slot *slot = user;
	struct load *load = slot->load;

	if (*error != 0)
		die("an I/O failed: %s", strerror(*error));
	if (load->pattern && !load->write)
		check(slot);
	load->freed[load->freed_count++] = slot;
	load->done++;
	return 1; /* libnbd forgets the command */
}

static void
issue(struct load *load, struct slot *slot)
{
	struct nbd_handle *nbd = load->nbd[slot->connection];
	nbd_completion_callback callback = { .callback = completed, .user_data = slot };
	uint64_t block = load->sequential ? load->issued % load->blocks : rng_below(&load->rng, load->blocks);
	int64_t cookie;

	load->issued++;
	slot->place = block * BLOCK;
	if (load->pattern && load->write)
		fill(slot);
	cookie = load->write ? nbd_aio_pwrite(nbd, slot->buffer, BLOCK, slot->place, callback, 0) :
	    nbd_aio_pread(nbd, slot->buffer, BLOCK, slot->place, callback, 0);
	if (cookie < 0)
		die("an I/O cannot be issued");
}

static void
issue_freed(struct load *load)
{
	while (load->freed_count > 0 && load->issued < load->ios)
		issue(load, load->freed[--load->freed_count]);
}

/* One call of libnbd takes one reply, and one that finds none would make all that is issued wait for one. */
static void
take_replies(const struct load *load, struct nbd_handle *nbd)
{
	int header = load->simple ? 16 : load->write ? 20 : 28, bytes = 0;

	if (ioctl(nbd_aio_get_fd(nbd), FIONREAD, &bytes) != 0)
		die("FIONREAD: %s", strerror(errno));
	do {
		if (nbd_aio_notify_read(nbd) != 0)
			die("the connection");
		bytes -= header + (load->write ? 0 : BLOCK);
	} while (bytes > 0);
}

static void
turn(const struct load *load)
{
	struct pollfd fds[CONNECTIONS_MAX];

	for (unsigned i = 0; i < load->connections; i++) {
		unsigned direction = nbd_aio_get_direction(load->nbd[i]);

		fds[i] = (struct pollfd){ .fd = nbd_aio_get_fd(load->nbd[i]), .events = (short)(
		    (direction & LIBNBD_AIO_DIRECTION_READ ? POLLIN : 0) |
		    (direction & LIBNBD_AIO_DIRECTION_WRITE ? POLLOUT : 0)) };
	}
	if (poll(fds, load->connections, load->spin ? 0 : -1) < 0)
		die("poll: %s", strerror(errno));
	for (unsigned i = 0; i < load->connections; i++) {
		if (fds[i].revents & ~POLLOUT)
			take_replies(load, load->nbd[i]);
		else if (fds[i].revents != 0 && nbd_aio_notify_write(load->nbd[i]) != 0)
			die("the connection");
	}
}

static void
run(struct load *load)
{
	while (load->done < load->ios) {
		issue_freed(load);
		turn(load);
	}
}

/* ---- set-up ---- */

static struct nbd_handle *
open_connection(const struct load *load)
{
	struct nbd_handle *nbd = nbd_create();

	if (nbd == NULL || nbd_set_strict_mode(nbd, 0) != 0 || nbd_set_pread_initialize(nbd, false) != 0 ||
	    nbd_set_request_structured_replies(nbd, !load->simple) != 0 ||
	    nbd_connect_tcp(nbd, load->host, load->port) != 0)
		die("%s:%s", load->host, load->port);
	if (load->connections > 1 && nbd_can_multi_conn(nbd) != 1)
		die("the server does not allow several connections");
	if (load->congestion != NULL && setsockopt(nbd_aio_get_fd(nbd), IPPROTO_TCP, TCP_CONGESTION, load->congestion,
	    (socklen_t)strlen(load->congestion)) != 0)
		die("congestion control %s: %s", load->congestion, strerror(errno));
	return nbd;
}

static void
open_all(struct load *load)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)load->cpu, &set);
	if (load->cpu >= 0 && sched_setaffinity(0, sizeof(set), &set) != 0)
		die("processor %d: %s", load->cpu, strerror(errno));
	for (unsigned i = 0; i < load->connections; i++)
		load->nbd[i] = open_connection(load);
	load->blocks = (uint64_t)nbd_get_size(load->nbd[0]) / BLOCK;
	if (load->blocks == 0)
		die("an empty disk");
	for (unsigned i = 0; i < load->depth; i++) {
		struct slot *slot = &load->slots[i];

		*slot = (struct slot){ load, i % load->connections, 0, aligned_alloc(BLOCK, BLOCK) };
		if (slot->buffer == NULL)
			die("no memory");
		memset(slot->buffer, 0, BLOCK);
		load->freed[load->freed_count++] = slot;
	}
	rng_seed(&load->rng, load->seed);
}

static const struct option names[] = {
	{ "host", required_argument, NULL, 'h' }, { "port", required_argument, NULL, 'p' },
	{ "congestion", required_argument, NULL, 'g' }, { "connections", required_argument, NULL, 'c' },
	{ "qd", required_argument, NULL, 'q' }, { "ios", required_argument, NULL, 'i' },
	{ "cpu", required_argument, NULL, 'u' }, { "seed", required_argument, NULL, 's' },
	{ "write", no_argument, NULL, 'w' }, { "sequential", no_argument, NULL, 'l' },
	{ "pattern", no_argument, NULL, 't' }, { "spin", no_argument, NULL, 'n' },
	{ "simple", no_argument, NULL, 'm' }, { NULL, 0, NULL, 0 },
};

static const char usage[] =
"usage: weir-nbd-client --port PORT --ios N [OPTION...]\n"
"  --host ADDR          127.0.0.1\n"
"  --connections N      in one thread (1)\n"
"  --qd N               I/Os of 4 KiB in flight over all connections (32)\n"
"  --write              writes instead of reads\n"
"  --sequential         from the start of the disk instead of random places\n"
"  --pattern            write what belongs to the place, or look whether that is read\n"
"  --spin               do not sleep in poll()\n"
"  --simple             ask for simple replies, not structured ones\n"
"  --cpu N, --congestion NAME, --seed N\n";

static void
parse(struct load *load, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'h': load->host = optarg; break;
		case 'p': load->port = optarg; break;
		case 'g': load->congestion = optarg; break;
		case 'c': load->connections = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'q': load->depth = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'i': load->ios = strtoull(optarg, NULL, 10); break;
		case 'u': load->cpu = (int)strtol(optarg, NULL, 10); break;
		case 's': load->seed = strtoull(optarg, NULL, 10); break;
		case 'w': load->write = true; break;
		case 'l': load->sequential = true; break;
		case 't': load->pattern = true; break;
		case 'n': load->spin = true; break;
		case 'm': load->simple = true; break;
		default: fputs(usage, stderr); exit(2);
		}
	}
	if (load->port == NULL || load->ios == 0 || load->connections < 1 || load->connections > CONNECTIONS_MAX ||
	    load->depth < load->connections || load->depth > DEPTH_MAX) {
		fputs(usage, stderr);
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	static struct load load = { .host = "127.0.0.1", .connections = 1, .depth = 32, .cpu = -1, .seed = 1 };
	uint64_t begin_ns;
	double seconds;

	parse(&load, argc, argv);
	open_all(&load);
	begin_ns = now_ns();
	run(&load);
	seconds = (double)(now_ns() - begin_ns) / 1e9;
	printf("{\"ios\":%llu,\"seconds\":%.9f,\"iops\":%.0f,\"checked\":%s}\n", (unsigned long long)load.done, seconds,
	    (double)load.done / seconds, load.pattern && !load.write ? "true" : "false");
	for (unsigned i = 0; i < load.connections; i++) {
		nbd_shutdown(load.nbd[i], 0);
		nbd_close(load.nbd[i]);
	}
	return 0;
}
