/*
 * Events happen in order, also those that are brought forward, and the hash of
 * the trace takes in every bit of what happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/internal.h"

enum { EVENTS = 1000, BYTES = 4096 };

static struct sim *
empty(void)
{
	struct sim_options options = sim_options_default();

	return sim_create(1, &options);
}

/* ---- what happens next ---- */

struct order {
	uint64_t at_ns, asked; /* when, and as which of all that were put or hastened */
};

static void
an_event_that_is_hastened_happens_behind_those_put_before_for_that_instant(void **state)
{
	struct sim *sim = empty();
	struct sim_event *events[EVENTS];
	struct order orders[EVENTS], last = { 0, 0 };
	uint64_t asked = 0, at_ns;

	for (uint64_t i = 0; i < EVENTS; i++) {
		orders[i] = (struct order){ sim_below(sim, 200), ++asked };
		events[i] = sim_event_take(sim, SIM_TURN);
		events[i]->count = i;
		sim_event_put(sim, events[i], orders[i].at_ns);
	}
	for (uint64_t n = 0; n < EVENTS; n++) {
		uint64_t i = sim_below(sim, EVENTS);

		if (orders[i].at_ns == 0)
			continue;
		orders[i] = (struct order){ sim_below(sim, orders[i].at_ns), ++asked };
		sim_event_hasten(sim, events[i], orders[i].at_ns);
	}
	for (uint64_t n = 0; n < EVENTS; n++) {
		struct order now = orders[sim_event_next(sim, &at_ns)->count];

		assert_int_equal(at_ns, now.at_ns);
		assert_true(now.at_ns > last.at_ns || (now.at_ns == last.at_ns && now.asked > last.asked));
		last = now;
	}
	assert_null(sim_event_next(sim, &at_ns));
	sim_destroy(sim);
}

/* ---- what is remembered ---- */

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
assert_all_differ(uint64_t *hashes, size_t count)
{
	qsort(hashes, count, sizeof(*hashes), compare);
	for (size_t i = 1; i < count; i++)
		assert_true(hashes[i - 1] != hashes[i]);
}

static void
each_bit_of_a_block_counts(void **state)
{
	static uint64_t hashes[BYTES * 8 + 1];
	uint8_t data[BYTES] = { 0 };

	for (size_t i = 0; i < BYTES * 8; i++) {
		data[i / 8] ^= (uint8_t)(1 << i % 8);
		hashes[i] = sim_hash_bytes(0, data, BYTES);
		data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	hashes[BYTES * 8] = sim_hash_bytes(0, data, BYTES);
	assert_all_differ(hashes, BYTES * 8 + 1);
}

static void
how_many_bytes_and_what_was_before_them_count(void **state)
{
	uint64_t hashes[4 * 200];
	uint8_t zeros[200] = { 0 }, ones[200];
	size_t count = 0;

	memset(ones, 0xff, sizeof(ones));
	for (size_t bytes = 0; bytes < 200; bytes++) {
		hashes[count++] = sim_hash_bytes(0, zeros, bytes);
		hashes[count++] = sim_hash_bytes(1, zeros, bytes);
		if (bytes == 0)
			continue;
		hashes[count++] = sim_hash_bytes(0, ones, bytes);
		hashes[count++] = sim_hash_bytes(1, ones, bytes);
	}
	assert_all_differ(hashes, count);
}

static void
parts_that_change_places_make_another_hash(void **state)
{
	uint64_t hashes[32 * 31 / 2 + 1];
	uint8_t data[256], part[8];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	hashes[count++] = sim_hash_bytes(0, data, sizeof(data));
	for (size_t i = 0; i < 32; i++) {
		for (size_t j = 0; j < i; j++) {
			uint8_t swapped[256];

			memcpy(swapped, data, sizeof(data));
			memcpy(part, swapped + 8 * i, 8);
			memcpy(swapped + 8 * i, swapped + 8 * j, 8);
			memcpy(swapped + 8 * j, part, 8);
			hashes[count++] = sim_hash_bytes(0, swapped, sizeof(swapped));
		}
	}
	assert_all_differ(hashes, count);
}

/* The hash behind two entries, of which the first is this one. */
static uint64_t
hash_of(uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	struct sim *sim = empty();
	uint64_t hash;

	sim->now_ns = now_ns;
	sim_trace(sim, kind, actor, a, b);
	sim_trace(sim, SIM_FIN, 7, 0, 0);
	hash = sim_hash(sim);
	sim_destroy(sim);
	return hash;
}

static void
each_bit_of_an_entry_counts(void **state)
{
	uint64_t hashes[5 * 64];
	size_t count = 0;

	hashes[count++] = hash_of(0, SIM_TURN, 0, 0, 0);
	hashes[count++] = hash_of(0, SIM_MAIL, 0, 0, 0);
	for (unsigned bit = 0; bit < 64; bit++) {
		if (bit < 56)
			hashes[count++] = hash_of(0, SIM_TURN, 1ULL << bit, 0, 0);
		if (bit < 62)
			hashes[count++] = hash_of(1ULL << bit, SIM_TURN, 0, 0, 0);
		hashes[count++] = hash_of(0, SIM_TURN, 0, 1ULL << bit, 0);
		hashes[count++] = hash_of(0, SIM_TURN, 0, 0, 1ULL << bit);
	}
	assert_all_differ(hashes, count);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_is_hastened_happens_behind_those_put_before_for_that_instant),
		cmocka_unit_test(each_bit_of_a_block_counts),
		cmocka_unit_test(how_many_bytes_and_what_was_before_them_count),
		cmocka_unit_test(parts_that_change_places_make_another_hash),
		cmocka_unit_test(each_bit_of_an_entry_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
