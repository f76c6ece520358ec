/*
 * test_text.c - text of others: what of it is an NQN, and how it is shown (base/nqn, base/utf8, core_log()).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/nqn.h"
#include "base/utf8.h"
#include "target/core.h"

static void
an_nqn_is_nqn_a_date_and_characters_that_can_be_seen(void **state)
{
	static const char *const right[] = {
		"nqn.2014-08.org.nvmexpress.discovery", "nqn.2014-08.org.nvmexpress:uuid:zz", "nqn.2026-11.a",
		"nqn.2016-06.io.spdk:cnode1", "nqn.1988-11.com.dell:x",
		"nqn.2026-11.b:\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x9f",
		"nqn.2026-11.\xc2\xa0", "nqn.0000-00..",
	};
	static const char *const wrong[] = {
		"", "x", "nqn", "nqn.", "nqn.a", "NQN.2026-11.a", "nqn.2026-11", "nqn.2026-11.", "nqn.2026-11:a",
		"nqn.2026.11.a",
		"nqn.202a-11.a", "nqn.2026-1.a", "nqn.2026-1/.a", "nqn.2026-:1.a", "nqn.2026-111.a", " nqn.2026-11.a",
		"nqn.2026-11.a\n", "nqn.2026-11.\x1b[31m", "nqn.2026-11.\x7f", "nqn.2026-11.a\xc2\x85",
		"nqn.2026-11.\xff",
		"nqn.2026-11.\xc3", "nqn.2026-11.\xc3 ", "nqn.2026-11.\xe2\x80\xa8", "nqn.2026-11.\xc0\xaf",
		"nqn.2026-11.\xed\xa0\x80", "nqn.2026-11.\xf4\x90\x80\x80", "nqn.2026-11.\x80",
	};
	char text[NQN_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		if (!nqn_valid(right[i], strlen(right[i])))
			fail_msg("%s", right[i]);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (nqn_valid(wrong[i], strlen(wrong[i])))
			fail_msg("%s", wrong[i]);
	memset(text, 'x', sizeof(text));
	memcpy(text, "nqn.2026-11.", 12);
	assert_true(nqn_valid(text, NQN_MAX));
	assert_false(nqn_valid(text, NQN_MAX + 1));
	text[20] = '\0';
	assert_false(nqn_valid(text, NQN_MAX)); /* a zero is a control too */
}

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
		cmocka_unit_test(an_nqn_is_nqn_a_date_and_characters_that_can_be_seen),
		cmocka_unit_test(what_cannot_be_seen_is_shown_byte_by_byte),
		cmocka_unit_test(what_is_shown_ends_where_the_room_does_between_characters),
		cmocka_unit_test(a_name_in_the_log_is_no_line_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
