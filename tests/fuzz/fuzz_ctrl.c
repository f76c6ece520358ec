/*
 * fuzz_ctrl.c - a controller asked anything, in any order: what it answers
 * fits what was asked for, and nothing beyond the answer is written.
 *
 * The input: a byte that picks the subsystem, then 64 bytes per command; those
 * of opcode 7Fh are Property Get and Set.
 */
#include "ctrl/ctrl.h"

#include "fuzz.h"

enum { GUARD = 0x5c };

static const struct ns_info ns[] = { { .nsid = 2, .block_size = 512, .blocks = 9, .volatile_cache = true } };
static const struct portal_info portals[] = { { .traddr = "127.0.0.1", .trsvcid = "4420" } };
static const struct subsys_info nvm = { .nqn = "nqn.a", .ns = ns, .ns_count = 1, .io_queues_max = 2,
	.entries_max = 128, .incapsule_max = 8192, .mdts_shift = 8 };
static const struct subsys_shown shown[] = { { &nvm, 1 } };
static const struct subsys_info discovery = { .nqn = NVME_DISCOVERY_NQN, .discovery = true, .mdts_shift = 8,
	.portals = portals, .portal_count = 1, .shown = shown, .shown_count = 1 };

static void
ask(struct ctrl *ctrl, const struct nvme_sqe *sqe, uint8_t *out, struct ctrl_reply *reply)
{
	const struct ctrl_stats stats = { .read_blocks512 = UINT64_MAX, .busy_s = UINT64_MAX };
	const struct ctrl_given given = { .stats = &stats };
	const uint8_t in[512] = { 1 };

	if (sqe->opcode != NVME_FABRICS)
		ctrl_admin(ctrl, sqe, in, ctrl_admin_data_in(sqe), out,
		    ctrl_needs(ctrl, sqe) != 0 ? &given : NULL, UINT64_MAX, reply);
	else if (sqe->fctype == NVME_PROPERTY_SET || sqe->fctype == NVME_PROPERTY_GET)
		ctrl_property(ctrl, (const void *)sqe, reply);
}

static void
judge(const struct nvme_sqe *sqe, const uint8_t *out, const uint8_t *guard, const struct ctrl_reply *reply)
{
	assert(reply->data_len == 0 || reply->data_len <= le32_get(sqe->sgl1.length));
	assert(reply->data_len <= 1 << 20 && (reply->data_len == 0 || nvme_ok(reply->status)));
	if (nvme_ok(reply->status) && reply->data_len < CTRL_PAGE_MAX)
		assert(memcmp(out + reply->data_len, guard, CTRL_PAGE_MAX - reply->data_len) == 0);
}

static void
act(struct ctrl *ctrl, const struct ctrl_reply *reply)
{
	uint32_t dw0;
	uint16_t cid;

	if (reply->action == CTRL_RESET)
		ctrl_reset_done(ctrl);
	else if (reply->action == CTRL_SHUTDOWN)
		ctrl_shutdown_done(ctrl);
	while (ctrl_event(ctrl, &cid, &dw0))
		assert(dw0 != 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[CTRL_PAGE_MAX], guard[CTRL_PAGE_MAX];
	struct nvme_connect_data connect = { .hostid = { 1 } };
	struct ctrl ctrl;

	memset(guard, GUARD, sizeof(guard));
	ctrl_init(&ctrl, size > 0 && data[0] & 1 ? &discovery : &nvm, 1, 0, &connect, 0, 0);
	for (size_t at = 1; at + sizeof(struct nvme_sqe) <= size; at += sizeof(struct nvme_sqe)) {
		const struct nvme_sqe *sqe = (const void *)(data + at);
		struct ctrl_reply reply = { 0 };

		memcpy(out, guard, sizeof(out));
		ask(&ctrl, sqe, out, &reply);
		judge(sqe, out, guard, &reply);
		act(&ctrl, &reply);
		assert(ctrl.aer_count <= CTRL_AER_MAX && (ctrl.csts & ~UINT32_C(0x0f)) == 0);
	}
	return 0;
}
