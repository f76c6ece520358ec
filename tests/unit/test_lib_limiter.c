/*
 * test_lib_limiter.c - a host that holds itself back: how much goes, and what it makes of what the target says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <weir/weir.h>

enum { KIB = 1024, MIB = 1024 * KIB, MS = 1000 * 1000, S = 1000 * MS };

static struct weir_limiter limiter;
static struct weir_view view;
static uint64_t now_ns;

static void
begin(void)
{
	weir_limiter_init(&limiter);
	view = (struct weir_view){ .shared = true, .paced = true, .known = true, .tenants = 1 };
	now_ns = 77 * (uint64_t)S;
}

/* All that may go goes, for so long: bytes. */
static uint64_t
goes(int kind, uint64_t bytes, uint64_t for_ns)
{
	uint64_t until_ns = now_ns + for_ns, all = 0, wait_ns;

	while (now_ns < until_ns) {
		wait_ns = weir_limiter_take(&limiter, kind, bytes, now_ns);
		if (wait_ns == 0)
			all += bytes;
		now_ns += wait_ns;
	}
	return all;
}

static void
heed(uint64_t had, uint64_t headroom)
{
	for (int kind = WEIR_READS; kind <= WEIR_WRITES; kind++) {
		view.host.kinds[kind].lately_bytes = had;
		view.kinds[kind].headroom = headroom;
	}
	weir_limiter_heed(&limiter, &view, now_ns);
}

static void
at_first_and_without_a_bound_all_goes(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 1000; i++)
		assert_int_equal(weir_limiter_take(&limiter, WEIR_READS, UINT64_MAX, now_ns), 0);
	view.paced = false;
	heed(0, WEIR_ENDLESS);
	assert_int_equal(weir_limiter_rate(&limiter, WEIR_WRITES), WEIR_ENDLESS);
	view = (struct weir_view){ 0 };
	weir_limiter_heed(&limiter, &view, now_ns);
	assert_int_equal(weir_limiter_take(&limiter, WEIR_WRITES, 1, now_ns), 0);
}

static void
as_much_goes_as_it_says(void **state)
{
	static const uint64_t sizes[] = { 512, 4 * KIB, 128 * KIB, MIB };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t all;

		begin();
		heed(60 * MIB, 40 * MIB);
		assert_int_equal(weir_limiter_rate(&limiter, WEIR_READS), 100 * MIB);
		all = goes(WEIR_READS, sizes[i], 10 * (uint64_t)S);
		assert_in_range(all, 1000 * (uint64_t)MIB, 1002 * (uint64_t)MIB + sizes[i]);
		/* writes have their own */
		assert_int_equal(weir_limiter_take(&limiter, WEIR_WRITES, sizes[i], now_ns), 0);
	}
}

static void
what_was_not_used_is_not_saved_up(void **state)
{
	(void)state;
	begin();
	heed(50 * MIB, 50 * MIB);
	(void)goes(WEIR_WRITES, 4 * KIB, S);
	now_ns += 60 * (uint64_t)S;
	assert_in_range(goes(WEIR_WRITES, 4 * KIB, S), 100 * MIB, 101 * MIB + 4 * KIB);
}

static void
who_was_told_to_wait_may_go_then_and_not_before(void **state)
{
	uint64_t wait_ns;

	(void)state;
	begin();
	heed(5 * MIB, 5 * MIB);
	assert_int_equal(weir_limiter_take(&limiter, WEIR_READS, MIB, now_ns), 0);
	wait_ns = weir_limiter_take(&limiter, WEIR_READS, 1, now_ns);
	assert_in_range(wait_ns, 89 * MS, 91 * MS); /* 100 ms, of which 10 were saved */
	assert_int_equal(weir_limiter_take(&limiter, WEIR_READS, 1, now_ns + wait_ns - 1), 1);
	/* a new rate is one for what is owed, too */
	heed(10 * MIB, 10 * MIB);
	assert_in_range(weir_limiter_take(&limiter, WEIR_READS, 1, now_ns), wait_ns / 2 - 1, wait_ns / 2 + 1);
	heed(0, WEIR_ENDLESS);
	assert_int_equal(weir_limiter_take(&limiter, WEIR_READS, 1, now_ns), 0);
}

static void
room_is_shared_with_others_and_without_it_less_goes(void **state)
{
	(void)state;
	begin();
	view.tenants = 4;
	heed(8 * MIB, 40 * MIB);
	assert_int_equal(weir_limiter_rate(&limiter, WEIR_READS), 18 * MIB);
	heed(8 * MIB, 0);
	assert_int_equal(weir_limiter_rate(&limiter, WEIR_READS), 9 * MIB);
	view.host.waiting = 5;
	heed(8 * MIB, 0);
	assert_int_equal(weir_limiter_rate(&limiter, WEIR_READS), 7 * MIB);
	view.host.waiting = 0;
	view.kinds[WEIR_WRITES].state = WEIR_OVERLOADED;
	heed(8 * MIB, 0);
	assert_int_equal(weir_limiter_rate(&limiter, WEIR_READS), 9 * MIB);
	assert_int_equal(weir_limiter_rate(&limiter, WEIR_WRITES), 7 * MIB);
	/* whatever the numbers: somebody who has nothing can begin, and nothing overflows */
	heed(0, 0);
	assert_true(weir_limiter_rate(&limiter, WEIR_READS) > MIB);
	heed(UINT64_MAX, UINT64_MAX - 1);
	assert_true(weir_limiter_rate(&limiter, WEIR_READS) < WEIR_ENDLESS);
	assert_int_equal(weir_limiter_take(&limiter, WEIR_READS, UINT64_MAX, now_ns), 0);
	assert_true(weir_limiter_take(&limiter, WEIR_READS, 1, now_ns) > 0);
}

/* Alone, a host that wants all that there is comes to have it within a few seconds; what is beyond that waits. */
static void
it_finds_what_the_device_gives(void **state)
{
	const uint64_t gives = 800 * (uint64_t)MIB;
	uint64_t asked = 0, had = 0;

	(void)state;
	begin();
	for (int second = 0; second < 20; second++) {
		view.host.waiting = asked > gives;
		heed(had, gives - had);
		asked = goes(WEIR_READS, 64 * KIB, S);
		had = asked < gives ? asked : gives;
		assert_true(asked <= gives + gives / 7);
		assert_true(second < 3 || had >= gives - gives / 7);
	}
}

/* Beside one that has all, it comes to ask for its half, and not for much more. */
static void
it_begins_where_another_one_has_all(void **state)
{
	const uint64_t gives = 800 * (uint64_t)MIB;
	uint64_t asked = 0, had = 0;

	(void)state;
	begin();
	view.tenants = 2;
	for (int second = 0; second < 80; second++) {
		view.host.waiting = asked > gives / 2;
		heed(had, 0);
		asked = goes(WEIR_READS, 64 * KIB, S);
		had = asked < gives / 2 ? asked : gives / 2;
	}
	assert_in_range(had, gives / 2 - gives / 14, gives / 2);
	assert_true(asked <= gives / 2 + gives / 14);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_first_and_without_a_bound_all_goes),
		cmocka_unit_test(as_much_goes_as_it_says),
		cmocka_unit_test(what_was_not_used_is_not_saved_up),
		cmocka_unit_test(who_was_told_to_wait_may_go_then_and_not_before),
		cmocka_unit_test(room_is_shared_with_others_and_without_it_less_goes),
		cmocka_unit_test(it_finds_what_the_device_gives),
		cmocka_unit_test(it_begins_where_another_one_has_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
