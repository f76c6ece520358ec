/*
 * place/catalogue_read: rows become models with what they cost and bear, by hand, and what contradicts itself is
 * refused; and what is built in is good.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "place/catalogue_read.h"
#include "place/waf_theory.h"
#include "read_bench.h"

#define HEADING "model,usd,capacity_gb,read_iops,write_iops,endurance_pbw,endurance_dwpd,warranty_years,endurance_gb," \
    "active_w,idle_w,duty_pct,spare_pct,waf_random,waf_turn,waf_sequential\n"

static struct arena arena;
static struct csv_said said;
static struct catalogue catalogue;

static int
take(const char *text)
{
	arena_drop(&arena);
	arena_init(&arena, 0);
	memset(&said, 0, sizeof(said));
	return catalogue_read(&catalogue, &arena, text, strlen(text), &catalogue_terms_usual, &said);
}

static void
near(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-12 * fabs(expected)))
		fail_msg("found %.17g, expected %.17g", found, expected);
}

static void
rows_become_models(void **state)
{
	assert_int_equal(take(HEADING "a,178,960,580000,70000,1.7,,,,8,3.5,40,14.5,,,\n"
	    "b,100,1000,400000,40000,,1,3,,,,,,2,,\nc,100,1000,400000,40000,,,,5e6,,,,,2,0.4,1.1\n"), 0);
	assert_int_equal(catalogue.count, 3);

	const struct catalogue_model *a = &catalogue.list[0], *b = &catalogue.list[1], *c = &catalogue.list[2];

	near(a->disk.initial_usd, 178 + 25);
	near(a->watts, 3.5 + 0.4 * 4.5);
	near(a->disk.usd_per_day, 5.3 * 0.024 * 0.10 * 1.58 + 0.14);
	near(a->disk.endurance_gb, 1.7e6 * waf_uniform(0.145));
	near(a->rated_gb, 1.7e6);
	near(waf_at(&a->disk.waf, 0.3), waf_uniform(0.145));
	near(waf_at(&a->disk.waf, 1), 1.2);
	assert_true(a->disk.iops == 580000);
	near(a->disk.write_penalty, 580.0 / 70);
	near(b->disk.usd_per_day, 10 * 0.024 * 0.158 + 0.14);
	near(b->disk.endurance_gb, 1000.0 * 365 * 3 * 2);
	near(waf_at(&b->disk.waf, 1), 1.2);
	near(c->disk.endurance_gb, 5e6);
	near(waf_at(&c->disk.waf, 1), 1.1);
	assert_true(c->rated_gb == 0 && c->disk.waf.epsilon == 0.4);
	assert_true(catalogue_find(&catalogue, "B") == b && catalogue_find(&catalogue, "d") == NULL);
	assert_int_equal(take("model,usd,capacity_gb,read_iops,write_iops,endurance_gb,waf_epsilon,waf_alpha,waf_beta,"
	    "waf_eta,waf_mu,waf_gamma\na,1000,1000,6000,6000,5e6,0.5,0,4,-11.2,11.2,1.2\n"
	    "b,1000,1000,6000,6000,5e6,,,,,,\n"), 0);
	for (double s = 0; s <= 1; s += 0.125) {
		near(waf_at(&catalogue.list[0].disk.waf, s), waf_at(&waf_default, s));
		near(waf_at(&catalogue.list[1].disk.waf, s), waf_at(&waf_default, s));
	}
}

static void
what_is_wrong_is_said_by_line_and_column(void **state)
{
	static const struct { const char *row, *words; } cases[] = {
		{ ",178,960,580000,70000,1.7,,,,,,,,,,", "model: it is empty" },
		{ "good,178,960,580000,70000,1.7,,,,,,,,,,", "model: 'good' is on line 2 too" },
		{ "x,,960,580000,70000,1.7,,,,,,,,,,", "usd: it is empty" },
		{ "x,-1,960,580000,70000,1.7,,,,,,,,,,", "usd: -1 is not from 0" },
		{ "x,178,nan,580000,70000,1.7,,,,,,,,,,", "capacity_gb: 'nan' is not a number" },
		{ "x,178,0,580000,70000,1.7,,,,,,,,,,", "capacity_gb: 0 is not from" },
		{ "x,178,960,0,70000,1.7,,,,,,,,,,", "read_iops: 0 is not from" },
		{ "x,178,960,580000,,1.7,,,,,,,,,,", "write_iops: it is empty" },
		{ "x,178,960,580000,70000,,,,,,,,,,,", "its endurance is not said" },
		{ "x,178,960,580000,70000,1.7,,,5e6,,,,,,,", "endurance is said in two ways" },
		{ "x,178,960,580000,70000,1.7,3,,,,,,,,,", "contradict one another: 1.7 and 5.256 PB" },
		{ "x,178,960,580000,70000,-1.7,,,,,,,,,,", "endurance_pbw: -1.7 is not from" },
		{ "x,178,960,580000,70000,,1,99,,,,,,,,", "warranty_years: 99 is not from" },
		{ "x,178,960,580000,70000,1.7,,,,8,,,,,,", "idle_w: it is empty" },
		{ "x,178,960,580000,70000,1.7,,,,3,8,,,,,", "more power idle than active: 8 and 3 W" },
		{ "x,178,960,580000,70000,1.7,,,,,,101,,,,", "duty_pct: 101 is not from 0 to 100 %" },
		{ "x,178,960,580000,70000,1.7,,,,,,,0.145,,,", "spare_pct: 0.145 is not from 2 to 400 %" },
		{ "x,178,960,580000,70000,1.7,,,,,,,14,4,,", "write amplification is said in more than one way" },
		{ "x,178,960,580000,70000,1.7,,,,,,,,0.5,,", "waf_random: 0.5 is not from 1" },
		{ "x,178,960,580000,70000,1.7,,,,,,,,,0.5,", "waf_random: it is empty" },
		{ "x,178,960,580000,70000,1.7,,,,,,,,2,0.5,3", "x: write amplification rises" },
	};
	char text[512];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), HEADING "good,178,960,580000,70000,1.7,,,,,,,,,,\n%s\n", cases[i].row);
		assert_int_equal(take(text), -EINVAL);
		read_says(&said.wrong, 3, cases[i].words);
		assert_int_equal(said.wrong.count, 1);
	}
	assert_int_equal(take("model,usd\nx,1\n"), -EINVAL);
	read_says(&said.wrong, 1, "there is no column 'capacity_gb'");
	read_says(&said.wrong, 1, "there is no column 'endurance_pbw', nor 'endurance_dwpd' or 'endurance_gb'");
	assert_int_equal(take(HEADING), -EINVAL);
	read_says(&said.wrong, 0, "there are no models");
}

static void
what_is_odd_is_warned_of(void **state)
{
	static const struct { const char *row, *words; } cases[] = {
		{ "x,178,960,580000,70000,1.7,1.2,,,,,,,,,", "endurance_dwpd differ: 1.7 and 2.1024 PB" },
		{ "x,178,960,580,70000,1.7,,,,,,,,,,", "more than four times as fast as it reads" },
		{ "x,178,960,580000,70000,1700,,,,,,,,,,", "its endurance is not 50 to 1,000,000 times its capacity" },
		{ "x,178000,960,580000,70000,1.7,,,,,,,,,,", "more than 50 dollars a GB" },
		{ "x,178,960,580000,70000,1.7,,,,150,3,,,,,", "more than 100 W" },
		{ "x,5,0.96,580000,70000,,,,960,,,,,,,", "its capacity is not from 10 GB" },
	};
	char text[512];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), HEADING "%s\n", cases[i].row);
		assert_int_equal(take(text), 0);
		read_says(&said.odd, 2, cases[i].words);
	}
	assert_int_equal(take("model,usd,capacity_gb,read_iops,write_iops,endurance_gb,estimated\n"
	    "x,178,960,580000,70000,5e6,usd colour\n"), 0);
	read_says(&said.odd, 2, "estimated: 'colour' is not a column");
	assert_int_equal(said.odd.count, 1);
}

static void
a_pool_is_of_models_that_are_known(void **state)
{
	static const char good[] = "count,worn_pct,model\n3,25,A\n,,b\n2,100,b\n";
	static const char bad[] = "model,count,worn_gb,worn_pct\nc,1,,\na,0,,\na,1.5,,\na,1,10,10\na,1,-1,\na,x,,\n";
	struct catalogue_pool pool;

	assert_int_equal(take(HEADING "a,178,960,580000,70000,,,,5e6,,,,,,,\n"
	    "b,178,960,580000,70000,,,,4e6,,,,,,,\n"), 0);
	assert_int_equal(catalogue_pool_read(&pool, &arena, good, strlen(good), &catalogue, &said), 0);
	assert_int_equal(pool.count, 3);
	assert_true(pool.list[0].count == 3 && pool.list[0].worn_gb == 1.25e6);
	assert_true(pool.list[0].model == &catalogue.list[0]);
	assert_true(pool.list[1].count == 1 && pool.list[1].worn_gb == 0 && pool.list[1].model == &catalogue.list[1]);
	read_says(&said.odd, 4, "it is worn out");
	assert_int_equal(catalogue_pool_read(&pool, &arena, bad, strlen(bad), &catalogue, &said), -EINVAL);
	read_says(&said.wrong, 2, "model: 'c' is not in the catalogue");
	read_says(&said.wrong, 3, "count: 0 is not from 1");
	read_says(&said.wrong, 4, "count: 1.5 is not a whole number");
	read_says(&said.wrong, 5, "worn_gb and worn_pct say the same");
	read_says(&said.wrong, 6, "worn_gb: -1 is not from 0");
	read_says(&said.wrong, 7, "count: 'x' is not a number");
	assert_int_equal(said.wrong.count, 6);
}

static void
what_is_built_in_is_good_and_says_where_it_is_from(void **state)
{
	assert_int_equal(catalogue_count, 1);
	assert_int_equal(take(catalogue_texts[0].text), 0);
	assert_int_equal(said.odd.count, 0);
	assert_true(catalogue.count >= 12);
	for (uint32_t i = 0; i < catalogue.count; i++) {
		const struct catalogue_model *m = &catalogue.list[i];

		assert_true(m->source[0] != '\0' && m->class[0] != '\0' && m->year >= 2012);
		assert_true(strstr(m->source, "usd:") != NULL || strstr(m->source, "usd and") != NULL ||
		    strstr(m->source, "usd,") != NULL || strstr(m->estimated, "usd") != NULL);
	}
}

static void
where_there_is_no_memory_that_is_the_answer(void **state)
{
	static const char text[] = HEADING "a,178,960,580000,70000,1.7,,,,,,,,,,\n";

	for (unsigned n = 1; n <= 5; n++) {
		arena_drop(&arena);
		arena_init(&arena, 0);
		arena.fail_at = n;
		memset(&said, 0, sizeof(said));
		assert_int_equal(catalogue_read(&catalogue, &arena, text, strlen(text), &catalogue_terms_usual, &said),
		    -ENOMEM);
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
		cmocka_unit_test(rows_become_models),
		cmocka_unit_test(what_is_wrong_is_said_by_line_and_column),
		cmocka_unit_test(what_is_odd_is_warned_of),
		cmocka_unit_test(a_pool_is_of_models_that_are_known),
		cmocka_unit_test(what_is_built_in_is_good_and_says_where_it_is_from),
		cmocka_unit_test(where_there_is_no_memory_that_is_the_answer),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
