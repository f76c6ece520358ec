/*
 * recovery.c - weir-recovery: an ordered stream with so many requests in flight, whose target or itself is killed.
 *
 *     weir-recovery IN_FLIGHT FROM UNTIL BOARD URI
 *
 * A user of libweir as others are.  It opens the stream, looks at what is there of the groups FROM to UNTIL, which
 * those before it wrote, and writes on: each group is 4 KiB, none lies next to another, so none is merged; twice
 * IN_FLIGHT are kept until they are durable, 8 at least.  BOARD is a file of 16 bytes with what is known when it is
 * killed: groups that were taken on, and those that are durable.  It says
 *
 *     opened NS THERE      so long weir_ordered_open() took; groups are there in a row, and nothing after them to UNTIL
 *     writing              some hundreds of groups are durable since
 *     lost KEPT            the target is away; so many groups are not durable, and no more are written
 *     back UP COMPLETE DURABLE SENT    CLOCK_MONOTONIC in ns when it was connected again, and when all of that was
 *                          complete, and durable; commands since then.  It was read, and is there.  Now it writes on.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

enum { BLOCK = 4096, KEPT = 2048, WARM = 256 };

struct board {
	uint64_t written, durable;
};

static unsigned char blocks[KEPT][BLOCK]; /* by number of the group, round and round */
static struct board *board;
static struct weir_ordered *volume;
static uint64_t first, wanted; /* groups that were there when it began; that are to be complete */
static uint64_t complete_ns, durable_ns;
static _Atomic uint64_t up_ns;

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
fill(unsigned char *block, uint64_t number)
{
	for (unsigned i = 0; i < BLOCK; i += 8)
		memcpy(block + i, &(uint64_t){ (number + 1) * UINT64_C(0x9e3779b97f4a7c15) }, 8);
}

static uint64_t
place(uint64_t number)
{
	return number * 2 * BLOCK;
}

/* 1: the block is what it should be, 0: zeros; -1: something else. */
static int
look(uint64_t number)
{
	static unsigned char should[BLOCK], got[BLOCK], zeros[BLOCK];

	fill(should, number);
	if (weir_ordered_read(volume, got, BLOCK, place(number)) != 0)
		errx(1, "reading: %s", weir_error());
	return memcmp(got, should, BLOCK) == 0 ? 1 : memcmp(got, zeros, BLOCK) == 0 ? 0 : -1;
}

/* How many are there in a row; none may be after them. */
static uint64_t
verify(uint64_t from, uint64_t until)
{
	uint64_t number = from, there;
	int is = 0;

	while (number < until && (is = look(number)) == 1)
		number++;
	there = number;
	for (; is == 0 && number < until; number++)
		is = look(number);
	if (there < until && is != 0)
		errx(1, "group %" PRIu64 " is not what it should be, after %" PRIu64, number, there);
	return there;
}

/* ---- what the library tells ---- */

static void
on_event(void *arg, const struct weir_event *event)
{
	if (event->kind == WEIR_EVENT_PATH_UP)
		up_ns = clock_ns();
}

static void
on_complete(void *arg, uint64_t group)
{
	if (wanted != 0 && first + group >= wanted && complete_ns == 0)
		complete_ns = clock_ns();
}

static void
on_durable(void *arg, uint64_t group)
{
	board->durable = first + group;
	if (wanted != 0 && board->durable >= wanted && durable_ns == 0)
		durable_ns = clock_ns();
}

/* ---- what is done ---- */

/* Until the target is away; says when `until` are durable. */
static void
write_on(uint64_t until, struct weir_ordered_state *state)
{
	uint64_t end = weir_ordered_size(volume) / BLOCK / 2;
	bool said = false;

	do {
		int rc = 0;

		while (rc == 0 && board->written < board->durable + KEPT) {
			unsigned char *block = blocks[board->written % KEPT];

			if (board->written == end)
				errx(1, "the volume is full");
			fill(block, board->written);
			rc = weir_ordered_write(volume, block, BLOCK, place(board->written), WEIR_GROUP_END, NULL);
			board->written += rc == 0;
		}
		if ((rc != 0 && rc != -EAGAIN) || weir_ordered_poll(volume, 1000) < 0)
			errx(1, "writing: %s", weir_error());
		if (!said && board->durable >= until) {
			puts("writing");
			said = true;
		}
		weir_ordered_state(volume, state);
	} while (state->away == 0);
}

static void
come_back(const struct weir_ordered_state *lost)
{
	struct weir_ordered_state now;
	uint64_t from = board->durable;

	printf("lost %" PRIu64 "\n", board->written - from);
	wanted = board->written;
	complete_ns = first + lost->complete >= wanted ? clock_ns() : 0;
	durable_ns = 0;
	if (weir_ordered_wait(volume, 0, -1) < 0)
		errx(1, "waiting: %s", weir_error());
	wanted = 0;
	weir_ordered_state(volume, &now);
	if (verify(from, board->written) != board->written)
		errx(1, "what was durable is not there");
	printf("back %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", up_ns, complete_ns, durable_ns,
	    now.commands - lost->commands);
}

/* How long opening took, in ns. */
static uint64_t
open_stream(uint32_t in_flight, const char *uri)
{
	struct weir_host_options host_options = WEIR_OPTIONS(weir_host_options);
	struct weir_subsys_options subsys_options = WEIR_OPTIONS(weir_subsys_options);
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);
	struct weir_member member = { .nsid = 1 };
	struct weir_host *host;
	uint64_t began;

	host_options.hostnqn = "nqn.2026-11.example:recovery";
	subsys_options.reconnect_ms = subsys_options.reconnect_max_ms = 10;
	subsys_options.event = on_event;
	options.depth = in_flight;
	options.pieces = in_flight < 4 ? 8 : 2 * in_flight;
	options.complete = on_complete;
	options.durable = on_durable;
	if (weir_host_create(&host_options, &host) < 0 ||
	    weir_subsys_connect(host, uri, &subsys_options, &member.subsys) < 0)
		errx(1, "%s", weir_error());
	began = clock_ns();
	if (weir_ordered_open(&member, 1, &options, &volume) < 0)
		errx(1, "opening: %s", weir_error());
	return clock_ns() - began;
}

int
main(int argc, char **argv)
{
	struct weir_ordered_state state;
	uint64_t took_ns;
	int fd;

	if (argc != 6)
		errx(2, "usage: weir-recovery IN_FLIGHT FROM UNTIL BOARD URI");
	setvbuf(stdout, NULL, _IOLBF, 0);
	fd = open(argv[4], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*board)) != 0)
		err(1, "%s", argv[4]);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		err(1, "%s", argv[4]);
	took_ns = open_stream((uint32_t)strtoul(argv[1], NULL, 10), argv[5]);
	first = verify(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	board->written = board->durable = first;
	printf("opened %" PRIu64 " %" PRIu64 "\n", took_ns, first);
	for (;;) {
		write_on(board->durable + WARM, &state);
		come_back(&state);
	}
}
