/*
 * ctrlr_steps.c - how a controller comes up: a table of steps, each a command
 * and what is made of its answer, and one small loop.
 *
 * What a target says is judged here.  What cannot be, or what this host could
 * not live with, ends the association with a reason in plain words; what a
 * plain target may lack does not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "host/ctrlr_steps.h"
#include "wire/feature.h"
#include "wire/log.h"

static const uint64_t CAP_TO_NS = 500 * CTRLR_NS_PER_MS;

/* ---- what it can, and that it is ready (Base 2.0, 3.1.3 and 3.5) ---- */

static struct nvme_sqe
read_cap(const struct ctrlr *c)
{
	struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_PROPERTY_GET, .attrib = 1, .ofst = le32_of(NVME_CAP),
	};
	struct nvme_sqe plain;

	(void)c;
	memcpy(&plain, &sqe, sizeof(plain));
	return plain;
}

static unsigned page_shift(const struct ctrlr *c) { return c->cap >> 48 & 15; } /* MPSMIN: of 4096 bytes */

static bool
cap_read(struct ctrlr *c, const struct hio *io)
{
	c->cap = io->req.dw0 | (uint64_t)io->req.dw1 << 32;
	c->cc = NVME_CC_EN | NVME_CC_ENTRIES | page_shift(c) << 7;
	return true;
}

static struct nvme_sqe
enable(const struct ctrlr *c)
{
	return nvme_property_command(NVME_PROPERTY_SET, NVME_CC, c->cc);
}

/* CAP.TO is in halves of a second; one more, since 0 may be the time of one that takes none to speak of. */
static bool
enabling(struct ctrlr *c, const struct hio *io)
{
	(void)io;
	c->enabled_by_ns = c->reactor->now_ns + ((c->cap >> 24 & 0xff) + 1) * CAP_TO_NS;
	return true;
}

static struct nvme_sqe
read_csts(const struct ctrlr *c)
{
	(void)c;
	return nvme_property_command(NVME_PROPERTY_GET, NVME_CSTS, 0);
}

/* The keep-alive timer of the target runs from there on. */
static bool
csts_read(struct ctrlr *c, const struct hio *io)
{
	uint64_t now_ns = c->reactor->now_ns;

	if (io->req.dw0 & NVME_CSTS_CFS) {
		ctrlr_lose(c, -EIO, "the controller says that it failed (CSTS.CFS)");
		return false;
	}
	if (io->req.dw0 & NVME_CSTS_RDY) {
		ctrlr_keep_alive(c);
		return true;
	}
	if (now_ns >= c->enabled_by_ns) {
		ctrlr_lose(c, -ETIMEDOUT, "the controller is not ready in the time it says it takes (CAP.TO)");
		return false;
	}
	ctrlr_limit(c);
	timer_set(&c->reactor->timers, &c->poll_timer, now_ns + CTRLR_POLL_NS);
	return false;
}

/* ---- who it is (Base 2.0, 5.17.2.1) ---- */

static struct nvme_sqe
identify(const struct ctrlr *c)
{
	(void)c;
	return (struct nvme_sqe){ .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = le32_of(NVME_CNS_CTRL) };
}

/* What can be said of controllers of either kind; NULL: nothing is wrong.  The well-known name of discovery stands
 * for a subsystem that has one of its own, too. */
static const char *
wrong_name(const struct ctrlr *c, const struct nvme_identify_ctrl *id)
{
	if (le16_get(id->cntlid) != c->facts.cntlid)
		return "Identify names another controller than Connect did";
	if (strcmp(c->options.subnqn, NVME_DISCOVERY_NQN) != 0 &&
	    strncmp(c->options.subnqn, id->subnqn, sizeof(id->subnqn)) != 0)
		return "Identify names another subsystem than was asked for (SUBNQN)";
	if (c->facts.discovery && c->options.queues > 0)
		return "it is a discovery controller, which has no I/O queues";
	if (!c->facts.discovery && c->options.kato_ms > 0 && le16_get(id->kas) == 0)
		return "the controller knows no Keep Alive (KAS is 0)";
	return NULL;
}

/* What its I/O queues must be able to. */
static const char *
wrong_queues(const struct ctrlr *c, const struct nvme_identify_ctrl *id)
{
	if (c->facts.discovery || c->options.queues == 0)
		return NULL;
	if (le32_get(id->ioccsz) < 4)
		return "a command does not fit the capsules of the I/O queues (IOCCSZ is below 4)";
	if (le32_get(id->iorcsz) < 1)
		return "a completion does not fit the capsules of the I/O queues (IORCSZ is 0)";
	if (le16_get(id->icdoff) != 0)
		return "data in capsules has to keep a distance, which this host does not know (ICDOFF)";
	if ((le32_get(id->sgls) & (NVME_SGLS_BYTE_ALIGNED | NVME_SGLS_DWORD_ALIGNED)) == 0)
		return "the controller takes no SGLs";
	if (c->facts.entries_max < 2)
		return "its queues hold less than two commands (CAP.MQES, MAXCMD)";
	return NULL;
}

/* How long a silence it bears (Base 2.0, 3.9): it rounds up, and where all traffic counts it may look at the end of
 * each interval alone for whether there was any. */
static uint32_t
quiet_ms(const struct ctrlr *c, const struct nvme_identify_ctrl *id)
{
	uint64_t grain_ms = le16_get(id->kas) * UINT64_C(100), quiet = c->options.kato_ms;

	if (grain_ms > 0)
		quiet = (quiet + grain_ms - 1) / grain_ms * grain_ms;
	if (le32_get(id->ctratt) & NVME_CTRATT_TBKAS)
		quiet *= 2;
	return quiet < UINT32_MAX ? (uint32_t)quiet : UINT32_MAX;
}

static uint32_t
transfer_max(const struct ctrlr *c, const struct nvme_identify_ctrl *id)
{
	unsigned shift = id->mdts + page_shift(c);

	static_assert(QPAIR_TRANSFER_MAX == 4096 << 8, "as far as MDTS is heeded");
	return id->mdts == 0 || shift > 8 ? QPAIR_TRANSFER_MAX : 4096u << shift;
}

static void
learn(struct ctrlr *c, const struct nvme_identify_ctrl *id)
{
	uint64_t capsule = le32_get(id->ioccsz) * UINT64_C(16);
	uint32_t entries = (uint32_t)(c->cap & 0xffff) + 1, maxcmd = le16_get(id->maxcmd);
	struct ctrlr_facts *facts = &c->facts;

	if (maxcmd != 0 && maxcmd < entries)
		entries = maxcmd;
	facts->discovery = id->cntrltype == NVME_CNTRLTYPE_DISCOVERY ||
	    strcmp(c->options.subnqn, NVME_DISCOVERY_NQN) == 0;
	facts->entries_max = entries < UINT16_MAX ? (uint16_t)entries : UINT16_MAX;
	facts->transfer_max = transfer_max(c, id);
	capsule = capsule > sizeof(struct nvme_sqe) ? capsule - sizeof(struct nvme_sqe) : 0;
	facts->incapsule_max = capsule < facts->transfer_max ? (uint32_t)capsule : facts->transfer_max;
	facts->kato_ms = c->options.kato_ms;
	facts->quiet_ms = quiet_ms(c, id);
	facts->ana = !facts->discovery && id->cmic & NVME_CMIC_ANA;
	facts->anatt_ms = facts->ana ? id->anatt * 1000u : 0;
	facts->ana_groups = facts->ana ? le32_get(id->nanagrpid) : 0;
	facts->aborts = id->acl < UINT8_MAX ? (uint8_t)(id->acl + 1) : UINT8_MAX;
}

static bool
identified(struct ctrlr *c, const struct hio *io)
{
	const char *wrong;

	(void)io;
	learn(c, c->identity);
	wrong = wrong_name(c, c->identity);
	if (wrong == NULL)
		wrong = wrong_queues(c, c->identity);
	if (wrong != NULL)
		ctrlr_lose(c, -EPROTO, wrong);
	return wrong == NULL;
}

/* ---- what is asked of it (Base 2.0, 5.27) ---- */

static struct nvme_sqe
set_feature(uint8_t feature, uint32_t value)
{
	return (struct nvme_sqe){
		.opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(feature), .cdw11 = le32_of(value),
	};
}

static bool
wants_queues(const struct ctrlr *c)
{
	return c->options.queues > 0;
}

static struct nvme_sqe
ask_queues(const struct ctrlr *c)
{
	uint32_t last = c->options.queues - 1u;

	return set_feature(NVME_FEATURE_QUEUES, last | last << 16);
}

/* Of submission queues and of completion queues; here the two are one. */
static bool
queues_granted(struct ctrlr *c, const struct hio *io)
{
	uint32_t sqs = (io->req.dw0 & 0xffff) + 1, cqs = (io->req.dw0 >> 16) + 1, queues = c->options.queues;

	if (sqs < queues)
		queues = sqs;
	c->facts.queues = (uint16_t)(cqs < queues ? cqs : queues);
	return true;
}

/* Of Weir's extension (doc/extension.md, Negotiation). */
enum { WANTED = WEIR_CREDITS | WEIR_ORDER | WEIR_FENCE | WEIR_VIEW };

/* Whether it offers any of that. */
static bool
offers_extension(const struct ctrlr *c)
{
	static const char magic[4] = WEIR_MAGIC;
	struct weir_identify weir;

	memcpy(&weir, c->identity->vendor, sizeof(weir));
	return !c->options.plain && memcmp(weir.magic, magic, sizeof(magic)) == 0 &&
	    le16_get(weir.version) >= WEIR_EXTENSION_VERSION &&
	    le16_get(weir.length) >= offsetof(struct weir_identify, capabilities) + sizeof(weir.capabilities) &&
	    (le32_get(weir.capabilities) & WANTED) != 0;
}

static struct nvme_sqe
ask_extension(const struct ctrlr *c)
{
	(void)c;
	return set_feature(WEIR_FEATURE, WANTED);
}

static bool
extension_granted(struct ctrlr *c, const struct hio *io)
{
	uint32_t granted = nvme_ok(io->req.status) ? io->req.dw0 : 0;

	c->facts.fences = granted & WEIR_FENCE;
	c->facts.credits = granted & WEIR_CREDITS;
	c->facts.orders = granted & WEIR_ORDER;
	return true;
}

/* Those of SMART every I/O controller has, and OAES no bit for them. */
static uint32_t
events(const struct ctrlr *c)
{
	uint32_t offered = le32_get(c->identity->oaes) | (c->facts.discovery ? 0 : NVME_ASYNC_SMART);

	return c->options.events & offered;
}

static bool
wants_events(const struct ctrlr *c)
{
	return events(c) != 0;
}

static struct nvme_sqe
ask_events(const struct ctrlr *c)
{
	return set_feature(NVME_FEATURE_EVENTS, events(c));
}

static uint32_t
notices(const struct ctrlr *c)
{
	return events(c) & ~NVME_ASYNC_SMART;
}

/* A target that does not know each of the warnings, as Linux's, refuses them together with all else. */
static bool
wants_notices(const struct ctrlr *c)
{
	return c->facts.events == 0 && notices(c) != 0 && notices(c) != events(c);
}

static struct nvme_sqe
ask_notices(const struct ctrlr *c)
{
	return set_feature(NVME_FEATURE_EVENTS, notices(c));
}

static bool
notices_chosen(struct ctrlr *c, const struct hio *io)
{
	if (nvme_ok(io->req.status))
		c->facts.events = notices(c);
	return true;
}

static bool
events_chosen(struct ctrlr *c, const struct hio *io)
{
	if (nvme_ok(io->req.status))
		c->facts.events = events(c);
	return true;
}

/* ---- one after the other ---- */

static const struct step {
	const char *name;
	struct nvme_sqe (*command)(const struct ctrlr *c);
	bool (*heard)(struct ctrlr *c, const struct hio *io); /* false: it is not over, or all is */
	bool (*wanted)(const struct ctrlr *c);                /* NULL: always */
	bool refusable;                                       /* heard() is asked of an error, too */
} steps[] = {
	{ "reading what the controller can (CAP)", read_cap, cap_read, NULL, false },
	{ "enabling the controller (CC.EN)", enable, enabling, NULL, false },
	{ "asking whether the controller is ready (CSTS)", read_csts, csts_read, NULL, false },
	{ "Identify Controller", identify, identified, NULL, false },
	{ "asking for I/O queues", ask_queues, queues_granted, wants_queues, false },
	{ "asking for what Weir adds", ask_extension, extension_granted, offers_extension, true },
	{ "asking for events", ask_events, events_chosen, wants_events, true },
	{ "asking for events without warnings", ask_notices, notices_chosen, wants_notices, true },
};

enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void
heard(struct hio *io)
{
	struct ctrlr *c = io->owner;
	const struct step *step = &steps[c->step];
	char why[sizeof(c->why)];

	if (io->lost || c->state != CTRLR_RISING)
		return;
	if (!nvme_ok(io->req.status) && !step->refusable) {
		snprintf(why, sizeof(why), "%s failed: %s (%u:%02x)", step->name,
		    nvme_status_text(io->req.status, false), io->req.status.sct, io->req.status.sc);
		ctrlr_lose(c, -EPROTO, why);
	} else if (step->heard(c, io)) {
		c->step++;
		ctrlr_step(c);
	}
}

void
ctrlr_step(struct ctrlr *c)
{
	struct nvme_sqe sqe;

	while (c->step < STEPS && steps[c->step].wanted != NULL && !steps[c->step].wanted(c))
		c->step++;
	if (c->step == STEPS) {
		ctrlr_risen(c);
		return;
	}
	sqe = steps[c->step].command(c);
	ctrlr_ask(c, &sqe, sqe.opcode == NVME_ADMIN_IDENTIFY, heard);
}

const char *
ctrlr_step_name(const struct ctrlr *c)
{
	switch (c->admin.state) {
	case QPAIR_DIALLING:
		return "no TCP connection came about";
	case QPAIR_HELLO:
		return "it takes connections and says nothing (to ICReq); is it an NVMe/TCP target?";
	case QPAIR_CONNECTING:
		return "Connect";
	case QPAIR_UP:
	case QPAIR_ENDING:
	case QPAIR_DOWN:
		break;
	}
	return steps[c->step].name;
}
