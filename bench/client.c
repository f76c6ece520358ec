/*
 * client.c - the ceiling's client: it keeps queues full and looks at nothing.
 *
 * Prebuilt capsules, one per slot; a turn frees the slots whose flag or
 * completion came, gives each a new SLBA and sends them in one call.  What was
 * read is dropped where it was received, unless --pattern asks whether it is
 * what was written.  It drives any NVMe/TCP target.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/hist.h"
#include "ceiling.h"

enum { HEADER = 24, COMMAND = 72 };

struct client {
	struct engine engine;
	const struct options *options;
	struct volume volume;
	uint64_t random, blocks, next; /* blocks of io_size; next of --sequential */
	uint64_t issued, in_flight;
	uint32_t lbas;                 /* per I/O */
	bool stopping, latency;
	uint8_t block[BLOCK + PDU_DIGEST_LEN]; /* what is written without --pattern */
	struct hist hist;                      /* of the only slot's latency, in TSC ticks */
	uint64_t sent_tsc;
};

/* One I/O queue. */
struct lane {
	struct client *client;
	struct link *link;
	uint32_t freed_count, skip, skipped;
	uint32_t stride;               /* bytes of a capsule without its data */
	bool want_ddgst;               /* the four bytes after the data come next */
	bool finishes;                 /* the PDU being received ends its command */
	uint16_t slot;                 /* whose data is being received */
	uint32_t offset, crc;
	uint16_t freed[DEPTH_MAX];
	uint64_t place[DEPTH_MAX];     /* byte of the volume that the slot's command is at */
	uint8_t capsules[DEPTH_MAX * (COMMAND + PDU_DIGEST_LEN)];
	uint8_t *data;                 /* --pattern: a block and its digest per slot */
};

/* The same sequence for every server: xorshift64*. */
static inline uint64_t
next_block(struct client *client)
{
	uint64_t x = client->random;

	if (client->options->sequential)
		return client->next++ % client->blocks;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	client->random = x;
	return ((x * UINT64_C(0x2545f4914f6cdd1d) >> 32) * client->blocks) >> 32;
}

static const void *
data_of(struct lane *lane, uint16_t slot)
{
	struct client *client = lane->client;
	uint8_t *data;

	if (!client->options->pattern)
		return client->block;
	data = lane->data + (size_t)slot * sizeof(client->block);
	for (uint32_t i = 0; i < BLOCK; i += 8)
		put_le64(data + i, pattern_word(lane->place[slot] + i));
	if (client->options->ddgst)
		put_le32(data + BLOCK, crc32c(0, data, BLOCK));
	return data;
}

static inline void
issue(struct lane *lane, uint16_t slot)
{
	struct client *client = lane->client;
	const struct options *options = client->options;
	uint8_t *capsule = lane->capsules + slot * lane->stride;
	uint64_t block = next_block(client);

	lane->place[slot] = block * options->io_size;
	put_le64(capsule + 48, block * client->lbas);
	if (options->hdgst)
		put_le32(capsule + COMMAND, crc32c(0, capsule, COMMAND));
	link_data(lane->link, capsule, lane->stride);
	if (options->rw == RW_WRITE)
		link_data(lane->link, data_of(lane, slot), BLOCK + (options->ddgst ? PDU_DIGEST_LEN : 0));
	client->in_flight++;
	client->issued++;
}

static int
client_fill(struct link *link)
{
	struct lane *lane = link->owner;
	struct client *client = lane->client;
	uint64_t allowed = client->stopping ? 0 : lane->freed_count;

	if (client->options->count > 0 && allowed > client->options->count - client->issued)
		allowed = client->options->count - client->issued;
	for (uint32_t i = 0; i < allowed; i++)
		issue(lane, lane->freed[i]);
	lane->freed_count -= (uint32_t)allowed;
	if (lane->freed_count > 0 && allowed > 0)
		memmove(lane->freed, lane->freed + allowed, lane->freed_count * sizeof(lane->freed[0]));
	if (client->latency)
		client->sent_tsc = tsc();
	return 0;
}

static inline void
finish(struct lane *lane, uint16_t slot)
{
	struct client *client = lane->client;

	if (slot >= client->options->depth || lane->freed_count == client->options->depth)
		die("the server completed command %u, which was not asked", slot);
	lane->freed[lane->freed_count++] = slot;
	client->in_flight--;
	if (client->options->rw == RW_READ)
		client->engine.counters.reads++;
	else
		client->engine.counters.writes++;
	if (client->latency)
		hist_add(&client->hist, tsc() - client->sent_tsc);
}

static void
check_pattern(struct lane *lane, const uint8_t *data, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		uint64_t at = lane->place[lane->slot] + lane->offset + lane->skipped + i;
		uint8_t wanted = (uint8_t)(pattern_word(at & ~UINT64_C(7)) >> (at & 7) * 8);

		if (data[i] != wanted)
			die("byte %llu of the volume is %02x, written was %02x", (unsigned long long)at,
			    data[i], wanted);
	}
}

/* Data of the PDU being received: dropped, or looked at as asked. */
static uint32_t
take_data(struct lane *lane, const uint8_t *at, uint32_t left)
{
	const struct options *options = lane->client->options;
	uint32_t bytes = left < lane->skip ? left : lane->skip;

	if (options->pattern)
		check_pattern(lane, at, bytes);
	if (options->ddgst)
		lane->crc = crc32c(lane->crc, at, bytes);
	lane->skip -= bytes;
	lane->skipped += bytes;
	if (lane->skip == 0) {
		lane->want_ddgst = options->ddgst;
		if (lane->finishes)
			finish(lane, lane->slot);
	}
	return bytes;
}

static void
take_completion(struct lane *lane, const uint8_t *at)
{
	uint16_t status = get_le16(at + 22);

	if (at[0] == PDU_C2H_TERM)
		die("the server ended the connection, FES %u", get_le16(at + 8));
	if (at[0] != PDU_CAPSULE_RESP)
		die("PDU type %02x from the server", at[0]);
	if (status >> 1 != 0)
		die("status %x:%02x of command %u", status >> 9 & 7, status >> 1 & 0xff, get_le16(at + 20));
	finish(lane, get_le16(at + 20));
}

static void
take_header(struct lane *lane, const uint8_t *at)
{
	const struct options *options = lane->client->options;

	if (options->hdgst && get_le32(at + HEADER) != crc32c(0, at, HEADER))
		die("wrong header digest from the server");
	if (at[0] != PDU_C2H_DATA) {
		take_completion(lane, at);
		return;
	}
	lane->slot = get_le16(at + 8);
	lane->offset = get_le32(at + 12);
	lane->skip = get_le32(at + 16);
	lane->skipped = lane->crc = 0;
	lane->finishes = at[1] & PDU_SUCCESS;
	if (lane->slot >= options->depth || lane->skip == 0 || lane->skip > options->io_size)
		die("the server sent data that was not asked for");
}

static uint32_t
take_ddgst(struct lane *lane, const uint8_t *at)
{
	if (get_le32(at) != lane->crc)
		die("wrong data digest from the server");
	lane->want_ddgst = false;
	return PDU_DIGEST_LEN;
}

static int
client_take(struct link *link)
{
	struct lane *lane = link->owner;
	const uint8_t *at = link->rbuf;
	uint32_t left = link->rlen, header = HEADER + (link->hdgst ? PDU_DIGEST_LEN : 0);

	for (;;) {
		uint32_t used;

		if (lane->skip > 0 && left > 0) {
			used = take_data(lane, at, left);
		} else if (lane->want_ddgst && left >= PDU_DIGEST_LEN) {
			used = take_ddgst(lane, at);
		} else if (!lane->want_ddgst && lane->skip == 0 && left >= header) {
			take_header(lane, at);
			used = header;
		} else {
			break;
		}
		at += used;
		left -= used;
	}
	link_consume(link, (uint32_t)(at - link->rbuf));
	return 0;
}

static void
client_gone(struct link *link)
{
	struct lane *lane = link->owner;

	if (!lane->client->stopping || lane->client->in_flight > 0)
		die("the server closed a connection");
}

static const struct link_ops client_ops = { client_take, client_fill, client_gone };

static void
build_capsule(const struct client *client, uint8_t *capsule, uint16_t slot)
{
	const struct options *options = client->options;
	bool write = options->rw == RW_WRITE;
	uint32_t hdgst = options->hdgst ? PDU_DIGEST_LEN : 0, ddgst = options->ddgst ? PDU_DIGEST_LEN : 0;
	struct pdu_capsule_cmd cmd = {
		.ch = { .type = PDU_CAPSULE_CMD, .flags = hdgst ? PDU_HDGST : 0, .hlen = COMMAND,
		    .plen = le32_of(COMMAND + hdgst) },
		.sqe = { .opcode = NVME_READ, .flags = NVME_PSDT_SGL, .cid = le16_of(slot), .nsid = le32_of(1),
		    .sgl1 = { .length = le32_of(options->io_size), .id = NVME_SGL_TRANSPORT },
		    .cdw12 = le32_of(client->lbas - 1) },
	};

	if (write) {
		cmd.ch.flags |= (uint8_t)(ddgst ? PDU_DDGST : 0);
		cmd.ch.pdo = (uint8_t)(COMMAND + hdgst);
		cmd.ch.plen = le32_of(COMMAND + hdgst + BLOCK + ddgst);
		cmd.sqe.opcode = NVME_WRITE;
		cmd.sqe.sgl1.id = NVME_SGL_OFFSET;
	}
	memcpy(capsule, &cmd, sizeof(cmd));
}

static struct lane *
open_lane(struct client *client, int fd)
{
	const struct options *options = client->options;
	struct lane *lane = calloc(1, sizeof(*lane));

	if (lane == NULL)
		die("no memory");
	lane->client = client;
	lane->stride = COMMAND + (options->hdgst ? PDU_DIGEST_LEN : 0);
	if (options->pattern)
		lane->data = calloc(options->depth, sizeof(client->block));
	for (uint16_t slot = 0; slot < options->depth; slot++) {
		build_capsule(client, lane->capsules + slot * lane->stride, slot);
		lane->freed[lane->freed_count++] = slot;
	}
	lane->link = link_create(&client->engine, fd, &client_ops, lane);
	lane->link->hdgst = options->hdgst;
	lane->link->ddgst = options->ddgst;
	return lane;
}

/* All queues, at most 128 of one controller; the admin queues stay open until the process ends. */
static unsigned
open_queues(const struct options *options, int fds[LINKS_MAX], struct volume *volume)
{
	for (unsigned done = 0; done < options->connections; done += QUEUES_MAX) {
		unsigned count = options->connections - done;

		controller_open(options, count < QUEUES_MAX ? count : QUEUES_MAX, fds + done, volume);
	}
	return options->connections;
}

static void
open_lanes(struct client *client, struct lane *lanes[LINKS_MAX])
{
	const struct options *options = client->options;
	int fds[LINKS_MAX];
	unsigned count = open_queues(options, fds, &client->volume);

	if (options->io_size % client->volume.lba_bytes != 0)
		die("blocks of %u bytes", client->volume.lba_bytes);
	client->lbas = options->io_size / client->volume.lba_bytes;
	client->blocks = client->volume.bytes / options->io_size;
	if (client->blocks == 0 || client->blocks > UINT32_MAX)
		die("a volume of %llu bytes", (unsigned long long)client->volume.bytes);
	put_le32(client->block + BLOCK, crc32c(0, client->block, BLOCK));
	for (unsigned i = 0; i < count; i++)
		lanes[i] = open_lane(client, fds[i]);
	for (unsigned i = 0; i < count; i++)
		link_set_io(lanes[i]->link);
}

/* Where a measurement began. */
struct mark {
	struct counters counters;
	uint64_t ns, cpu_ns;
};

static struct mark
mark_now(const struct client *client)
{
	return (struct mark){ client->engine.counters, clock_ns(), cpu_clock_ns() };
}

static void
report(const struct client *client, const struct mark *since)
{
	const struct counters *from = &since->counters;
	uint64_t elapsed_ns = clock_ns() - since->ns;
	struct counters did = client->engine.counters;
	double seconds = (double)elapsed_ns / 1e9;
	uint64_t ios;

	did.reads -= from->reads;
	did.writes -= from->writes;
	did.turns -= from->turns;
	did.busy_turns -= from->busy_turns;
	did.busy_tsc -= from->busy_tsc;
	did.syscalls -= from->syscalls;
	did.sends -= from->sends;
	ios = did.reads + did.writes;
	report_begin("client", client->options, &did, elapsed_ns, cpu_clock_ns() - since->cpu_ns);
	printf(",\"iops\":%.0f,\"mb_s\":%.1f", (double)ios / seconds,
	    (double)ios * client->options->io_size / seconds / 1e6);
	if (client->latency)
		printf(",\"p50_ns\":%.0f,\"p99_ns\":%.0f",
		    (double)hist_quantile(&client->hist, 500000) / tsc_per_ns(),
		    (double)hist_quantile(&client->hist, 990000) / tsc_per_ns());
	printf("}\n");
	fflush(stdout);
}

/* Turns until `end_ns`, or until all of --count was issued; the clock is asked once per 64 turns. */
static void
run_until(struct client *client, uint64_t end_ns)
{
	const struct options *options = client->options;

	for (unsigned i = 0; !stop_wanted(); i++) {
		engine_turn(&client->engine);
		if (options->count > 0 ? client->issued == options->count : i % 64 == 0 && clock_ns() >= end_ns)
			return;
	}
}

int
client_run(const struct options *options)
{
	static struct client client;
	static struct lane *lanes[LINKS_MAX];
	struct mark mark;

	pin(options->cpu);
	client.options = options;
	client.random = options->seed;
	client.latency = options->depth == 1 && options->connections == 1;
	hist_init(&client.hist);
	engine_init(&client.engine, options, -1, NULL);
	open_lanes(&client, lanes);
	for (unsigned i = 0; i < options->connections; i++)
		link_start(lanes[i]->link);
	mark = mark_now(&client);
	if (options->count == 0) {
		run_until(&client, mark.ns + options->warm_up_ns);
		hist_init(&client.hist);
		mark = mark_now(&client);
		run_until(&client, mark.ns + options->time_ns);
		report(&client, &mark);
	} else {
		run_until(&client, UINT64_MAX);
	}
	client.stopping = true;
	while (client.in_flight > 0 && !stop_wanted())
		engine_turn(&client.engine);
	if (options->count > 0)
		report(&client, &mark);
	return 0;
}

int
idle_run(const struct options *options)
{
	int fds[LINKS_MAX];
	struct volume volume;

	printf("{\"role\":\"idle\",\"connections\":%u}\n", open_queues(options, fds, &volume));
	fflush(stdout);
	while (!stop_wanted())
		usleep(SLEEP_MS * 1000);
	return 0;
}
