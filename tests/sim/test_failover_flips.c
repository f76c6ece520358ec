/*
 * test_failover_flips.c - a network that changes bits does no harm to who uses digests.
 *
 * A header digest that is wrong ends the connection: its commands are sent again. A data digest that is wrong fails
 * the command, which is tried again. Up to three wrong bits in what one digest is of are noticed in any case, and any
 * odd number of them (CRC-32C); of others one pattern of 2^32 is not. Hosts with one of the digests alone are not
 * here: with header digests nobody can say that data is what was sent, and with data digests what it belongs to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failover_bench.h"
#include "wire/pdu.h"

static uint64_t seed_first, seed_count = 60;

/* What has none: ICReq and ICResp. */
enum { SPARED = sizeof(struct pdu_ic) };

struct flips {
	uint64_t flips, resent, lost;
};

static void
note(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	struct flips *flips = arg;

	flips->flips += kind == SIM_FLIP;
}

/* From the first connect on: whatever is asked when a path comes up is hit, too. */
static void
load(uint64_t seed, uint32_t ppm, struct flips *flips)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;

	sim.trace = note;
	sim.arg = flips;
	fail_init(&f);
	f.options.hdgst = f.options.ddgst = true;
	f.options.plain = seed % 4 == 3;
	f.options.sq_flow = seed & 8;
	f.paths = 1 + seed % 2;
	f.target.spec = seed % 3 == 0 ? "fault:delay-write=1@file:volume.img,size=1M" : "mem:1M";
	f.ios = 600;
	fail_start(&f, seed, &sim);
	sim_process_flips(seed & 1 ? f.target_process : f.host_process, ppm, SPARED);
	sim_run_until(f.sim, sim_now(f.sim) + 60000ULL * FAIL_MS, fail_loaded, &f);
	assert_true(f.loaded);
	sim_process_flips(seed & 1 ? f.target_process : f.host_process, 0, 0);
	fail_end(&f);
	flips->resent += f.resent;
	flips->lost += f.lost;
	fail_check(&f);
}

static void
with_both_digests_every_flip_is_noticed_and_nothing_is_lost_or_doubled(void **state)
{
	struct flips flips = { 0 };

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++)
		load(seed, 300u << seed % 6, &flips);
	assert_true(flips.flips > 5 * seed_count);
	assert_true(flips.lost > seed_count);
	assert_true(flips.resent > seed_count);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_both_digests_every_flip_is_noticed_and_nothing_is_lost_or_doubled),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
