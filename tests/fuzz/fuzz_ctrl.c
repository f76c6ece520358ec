/*
 * fuzz_ctrl.c - a controller asked anything, in any order: what it answers
 * fits what was asked for, and nothing beyond the answer is written.
 *
 * The input: a byte that picks the subsystem, then 64 bytes per command; those
 * of opcode 7Fh are Property Get and Set, and what is no command over Fabrics
 * gives the controller its other snapshot, or a notice of a reservation.  A reset
 * is over as many commands after it as the two low bits of its command id say.
 */
#include "ctrl/ctrl.h"

#include "fuzz.h"
#include "wire/extension.h"

enum { GUARD = 0x5c, IN_MAX = 4096 };

static const uint64_t cntlids[CTRL_ID_WORDS] = { 1 << 1 | 1 << 2 };
static const char hosts[][NVME_NQN_FIELD] = { "nqn.host" };
static const uint64_t others[] = { 0, 7 };
static const struct ns_info ns[2][2] = {
	{ { .nsid = 2, .block_size = 512, .blocks = 9, .volatile_cache = true } },
	{ { .nsid = 2, .block_size = 512, .blocks = 9, .rescap = 0x7f, .ana_group = 1, .shared = true },
	  { .nsid = 1024, .block_size = 4096, .blocks = 9, .ana_group = 64, .listed = true, .hosts = hosts,
	    .host_count = 1, .others = others, .other_count = 2 } },
};
static const struct ana_group ana[2][2] = {
	{ { .id = 1, .state = { 1 } }, { .id = 64, .state = { 3 } } },
	{ { .id = 1, .state = { 15 } }, { .id = 64, .state = { 4 } } },
};
static const struct subsys_info subsystems[3][2];
static const struct portal_info portals[CTRL_PORTALS_MAX] = {
	{ .traddr = "127.0.0.1", .trsvcid = "4420" }, { .use = PORTAL_IO }, { .use = PORTAL_DISCOVERY },
};
static const struct subsys_shown shown[CTRL_SHOWN_MAX] = {
	[0 ... CTRL_SHOWN_MAX - 1] = { &subsystems[0][0], UINT32_MAX },
};
static struct eventlog events;

/* Plain, with everything, and the discovery subsystem; each once more, a little later. */
#define COMMON .mdts_shift = 8, .io_queues_max = 2, .entries_max = 128, .incapsule_max = 8192
#define ALL .nqn = "nqn.b", .ana_count = 2, .reservations = true, .nwpc = 7, .event_log = true, .ns_management = true
static const struct subsys_info subsystems[3][2] = {
	{ { .nqn = "nqn.a", COMMON, .ns = ns[0], .ns_count = 1 }, { .nqn = "nqn.a", COMMON } },
	{ { ALL, COMMON, .ns = ns[1], .ns_count = 2, .ana = ana[0], .capacity_free = UINT64_MAX },
	  { ALL, COMMON, .ns = ns[1], .ns_count = 1, .ana = ana[1] } },
	{ { .nqn = NVME_DISCOVERY_NQN, .discovery = true, COMMON },
	  { .nqn = NVME_DISCOVERY_NQN, .discovery = true, COMMON, .genctr = 1, .portals = portals,
	    .portal_count = CTRL_PORTALS_MAX, .shown = shown, .shown_count = CTRL_SHOWN_MAX, .referrals = portals,
	    .referral_count = CTRL_REFERRALS_MAX } },
};

static const struct subsys_info *
other(const struct subsys_info *subsys)
{
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 2; j++)
			if (subsys == &subsystems[i][j])
				return &subsystems[i][!j];
	return NULL;
}

static void
ask(struct ctrl *ctrl, const struct nvme_sqe *sqe, uint8_t *out, struct ctrl_reply *reply)
{
	static const struct ctrl_stats stats = { .counts = { .read_blocks512 = UINT64_MAX, .busy_s = UINT64_MAX } };
	static const struct weir_log_view view = { .state = 3 };
	uint32_t needs = ctrl_needs(ctrl, sqe), bytes = ctrl_admin_data_in(sqe);
	const struct ctrl_given given = {
		needs & CTRL_NEEDS_STATS ? &stats : NULL, needs & CTRL_NEEDS_EVENTS ? &events : NULL,
		needs & CTRL_NEEDS_CONTROLLERS ? cntlids : NULL, needs & CTRL_NEEDS_CONTROLLERS ? cntlids : NULL, 0,
		needs & CTRL_NEEDS_PTPL && le32_get(sqe->nsid) % 2 != 0, needs & CTRL_NEEDS_VIEW ? &view : NULL,
	};
	struct subsys_diff diff = { .old = NULL };
	uint8_t in[IN_MAX];

	assert(bytes <= IN_MAX);
	for (size_t at = 0; at < IN_MAX; at += 16) /* the command's own words: something of everything */
		memcpy(in + at, &sqe->cdw12, 16);
	if (sqe->opcode != NVME_FABRICS)
		ctrl_admin(ctrl, sqe, in, bytes, out, needs != 0 ? &given : NULL, UINT64_MAX, reply);
	else if (sqe->fctype == NVME_PROPERTY_SET || sqe->fctype == NVME_PROPERTY_GET)
		ctrl_property(ctrl, (const void *)sqe, reply);
	else if (sqe->fctype & 1)
		ctrl_update(ctrl, other(ctrl->subsys), &diff);
	else
		ctrl_reservation_notice(ctrl, le32_get(sqe->cdw10), sqe->flags % 3 + 1);
}

/* A long answer goes on as far as it was promised; what is asked again comes again. */
static void
take_rest(struct ctrl *ctrl, const struct nvme_sqe *sqe, const struct ctrl_reply *reply)
{
	static uint8_t page[2][CTRL_PAGE_MAX];

	for (uint32_t at = CTRL_PAGE_MAX; at < reply->data_len; at += CTRL_PAGE_MAX) {
		ctrl_answer_more(ctrl, sqe, at, page[0]);
		ctrl_answer_more(ctrl, sqe, at, page[1]);
		assert(memcmp(page[0], page[1], CTRL_PAGE_MAX) == 0);
	}
}

static void
judge(const struct nvme_sqe *sqe, const uint8_t *out, const uint8_t *guard, const struct ctrl_reply *reply)
{
	assert(reply->data_len == 0 || reply->data_len == le32_get(sqe->sgl1.length));
	assert(reply->data_len <= 1 << 20 && (reply->data_len == 0 || nvme_ok(reply->status)));
	if (nvme_ok(reply->status) && reply->data_len < CTRL_PAGE_MAX)
		assert(memcmp(out + reply->data_len, guard, CTRL_PAGE_MAX - reply->data_len) == 0);
}

/* The commands that the target holds, as the controller told it. */
struct held {
	uint16_t cid[CTRL_AER_MAX];
	uint32_t count;
};

static bool
let_go(struct held *held, uint16_t cid)
{
	for (uint32_t i = 0; i < held->count; i++) {
		if (held->cid[i] == cid) {
			held->cid[i] = held->cid[--held->count];
			return true;
		}
	}
	return false;
}

/* What a target does: a reset lets go of what is held at once, and is over when the last queue has gone. */
static void
act(struct ctrl *ctrl, const struct nvme_sqe *sqe, const struct ctrl_reply *reply, struct held *held, uint32_t *left)
{
	uint32_t dw0;
	uint16_t cid;

	if (reply->held)
		held->cid[held->count++] = le16_get(sqe->cid);
	if (reply->action == CTRL_RESET) {
		held->count = 0;
		*left = le16_get(sqe->cid) & 3;
	} else if (reply->action == CTRL_SHUTDOWN) {
		ctrl_shutdown_done(ctrl);
	}
	assert(reply->action != CTRL_EVENTS_TAKEN || ctrl->events == &events);
	while (ctrl_event(ctrl, &cid, &dw0))
		assert(dw0 != 0 && let_go(held, cid));
	if (ctrl->resetting && (*left)-- == 0 && ctrl_reset_done(ctrl) == CTRL_SHUTDOWN)
		ctrl_shutdown_done(ctrl);
	assert(reply->action != CTRL_EVENTS_RELEASED || ctrl->events == NULL);
	assert(ctrl->aer_count == held->count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[CTRL_PAGE_MAX], guard[CTRL_PAGE_MAX];
	struct nvme_connect_data connect = { .hostid = { 1 } };
	struct held held = { .count = 0 };
	uint32_t left = 0;
	struct ctrl ctrl;

	memset(guard, GUARD, sizeof(guard));
	eventlog_init(&events);
	eventlog_power_on(&events, &(struct eventlog_when){ .date_ms = 1 }, "1");
	ctrl_init(&ctrl, &subsystems[size == 0 ? 0 : data[0] & 1 ? 2 : data[0] >> 1 & 1][0], 1, 0, &connect, 0, 0);
	for (size_t at = 1; at + sizeof(struct nvme_sqe) <= size; at += sizeof(struct nvme_sqe)) {
		const struct nvme_sqe *sqe = (const void *)(data + at);
		struct ctrl_reply reply = { 0 };

		memcpy(out, guard, sizeof(out));
		ask(&ctrl, sqe, out, &reply);
		judge(sqe, out, guard, &reply);
		take_rest(&ctrl, sqe, &reply);
		act(&ctrl, sqe, &reply, &held, &left);
		assert(ctrl.aer_count <= CTRL_AER_MAX && (ctrl.csts & ~UINT32_C(0x0f)) == 0);
	}
	return 0;
}
