#include "conform_devices.h"

#include "blk/devices.h"
#include "blk/fair.h"
#include "drive_bench.h"
#include "lone.h"

/* ---- modelled drives of flash, which are sold with gigabytes, and have hundreds of MiB at least ---- */

static int
open_small_drive(struct reactor *reactor, uint32_t block_size, struct flash_plan *plan, struct blk **blk)
{
	char why[BLK_WHY];

	plan->bytes = CONFORM_BYTES;
	plan->data = true;
	return flash_open(reactor, plan, NULL, block_size, blk, why);
}

static int
protected_drive(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	struct flash_plan plan = { 0 };

	drive_bench_profile(&plan.profile);
	plan.profile.power_loss_protection = 1;
	return open_small_drive(reactor, block_size, &plan, blk);
}

static int
cached_drive(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	struct flash_plan plan = { 0 };

	drive_bench_profile(&plan.profile);
	drive_bench_slc(&plan.profile);
	return open_small_drive(reactor, block_size, &plan, blk);
}

/* As blk_open() has one over a volume: that lies behind a cache as large as the drive's buffer. */
static int
cached_over_file(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	struct flash_plan plan = { .data = true };
	struct blk *inner;
	char why[BLK_WHY];
	int error = blk_open(reactor, "volatile:keep=88K,seed=1@file:/v,size=4M", block_size, &inner, why);

	if (error != 0)
		return error;
	drive_bench_profile(&plan.profile);
	drive_bench_slc(&plan.profile);
	return flash_open(reactor, &plan, inner, block_size, blk, why);
}

/* ---- with a home ---- */

/* What blk_open() opens, with that reactor as its home. */
static int
open_spec(struct reactor *reactor, unsigned index, const char *spec, uint32_t block_size, struct blk **blk)
{
	struct blk *inner;
	char why[256];
	int error = blk_open(reactor, spec, block_size, &inner, why);

	return error == 0 ? home_open(reactor, index, inner, blk) : error;
}

static int
mem_first(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_spec(reactor, 0, "mem:4M", block_size, blk);
}

static int
mem_last(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_spec(reactor, reactor->count - 1, "mem:4M", block_size, blk);
}

static int
file_last(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_spec(reactor, reactor->count - 1, "file:/v,size=4M", block_size, blk);
}

static int
cache_first(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_spec(reactor, 0, "volatile:keep=64K,seed=5@file:/v,size=4M", block_size, blk);
}

static int
lone_last(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	struct blk *inner;
	int error = lone_open(reactor, reactor->count - 1, block_size, &inner);

	return error == 0 ? home_open(reactor, reactor->count - 1, inner, blk) : error;
}

/* ---- that lets I/O wait for its turn ---- */

static int
open_fair(struct reactor *reactor, const char *spec, uint32_t block_size, struct blk **blk)
{
	struct blk *inner;
	char why[256];
	int error = blk_open(reactor, spec, block_size, &inner, why);

	return error == 0 ? fair_open(reactor, reactor->count - 1, inner, blk) : error;
}

static int
fair_mem(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_fair(reactor, "mem:4M", block_size, blk);
}

static int
fair_file(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_fair(reactor, "file:/v,size=4M", block_size, blk);
}

static int
fair_flash(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_fair(reactor, "flash:optane,4M", block_size, blk);
}

static int
fair_cache(struct reactor *reactor, uint32_t block_size, struct blk **blk)
{
	return open_fair(reactor, "volatile:keep=64K,seed=5@file:/v,size=4M", block_size, blk);
}

/* A new device is one line more. */
const struct conform_device conform_devices[] = {
	{ "mem", .spec = "mem:4M" },
	{ "null", .spec = "null:4M", .forgets = "it reads as zeros whatever is written" },
	{ "file", .spec = "file:/v,size=4M", .lasts = true },
	{ "fault over mem", .spec = "fault:drop-write=1000000@mem:4M" },
	{ "fault over file", .spec = "fault:flush-error=1000000@file:/v,size=4M", .lasts = true },
	{ "volatile over mem", .spec = "volatile:@mem:4M" },
	{ "volatile over file", .spec = "volatile:@file:/v,size=4M", .lasts = true },
	{ "volatile, small and early, over file", .spec = "volatile:keep=64K,seed=3@file:/v,size=4M", .lasts = true },
	{ "flash in place", .spec = "flash:optane,4M" },
	{ "flash with protection", .open = protected_drive },
	{ "flash with a cache that is lost", .open = cached_drive },
	{ "flash without contents", .spec = "flash:optane,4M,data=no",
		.forgets = "it reads as zeros whatever is written" },
	{ "flash over file", .spec = "flash:optane@file:/v,size=4M", .lasts = true },
	{ "flash with a cache that is lost, over file", .open = cached_over_file, .lasts = true },
	{ "by turns, mem", .open = fair_mem },
	{ "by turns, file", .open = fair_file, .lasts = true },
	{ "by turns, flash in place", .open = fair_flash },
	{ "by turns, volatile over file", .open = fair_cache, .lasts = true },
	{ .name = NULL },
};

const struct conform_device conform_homes[] = {
	{ "mem, at home on the first", .open = mem_first },
	{ "mem, at home on the last", .open = mem_last },
	{ "file, at home on the last", .open = file_last, .lasts = true },
	{ "volatile over file, at home on the first", .open = cache_first, .lasts = true },
	{ "a lone one, at home on the last", .open = lone_last },
	{ "by turns, mem, at home on the last", .open = fair_mem },
	{ "by turns, file, at home on the last", .open = fair_file, .lasts = true },
	{ .name = NULL },
};
