/* test_order_head.c - the head of the log of ordered writes, and its owners, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "order/head.h"

static const struct order_head usual = { .uuid = { 1, 2, 3, [15] = 16 }, .parts = 2, .slots = 65536, .boot = 77 };

static const char *
read_head(const uint8_t *bytes)
{
	struct order_head head;
	bool none;
	const char *wrong = order_head_read(bytes, &head, &none);

	assert_false(none);
	return wrong;
}

/* With a CRC that is right. */
static void
set(uint8_t *bytes, size_t count, size_t at, uint8_t to)
{
	bytes[at] = to;
	put_le32(bytes + count - 4, crc32c(0, bytes, count - 4));
}

static void
a_head_is_what_the_page_says(void **state)
{
	uint8_t bytes[ORDER_HEAD_BYTES];
	struct order_head head;
	bool none;

	(void)state;
	order_head_write(&usual, bytes);
	assert_memory_equal(bytes, "WEIRORDR", 8);
	assert_int_equal(get_le32(bytes + 8), 2);
	assert_int_equal(get_le32(bytes + 12), 64);
	assert_memory_equal(bytes + 16, usual.uuid, 16);
	assert_int_equal(get_le32(bytes + 32), 2);
	assert_int_equal(get_le32(bytes + 36), 65536);
	assert_int_equal(get_le64(bytes + 40), 77);
	assert_int_equal(get_le32(bytes + 4092), crc32c(0, bytes, 4092));
	assert_null(order_head_read(bytes, &head, &none));
	assert_memory_equal(&head, &usual, sizeof(head));
	assert_int_equal(order_part_at(&head, 0), 4096 + 1024 * 512);
	assert_int_equal(order_part_at(&head, 1), 4096 + 1024 * 512 + 65536 * 64);
	assert_int_equal(order_log_bytes(&head), 4096 + 1024 * 512 + 2 * 65536 * 64);
}

static void
what_is_no_log_is_said(void **state)
{
	uint8_t bytes[ORDER_HEAD_BYTES] = { 0 };
	struct order_head head;
	bool none;

	(void)state;
	assert_string_equal(order_head_read(bytes, &head, &none), "there is no log of ordered writes yet");
	assert_true(none);
	bytes[4095] = 1;
	assert_string_equal(read_head(bytes), "it is no log of ordered writes");
	order_head_write(&usual, bytes);
	set(bytes, sizeof(bytes), 8, 1);
	assert_string_equal(read_head(bytes), "it is a log of ordered writes of another version of Weir");
	order_head_write(&usual, bytes);
	set(bytes, sizeof(bytes), 12, 32);
	assert_string_equal(read_head(bytes), "the head of the log of ordered writes is corrupt");
	for (size_t bit = 12 * 8; bit < 8 * sizeof(bytes); bit++) {
		order_head_write(&usual, bytes);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_string_equal(read_head(bytes), "the head of the log of ordered writes is corrupt");
	}
	order_head_write(&usual, bytes);
	set(bytes, sizeof(bytes), 48, 1);
	assert_string_equal(read_head(bytes), "the head of the log of ordered writes is corrupt");
}

static void
what_a_log_cannot_be_is_said(void **state)
{
	static const struct { uint32_t parts, slots; } wrong[] = {
		{ 0, 1024 }, { 257, 1024 }, { 1, 0 }, { 1, 512 }, { 1, 1536 }, { 1, 1 << 25 },
	};
	uint8_t bytes[ORDER_HEAD_BYTES];
	struct order_head head = usual;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		head.parts = wrong[i].parts;
		head.slots = wrong[i].slots;
		assert_non_null(order_head_wrong(&head));
		order_head_write(&head, bytes);
		assert_ptr_equal(read_head(bytes), order_head_wrong(&head));
	}
	head = (struct order_head){ .parts = 256, .slots = 1 << 24 };
	assert_string_equal(order_head_wrong(&head), "it has no UUID");
	head.uuid[15] = 1;
	assert_null(order_head_wrong(&head));
}

/* ---- owners ---- */

static struct order_owner
owner_of(unsigned number)
{
	struct order_owner owner = { .host_id = { (uint8_t)number, (uint8_t)(number >> 8), [15] = 7 } };

	snprintf(owner.nqn, sizeof(owner.nqn), "nqn.2026-11.example:%u", number);
	snprintf(owner.subsystem, sizeof(owner.subsystem), "nqn.2026-11.example.disks:1");
	return owner;
}

static void
an_owner_is_what_the_page_says(void **state)
{
	uint8_t bytes[ORDER_OWNER_BYTES];
	struct order_owner owner = owner_of(3), read;

	(void)state;
	order_owner_write(&owner, bytes);
	assert_memory_equal(bytes, owner.host_id, 16);
	assert_string_equal((char *)bytes + 16, "nqn.2026-11.example:3");
	assert_string_equal((char *)bytes + 240, "nqn.2026-11.example.disks:1");
	assert_int_equal(get_le32(bytes + 508), crc32c(0, bytes, 508));
	assert_true(order_owner_read(bytes, &read));
	assert_memory_equal(&owner, &read, sizeof(owner));
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(order_owner_read(bytes, &read));
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* The longest name there is, and what is no name. */
	memset(owner.nqn, 'a', NQN_MAX);
	memset(owner.subsystem, 'b', NQN_MAX);
	order_owner_write(&owner, bytes);
	assert_true(order_owner_read(bytes, &read));
	assert_memory_equal(&owner, &read, sizeof(owner));
	set(bytes, sizeof(bytes), 16 + NQN_MAX, 'a');
	assert_false(order_owner_read(bytes, &read));
	order_owner_write(&owner, bytes);
	set(bytes, sizeof(bytes), 20, ' ');
	assert_false(order_owner_read(bytes, &read));
	order_owner_write(&owner, bytes);
	set(bytes, sizeof(bytes), 20, 0);
	assert_false(order_owner_read(bytes, &read));
	order_owner_write(&owner, bytes);
	set(bytes, sizeof(bytes), 240 + NQN_MAX, 'b');
	assert_false(order_owner_read(bytes, &read));
	order_owner_write(&owner, bytes);
	set(bytes, sizeof(bytes), 464, 1);
	assert_false(order_owner_read(bytes, &read));
	memset(bytes, 0, sizeof(bytes));
	assert_false(order_owner_read(bytes, &read));
}

static void
a_host_has_one_place_and_nobody_elses(void **state)
{
	static uint8_t owners[ORDER_OWNERS][ORDER_OWNER_BYTES];
	static bool named[ORDER_OWNERS];
	struct order_owner owner, other;
	uint32_t room;

	(void)state;
	for (unsigned i = 0; i < ORDER_OWNERS; i++) {
		owner = owner_of(i);
		assert_int_equal(order_owner_find(owners, named, &owner, &room), ORDER_OWNER_NONE);
		assert_int_equal(room, i);
		order_owner_write(&owner, owners[i]);
		assert_int_equal(order_owner_find(owners, named, &owner, &room), i);
	}
	owner = owner_of(ORDER_OWNERS);
	assert_int_equal(order_owner_find(owners, named, &owner, &room), ORDER_OWNER_NONE);
	assert_int_equal(room, ORDER_OWNER_NONE);
	/* The same host identifier under another name is another host, and the other way round. */
	owner = owner_of(5);
	other = owner_of(6);
	memcpy(other.host_id, owner.host_id, sizeof(other.host_id));
	assert_int_equal(order_owner_find(owners, named, &other, &room), ORDER_OWNER_NONE);
	other = owner_of(6);
	memcpy(other.nqn, owner.nqn, sizeof(other.nqn));
	assert_int_equal(order_owner_find(owners, named, &other, &room), ORDER_OWNER_NONE);
	/* And so is the same one at another subsystem. */
	owner = owner_of(5);
	owner.subsystem[0] = 'm';
	assert_int_equal(order_owner_find(owners, named, &owner, &room), ORDER_OWNER_NONE);
	/* One that was torn is free; but not one that entries name. */
	owners[7][0] ^= 1;
	owners[9][0] ^= 1;
	named[7] = true;
	owner = owner_of(7);
	assert_int_equal(order_owner_find(owners, named, &owner, &room), ORDER_OWNER_NONE);
	assert_int_equal(room, 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_what_the_page_says),
		cmocka_unit_test(what_is_no_log_is_said),
		cmocka_unit_test(what_a_log_cannot_be_is_said),
		cmocka_unit_test(an_owner_is_what_the_page_says),
		cmocka_unit_test(a_host_has_one_place_and_nobody_elses),
	};

	return cmocka_run_group_tests_name("order_head", tests, NULL, NULL);
}
