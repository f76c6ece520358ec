/*
 * trace/guess: the format that reads most of the first lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/reader.h"

static const char *const lines[TRACE_FORMATS] = {
	[TRACE_MSR] = "128166372003061629,usr,0,Read,7014609920,24576,41286\n",
	[TRACE_SPC] = "0,20939840,8192,R,0.011413\n",
	[TRACE_FIU] = "89967404326888 2781 nfsd 520255360 8 W 6 0 0123456789abcdef0123456789abcdef\n",
	[TRACE_SSDSIM] = "938513000 4 264719034 16 0\n",
	[TRACE_VSCSI] = "1,5633898,2a,512,42932745\n",
	[TRACE_BLKPARSE] = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n",
};

static bool
guessed(const char *text, enum trace_format *format)
{
	return trace_guess(text, strlen(text), format);
}

static void
each_format_is_known_by_a_single_line(void **state)
{
	enum trace_format found;

	(void)state;
	for (enum trace_format format = 0; format < TRACE_FORMATS; format++) {
		assert_true(guessed(lines[format], &found) && found == format);
		/* Without its newline, too. */
		assert_true(trace_guess(lines[format], strlen(lines[format]) - 1, &found) && found == format);
	}
}

static void
a_byte_order_mark_is_no_part_of_it(void **state)
{
	enum trace_format found;

	(void)state;
	for (enum trace_format format = 0; format < TRACE_FORMATS; format++) {
		char text[256] = "\xef\xbb\xbf";

		strcat(text, lines[format]);
		assert_true(guessed(text, &found) && found == format);
		assert_true(trace_guess(text, strlen(text) - 1, &found) && found == format);
	}
	assert_false(guessed("\xef\xbb\xbf", &found));
}

static void
most_lines_count_and_a_heading_does_not(void **state)
{
	enum trace_format found;
	char text[2048] = "# a comment\n\nversion,time,op,size,lbn\n";

	(void)state;
	strcat(strcat(strcat(text, lines[TRACE_VSCSI]), lines[TRACE_VSCSI]), "1,2,what,3,4\n");
	assert_true(guessed(text, &found) && found == TRACE_VSCSI);
	strcat(text, "1,2,what,3,4\n");
	assert_false(guessed(text, &found));
}

static void
what_is_no_trace_is_none(void **state)
{
	enum trace_format found;
	char line[2 * TRACE_LINE];

	(void)state;
	assert_false(guessed("", &found));
	assert_false(guessed("\n\n# nothing\n", &found));
	assert_false(guessed("It was a dark and stormy night;\nthe rain fell in torrents,\n", &found));
	assert_false(guessed("It was a dark and stormy night;", &found));
	assert_false(trace_guess("\0\1\2\3\n\n\377", 7, &found));
	memset(line, '1', sizeof(line));
	assert_false(trace_guess(line, sizeof(line), &found));
}

static void
what_is_cut_off_at_the_end_does_not_count(void **state)
{
	enum trace_format found;
	char text[256];

	(void)state;
	strcpy(text, lines[TRACE_SPC]);
	strcat(text, "0,209");
	assert_true(guessed(text, &found) && found == TRACE_SPC);
}

static void
only_the_first_hundred_lines_count(void **state)
{
	enum trace_format found;
	char text[100 * 64 + 1] = "";

	(void)state;
	for (int i = 0; i < 51; i++)
		strcat(text, lines[TRACE_SPC]);
	for (int i = 0; i < 60; i++)
		strcat(text, "?\n");
	assert_true(guessed(text, &found) && found == TRACE_SPC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_is_known_by_a_single_line),
		cmocka_unit_test(a_byte_order_mark_is_no_part_of_it),
		cmocka_unit_test(most_lines_count_and_a_heading_does_not),
		cmocka_unit_test(what_is_no_trace_is_none),
		cmocka_unit_test(what_is_cut_off_at_the_end_does_not_count),
		cmocka_unit_test(only_the_first_hundred_lines_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
