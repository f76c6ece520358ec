/*
 * test_keep.c - a part of the log of ordered writes in each place where it can live: after each loss of power, or of
 * the process, wherever it meets a commit, all is there that was said to be durable, and the log is not corrupt.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/group.h"
#include "keep/keep.h"
#include "sim/sim.h"

enum { SLOTS = ORDER_SLOTS_LEAST, SEED = 0x5eed, GROUPS = 1 << 16, KEPT = 40, FLIGHT = 24, OWNER = 1 };

static const struct order_head head = { .uuid = { 1 }, .parts = 2, .slots = SLOTS };

enum kind { IN_FILE, IN_MEMORY, IN_PERSISTENT, IN_REGION };

/* A drive's memory. */
static uint8_t kept[ORDER_HEAD_BYTES + ORDER_OWNERS * ORDER_OWNER_BYTES + 2 * SLOTS * sizeof(struct order_image)]
    __attribute__((aligned(64)));

/* What is known of it outside; it outlives the process. */
struct seen {
	enum kind kind;
	struct keep_region region;
	struct rng rng;
	uint32_t last, floor, durable; /* groups: appended, told, and durable in a row */
	bool persists[GROUPS];         /* said to do so for good */
	uint64_t commits, lives;
	int error;
	unsigned torn;
};

struct life {
	struct seen *seen;
	struct reactor *reactor;
	struct file *file;
	struct keep *keep;
	struct order_log log;
	struct order_track track;
	struct order_image *slots, room[SLOTS];   /* `room`, or where they are mapped */
	struct order_slot states[SLOTS];
	uint8_t is[SLOTS];
	uint32_t words[SLOTS];
	struct task task, told;
	struct { uint32_t group; uint64_t place, word; bool ended, used; } flight[FLIGHT];
	bool busy;
};

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)arg;
	(void)nsid;
	return true;
}

/* ---- what was there ---- */

/* All groups that were durable, none that was not appended, and all that persisted for good. */
static void
hold(struct seen *seen, const struct order_list *list)
{
	uint32_t next = order_above(list->floor, seen->floor) ? list->floor : seen->floor;

	assert_false(order_above(list->floor, seen->floor));
	for (uint32_t i = 0; i < list->count; i++) {
		const struct order_listed *entry = &list->entries[i];

		if (!order_above(entry->first, seen->floor))
			continue;
		assert_int_equal(entry->first, next + 1);
		assert_true(entry->valid || !seen->persists[entry->first]);
		next = entry->first;
	}
	assert_in_range(next, seen->durable, seen->last);
	/* Whoever recovers it is done with all of it. */
	seen->last = seen->durable = seen->floor = next;
}

static void
adopt(struct life *life, const struct order_scan *scan)
{
	static struct order_known known[SLOTS];
	static struct order_listed room[SLOTS];
	const struct order_part part = { life->slots, SLOTS, SEED };
	struct order_stream stream = { 0 };
	uint32_t count = order_known_read(&part, scan, 0, known);

	order_track_init(&life->log, &life->track, OWNER, 1);
	if (count > 0) {
		order_known_sort(known, count);
		assert_int_equal(order_known_same(known, count), count);
		order_stream_read(known, count, keeps, NULL, room, &stream);
		assert_null(stream.lost);
		order_track_adopt(&life->log, &life->track, known, count, 0);
	}
	hold(life->seen, &stream.list);
	order_track_tell(&life->track, life->seen->floor);
}

/* ---- a life ---- */

static void
append(struct life *life, unsigned slot)
{
	struct seen *seen = life->seen;
	struct order_entry entry = {
		.first = seen->last + 1, .last = seen->last + 1, .prev = seen->last, .num = 1, .count = 1,
		.flags = ORDER_ENTRY_LAST, .blocks = 8, .nsid = 1,
	};

	if (!order_log_ask(&life->log, &life->track)) {
		order_log_sweep(&life->log);
		return;
	}
	seen->last++;
	life->flight[slot].used = true;
	life->flight[slot].ended = false;
	life->flight[slot].group = entry.first;
	life->flight[slot].place = order_log_append(&life->log, &life->track, &entry);
}

static void
told(struct task *task)
{
	struct keep *keep = container_of(task, struct life, told)->keep;

	keep->done(keep, 0);
}

/* Where it is done at once, too, something may happen before that is known. */
static void
commit(struct life *life, const struct order_commit *commit)
{
	bool at_once = life->keep->ops->commit(life->keep, commit);

	assert_int_equal(at_once, life->keep->ops->at_once);
	task_init(&life->told, told);
	if (at_once)
		reactor_run_in(life->reactor, PHASE_COLLECT, &life->told);
}

static void
commit_some(struct life *life)
{
	struct order_commit taken;

	if (life->busy || !order_log_take(&life->log, &taken))
		return;
	life->busy = true;
	commit(life, &taken);
}

static void
work(struct life *life)
{
	struct seen *seen = life->seen;

	for (unsigned i = 0; i < FLIGHT; i++) {
		if (!life->flight[i].used && rng_below(&seen->rng, 3) == 0 && seen->last - seen->floor < KEPT)
			append(life, i);
		else if (life->flight[i].used && !life->flight[i].ended && life->flight[i].place < life->log.durable &&
		    rng_below(&seen->rng, 4) == 0) {
			life->flight[i].ended = true;
			life->flight[i].word = order_log_end(&life->log, life->flight[i].place, true);
		}
	}
	commit_some(life);
}

static void
run(struct task *task)
{
	struct life *life = container_of(task, struct life, task);

	for (unsigned tries = 0; !life->busy; tries++) {
		assert_in_range(tries, 0, 1000);
		work(life);
	}
}

/* What is below the oldest that has not persisted is done with. */
static void
note_durable(struct life *life)
{
	struct seen *seen = life->seen;

	for (unsigned i = 0; i < FLIGHT; i++) {
		if (!life->flight[i].used)
			continue;
		if (life->flight[i].place < life->log.durable && order_above(life->flight[i].group, seen->durable))
			seen->durable = life->flight[i].group;
		if (life->flight[i].ended && life->flight[i].word <= life->log.words_durable) {
			seen->persists[life->flight[i].group] = true;
			life->flight[i].used = false;
		}
	}
	while (seen->floor + 8 < seen->durable && seen->persists[seen->floor + 1])
		seen->floor++;
	order_track_tell(&life->track, seen->floor);
}

static void
done(struct keep *keep, int error)
{
	struct life *life = keep->owner;

	life->busy = false;
	if (error != 0) {
		life->seen->error = error;
		return;
	}
	life->seen->commits++;
	order_log_done(&life->log);
	note_durable(life);
	order_log_sweep(&life->log);
	reactor_run_in(life->reactor, PHASE_SUBMIT, &life->task);
}

static void
emptied(struct keep *keep, int error)
{
	struct life *life = keep->owner;

	keep->done = done;
	life->busy = false;
	life->seen->error = error;
	if (error == 0)
		reactor_run_in(life->reactor, PHASE_SUBMIT, &life->task);
}

static struct keep *
open_keep(struct life *life)
{
	switch (life->seen->kind) {
	case IN_MEMORY: return keep_memory_open(life->reactor, &head);
	case IN_PERSISTENT: return keep_persistent_open(life->reactor, life->file, &head);
	case IN_REGION: return keep_region_open(life->reactor, &life->seen->region, &head, 1);
	default: return keep_file_open(life->reactor, life->file, &head, 1);
	}
}

static void
begin(struct life *life, const struct order_scan *scan)
{
	life->keep = open_keep(life);
	assert_non_null(life->keep);
	life->keep->slots = life->slots;
	life->keep->owner = life;
	life->keep->done = done;
	if (scan->next < scan->torn_to) {
		life->seen->torn++;
		life->keep->done = emptied;
		life->busy = true;
		commit(life, &(struct order_commit){ .from = scan->next, .to = scan->torn_to });
	} else {
		reactor_run_in(life->reactor, PHASE_SUBMIT, &life->task);
	}
}

static void
fetch(struct life *life)
{
	const struct world_ops *world = life->reactor->world;
	uint8_t *bytes = arena_alloc_aligned(life->reactor->arena, sizeof(life->room), 4096);

	assert_int_equal(world->file_fetch(life->file, order_part_at(&head, 1), bytes, sizeof(life->room)),
	    sizeof(life->room));
	memcpy(life->room, bytes, sizeof(life->room));
	arena_free(life->reactor->arena, bytes);
}

/* The part's slots, as they are kept. */
static void
read_slots(struct life *life)
{
	enum kind kind = life->seen->kind;
	uint64_t at = order_part_at(&head, 1);

	life->slots = life->room;
	if (kind != IN_REGION)
		assert_int_equal(life->reactor->world->file_open(life->reactor, "log", order_log_bytes(&head), 512,
		    &life->file), 0);
	if (kind == IN_FILE) {
		fetch(life);
	} else if (kind == IN_REGION) {
		memcpy(life->room, kept + at, sizeof(life->room));
	} else {
		assert_int_equal(life->reactor->world->file_map(life->file, kind == IN_PERSISTENT), 0);
		life->slots = (struct order_image *)(void *)((uint8_t *)life->file->map + at);
	}
}

static int
start(struct reactor *reactor, void *arg)
{
	struct life *life = arena_alloc_aligned(reactor->arena, sizeof(*life), 4096);
	struct order_part part = { .count = SLOTS, .seed = SEED };
	struct order_scan scan;

	life->seen = arg;
	life->seen->lives++;
	life->reactor = reactor;
	task_init(&life->task, run);
	read_slots(life);
	part.slots = life->slots;
	order_scan(&part, &scan);
	assert_false(scan.corrupt);
	order_log_init(&life->log, life->slots, SLOTS, SEED, life->states, life->is, life->words);
	adopt(life, &scan);
	order_log_load(&life->log, &scan);
	begin(life, &scan);
	return 0;
}

/* ---- the tests ---- */

static struct sim *
world(uint64_t seed, enum kind kind, struct seen *seen, struct sim_process **process)
{
	struct sim_options options = sim_options_default();
	const struct sim_process_options of = { .start = start, .arg = seen };
	struct sim *sim;

	options.file_sector = kind == IN_PERSISTENT ? 8 : 512;
	options.file_persistent = true;
	if (kind == IN_REGION)
		options.turn_ns = options.wake_jitter_ns = 20; /* shorter than a read of it */
	options.file_align = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 512 : 4096;
	options.file_direct = seed % 3 != 0;
	options.max_events = options.max_ns = UINT64_MAX;
	*seen = (struct seen){ .kind = kind };
	memset(kept, 0, sizeof(kept));
	rng_seed(&seen->rng, seed);
	sim = sim_create(seed, &options);
	*process = sim_process_create(sim, "server", 1, &of);
	return sim;
}

static void
live_and_die(struct sim *sim, struct seen *seen, struct sim_process *process)
{
	for (unsigned life = 0; life < 20; life++) {
		sim_run_until(sim, sim_now(sim) + 100000 + sim_below(sim, seen->kind == IN_FILE ? 100000000 : 300000),
		    NULL, NULL);
		assert_int_equal(seen->error, 0);
		assert_true(sim_process_running(process));
		sim_process_crash(process, seen->kind == IN_MEMORY ? SIM_CRASH_KEEPS_WRITES : 0);
		if (seen->kind == IN_REGION)
			pmr_cut(seen->region.pmr, sim_now(sim));
		sim_process_start(process);
	}
	sim_run_until(sim, sim_now(sim) + 1000000, NULL, NULL);
	assert_int_equal(sim_process_error(process), 0);
	assert_int_equal(seen->lives, 21);
	assert_in_range(seen->commits, 100, UINT64_MAX);
	assert_in_range(seen->durable, SLOTS, GROUPS - 1);
}

/* How many batches were torn. */
static unsigned
survive(enum kind kind)
{
	static struct seen seen;
	struct sim_process *process;
	struct arena arena;
	unsigned torn = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct sim *sim = world(seed, kind, &seen, &process);
		const struct pmr_options options = {
			.memory = kept, .bytes = sizeof(kept), .link_mb_s = 8000, .seed = seed,
		};

		arena_init(&arena, 0);
		if (kind == IN_REGION)
			assert_int_equal(pmr_create(&arena, &options, &seen.region.pmr), 0);
		live_and_die(sim, &seen, process);
		torn += seen.torn;
		sim_destroy(sim);
		arena_drop(&arena);
	}
	return torn;
}

static void
in_a_file_it_survives_power(void **state)
{
	(void)state;
	assert_in_range(survive(IN_FILE), 4, 240);
}

static void
in_memory_it_survives_its_process(void **state)
{
	(void)state;
	assert_int_equal(survive(IN_MEMORY), 0);
}

static void
in_persistent_memory_it_survives_power(void **state)
{
	(void)state;
	assert_int_equal(survive(IN_PERSISTENT), 0); /* a commit is stored and written back in one turn */
}

static void
in_a_drives_memory_it_survives_power(void **state)
{
	(void)state;
	assert_in_range(survive(IN_REGION), 4, 240);
}

/* Of whatever comes after an error nothing is said to be durable. */
static void
an_error_is_told_and_stays(void **state)
{
	static const struct sim_file_faults sick = { .error_ppm = 100000 };
	static struct seen seen;
	struct sim_process *process;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct sim *sim = world(seed, IN_FILE, &seen, &process);
		uint64_t commits;

		sim_run_until(sim, 5000000, NULL, NULL);
		assert_int_equal(seen.error, 0);
		sim_file_set_faults(sim, "log", &sick);
		sim_run_until(sim, sim_now(sim) + UINT64_C(1000000000), NULL, NULL);
		assert_int_equal(seen.error, -EIO);
		commits = seen.commits;
		sim_file_set_faults(sim, "log", &(struct sim_file_faults){ 0 });
		sim_run_until(sim, sim_now(sim) + UINT64_C(1000000000), NULL, NULL);
		assert_int_equal(seen.commits, commits);
		sim_process_crash(process, 0);
		seen.error = 0;
		sim_process_start(process);
		sim_run_until(sim, sim_now(sim) + 50000000, NULL, NULL);
		assert_int_equal(seen.error, 0);
		assert_true(seen.commits > commits);
		sim_destroy(sim);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_file_it_survives_power),
		cmocka_unit_test(in_memory_it_survives_its_process),
		cmocka_unit_test(in_persistent_memory_it_survives_power),
		cmocka_unit_test(in_a_drives_memory_it_survives_power),
		cmocka_unit_test(an_error_is_told_and_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
