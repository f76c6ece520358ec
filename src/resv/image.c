#include "resv/image.h"

#include "base/crc32c.h"

enum { VERSION = 1, NO_HOLDER = 0xffff };

static const char MAGIC[8] = { 'W', 'E', 'I', 'R', 'R', 'E', 'S', 'V' };

struct slot {
	char magic[8];
	le32 version;
	uint8_t zero12[4];
	uint8_t uuid[RESV_UUID_LEN];
	le64 sequence;
	le32 generation;
	le16 host_count, holder;
	uint8_t type, ptpl, zero50[14];
	struct slot_host {
		uint8_t hostid[RESV_HOSTID_LEN];
		le64 key;
	} hosts[RESV_HOSTS_MAX];
	uint8_t zero1600[2492];
	le32 crc;
};
static_assert(sizeof(struct slot) == RESV_SLOT_LEN, "a slot");
static_assert(offsetof(struct slot, uuid) == 16, "slot UUID");
static_assert(offsetof(struct slot, generation) == 40, "slot generation");
static_assert(offsetof(struct slot, type) == 48, "slot type");
static_assert(offsetof(struct slot, hosts) == 64, "slot registrants");
static_assert(offsetof(struct slot, zero1600) == 1600, "end of the registrants");
static_assert(offsetof(struct slot, crc) == 4092, "slot CRC");

static uint32_t
slot_crc(const struct slot *slot)
{
	return crc32c(0, slot, offsetof(struct slot, crc));
}

void
resv_encode(const struct resv *resv, const uint8_t uuid[RESV_UUID_LEN], uint64_t sequence,
    uint8_t out[RESV_SLOT_LEN])
{
	struct slot slot = { .version = le32_of(VERSION), .sequence = le64_of(sequence) };
	struct resv kept;

	assert(resv_valid(resv) && sequence > 0 && (sequence > RESV_SEQUENCE_FORMATTED || !resv->ptpl));
	resv_init(&kept, true);
	if (resv->ptpl)
		kept = *resv;
	memcpy(slot.magic, MAGIC, sizeof(slot.magic));
	memcpy(slot.uuid, uuid, sizeof(slot.uuid));
	slot.generation = le32_of(kept.generation);
	slot.host_count = le16_of((uint16_t)kept.host_count);
	slot.holder = le16_of(kept.holder == RESV_NOBODY ? NO_HOLDER : (uint16_t)kept.holder);
	slot.type = (uint8_t)kept.type;
	slot.ptpl = kept.ptpl;
	for (uint32_t i = 0; i < kept.host_count; i++) {
		memcpy(slot.hosts[i].hostid, kept.hosts[i].hostid, RESV_HOSTID_LEN);
		slot.hosts[i].key = le64_of(kept.hosts[i].key);
	}
	slot.crc = le32_of(slot_crc(&slot));
	memcpy(out, &slot, sizeof(slot));
}

/* What one slot is, alone. */
enum slot_is { ZEROS, INVALID, FOREIGN, VALID };

/* The state that the slot's numbers say, if they say one. */
static bool
slot_state(const struct slot *slot, struct resv *resv)
{
	uint16_t holder = le16_get(slot->holder);

	resv_init(resv, true);
	resv->generation = le32_get(slot->generation);
	resv->host_count = le16_get(slot->host_count);
	resv->holder = holder == NO_HOLDER ? RESV_NOBODY : holder;
	resv->type = (enum nvme_resv_type)slot->type;
	resv->ptpl = slot->ptpl;
	for (uint32_t i = 0; i < resv->host_count && i < RESV_HOSTS_MAX; i++) {
		memcpy(resv->hosts[i].hostid, slot->hosts[i].hostid, RESV_HOSTID_LEN);
		resv->hosts[i].key = le64_get(slot->hosts[i].key);
	}
	return resv_valid(resv);
}

/* A valid slot is byte for byte what its state is written as, so nothing in it is without meaning. */
static enum slot_is
slot_read(const uint8_t bytes[RESV_SLOT_LEN], unsigned index, const uint8_t uuid[RESV_UUID_LEN],
    struct resv *resv, uint64_t *sequence)
{
	static const uint8_t zeros[RESV_SLOT_LEN];
	uint8_t again[RESV_SLOT_LEN];
	struct slot slot;

	memcpy(&slot, bytes, sizeof(slot));
	if (memcmp(bytes, zeros, sizeof(zeros)) == 0)
		return ZEROS;
	if (memcmp(slot.magic, MAGIC, sizeof(MAGIC)) != 0 || le32_get(slot.crc) != slot_crc(&slot))
		return INVALID;
	if (le32_get(slot.version) != VERSION || memcmp(slot.uuid, uuid, RESV_UUID_LEN) != 0)
		return FOREIGN;
	*sequence = le64_get(slot.sequence);
	if (*sequence == 0 || resv_slot(*sequence) != index || !slot_state(&slot, resv))
		return INVALID;
	if (*sequence <= RESV_SEQUENCE_FORMATTED && resv->ptpl)
		return INVALID;
	resv_encode(resv, uuid, *sequence, again);
	return memcmp(again, bytes, sizeof(again)) == 0 ? VALID : INVALID;
}

enum resv_found
resv_decode(const uint8_t slots[RESV_SLOTS][RESV_SLOT_LEN], const uint8_t uuid[RESV_UUID_LEN],
    struct resv *resv, uint64_t *sequence)
{
	enum slot_is is[RESV_SLOTS];
	struct resv state[RESV_SLOTS];
	uint64_t number[RESV_SLOTS];
	unsigned newer;

	for (unsigned i = 0; i < RESV_SLOTS; i++)
		is[i] = slot_read(slots[i], i, uuid, &state[i], &number[i]);
	if (is[0] == FOREIGN || is[1] == FOREIGN)
		return RESV_FOREIGN;
	/* Slot 1 is the first to be written, and slot 0 the second: neither held a command's outcome yet. */
	if ((is[0] == ZEROS && is[1] != VALID) || (is[0] != VALID && is[1] == VALID && number[1] == 1)) {
		resv_init(resv, true);
		*sequence = 0;
		return RESV_FRESH;
	}
	if (is[0] != VALID && is[1] != VALID)
		return RESV_DAMAGED;
	newer = is[0] != VALID || (is[1] == VALID && number[1] > number[0]);
	if (is[!newer] == VALID && number[!newer] + 1 != number[newer])
		return RESV_DAMAGED;
	*resv = state[newer];
	*sequence = number[newer];
	return RESV_FOUND;
}
