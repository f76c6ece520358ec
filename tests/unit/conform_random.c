/*
 * conform_random.c - of conform.h: thousands of I/Os at random, many at a time, against a model in memory.
 *
 * The volume is cut into parts, of each of which one I/O is under way, by any channel; so the model knows at any time
 * what a block must be, though hundreds are at the device together, and meet in whatever it keeps of several blocks.
 */
#include <string.h>

#include "conform.h"

enum { PARTS_MAX = 600, PART = 13, STEPS = 6000 };

struct model {
	struct conform *c;
	uint64_t stamps[PARTS_MAX * PART]; /* of each block */
	bool bad[PARTS_MAX * PART];
	uint64_t next;
	struct cio *under_way[PARTS_MAX];
	struct blk_range trims[PARTS_MAX][3];
	bool as_expected[PARTS_MAX], looked[PARTS_MAX]; /* the latter: at what it read */
};

/* Any run of blocks in the part. */
static struct blk_range
run_in(struct model *m, unsigned part)
{
	uint32_t first = (uint32_t)rng_below(&m->c->rng, PART);

	return (struct blk_range){ (uint64_t)part * PART + first, 1 + (uint32_t)rng_below(&m->c->rng, PART - first) };
}

static bool
any_bad(const struct model *m, struct blk_range run)
{
	for (uint32_t i = 0; i < run.blocks; i++)
		if (m->bad[run.lba + i])
			return true;
	return false;
}

static struct cio *
start_trim(struct model *m, unsigned part, unsigned chan)
{
	uint32_t count = (uint32_t)rng_below(&m->c->rng, 4);

	for (uint32_t i = 0; i < count; i++) {
		m->trims[part][i] = run_in(m, part);
		if (rng_below(&m->c->rng, 8) == 0)
			m->trims[part][i].blocks = 0;
	}
	return cio_trim(m->c, chan, m->trims[part], count);
}

static struct cio *
start_compare(struct model *m, unsigned chan, struct blk_range run, bool *as_expected)
{
	struct cio *t = cio_make(m->c, chan, BLK_COMPARE_WRITE, 0, run.lba, run.blocks);
	uint64_t want = m->stamps[run.lba];

	*as_expected = true;
	for (uint32_t i = 0; i < run.blocks; i++)
		*as_expected = *as_expected && m->stamps[run.lba + i] == want;
	if (rng_below(&m->c->rng, 4) == 0) {
		want = ++m->next;
		*as_expected = false;
	}
	cio_expect(t, want);
	cio_fill(t, ++m->next);
	return t;
}

static void
start(struct model *m, unsigned part)
{
	struct conform *c = m->c;
	unsigned chan = (unsigned)rng_below(&c->rng, c->reactors), dice = (unsigned)rng_below(&c->rng, 100);
	struct blk_range run = run_in(m, part);
	uint32_t fua = rng_below(&c->rng, 6) == 0 ? BLK_FUA : 0;
	struct cio *t;

	if (dice < 35) {
		t = cio_make(c, chan, BLK_READ, c->blk->lends && dice < 20 ? BLK_MAY_LEND : 0, run.lba, run.blocks);
	} else if (dice < 70) {
		t = cio_make(c, chan, BLK_WRITE, fua | (dice < 55 ? BLK_TRANSIENT : 0), run.lba, run.blocks);
		cio_fill(t, ++m->next);
	} else if (dice < 78) {
		t = cio_make(c, chan, BLK_WRITE_ZEROES, fua | (dice < 74 ? BLK_DEALLOCATE : 0), run.lba, run.blocks);
	} else if (dice < 84 && c->blk->trim_zeroes) {
		t = start_trim(m, part, chan);
	} else if (dice < 92) {
		t = start_compare(m, chan, run, &m->as_expected[part]);
	} else if (dice < 95 && c->blk->bad != NULL) {
		t = cio_make(c, chan, BLK_MARK_BAD, 0, run.lba, run.blocks);
	} else {
		t = cio_make(c, chan, BLK_FLUSH, 0, 0, 0);
	}
	m->under_way[part] = t;
	m->looked[part] = false;
	cio_start(t);
}

static void
set(struct model *m, struct blk_range run, uint64_t stamp, bool mends)
{
	for (uint32_t i = 0; i < run.blocks; i++) {
		m->stamps[run.lba + i] = stamp;
		if (mends)
			m->bad[run.lba + i] = false;
	}
}

static void
look(struct model *m, unsigned part)
{
	struct cio *t = m->under_way[part];

	if (m->looked[part])
		return;
	m->looked[part] = true;
	for (uint32_t i = 0; i < t->io.blocks; i++)
		assert_int_equal(block_stamp(m->c, cio_block(t, i), t->io.lba + i), m->stamps[t->io.lba + i]);
	if (t->io.flags & BLK_LENT)
		cio_release(t);
}

/* Others may wait for what is lent, so nobody waits with that in his hands. */
static void
wait_for(struct model *m, unsigned part)
{
	for (unsigned tries = 0; m->under_way[part]->done == 0; tries++) {
		assert_true(tries < 10000);
		conform_turns(m->c, 20);
		for (unsigned i = 0; i < PARTS_MAX; i++)
			if (m->under_way[i] != NULL && m->under_way[i]->done > 0 &&
			    (m->under_way[i]->io.flags & BLK_LENT) != 0)
				look(m, i);
	}
}

/* It was done: the model says what it did. */
static void
take(struct model *m, unsigned part)
{
	const struct cio *t = m->under_way[part];
	struct blk_range run = { t->io.lba, t->io.blocks };

	switch (t->io.op) {
	case BLK_READ:
		look(m, part);
		break;
	case BLK_WRITE:
	case BLK_COMPARE_WRITE:
		set(m, run, t->stamp, true);
		break;
	case BLK_WRITE_ZEROES:
		set(m, run, 0, true);
		break;
	case BLK_TRIM:
		for (uint32_t i = 0; i < t->io.range_count; i++)
			set(m, t->io.ranges[i], 0, false);
		break;
	case BLK_MARK_BAD:
		for (uint32_t i = 0; i < run.blocks; i++)
			m->bad[run.lba + i] = true;
		break;
	case BLK_FLUSH:
		break;
	}
}

/* It is to end as the model says. */
static void
judge(struct model *m, unsigned part)
{
	struct cio *t = m->under_way[part];
	struct blk_range run = { t->io.lba, t->io.blocks };
	bool reads = t->io.op == BLK_READ || t->io.op == BLK_COMPARE_WRITE, bad = reads && any_bad(m, run);
	enum nvme_sc sc = bad ? NVME_SC_READ_ERROR :
	    t->io.op == BLK_COMPARE_WRITE && !m->as_expected[part] ? NVME_SC_COMPARE : NVME_SC_SUCCESS;

	wait_for(m, part);
	assert_int_equal(t->sc, sc);
	assert_int_equal((t->io.flags & BLK_BAD) != 0, bad);
	if (sc == NVME_SC_SUCCESS)
		take(m, part);
	m->under_way[part] = NULL;
	cio_end(t);
}


/* With one I/O under way in each of so many parts. */
static void
at_depth(struct conform *c, unsigned parts, unsigned steps)
{
	static struct model m;

	memset(&m, 0, sizeof(m));
	m.c = c;
	assert_true((uint64_t)parts * PART <= c->blk->blocks);
	while (steps-- > 0) {
		unsigned part = (unsigned)rng_below(&c->rng, parts);

		if (m.under_way[part] != NULL)
			judge(&m, part);
		start(&m, part);
	}
	for (unsigned part = 0; part < parts; part++)
		if (m.under_way[part] != NULL)
			judge(&m, part);
	for (uint64_t lba = 0; lba < parts * PART; lba++)
		if (!m.bad[lba])
			assert_blocks(c, (unsigned)lba % c->reactors, lba, 1, m.stamps[lba]);
}

static void
one_at_a_time(struct conform *c)
{
	at_depth(c, 1, STEPS / 3);
}

static void
some_at_a_time(struct conform *c)
{
	at_depth(c, 16, STEPS);
}

static void
hundreds_at_a_time(struct conform *c)
{
	uint64_t parts = c->blk->blocks / PART;

	at_depth(c, parts < PARTS_MAX ? (unsigned)parts : PARTS_MAX, STEPS);
}

const struct conform_property conform_random[] = {
	{ "at random, one at a time", conform_forgets, one_at_a_time },
	{ "at random, some at a time", conform_forgets, some_at_a_time },
	{ "at random, hundreds at a time", conform_forgets, hundreds_at_a_time },
	{ .name = NULL },
};
