/*
 * fuzz_resv.c - reservations: any commands of any hosts keep what
 * doc/reservations.md says is always true, and any bytes on the medium are
 * refused or are a state of which it is true.
 *
 * The input: a byte that says which of the two (0: commands, 6 bytes each;
 * else changes of an image, 3 bytes each: where, and what is there).
 */
#include "base/crc32c.h"
#include "resv/image.h"

#include "fuzz.h"

enum { COMMAND = 6, CHANGE = 3, GUARD = 0x5c };
enum mode { IMAGE = 1, SEAL_0 = 2, SEAL_1 = 4, WRITTEN = 8 };

static const uint8_t uuid[RESV_UUID_LEN] = { 7 };

static void
judge(const struct resv *was, const struct resv *is, const struct resv_effect *effect, struct nvme_status status,
    const uint8_t *hostid)
{
	bool same = memcmp(was, is, sizeof(*was)) == 0;

	assert(resv_valid(is) && effect->changed == !same);
	assert(effect->persist == (!same && (was->ptpl || is->ptpl)));
	assert(nvme_ok(status) || (same && effect->notice_count + effect->abort_count == 0));
	assert(effect->notice_count <= RESV_HOSTS_MAX && effect->abort_count <= effect->notice_count);
	for (uint32_t i = 0; i < effect->notice_count; i++) {
		assert(memcmp(effect->notices[i].hostid, hostid, RESV_HOSTID_LEN) != 0);
		for (uint32_t j = 0; j < i; j++)
			assert(memcmp(effect->notices[i].hostid, effect->notices[j].hostid, RESV_HOSTID_LEN) != 0);
	}
	for (uint32_t i = 0; i < is->host_count; i++)
		assert(is->type == NVME_RESV_NONE || i != is->holder ||
		    resv_access(is, is->hosts[i].hostid) == (RESV_READ | RESV_WRITE));
}

/* What is kept comes back, or nothing where PTPL is clear. */
static void
keep(const struct resv *resv, uint64_t sequence)
{
	static uint8_t slots[RESV_SLOTS][RESV_SLOT_LEN];
	struct resv back;
	uint64_t number;

	resv_encode(resv, uuid, sequence, slots[resv_slot(sequence)]);
	memset(slots[!resv_slot(sequence)], GUARD, RESV_SLOT_LEN);
	assert(resv_decode(slots, uuid, &back, &number) == RESV_FOUND && number == sequence);
	assert(back.host_count == (resv->ptpl ? resv->host_count : 0));
	assert(back.type == (resv->ptpl ? resv->type : NVME_RESV_NONE));
	assert(memcmp(back.hosts, resv->hosts, back.host_count * sizeof(back.hosts[0])) == 0);
}

static void
command(struct resv *resv, const uint8_t *in)
{
	uint8_t hostid[RESV_HOSTID_LEN] = { 1, (uint8_t)(in[0] % (RESV_HOSTS_MAX + 6)) }, out[1024];
	uint32_t cdw10 = (uint32_t)(in[2] & 15) | (uint32_t)in[3] << 8 | (uint32_t)in[2] >> 6 << 30;
	struct nvme_sqe sqe = { .cdw10 = le32_of(cdw10) };
	const struct nvme_resv_register_data keys = { le64_of(in[4] % 8), le64_of(in[5] % 8) };
	const struct nvme_resv_acquire_data acquire = { keys.crkey, keys.nrkey };
	const struct nvme_resv_release_data release = { keys.crkey };
	struct resv_effect effect = { 0 };
	struct nvme_status status = NVME_OK;
	struct resv was;

	memcpy(&was, resv, sizeof(was));
	if (in[1] % 5 == 0)
		status = resv_acquire(resv, hostid, &sqe, &acquire, &effect);
	else if (in[1] % 5 == 1)
		status = resv_release(resv, hostid, &sqe, &release, &effect);
	else if (in[1] % 5 == 2)
		status = resv_set_ptpl(resv, in[2] & 1, &effect);
	else
		status = resv_register(resv, hostid, &sqe, &keys, &effect);
	judge(&was, resv, &effect, status, hostid);
	sqe = (struct nvme_sqe){ .cdw10 = le32_of(in[3]), .cdw11 = le32_of(1) };
	assert(nvme_ok(resv_report(resv, &sqe, NULL, 0, out, nvme_resv_report_bytes(&sqe))));
}

static void
commands(const uint8_t *data, size_t size)
{
	struct resv resv;

	resv_init(&resv, true);
	for (size_t at = 0; at + COMMAND <= size; at += COMMAND)
		command(&resv, data + at);
	keep(&resv, RESV_SEQUENCE_FORMATTED + 1 + size);
}

static void
image(unsigned mode, const uint8_t *data, size_t size)
{
	static uint8_t slots[RESV_SLOTS][RESV_SLOT_LEN], again[RESV_SLOT_LEN];
	struct resv resv = { .hosts = { { { 1 }, 2 }, { { 3 }, 4 } }, .host_count = 2, .holder = 1,
		.type = NVME_RESV_EA, .ptpl = true, .can_persist = true };
	enum resv_found found;
	uint64_t sequence;

	memset(slots, 0, sizeof(slots));
	for (unsigned i = 3; mode & WRITTEN && i < 5; i++)
		resv_encode(&resv, uuid, i, slots[resv_slot(i)]);
	for (size_t at = 0; at + CHANGE <= size; at += CHANGE) {
		unsigned where = get_le16(data + at) % sizeof(slots);

		slots[where / RESV_SLOT_LEN][where % RESV_SLOT_LEN] = data[at + 2];
	}
	for (unsigned i = 0; i < RESV_SLOTS; i++)
		if (mode & (i == 0 ? SEAL_0 : SEAL_1))
			put_le32(&slots[i][RESV_SLOT_LEN - 4], crc32c(0, slots[i], RESV_SLOT_LEN - 4));
	found = resv_decode(slots, uuid, &resv, &sequence);
	if (found == RESV_FRESH)
		assert(sequence == 0 && resv.host_count == 0);
	if (found == RESV_FRESH || found == RESV_FOUND)
		assert(resv_valid(&resv) && resv.can_persist);
	if (found == RESV_FOUND) {
		resv_encode(&resv, uuid, sequence, again);
		assert(memcmp(again, slots[resv_slot(sequence)], sizeof(again)) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0 && data[0] & IMAGE)
		image(data[0], data + 1, size - 1);
	else if (size > 0)
		commands(data + 1, size - 1);
	return 0;
}
