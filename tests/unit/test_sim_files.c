/*
 * Operations on the simulated disks do what world.h says, and fail as a hook
 * says.  The writer is that of tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

/* Every third write finds no room, or is cut short to a block. */
static int64_t
fail_some(void *arg, const char *path, const struct file_io *io)
{
	unsigned *count = arg;

	assert_string_equal(path, "f");
	if (io->op != FILE_WRITE || ++*count % 3 != 0)
		return 0;
	return *count % 2 == 0 ? -ENOSPC : 512;
}

static void
file_operations_fail_as_the_hook_says(void **state)
{
	struct sim_options options = sim_options_default();
	struct toy_writer writer = { .path = "f", .ops = 70 };
	unsigned count = 0;
	struct sim *sim;

	options.file_fault = fail_some;
	options.arg = &count;
	sim = sim_create(6, &options);
	toy_process(sim, "writer", 1, toy_writer_start, &writer);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(writer.done);
	assert_int_equal(count, 60);
	assert_int_equal(writer.failed, 20);
	sim_destroy(sim);
}

static int64_t
fail_late(void *arg, const char *path, const struct file_io *io)
{
	return sim_late(EIO);
}

static void
what_fails_late_was_done(void **state)
{
	struct sim_options options = sim_options_default();
	struct toy_writer writer = { .path = "f", .ops = 1 };
	struct sim_file *file;
	uint8_t byte = 0;
	struct sim *sim;

	options.file_fault = fail_late;
	sim = sim_create(6, &options);
	toy_process(sim, "writer", 1, toy_writer_start, &writer);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(writer.failed > 0);
	file = sim_file_find(sim, "f");
	for (uint64_t at = 0; byte == 0 && at < sim_file_size(file); at++)
		sim_file_peek(file, at, &byte, 1, false);
	assert_int_not_equal(byte, 0);
	sim_destroy(sim);
}

struct puncher {
	struct file *file;
	struct file_io io;
	struct iovec iov;
	uint8_t *bytes;
	int step;
};

static void
puncher_step(struct file_io *io)
{
	struct puncher *puncher = io->owner;

	assert_true(io->result >= 0);
	puncher->step++;
	if (puncher->step == 1)
		*io = (struct file_io){ .op = FILE_PUNCH, .offset = 1024, .bytes = 8192 };
	else if (puncher->step == 2)
		*io = (struct file_io){ .op = FILE_READ, .iov = &puncher->iov, .iov_count = 1 };
	else
		return;
	io->owner = puncher;
	io->done = puncher_step;
	puncher->file->reactor->world->file_submit(puncher->file, io);
}

static int
puncher_start(struct reactor *reactor, void *arg)
{
	struct puncher *puncher = arg;
	int rc = reactor->world->file_open(reactor, "p", 65536, 4096, &puncher->file);

	assert_int_equal(rc, 0);
	assert_int_equal(reactor->world->file_open(reactor, "absent", 0, 4096, &puncher->file), -ENOENT);
	puncher->bytes = arena_alloc_aligned(reactor->arena, 16384, 4096);
	memset(puncher->bytes, 7, 16384);
	puncher->iov = (struct iovec){ puncher->bytes, 16384 };
	puncher->io = (struct file_io){
		.op = FILE_WRITE, .iov = &puncher->iov, .iov_count = 1, .done = puncher_step, .owner = puncher,
		.durable = true,
	};
	reactor->world->file_submit(puncher->file, &puncher->io);
	return 0;
}

static void
a_punched_range_reads_as_zeros(void **state)
{
	struct sim_options options = sim_options_default();
	struct puncher puncher = { 0 };
	uint8_t safe[16384];
	struct sim *sim;

	options.writeback_ppm = 0;
	sim = sim_create(7, &options);
	toy_process(sim, "puncher", 1, puncher_start, &puncher);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(puncher.step, 3);
	assert_int_equal(puncher.io.result, 16384);
	sim_file_peek(sim_file_find(sim, "p"), 0, safe, sizeof(safe), true);
	for (int i = 0; i < 16384; i++) {
		assert_int_equal(puncher.bytes[i], i >= 1024 && i < 9216 ? 0 : 7);
		assert_int_equal(safe[i], 7); /* the write was durable, the punch is not yet */
	}
	assert_int_equal(sim_file_size(sim_file_find(sim, "p")), 65536);
	sim_destroy(sim);
}

struct loser {
	struct file *file, *other;
	struct file_io io;
	struct iovec iov;
	uint8_t *bytes;
	int step;
};

/* What is done in turn, and what is to become of it: page 1 is lost, page 2 is written again and durable then. */
static const struct {
	enum file_op op;
	bool durable, of_other;
	uint64_t page;
	int64_t result;
} losing[] = {
	{ FILE_WRITE, false, false, 1, 4096 },
	{ FILE_WRITE, false, false, 2, 4096 },
	{ FILE_SYNC, false, false, 0, -EIO },
	{ FILE_SYNC, false, false, 0, -EIO },
	{ FILE_WRITE, true, false, 3, 4096 },
	{ FILE_WRITE, false, true, 2, 4096 },
	{ FILE_SYNC, false, true, 0, -EIO },
};

enum { LOSING = sizeof(losing) / sizeof(losing[0]) };

static void loser_step(struct loser *loser);

static void
loser_done(struct file_io *io)
{
	struct loser *loser = io->owner;

	assert_int_equal(io->result, losing[loser->step].result);
	if (++loser->step < LOSING)
		loser_step(loser);
}

static void
loser_step(struct loser *loser)
{
	struct file *file = losing[loser->step].of_other ? loser->other : loser->file;

	loser->io = (struct file_io){
		.op = losing[loser->step].op, .durable = losing[loser->step].durable,
		.offset = losing[loser->step].page * 4096, .iov = &loser->iov, .iov_count = 1, .done = loser_done,
		.owner = loser,
	};
	file->reactor->world->file_submit(file, &loser->io);
}

static int
loser_start(struct reactor *reactor, void *arg)
{
	struct loser *loser = arg;

	assert_int_equal(reactor->world->file_open(reactor, "l", 65536, 4096, &loser->file), 0);
	assert_int_equal(reactor->world->file_open(reactor, "l", 65536, 4096, &loser->other), 0);
	loser->bytes = arena_alloc_aligned(reactor->arena, 4096, 4096);
	memset(loser->bytes, 7, 4096);
	loser->iov = (struct iovec){ loser->bytes, 4096 };
	loser_step(loser);
	return 0;
}

static int64_t
fail_first_sync(void *arg, const char *path, const struct file_io *io)
{
	unsigned *count = arg;

	(void)path;
	return io->op == FILE_SYNC && (*count)++ == 0 ? -EIO : 0;
}

static void
what_a_failed_sync_has_lost_no_later_one_makes_durable(void **state)
{
	struct sim_options options = sim_options_default();
	struct loser loser = { 0 };
	unsigned count = 0;
	struct sim *sim;

	options.writeback_ppm = 0;
	options.file_fault = fail_first_sync;
	options.arg = &count;
	sim = sim_create(9, &options);
	toy_process(sim, "loser", 1, loser_start, &loser);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(loser.step, LOSING);
	assert_true(loser.file->lost && loser.other->lost);
	for (uint64_t page = 1; page <= 3; page++) {
		uint8_t byte;

		sim_file_peek(sim_file_find(sim, "l"), page * 4096, &byte, 1, false);
		assert_int_equal(byte, 7);
		sim_file_peek(sim_file_find(sim, "l"), page * 4096, &byte, 1, true);
		assert_int_equal(byte, page == 1 ? 0 : 7);
	}
	sim_destroy(sim);
}

static int
extender_start(struct reactor *reactor, void *arg)
{
	const struct world_ops *world = reactor->world;
	struct file *files[2];
	uint64_t id[2];

	*(bool *)arg = true;
	assert_int_equal(world->file_open(reactor, "e", 65536, 4096, &files[0]), 0);
	assert_int_equal(world->file_open(reactor, "other", 65536, 4096, &files[1]), 0);
	assert_int_equal(world->file_extend(files[0], 4096), 0);
	assert_int_equal(files[0]->size, 65536);
	assert_int_equal(world->file_extend(files[0], 2 * 65536), 0);
	assert_int_equal(files[0]->size, 2 * 65536);
	assert_int_equal(world->file_id(reactor, "e", id), 0);
	assert_true(memcmp(id, files[0]->id, sizeof(id)) == 0 && memcmp(id, files[1]->id, sizeof(id)) != 0);
	world->file_close(files[0]);
	world->file_close(files[1]);
	return 0;
}

static void
a_file_is_extended_and_known_by_the_same_numbers(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(8, &options);
	bool done = false;

	toy_process(sim, "extender", 1, extender_start, &done);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(done);
	assert_int_equal(sim_file_size(sim_file_find(sim, "e")), 2 * 65536);
	assert_int_equal(sim_file_size(sim_file_find(sim, "other")), 65536);
	sim_destroy(sim);
}

/* Wherever its memory lies: a history may not depend on that. */
static int
maker_start(struct reactor *reactor, void *arg)
{
	const struct world_ops *world = reactor->world;
	uint64_t first[2], second[2];
	struct file *file;
	int64_t was;

	assert_int_equal(world->file_id(reactor, "m", first), -ENOENT);
	assert_int_equal(world->file_make(reactor, "m", 65536, &was), 0);
	assert_int_equal(world->file_id(reactor, "m", first), 0);
	assert_int_equal(world->file_undo(reactor, "m", was, first), 0);
	assert_int_equal(world->file_undo(reactor, "m", was, first), -ENOENT);
	assert_int_equal(world->file_open(reactor, "m", 65536, 4096, &file), 0);
	assert_int_equal(world->file_undo(reactor, "m", was, first), -ESTALE);
	assert_int_equal(world->file_id(reactor, "m", second), 0);
	assert_true(first[0] == 0 && first[1] == 1 && second[0] == 0 && second[1] == 2);
	world->file_close(file);
	*(bool *)arg = true;
	return 0;
}

static void
a_file_that_is_made_again_is_another_one(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(8, &options);
	bool done = false;

	toy_process(sim, "maker", 1, maker_start, &done);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(done);
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fails_late_was_done),
		cmocka_unit_test(file_operations_fail_as_the_hook_says),
		cmocka_unit_test(a_punched_range_reads_as_zeros),
		cmocka_unit_test(what_a_failed_sync_has_lost_no_later_one_makes_durable),
		cmocka_unit_test(a_file_is_extended_and_known_by_the_same_numbers),
		cmocka_unit_test(a_file_that_is_made_again_is_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
