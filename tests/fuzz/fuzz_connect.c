/*
 * fuzz_connect.c - any Connect: what is refused has the field that is named
 * wrong, what is accepted has none wrong, and is a controller that answers.
 *
 * The input: four bytes for the subsystem (the highest bit: its controllers are
 * static), who the target says that the host
 * is, what state the controller is in, and how many queues it is asked for;
 * then changes, of three bytes each, of two Connects that are right, of an
 * admin queue and of an I/O queue: where (the highest bit says in which, the
 * next that as many letters are written there as the value says), and what is
 * there.  A place counts through SQE and data.
 */
#include <stdio.h>

#include "ctrl/ctrl.h"
#include "wire/feature.h"
#include "wire/identify.h"

#include "fuzz.h"

enum { HEAD = 4, CHANGE = 3, LETTERS = 0x4000, OF_IO = 0x8000, CNTLID = 77, STATIC_IDS = 80,
	ENTRIES = 256, QUEUES = 9 };
enum how { ENABLE = 1, SHUT_DOWN = 2, SHUT = 4, RESET = 8, FATAL = 16, ASK_QUEUES = 32, DISABLE = 64, NO_CTRL = 128 };

struct connect {
	struct nvme_connect_sqe sqe;
	struct nvme_connect_data data;
};

static const struct ns_info ns[] = { { .nsid = 3, .block_size = 512, .blocks = 9 } };

#define COMMON .mdts_shift = 8, .io_queues_max = QUEUES, .entries_max = ENTRIES, .incapsule_max = 8192
#define LONG "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
static const struct subsys_info subsystems[] = {
	{ .nqn = "nqn.2026-11.a", COMMON, .ns = ns, .ns_count = 1 },
	{ .nqn = NVME_DISCOVERY_NQN, .discovery = true, COMMON },
	{ .nqn = "nqn.2026-11.b" LONG LONG "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", COMMON },
};

/* ---- the rules, once more ---- */

/* How many bytes that go on a character follow its first one; more than a name has: none begins so. */
static size_t
tail_of(uint8_t first)
{
	return first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 :
	    first >= 0xf0 && first < 0xf5 ? 3 : NVME_NQN_FIELD;
}

/* Whether the bytes, to the first zero, are UTF-8 that can be seen. */
static bool
is_seen(const uint8_t *at)
{
	static const uint32_t least[] = { 0x20, 0xa0, 0x800, 0x10000 };

	while (*at != 0) {
		size_t tail = tail_of(*at);
		uint32_t code;

		if (tail == NVME_NQN_FIELD)
			return false;
		code = tail == 0 ? *at : *at & (0x3fu >> tail);
		at++;
		for (size_t i = 0; i < tail; i++, at++) {
			if (*at < 0x80 || *at >= 0xc0)
				return false;
			code = code << 6 | (*at & 0x3f);
		}
		if (code < least[tail] || code == 0x7f)
			return false;
		if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff || code == 0x2028 || code == 0x2029 ||
		    code == 0xfeff || code == 0xfffe || code == 0xffff)
			return false;
	}
	return true;
}

/* Text that ends within what an NQN may have, and begins as one. */
static bool
is_nqn(const char field[NVME_NQN_FIELD])
{
	const char *end = memchr(field, '\0', NVME_NQN_MAX + 1);
	int date = 0, month = 0, more = 0;

	if (end == NULL)
		return false;
	sscanf(field, "nqn.%*4[0-9]%n-%*2[0-9]%n.%n", &date, &month, &more);
	return date == 8 && month == 11 && more == 12 && end > field + more && is_seen((const uint8_t *)field);
}

static bool
is_equal(const char field[NVME_NQN_FIELD], const char *text)
{
	return is_nqn(field) && strcmp(field, text) == 0;
}

/* Which of the fields that a refusal can point to are wrong. */
struct wrongs {
	bool qid, sqsize, hostid, cntlid, subnqn, hostnqn;
};

static struct wrongs
wrongs_of_admin(const struct connect *c, const struct subsys_info *subsys, enum ctrl_admission admission)
{
	static const uint8_t zeros[16];

	return (struct wrongs){
		.qid = le16_get(c->sqe.qid) != 0,
		.sqsize = le16_get(c->sqe.sqsize) == 0 || le16_get(c->sqe.sqsize) > 127,
		.hostid = memcmp(c->data.hostid, zeros, 16) == 0 || admission == CTRL_HOST_OTHER_ID,
		.cntlid = subsys != NULL && subsys->static_ids > 0 ?
		    le16_get(c->data.cntlid) != 0xfffe && le16_get(c->data.cntlid) - 1u >= STATIC_IDS :
		    le16_get(c->data.cntlid) != 0xffff,
		.subnqn = subsys == NULL || !is_equal(c->data.subnqn, subsys->nqn),
		.hostnqn = !is_nqn(c->data.hostnqn) || is_equal(c->data.hostnqn, NVME_DISCOVERY_NQN) ||
		    admission == CTRL_HOST_UNKNOWN,
	};
}

static struct wrongs
wrongs_of_io(const struct connect *c, const struct ctrl *ctrl, const struct connect *admin, uint32_t granted)
{
	uint32_t queues = granted > 0 ? granted : QUEUES;

	if (ctrl == NULL)
		return (struct wrongs){ .cntlid = true };
	return (struct wrongs){
		.qid = le16_get(c->sqe.qid) - 1u >= queues || ctrl->subsys->discovery,
		.sqsize = le16_get(c->sqe.sqsize) - 1u >= ENTRIES - 1,
		.hostid = memcmp(c->data.hostid, admin->data.hostid, 16) != 0,
		.cntlid = le16_get(c->data.cntlid) != CNTLID,
		.subnqn = !is_equal(c->data.subnqn, ctrl->subsys->nqn),
		.hostnqn = !is_equal(c->data.hostnqn, admin->data.hostnqn),
	};
}

static bool
any(struct wrongs w)
{
	return w.qid || w.sqsize || w.hostid || w.cntlid || w.subnqn || w.hostnqn;
}

static bool
points_to_a_wrong(const struct nvme_connect_fault *fault, struct wrongs w)
{
	switch (fault->ipo) {
	case 42:
		return !fault->in_data && w.qid;
	case 44:
		return !fault->in_data && w.sqsize;
	case 0:
		return fault->in_data && w.hostid;
	case 16:
		return fault->in_data && w.cntlid;
	case 256:
		return fault->in_data && w.subnqn;
	case 512:
		return fault->in_data && w.hostnqn;
	default:
		return false;
	}
}

/* What holds of both answers; `late`: a refusal that points nowhere, and comes when all fields are right. */
static void
judge(struct nvme_status status, const struct nvme_connect_fault *fault, bool format, struct wrongs w, bool late,
    enum nvme_sc late_sc)
{
	enum nvme_sc sc = nvme_sc(status);

	assert(nvme_ok(status) || status.dnr == (sc != NVME_SC_CONNECT_BUSY));
	if (format)
		assert(sc == NVME_SC_CONNECT_FORMAT && fault->ipo == 0 && !fault->in_data);
	else if (any(w))
		assert((sc == NVME_SC_CONNECT_PARAMS || (sc == NVME_SC_CONNECT_HOST && fault->ipo == 512)) &&
		    points_to_a_wrong(fault, w));
	else if (late)
		assert(sc == late_sc && fault->ipo == 0 && !fault->in_data);
	else
		assert(nvme_ok(status) && fault->ipo == 0 && !fault->in_data);
}

/* ---- the controller that comes of it ---- */

static uint64_t
property(struct ctrl *ctrl, bool set, uint32_t ofst, uint32_t value, enum ctrl_action action)
{
	struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = set ? NVME_PROPERTY_SET : NVME_PROPERTY_GET,
		.attrib = ofst == NVME_CAP, .ofst = le32_of(ofst), .value = le64_of(value),
	};
	struct ctrl_reply reply;

	ctrl_property(ctrl, &sqe, &reply);
	assert(nvme_ok(reply.status) && reply.action == action);
	return (uint64_t)reply.dw1 << 32 | reply.dw0;
}

static void
identify(struct ctrl *ctrl, const struct connect *c, uint32_t cns, uint8_t *page)
{
	const struct nvme_identify_ctrl *id = (const void *)page;
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_IDENTIFY, .flags = NVME_PSDT_SGL, .cdw10 = le32_of(cns),
		.sgl1 = { .length = le32_of(4096), .id = NVME_SGL_TRANSPORT },
	};
	struct ctrl_reply reply;

	ctrl_admin(ctrl, &sqe, NULL, 0, page, NULL, 0, &reply);
	assert(nvme_ok(reply.status) && reply.data_len == 4096);
	if (cns == 1)
		assert(le16_get(id->cntlid) == CNTLID && strcmp(id->subnqn, c->data.subnqn) == 0 &&
		    (id->cntrltype == 2) == ctrl->subsys->discovery && id->fcatt == (ctrl->subsys->static_ids > 0));
}

/* Asked before it is enabled it refuses; then it answers what every host asks. */
static void
begin(struct ctrl *ctrl, const struct connect *c, const struct subsys_info *subsys)
{
	static uint8_t page[CTRL_PAGE_MAX];
	uint32_t kato = le32_get(c->sqe.kato);
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY, .flags = NVME_PSDT_SGL, .cdw10 = le32_of(1) };
	struct ctrl_reply reply;

	ctrl_init(ctrl, subsys, CNTLID, 0, &c->data, kato, 0);
	assert(property(ctrl, false, NVME_CSTS, 0, CTRL_NOTHING) == 0);
	assert(property(ctrl, false, NVME_CC, 0, CTRL_NOTHING) == 0);
	assert((property(ctrl, false, NVME_CAP, 0, CTRL_NOTHING) & 0xffff) == (subsys->discovery ? 127 : ENTRIES - 1));
	assert(property(ctrl, false, NVME_VS, 0, CTRL_NOTHING) == NVME_VS_2_0);
	ctrl_admin(ctrl, &sqe, NULL, 0, page, NULL, 0, &reply);
	assert(nvme_sc(reply.status) == NVME_SC_SEQUENCE);
	property(ctrl, true, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES, CTRL_ENABLED);
	assert(property(ctrl, false, NVME_CSTS, 0, CTRL_NOTHING) == NVME_CSTS_RDY);
	identify(ctrl, c, 1, page);
	if (!subsys->discovery)
		identify(ctrl, c, 2, page);
	assert(kato == 0 ? ctrl_silence_ms(ctrl) == (subsys->discovery ? CTRL_IDLE_MS : 0) :
	    ctrl_silence_ms(ctrl) >= kato || kato > UINT32_MAX - CTRL_KAS_MS);
}

/* From what begin() left to any other state; answers the queues granted. */
static uint32_t
change_state(struct ctrl *ctrl, unsigned how, unsigned queues)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_SET_FEATURES, .flags = NVME_PSDT_SGL, .cdw10 = le32_of(NVME_FEATURE_QUEUES),
		.cdw11 = le32_of(queues | queues << 16),
	};
	static uint8_t page[CTRL_PAGE_MAX];
	struct ctrl_reply reply;
	uint32_t granted = 0;

	if (how & ASK_QUEUES && !ctrl->subsys->discovery) {
		ctrl_admin(ctrl, &sqe, NULL, 0, page, NULL, 0, &reply);
		assert(nvme_ok(reply.status) && (reply.dw0 & 0xffff) == reply.dw0 >> 16);
		granted = (reply.dw0 & 0xffff) + 1;
		assert(granted <= QUEUES && granted <= queues + 1);
	}
	if (how & SHUT_DOWN)
		property(ctrl, true, NVME_CC, NVME_CC_EN | 1u << 14 | NVME_CC_ENTRIES, CTRL_SHUTDOWN);
	if (how & SHUT)
		ctrl_shutdown_done(ctrl);
	if (how & FATAL)
		ctrl_fatal(ctrl);
	if (how & DISABLE)
		property(ctrl, true, NVME_CC, 0, CTRL_RESET);
	if (how & DISABLE && how & RESET) {
		ctrl_reset_done(ctrl);
		granted = 0;
	}
	if (how & DISABLE && how & RESET && how & ENABLE)
		property(ctrl, true, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES, CTRL_ENABLED);
	return granted;
}

/* ---- an input ---- */

static void
change(struct connect *c, const uint8_t *in)
{
	unsigned where = get_le16(in), count = where & LETTERS ? in[2] : 1;
	size_t at = (where & (LETTERS - 1)) % sizeof(*c);

	for (unsigned i = 0; i < count && at + i < sizeof(*c); i++)
		((uint8_t *)c)[at + i] = where & LETTERS ? 'x' : in[2];
}

static void
connect_io(struct ctrl *ctrl, const struct connect *io, const struct connect *admin, unsigned how, uint32_t granted)
{
	bool again = how & DISABLE && how & RESET && how & ENABLE;
	bool works = again || !(how & (DISABLE | SHUT_DOWN | FATAL));
	struct nvme_connect_fault fault = { 4711, true };
	struct nvme_status status = ctrl_check_io_connect(ctrl, &io->sqe, &io->data, &fault);

	judge(status, &fault, le16_get(io->sqe.recfmt) != 0, wrongs_of_io(io, ctrl, admin, granted), !works,
	    NVME_SC_SEQUENCE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
	unsigned which = size > 0 ? in[0] % 4 : 0, how = size > 2 ? in[2] : 0;
	bool fixed = size > 0 && in[0] & 0x80 && which < 3 && !subsystems[which].discovery;
	struct subsys_info chosen = subsystems[which % 3];
	const struct subsys_info *subsys = which < 3 ? &chosen : NULL;
	enum ctrl_admission admission = size > 1 ? (enum ctrl_admission)(in[1] % 4) : CTRL_HOST_ADMITTED;
	struct connect admin = {
		.sqe = { .opcode = NVME_FABRICS, .fctype = NVME_CONNECT, .sqsize = le16_of(31) },
		.data = { .hostid = { 1 }, .hostnqn = "nqn.2026-11.h",
		    .cntlid = le16_of(fixed ? NVME_CNTLID_STATIC : NVME_CNTLID_DYNAMIC) },
	}, io;
	struct nvme_connect_fault fault = { 4711, true };
	struct nvme_status status;
	struct ctrl ctrl;

	chosen.static_ids = fixed ? STATIC_IDS : 0;
	memcpy(admin.data.subnqn, subsystems[which % 3].nqn, NVME_NQN_FIELD);
	for (size_t at = HEAD; at + CHANGE <= size; at += CHANGE)
		if (!(get_le16(in + at) & OF_IO))
			change(&admin, in + at);
	io = admin;
	io.sqe.qid = le16_of(1);
	io.data.cntlid = le16_of(CNTLID);
	for (size_t at = HEAD; at + CHANGE <= size; at += CHANGE)
		if (get_le16(in + at) & OF_IO)
			change(&io, in + at);
	status = ctrl_check_connect(subsys, admission, &admin.sqe, &admin.data, &fault);
	judge(status, &fault, le16_get(admin.sqe.recfmt) != 0, wrongs_of_admin(&admin, subsys, admission),
	    admission == CTRL_HOST_NO_ROOM, NVME_SC_CONNECT_BUSY);
	if (!nvme_ok(status)) {
		connect_io(NULL, &io, &admin, 0, 0);
		return 0;
	}
	begin(&ctrl, &admin, subsys);
	connect_io(how & NO_CTRL ? NULL : &ctrl, &io, &admin, how, change_state(&ctrl, how, size > 3 ? in[3] : 0));
	return 0;
}
