#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drive_oracle.h"

/* ---- the drive ---- */

void
drive_bench_profile(struct flash_profile *p)
{
	*p = (struct flash_profile){
		.media = FLASH_NAND, .capacity_mb = 1000000, .channels = 2, .dies = 4, .die_mib = 1024, .planes = 1,
		.page_bytes = 8192, .pages = 512, .bits = 2, .unit_bytes = 4096, .spare_permille = 700,
		.reserve_blocks = 3, .scale_blocks = 17, .read_ns = 20000, .read_spread_ns = 3000, .program_ns = 100000,
		.erase_ns = 300000, .channel_mb_s = 800, .channel_write_mb_s = 800, .overhead_permille = 60,
		.programs_max = 3, .suspends_program = 1, .suspends_erase = 1, .suspend_ns = 8000, .resume_ns = 5000,
		.suspends_max = 3, .controller_read_ns = 4000, .controller_write_ns = 3000, .front_end_iops = 2000000,
		.commands_max = 24, .link_mb_s = 3000, .buffer_bytes = 22 * 4096, .flush_ns = 7000, .journal_ns = 40000,
		.policy = FLASH_GREEDY, .gc_low = 2, .wear_gap = 6, .endurance = 1000,
	};
}

static void
zero_store(void *owner, uint64_t offset, uint64_t bytes)
{
	memset(((struct drive_bench *)owner)->store + offset, 0, bytes);
}

void
drive_bench_open(struct drive_bench *b, const struct flash_profile *profile, uint32_t units, uint64_t seed)
{
	struct drive_options options = { .profile = *profile, .seed = seed };
	bool in_place = profile->media == FLASH_IN_PLACE;
	uint32_t unit = in_place && profile->unit_bytes < BENCH_PIECE ? BENCH_PIECE : profile->unit_bytes;
	size_t bytes = (size_t)units * unit;
	char why[FLASH_WHY];

	*b = (struct drive_bench){ .profile = *profile, .unit_count = units, .sectors = unit / DRIVE_SECTOR,
		.event_first = 1, .hash = UINT64_C(0xcbf29ce484222325) };
	arena_init(&b->arena, 0);
	rng_seed(&b->rng, seed);
	if (flash_geometry_init(&b->geometry, profile, bytes, why) != 0)
		fail_msg("%s", why);
	b->store = arena_alloc(&b->arena, bytes);
	b->base = arena_alloc(&b->arena, sizeof(*b->base) * units * b->sectors);
	b->units = arena_alloc(&b->arena, sizeof(*b->units) * units);
	b->touched = arena_alloc(&b->arena, sizeof(*b->touched) * units);
	b->events = arena_alloc(&b->arena, sizeof(*b->events) * BENCH_EVENTS);
	assert_true(b->store != NULL && b->base != NULL && b->units != NULL && b->touched != NULL && b->events != NULL);
	for (int i = 0; i < BENCH_DEPTH; i++) {
		b->cmds[i].bytes = arena_alloc_raw(&b->arena, BENCH_BYTES);
		assert_non_null(b->cmds[i].bytes);
	}
	options.geometry = b->geometry;
	options.store = b->store;
	options.zero = zero_store;
	options.owner = b;
	assert_int_equal(drive_create(&b->arena, &options, &b->drive), 0);
	drive_bench_any_mood(b);
}

void
drive_bench_close(struct drive_bench *b)
{
	drive_destroy(b->drive);
	for (int i = 0; i < BENCH_DEPTH; i++)
		arena_free(&b->arena, b->cmds[i].bytes);
	arena_free(&b->arena, b->events);
	arena_free(&b->arena, b->touched);
	arena_free(&b->arena, b->units);
	arena_free(&b->arena, b->base);
	arena_free(&b->arena, b->store);
	assert_int_equal(b->arena.bytes, 0);
}

/* ---- commands ---- */

static void
answered(struct drive_bench *b, struct drive_cmd *cmd)
{
	struct bench_cmd *c = container_of(cmd, struct bench_cmd, cmd);

	assert_true(c->under_way && cmd->end_ns >= c->at_ns && cmd->end_ns >= b->end_ns && cmd->owner == c);
	c->under_way = false;
	b->under_way--;
	b->end_ns = cmd->end_ns;
	b->hash = (b->hash ^ c->number) * UINT64_C(0x100000001b3);
	b->hash = (b->hash ^ cmd->end_ns) * UINT64_C(0x100000001b3);
	if (cmd->op == DRIVE_READ)
		oracle_read(b, c);
	else if (cmd->op != DRIVE_FLUSH)
		oracle_answered(b, &b->events[c->event]);
	if ((cmd->op == DRIVE_FLUSH || cmd->fua) && c->begun > b->flushed)
		b->flushed = c->begun;
}

static void
run_until(struct drive_bench *b, uint64_t until_ns)
{
	struct drive_cmd *cmd;

	while (b->at_next && drive_next(b->drive) <= until_ns) {
		uint64_t at_ns = drive_next(b->drive);

		cmd = drive_run(b->drive, at_ns > b->now_ns ? at_ns : b->now_ns);
		if (at_ns > b->now_ns)
			b->now_ns = at_ns;
		if (cmd != NULL) {
			assert_true(cmd->end_ns <= b->now_ns);
			answered(b, cmd);
		}
	}
	while ((cmd = drive_run(b->drive, until_ns)) != NULL) {
		assert_true(!b->at_next && cmd->end_ns <= until_ns);
		answered(b, cmd);
	}
	assert_true(drive_next(b->drive) > until_ns);
	b->now_ns = until_ns;
}

void
drive_bench_run(struct drive_bench *b, uint64_t ns)
{
	run_until(b, b->now_ns + ns);
}

void
drive_bench_step(struct drive_bench *b)
{
	uint64_t next_ns = drive_next(b->drive);

	for (int i = 0; i < BENCH_DEPTH && next_ns == UINT64_MAX; i++)
		if (b->cmds[i].under_way)
			fail_msg("command %u of %u, of kind %u%s, is stuck after %llu cuts", b->cmds[i].number,
			    b->number, b->cmds[i].cmd.op, b->cmds[i].cmd.fua ? " fua" : "",
			    (unsigned long long)b->cuts);
	run_until(b, next_ns > b->now_ns ? next_ns : b->now_ns);
}

void
drive_bench_drain(struct drive_bench *b)
{
	while (b->under_way > 0)
		drive_bench_step(b);
}

void
drive_bench_check(struct drive_bench *b, bool idle)
{
	const char *wrong = drive_check(b->drive, idle);

	if (wrong != NULL)
		fail_msg("%s after %u commands and %llu cuts", wrong, b->number, (unsigned long long)b->cuts);
}

void
drive_bench_idle(struct drive_bench *b)
{
	drive_bench_drain(b);
	while (drive_next(b->drive) != UINT64_MAX)
		drive_bench_step(b);
	drive_bench_check(b, true);
}

struct bench_cmd *
drive_bench_slot(struct drive_bench *b)
{
	while (b->under_way == BENCH_DEPTH)
		drive_bench_step(b);
	for (int i = 0;; i++)
		if (!b->cmds[i].under_way)
			return &b->cmds[i];
}

/* In up to three pieces. */
static void
iov_split(struct drive_bench *b, struct bench_cmd *c, uint64_t bytes)
{
	uint64_t first = 8 * rng_below(&b->rng, bytes / 8), second = 8 * rng_below(&b->rng, (bytes - first) / 8);

	c->iov[0] = (struct iovec){ c->bytes, first };
	c->iov[1] = (struct iovec){ c->bytes + first, second };
	c->iov[2] = (struct iovec){ c->bytes + first + second, bytes - first - second };
}

void
drive_bench_send(struct drive_bench *b, struct bench_cmd *c, enum drive_op op, uint64_t first, uint64_t sectors,
    bool fua)
{
	bool zeros = op == DRIVE_TRIM || (op == DRIVE_WRITE && rng_below(&b->rng, 50) == 0);

	c->cmd = (struct drive_cmd){ .op = (uint8_t)op, .fua = fua, .offset = first * DRIVE_SECTOR,
		.bytes = sectors * DRIVE_SECTOR, .iov = zeros ? NULL : c->iov, .iov_count = 3, .owner = c };
	c->number = b->number++;
	c->begun = ++b->clock;
	c->at_ns = b->now_ns;
	c->event = b->event_count;
	c->under_way = true;
	if (sectors > 0 && !zeros)
		iov_split(b, c, c->cmd.bytes);
	for (uint64_t i = 0; op == DRIVE_WRITE && !zeros && i < sectors; i++)
		oracle_write(b, c->bytes + i * DRIVE_SECTOR, b->event_first + c->event, first + i);
	if (op == DRIVE_WRITE || op == DRIVE_TRIM)
		oracle_begun(b, &(struct bench_event){ .first = first, .end = first + sectors, .begun = c->begun,
			.ended = UINT64_MAX, .zeros = zeros, .fua = fua });
	b->under_way++;
	drive_submit(b->drive, &c->cmd, b->now_ns);
}

/* ---- what is there ---- */

static void
read_units(struct drive_bench *b, uint32_t unit, uint32_t count)
{
	drive_bench_send(b, drive_bench_slot(b), DRIVE_READ, (uint64_t)unit * b->sectors, (uint64_t)count * b->sectors,
	    false);
}

void
drive_bench_read_all(struct drive_bench *b)
{
	uint32_t units = b->unit_count, step = drive_bench_units_at_once(b);

	for (uint32_t unit = 0; unit < units; unit += step)
		read_units(b, unit, unit + step < units ? step : units - unit);
	drive_bench_drain(b);
}

void
drive_bench_settle(struct drive_bench *b)
{
	drive_bench_drain(b);
	drive_bench_send(b, drive_bench_slot(b), DRIVE_FLUSH, 0, 0, false);
	drive_bench_drain(b);
	for (uint32_t i = 0; i < b->touched_count; i++) {
		struct bench_cmd *c;

		read_units(b, b->touched[i], 1);
		drive_bench_drain(b);
		for (c = b->cmds; c->cmd.op != DRIVE_READ || c->number != b->number - 1; c++)
			;
		oracle_take(b, b->touched[i], c->bytes);
	}
	oracle_begin(b);
}

void
drive_bench_fill(struct drive_bench *b)
{
	uint32_t units = b->unit_count, step = drive_bench_units_at_once(b);

	drive_bench_settle(b);
	for (uint32_t unit = 0; unit < units; unit += step)
		drive_bench_send(b, drive_bench_slot(b), DRIVE_WRITE, (uint64_t)unit * b->sectors,
		    (uint64_t)(unit + step < units ? step : units - unit) * b->sectors, false);
	drive_bench_settle(b);
}

void
drive_bench_cut(struct drive_bench *b)
{
	drive_cut(b->drive, b->now_ns);
	assert_true(drive_next(b->drive) >= b->now_ns); /* what begins anew begins then */
	b->cuts++;
	for (int i = 0; i < BENCH_DEPTH; i++)
		b->cmds[i].under_way = false;
	b->under_way = 0;
	for (uint32_t i = 0; i < b->touched_count; i++) {
		oracle_left(b, b->touched[i]);
		oracle_take(b, b->touched[i], b->store + (uint64_t)b->touched[i] * b->sectors * DRIVE_SECTOR);
	}
	oracle_begin(b);
}
