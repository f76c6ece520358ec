/*
 * test_wishes.c - hosts who wish for namespaces in the simulation: on two reactors, with connections that come and go
 * while wishes wait, and with each allocation of the target failing in turn.  Nobody else is harmed, and nothing is
 * left of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "script.h"

enum { SEEDS = 60, STEPS = 220, BYTES = 2048, CLIENTS = 6, FAILURES = 120 };

/* The steps of a script, by their number. */
enum { OPEN, CONNECT, PROPERTY, IO, WRITE, DATA, ADMIN, LEAVE = 13, WAIT = 15 };
enum { MANAGE = 7, SHARED = 8, BLOCKS_4096 = 16, ATTACHMENT = 64, IN_CAPSULE = 128, PROTECT = 255 };

struct text {
	uint8_t bytes[BYTES];
	size_t count;
	struct rng rng;
};

static void
say(struct text *t, unsigned client, unsigned step, const uint8_t *bytes, unsigned count)
{
	if (t->count + 1 + count > BYTES)
		return;
	t->bytes[t->count++] = (uint8_t)(client << 4 | step);
	for (unsigned i = 0; i < count; i++)
		t->bytes[t->count++] = bytes[i];
}

static void
wait(struct text *t, uint8_t shift)
{
	say(t, 0, WAIT, &shift, 1);
}

static void
connect(struct text *t, unsigned client)
{
	say(t, client, OPEN, (const uint8_t[]){ 0 }, 1);
	say(t, client, CONNECT, (const uint8_t[]){ 0, 30 }, 2);
	wait(t, 20);
	say(t, client, PROPERTY, (const uint8_t[]){ 0 }, 1); /* CC.EN */
}

static void
wish(struct text *t, unsigned client)
{
	uint64_t random = rng_next(&t->rng);
	uint8_t what = MANAGE | (uint8_t)(random & (SHARED | BLOCKS_4096 | IN_CAPSULE)),
	    select = (uint8_t)(random >> 8 & 1);
	uint8_t nsid = (uint8_t)(2 + (random >> 16) % 6), which = (uint8_t)(random >> 24 & 0x7e);

	switch (random >> 32 & 7) {
	case 0:
	case 1: /* create */
		say(t, client, ADMIN, (const uint8_t[]){ what, 0, nsid }, 3);
		return;
	case 2: /* delete, now and then all */
		say(t, client, ADMIN, (const uint8_t[]){ what, 1, random >> 40 & 7 ? nsid : 128 }, 3);
		return;
	case 3:
		say(t, client, ADMIN,
		    (const uint8_t[]){ what | IN_CAPSULE, PROTECT, (uint8_t)(nsid | (random >> 36 & 16)) }, 3);
		return;
	default: /* attach and detach one or more */
		say(t, client, ADMIN,
		    (const uint8_t[]){ what | ATTACHMENT, (uint8_t)(select | (random >> 40 & 1 ? which :
		    (uint8_t)(2u << (random >> 41 & 3)))), nsid }, 3);
	}
}

static void
write_text(struct text *t, uint64_t seed)
{
	rng_seed(&t->rng, seed);
	t->count = 0;
	t->bytes[t->count++] = (uint8_t)((seed & 1) | (seed & 2) << 2); /* few buffers or more; static controllers */
	for (unsigned i = 0; i < 4; i++)
		connect(t, i);
	wait(t, 22);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned client = (unsigned)rng_below(&t->rng, 4);

		switch (rng_below(&t->rng, 20)) {
		case 0:
			say(t, client, LEAVE, (const uint8_t[]){ (uint8_t)(step & 1) }, 1);
			connect(t, client);
			break;
		case 1:
		case 2: /* Identify 10h to 13h */
			say(t, client, ADMIN, (const uint8_t[]){ 8, (uint8_t)(16 + (step & 3)), 0 }, 3);
			break;
		case 3: /* an I/O queue, and something for it */
			say(t, 4, OPEN, (const uint8_t[]){ 0 }, 1);
			say(t, 4, CONNECT, (const uint8_t[]){ (uint8_t)(1 | client << 4), 30 }, 2);
			wait(t, 20);
			say(t, 4, IO, (const uint8_t[]){ (uint8_t)(16 | (step & 3)), 1, 1 }, 3);
			break;
		case 4:
			wait(t, (uint8_t)(10 + rng_below(&t->rng, 12)));
			break;
		case 5:
			say(t, client, ADMIN, (const uint8_t[]){ 4, 0, 0 }, 3); /* an event request */
			break;
		case 6:
		case 7:
		case 8: /* data that was asked for */
			wait(t, 16);
			say(t, client, DATA, (const uint8_t[]){ 4, (uint8_t)rng_below(&t->rng, 8) }, 2);
			break;
		default:
			wish(t, client);
		}
	}
}

static void
hosts_that_come_and_go_wish_what_they_like(void **state)
{
	uint64_t done = 0, refused = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		static struct text text;
		struct script_end end;

		write_text(&text, seed);
		end = script_play(text.bytes, text.count);
		if (!end.served || !end.nothing_left)
			fail_msg("seed %u: %s", (unsigned)seed,
			    end.served ? "something is left" : "another host is not served");
		done += end.wishes;
		refused += end.refused;
	}
	print_message("%u wishes done, %u not\n", (unsigned)done, (unsigned)refused);
	assert_true(done > SEEDS * 10 && refused > SEEDS / 2);
}

static void
whatever_allocation_fails_nothing_is_left_of_it(void **state)
{
	uint64_t most = 0;

	(void)state;
	for (unsigned n = 0; n < FAILURES; n++) {
		static struct text text;
		struct script_end end;

		write_text(&text, 1 + n % 5);
		end = script_play_failing(text.bytes, text.count, n & 1, 1 + n / 2);
		if (!end.nothing_left)
			fail_msg("allocation %u of reactor %u: something is left", 1 + n / 2, n & 1);
		most = end.wishes > most ? end.wishes : most;
	}
	assert_true(most > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_that_come_and_go_wish_what_they_like),
		cmocka_unit_test(whatever_allocation_fails_nothing_is_left_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
