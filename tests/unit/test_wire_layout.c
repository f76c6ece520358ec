/*
 * test_wire_layout.c - are our structures and numbers those of libnvme?
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/fabrics.h"
#include "wire/feature.h"
#include "wire/identify.h"
#include "wire/log.h"
#include "wire/persistent.h"
#include "wire/reservation.h"
#include "wire_layout.h"

#define SIZE(ours, theirs) { "sizeof " #ours, sizeof(struct ours) },
#define FIELD(ours, our_field, theirs, their_field) { #ours "." #our_field, offsetof(struct ours, our_field) },
#define VALUE(ours, theirs) { #ours, (uint64_t)(ours) },
#define CODE(sct, ours, theirs) { #ours, (uint64_t)(ours) },

static const struct row {
	const char *name;
	uint64_t value;
} our_rows[] = { WIRE_LAYOUT_ROWS };

static void
structures_and_numbers_are_those_of_libnvme(void **state)
{
	unsigned wrong = 0;

	assert_int_equal(sizeof(our_rows) / sizeof(our_rows[0]), their_count);
	for (size_t i = 0; i < their_count; i++) {
		if (our_rows[i].value == their_values[i])
			continue;
		print_error("%s: %llu here, %llu there\n", our_rows[i].name,
		    (unsigned long long)our_rows[i].value, (unsigned long long)their_values[i]);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_and_numbers_are_those_of_libnvme),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
