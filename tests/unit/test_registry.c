/*
 * target/registry.h: who cannot be who he says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/registry.h"

static struct entry
host(const char *nqn, uint8_t id)
{
	struct entry entry = { .hostid = { [15] = id } };

	memcpy(entry.hostnqn, nqn, strlen(nqn) + 1);
	return entry;
}

static void
of_an_nqn_and_an_identifier_each_is_the_others_alone(void **state)
{
	static const struct {
		const char *nqn;
		uint8_t id;
		bool disagrees;
	} rows[] = {
		{ "nqn.2026-11.example:a", 1, false },
		{ "nqn.2026-11.example:b", 2, false },
		{ "nqn.2026-11.example:a", 2, true },
		{ "nqn.2026-11.example:b", 1, true },
		{ "nqn.2026-11.example:aa", 1, true },
	};
	const struct entry one = host("nqn.2026-11.example:a", 1);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct entry other = host(rows[i].nqn, rows[i].id);

		assert_int_equal(entry_disagrees(&one, &other), rows[i].disagrees);
		assert_int_equal(entry_disagrees(&other, &one), rows[i].disagrees);
	}
}

static void
what_lies_behind_the_end_of_an_nqn_says_nothing(void **state)
{
	const struct entry one = host("nqn.2026-11.example:a", 1);
	struct entry other = one;

	(void)state;
	other.hostnqn[sizeof(other.hostnqn) - 1] = 'x';
	assert_true(entry_same_nqn(&one, &other));
	assert_false(entry_disagrees(&one, &other));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_an_nqn_and_an_identifier_each_is_the_others_alone),
		cmocka_unit_test(what_lies_behind_the_end_of_an_nqn_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
