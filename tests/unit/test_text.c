/*
 * test_text.c - text of others: how it is shown (base/utf8, core_log()).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "target/core.h"

static void
what_cannot_be_seen_is_shown_byte_by_byte(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{ "", "" }, { "a b~", "a b~" }, { "\xc3\xa4\xf0\x9f\x90\x9f", "\xc3\xa4\xf0\x9f\x90\x9f" },
		{ "h\nweir: ready\x1b[31m", "h\\x0aweir: ready\\x1b[31m" }, { "\t\r\x01\x7f", "\\x09\\x0d\\x01\\x7f" },
		{ "\xff\xc3", "\\xff\\xc3" }, { "\xc3(", "\\xc3(" }, { "\xc2\x9bK", "\\xc2\\x9bK" },
		{ "\xe2\x80\xa8.", "\\xe2\\x80\\xa8." }, { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		utf8_show(rows[i].text, out, sizeof(out));
		assert_string_equal(out, rows[i].shown);
	}
}

static void
what_is_shown_ends_where_the_room_does_between_characters(void **state)
{
	char out[8];

	(void)state;
	memset(out, '#', sizeof(out));
	utf8_show("12345678", out, 7);
	assert_string_equal(out, "123456");
	assert_int_equal(out[7], '#');
	utf8_show("123\n456", out, 7);
	assert_string_equal(out, "123");
	utf8_show("12\n456", out, 7);
	assert_string_equal(out, "12\\x0a");
	utf8_show("12345\xc3\xa4", out, 7);
	assert_string_equal(out, "12345");
	utf8_show("1234\xc3\xa4", out, 7);
	assert_string_equal(out, "1234\xc3\xa4");
	utf8_show("1", out, 1);
	assert_string_equal(out, "");
}

/* ---- the target's log ---- */

struct logged {
	struct reactor reactor;
	char text[4096];
};

static void
take_line(struct reactor *reactor, int level, const char *text)
{
	struct logged *logged = container_of(reactor, struct logged, reactor);

	(void)level;
	snprintf(logged->text, sizeof(logged->text), "%s", text);
}

static void
a_name_in_the_log_is_no_line_of_its_own(void **state)
{
	static const struct world_ops world = { .log = take_line };
	struct logged logged = { .reactor.world = &world };
	struct core core = { .reactor = &logged.reactor };
	char many[512];

	(void)state;
	core_log(&core, 1, "controller %u of %s: closed", 7, "nqn.h\nweir: ready\xff");
	assert_string_equal(logged.text, "controller 7 of nqn.h\\x0aweir: ready\\xff: closed");
	memset(many, '\n', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	core_log(&core, 1, "%s", many);
	assert_int_equal(strlen(logged.text), 4 * strlen(many));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_seen_is_shown_byte_by_byte),
		cmocka_unit_test(what_is_shown_ends_where_the_room_does_between_characters),
		cmocka_unit_test(a_name_in_the_log_is_no_line_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
