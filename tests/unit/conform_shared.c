/*
 * conform_shared.c - of conform.h: what others do at the same time: lending, ending, and who is in whose way.
 */
#include "conform.h"

enum { WRITERS = 24, AREA = 48 };

static const char *
lends_nothing(const struct conform *c)
{
	return !c->blk->lends ? "it lends nothing" : NULL;
}

static const char *
lends_what_nobody_changes(const struct conform *c)
{
	return c->device->forgets != NULL ? c->device->forgets : lends_nothing(c);
}

static struct cio *
write_start(struct conform *c, unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, uint64_t stamp)
{
	struct cio *t = cio_make(c, chan, BLK_WRITE, flags, lba, blocks);

	cio_fill(t, stamp);
	cio_start(t);
	return t;
}

/* Not only read, but lent: a device may do either. */
static struct cio *
lend(struct conform *c, unsigned chan, uint64_t lba, uint32_t blocks)
{
	struct cio *t = cio_make(c, chan, BLK_READ, BLK_MAY_LEND, lba, blocks);

	cio_start(t);
	cio_wait(t);
	assert_int_equal(t->sc, NVME_SC_SUCCESS);
	assert_int_not_equal(t->io.flags & BLK_LENT, 0);
	assert_in_range(t->io.iov_count, 1, 2);
	return t;
}

static void
assert_lent(const struct cio *t, uint64_t stamp)
{
	for (uint32_t i = 0; i < t->io.blocks; i++)
		assert_int_equal(block_stamp(t->c, cio_block(t, i), t->io.lba + i), stamp);
}

static void
what_is_lent_is_what_is_read(struct conform *c)
{
	for (unsigned chan = 0; chan < c->reactors; chan++) {
		struct cio *t = lend(c, chan, 5, 256);

		assert_lent(t, 0);
		cio_release(t);
		cio_ended(t, NVME_SC_SUCCESS);
	}
}

/* Whoever wants to change it, and however. */
static void
what_is_lent_stays_as_it_is_until_it_is_released(struct conform *c)
{
	static const struct blk_range range = { 10, 12 };
	struct cio *changes[CONFORM_REACTORS][4];

	for (unsigned lender = 0; lender < c->reactors; lender++) {
		struct cio *t, *again;

		write_blocks(c, lender, 0, 0, 64, 1);
		t = lend(c, lender, 8, 16);
		again = lend(c, (lender + 1) % c->reactors, 8, 16);
		for (unsigned chan = 0; chan < c->reactors; chan++) {
			changes[chan][0] = write_start(c, chan, BLK_TRANSIENT, 20, 20, 2);
			changes[chan][1] = cio_make(c, chan, BLK_WRITE_ZEROES, 0, 0, 9);
			changes[chan][2] = cio_trim(c, chan, &range, 1);
			changes[chan][3] = cio_make(c, chan, BLK_COMPARE_WRITE, 0, 23, 1);
			cio_fill(changes[chan][3], 1);
			cio_expect(changes[chan][3], 1);
			for (unsigned i = 1; i < 4; i++)
				cio_start(changes[chan][i]);
		}
		conform_turns(c, 200);
		assert_lent(t, 1);
		assert_lent(again, 1);
		cio_release(again);
		conform_turns(c, 200);
		assert_lent(t, 1);
		cio_release(t);
		for (unsigned chan = 0; chan < c->reactors; chan++) {
			for (unsigned i = 0; i < 3; i++)
				cio_ended(changes[chan][i], NVME_SC_SUCCESS);
			cio_end(changes[chan][3]); /* as it came before the write or after it */
		}
		cio_ended(t, NVME_SC_SUCCESS);
		cio_ended(again, NVME_SC_SUCCESS);
		assert_blocks(c, lender, 0, 9, 0);
		assert_blocks(c, lender, 10, 10, 0);
		assert_blocks(c, lender, 30, 10, 2);
	}
}

/* The holder is told, however far he is from who wants it, and not where nobody does. */
static void
who_holds_what_others_wait_for_is_told(struct conform *c)
{
	for (unsigned chan = 0; chan < c->reactors; chan++) {
		struct cio *held = lend(c, c->reactors - 1, 8, 2), *other = lend(c, 0, 600, 2), *w;
		unsigned turns = 0;

		conform_turns(c, 2000);
		assert_false(cio_wanted(held));
		w = write_start(c, chan, 0, 9, 4, 1);
		while (!cio_wanted(held)) {
			assert_true(turns++ < 5000);
			conform_turns(c, 1);
		}
		assert_false(cio_wanted(other));
		assert_int_equal(w->done, 0);
		cio_release(held);
		cio_ended(w, NVME_SC_SUCCESS);
		cio_ended(held, NVME_SC_SUCCESS);
		cio_release(other);
		cio_ended(other, NVME_SC_SUCCESS);
	}
}

/* When the last who waited has gone, readers come as if nobody had. */
static void
who_waits_for_what_is_lent_can_be_ended(struct conform *c)
{
	for (unsigned chan = 0; chan < c->reactors; chan++) {
		struct cio *held = lend(c, 0, 8, 2), *again, *w[2];

		w[0] = write_start(c, chan, BLK_TRANSIENT, 8, 4, 1);
		w[1] = write_start(c, chan, BLK_TRANSIENT, 9, 4, 2);
		conform_turns(c, 20);
		cio_cancel(w[0]);
		cio_ended(w[0], NVME_SC_ABORT_REQUESTED);
		assert_int_equal(w[1]->done, 0);
		cio_cancel(w[1]);
		cio_ended(w[1], NVME_SC_ABORT_REQUESTED);
		again = lend(c, c->reactors - 1, 9, 1);
		w[1] = write_start(c, chan, BLK_TRANSIENT, 9, 4, 2);
		cio_release(again);
		cio_ended(again, NVME_SC_SUCCESS);
		cio_release(held);
		cio_ended(w[1], NVME_SC_SUCCESS);
		cio_ended(held, NVME_SC_SUCCESS);
		assert_blocks(c, chan, 8, 1, 0);
		assert_blocks(c, chan, 9, 4, 2);
		zero_blocks(c, chan, 0, 0, 16);
	}
}

/* At any time after it was submitted.  What ends so was not done; where it was promised it does end so. */
static void
what_ends_as_asked_was_not_done(struct conform *c)
{
	write_blocks(c, 0, 0, 0, AREA, 1);
	for (unsigned round = 0; round < 300; round++) {
		unsigned chan = (unsigned)rng_below(&c->rng, c->reactors);
		struct cio *others[2], *w;
		bool promised, fua = rng_below(&c->rng, 2) == 0;

		for (unsigned i = 0; i < 2; i++)
			others[i] = write_start(c, i % c->reactors, fua ? BLK_FUA : 0, 0, AREA, 1);
		w = write_start(c, chan, 0, 8, 8, 2);
		conform_turns(c, (unsigned)(rng_below(&c->rng, 4) * rng_below(&c->rng, 10)));
		promised = cio_cancel(w);
		cio_wait(w);
		for (unsigned i = 0; i < 2; i++)
			cio_ended(others[i], NVME_SC_SUCCESS);
		assert_true(!promised || w->sc == NVME_SC_ABORT_REQUESTED);
		assert_true(w->sc == NVME_SC_ABORT_REQUESTED || w->sc == NVME_SC_SUCCESS);
		if (w->sc == NVME_SC_ABORT_REQUESTED && c->device->forgets == NULL)
			assert_blocks(c, chan, 0, AREA, 1);
		cio_end(w);
		write_blocks(c, chan, 0, 0, AREA, 1);
	}
}

/* Whatever is under way, also what is long: each ends, well or as it was asked to. */
static void
all_that_is_asked_to_end_does(struct conform *c)
{
	const struct blk_range all[] = { { 0, (uint32_t)c->blk->blocks }, { 0, 0 }, { 5, 100 } };

	for (unsigned round = 0; round < 40; round++) {
		unsigned chan = round % c->reactors;
		struct cio *t[6];

		t[0] = cio_trim(c, chan, all, 3);
		t[1] = cio_make(c, chan, BLK_WRITE_ZEROES, BLK_DEALLOCATE, 0, (uint32_t)c->blk->blocks);
		t[2] = cio_make(c, chan, BLK_FLUSH, 0, 0, 0);
		t[3] = cio_make(c, chan, BLK_READ, 0, 0, CONFORM_RUN);
		t[4] = cio_make(c, chan, BLK_WRITE, BLK_FUA | BLK_TRANSIENT, 5, 5);
		t[5] = cio_make(c, chan, BLK_COMPARE_WRITE, 0, 9, 1);
		cio_fill(t[5], 0);
		cio_expect(t[5], 0);
		for (unsigned i = 0; i < 6; i++)
			cio_start(t[i]);
		conform_turns(c, (unsigned)rng_below(&c->rng, 6));
		for (unsigned i = 0; i < 6; i++) {
			unsigned which = (i + round) % 6;
			bool promised = cio_cancel(t[which]);

			cio_wait(t[which]);
			assert_true(t[which]->sc == NVME_SC_ABORT_REQUESTED || !promised);
			assert_true(t[which]->sc == NVME_SC_ABORT_REQUESTED || t[which]->sc == NVME_SC_SUCCESS ||
			    (which == 5 && t[which]->sc == NVME_SC_COMPARE));
		}
		for (unsigned i = 0; i < 6; i++)
			cio_end(t[i]);
	}
}

/* Of writes that overlap, from all channels at once: reads meanwhile find blocks that are whole, and so it ends. */
static void
each_block_is_all_old_or_all_new(struct conform *c)
{
	for (unsigned round = 0; round < 20; round++) {
		struct cio *w[WRITERS], *r[WRITERS];

		for (unsigned i = 0; i < WRITERS; i++) {
			unsigned chan = i % c->reactors;
			uint64_t lba = rng_below(&c->rng, AREA - 16);

			w[i] = write_start(c, chan, i % 5 == 0 ? BLK_FUA : BLK_TRANSIENT, lba, 16,
			    1 + round * WRITERS + i);
			r[i] = cio_make(c, (i + 1) % c->reactors, BLK_READ, 0, 0, AREA);
			cio_start(r[i]);
			conform_turns(c, (unsigned)rng_below(&c->rng, 2));
		}
		for (unsigned i = 0; i < WRITERS; i++) {
			cio_wait(r[i]);
			for (uint32_t b = 0; b < AREA; b++)
				assert_in_range(block_stamp(c, cio_block(r[i], b), b), 0, (round + 1) * WRITERS);
			cio_ended(r[i], NVME_SC_SUCCESS);
			cio_ended(w[i], NVME_SC_SUCCESS);
		}
	}
}

/* A counter in one block: each who finds what it expects makes it one more, and none is lost. */
static void
of_those_who_expect_the_same_one_finds_it(struct conform *c)
{
	uint64_t count = 0;
	unsigned refused = 0;

	for (unsigned round = 0; round < 60; round++) {
		struct cio *t[2 * CONFORM_REACTORS];
		unsigned won = 0;

		for (unsigned i = 0; i < 2 * c->reactors; i++) {
			t[i] = cio_make(c, i % c->reactors, BLK_COMPARE_WRITE, round % 4 == 0 ? BLK_FUA : 0, 7, 3);
			cio_expect(t[i], count);
			cio_fill(t[i], count + 1);
			cio_start(t[i]);
			conform_turns(c, (unsigned)rng_below(&c->rng, 2));
		}
		for (unsigned i = 0; i < 2 * c->reactors; i++) {
			cio_wait(t[i]);
			assert_true(t[i]->sc == NVME_SC_SUCCESS || t[i]->sc == NVME_SC_COMPARE);
			won += t[i]->sc == NVME_SC_SUCCESS;
			cio_end(t[i]);
		}
		assert_int_equal(won, 1);
		refused += 2 * c->reactors - won;
		count++;
		assert_blocks(c, round % c->reactors, 7, 3, count);
	}
	assert_true(refused > 0);
}

/* More at a time than any device has room for under way. */
static void
a_thousand_at_once_are_all_done(struct conform *c)
{
	enum { MANY = 1000 };
	struct cio *t[MANY];

	for (uint32_t i = 0; i < MANY; i++)
		t[i] = write_start(c, 0, i % 7 == 0 ? BLK_FUA : BLK_TRANSIENT, i, 1, 1 + i);
	for (uint32_t i = 0; i < MANY; i++)
		cio_ended(t[i], NVME_SC_SUCCESS);
	for (uint32_t i = 0; i < MANY; i++) {
		t[i] = cio_make(c, c->reactors - 1, BLK_READ, 0, i, 1);
		cio_start(t[i]);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		cio_wait(t[i]);
		assert_int_equal(block_stamp(c, cio_block(t[i], 0), i), 1 + i);
		cio_ended(t[i], NVME_SC_SUCCESS);
	}
}

/* Wherever they stand: those that were ended are not done, and the others are. */
static void
of_a_thousand_at_once_some_are_ended(struct conform *c)
{
	enum { MANY = 1000, EACH = 7 };
	unsigned chan = c->reactors - 1;
	struct cio *t[MANY];

	for (uint32_t i = 0; i < MANY; i++)
		t[i] = write_start(c, chan, BLK_TRANSIENT, i, 1, 1 + i);
	for (uint32_t i = 0; i < MANY / EACH; i++) /* the last first */
		(void)cio_cancel(t[MANY - EACH * i - 1]);
	for (uint32_t i = 0; i < MANY; i++) {
		bool was_ended;

		cio_wait(t[i]);
		was_ended = t[i]->sc == NVME_SC_ABORT_REQUESTED;
		assert_true(was_ended || t[i]->sc == NVME_SC_SUCCESS);
		assert_true(!was_ended || (MANY - 1 - i) % EACH == 0);
		cio_end(t[i]);
		assert_blocks(c, 0, i, 1, was_ended ? 0 : 1 + i);
	}
}

const struct conform_property conform_shared[] = {
	{ "what is lent is what is read", lends_nothing, what_is_lent_is_what_is_read },
	{ "what is lent stays as it is until it is released", lends_what_nobody_changes,
	  what_is_lent_stays_as_it_is_until_it_is_released },
	{ "who holds what others wait for is told", lends_what_nobody_changes,
	  who_holds_what_others_wait_for_is_told },
	{ "who waits for what is lent can be ended", lends_what_nobody_changes,
	  who_waits_for_what_is_lent_can_be_ended },
	{ "what ends as asked was not done", NULL, what_ends_as_asked_was_not_done },
	{ "all that is asked to end does", NULL, all_that_is_asked_to_end_does },
	{ "each block is all old or all new", conform_forgets, each_block_is_all_old_or_all_new },
	{ "of those who expect the same one finds it", conform_forgets, of_those_who_expect_the_same_one_finds_it },
	{ "a thousand at once are all done", conform_forgets, a_thousand_at_once_are_all_done },
	{ "of a thousand at once some are ended", conform_forgets, of_a_thousand_at_once_some_are_ended },
	{ .name = NULL },
};
