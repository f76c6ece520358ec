/*
 * test_keep_commits.c - single commits of a part of the log of ordered writes: all that is in one comes to its place,
 * and nothing that came after it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "keep/keep.h"
#include "sim/sim.h"

enum { SLOTS = ORDER_SLOTS_LEAST };

static const struct order_head head = { .uuid = { 1 }, .parts = 2, .slots = SLOTS };

/* ---- a commit with much in it ---- */

enum { MANY = 200 };

static int
commit_many(struct reactor *reactor, void *arg)
{
	uint32_t words[MANY];
	bool *is_done = arg;
	struct file *file;
	struct keep *keep;

	assert_int_equal(reactor->world->file_open(reactor, "log", order_log_bytes(&head), 512, &file), 0);
	assert_int_equal(reactor->world->file_map(file, true), 0);
	keep = keep_persistent_open(reactor, file, &head);
	keep->slots = (struct order_image *)(void *)((uint8_t *)file->map + order_part_at(&head, 1));
	memset(keep->slots, 1, SLOTS * sizeof(*keep->slots));
	for (uint32_t i = 0; i < MANY; i++)
		words[i] = 10 + i;
	*is_done = keep->ops->commit(keep, &(struct order_commit){
		.from = SLOTS - 3, .to = SLOTS + 5, .words = words, .word_count = MANY,
	});
	return 0;
}

static void
in_persistent_memory_all_of_a_commit_is_durable(void **state)
{
	static struct order_image kept_slots[SLOTS];
	struct sim_options options = sim_options_default();
	bool is_done = false;
	const struct sim_process_options of = { .start = commit_many, .arg = &is_done };
	struct sim *sim;

	(void)state;
	options.file_persistent = true;
	options.writeback_ppm = 0;
	sim = sim_create(1, &options);
	sim_process_create(sim, "server", 1, &of);
	assert_int_equal(sim_run_until(sim, 1000000000, NULL, NULL), SIM_END_IDLE);
	assert_true(is_done);
	sim_file_peek(sim_file_find(sim, "log"), order_part_at(&head, 1), kept_slots, sizeof(kept_slots), true);
	for (uint32_t i = 0; i < SLOTS; i++) {
		bool is = i < 5 || i >= SLOTS - 3 || (i >= 10 && i < 10 + MANY);

		/* A line that is written back has all of its entry. */
		assert_int_equal(le32_get(kept_slots[i].first), is ? 0x01010101 : 0);
		assert_int_equal(le32_get(kept_slots[i].persist), is ? 0x01010101 : 0);
	}
	sim_destroy(sim);
}

/* ---- a commit of many runs ---- */

enum { EIGHT = 8, AT = SLOTS - 5 }; /* entries of a unit; in the last of these the batch, with more behind it */

struct scattered {
	struct reactor *reactor;
	struct keep *keep;
	bool done;
};

static void
scattered_done(struct keep *keep, int error)
{
	struct scattered *scattered = keep->owner;

	scattered->done = error == 0;
}

/* The batch behind it is appended as soon as that is possible. */
static int
commit_scattered(struct reactor *reactor, void *arg)
{
	static uint32_t words[SLOTS / EIGHT / 2];
	struct scattered *scattered = arg;
	struct order_image *slots = arena_alloc_aligned(reactor->arena, SLOTS * sizeof(*slots), 4096);
	struct file *file;

	assert_int_equal(reactor->world->file_open(reactor, "log", order_log_bytes(&head), 512, &file), 0);
	scattered->reactor = reactor;
	scattered->keep = keep_file_open(reactor, file, &head, 1);
	scattered->keep->slots = slots;
	scattered->keep->owner = scattered;
	scattered->keep->done = scattered_done;
	memset(slots, 0, SLOTS * sizeof(*slots));
	for (uint32_t i = 0; i < SLOTS / EIGHT / 2; i++)
		words[i] = 2 * EIGHT * i;
	memset(&slots[AT], 1, sizeof(*slots));
	assert_false(scattered->keep->ops->commit(scattered->keep, &(struct order_commit){
		.from = AT, .to = AT + 1, .words = words, .word_count = SLOTS / EIGHT / 2,
	}));
	memset(&slots[AT + 1], 2, sizeof(*slots));
	return 0;
}

static void
in_a_file_a_batch_comes_without_what_is_behind_it(void **state)
{
	static struct order_image kept_slots[SLOTS];
	struct sim_options options = sim_options_default();
	struct scattered scattered = { 0 };
	const struct sim_process_options of = { .start = commit_scattered, .arg = &scattered };
	struct sim *sim;

	(void)state;
	sim = sim_create(1, &options);
	sim_process_create(sim, "server", 1, &of);
	sim_run_until(sim, 1000000000, NULL, NULL);
	assert_true(scattered.done);
	sim_file_peek(sim_file_find(sim, "log"), order_part_at(&head, 1), kept_slots, sizeof(kept_slots), true);
	assert_int_equal(le32_get(kept_slots[AT].first), 0x01010101);
	assert_int_equal(le32_get(kept_slots[AT + 1].first), 0);
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_persistent_memory_all_of_a_commit_is_durable),
		cmocka_unit_test(in_a_file_a_batch_comes_without_what_is_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
