/*
 * failover_load.c - the load of weir-failover (failover_load.h).
 */
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "failover_load.h"

/* Every other slot is short: its data goes in the capsule. */
enum { SHORT_BYTES = 4096, WAIT_MS = 50, REST_MS = 10, DRAIN_S = 90 };

static int notes_end;
static atomic_bool stop;
static atomic_uint_fast64_t ios_done, longest_ns;

uint64_t
clock_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

int
notes_open(void)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
		err(1, "no pipe");
	notes_end = ends[1];
	return ends[0];
}

void
note(const char *kind, uint64_t at_ns, uint64_t since_ns, int path, const char *text)
{
	struct note it = { .ns = at_ns, .since_ns = since_ns, .path = path };

	static_assert(sizeof(it) <= 4096, "pipes take it as a whole");
	snprintf(it.kind, sizeof(it.kind), "%s", kind);
	snprintf(it.text, sizeof(it.text), "%s", text);
	if (write(notes_end, &it, sizeof(it)) != sizeof(it))
		warnx("nobody reads what there is to say: %s, %s", kind, text);
}

/* ---- content ---- */

static size_t
bytes_of(unsigned slot)
{
	return slot % 2 != 0 ? SHORT_BYTES : SLOT_BYTES;
}

static uint64_t
word(unsigned slot, uint32_t version, size_t at)
{
	return (uint64_t)version << 32 | (uint64_t)slot << 16 | at;
}

static void
fill(uint8_t *data, unsigned slot, uint32_t version)
{
	for (size_t at = 0; at < bytes_of(slot) / 8; at++)
		memcpy(data + at * 8, &(uint64_t){ word(slot, version, at) }, 8);
}

static bool
is_version(const uint8_t *data, unsigned slot, uint32_t version)
{
	for (size_t at = 0; at < bytes_of(slot) / 8; at++)
		if (memcmp(data + at * 8, &(uint64_t){ word(slot, version, at) }, 8) != 0)
			return false;
	return true;
}

static void
complain(const uint8_t *data, unsigned slot, uint32_t version)
{
	uint64_t first;
	char text[120];

	memcpy(&first, data, 8);
	snprintf(text, sizeof(text), "slot %u is not of version %u, but begins with %016" PRIx64, slot, version, first);
	note("wrong", clock_ns(), 0, -1, text);
}

/* ---- I/O ---- */

static unsigned
number_of(const struct io *io)
{
	return io->load->first_slot + (unsigned)(io->slot - io->load->slots);
}

static void
was_resent(const struct io *io, uint64_t at_ns)
{
	struct weir_queue_stats stats;

	weir_queue_stats(io->load->queue, &stats);
	if (stats.resent != io->resent_before)
		note("resent", at_ns, io->submitted_ns, -1, io->op == WEIR_OP_WRITE ? "write" : "read");
}

static void
took(uint64_t ns_)
{
	uint64_t most = atomic_load(&longest_ns);

	while (ns_ > most && !atomic_compare_exchange_weak(&longest_ns, &most, ns_))
		continue;
}

static void
done(void *arg, const struct weir_result *result)
{
	struct io *io = arg;
	struct load *load = io->load;
	uint64_t at_ns = clock_ns();

	if (!io->busy) {
		load->doubled++;
		return;
	}
	io->busy = io->slot->busy = false;
	load->done++;
	if (result->error != 0) {
		load->failed++;
		load->error = result->error;
		load->rest_until_ns = at_ns + REST_MS * 1000000;
		io->slot->known = io->slot->known && io->op != WEIR_OP_WRITE;
		return;
	}
	atomic_fetch_add(&ios_done, 1);
	took(at_ns - io->submitted_ns);
	if (load->is_probe)
		was_resent(io, at_ns);
	if (io->op == WEIR_OP_WRITE) {
		io->slot->version = io->version;
		io->slot->known = true;
	} else if (io->op == WEIR_OP_READ && !is_version(io->data, number_of(io), io->slot->version)) {
		load->wrong++;
		complain(io->data, number_of(io), io->slot->version);
	}
}

static uint64_t
throw(struct load *load, uint64_t below)
{
	load->dice ^= load->dice << 13;
	load->dice ^= load->dice >> 7;
	load->dice ^= load->dice << 17;
	return load->dice % below;
}

static uint8_t
choose(struct load *load, const struct slot *slot)
{
	uint64_t dice = throw(load, 100);

	return !slot->known || dice < 50 ? WEIR_OP_WRITE : dice < 98 || load->is_probe ? WEIR_OP_READ : WEIR_OP_FLUSH;
}

static struct weir_io
on_slot(uint8_t op, const struct weir_namespace *ns, unsigned slot, const struct iovec *iov, uint16_t iov_count)
{
	return (struct weir_io){
		.op = op, .nsid = ns->nsid, .lba = (uint64_t)slot * SLOT_BYTES / ns->block_size,
		.blocks = (uint32_t)(bytes_of(slot) / ns->block_size), .iov = iov, .iov_count = iov_count,
	};
}

static void
submit(struct io *io)
{
	struct load *load = io->load;
	struct weir_queue_stats stats;
	struct weir_io request;
	unsigned slot;

	do
		io->slot = &load->slots[throw(load, SLOTS_EACH)];
	while (io->slot->busy);
	slot = number_of(io);
	io->op = choose(load, io->slot);
	if (io->op == WEIR_OP_WRITE) {
		io->version = ++io->slot->issued;
		fill(io->data, slot, io->version);
	}
	/* In two pieces, neither of them blocks. */
	io->iov[0] = (struct iovec){ io->data, 100 };
	io->iov[1] = (struct iovec){ io->data + 100, bytes_of(slot) - 100 };
	request = on_slot(io->op, load->ns, slot, io->iov, 2);
	if (io->op == WEIR_OP_FLUSH)
		request = (struct weir_io){ .op = WEIR_OP_FLUSH, .nsid = load->ns->nsid };
	request.done = done;
	request.arg = io;
	weir_queue_stats(load->queue, &stats);
	io->resent_before = stats.resent;
	io->submitted_ns = clock_ns();
	io->busy = io->slot->busy = true;
	if (weir_queue_submit(load->queue, &request) != 0)
		errx(1, "cannot submit: %s", weir_error());
	load->submitted++;
}

/* ---- threads ---- */

static int
poll_all(const struct load_thread *thread)
{
	int some = 0;

	for (unsigned i = 0; i < thread->count; i++) {
		int rc = weir_queue_poll(thread->loads[i].queue, 0);

		if (rc < 0)
			errx(1, "cannot poll: %s", weir_error());
		some += rc;
	}
	return some;
}

/* One turn: all is submitted that may be, and something has come, or a little time is over. */
static void
turn(struct load_thread *thread, bool submits)
{
	struct pollfd fds[QUEUES_MAX];
	uint64_t at_ns = clock_ns();

	for (unsigned i = 0; i < thread->count; i++) {
		struct load *load = &thread->loads[i];

		for (unsigned n = 0; submits && at_ns >= load->rest_until_ns && n < load->depth; n++)
			if (!load->ios[n].busy)
				submit(&load->ios[n]);
		fds[i] = (struct pollfd){ .fd = weir_queue_fd(load->queue), .events = POLLIN };
	}
	if (poll_all(thread) == 0)
		(void)poll(fds, thread->count, WAIT_MS);
}

static bool
in_flight(const struct load_thread *thread)
{
	for (unsigned i = 0; i < thread->count; i++)
		if (weir_queue_in_flight(thread->loads[i].queue) > 0)
			return true;
	return false;
}

static void *
run(void *arg)
{
	struct load_thread *thread = arg;
	uint64_t end_ns;

	while (!atomic_load(&stop))
		turn(thread, true);
	end_ns = clock_ns() + DRAIN_S * UINT64_C(1000000000);
	while (in_flight(thread) && clock_ns() < end_ns)
		turn(thread, false);
	return NULL;
}

void
load_prepare(struct load *load, struct weir_subsys *subsys, const struct weir_namespace *ns, unsigned at,
    unsigned depth, bool is_probe)
{
	struct weir_queue_options options = WEIR_OPTIONS(weir_queue_options);

	options.depth = load->depth = depth;
	load->ns = ns;
	load->first_slot = at * SLOTS_EACH;
	load->is_probe = is_probe;
	load->dice = 0x9e3779b97f4a7c15 * (at + 1);
	if (weir_queue_open(subsys, &options, &load->queue) != 0)
		errx(1, "%s", weir_error());
	for (unsigned i = 0; i < depth; i++) {
		load->ios[i].load = load;
		load->ios[i].data = aligned_alloc(4096, SLOT_BYTES);
		if (load->ios[i].data == NULL)
			err(1, "no memory");
	}
}

void
load_start(struct load_thread *thread, struct load *first, unsigned count)
{
	thread->loads = first;
	thread->count = count;
	errno = pthread_create(&thread->id, NULL, run, thread);
	if (errno != 0)
		err(1, "no thread");
}

void
load_stop(struct load_thread *threads, unsigned count)
{
	atomic_store(&stop, true);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
}

void
load_close(struct load *load)
{
	weir_queue_close(load->queue);
	for (unsigned i = 0; i < load->depth; i++)
		free(load->ios[i].data);
}

uint64_t load_ios_done(void) { return atomic_load(&ios_done); }
uint64_t load_longest_ns(void) { return atomic_exchange(&longest_ns, 0); }

/* ---- at the end ---- */

unsigned
load_read_back(struct weir_subsys *subsys, const struct load *loads, unsigned count)
{
	uint8_t *data = aligned_alloc(4096, SLOT_BYTES);
	struct weir_queue *queue;
	unsigned wrong = 0;

	if (data == NULL || weir_queue_open(subsys, NULL, &queue) != 0)
		errx(1, "cannot read back: %s", weir_error());
	for (unsigned slot = 0; slot < count * SLOTS_EACH; slot++) {
		const struct slot *of = &loads[slot / SLOTS_EACH].slots[slot % SLOTS_EACH];
		struct iovec iov = { data, bytes_of(slot) };
		struct weir_io io = on_slot(WEIR_OP_READ, loads[0].ns, slot, &iov, 1);

		if (!of->known)
			continue;
		if (weir_queue_run(queue, &io, NULL) != 0)
			errx(1, "cannot read back: %s", weir_error());
		if (!is_version(data, slot, of->version)) {
			wrong++;
			complain(data, slot, of->version);
		}
	}
	weir_queue_close(queue);
	free(data);
	return wrong;
}
