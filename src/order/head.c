#include "order/head.h"

#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "order/scan.h"

static const char magic[8] = { 'W', 'E', 'I', 'R', 'O', 'R', 'D', 'R' };

enum {
	VERSION = 2,
	NQN_FIELD = 224, /* zeros behind it */
};

struct head_image {
	char magic[8];
	le32 version, slot_length;
	uint8_t uuid[UUID_BYTES];
	le32 parts, slots;
	le64 boot;
	uint8_t zeros[ORDER_HEAD_BYTES - 52];
	le32 crc;
};

struct owner_image {
	uint8_t host_id[16];
	char nqn[NQN_FIELD], subsystem[NQN_FIELD];
	uint8_t zeros[44];
	le32 crc;
};

_Static_assert(sizeof(struct head_image) == ORDER_HEAD_BYTES, "as it lies there");
_Static_assert(sizeof(struct owner_image) == ORDER_OWNER_BYTES, "as it lies there");

static bool
is_zeros(const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		if (at[i] != 0)
			return false;
	return true;
}

static le32
crc_before(const void *bytes, size_t count)
{
	return le32_of(crc32c(0, bytes, count - sizeof(le32)));
}

static bool
is_sum(const void *bytes, size_t count, le32 sum)
{
	return le32_get(crc_before(bytes, count)) == le32_get(sum);
}

/* ---- the head ---- */

uint64_t
order_part_at(const struct order_head *head, uint32_t part)
{
	return ORDER_HEAD_BYTES + (uint64_t)ORDER_OWNERS * ORDER_OWNER_BYTES +
	    (uint64_t)part * head->slots * sizeof(struct order_image);
}

uint32_t
order_head_seed(const struct order_head *head)
{
	return crc32c(0, head->uuid, sizeof(head->uuid));
}

uint64_t
order_log_bytes(const struct order_head *head)
{
	return order_part_at(head, head->parts);
}

const char *
order_head_wrong(const struct order_head *head)
{
	if (is_zeros(head->uuid, sizeof(head->uuid)))
		return "it has no UUID";
	if (head->parts == 0 || head->parts > ORDER_PARTS_MAX)
		return "it has 1 to 256 parts";
	if (head->slots < ORDER_SLOTS_LEAST || head->slots > ORDER_SLOTS_MAX ||
	    (head->slots & (head->slots - 1)) != 0)
		return "its parts have a power of two of slots, 1024 to 16777216";
	return NULL;
}

void
order_head_write(const struct order_head *head, uint8_t bytes[ORDER_HEAD_BYTES])
{
	struct head_image image = {
		.version = le32_of(VERSION), .slot_length = le32_of(sizeof(struct order_image)),
		.parts = le32_of(head->parts), .slots = le32_of(head->slots), .boot = le64_of(head->boot),
	};

	memcpy(image.magic, magic, sizeof(magic));
	memcpy(image.uuid, head->uuid, sizeof(image.uuid));
	image.crc = crc_before(&image, sizeof(image));
	memcpy(bytes, &image, sizeof(image));
}

const char *
order_head_read(const uint8_t bytes[ORDER_HEAD_BYTES], struct order_head *head, bool *none)
{
	struct head_image image;

	memcpy(&image, bytes, sizeof(image));
	*none = is_zeros(bytes, ORDER_HEAD_BYTES);
	if (*none)
		return "there is no log of ordered writes yet";
	if (memcmp(image.magic, magic, sizeof(magic)) != 0)
		return "it is no log of ordered writes";
	if (le32_get(image.version) != VERSION)
		return "it is a log of ordered writes of another version of Weir";
	if (!is_sum(&image, sizeof(image), image.crc) || le32_get(image.slot_length) != sizeof(struct order_image) ||
	    !is_zeros(image.zeros, sizeof(image.zeros)))
		return "the head of the log of ordered writes is corrupt";
	head->parts = le32_get(image.parts);
	head->slots = le32_get(image.slots);
	head->boot = le64_get(image.boot);
	memcpy(head->uuid, image.uuid, sizeof(head->uuid));
	return order_head_wrong(head);
}

/* ---- owners ---- */

void
order_owner_write(const struct order_owner *owner, uint8_t bytes[ORDER_OWNER_BYTES])
{
	struct owner_image image = { 0 };

	memcpy(image.host_id, owner->host_id, sizeof(image.host_id));
	memcpy(image.nqn, owner->nqn, strnlen(owner->nqn, NQN_MAX));
	memcpy(image.subsystem, owner->subsystem, strnlen(owner->subsystem, NQN_MAX));
	image.crc = crc_before(&image, sizeof(image));
	memcpy(bytes, &image, sizeof(image));
}

static bool
is_nqn(const char field[NQN_FIELD])
{
	size_t length = strnlen(field, NQN_FIELD);

	return nqn_usable(field, length) && is_zeros(field + length, NQN_FIELD - length);
}

bool
order_owner_read(const uint8_t bytes[ORDER_OWNER_BYTES], struct order_owner *owner)
{
	struct owner_image image;

	memcpy(&image, bytes, sizeof(image));
	if (!is_sum(&image, sizeof(image), image.crc) || !is_nqn(image.nqn) || !is_nqn(image.subsystem) ||
	    !is_zeros(image.zeros, sizeof(image.zeros)))
		return false;
	memcpy(owner->host_id, image.host_id, sizeof(owner->host_id));
	memcpy(owner->nqn, image.nqn, sizeof(owner->nqn));
	memcpy(owner->subsystem, image.subsystem, sizeof(owner->subsystem));
	return true;
}

uint32_t
order_owner_find(const uint8_t (*owners)[ORDER_OWNER_BYTES], const bool *named, const struct order_owner *owner,
    uint32_t *room)
{
	struct order_owner there;

	*room = ORDER_OWNER_NONE;
	for (uint32_t i = 0; i < ORDER_OWNERS; i++) {
		bool is = order_owner_read(owners[i], &there);

		if (is && memcmp(there.host_id, owner->host_id, sizeof(there.host_id)) == 0 &&
		    strcmp(there.nqn, owner->nqn) == 0 && strcmp(there.subsystem, owner->subsystem) == 0)
			return i;
		if (*room == ORDER_OWNER_NONE && !is && !named[i])
			*room = i;
	}
	return ORDER_OWNER_NONE;
}
