/*
 * failover_load.c - the load of failover_bench.h: which slot is next, what it holds, and whether what was found is
 * right.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "failover_bench.h"

enum { SLOT_BYTES = FAIL_BLOCKS * FAIL_BLOCK };

static const uint64_t REST_NS = 5 * 1000 * 1000;

/* ---- content ---- */

static uint64_t
word(unsigned slot, uint32_t version, uint32_t at)
{
	return version == 0 ? 0 : (uint64_t)version << 32 | slot << 20 | at;
}

static void
fill(uint8_t *data, unsigned slot, uint32_t version)
{
	for (uint32_t at = 0; at < SLOT_BYTES; at += 8)
		put_le64(data + at, word(slot, version, at));
}

/* From one byte to another: a block may be of another version than the next where a crash came between. */
static bool
is_version(const uint8_t *data, unsigned slot, uint32_t version, uint32_t from, uint32_t to)
{
	for (uint32_t at = from; at < to; at += 8)
		if (get_le64(data + at) != word(slot, version, at))
			return false;
	return true;
}

static bool
is_torn(const uint8_t *data, unsigned slot, uint32_t version, uint32_t maybe)
{
	for (uint32_t at = 0; at < SLOT_BYTES; at += FAIL_BLOCK)
		if (!is_version(data, slot, version, at, at + FAIL_BLOCK) &&
		    !is_version(data, slot, maybe, at, at + FAIL_BLOCK))
			return false;
	return true;
}

/* ---- the load ---- */

static void
check_read(struct fail *f, const struct fail_work *work)
{
	struct fail_slot *slot = &f->slots[work->slot];

	f->reads++;
	if (is_version(work->data, work->slot, slot->version, 0, SLOT_BYTES)) {
		slot->maybe = 0;
	} else if (slot->maybe != 0 && is_version(work->data, work->slot, slot->maybe, 0, SLOT_BYTES)) {
		slot->version = slot->maybe;
		slot->maybe = 0;
	} else if (slot->maybe != 0 && is_torn(work->data, work->slot, slot->version, slot->maybe)) {
		slot->torn = true;
		slot->maybe = 0;
	} else {
		f->wrong++;
	}
}

/* Whether it was done is known to the next read. */
static void
not_known(struct fail *f, const struct fail_work *work)
{
	if (work->op == LANE_WRITE || work->op == LANE_COMPARE_AND_WRITE)
		f->slots[work->slot].maybe = work->version;
}

/* While there is no hope all would be done with at once. */
static void
rested(struct timer *timer)
{
	struct fail_work *work = container_of(timer, struct fail_work, rest);

	fail_next(work, work->fail->reactors[work->at]);
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
	if (result->error == 0 && work->op == LANE_READ) {
		check_read(f, work);
	} else if (result->error == 0 && work->op != LANE_FLUSH) {
		f->slots[work->slot].version = work->version;
		f->slots[work->slot].torn = false;
	} else if (result->error == -ESTALE) {
		f->stale++;
		not_known(f, work);
	} else if (result->error == -ETIMEDOUT) {
		f->timeouts++;
		not_known(f, work);
	} else if (result->error != 0) {
		f->failures++;
		snprintf(f->why, sizeof(f->why), "op %u: error %d, status %x", work->op, result->error,
		    nvme_sc(result->status));
	}
	if (result->error == -ETIMEDOUT)
		timer_set(&f->reactors[work->at]->timers, &work->rest, f->reactors[work->at]->now_ns + REST_NS);
	else
		fail_next(work, f->reactors[work->at]);
}

static uint8_t
choose(struct fail *f, const struct fail_slot *slot)
{
	uint64_t dice = rng_below(&f->rng, 100);

	if (slot->maybe != 0 || f->reading_back)
		return LANE_READ;
	if (slot->torn)
		return LANE_WRITE;
	if (f->fused && dice < 15)
		return LANE_COMPARE_AND_WRITE;
	return dice < 50 ? LANE_WRITE : dice < 95 ? LANE_READ : LANE_FLUSH;
}

/* In three pieces, none of them a block. */
static void
cut_up(struct fail_work *work, size_t bytes)
{
	work->iov[0] = (struct iovec){ work->data, 100 };
	work->iov[1] = (struct iovec){ work->data + 100, 5000 };
	work->iov[2] = (struct iovec){ work->data + 5100, bytes - 5100 };
}

void
fail_submit(struct fail_work *work, unsigned at)
{
	struct fail *f = work->fail;
	struct fail_slot *slot = &f->slots[work->slot];
	struct lane_io io = { .nsid = 1, .blocks = FAIL_BLOCKS, .iov = work->iov, .iov_count = 3, .done = done,
		.arg = work };

	work->at = at;
	io.op = work->op = choose(f, slot);
	io.lba = work->slot * FAIL_BLOCKS;
	cut_up(work, io.op == LANE_COMPARE_AND_WRITE ? 2 * SLOT_BYTES : SLOT_BYTES);
	if (io.op == LANE_WRITE || io.op == LANE_COMPARE_AND_WRITE)
		work->version = ++slot->issued;
	if (io.op == LANE_COMPARE_AND_WRITE) {
		fill(work->data, work->slot, slot->version);
		fill(work->data + SLOT_BYTES, work->slot, work->version);
	} else if (io.op == LANE_WRITE) {
		fill(work->data, work->slot, work->version);
	}
	if (io.op == LANE_FLUSH)
		io.iov_count = io.blocks = 0;
	assert_int_equal(lane_submit(f->lanes[at - 1], &io), 0);
}

/* False: there is nothing more to be done. */
static bool
choose_slot(struct fail *f, struct fail_work *work)
{
	if (f->reading_back) {
		work->slot = f->read_back++;
		return work->slot < FAIL_SLOTS;
	}
	if (f->begun >= f->ios)
		return false;
	do
		work->slot = (unsigned)rng_below(&f->rng, FAIL_SLOTS);
	while (f->slots[work->slot].busy);
	return true;
}

/* By any of the lanes: what one has written another one reads. */
void
fail_next(struct fail_work *work, struct reactor *reactor)
{
	struct fail *f = work->fail;

	if (!choose_slot(f, work)) {
		if (f->in_flight == 0 && f->reading_back)
			fail_leave(f, reactor);
		else if (f->in_flight == 0)
			fail_tell(reactor, 0, MAIL_LOADED, f);
		return;
	}
	f->begun++;
	f->in_flight++;
	f->slots[work->slot].busy = work->busy = true;
	fail_tell(reactor, 1 + (unsigned)rng_below(&f->rng, FAIL_LANES), MAIL_SUBMIT, work);
}

void
fail_load_init(struct fail *f)
{
	for (unsigned i = 0; i < FAIL_WORKS; i++) {
		f->works[i].fail = f;
		f->works[i].rest.fire = rested;
		f->works[i].data = test_malloc(2 * SLOT_BYTES);
	}
}
