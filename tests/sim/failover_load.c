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

/* A version is never written twice, so it is known wherever a Copy has brought it.  This bit: all is zeros. */
static const uint32_t ZEROED = 1u << 31;

static uint64_t
word(uint32_t version, uint32_t at)
{
	return version & ZEROED ? 0 : (uint64_t)version << 32 | at;
}

static void
fill(uint8_t *data, uint32_t version)
{
	for (uint32_t at = 0; at < SLOT_BYTES; at += 8)
		put_le64(data + at, word(version, at));
}

/* From one byte to another: a block may be of another version than the next where a crash came between. */
static bool
is_version(const uint8_t *data, uint32_t version, uint32_t from, uint32_t to)
{
	for (uint32_t at = from; at < to; at += 8)
		if (get_le64(data + at) != word(version, at))
			return false;
	return true;
}

static bool
is_torn(const uint8_t *data, uint32_t version, uint32_t maybe)
{
	for (uint32_t at = 0; at < SLOT_BYTES; at += FAIL_BLOCK)
		if (!is_version(data, version, at, at + FAIL_BLOCK) && !is_version(data, maybe, at, at + FAIL_BLOCK))
			return false;
	return true;
}

/* ---- the load ---- */

static void
check_read(struct fail *f, const struct fail_work *work)
{
	struct fail_slot *slot = &f->slots[work->slot];

	f->reads++;
	if (is_version(work->data, slot->version, 0, SLOT_BYTES)) {
		slot->maybe = 0;
	} else if (slot->maybe != 0 && is_version(work->data, slot->maybe, 0, SLOT_BYTES)) {
		slot->version = slot->maybe;
		slot->maybe = 0;
	} else if (slot->maybe != 0 && is_torn(work->data, slot->version, slot->maybe)) {
		slot->torn = true;
		slot->maybe = 0;
	} else {
		f->wrong++;
	}
}

static bool
changes(uint8_t op)
{
	return op != LANE_READ && op != LANE_VERIFY && op != LANE_COMPARE && op != LANE_FLUSH;
}

/* Whether it was done is known to the next read. */
static void
not_known(struct fail *f, const struct fail_work *work)
{
	if (changes(work->op))
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
failed(struct fail *f, const struct fail_work *work, const struct lane_result *result)
{
	not_known(f, work);
	if (result->error == -ESTALE)
		f->stale++;
	else if (result->error == -ETIMEDOUT)
		f->timeouts++;
	else if (result->error == -ENODEV && f->may_go)
		f->nodevs++;
	else if (result->error == -ERANGE && f->may_shrink)
		f->beyonds++;
	else if (f->failures++ == 0)
		snprintf(f->why, sizeof(f->why), "op %u: error %d, status %x", work->op, result->error,
		    nvme_sc(result->status));
}

/* It is over, however it ended. */
static void
is_over(struct fail *f, struct fail_work *work)
{
	work->busy = false;
	f->in_flight--;
	f->done++;
	f->slots[work->slot].busy = false;
	if (work->from < FAIL_SLOTS)
		f->slots[work->from].busy = false;
}

void
fail_forget(struct fail *f)
{
	for (unsigned i = 0; i < FAIL_WORKS; i++) {
		struct fail_work *work = &f->works[i];

		work->rest.armed = false;
		if (!work->busy)
			continue;
		if (work->since_ns > 0)
			not_known(f, work);
		is_over(f, work);
	}
}

static void
done(void *arg, const struct lane_result *result)
{
	struct fail_work *work = arg;
	struct fail *f = work->fail;
	struct reactor *reactor = f->reactors[work->at];

	f->twice += !work->busy;
	is_over(f, work);
	f->by_op[work->op] += result->error == 0;
	if (reactor->now_ns - work->since_ns > f->longest_ns)
		f->longest_ns = reactor->now_ns - work->since_ns;
	if (result->error != 0) {
		failed(f, work, result);
	} else if (work->op == LANE_READ) {
		check_read(f, work);
	} else if (changes(work->op)) {
		f->slots[work->slot].version = work->version;
		f->slots[work->slot].torn = false;
	}
	if (result->error == 0 || result->error == -ESTALE)
		fail_next(work, reactor);
	else
		timer_set(&reactor->timers, &work->rest, reactor->now_ns + REST_NS);
}

/* How often each is done, of a hundred; the rest is reads. */
static const struct { uint8_t op, share; } shares[] = {
	{ LANE_WRITE, 30 }, { LANE_FLUSH, 5 }, { LANE_WRITE_ZEROES, 4 }, { LANE_DEALLOCATE, 4 }, { LANE_COPY, 6 },
	{ LANE_VERIFY, 3 }, { LANE_COMPARE, 3 }, { LANE_COMPARE_AND_WRITE, 12 },
};

static uint8_t
choose(struct fail *f, const struct fail_slot *slot)
{
	uint64_t dice = rng_below(&f->rng, 100);

	if (slot->maybe != 0 || f->reading_back)
		return LANE_READ;
	if (slot->torn)
		return LANE_WRITE;
	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		if (dice < shares[i].share)
			return shares[i].op == LANE_COMPARE_AND_WRITE && !f->fused ? LANE_READ : shares[i].op;
		dice -= shares[i].share;
	}
	return LANE_READ;
}

/* One whose content is known, and that nobody writes; FAIL_SLOTS: none was met. */
static unsigned
choose_source(struct fail *f)
{
	unsigned slot = (unsigned)rng_below(&f->rng, FAIL_SLOTS);
	const struct fail_slot *s = &f->slots[slot];

	return s->busy || s->maybe != 0 || s->torn ? FAIL_SLOTS : slot;
}

/* In three pieces, none of them a block. */
static void
cut_up(struct fail_work *work, size_t bytes)
{
	work->iov[0] = (struct iovec){ work->data, 100 };
	work->iov[1] = (struct iovec){ work->data + 100, 5000 };
	work->iov[2] = (struct iovec){ work->data + 5100, bytes - 5100 };
}

/* What the slot will hold, and the data that this takes. */
static void
make_data(struct fail *f, struct fail_work *work)
{
	uint32_t before = f->slots[work->slot].version;

	work->version = before;
	if (work->op == LANE_COPY)
		work->version = f->slots[work->from].version;
	else if (work->op == LANE_WRITE_ZEROES || work->op == LANE_DEALLOCATE)
		work->version = ZEROED;
	else if (changes(work->op))
		work->version = ++f->issued;
	if (work->op == LANE_WRITE || work->op == LANE_COMPARE)
		fill(work->data, work->version);
	if (work->op != LANE_COMPARE_AND_WRITE)
		return;
	fill(work->data, before);
	fill(work->data + SLOT_BYTES, work->version);
}

void
fail_submit(struct fail_work *work, unsigned at)
{
	struct fail *f = work->fail;
	struct lane_range range = { (uint64_t)work->slot * FAIL_BLOCKS, FAIL_BLOCKS };
	struct lane_io io = { .nsid = 1, .lba = range.lba, .done = done, .arg = work };
	bool has_data, has_range;

	work->at = at;
	work->since_ns = f->reactors[at]->now_ns;
	work->op = choose(f, &f->slots[work->slot]);
	work->from = work->op == LANE_COPY ? choose_source(f) : FAIL_SLOTS;
	if (work->op == LANE_COPY && work->from == FAIL_SLOTS)
		work->op = LANE_READ;
	if (work->op == LANE_COPY) {
		f->slots[work->from].busy = true;
		range.lba = (uint64_t)work->from * FAIL_BLOCKS;
	}
	make_data(f, work);
	io.op = work->op;
	has_range = io.op == LANE_COPY || io.op == LANE_DEALLOCATE;
	has_data = !has_range && io.op != LANE_FLUSH && io.op != LANE_WRITE_ZEROES && io.op != LANE_VERIFY;
	io.blocks = has_range || io.op == LANE_FLUSH ? 0 : FAIL_BLOCKS;
	io.ranges = &range;
	io.range_count = has_range;
	io.iov = work->iov;
	io.iov_count = has_data ? 3 : 0;
	cut_up(work, io.op == LANE_COMPARE_AND_WRITE ? 2 * SLOT_BYTES : SLOT_BYTES);
	assert_int_equal(lane_submit(f->lanes[at - 1], &io), 0);
}

/* One of which nobody knows what it holds, if there is one, else any. */
static unsigned
idle_slot(struct fail *f)
{
	unsigned slot;

	for (slot = 0; slot < FAIL_SLOTS; slot++)
		if (f->slots[slot].maybe != 0 && !f->slots[slot].busy)
			return slot;
	do
		slot = (unsigned)rng_below(&f->rng, FAIL_SLOTS);
	while (f->slots[slot].busy);
	return slot;
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
	work->slot = idle_slot(f);
	return true;
}

/* By any of the lanes: what one has written another one reads. */
void
fail_next(struct fail_work *work, struct reactor *reactor)
{
	struct fail *f = work->fail;
	unsigned at;

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
	work->since_ns = 0;
	work->from = FAIL_SLOTS;
	do
		at = 1 + (unsigned)rng_below(&f->rng, FAIL_LANES);
	while (at == f->shunned);
	fail_tell(reactor, at, MAIL_SUBMIT, work);
}

void
fail_load_init(struct fail *f)
{
	for (unsigned i = 0; i < FAIL_SLOTS; i++)
		f->slots[i].version = ZEROED;
	for (unsigned i = 0; i < FAIL_WORKS; i++) {
		f->works[i].fail = f;
		f->works[i].rest.fire = rested;
		f->works[i].data = test_malloc(2 * SLOT_BYTES);
	}
}
