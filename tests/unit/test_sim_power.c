/*
 * The simulated disks keep what was synced over any crash, and of what was not
 * synced something, in whole sectors.  The writer is that of tests/sim/toy.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sim/internal.h"
#include "toy.h"

struct plight {
	struct sim *sim;
	struct sim_process *process;
	struct toy_writer writer;
	bool ended; /* the writer had nothing left to do */
};

/* A writer that is stopped after the given number of events. */
static void
plight_make(struct plight *plight, uint64_t seed, uint64_t events)
{
	struct sim_options options = sim_options_default();

	*plight = (struct plight){ .writer = { .path = "f", .ops = 100 } };
	options.max_events = events;
	plight->sim = sim_create(seed, &options);
	plight->process = toy_process(plight->sim, "writer", 1, toy_writer_start, &plight->writer);
	plight->ended = sim_run_until(plight->sim, TOY_FOREVER, NULL, NULL) == SIM_END_IDLE;
	plight->sim->options.max_events = UINT64_MAX;
}

/* Each page is one version, of those that were promised or still under way; answers how many writes are gone. */
static unsigned
check_pages(struct plight *plight, const uint32_t *promised)
{
	struct sim_file *file = sim_file_find(plight->sim, plight->writer.path);
	unsigned lost = 0;

	for (uint32_t i = 0; i < TOY_PAGES && file != NULL; i++) {
		uint8_t page[TOY_PAGE];
		uint32_t version;

		sim_file_peek(file, (uint64_t)i * TOY_PAGE, page, sizeof(page), false);
		version = toy_page_version(page, i);
		if (version == UINT32_MAX || version < promised[i] || version > plight->writer.submitted[i])
			fail_msg("after %llu events page %u holds version %d: at least %u, at most %u",
			    (unsigned long long)sim_events(plight->sim), i, (int)version, promised[i],
			    plight->writer.submitted[i]);
		lost += version < plight->writer.written[i];
	}
	return lost;
}

/* What a restarted writer finds is what it builds on. */
static void
restart(struct plight *plight)
{
	struct sim_file *file = sim_file_find(plight->sim, plight->writer.path);

	for (uint32_t i = 0; i < TOY_PAGES && file != NULL; i++) {
		uint8_t page[TOY_PAGE];

		sim_file_peek(file, (uint64_t)i * TOY_PAGE, page, sizeof(page), true);
		plight->writer.synced[i] = toy_page_version(page, i);
		sim_file_peek(file, (uint64_t)i * TOY_PAGE, page, sizeof(page), false);
		plight->writer.written[i] = toy_page_version(page, i);
	}
	plight->writer.ops = plight->writer.issued + 40;
	sim_process_start(plight->process);
	assert_int_equal(sim_run_until(plight->sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(plight->writer.done);
	assert_int_equal(plight->writer.failed, 0);
}

static void
a_crash_loses_unsynced_writes_only(void **state)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct plight plight = { 0 };
		unsigned lost = 0;

		for (uint64_t events = 1; !plight.ended; events++) {
			plight_make(&plight, seed, events);
			sim_process_crash(plight.process, 0);
			lost += check_pages(&plight, plight.writer.synced);
			restart(&plight);
			sim_process_crash(plight.process, 0);
			check_pages(&plight, plight.writer.synced);
			sim_destroy(plight.sim);
		}
		assert_true(lost > 0);
	}
}

static void
a_killed_process_loses_no_completed_write(void **state)
{
	struct plight plight = { 0 };

	for (uint64_t events = 1; !plight.ended; events++) {
		plight_make(&plight, 9, events);
		sim_process_crash(plight.process, SIM_CRASH_KEEPS_WRITES);
		assert_int_equal(check_pages(&plight, plight.writer.written), 0);
		restart(&plight);
		sim_process_crash(plight.process, 0);
		check_pages(&plight, plight.writer.synced);
		sim_destroy(plight.sim);
	}
}

/* Whether the sectors of a page are of several versions; each of them is of one. */
static bool
is_torn(const uint8_t *page, size_t sector)
{
	for (size_t at = 0; at < TOY_PAGE; at += 8)
		assert_int_equal(get_le64(page + at), get_le64(page + at / sector * sector));
	for (size_t at = 0; at < TOY_PAGE; at += sector)
		if (get_le64(page + at) != get_le64(page))
			return true;
	return false;
}

static void
a_crash_tears_the_write_it_finds_where_sectors_end(void **state)
{
	struct plight plight = { 0 };
	unsigned torn = 0;

	for (uint64_t events = 1; !plight.ended; events++) {
		plight_make(&plight, 4, events);
		plight.sim->options.file_sector = 512;
		sim_process_crash(plight.process, events % 2 * SIM_CRASH_KEEPS_WRITES);
		for (uint32_t i = 0; i < TOY_PAGES && sim_file_find(plight.sim, "f") != NULL; i++) {
			uint8_t page[TOY_PAGE];

			sim_file_peek(sim_file_find(plight.sim, "f"), i * UINT64_C(4096), page, sizeof(page), false);
			torn += is_torn(page, 512);
		}
		sim_destroy(plight.sim);
	}
	assert_true(torn > 0);
}

/* Of a write that has completed and is not synced, each sector is as it was or as it is. */
static void
a_loss_of_power_tears_what_was_not_synced(void **state)
{
	unsigned torn = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct plight plight;

		plight_make(&plight, seed, UINT64_MAX);
		plight.sim->options.file_sector = 1024;
		sim_process_crash(plight.process, seed % 2 * SIM_CRASH_KEEPS_WRITES);
		for (uint32_t i = 0; i < TOY_PAGES; i++) {
			uint8_t page[TOY_PAGE];
			bool is;

			sim_file_peek(sim_file_find(plight.sim, "f"), i * UINT64_C(4096), page, sizeof(page), false);
			is = is_torn(page, 1024);
			assert_false(is && seed % 2 != 0);
			torn += is;
			for (size_t at = 0; at < TOY_PAGE; at += 1024)
				assert_in_range((uint32_t)get_le64(page + at), plight.writer.synced[i],
				    plight.writer.written[i]);
		}
		sim_destroy(plight.sim);
	}
	assert_true(torn > 0);
}

/* Writes to two pages in turn, 1 1 2 2 3 3, and never syncs; behind that each sector says which one it is. */
struct rewriter {
	struct file *file;
	struct file_io io;
	struct iovec iov;
	int step;
};

enum { REWRITES = 6, SECTOR = 1024 };

static void
rewriter_step(struct rewriter *rewriter)
{
	rewriter->io.offset = (uint64_t)rewriter->step % 2 * 4096;
	for (size_t at = 0; at < 4096; at++)
		((uint8_t *)rewriter->iov.iov_base)[at] =
		    (uint8_t)(at % SECTOR == 0 ? (size_t)rewriter->step / 2 + 1 : at / SECTOR);
	rewriter->file->reactor->world->file_submit(rewriter->file, &rewriter->io);
}

static void
rewriter_done(struct file_io *io)
{
	struct rewriter *rewriter = io->owner;

	assert_int_equal(io->result, 4096);
	if (++rewriter->step < REWRITES)
		rewriter_step(rewriter);
}

static int
rewriter_start(struct reactor *reactor, void *arg)
{
	struct rewriter *rewriter = arg;

	assert_int_equal(reactor->world->file_open(reactor, "r", 65536, 4096, &rewriter->file), 0);
	rewriter->iov = (struct iovec){ arena_alloc_aligned(reactor->arena, 4096, 4096), 4096 };
	rewriter->io = (struct file_io){
		.op = FILE_WRITE, .iov = &rewriter->iov, .iov_count = 1, .done = rewriter_done, .owner = rewriter,
	};
	rewriter_step(rewriter);
	return 0;
}

static void
a_loss_of_power_may_keep_later_writes_and_versions_between(void **state)
{
	bool reordered = false, between = false;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct sim_options options = sim_options_default();
		struct sim_process *process;
		struct rewriter rewriter = { .step = 0 };
		uint8_t first[4096], second[4096];
		struct sim *sim;

		options.writeback_ppm = 300000;
		options.file_sector = SECTOR;
		sim = sim_create(seed, &options);
		process = toy_process(sim, "rewriter", 1, rewriter_start, &rewriter);
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_int_equal(rewriter.step, REWRITES);
		sim_process_crash(process, 0);
		sim_file_peek(sim_file_find(sim, "r"), 0, first, sizeof(first), false);
		sim_file_peek(sim_file_find(sim, "r"), 4096, second, sizeof(second), false);
		reordered |= first[0] < second[0];
		between |= first[0] == 1;
		for (size_t at = 0; at < 4096; at += SECTOR)
			assert_int_equal(first[at + 1], first[at] == 0 ? 0 : at / SECTOR);
		sim_destroy(sim);
	}
	assert_true(reordered && between);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_loses_unsynced_writes_only),
		cmocka_unit_test(a_killed_process_loses_no_completed_write),
		cmocka_unit_test(a_crash_tears_the_write_it_finds_where_sectors_end),
		cmocka_unit_test(a_loss_of_power_tears_what_was_not_synced),
		cmocka_unit_test(a_loss_of_power_may_keep_later_writes_and_versions_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
