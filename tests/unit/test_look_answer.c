/*
 * test_look_answer.c - records of the answer to `look`, written and read; and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "look_answer.h"
#include "wire/extension.h"

enum { PAGE = sizeof(struct weir_log_view), HEAD = 4 };

static struct weir_log_view
page_of(uint32_t waiting)
{
	struct weir_log_view page = { .flags = le32_of(WEIR_VIEW_SHARED | WEIR_VIEW_KNOWN) };

	page.waiting = le32_of(waiting);
	page.host.waiting = le32_of(waiting + 1);
	weir_view_sign(&page, 0);
	return page;
}

static void
add_volume(struct look_answer *answer, const char *name, uint32_t waiting)
{
	struct weir_log_view page = page_of(waiting);

	assert_int_equal(look_answer_volume(answer, name, &page), 0);
}

static void
add_host(struct look_answer *answer, const char *nqn, const char *group, uint32_t waiting)
{
	struct weir_log_view page = page_of(waiting);

	assert_int_equal(look_answer_host(answer, nqn, group, &page), 0);
}

/* Two volumes, of which the first has two hosts. */
static struct look_answer
some_answer(void)
{
	struct look_answer answer = { 0 };

	add_volume(&answer, "nqn.2026-11.a:b?ns=1", 10);
	add_host(&answer, "", "", 20);
	add_host(&answer, "nqn.2026-11.a:h", "gold", 30);
	add_volume(&answer, "nqn.2026-11.a:b?ns=2", 40);
	assert_int_equal(look_answer_end(&answer, LOOK_END), 0);
	return answer;
}

/* How many records it has up to its end, that included; 0: it is none. */
static unsigned
records(const char *bytes, size_t count)
{
	/* Memory of its own, so that sanitizers see who reads beyond it. */
	char *copy = malloc(count > 0 ? count : 1);
	struct look_reader reader = { .at = copy, .left = count };
	struct look_record record;
	unsigned found = 0;
	bool good;

	assert_non_null(copy);
	memcpy(copy, bytes, count);
	do {
		good = look_answer_next(&reader, &record);
		found++;
		assert_true(reader.left <= count && reader.at + reader.left == copy + count);
		assert_true(!good || strlen(record.name) <= LOOK_NAME_MAX);
	} while (good && record.kind != LOOK_END && record.kind != LOOK_MORE);
	free(copy);
	return good ? found : 0;
}

static void
expect_of(struct look_reader *reader, enum look_kind kind, const char *name, const char *group, uint32_t waiting)
{
	struct look_record record;

	assert_true(look_answer_next(reader, &record));
	assert_int_equal(record.kind, kind);
	assert_string_equal(record.name, name);
	assert_string_equal(record.group, group);
	if (kind == LOOK_VOLUME || kind == LOOK_HOST) {
		assert_true(record.view.shared && record.view.known && !record.view.paced);
		assert_int_equal(record.view.waiting, waiting);
		assert_int_equal(record.view.host.waiting, waiting + 1);
	}
}

static void
expect(struct look_reader *reader, enum look_kind kind, const char *name, uint32_t waiting)
{
	expect_of(reader, kind, name, "", waiting);
}

static void
what_is_written_is_read(void **state)
{
	struct look_answer answer = some_answer();
	struct look_reader reader = { .at = answer.bytes, .left = answer.used };

	(void)state;
	expect(&reader, LOOK_VOLUME, "nqn.2026-11.a:b?ns=1", 10);
	expect(&reader, LOOK_HOST, "", 20);
	expect_of(&reader, LOOK_HOST, "nqn.2026-11.a:h", "gold", 30);
	expect(&reader, LOOK_VOLUME, "nqn.2026-11.a:b?ns=2", 40);
	expect(&reader, LOOK_END, "", 0);
	assert_int_equal(reader.left, 0);
	look_answer_drop(&answer);
	assert_null(answer.bytes);
}

static void
an_answer_of_nothing_has_an_end(void **state)
{
	struct look_answer answer = { 0 };
	struct look_reader reader;

	(void)state;
	assert_int_equal(look_answer_end(&answer, LOOK_MORE), 0);
	reader = (struct look_reader){ .at = answer.bytes, .left = answer.used };
	expect(&reader, LOOK_MORE, "", 0);
	look_answer_drop(&answer);
}

static void
the_longest_names_have_room(void **state)
{
	struct look_answer answer = { 0 };
	struct look_reader reader;
	char volume[LOOK_NAME_MAX + 1] = "", host[NQN_MAX + 1] = "", group[LOOK_GROUP_MAX + 1] = "";

	(void)state;
	memset(volume, 'v', LOOK_NAME_MAX);
	memset(host, 'h', NQN_MAX);
	memset(group, 'g', LOOK_GROUP_MAX);
	add_volume(&answer, volume, 1);
	add_host(&answer, host, group, 2);
	assert_int_equal(look_answer_end(&answer, LOOK_END), 0);
	reader = (struct look_reader){ .at = answer.bytes, .left = answer.used };
	expect(&reader, LOOK_VOLUME, volume, 1);
	expect_of(&reader, LOOK_HOST, host, group, 2);
	expect(&reader, LOOK_END, "", 0);
	look_answer_drop(&answer);
}

static void
what_is_cut_short_is_none(void **state)
{
	struct look_answer answer = some_answer();

	(void)state;
	assert_int_equal(records(answer.bytes, answer.used), 5);
	for (size_t count = 0; count < answer.used; count++)
		if (records(answer.bytes, count) != 0)
			fail_msg("%zu bytes of it are an answer, too", count);
	look_answer_drop(&answer);
}

/* A record without a page, as bytes. */
#define HEAD_OF(kind, group, length) { (kind), (group), (char)((length) & 0xff), (char)((length) >> 8) }

static void
what_no_record_begins_with_is_none(void **state)
{
	static const char heads[][HEAD] = {
		HEAD_OF('x', 0, 4), HEAD_OF(0, 0, 4), HEAD_OF('V', 1, 4), HEAD_OF('V', 0, 0), HEAD_OF('H', 0, 4),
		HEAD_OF('V', 0, LOOK_NAME_MAX + 1), HEAD_OF('V', 0, 65535), HEAD_OF('.', 0, 1), HEAD_OF('+', 0, 0),
	};
	char bytes[70000] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		memset(bytes, 'n', sizeof(bytes));
		memcpy(bytes, heads[i], HEAD);
		if (records(bytes, sizeof(bytes)) != 0)
			fail_msg("head %zu", i);
	}
	assert_int_equal(records("lost: out of memory\n", 20), 0);
}

/* An answer of one volume that has one host, with one byte another one. */
static unsigned
with_byte(size_t at, char byte)
{
	struct look_answer answer = { 0 };
	unsigned found;

	add_volume(&answer, "v", 1);
	add_host(&answer, "host", "all", 2);
	assert_int_equal(look_answer_end(&answer, LOOK_END), 0);
	assert_in_range(at, 0, answer.used - 1);
	answer.bytes[at] = byte;
	found = records(answer.bytes, answer.used);
	look_answer_drop(&answer);
	return found;
}

static void
one_byte_may_make_it_none(void **state)
{
	const size_t second = HEAD + 1 + PAGE;

	(void)state;
	assert_int_equal(with_byte(0, 'V'), 3);
	assert_int_equal(with_byte(0, 'H'), 0);            /* of no volume */
	assert_int_equal(with_byte(HEAD, '\0'), 0);        /* in a name */
	assert_int_equal(with_byte(HEAD + 1, '\0'), 0);    /* in the page: it is not one of ours */
	assert_int_equal(with_byte(2, 2), 0);              /* the page begins too late */
	assert_int_equal(with_byte(3, 1), 0);
	assert_int_equal(with_byte(second, '.'), 0);       /* an end, and something behind it */
	assert_int_equal(with_byte(second + 1, 2), 0);
	assert_int_equal(with_byte(second + 1, 64), 0);
	assert_int_equal(with_byte(second + 2, 3), 0);
	assert_int_equal(with_byte(second + HEAD + 4, '\0'), 0); /* in the name of a group */
	assert_int_equal(with_byte(second + HEAD + 4 + 3 + PAGE, '+'), 3);
	assert_int_equal(with_byte(second + HEAD + 4 + 3 + PAGE + 1, 1), 0);
}

static void
whatever_comes_is_read_within_its_bounds(void **state)
{
	struct look_answer whole = some_answer();
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (unsigned i = 0; i < 20000; i++) {
		struct look_answer answer = { .bytes = malloc(whole.used), .used = whole.used };
		uint64_t changes = 1 + rng_below(&rng, 4);

		assert_non_null(answer.bytes);
		memcpy(answer.bytes, whole.bytes, whole.used);
		while (changes-- > 0) {
			/* half of them where a head is */
			size_t at = rng_below(&rng, rng_below(&rng, 2) == 0 ? HEAD : whole.used);

			answer.bytes[at] = (char)rng_below(&rng, 256);
		}
		(void)records(answer.bytes, rng_below(&rng, whole.used + 1));
		(void)records(answer.bytes, whole.used);
		look_answer_drop(&answer);
	}
	look_answer_drop(&whole);
}

/* Until there is no room, and then an end of either kind has it. */
static void
an_answer_has_an_end_of_its_room(void **state)
{
	struct look_answer answer = { 0 };
	struct weir_log_view page = page_of(1);
	unsigned added = 0;
	size_t before;
	int rc;

	(void)state;
	for (;;) {
		before = answer.used;
		rc = added == 0 ? look_answer_volume(&answer, "some name", &page) :
		    look_answer_host(&answer, "name", "group", &page);
		if (rc != 0)
			break;
		assert_in_range(answer.room, answer.used, LOOK_ANSWER_MAX);
		added++;
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(answer.used, before);
	assert_in_range(answer.used, LOOK_ANSWER_MAX - (HEAD + 9 + PAGE) - HEAD + 1, LOOK_ANSWER_MAX - HEAD);
	assert_int_equal(look_answer_end(&answer, LOOK_MORE), 0);
	assert_in_range(answer.used, 1, LOOK_ANSWER_MAX);
	assert_in_range(answer.room, answer.used, LOOK_ANSWER_MAX);
	assert_int_equal(records(answer.bytes, answer.used), added + 1);
	/* to the byte */
	answer.used = LOOK_ANSWER_MAX - HEAD - (HEAD + 9 + PAGE) + 1;
	assert_int_equal(look_answer_host(&answer, "name", "group", &page), -ENOSPC);
	answer.used--;
	assert_int_equal(look_answer_host(&answer, "name", "group", &page), 0);
	assert_int_equal(answer.used, LOOK_ANSWER_MAX - HEAD);
	look_answer_drop(&answer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(an_answer_of_nothing_has_an_end),
		cmocka_unit_test(the_longest_names_have_room),
		cmocka_unit_test(what_is_cut_short_is_none),
		cmocka_unit_test(what_no_record_begins_with_is_none),
		cmocka_unit_test(one_byte_may_make_it_none),
		cmocka_unit_test(whatever_comes_is_read_within_its_bounds),
		cmocka_unit_test(an_answer_has_an_end_of_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
