/*
 * A simulated file as memory: what is stored there is what others read, stays when the process dies, and is lost with
 * the machine as what was written is.
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

enum { PAGE = 4096, BYTES = 5 * PAGE + 1000, SECTOR = 64 };

/* A process that maps a file and stores what the test says, which outlives it. */
struct storer {
	bool persistent;
	void (*act)(struct storer *storer);
	struct file *file;
	uint8_t *map, *bytes; /* the latter of a page, for I/O */
	struct file_io io;
	struct iovec iov;
	unsigned done;
};

static int
storer_start(struct reactor *reactor, void *arg)
{
	struct storer *storer = arg;

	assert_int_equal(reactor->world->file_open(reactor, "f", BYTES, 4096, &storer->file), 0);
	assert_null(storer->file->map);
	assert_int_equal(reactor->world->file_map(storer->file, storer->persistent), 0);
	storer->map = storer->file->map;
	storer->bytes = arena_alloc_aligned(reactor->arena, PAGE, PAGE);
	if (storer->act != NULL)
		storer->act(storer);
	return 0;
}

static struct sim *
world(uint64_t seed, struct storer *storer, struct sim_process **process)
{
	struct sim_options options = sim_options_default();
	struct sim *sim;

	options.file_persistent = storer->persistent;
	options.file_sector = SECTOR;
	options.writeback_ppm = 0;
	sim = sim_create(seed, &options);
	*process = toy_process(sim, "storer", 1, storer_start, storer);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(sim_process_error(*process), 0);
	return sim;
}

static uint8_t
byte_at(struct sim *sim, uint64_t offset, bool durable)
{
	uint8_t byte;

	sim_file_peek(sim_file_find(sim, "f"), offset, &byte, 1, durable);
	return byte;
}

/* How many of these bytes are that. */
static unsigned
count(struct sim *sim, uint64_t offset, unsigned bytes, uint8_t is)
{
	unsigned found = 0;

	for (unsigned i = 0; i < bytes; i++)
		found += byte_at(sim, offset + i, false) == is;
	return found;
}

static void
io(struct storer *storer, enum file_op op, uint64_t offset, void (*done)(struct file_io *io))
{
	storer->iov = (struct iovec){ storer->bytes, PAGE };
	storer->io = (struct file_io){
		.op = op, .offset = offset, .bytes = PAGE, .iov = &storer->iov, .iov_count = 1, .done = done,
		.owner = storer,
	};
	storer->file->reactor->world->file_submit(storer->file, &storer->io);
}

static void store_last(struct storer *storer) { memset(storer->map + 5 * PAGE, 3, 1000); }

static void
what_a_killed_process_has_stored_is_there_for_the_next(void **state)
{
	struct storer storer = { .act = store_last };
	struct sim_process *process;
	struct sim *sim = world(1, &storer, &process);

	assert_int_equal((uintptr_t)storer.map % PAGE, 0);
	sim_process_crash(process, SIM_CRASH_KEEPS_WRITES);
	assert_int_equal(count(sim, 5 * PAGE, 1000, 3), 1000);
	storer.act = NULL;
	sim_process_start(process);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(storer.map[5 * PAGE], 3);
	assert_int_equal(storer.map[BYTES - 1], 3);
	assert_int_equal(storer.map[5 * PAGE - 1], 0);
	sim_destroy(sim);
}

/* Each sector by itself: all, some, or none; and over many seeds each of the three. */
static void
a_loss_of_power_leaves_of_what_was_stored_what_it_likes(void **state)
{
	unsigned all = 0, some = 0, none = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct storer storer = { .act = store_last };
		struct sim_process *process;
		struct sim *sim = world(seed, &storer, &process);
		unsigned kept;

		assert_int_equal(byte_at(sim, 5 * PAGE, true), 0);
		sim_process_crash(process, 0);
		kept = count(sim, 5 * PAGE, 1000, 3);
		for (unsigned at = 0; at < 1000; at++)
			assert_int_equal(byte_at(sim, 5 * PAGE + at, false),
			    byte_at(sim, 5 * PAGE + at / SECTOR * SECTOR, false));
		all += kept == 1000;
		some += kept > 0 && kept < 1000;
		none += kept == 0;
		sim_destroy(sim);
	}
	assert_true(all > 0 && some > 0 && none > 0);
}

static void
synced(struct file_io *io)
{
	struct storer *storer = io->owner;

	assert_int_equal(io->result, 0);
	storer->done++;
}

static void
sync_between(struct storer *storer)
{
	memset(storer->map, 1, PAGE);
	memset(storer->map + PAGE, 1, PAGE);
	io(storer, FILE_SYNC, 0, synced);
	memset(storer->map + PAGE, 2, PAGE);
	memset(storer->map + 2 * PAGE, 2, PAGE);
}

/* And not what was stored since it was asked for. */
static void
a_sync_makes_durable_what_was_stored_before_it(void **state)
{
	unsigned lost = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct storer storer = { .act = sync_between };
		struct sim_process *process;
		struct sim *sim = world(seed, &storer, &process);
		unsigned kept;

		assert_int_equal(storer.done, 1);
		sim_process_crash(process, 0);
		assert_int_equal(count(sim, 0, PAGE, 1), PAGE);
		kept = count(sim, PAGE, PAGE, 2);
		assert_int_equal(count(sim, PAGE, PAGE, 1), PAGE - kept);
		assert_int_equal(count(sim, 2 * PAGE, PAGE, 0) + count(sim, 2 * PAGE, PAGE, 2), PAGE);
		lost += kept < PAGE;
		sim_destroy(sim);
	}
	assert_in_range(lost, 1, 19);
}

static void
read_back(struct file_io *io)
{
	struct storer *storer = io->owner;

	assert_int_equal(io->result, PAGE);
	assert_int_equal(storer->bytes[0], 6);
	assert_int_equal(storer->bytes[PAGE - 1], 6);
	storer->done++;
}

static void
written(struct file_io *done)
{
	struct storer *storer = done->owner;

	assert_int_equal(storer->map[PAGE], 5);
	assert_int_equal(storer->map[2 * PAGE - 1], 5);
	memset(storer->map + 2 * PAGE, 6, PAGE);
	io(storer, FILE_READ, 2 * PAGE, read_back);
}

static void
punched(struct file_io *done)
{
	struct storer *storer = done->owner;

	assert_int_equal(storer->map[0], 0);
	assert_int_equal(storer->map[PAGE - 1], 0);
	memset(storer->bytes, 5, PAGE);
	io(storer, FILE_WRITE, PAGE, written);
}

static void
punch_first(struct storer *storer)
{
	const struct world_ops *world = storer->file->reactor->world;

	memset(storer->map, 4, 2 * PAGE);
	assert_int_equal(world->file_fetch(storer->file, PAGE, storer->bytes, PAGE), PAGE);
	assert_int_equal(storer->bytes[7], 4);
	assert_int_equal(byte_at(sim_reactor_of(storer->file->reactor)->process->sim, PAGE, true), 4);
	assert_true(world->file_data(storer->file, 2 * PAGE) == UINT64_MAX);
	storer->map[3 * PAGE] = 1;
	assert_int_equal(world->file_data(storer->file, 2 * PAGE), 3 * PAGE);
	io(storer, FILE_PUNCH, 0, punched);
}

static void
what_is_written_is_in_the_map_and_what_is_stored_is_read(void **state)
{
	struct storer storer = { .act = punch_first };
	struct sim_process *process;
	struct sim *sim = world(2, &storer, &process);

	assert_int_equal(storer.done, 1);
	storer.file->reactor->world->file_close(storer.file);
	assert_int_equal(count(sim, PAGE, PAGE, 5), PAGE);
	assert_int_equal(count(sim, 2 * PAGE, PAGE, 6), PAGE);
	sim_destroy(sim);
}

static void
write_some_back(struct storer *storer)
{
	memset(storer->map, 1, BYTES);
	storer->file->reactor->world->file_write_back(storer->file, (struct iovec[2]){
		{ storer->map + 3 * SECTOR + 8, 40 }, { storer->map + BYTES - 1001, 1001 } }, 2);
	storer->map[3 * SECTOR] = 2;
}

/* That, whole lines of it, and as it stood when it was. */
static void
in_persistent_memory_what_was_written_back_is_durable(void **state)
{
	unsigned lost = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct storer storer = { .persistent = true, .act = write_some_back };
		struct sim_process *process;
		struct sim *sim = world(seed, &storer, &process);

		assert_int_equal(byte_at(sim, 3 * SECTOR - 1, true), 0);
		assert_int_equal(byte_at(sim, 3 * SECTOR, true), 1);
		assert_int_equal(byte_at(sim, 4 * SECTOR, true), 0);
		sim_process_crash(process, 0);
		assert_in_range(byte_at(sim, 3 * SECTOR, false), 1, 2);
		assert_int_equal(count(sim, 3 * SECTOR + 1, SECTOR - 1, 1), SECTOR - 1);
		assert_int_equal(count(sim, BYTES - 1001, 1001, 1), 1001);
		lost += count(sim, 0, SECTOR, 1) == 0;
		sim_destroy(sim);
	}
	assert_in_range(lost, 1, 19);
}

static int
tells_what_is_missing(struct reactor *reactor, void *arg)
{
	struct storer *storer = arg;

	assert_int_equal(reactor->world->file_open(reactor, "f", BYTES, 4096, &storer->file), 0);
	assert_int_equal(reactor->world->file_map(storer->file, true), -EOPNOTSUPP);
	assert_null(storer->file->map);
	assert_int_equal(reactor->world->file_map(storer->file, false), 0);
	memset(storer->file->map, 1, PAGE);
	reactor->world->file_write_back(storer->file, &(struct iovec){ storer->file->map, PAGE }, 1);
	storer->done++;
	return 0;
}

static void
where_there_is_none_that_is_said_and_nothing_is_durable_so(void **state)
{
	struct sim_options options = sim_options_default();
	struct storer storer = { 0 };
	struct sim *sim;

	options.writeback_ppm = 0;
	sim = sim_create(3, &options);
	toy_process(sim, "storer", 1, tells_what_is_missing, &storer);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(storer.done, 1);
	assert_int_equal(byte_at(sim, 0, false), 1);
	assert_int_equal(byte_at(sim, 0, true), 0);
	sim_destroy(sim);
}

static int
shares(struct reactor *reactor, void *arg)
{
	const struct world_ops *world = reactor->world;
	struct reactor *annex = world->annex_open(reactor);
	struct storer *storer = arg;
	struct file *held, *shared;

	assert_int_equal(world->file_open(annex, "f", BYTES, 4096, &held), 0);
	assert_int_equal(world->file_map(held, true), 0);
	assert_int_equal(world->file_share(held, reactor, &shared), 0);
	assert_ptr_equal(shared->map, held->map);
	memset(shared->map, 1, PAGE);
	world->file_write_back(shared, &(struct iovec){ shared->map, PAGE }, 1);
	world->file_close(shared);
	assert_int_equal(((uint8_t *)held->map)[0], 1);
	world->file_close(held);
	world->annex_close(annex);
	storer->done++;
	return 0;
}

static void
those_that_share_it_have_the_same_memory(void **state)
{
	struct sim_options options = sim_options_default();
	struct storer storer = { 0 };
	struct sim *sim;

	options.file_persistent = true;
	sim = sim_create(3, &options);
	toy_process(sim, "storer", 1, shares, &storer);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(storer.done, 1);
	assert_int_equal(byte_at(sim, PAGE - 1, true), 1);
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_killed_process_has_stored_is_there_for_the_next),
		cmocka_unit_test(a_loss_of_power_leaves_of_what_was_stored_what_it_likes),
		cmocka_unit_test(a_sync_makes_durable_what_was_stored_before_it),
		cmocka_unit_test(what_is_written_is_in_the_map_and_what_is_stored_is_read),
		cmocka_unit_test(in_persistent_memory_what_was_written_back_is_durable),
		cmocka_unit_test(where_there_is_none_that_is_said_and_nothing_is_durable_so),
		cmocka_unit_test(those_that_share_it_have_the_same_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
