/*
 * test_order_scan.c - what a part of the log has after crashes: of batches that came whole, in part or not at all, over
 * many laps; and that what was durable and is damaged is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/scan.h"

enum { SLOTS = ORDER_SLOTS_LEAST, SEED = 0x5eed };

/* A part, and what it is known to have. */
struct log {
	struct rng rng;
	struct order_image slots[SLOTS];
	struct order_part part;
	uint64_t next;
	uint64_t is[SLOTS];   /* of each slot: the entry of which place is there, + 1; 0: none is */
	bool persists[SLOTS];
};

static struct log tested;

static struct log *
begin(uint64_t seed)
{
	memset(&tested, 0, sizeof(tested));
	rng_seed(&tested.rng, seed);
	tested.part = (struct order_part){ tested.slots, SLOTS, SEED };
	return &tested;
}

static struct order_entry
entry_at(const struct log *log, uint64_t place, uint16_t batch)
{
	return (struct order_entry){
		.first = (uint32_t)place + 1, .last = (uint32_t)place + 1, .prev = (uint32_t)place, .num = 1,
		.blocks = 8, .flags = ORDER_ENTRY_LAST, .lap = order_lap_of(&log->part, place), .count = 1,
		.batch = batch,
	};
}

/* Of an entry some of its eight words; what it would change is as it was. */
static void
write_some(struct log *log, uint64_t place, uint16_t batch, unsigned words)
{
	struct order_entry entry = entry_at(log, place, batch);
	unsigned slot = place % SLOTS;
	struct order_image image, before = log->slots[slot];

	order_entry_write(&entry, SEED, &image);
	for (unsigned word = 0; word < 8; word++)
		if ((words >> word & 1) != 0)
			memcpy((char *)&log->slots[slot] + 8 * word, (char *)&image + 8 * word, 8);
	if (memcmp(&log->slots[slot], &before, sizeof(before)) == 0)
		return;
	log->is[slot] = memcmp(&log->slots[slot], &image, sizeof(image)) == 0 ? place + 1 : 0;
	log->persists[slot] = false;
}

static void
empty(struct log *log, uint64_t place)
{
	memset(&log->slots[place % SLOTS], 0, sizeof(log->slots[0]));
	log->is[place % SLOTS] = 0;
}

static void
append(struct log *log, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		write_some(log, log->next + i, (uint16_t)i, 0xff);
	log->next += count;
}

static void
persist(struct log *log, uint64_t place)
{
	struct order_entry entry = entry_at(log, place, 0);

	log->slots[place % SLOTS].persist = order_entry_persist(&entry);
	log->persists[place % SLOTS] = true;
}

/* Each place has what it is known to have; what there is beyond that is torn. */
static void
expect(const struct log *log, const struct order_scan *scan)
{
	uint32_t holes = 0;

	for (uint64_t place = scan->from; place < scan->next; place++) {
		struct order_entry entry;
		bool persists, there = order_part_entry(&log->part, place, &entry, &persists);

		if (there != (log->is[place % SLOTS] == place + 1))
			fail_msg("place %llu", (unsigned long long)place);
		if (there) {
			assert_int_equal(entry.first, (uint32_t)place + 1);
			assert_true(persists == log->persists[place % SLOTS]);
		}
		holes += !there;
	}
	assert_int_equal(scan->holes, holes);
}

static void
nothing_was_written_yet(void **state)
{
	struct log *log = begin(1);
	struct order_scan scan;

	(void)state;
	order_scan(&log->part, &scan);
	assert_int_equal(scan.next, 0);
	assert_int_equal(scan.holes, 0);
	assert_false(scan.corrupt);
}

static void
it_goes_round(void **state)
{
	struct log *log = begin(2);
	struct order_scan scan;

	(void)state;
	for (unsigned i = 0; i < 5 * SLOTS; i += 8) {
		append(log, 8);
		if (i % 3 == 0)
			persist(log, log->next - 3);
		order_scan(&log->part, &scan);
		assert_int_equal(scan.next, log->next);
		assert_int_equal(scan.next - scan.from, log->next < SLOTS ? log->next : SLOTS);
		assert_int_equal(scan.holes, 0);
		assert_false(scan.corrupt);
		expect(log, &scan);
	}
}

/* The batch from `log->next` on: how much of it came whole, or none where any of it is missing before another one. */
static uint64_t
came(const struct log *log, unsigned count)
{
	uint64_t end = log->next;

	for (uint64_t place = log->next; place < log->next + count; place++)
		if (log->is[place % SLOTS] == place + 1) {
			if (place > end)
				return log->next;
			end = place + 1;
		}
	return end;
}

/* A crash while a batch was written: each of its entries came, or did not, or words of it did; and whoever starts next
 * empties what came of it, or is torn as well. */
static void
crash(struct log *log)
{
	unsigned count = 1 + (unsigned)rng_below(&log->rng, ORDER_BATCH_MAX);
	struct order_scan scan;

	for (unsigned i = 0; i < count; i++) {
		uint64_t how = rng_below(&log->rng, 3);

		write_some(log, log->next + i, (uint16_t)i,
		    how == 0 ? 0 : how == 1 ? 0xff : (unsigned)rng_below(&log->rng, 256));
	}
	order_scan(&log->part, &scan);
	assert_false(scan.corrupt);
	assert_int_equal(scan.next, came(log, count));
	expect(log, &scan);
	for (unsigned round = 0; scan.torn_to > scan.next; round++) {
		for (uint64_t place = scan.next; place < scan.torn_to; place++)
			if (round > 3 || rng_below(&log->rng, 2) == 0)
				empty(log, place);
		order_scan(&log->part, &scan);
		assert_false(scan.corrupt);
		assert_int_equal(scan.next, came(log, count));
		expect(log, &scan);
	}
	log->next = scan.next;
}

static void
a_batch_may_be_torn(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct log *log = begin(seed);

		for (int round = 0; round < 40; round++) {
			for (uint64_t many = rng_below(&log->rng, 30); many > 0; many--)
				append(log, 1 + (unsigned)rng_below(&log->rng, 20));
			crash(log);
		}
	}
}

/* Anywhere but among the oldest, of which it cannot be told, and the last batch. */
static void
what_was_durable_and_is_damaged_is_found(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct log *log = begin(seed);
		struct order_scan scan;
		uint64_t least, place, another;

		for (uint64_t many = 100 + rng_below(&log->rng, 200); many > 0; many--)
			append(log, 1 + (unsigned)rng_below(&log->rng, 20));
		append(log, 1);
		least = log->next > SLOTS - ORDER_BATCH_MAX ? log->next - SLOTS + ORDER_BATCH_MAX : 0;
		place = least + rng_below(&log->rng, log->next - 1 - least);
		((uint8_t *)&log->slots[place % SLOTS])[rng_below(&log->rng, 60)] ^= 1;
		another = least + rng_below(&log->rng, place + 1 - least);
		if (another != place)
			((uint8_t *)&log->slots[another % SLOTS])[rng_below(&log->rng, 60)] ^= 1;
		order_scan(&log->part, &scan);
		assert_true(scan.corrupt);
		assert_int_equal(scan.corrupt_at, place);
		assert_int_equal(scan.holes, another != place ? 2 : 1);
	}
}

/* A word that came later says that its batch was durable: what is missing of that was there. */
static void
a_last_batch_that_was_durable_and_is_damaged_is_found(void **state)
{
	struct log *log = begin(1);
	struct order_scan scan;
	struct order_entry anew;

	(void)state;
	append(log, 5);
	append(log, 8);
	((uint8_t *)&log->slots[7])[3] ^= 1;
	order_scan(&log->part, &scan);
	assert_int_equal(scan.next, 5);
	assert_int_equal(scan.torn_to, 13);
	assert_false(scan.corrupt);
	persist(log, 9);
	order_scan(&log->part, &scan);
	assert_int_equal(scan.next, 13);
	assert_true(scan.corrupt);
	assert_int_equal(scan.corrupt_at, 7);
	/* One that was appended anew came with its word. */
	anew = entry_at(log, 9, 4);
	anew.flags |= ORDER_ENTRY_ANEW;
	order_entry_write(&anew, SEED, &log->slots[9]);
	log->slots[9].persist = order_entry_persist(&anew);
	order_scan(&log->part, &scan);
	assert_int_equal(scan.next, 5);
	assert_false(scan.corrupt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_was_written_yet),
		cmocka_unit_test(it_goes_round),
		cmocka_unit_test(a_batch_may_be_torn),
		cmocka_unit_test(what_was_durable_and_is_damaged_is_found),
		cmocka_unit_test(a_last_batch_that_was_durable_and_is_damaged_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
