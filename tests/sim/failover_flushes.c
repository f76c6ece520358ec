#include "failover_flushes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t LOOK_NS = 100 * 1000;

struct flushes flushes;

/* Of each slot, which is one block here: */
static struct promise {
	uint32_t version; /* that is there, where that is not doubtful */
	uint32_t issued;  /* so far */
	uint32_t sure;    /* no older one is, whatever is lost */
	bool doubt;
} promises[FAIL_SLOTS];

/* Of each work: */
static struct effort {
	uint32_t before[FAIL_SLOTS]; /* of a Flush: what was there when it was submitted */
	bool durable;                /* of a write: when it is answered */
} efforts[FAIL_WORKS];

static struct effort *
effort_of(const struct fail_work *work)
{
	return &efforts[work - work->fail->works];
}

/* ---- content ---- */

static void
fill(uint8_t *data, unsigned slot, uint32_t version)
{
	for (uint32_t at = 0; at < FAIL_BLOCK; at += 8)
		put_le64(data + at, version == 0 ? 0 : (uint64_t)version << 32 | slot << 20 | at);
}

/* UINT32_MAX: none. */
static uint32_t
version_of(const uint8_t *data, unsigned slot)
{
	uint32_t version = (uint32_t)(get_le64(data) >> 32);
	uint8_t whole[FAIL_BLOCK];

	fill(whole, slot, version);
	return memcmp(data, whole, FAIL_BLOCK) == 0 ? version : UINT32_MAX;
}

/* ---- what must be true ---- */

static void
has_read(struct fail *f, const struct fail_work *work)
{
	struct promise *promise = &promises[work->slot];
	uint32_t found = version_of(work->data, work->slot), most = promise->issued;

	if (!promise->doubt)
		most = promise->version;
	f->reads++;
	f->wrong += found < promise->sure || found > most;
	if (found < promise->version) {
		flushes.missed++;
		f->wrong += !flushes.loses;
	}
	promise->version = found;
	promise->doubt = false;
}

static void
has_written(const struct fail_work *work)
{
	struct promise *promise = &promises[work->slot];

	promise->version = work->version;
	promise->doubt = false;
	if (effort_of(work)->durable)
		promise->sure = work->version;
}

static void
flush_begins(const struct fail_work *work)
{
	for (unsigned i = 0; i < FAIL_SLOTS; i++)
		effort_of(work)->before[i] = promises[i].doubt ? 0 : promises[i].version;
}

static void
has_flushed(const struct fail_work *work)
{
	const uint32_t *before = effort_of(work)->before;

	flushes.flushed++;
	for (unsigned i = 0; i < FAIL_SLOTS; i++)
		if (promises[i].sure < before[i])
			promises[i].sure = before[i];
}

static void
has_told(void)
{
	flushes.told++;
	for (unsigned i = 0; i < FAIL_SLOTS; i++)
		promises[i].doubt |= promises[i].version > promises[i].sure;
}

/* ---- the load ---- */

static void
ended(struct fail *f, const struct fail_work *work, const struct lane_result *result)
{
	bool lost = work->op == LANE_FLUSH && result->error == -EIO && nvme_ok(result->status);

	if (result->error == 0 && work->op == LANE_READ)
		has_read(f, work);
	else if (result->error == 0 && work->op == LANE_FLUSH)
		has_flushed(work);
	else if (result->error == 0)
		has_written(work);
	else if (lost)
		has_told();
	else if (result->error == -ESTALE || result->error == -EILSEQ)
		promises[work->slot].doubt = true;
	else
		f->failures++;
}

static void
done(void *arg, const struct lane_result *result)
{
	struct fail_work *work = arg;
	struct fail *f = work->fail;

	f->twice += !work->busy;
	work->busy = false;
	f->in_flight--;
	f->done++;
	f->slots[work->slot].busy = false;
	if (flushes.steps == NULL) {
		ended(f, work, result);
	} else if (!f->reading_back) {
		f->failures += result->error != flushes.steps[flushes.at].error;
		flushes.at++;
	}
	if (f->failures > 0 && f->why[0] == '\0')
		snprintf(f->why, sizeof(f->why), "step %u, op %u: error %d, status %x", flushes.at, work->op,
		    result->error, nvme_sc(result->status));
	fail_next(work, f->reactors[work->at]);
}

static uint8_t
choose(struct fail *f, const struct promise *promise, uint8_t *flags)
{
	uint64_t dice = rng_below(&f->rng, 100);

	*flags = 0;
	if (f->reading_back)
		return LANE_READ;
	if (dice < 10)
		*flags = LANE_FUA;
	if (dice >= 45 && dice < 55 && !promise->doubt)
		return LANE_COMPARE_AND_WRITE;
	return dice < 60 ? LANE_WRITE : dice < 100 - flushes.percent ? LANE_READ : LANE_FLUSH;
}

/* What the first slot's blocks are given by an op of the script. */
static void
complete(struct fail_work *work, struct lane_io *io)
{
	static const struct lane_range range = { .lba = FAIL_SLOTS * FAIL_BLOCKS, .blocks = 1 };

	work->iov[0] = (struct iovec){ work->data, (io->op == LANE_COMPARE_AND_WRITE ? 2 : 1) * FAIL_BLOCK };
	io->iov = work->iov;
	io->iov_count = 1;
	if (io->op == LANE_DEALLOCATE || io->op == LANE_COPY) {
		io->ranges = &range;
		io->range_count = 1;
	}
	if (io->op == LANE_FLUSH || io->op == LANE_DEALLOCATE || io->op == LANE_COPY)
		io->blocks = io->iov_count = 0;
	else if (io->op == LANE_WRITE_ZEROES || io->op == LANE_WRITE_UNCORRECTABLE)
		io->iov_count = 0;
}

/* ---- a lane in place of another ---- */

static void
reopened(struct lane *lane, int error, const char *why)
{
	const struct fail_seat *seat = lane_owner(lane);
	struct fail *f = seat->fail;

	assert_int_equal(error, 0);
	f->in_flight--;
	f->done++;
	flushes.at++;
	fail_next(&f->works[0], f->reactors[seat->at]);
}

static void
open_again(void *owner)
{
	struct fail_seat *seat = owner;
	struct fail *f = seat->fail;
	const struct lane_options options = { .depth = FAIL_WORKS, .ready = reopened, .owner = seat };

	assert_int_equal(lane_open(f->reactors[seat->at], f->subsys, &options, &f->lanes[seat->at - 1]), 0);
}

/* ---- one I/O ---- */

void
fail_submit(struct fail_work *work, unsigned at)
{
	struct fail *f = work->fail;
	struct promise *promise = &promises[work->slot];
	struct lane_io io = { .nsid = 1, .blocks = 1, .lba = work->slot * FAIL_BLOCKS, .done = done, .arg = work };

	work->at = at;
	if (flushes.steps != NULL && !f->reading_back) {
		io.op = flushes.steps[flushes.at].op;
		io.flags = flushes.steps[flushes.at].flags;
	} else {
		io.op = choose(f, promise, &io.flags);
	}
	if (io.op == FLUSHES_REOPEN) {
		lane_close(f->lanes[at - 1], open_again);
		return;
	}
	work->op = io.op;
	effort_of(work)->durable = io.flags & LANE_FUA;
	if (io.op == LANE_WRITE || io.op == LANE_COMPARE_AND_WRITE)
		work->version = ++promise->issued;
	fill(work->data, work->slot, io.op == LANE_COMPARE_AND_WRITE ? promise->version : work->version);
	fill(work->data + FAIL_BLOCK, work->slot, work->version);
	if (io.op == LANE_FLUSH)
		flush_begins(work);
	complete(work, &io);
	assert_int_equal(lane_submit(f->lanes[at - 1], &io), 0);
}

static void
begin(struct fail_work *work, struct reactor *reactor, unsigned lane)
{
	struct fail *f = work->fail;

	f->begun++;
	f->in_flight++;
	f->slots[work->slot].busy = work->busy = true;
	fail_tell(reactor, lane, MAIL_SUBMIT, work);
}

static void
none_is_left(struct fail *f, struct reactor *reactor)
{
	if (f->in_flight == 0 && f->reading_back)
		fail_leave(f, reactor);
	else if (f->in_flight == 0)
		fail_tell(reactor, 0, MAIL_LOADED, f);
}

bool
flushes_waits(void *arg)
{
	const struct flushes_step *step = &flushes.steps[flushes.at];

	(void)arg;
	return step->lane == 0 && step->op == LANE_OPS && !flushes.go;
}

static void
look(struct timer *timer)
{
	struct fail_work *work = container_of(timer, struct fail_work, rest);

	fail_next(work, work->fail->reactors[work->at]);
}

/* By the first work alone. */
static void
next_step(struct fail_work *work, struct reactor *reactor)
{
	struct fail *f = work->fail;

	if (work != &f->works[0])
		return;
	work->at = reactor->index;
	work->slot = 0;
	if (flushes.steps[flushes.at].lane != 0) {
		begin(work, reactor, flushes.steps[flushes.at].lane);
	} else if (flushes.steps[flushes.at].op != LANE_OPS) {
		none_is_left(f, reactor);
	} else {
		flushes.at += flushes.go;
		flushes.go = false;
		timer_set(&reactor->timers, &work->rest, reactor->now_ns + LOOK_NS);
	}
}

void
fail_next(struct fail_work *work, struct reactor *reactor)
{
	struct fail *f = work->fail;

	if (flushes.steps != NULL && !f->reading_back) {
		next_step(work, reactor);
		return;
	}
	if (f->reading_back ? f->read_back >= FAIL_SLOTS : f->begun >= f->ios) {
		none_is_left(f, reactor);
		return;
	}
	if (f->reading_back)
		work->slot = f->read_back++;
	else
		do
			work->slot = (unsigned)rng_below(&f->rng, FAIL_SLOTS);
		while (f->slots[work->slot].busy);
	begin(work, reactor, 1 + (unsigned)rng_below(&f->rng, FAIL_LANES));
}

/* No host that has this load crashes. */
void
fail_forget(struct fail *f)
{
	assert_null(f);
}

void
fail_load_init(struct fail *f)
{
	flushes = (struct flushes){ .steps = flushes.steps, .percent = flushes.percent };
	memset(promises, 0, sizeof(promises));
	for (unsigned i = 0; i < FAIL_WORKS; i++) {
		f->works[i].fail = f;
		f->works[i].rest.fire = look;
		f->works[i].data = test_malloc(2 * FAIL_BLOCK);
	}
}
