/*
 * test_perf_plot.c - distributions as text and as a picture.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "perf_pace.h"
#include "perf_plot.h"

static char *
bars(const struct hist *hist)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	plot_bars(out, "read", hist);
	fclose(out);
	return text;
}

static char *
picture(const struct hist *read, const struct hist *write)
{
	const struct plot plot = { "perf '<a&b>' \"c\" \x01", "today", read, write };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	plot_svg(out, &plot);
	fclose(out);
	return text;
}

static void
test_each_io_is_in_one_bar(void **state)
{
	struct hist hist;
	char *text;

	hist_init(&hist);
	for (unsigned i = 0; i < 75; i++)
		hist_add(&hist, 15000);
	for (unsigned i = 0; i < 25; i++)
		hist_add(&hist, 1500000);
	text = bars(&hist);
	assert_non_null(strstr(text, "read, 100 I/Os\n  10 us - 20 us           75  75.00 % ####"));
	assert_non_null(strstr(text, "  20 us - 50 us            0   0.00 % \n"));
	assert_non_null(strstr(text, "   1 ms - 2 ms            25  25.00 % #################\n"));
	assert_null(strstr(text, "5 ms"));
	free(text);
	hist_init(&hist);
	text = bars(&hist);
	assert_string_equal(text, "");
	free(text);
}

static void
test_the_picture_shows_both_and_escapes_its_caption(void **state)
{
	struct hist read, write;
	char *text;

	hist_init(&read);
	hist_init(&write);
	for (uint64_t ns = 20000; ns < 4000000; ns = ns * 9 / 8)
		hist_add(&read, ns);
	hist_add(&write, 12);
	hist_add(&write, UINT64_MAX);
	text = picture(&read, &write);
	assert_non_null(strstr(text, "perf '&lt;a&amp;b&gt;' &quot;c&quot; ?<"));
	assert_non_null(strstr(text, ">read: median"));
	assert_non_null(strstr(text, ">write: median"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	free(text);
	hist_init(&read);
	hist_init(&write);
	text = picture(&read, &write);
	assert_null(strstr(text, "median"));
	assert_null(strstr(text, "nan"));
	free(text);
}

static void
test_a_pace_is_kept_and_little_is_made_up_for(void **state)
{
	struct pace pace = pace_make(1000, 0, 4096, 1, 1);
	uint64_t now_ns = 1000000000, taken = 0;

	pace_begin(&pace, now_ns);
	assert_int_equal(pace_take(&pace, now_ns), 0);
	assert_in_range(pace_take(&pace, now_ns), now_ns + 1000000, now_ns + 1000002);
	for (; now_ns < 2000000000; now_ns += 10000)
		taken += pace_take(&pace, now_ns) == 0;
	assert_in_range(taken, 998, 1000);
	/* After a second of nothing ten milliseconds are made up for. */
	for (now_ns += 1000000000, taken = 0; pace_take(&pace, now_ns) == 0;)
		taken++;
	assert_in_range(taken, 9, 12);
	pace = pace_make(0, 8192, 4096, 1, 2);
	assert_int_equal(pace.cost >> PACE_SHIFT, 1000000000);
	assert_int_equal(pace_make(0, 0, 4096, 1, 2).cost, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_io_is_in_one_bar),
		cmocka_unit_test(test_the_picture_shows_both_and_escapes_its_caption),
		cmocka_unit_test(test_a_pace_is_kept_and_little_is_made_up_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
