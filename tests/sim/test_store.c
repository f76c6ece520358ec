/*
 * test_store.c - a log of ordered writes as a whole, in each place: what it has after its process, or the machine, was
 * gone; and what is no log.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "keep/store.h"
#include "sim/sim.h"

enum { SEED = 0x5eed };
enum { SLOTS = ORDER_SLOTS_LEAST, REGION_BYTES = 4096 + ORDER_OWNERS * ORDER_OWNER_BYTES + SLOTS * 64, INDEX = 9 };

static uint8_t kept[REGION_BYTES] __attribute__((aligned(64)));

/* What outlives a process. */
struct seen {
	struct store_spec spec;
	uint8_t uuid[UUID_BYTES];
	unsigned lives;
	bool used;            /* an owner and an entry are there, durably */
	bool power;           /* it is the power that goes, not the process alone */
	int error;
	char why[256];
};

struct life {
	struct seen *seen;
	struct reactor *reactor;
	struct store *store;
	struct keep *keep;
	struct task task;
};

static const struct order_owner owner = {
	.host_id = { 7 }, .nqn = "nqn.2026-11.example:host", .subsystem = "nqn.2026-11.example:disks",
};

/* ---- what is done with it ---- */

static void
committed(struct keep *keep, int error)
{
	struct life *life = keep->owner;

	assert_int_equal(error, 0);
	life->seen->used = true;
}

/* An entry comes only when whose it is stands there. */
static void
put(void *arg, int error)
{
	struct life *life = arg;
	struct order_entry entry = {
		.first = 1, .last = 1, .num = 1, .count = 1, .stream = 5, .blocks = 8, .nsid = 1, .owner = INDEX,
		.flags = ORDER_ENTRY_LAST, .lap = 1,
	};
	const struct order_commit commit = { .from = 0, .to = 1 };

	assert_int_equal(error, 0);
	order_entry_write(&entry, SEED, &life->store->slots[0][0]);
	if (life->keep->ops->commit(life->keep, &commit))
		life->keep->done(life->keep, 0);
}

static void
use(struct task *task)
{
	struct life *life = container_of(task, struct life, task);

	order_owner_write(&owner, life->store->owners[INDEX]);
	store_put_owner(life->store, life->reactor, INDEX, put, life);
}

/* ---- what there is of it ---- */

static void
hold_used(const struct life *life)
{
	struct order_owner there;
	struct order_entry entry;
	bool persists;

	assert_false(life->store->fresh || life->store->begun_anew);
	assert_memory_equal(life->store->head.uuid, life->seen->uuid, UUID_BYTES);
	assert_true(order_owner_read(life->store->owners[INDEX], &there));
	assert_memory_equal(&there, &owner, sizeof(owner));
	assert_non_null(life->store->slots[0]);
	assert_true(order_entry_read(&life->store->slots[0][0], SEED, &entry, &persists));
	assert_int_equal(entry.owner, INDEX);
}

static void
hold_new(const struct life *life)
{
	struct order_owner there;

	assert_true(life->store->fresh);
	for (unsigned i = 0; i < ORDER_OWNERS; i++)
		assert_false(order_owner_read(life->store->owners[i], &there));
	assert_memory_not_equal(life->store->head.uuid, life->seen->uuid, UUID_BYTES);
	for (unsigned i = 0; i < life->store->head.parts && life->seen->spec.kind == STORE_FILE; i++)
		assert_null(life->store->slots[i]);
	memcpy(life->seen->uuid, life->store->head.uuid, UUID_BYTES);
}

static int
start(struct reactor *reactor, void *arg)
{
	struct life *life = arena_alloc(reactor->arena, sizeof(*life));
	struct seen *seen = arg;

	seen->lives++;
	life->seen = seen;
	life->reactor = reactor;
	task_init(&life->task, use);
	seen->error = store_open(reactor, &seen->spec, &life->store, seen->why);
	if (seen->error != 0)
		return 0;
	if (seen->used && !(seen->power && seen->spec.kind == STORE_MEMORY)) {
		hold_used(life);
	} else {
		assert_true(seen->used || !life->store->begun_anew); /* all of it may be zeros, too */
		hold_new(life);
	}
	assert_int_equal(life->store->head.parts, seen->spec.kind == STORE_FILE ? STORE_PARTS : 1);
	assert_int_equal(store_need(life->store, 0), 0);
	life->keep = store_keep(life->store, reactor, 0);
	assert_non_null(life->keep);
	life->keep->done = committed;
	life->keep->owner = life;
	seen->used = false;
	reactor_run_in(reactor, PHASE_SUBMIT, &life->task);
	return 0;
}

/* ---- the tests ---- */

static struct sim *
world(uint64_t seed, struct seen *seen, struct sim_process **process)
{
	struct sim_options options = sim_options_default();
	const struct sim_process_options of = { .start = start, .arg = seen };
	struct sim *sim;

	options.file_persistent = true;
	options.file_sector = seen->spec.kind == STORE_PERSISTENT ? 8 : 512;
	options.max_events = options.max_ns = UINT64_MAX;
	sim = sim_create(seed, &options);
	*process = sim_process_create(sim, "server", 1, &of);
	return sim;
}

static void
live_and_die(enum store_kind kind, uint64_t seed, struct keep_region *region)
{
	struct seen seen = { .spec = { .kind = kind, .path = "log", .slots = SLOTS, .region = region } };
	struct sim_process *process;
	struct sim *sim = world(seed, &seen, &process);

	for (unsigned life = 0; life < 6; life++) {
		sim_run_until(sim, sim_now(sim) + 10000000, NULL, NULL);
		assert_string_equal(seen.error != 0 ? seen.why : "", "");
		assert_true(seen.used);
		seen.power = life % 2 == 0;
		sim_process_crash(process, seen.power ? 0 : SIM_CRASH_KEEPS_WRITES);
		if (region != NULL && seen.power)
			pmr_cut(region->pmr, region->last_ns);
		sim_process_start(process);
	}
	sim_run_until(sim, sim_now(sim) + 10000000, NULL, NULL);
	assert_int_equal(seen.lives, 7);
	sim_destroy(sim);
}

static void
in_files_what_was_there_is_there(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		live_and_die(STORE_FILE, seed, NULL);
		live_and_die(STORE_MEMORY, seed, NULL);
		live_and_die(STORE_PERSISTENT, seed, NULL);
	}
}

static void
in_a_region_what_was_there_is_there(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		const struct pmr_options options = {
			.memory = kept, .bytes = sizeof(kept), .link_mb_s = 8000, .seed = seed,
		};
		struct keep_region region = { 0 };
		struct arena arena;

		memset(kept, 0, sizeof(kept));
		arena_init(&arena, 0);
		assert_int_equal(pmr_create(&arena, &options, &region.pmr), 0);
		live_and_die(STORE_REGION, seed, &region);
		arena_drop(&arena);
	}
}

static void
a_region_that_is_too_small_is_refused(void **state)
{
	const struct pmr_options options = {
		.memory = kept, .bytes = sizeof(kept) - 64, .link_mb_s = 8000, .seed = 1,
	};
	struct keep_region region = { 0 };
	struct seen seen = { .spec = { .kind = STORE_REGION, .path = "it", .slots = SLOTS, .region = &region } };
	struct sim_process *process;
	struct arena arena;
	struct sim *sim;

	(void)state;
	memset(kept, 0, sizeof(kept));
	arena_init(&arena, 0);
	assert_int_equal(pmr_create(&arena, &options, &region.pmr), 0);
	sim = world(1, &seen, &process);
	sim_run_until(sim, 1000000, NULL, NULL);
	assert_int_equal(seen.error, -EINVAL);
	assert_string_equal(seen.why, "it is too small for the log of ordered writes");
	sim_destroy(sim);
	arena_drop(&arena);
}

static void
a_log_that_there_cannot_be_is_refused(void **state)
{
	struct seen seen = { .spec = { .kind = STORE_FILE, .path = "log", .slots = 1000 } };
	struct sim_process *process;
	struct sim *sim = world(1, &seen, &process);

	(void)state;
	sim_run_until(sim, 1000000, NULL, NULL);
	assert_int_equal(seen.error, -EINVAL);
	assert_string_equal(seen.why, "there can be no such log of ordered writes: its parts have a power of two of "
	    "slots, 1024 to 16777216");
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_files_what_was_there_is_there),
		cmocka_unit_test(in_a_region_what_was_there_is_there),
		cmocka_unit_test(a_region_that_is_too_small_is_refused),
		cmocka_unit_test(a_log_that_there_cannot_be_is_refused),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
