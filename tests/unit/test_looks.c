/*
 * test_looks.c - `look` at the control socket: each volume in turn, and each host there, whatever happens meanwhile.
 *
 * What is around it is the test's: the target, of which volume N has bench.hosts[N] hosts; the control socket, whose
 * answer is kept; and the records, which are a word each, and for which there may be no room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "look_answer.h"
#include "looks.h"
#include "volumes.h"
#include "wire/extension.h"

enum { VOLUMES = 3, TEXT = 400 };

static struct {
	struct serving serving;
	struct volume volumes[VOLUMES];
	struct blk blks[VOLUMES];
	unsigned hosts[VOLUMES];
	bool gone[VOLUMES];
	struct list looks;
	struct ctl_question question;
	struct target_look *asked;   /* NULL: nothing is looked at */
	unsigned asked_count, records;
	unsigned fails;              /* of records the one that has no room, from 1 on; 0: all have */
	int error;                   /* which is what it says */
	unsigned answers, dropped;
	char text[TEXT];             /* of the answer */
} bench;

/* ---- what is around it ---- */

void
target_look(struct target *target, struct target_look *look)
{
	assert_null(bench.asked);
	bench.asked = look;
	bench.asked_count++;
}

void
target_look_page(const struct target_look *look, struct weir_log_view *page)
{
	*page = (struct weir_log_view){ .flags = le32_of(look->known ? WEIR_VIEW_KNOWN : 0) };
}

void
ctl_answer(struct ctl_question *question, bool ok, const char *text, size_t bytes)
{
	assert_ptr_equal(question, &bench.question);
	bench.answers++;
	snprintf(bench.text, sizeof(bench.text), "%s: %.*s", ok ? "ok" : "error", (int)bytes, text);
}

static int
put(struct look_answer *answer, enum look_kind kind, const char *name)
{
	static char text[TEXT];

	if (++bench.records == bench.fails)
		return bench.error;
	answer->bytes = text;
	answer->used += (size_t)snprintf(text + answer->used, TEXT - answer->used, "%c%s ", kind, name);
	return 0;
}

int
look_answer_volume(struct look_answer *answer, const char *name, const struct weir_log_view *page)
{
	assert_int_equal(le16_get(page->length), sizeof(*page)); /* it is signed */
	return put(answer, LOOK_VOLUME, name);
}

int
look_answer_host(struct look_answer *answer, const char *nqn, const char *group, const struct weir_log_view *page)
{
	assert_int_equal(le16_get(page->length), sizeof(*page));
	assert_string_equal(group, "some");
	return put(answer, LOOK_HOST, nqn);
}

int
look_answer_end(struct look_answer *answer, enum look_kind kind)
{
	return put(answer, kind, "");
}

void
look_answer_drop(struct look_answer *answer)
{
	bench.dropped++;
}

/* ---- what is done ---- */

static int
setup(void **state)
{
	memset(&bench, 0, sizeof(bench));
	list_init(&bench.looks);
	list_init(&bench.serving.volumes);
	for (unsigned i = 0; i < VOLUMES; i++) {
		struct volume *volume = &bench.volumes[i];

		bench.blks[i].number = 100 + i;
		bench.hosts[i] = i;
		volume->blk = &bench.blks[i];
		volume->held = true;
		volume->nsid = i + 1;
		snprintf(volume->nqn, sizeof(volume->nqn), "s");
		list_push(&bench.serving.volumes, &volume->node);
	}
	return 0;
}

/* What is looked at has been; false: nothing is. */
static bool
look_once(void)
{
	struct target_look *look = bench.asked;
	unsigned volume;

	if (look == NULL)
		return false;
	volume = (unsigned)(look->volume - 100);
	assert_in_range(volume, 0, VOLUMES - 1);
	assert_true(look->each);
	bench.asked = NULL;
	look->there = look->shared = !bench.gone[volume];
	look->known = look->there && look->next < bench.hosts[volume];
	if (look->known) {
		snprintf(look->tenant.nqn, sizeof(look->tenant.nqn), "h%u", look->next++);
		snprintf(look->tenant.group, sizeof(look->tenant.group), "some");
	}
	look->done(look);
	return true;
}

static void
begin(void)
{
	looks_begin(&bench.looks, &bench.serving, &bench.question);
}

static void
look_on(void)
{
	while (look_once())
		continue;
}

static void
expect(const char *text)
{
	assert_int_equal(bench.answers, 1);
	assert_string_equal(bench.text, text);
	assert_true(list_empty(&bench.looks));
	assert_int_equal(bench.dropped, 1);
}

static void
volumes_come_in_turn_each_before_its_hosts(void **state)
{
	begin();
	assert_int_equal(bench.answers, 0);
	look_on();
	expect("ok: Vs?ns=1 Vs?ns=2 Hh0 Vs?ns=3 Hh0 Hh1 . ");
	assert_int_equal(bench.asked_count, 6);
}

static void
without_a_volume_there_is_an_answer_at_once(void **state)
{
	for (unsigned i = 0; i < VOLUMES; i++)
		bench.volumes[i].held = false;
	begin();
	expect("ok: . ");
}

static void
a_volume_that_has_gone_is_left_out(void **state)
{
	begin();
	bench.gone[1] = true;
	look_on();
	expect("ok: Vs?ns=1 Vs?ns=3 Hh0 Hh1 . ");
}

static void
of_a_volume_that_goes_while_it_is_looked_at_the_rest_is_left_out(void **state)
{
	begin();
	for (unsigned i = 0; i < 4; i++) /* the third volume, and its first host */
		assert_true(look_once());
	bench.gone[2] = true;
	look_on();
	expect("ok: Vs?ns=1 Vs?ns=2 Hh0 Vs?ns=3 Hh0 . ");
}

static void
who_waits_is_told_at_once_that_the_target_stops(void **state)
{
	begin();
	for (unsigned i = 0; i < 4; i++)
		assert_true(look_once());
	looks_stop(&bench.looks);
	assert_int_equal(bench.answers, 1);
	assert_string_equal(bench.text, "error: the target is stopping\n");
	assert_false(list_empty(&bench.looks)); /* it is lent to the volume's home */
	assert_true(look_once());
	expect("error: the target is stopping\n");
	assert_null(bench.asked); /* and nothing more is asked for nobody */
	assert_int_equal(bench.records, 5);
}

static void
a_look_that_never_came_back_ends_with_the_target(void **state)
{
	begin();
	looks_stop(&bench.looks);
	looks_end(&bench.looks);
	expect("error: the target is stopping\n");
}

static void
where_there_is_no_room_the_answer_says_that_there_is_more(void **state)
{
	bench.fails = 4;
	bench.error = -ENOSPC;
	begin();
	look_on();
	expect("ok: Vs?ns=1 Vs?ns=2 Hh0 + ");
	assert_int_equal(bench.asked_count, 4); /* of the rest nothing is asked */
}

static void
whichever_record_has_no_memory_that_is_the_answer(void **state)
{
	const unsigned records = 7; /* with the end */

	for (unsigned i = 1; i <= records; i++) {
		setup(state);
		bench.fails = i;
		bench.error = -ENOMEM;
		begin();
		look_on();
		expect("error: out of memory\n");
		assert_int_equal(bench.records, i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(volumes_come_in_turn_each_before_its_hosts, setup),
		cmocka_unit_test_setup(without_a_volume_there_is_an_answer_at_once, setup),
		cmocka_unit_test_setup(a_volume_that_has_gone_is_left_out, setup),
		cmocka_unit_test_setup(of_a_volume_that_goes_while_it_is_looked_at_the_rest_is_left_out, setup),
		cmocka_unit_test_setup(who_waits_is_told_at_once_that_the_target_stops, setup),
		cmocka_unit_test_setup(a_look_that_never_came_back_ends_with_the_target, setup),
		cmocka_unit_test_setup(where_there_is_no_room_the_answer_says_that_there_is_more, setup),
		cmocka_unit_test_setup(whichever_record_has_no_memory_that_is_the_answer, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
