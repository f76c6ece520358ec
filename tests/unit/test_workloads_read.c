/*
 * place/workloads_read: rows become workloads, and each number that cannot be meant is refused by its line and column.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "place/workloads_read.h"
#include "read_bench.h"

#define HEADING "name,seq_ratio_pct,write_rate_gb_day,peak_iops,write_ratio_pct,working_set_gb\n"

static struct arena arena;
static struct csv_said said;
static struct workloads workloads;

static int
take(const char *text)
{
	arena_drop(&arena);
	arena_init(&arena, 0);
	memset(&said, 0, sizeof(said));
	return workloads_read(&workloads, &arena, text, strlen(text), &said);
}

static void
rows_become_workloads(void **state)
{
	assert_int_equal(take(HEADING "# two\nmds0,31.52,21.04,207.02,88.11,6.43\n\"a, b\",,0,0,0,0\n"), 0);
	assert_int_equal(workloads.count, 2);

	const struct workload *w = &workloads.list[0];

	assert_string_equal(w->name, "mds0");
	assert_true(w->seq_ratio == 31.52 / 100 && w->write_gb_per_day == 21.04 && w->peak_iops == 207.02);
	assert_true(w->write_ratio == 88.11 / 100 && w->working_set_gb == 6.43 && w->arrival_days == 0);
	assert_string_equal(workloads.list[1].name, "a, b");
	assert_int_equal(workloads.line[1], 4);
	assert_int_equal(said.wrong.count + said.odd.count, 0);
	assert_int_equal(take("arrival_days,working_set_gb,write_ratio,peak_iops,write_rate_gb_day,seq_ratio,name\r\n"
	    "12.5,6,0.5,200,20,0.25,x\r\n,6,1,200,20,1,y\r\n"), 0);
	assert_true(workloads.list[0].seq_ratio == 0.25 && workloads.list[0].arrival_days == 12.5);
	assert_true(workloads.list[1].arrival_days == 0 && workloads.list[1].write_ratio == 1);
}

static void
all_that_is_wrong_is_said_by_line_and_column(void **state)
{
	static const struct { const char *row, *words; } cases[] = {
		{ ",1,1,1,1,1", "name: it is empty" }, { "x,,1,1,1,1", "seq_ratio_pct: it is empty" },
		{ "x,nan,1,1,1,1", "seq_ratio_pct: 'nan' is not a number" },
		{ "x,100.1,1,1,1,1", "seq_ratio_pct: 100.1 is not from 0 to 100 %" },
		{ "x,-1,1,1,1,1", "seq_ratio_pct: -1 is not from 0 to 100 %" },
		{ "x,1,-1,1,1,1", "write_rate_gb_day: -1 is less than 0" },
		{ "x,1,1e999,1,1,1", "write_rate_gb_day: '1e999' is too large" },
		{ "x,1,1,,1,1", "peak_iops: it is empty" }, { "x,1,1,1,150,1", "write_ratio_pct: 150 is not" },
		{ "x,1,1,1,1,6GB", "working_set_gb: '6GB' is not a number" },
		{ "x,1,1,1,0,1", "x: it writes, and none of its I/Os are writes" },
		{ "x,1,1,0,1,1", "x: it writes, and its peak is 0" }, { "x,1,1,1,1", "it has 5 cells" },
	};
	char text[256];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), HEADING "good,1,1,1,1,1\n%s\n", cases[i].row);
		assert_int_equal(take(text), -EINVAL);
		read_says(&said.wrong, 3, cases[i].words);
		assert_int_equal(said.wrong.count, 1);
	}
	assert_int_equal(take(HEADING "x,nan,-1,1,1,1\n\ny,1,1,1,1,1\ny,1,1,1,1,1\n"), -EINVAL);
	read_says(&said.wrong, 2, "seq_ratio_pct");
	read_says(&said.wrong, 2, "write_rate_gb_day");
	read_says(&said.wrong, 5, "name: 'y' is on line 4 too");
	assert_int_equal(take("name,arrival_days\nx,-1\n"), -EINVAL);
	read_says(&said.wrong, 1, "there is no column 'write_rate_gb_day'");
	read_says(&said.wrong, 1, "there is no column 'seq_ratio_pct', nor 'seq_ratio'");
	read_says(&said.wrong, 1, "there is no column 'working_set_gb'");
	assert_int_equal(take(HEADING), -EINVAL);
	read_says(&said.wrong, 0, "there are no workloads");
	assert_int_equal(take("name,seq_ratio,write_rate_gb_day,peak_iops,write_ratio,working_set_gb\n"
	    "x,31.5,1,1,1,1\n"), -EINVAL);
	read_says(&said.wrong, 2, "in percent that column has a name that ends in _pct");
}

static void
what_else_is_told_of_traces_is_passed_over(void **state)
{
	assert_int_equal(take("name,seq_ratio_pct,write_rate_gb_day,peak_iops,write_ratio_pct,working_set_gb,"
	    "working_set_error_pct,duration_s,reads,writes,read_gb,written_gb,sequential_streams,sequential_writes,"
	    "sequential_bytes,written_bytes,writes_inside,writes_at_end,writes_in_gap,writes_elsewhere,backwards,"
	    "misplaced\n"
	    "a,30,20,200,80,6,0,600,1,2,3,4,5,6,7,8,9,10,11,12,13,none\n"), 0);
	assert_int_equal(said.odd.count, 0);
	assert_true(workloads.list[0].working_set_gb == 6 && workloads.list[0].write_ratio == 0.8);
}

static void
units_that_are_off_by_a_thousand_are_warned_of(void **state)
{
	assert_int_equal(take(HEADING "a,30,600000,20000,80,6\nb,30,20,200,80,6000000\nc,30,20,20000000,80,6\n"), 0);
	read_says(&said.odd, 2, "a: its write rate is more than 500 TB a day: is it in MB?");
	read_says(&said.odd, 3, "b: its working set is more than 1000 TB");
	read_says(&said.odd, 4, "c: its peak is more than ten million");
	assert_int_equal(take(HEADING "a,0.3,20,200,0.8,6\nb,0.5,20,200,0.7,6\nc,0,20,200,1,6\n"), 0);
	read_says(&said.odd, 0, "seq_ratio_pct: none is more than 1 %");
	read_says(&said.odd, 0, "write_ratio_pct: none is more than 1 %");
	assert_int_equal(take("colour,name,seq_ratio,write_rate_gb_day,peak_iops,write_ratio,working_set_gb\n"
	    "red,a,0.3,20,200,0.8,6\nblue,b,0.5,20,200,0.7,6\nred,c,0,20,200,1,6\n"), 0);
	read_says(&said.odd, 1, "column 'colour' is not known");
	assert_int_equal(said.odd.count, 1);
}

static void
where_there_is_no_memory_that_is_the_answer(void **state)
{
	static const char text[] = HEADING "a,30,20,200,80,6\nb,30,20,200,80,6\n";

	for (unsigned n = 1; n <= 5; n++) {
		arena_drop(&arena);
		arena_init(&arena, 0);
		arena.fail_at = n;
		memset(&said, 0, sizeof(said));
		assert_int_equal(workloads_read(&workloads, &arena, text, strlen(text), &said), -ENOMEM);
	}
}

static int
begin(void **state)
{
	arena_init(&arena, 0);
	return 0;
}

static int
end(void **state)
{
	arena_drop(&arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_become_workloads),
		cmocka_unit_test(all_that_is_wrong_is_said_by_line_and_column),
		cmocka_unit_test(what_else_is_told_of_traces_is_passed_over),
		cmocka_unit_test(units_that_are_off_by_a_thousand_are_warned_of),
		cmocka_unit_test(where_there_is_no_memory_that_is_the_answer),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
