/*
 * test_lab_result.c - results, and the pictures that are made of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "lab/scale.h"
#include "lab/svg.h"

struct bench {
	struct arena arena;
	struct result result;
};

static int
bench_begin(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		return -1;
	arena_init(&bench->arena, 0);
	result_init(&bench->result, &bench->arena, "toy", 7);
	*state = bench;
	return 0;
}

static int
bench_end(void **state)
{
	struct bench *bench = *state;

	arena_drop(&bench->arena);
	free(bench);
	return 0;
}

/* ---- results ---- */

static void
test_a_table_is_filled_row_by_row(void **state)
{
	struct bench *bench = *state;
	const struct result_column columns[] = { { "name", "", 0, true }, { "time", "us", 1, false } };
	struct result_table *table = result_table(&bench->result, "t", "T", columns, 2);
	const struct result_row *row;

	for (unsigned i = 0; i < 3; i++) {
		result_cell_text(table, "row %u", i);
		result_cell_number(table, i * 1.5);
	}
	row = result_next(result_first(&table->rows, struct result_row), struct result_row);
	assert_string_equal(row->cells[0].text, "row 1");
	assert_true(row->cells[1].text == NULL && row->cells[1].number == 1.5);
	row = result_next(row, struct result_row);
	assert_null(result_next(row, struct result_row));
}

static void
check(struct bench *bench, double measured, enum result_bound bound, double expected, double tolerance, bool met)
{
	const struct result_check *last = NULL;

	result_check(&bench->result, "c", "", 0, measured, bound, expected, tolerance);
	result_each(&bench->result.checks, struct result_check, one)
		last = one;
	assert_int_equal(last->met, met);
}

static void
test_a_check_is_met_within_its_tolerance(void **state)
{
	struct bench *bench = *state;

	check(bench, 105, RESULT_WITHIN, 100, 5, true);
	check(bench, 95, RESULT_WITHIN, 100, 5, true);
	check(bench, -95, RESULT_WITHIN, -100, 5, true);
	check(bench, 10, RESULT_AT_LEAST, 10, 0, true);
	check(bench, 10, RESULT_AT_MOST, 10, 0, true);
	assert_true(result_all_met(&bench->result));
	check(bench, 105.1, RESULT_WITHIN, 100, 5, false);
	check(bench, 94.9, RESULT_WITHIN, 100, 5, false);
	check(bench, 9, RESULT_AT_LEAST, 10, 50, false);
	check(bench, 11, RESULT_AT_MOST, 10, 50, false);
	check(bench, NAN, RESULT_AT_MOST, 10, 0, false);
	assert_false(result_all_met(&bench->result));
}

static void
test_what_is_said_twice_is_said_once(void **state)
{
	struct bench *bench = *state;
	const struct result_given *given;

	for (unsigned i = 0; i < 4; i++)
		result_given(&bench->result, "profile", "drive %u", i / 2);
	given = result_first(&bench->result.givens, struct result_given);
	assert_string_equal(given->text, "drive 0");
	given = result_next(given, struct result_given);
	assert_string_equal(given->text, "drive 1");
	assert_null(result_next(given, struct result_given));
}

static void
test_a_number_is_shown_with_its_decimals(void **state)
{
	char text[RESULT_NUMBER];

	assert_string_equal(result_number(1.25, 1, text), "1.2");
	assert_string_equal(result_number(-0.04, 1, text), "0.0");
	assert_string_equal(result_number(-0.06, 1, text), "-0.1");
	assert_string_equal(result_number(12345678, 0, text), "12345678");
	assert_string_equal(result_number(NAN, 3, text), "-");
	assert_string_equal(result_number(INFINITY, 3, text), "-");
}

static void
test_what_is_no_number_is_not_drawn(void **state)
{
	struct bench *bench = *state;
	struct result_axis axis = { "a", "", RESULT_LINEAR };
	struct result_figure *figure = result_figure(&bench->result, RESULT_LINES, "f", "T", axis, axis);
	struct result_series *series = result_series(figure, "s", false);

	result_point(series, 1, NAN);
	result_point(series, INFINITY, 1);
	result_point_between(series, 1, 1, 1, NAN);
	assert_null(result_first(&series->points, struct result_point));
	result_point(series, 1, 1);
	assert_non_null(result_first(&series->points, struct result_point));
}

/* ---- scales ---- */

static void
check_scale(enum result_scale kind, double least, double most, double first, double last, const char *labels)
{
	struct scale scale;
	char said[400] = "";

	scale_init(&scale, kind, least, most, 100, 300);
	assert_true(fabs(scale.first - first) <= 1e-9 * fabs(first) && fabs(scale.last - last) <= 1e-9 * fabs(last));
	for (unsigned i = 0; i < scale.count; i++)
		if (scale.ticks[i].label[0] != '\0')
			snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s", said[0] != '\0' ? " " : "",
			    scale.ticks[i].label);
	assert_string_equal(said, labels);
	assert_true(fabs(scale_place(&scale, scale.first) - 100) < 1e-9);
	assert_true(fabs(scale_place(&scale, scale.last) - 300) < 1e-9);
	assert_true(scale_place(&scale, last * 2) == 300); /* it does not leave the frame */
}

static void
test_scales_have_round_ends_and_ticks(void **state)
{
	check_scale(RESULT_LINEAR, 3, 97, 0, 100, "0 20 40 60 80 100");
	check_scale(RESULT_LINEAR, 0, 0.3, 0, 0.3, "0 0.05 0.1 0.15 0.2 0.25 0.3");
	check_scale(RESULT_LINEAR, -12, 30, -20, 30, "-20 -10 0 10 20 30");
	check_scale(RESULT_LINEAR, 0, 812345, 0, 1e6, "0 200k 400k 600k 800k 1M");
	check_scale(RESULT_LINEAR, 0, 0, 0, 1, "0 0.2 0.4 0.6 0.8 1");
	check_scale(RESULT_LOG, 35, 350, 10, 1000, "10 20 50 100 200 500 1000");
	check_scale(RESULT_LOG, 1, 1e6, 1, 1e6, "1 10 100 1000 10k 100k 1M");
	check_scale(RESULT_LOG, 10, 10, 10, 100, "10 20 50 100");
	check_scale(RESULT_LOG2, 1, 128, 1, 128, "1 2 4 8 16 32 64 128");
	check_scale(RESULT_LOG2, 1, 16384, 1, 16384, "1 4 16 64 256 1024 4096 16.38k");
	assert_false(scale_takes(RESULT_LOG, 0));
	assert_true(scale_takes(RESULT_LINEAR, 0));
}

/* ---- pictures ---- */

static char *
picture(const struct result *result, const struct result_figure *figure)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	svg_write(out, result, figure);
	fclose(out);
	return text;
}

static unsigned
times(const char *text, const char *what)
{
	unsigned found = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		found++;
	return found;
}

static struct result_figure *
draw(struct bench *bench)
{
	struct result_figure *figure = result_figure(&bench->result, RESULT_LINES, "f", "Latency <&> \"depth\"",
	    (struct result_axis){ "depth", "", RESULT_LOG2 }, (struct result_axis){ "latency", "us", RESULT_LOG });
	struct result_series *one = result_series(figure, "ours", false), *two = result_series(figure, "theirs", true);

	for (unsigned i = 1; i <= 64; i *= 2)
		result_point_between(one, i, 10.0 * i, 9.0 * i, 12.0 * i);
	result_point(one, 128, NAN);
	result_point(one, 128, 0); /* has no place on a logarithmic scale */
	result_point(two, 4, 50);
	result_caption(figure, "What a queue costs: %s", "many words that go on until a line is full, and then in the "
	    "next one, so that nobody has to look beyond the edge of the picture to read what is said of the matter.");
	result_given(&bench->result, "profile", "toy 0123");
	return figure;
}

static void
test_a_picture_says_what_it_shows(void **state)
{
	struct bench *bench = *state;
	char *text = picture(&bench->result, draw(bench));

	assert_non_null(strstr(text, "<title>Latency &lt;&amp;&gt; &quot;depth&quot;</title>"));
	assert_non_null(strstr(text, ">depth<"));
	assert_non_null(strstr(text, ">latency (us)<"));
	assert_non_null(strstr(text, ">ours<"));
	assert_non_null(strstr(text, ">theirs<"));
	assert_non_null(strstr(text, "profile: toy 0123"));
	assert_non_null(strstr(text, "weir lab run toy --seed 7   (history "));
	assert_int_equal(times(text, ">What a queue costs"), 1);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	/* Seven points and their mark in the legend; the published one, hollow, and its mark. */
	assert_int_equal(times(text, "<circle"), 8);
	assert_int_equal(times(text, "v6.4h-6.4z\" fill=\"#fff\""), 2);
	assert_int_equal(times(text, "stroke-opacity"), 7);
	/* A line and its piece in the legend; what is published has none. */
	assert_int_equal(times(text, "stroke-dasharray"), 2);
	free(text);
}

static void
test_a_picture_is_the_same_each_time(void **state)
{
	struct bench *bench = *state;
	const struct result_figure *figure = draw(bench);
	char *one = picture(&bench->result, figure), *two = picture(&bench->result, figure);

	assert_string_equal(one, two);
	assert_int_equal(strncmp(one, "<?xml ", 6), 0);
	assert_string_equal(one + strlen(one) - 7, "</svg>\n");
	assert_int_equal(times(one, "<g"), times(one, "</g>"));
	free(one);
	free(two);
}

static void
test_bars_go_both_ways_from_zero(void **state)
{
	struct bench *bench = *state;
	struct result_figure *figure = result_figure(&bench->result, RESULT_BARS, "f", "T",
	    (struct result_axis){ "change", "%", RESULT_LINEAR }, (struct result_axis){ "", "", RESULT_LINEAR });
	struct result_series *less = result_series(figure, "less", false), *more = result_series(figure, "more", false);
	char *text;

	result_bar(less, "tR", -20);
	result_bar(less, "tPROG", -4);
	result_bar(more, "tR", 20);
	result_bar(more, "tPROG", 0);
	text = picture(&bench->result, figure);
	/* From 220 to 640, and zero in the middle. */
	assert_non_null(strstr(text, "<rect x=\"220.0\" y=\"53.0\" width=\"210.0\""));
	assert_non_null(strstr(text, "<rect x=\"430.0\" y=\"63.0\" width=\"210.0\""));
	assert_non_null(strstr(text, "<rect x=\"430.0\" y=\"93.0\" width=\"0.0\""));
	assert_int_equal(times(text, ">tR<"), 1);
	free(text);
}

/* With words that have no room beside the bars where these begin otherwise. */
static void
test_bars_begin_behind_their_words(void **state)
{
	struct bench *bench = *state;
	struct result_figure *figure = result_figure(&bench->result, RESULT_BARS, "f", "T",
	    (struct result_axis){ "change", "%", RESULT_LINEAR }, (struct result_axis){ "", "", RESULT_LINEAR });
	struct result_series *series = result_series(figure, "error", false);
	char *text;

	result_bar(series, "forty letters are what this label may be", 10);
	result_bar(series, "short", 10);
	text = picture(&bench->result, figure);
	/* Seven for each letter; and the bars are as long as before, and what they are called beside them. */
	assert_non_null(strstr(text, "<rect x=\"280.0\" y=\"53.0\" width=\"420.0\""));
	assert_non_null(strstr(text, "<text x=\"752.0\""));
	free(text);
}

/* With a name so long that the picture is wider, up to where it is cut. */
static void
test_names_that_differ_at_their_end_are_told_apart(void **state)
{
	struct bench *bench = *state;
	struct result_figure *figure = draw(bench);
	char *text = picture(&bench->result, figure);

	assert_int_equal(times(text, "width=\"860\""), 2);
	free(text);
	result_series(figure, "tlc-consumer, sequential, reads", false);
	result_series(figure, "tlc-consumer, sequential, writes", false);
	text = picture(&bench->result, figure);
	assert_non_null(strstr(text, ">tlc-consumer, sequential, reads<"));
	assert_non_null(strstr(text, ">tlc-consumer, sequential, writes<"));
	assert_int_equal(times(text, "width=\"923\""), 2); /* from 692 on, 7 for each letter and one more */
	free(text);
	result_series(figure, "a series of which so much is to be said that no picture could be wide enough", false);
	text = picture(&bench->result, figure);
	assert_non_null(strstr(text, ">a series of which so much is to be said that no picture coul...<"));
	assert_int_equal(times(text, "width=\"1140\""), 2);
	free(text);
}

static void
test_an_empty_figure_is_a_picture_too(void **state)
{
	struct bench *bench = *state;

	for (unsigned shape = 0; shape < 2; shape++)
		for (unsigned kind = 0; kind < 3; kind++) {
			struct result_axis axis = { "a", "", kind };
			char *text = picture(&bench->result, result_figure(&bench->result, shape, "f", "", axis, axis));

			assert_null(strstr(text, "nan"));
			assert_null(strstr(text, "inf"));
			free(text);
		}
}

#define on_bench(test) cmocka_unit_test_setup_teardown(test, bench_begin, bench_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		on_bench(test_a_table_is_filled_row_by_row),
		on_bench(test_a_check_is_met_within_its_tolerance),
		on_bench(test_what_is_said_twice_is_said_once),
		cmocka_unit_test(test_a_number_is_shown_with_its_decimals),
		on_bench(test_what_is_no_number_is_not_drawn),
		cmocka_unit_test(test_scales_have_round_ends_and_ticks),
		on_bench(test_a_picture_says_what_it_shows),
		on_bench(test_a_picture_is_the_same_each_time),
		on_bench(test_bars_go_both_ways_from_zero),
		on_bench(test_bars_begin_behind_their_words),
		on_bench(test_names_that_differ_at_their_end_are_told_apart),
		on_bench(test_an_empty_figure_is_a_picture_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
