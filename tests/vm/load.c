/*
 * load.c - keeps a namespace busy through libweir, verifies all it reads, and says what it is told meanwhile.
 *
 *     weir-load URI [--queues=N] [--depth=N] [--blocks=N] [--kato=MS] [--loss=MS] [--margin=MS]
 *         [--hdgst] [--ddgst] [--zeroes] [--trim] [--stop-on-error]
 *
 * Each I/O in flight has blocks of its own, so that what a read must bring is
 * known whatever the order.  A line on standard input asks: `more N` is
 * answered `more` when N I/Os have ended since, `count` by how many there were;
 * at `end`, or its end, all of the namespace that was used is read once more
 * and a JSON object says what came of it.  Events come as lines `event KIND
 * PATH WHY`.  Exit status 1: nothing could be begun.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "base/rng.h"

enum { QUEUES_MAX = 16, DEPTH_MAX = 64, AREA_BLOCKS = 512, ERRORS_MAX = 200 };

/* What a block may hold: of which write it is, or nothing that is known. */
static const uint32_t anything = UINT32_MAX;

/* One I/O, and the blocks that it alone uses. */
struct slot {
	struct queue *queue;
	uint64_t first;          /* of its area */
	uint32_t *written;       /* of each block of the area: by which of its writes; 0: zeros */
	uint32_t writes;
	uint8_t *data;
	struct iovec iov;
	struct weir_range range;
	struct weir_io io;
	uint64_t begun_ns;
	bool busy;
	uint32_t checked;        /* blocks of the last reading */
};

struct queue {
	struct weir_queue *queue;
	struct slot *slots;
};

static struct {
	unsigned queues, depth, max_blocks;
	bool zeroes, trim, stop_on_error;
} want = { .queues = 1, .depth = 8, .max_blocks = 16 };

static struct weir_namespace ns;
static struct queue queues[QUEUES_MAX];
static uint32_t area_blocks;
static struct rng rng;
static bool ending, reading; /* no more is begun; what was written is read once more */
static uint64_t ended, more_at, wrong, verified, failed, slowest_ns[WEIR_OP_COUNT];
static char errors[ERRORS_MAX];

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- what blocks hold ---- */

static void
fill(uint8_t *block, uint64_t lba, uint32_t write)
{
	for (uint32_t at = 0; at < ns.block_size; at += 16) {
		uint64_t words[2] = { lba << 16 | at >> 4, write };

		memcpy(block + at, words, sizeof(words));
	}
}

static bool
holds(const uint8_t *block, uint64_t lba, uint32_t write)
{
	for (uint32_t at = 0; at < ns.block_size; at += 16) {
		uint64_t words[2] = { write != 0 ? lba << 16 | at >> 4 : 0, write };

		if (memcmp(block + at, words, sizeof(words)) != 0)
			return false;
	}
	return true;
}

static uint32_t *
known(struct slot *slot)
{
	uint64_t lba = slot->io.op == WEIR_OP_DEALLOCATE ? slot->range.lba : slot->io.lba;

	return slot->written + (lba - slot->first);
}

static void
check(struct slot *slot)
{
	for (uint32_t i = 0; i < slot->io.blocks; i++) {
		uint32_t write = known(slot)[i];
		uint64_t lba = slot->io.lba + i;

		if (write == anything)
			continue;
		verified++;
		if (holds(slot->data + (size_t)i * ns.block_size, lba, write))
			continue;
		if (wrong++ < 4)
			fprintf(stderr, "block %" PRIu64 " is not what write %u of it left\n", lba, write);
	}
}

/* ---- I/O ---- */

static void
note(struct slot *slot, const struct weir_result *result)
{
	uint32_t blocks = slot->io.op == WEIR_OP_DEALLOCATE ? slot->range.blocks : slot->io.blocks, now = anything;

	switch (slot->io.op) {
	case WEIR_OP_READ:
		if (result->error == 0)
			check(slot);
		return;
	case WEIR_OP_WRITE:
		now = slot->writes;
		break;
	case WEIR_OP_WRITE_ZEROES:
		now = 0;
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < blocks; i++)
		known(slot)[i] = result->error == 0 ? now : anything;
}

static void
done(void *arg, const struct weir_result *result)
{
	struct slot *slot = arg;
	uint64_t took = now_ns() - slot->begun_ns;

	if (!slot->busy) {
		fprintf(stderr, "an I/O has ended twice\n");
		abort();
	}
	slot->busy = false;
	ended++;
	if (took > slowest_ns[slot->io.op])
		slowest_ns[slot->io.op] = took;
	if (result->error != 0) {
		failed++;
		snprintf(errors, sizeof(errors), "%s: %s", strerrorname_np(-result->error),
		    weir_status_text(result->status));
		ending |= want.stop_on_error;
	}
	note(slot, result);
}

static void
submit(struct slot *slot)
{
	int rc;

	slot->busy = true;
	slot->begun_ns = now_ns();
	slot->iov = (struct iovec){ slot->data, (size_t)slot->io.blocks * ns.block_size };
	slot->io.nsid = ns.nsid;
	slot->io.iov = &slot->iov;
	slot->io.iov_count = slot->io.op == WEIR_OP_READ || slot->io.op == WEIR_OP_WRITE;
	slot->io.done = done;
	slot->io.arg = slot;
	rc = weir_queue_submit(slot->queue->queue, &slot->io);
	if (rc == 0)
		return;
	/* Of a namespace that is gone nothing is taken on any more. */
	done(slot, &(struct weir_result){ .error = rc });
	ending = true;
}

static uint8_t
some_op(void)
{
	uint64_t one = rng_below(&rng, 100);

	if (one < 6 && want.zeroes)
		return WEIR_OP_WRITE_ZEROES;
	if (one < 12 && want.trim)
		return WEIR_OP_DEALLOCATE;
	return one < 60 ? WEIR_OP_WRITE : WEIR_OP_READ;
}

static void
begin(struct slot *slot)
{
	uint32_t blocks = (uint32_t)(1 + rng_below(&rng, want.max_blocks));
	uint64_t lba = slot->first + rng_below(&rng, area_blocks - blocks + 1);

	slot->io = (struct weir_io){ .op = some_op(), .lba = lba, .blocks = blocks };
	if (slot->io.op == WEIR_OP_DEALLOCATE) {
		slot->range = (struct weir_range){ lba, blocks };
		slot->io.ranges = &slot->range;
		slot->io.range_count = 1;
	} else if (slot->io.op == WEIR_OP_WRITE) {
		slot->writes++;
		for (uint32_t i = 0; i < blocks; i++)
			fill(slot->data + (size_t)i * ns.block_size, lba + i, slot->writes);
	}
	submit(slot);
}

/* The next piece of its area. */
static void
read_back(struct slot *slot)
{
	uint32_t left = area_blocks - slot->checked, blocks = left < want.max_blocks ? left : want.max_blocks;

	if (blocks == 0 || (failed > 0 && want.stop_on_error))
		return;
	slot->io = (struct weir_io){ .op = WEIR_OP_READ, .lba = slot->first + slot->checked, .blocks = blocks };
	slot->checked += blocks;
	submit(slot);
}

/* Whether anything is under way. */
static bool
go_on(void)
{
	bool busy = false;

	for (unsigned i = 0; i < want.queues * want.depth; i++) {
		struct slot *slot = &queues[i / want.depth].slots[i % want.depth];

		if (!slot->busy && reading)
			read_back(slot);
		else if (!slot->busy && !ending)
			begin(slot);
		busy |= slot->busy;
	}
	return busy;
}

/* ---- who asks, and what is told ---- */

static void
answer(const char *line)
{
	if (strncmp(line, "more ", 5) == 0)
		more_at = ended + strtoull(line + 5, NULL, 10);
	else if (strncmp(line, "count", 5) == 0)
		printf("count %" PRIu64 "\n", ended);
	else
		ending = true;
}

static void
look(void)
{
	struct pollfd fds[QUEUES_MAX + 1] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	char line[64];
	int taken = 0;

	for (unsigned i = 0; i < want.queues; i++) {
		while ((taken = weir_queue_poll(queues[i].queue, 0)) > 0)
			continue;
		fds[i + 1] = (struct pollfd){ weir_queue_fd(queues[i].queue), POLLIN, 0 };
	}
	if (more_at != 0 && (ended >= more_at || ending)) {
		printf("more\n");
		more_at = 0;
	}
	if (!go_on())
		return;
	for (unsigned i = 0; i < want.queues; i++)
		if (weir_queue_poll(queues[i].queue, 0) > 0)
			return;
	poll(fds, want.queues + 1, 1000);
	if (fds[0].revents == 0 || reading)
		return;
	if (fgets(line, sizeof(line), stdin) == NULL)
		ending = true;
	else
		answer(line);
}

static void
event(void *arg, const struct weir_event *event)
{
	static const char *const kinds[] = { "up", "lost", "all-lost", "given-up", "ana", "namespace", "health" };

	(void)arg;
	printf("event %s %u %s\n", kinds[event->kind], event->kind == WEIR_EVENT_NAMESPACE ? event->nsid : event->path,
	    event->why);
}

/* ---- beginning and end ---- */

static void
options(int argc, char **argv, struct weir_subsys_options *subsys)
{
	static const struct option list[] = {
		{ "queues", 1, NULL, 'q' }, { "depth", 1, NULL, 'd' }, { "blocks", 1, NULL, 'b' },
		{ "kato", 1, NULL, 'k' }, { "loss", 1, NULL, 'l' }, { "margin", 1, NULL, 'm' },
		{ "hdgst", 0, NULL, 'H' }, { "ddgst", 0, NULL, 'D' }, { "zeroes", 0, NULL, 'z' },
		{ "trim", 0, NULL, 't' }, { "stop-on-error", 0, NULL, 'e' }, { NULL, 0, NULL, 0 },
	};
	int key;

	while ((key = getopt_long(argc, argv, "", list, NULL)) != -1) {
		unsigned value = optarg != NULL ? (unsigned)atoi(optarg) : 0;

		switch (key) {
		case 'q': want.queues = value; break;
		case 'd': want.depth = value; break;
		case 'b': want.max_blocks = value; break;
		case 'k': subsys->kato_ms = value; break;
		case 'l': subsys->loss_ms = value; break;
		case 'm': subsys->fence_margin_ms = value; break;
		case 'H': subsys->hdgst = true; break;
		case 'D': subsys->ddgst = true; break;
		case 'z': want.zeroes = true; break;
		case 't': want.trim = true; break;
		case 'e': want.stop_on_error = true; break;
		default: exit(2);
		}
	}
	if (want.queues > QUEUES_MAX || want.depth > DEPTH_MAX || want.max_blocks > AREA_BLOCKS || argc - optind != 1)
		exit(2);
}

static void
must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, weir_error());
	exit(1);
}

static void
open_queue(struct weir_subsys *subsys, unsigned index)
{
	struct weir_queue_options how = WEIR_OPTIONS(weir_queue_options);
	struct queue *queue = &queues[index];

	how.depth = want.depth;
	must(weir_queue_open(subsys, &how, &queue->queue), "opening a queue");
	queue->slots = calloc(want.depth, sizeof(*queue->slots));
	for (unsigned i = 0; i < want.depth; i++) {
		struct slot *slot = &queue->slots[i];

		slot->queue = queue;
		slot->first = (uint64_t)(index * want.depth + i) * area_blocks;
		slot->written = malloc(area_blocks * sizeof(*slot->written));
		memset(slot->written, 0xff, area_blocks * sizeof(*slot->written)); /* anything */
		slot->data = malloc((size_t)want.max_blocks * ns.block_size);
	}
}

static void
report(struct weir_subsys *subsys)
{
	struct weir_queue_stats stats, all = { 0 };
	struct weir_path_info paths[WEIR_PATHS_MAX];
	unsigned count = weir_subsys_paths(subsys, paths, WEIR_PATHS_MAX);

	for (unsigned i = 0; i < want.queues; i++) {
		weir_queue_stats(queues[i].queue, &stats);
		all.ios += stats.ios;
		all.resent += stats.resent;
	}
	printf("{\"ended\": %" PRIu64 ", \"done\": %" PRIu64 ", \"resent\": %" PRIu64 ", \"failed\": %" PRIu64
	    ", \"error\": \"%s\", \"wrong\": %" PRIu64 ", \"verified\": %" PRIu64 ", \"slowest_read_ms\": %" PRIu64
	    ", \"slowest_write_ms\": %" PRIu64 ", \"losses\": [", ended, all.ios, all.resent, failed, errors, wrong,
	    verified, slowest_ns[WEIR_OP_READ] / 1000000, slowest_ns[WEIR_OP_WRITE] / 1000000);
	for (unsigned i = 0; i < count; i++)
		printf("%s%u", i > 0 ? ", " : "", paths[i].losses);
	printf("]}\n");
}

int
main(int argc, char **argv)
{
	struct weir_subsys_options how = WEIR_OPTIONS(weir_subsys_options);
	struct weir_subsys *subsys;
	struct weir_host *host;
	struct weir_uri uri;

	setlinebuf(stdout);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() must see each line */
	rng_seed(&rng, 1);
	how.event = event;
	options(argc, argv, &how);
	must(weir_uri_parse(argv[optind], &uri), "the URI");
	must(weir_host_create(NULL, &host), "the host");
	must(weir_subsys_connect(host, argv[optind], &how, &subsys), "connecting");
	must(weir_subsys_namespace(subsys, uri.nsid, &ns), "the namespace");
	area_blocks = (uint32_t)(ns.blocks / (want.queues * want.depth));
	area_blocks = area_blocks < AREA_BLOCKS ? area_blocks : AREA_BLOCKS;
	for (unsigned i = 0; i < want.queues; i++)
		open_queue(subsys, i);
	printf("ready\n");
	while (!ending)
		look();
	while (go_on())
		look();
	reading = true;
	while (go_on())
		look();
	report(subsys);
	for (unsigned i = 0; i < want.queues; i++)
		weir_queue_close(queues[i].queue);
	weir_subsys_disconnect(subsys);
	weir_host_destroy(host);
	return 0;
}
