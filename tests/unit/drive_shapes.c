#include "drive_bench.h"

static void
as_it_is(struct flash_profile *p)
{
	(void)p;
}

static void
several_planes(struct flash_profile *p)
{
	p->planes = 2;
	p->bits = 3;
	p->page_bytes = 4096;
	p->buffer_bytes = 26 * 4096;
}

void
drive_bench_slc(struct flash_profile *p)
{
	p->slc_permille = 120;
	p->slc_fixed_permille = 40;
	p->slc_program_ns = 30000;
	p->spare_permille = 1000;
	p->scale_blocks = 23;
	p->erase_scales = 1;
}

static void
units_of_four_pages(struct flash_profile *p)
{
	p->planes = 4;
	p->page_bytes = 1024;
	p->bits = 3;
	p->buffer_bytes = 14 * 4096;
}

static void
units_of_64_kib(struct flash_profile *p)
{
	p->unit_bytes = 65536;
	p->planes = 4;
	p->page_bytes = 16384;
	p->buffer_bytes = 11 * 65536;
	p->channel_mb_s = p->channel_write_mb_s = 3000;
	p->link_mb_s = 12000;
}

static void
one_die_and_a_small_buffer(struct flash_profile *p)
{
	p->channels = p->dies = 1;
	p->buffer_bytes = 4 * 4096;
	p->programs_max = 1;
	p->suspends_program = p->suspends_erase = 0;
	p->policy = FLASH_COST_BENEFIT;
	p->gc_low = 3;
}

static void
small_units(struct flash_profile *p)
{
	p->unit_bytes = 1024;
	p->page_bytes = 2048;
	p->buffer_bytes = 40 * 1024;
	p->wear_gap = 0;
}

const struct drive_bench_shape drive_bench_shapes[DRIVE_BENCH_SHAPES] = {
	{ "units_of_4_kib", as_it_is, 600, 32000 },
	{ "rows_of_several_planes", several_planes, 700, 16000 },
	{ "slc_mode", drive_bench_slc, 600, 16000 },
	{ "units_of_four_pages", units_of_four_pages, 400, 16000 },
	{ "units_of_64_kib", units_of_64_kib, 160, 2000 },
	{ "one_die_and_a_small_buffer", one_die_and_a_small_buffer, 260, 6000 },
	{ "small_units", small_units, 1050, 12000 },
};
