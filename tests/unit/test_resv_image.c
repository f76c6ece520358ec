#include "resv_bench.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "resv/image.h"

static const uint8_t UUID[RESV_UUID_LEN] = { 0xd0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x5e };

/* What a disk holds, written to as a caller would. */
struct medium {
	uint8_t slots[RESV_SLOTS][RESV_SLOT_LEN];
};

static void
state_of(struct resv *resv, const char *text, uint32_t generation, bool ptpl)
{
	struct resv_bench b;

	resv_set(&b, text);
	*resv = b.resv;
	resv->generation = generation;
	resv->ptpl = ptpl;
}

static void
put(struct medium *medium, const char *text, uint64_t sequence)
{
	struct resv resv;

	state_of(&resv, text, (uint32_t)sequence * 100, sequence > RESV_SEQUENCE_FORMATTED);
	resv_encode(&resv, UUID, sequence, medium->slots[resv_slot(sequence)]);
}

static void
format(struct medium *medium)
{
	memset(medium, 0, sizeof(*medium));
	put(medium, "-", 1);
	put(medium, "-", 2);
}

static enum resv_found
look(const struct medium *medium, struct resv_bench *b, uint64_t *sequence)
{
	enum resv_found found;
	struct resv untouched;

	memset(&b->resv, 0x6e, sizeof(b->resv));
	memcpy(&untouched, &b->resv, sizeof(untouched));
	*sequence = 77777;
	found = resv_decode(medium->slots, UUID, &b->resv, sequence);
	if (found == RESV_FRESH || found == RESV_FOUND) {
		assert_true(resv_valid(&b->resv) && b->resv.can_persist);
	} else {
		assert_memory_equal(&b->resv, &untouched, sizeof(untouched));
		assert_int_equal(*sequence, 77777);
	}
	return found;
}

static void
expect(const struct medium *medium, enum resv_found found, const char *text, uint64_t sequence)
{
	struct resv_bench b;
	uint64_t number;

	assert_int_equal(look(medium, &b, &number), found);
	if (found != RESV_FRESH && found != RESV_FOUND)
		return;
	assert_string_equal(resv_state(&b), text);
	assert_int_equal(number, sequence);
	assert_int_equal(b.resv.generation, sequence > RESV_SEQUENCE_FORMATTED ? sequence * 100 : 0);
}

/* Gives the slot the CRC of what it holds now. */
static void
seal(uint8_t slot[RESV_SLOT_LEN])
{
	put_le32(slot + RESV_SLOT_LEN - 4, crc32c(0, slot, RESV_SLOT_LEN - 4));
}

/* ---- states ---- */

static void
every_kind_of_state_is_read_as_it_was_written(void **state)
{
	static const char *const states[] = { "-", "- 1a 2b", "WE 1a* 2b", "EA 1a 2b*", "WERO 1a 2b* 3c", "EARO 1a*",
		"WEAR 1a* 2b*", "EAAR 3z* 1a*" };
	struct medium medium;
	struct resv_bench b;
	struct resv resv;
	uint64_t sequence;

	format(&medium);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		state_of(&resv, states[i], 0xfffffff0 + (uint32_t)i, true);
		resv_encode(&resv, UUID, 3 + i, medium.slots[resv_slot(3 + i)]);
		assert_int_equal(look(&medium, &b, &sequence), RESV_FOUND);
		assert_int_equal(sequence, 3 + i);
		assert_string_equal(resv_state(&b), states[i]);
		assert_true(b.resv.ptpl);
		assert_int_equal(b.resv.generation, resv.generation);
	}
}

static void
a_full_table_is_read_as_it_was_written(void **state)
{
	struct medium medium;
	struct resv_bench b;
	struct resv resv;
	uint64_t sequence;
	struct rng rng;

	rng_seed(&rng, 5);
	resv_init(&resv, true);
	for (; resv.host_count < RESV_HOSTS_MAX; resv.host_count++) {
		memcpy(resv.hosts[resv.host_count].hostid, resv_hostid(resv.host_count + 1), RESV_HOSTID_LEN);
		resv.hosts[resv.host_count].key = rng_next(&rng) | 1;
	}
	resv.ptpl = true;
	resv.type = NVME_RESV_EA_RO;
	resv.holder = RESV_HOSTS_MAX - 1;
	format(&medium);
	resv_encode(&resv, UUID, UINT64_C(0x123456789abcdef0), medium.slots[0]);
	memcpy(medium.slots[1], (uint8_t[RESV_SLOT_LEN]){ 1 }, RESV_SLOT_LEN);
	assert_int_equal(look(&medium, &b, &sequence), RESV_FOUND);
	assert_true(sequence == UINT64_C(0x123456789abcdef0));
	assert_memory_equal(b.resv.hosts, resv.hosts, sizeof(resv.hosts));
	assert_int_equal(b.resv.holder, resv.holder);
}

static void
without_ptpl_a_loss_of_power_leaves_nothing(void **state)
{
	struct medium medium;
	struct resv_bench b;
	struct resv resv;
	uint64_t sequence;

	format(&medium);
	put(&medium, "WE 1a*", 3);
	state_of(&resv, "WE 1a* 2b", 9, false);
	resv_encode(&resv, UUID, 4, medium.slots[0]);
	assert_int_equal(look(&medium, &b, &sequence), RESV_FOUND);
	assert_int_equal(sequence, 4);
	assert_string_equal(resv_state(&b), "-");
	assert_int_equal(b.resv.generation, 0);
	assert_false(b.resv.ptpl);
}

static void
a_slot_has_its_numbers_where_the_page_says(void **state)
{
	uint8_t slot[RESV_SLOT_LEN], want[RESV_SLOT_LEN] = "WEIRRESV\1";
	struct resv resv;

	state_of(&resv, "WERO 1a 2b*", 0x04030201, true);
	resv_encode(&resv, UUID, 0x0a09, slot);
	memcpy(want + 16, UUID, sizeof(UUID));
	memcpy(want + 32, (uint8_t[]){ 9, 10, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 2, 0, 1, 0, 3, 1 }, 18);
	memcpy(want + 64, resv_hostid(1), RESV_HOSTID_LEN);
	want[80] = 'a';
	memcpy(want + 88, resv_hostid(2), RESV_HOSTID_LEN);
	want[104] = 'b';
	seal(want);
	assert_memory_equal(slot, want, sizeof(want));
}

/* ---- damage ---- */

/* `next` reaches the slot in part: its first `cut` bytes, or all but those. */
static void
tear(const struct medium *before, const struct medium *after, uint64_t sequence, size_t cut, bool head,
    struct medium *torn)
{
	uint8_t *slot = torn->slots[resv_slot(sequence)];
	const uint8_t *next = after->slots[resv_slot(sequence)];

	*torn = *before;
	if (head)
		memcpy(slot, next, cut);
	else
		memcpy(slot + cut, next + cut, RESV_SLOT_LEN - cut);
}

static void
tear_everywhere(const char *old, const char *new, uint64_t sequence, const struct medium *before)
{
	struct medium after = *before, torn;
	struct resv_bench b;
	unsigned olds = 0;
	uint64_t number;

	put(&after, new, sequence);
	expect(&after, RESV_FOUND, new, sequence);
	for (size_t cut = 0; cut <= RESV_SLOT_LEN; cut++) {
		for (int head = 0; head < 2; head++) {
			bool whole;

			tear(before, &after, sequence, cut, head, &torn);
			whole = memcmp(&torn, &after, sizeof(torn)) == 0;
			assert_int_equal(look(&torn, &b, &number), RESV_FOUND);
			assert_int_equal(number, whole ? sequence : sequence - 1);
			assert_string_equal(resv_state(&b), whole ? new : old);
			olds += !whole;
		}
	}
	assert_true(olds > 2 * 4050); /* the states differ from their sequence number on, and in their CRC */
}

static void
a_write_that_stops_at_any_byte_leaves_the_older_state_or_the_newer(void **state)
{
	struct medium medium;

	format(&medium);
	tear_everywhere("-", "- 1a", 3, &medium);
	put(&medium, "- 1a", 3);
	tear_everywhere("- 1a", "WE 1a* 2b", 4, &medium);
	put(&medium, "WE 1a* 2b", 4);
	put(&medium, "WE 1a* 2b 3c", 5);
	tear_everywhere("WE 1a* 2b 3c", "EARO 3c*", 6, &medium);
}

static void
formatting_that_stops_at_any_byte_is_begun_again(void **state)
{
	struct medium zeros = { { { 0 } } }, first = zeros, both, torn;

	expect(&zeros, RESV_FRESH, "-", 0);
	put(&first, "-", 1);
	expect(&first, RESV_FRESH, "-", 0);
	both = first;
	put(&both, "-", 2);
	expect(&both, RESV_FOUND, "-", 2);
	for (size_t cut = 0; cut < RESV_SLOT_LEN; cut++) {
		tear(&zeros, &first, 1, cut, true, &torn);
		expect(&torn, RESV_FRESH, "-", 0);
		tear(&zeros, &first, 1, cut + 1, false, &torn);
		expect(&torn, RESV_FRESH, "-", 0);
		tear(&first, &both, 2, cut, true, &torn);
		expect(&torn, RESV_FRESH, "-", 0);
	}
}

static void
each_flipped_bit_costs_the_slot_in_which_it_is(void **state)
{
	struct medium medium;

	format(&medium);
	put(&medium, "WE 1a* 2b", 7);
	put(&medium, "EA 1a* 3c", 8);
	for (size_t bit = 0; bit < RESV_SLOT_LEN * 8; bit++) {
		medium.slots[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect(&medium, RESV_FOUND, "WE 1a* 2b", 7);
		medium.slots[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
		medium.slots[1][bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect(&medium, RESV_FOUND, "EA 1a* 3c", 8);
		medium.slots[0][(bit / 8 + 1234) % RESV_SLOT_LEN] ^= 0x10;
		expect(&medium, RESV_DAMAGED, NULL, 0);
		medium.slots[0][(bit / 8 + 1234) % RESV_SLOT_LEN] ^= 0x10;
		medium.slots[1][bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void
a_formatted_image_is_never_taken_for_a_fresh_one(void **state)
{
	struct medium medium;

	format(&medium);
	put(&medium, "WE 1a* 2b", 3);
	memset(medium.slots[0], 0, RESV_SLOT_LEN);
	expect(&medium, RESV_FOUND, "WE 1a* 2b", 3);
	medium.slots[1][99] ^= 1;
	medium.slots[0][0] = 1;
	expect(&medium, RESV_DAMAGED, NULL, 0);
	/* Slot 1 is written first: that it is zeros while slot 0 is spoilt is no interrupted beginning. */
	memset(medium.slots[1], 0, RESV_SLOT_LEN);
	expect(&medium, RESV_DAMAGED, NULL, 0);
}

static void
slots_that_do_not_follow_each_other_are_refused(void **state)
{
	struct medium medium;

	format(&medium);
	put(&medium, "WE 1a*", 5);
	expect(&medium, RESV_DAMAGED, NULL, 0); /* 2 and 5 */
	put(&medium, "EA 1a*", 8);
	expect(&medium, RESV_DAMAGED, NULL, 0); /* 8 and 5 */
	put(&medium, "EA 1a*", 6);
	expect(&medium, RESV_FOUND, "EA 1a*", 6);
	put(&medium, "WE 2b*", 7);
	expect(&medium, RESV_FOUND, "WE 2b*", 7);
	memcpy(medium.slots[0], medium.slots[1], RESV_SLOT_LEN); /* a slot in the other's place */
	expect(&medium, RESV_FOUND, "WE 2b*", 7);
	memset(medium.slots[1], 1, RESV_SLOT_LEN);
	expect(&medium, RESV_DAMAGED, NULL, 0);
}

static void
what_another_namespace_or_a_later_version_wrote_is_left_alone(void **state)
{
	for (unsigned slot = 0; slot < RESV_SLOTS; slot++) {
		static const size_t at[] = { 8, 11, 16, 31 }; /* version, UUID */

		for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
			struct medium medium;

			format(&medium);
			put(&medium, "WE 1a*", 3);
			medium.slots[slot][at[i]] ^= 0x40;
			seal(medium.slots[slot]);
			expect(&medium, RESV_FOREIGN, NULL, 0);
		}
	}
}

/* With a right CRC, but written by nobody: each is refused, and the other slot stands. */
static void
a_slot_with_a_right_crc_and_wrong_numbers_is_not_valid(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {
		{ 0, 'w' }, { 12, 1 }, { 32, 5 }, { 32, 0 }, { 44, 1 }, { 44, 3 }, { 44, 65 }, { 45, 1 }, { 46, 2 },
		{ 46, 0xff }, { 48, 0 }, { 48, 5 }, { 48, 7 }, { 48, 0xff }, { 49, 0 }, { 49, 2 }, { 50, 1 }, { 63, 1 },
		{ 79, 2 }, { 80, 0 }, { 112, 1 }, { 1599, 1 }, { 1600, 1 }, { 4091, 1 },
	};
	struct medium medium;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		format(&medium);
		put(&medium, "EA 2a*", 3);
		put(&medium, "WE 1a 2b*", 4);
		assert_int_not_equal(medium.slots[0][wrong[i].at], wrong[i].value);
		medium.slots[0][wrong[i].at] = wrong[i].value;
		seal(medium.slots[0]);
		expect(&medium, RESV_FOUND, "EA 2a*", 3);
	}
}

static void
what_has_not_our_magic_is_spoilt_and_not_foreign(void **state)
{
	struct medium medium;

	format(&medium);
	put(&medium, "EA 2a*", 3);
	put(&medium, "WE 1a 2b*", 4);
	medium.slots[0][7] = 'v';
	medium.slots[0][16] ^= 1;
	seal(medium.slots[0]);
	expect(&medium, RESV_FOUND, "EA 2a*", 3);
}

static void
no_slot_has_the_sequence_number_0(void **state)
{
	struct medium medium;

	format(&medium);
	put(&medium, "EA 2a*", 3);
	medium.slots[0][32] = 0; /* of the empty state, with which 0 would go together */
	seal(medium.slots[0]);
	expect(&medium, RESV_FOUND, "EA 2a*", 3);
}

static void
formatting_holds_the_empty_state_alone(void **state)
{
	struct medium medium;

	format(&medium);
	put(&medium, "WE 1a*", 4);
	put_le64(medium.slots[0] + 32, 2);
	seal(medium.slots[0]);
	expect(&medium, RESV_FRESH, "-", 0); /* slot 1 has sequence 1 */
	put(&medium, "EA 1a*", 3);
	expect(&medium, RESV_FOUND, "EA 1a*", 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_state_is_read_as_it_was_written),
		cmocka_unit_test(a_full_table_is_read_as_it_was_written),
		cmocka_unit_test(without_ptpl_a_loss_of_power_leaves_nothing),
		cmocka_unit_test(a_slot_has_its_numbers_where_the_page_says),
		cmocka_unit_test(a_write_that_stops_at_any_byte_leaves_the_older_state_or_the_newer),
		cmocka_unit_test(formatting_that_stops_at_any_byte_is_begun_again),
		cmocka_unit_test(each_flipped_bit_costs_the_slot_in_which_it_is),
		cmocka_unit_test(a_formatted_image_is_never_taken_for_a_fresh_one),
		cmocka_unit_test(slots_that_do_not_follow_each_other_are_refused),
		cmocka_unit_test(what_another_namespace_or_a_later_version_wrote_is_left_alone),
		cmocka_unit_test(a_slot_with_a_right_crc_and_wrong_numbers_is_not_valid),
		cmocka_unit_test(what_has_not_our_magic_is_spoilt_and_not_foreign),
		cmocka_unit_test(no_slot_has_the_sequence_number_0),
		cmocka_unit_test(formatting_holds_the_empty_state_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
