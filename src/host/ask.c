/*
 * ask.c - what a controller is asked beside I/O: ANA states, and who its namespaces are.
 *
 * What is to be asked is noted down, and asked one after the other, so that it
 * does not matter how often or when somebody wants to know.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/internal.h"

enum { LOG_BYTES = 512, BLOCK_SHIFT_MIN = 9, BLOCK_SHIFT_MAX = 16 };

/* While states are in change, or seem wrong, they are asked for again; no longer than a change may take (ANATT). */
static const uint64_t ANA_AGAIN_NS = 100 * NS_PER_MS;

/* While it comes up all is to be answered in one time, afterwards each question in its own. */
static uint32_t
time_left_ms(const struct assoc *assoc)
{
	uint64_t now_ns = assoc->subsys->reactor->now_ns;

	if (assoc->state == ASSOC_LIVE)
		return assoc->subsys->options.io_timeout_ms;
	return assoc->ask_until_ns > now_ns ? (uint32_t)((assoc->ask_until_ns - now_ns) / NS_PER_MS) + 1 : 1;
}

static void
ask(struct assoc *assoc, const char *name, struct nvme_sqe sqe, uint32_t bytes, void (*done)(struct ctrlr_cmd *))
{
	struct hreq *req = &assoc->ask.io.req;

	assert(bytes <= assoc->page_bytes);
	memset(assoc->page, 0, bytes);
	assoc->page_iov = (struct iovec){ assoc->page, bytes };
	req->sqe = sqe;
	req->data = HREQ_READ;
	req->length = bytes;
	req->iov = &assoc->page_iov;
	req->iov_count = 1;
	assoc->ask.name = name;
	assoc->ask.timeout_ms = time_left_ms(assoc);
	assoc->ask.owner = assoc;
	assoc->ask.done = done;
	assoc->asking = true;
	ctrlr_submit(assoc->ctrlr, &assoc->ask);
}

/* NULL: nobody wants to know any more; or it came to harm on its way, and says nothing of what was asked. */
static struct assoc *
answered(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = cmd->owner;
	enum nvme_sc sc = nvme_sc(cmd->io.req.status);

	assoc->asking = false;
	if (!assoc_is_up(assoc) || cmd->io.lost || sc == NVME_SC_HOST_ABORTED)
		assoc_free(assoc);
	else if (sc == NVME_SC_TRANSIENT_TRANSPORT)
		assoc_lose(assoc, -EIO, "an answer came to harm on its way (its data digest is wrong)");
	else
		return assoc;
	return NULL;
}

/* ---- log pages ---- */

static void
get_log(struct assoc *assoc, const char *name, uint8_t lid, uint32_t flags, uint32_t bytes,
    void (*done)(struct ctrlr_cmd *))
{
	uint32_t dwords = bytes / 4 - 1;

	ask(assoc, name, (struct nvme_sqe){
		.opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(lid | flags | dwords << 16), .cdw11 = le32_of(dwords >> 16),
	}, bytes, done);
}

/* What it said does not matter: that it was read lets its event come again. */
static void
log_read(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = answered(cmd);

	if (assoc != NULL)
		ask_on(assoc);
}

static void
ana_again(struct timer *timer)
{
	struct assoc *assoc = container_of(timer, struct assoc, ana_again);

	assoc->want_ana = ctrlr_facts(assoc->ctrlr)->ana;
	ask_on(assoc);
}

static void
ana_soon(struct assoc *assoc)
{
	struct reactor *reactor = assoc->subsys->reactor;

	assoc->ana_again.fire = ana_again;
	if (!assoc->ana_again.armed)
		timer_set(&reactor->timers, &assoc->ana_again, reactor->now_ns + ANA_AGAIN_NS);
}

/* Whether it is in change, and for no longer than that may take: after that its path is given up (Base 2.0, 8.1.4),
 * until the target says another state. */
static bool
is_changing(const struct assoc *assoc, struct assoc_group *group, uint32_t id, enum nvme_ana_state state)
{
	uint64_t now_ns = assoc->subsys->reactor->now_ns;

	if (state != NVME_ANA_CHANGE)
		group->change_ns = 0;
	else if (group->change_ns == 0 || group->id != id)
		group->change_ns = now_ns;
	group->id = id;
	group->state = (uint8_t)state;
	if (state != NVME_ANA_CHANGE)
		return false;
	if (now_ns - group->change_ns < ctrlr_facts(assoc->ctrlr)->anatt_ms * NS_PER_MS)
		return true;
	group->state = NVME_ANA_INACCESSIBLE;
	return false;
}

static void
note_groups(struct assoc *assoc)
{
	const struct nvme_log_ana *log = (const void *)assoc->page;
	uint32_t at = sizeof(*log), end = assoc->page_iov.iov_len > 0 ? (uint32_t)assoc->page_iov.iov_len : 0;
	unsigned count = le16_get(log->group_count);
	bool changing = false;

	assoc->ana_count = 0;
	for (unsigned i = 0; i < count && i < ANA_GROUPS_MAX; i++, at += sizeof(struct nvme_log_ana_group)) {
		const struct nvme_log_ana_group *group = (const void *)(assoc->page + at);

		if (at + sizeof(*group) > end)
			break;
		changing |= is_changing(assoc, &assoc->ana[i], le32_get(group->id), group->state & 15);
		assoc->ana_count = i + 1;
	}
	if (changing)
		ana_soon(assoc);
}

static void
ana_read(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = answered(cmd);
	char why[160];

	if (assoc == NULL)
		return;
	if (!nvme_ok(cmd->io.req.status)) {
		snprintf(why, sizeof(why), "the target does not tell its ANA states: %s",
		    nvme_status_text(cmd->io.req.status, false));
		assoc_lose(assoc, -EPROTO, why);
		return;
	}
	note_groups(assoc);
	if (assoc->state == ASSOC_LIVE)
		subsys_event(assoc->subsys, SUBSYS_ANA, assoc->path->index, 0, 0, "");
	ask_on(assoc);
}

static void
changed_read(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = answered(cmd);

	if (assoc == NULL)
		return;
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++)
		assoc->ns[slot].wanted = assoc->subsys->ns[slot] != NULL;
	ask_on(assoc);
}

enum nvme_ana_state
assoc_ana(const struct assoc *assoc, unsigned slot)
{
	const struct assoc_ns *ns = &assoc->ns[slot];

	if (!ns->usable)
		return 0;
	if (!ctrlr_facts(assoc->ctrlr)->ana)
		return NVME_ANA_OPTIMIZED;
	for (unsigned i = 0; i < assoc->ana_count; i++)
		if (assoc->ana[i].id == ns->ana_group)
			return assoc->ana[i].state;
	return 0;
}

/* ---- namespaces ---- */

static bool
is_known_format(const struct nvme_identify_ns *id)
{
	const struct nvme_lba_format *format = &id->lbaf[(id->flbas & 15) | (id->flbas >> 1 & 0x30)];

	return format->lbads >= BLOCK_SHIFT_MIN && format->lbads <= BLOCK_SHIFT_MAX && le16_get(format->ms) == 0;
}

static uint32_t
block_size(const struct nvme_identify_ns *id)
{
	return 1u << id->lbaf[(id->flbas & 15) | (id->flbas >> 1 & 0x30)].lbads;
}

/* Blocks of a Compare and Write that are done as one (NVM Command Set 1.0, 2.1.4).  It takes two entries of a queue,
 * of which one is never used. */
static uint32_t
compare_write_blocks(const struct assoc *assoc, const struct nvme_identify_ns *id)
{
	const struct nvme_identify_ctrl *ctrl = ctrlr_identity(assoc->ctrlr);

	if (!(le16_get(ctrl->fuses) & NVME_FUSES_COMPARE_WRITE) || ctrlr_facts(assoc->ctrlr)->entries_max < 3)
		return 0;
	if (id->nsfeat & NVME_NSFEAT_ATOMICS && le16_get(id->nacwu) > 0)
		return le16_get(id->nacwu) + 1u;
	return le16_get(ctrl->acwu) + 1u;
}

static bool
is_same(const struct subsys_ns *ns, const struct nvme_identify_ns *id, const uint8_t *descriptors)
{
	return ns->block_size == block_size(id) &&
	    memcmp(ns->identify.nguid, id->nguid, sizeof(id->nguid)) == 0 &&
	    memcmp(ns->identify.eui64, id->eui64, sizeof(id->eui64)) == 0 &&
	    memcmp(ns->descriptors, descriptors, sizeof(ns->descriptors)) == 0;
}

static void
adopt(struct assoc *assoc, struct subsys_ns *ns, const struct nvme_identify_ns *id)
{
	ns->blocks = le64_get(id->nsze);
	ns->block_size = block_size(id);
	ns->compare_write_blocks = compare_write_blocks(assoc, id);
	ns->volatile_cache = ctrlr_identity(assoc->ctrlr)->vwc & NVME_VWC_PRESENT;
	ns->identify = *id;
}

/* It stays as it was while the association says nothing of the namespace: what is in flight may be answered yet. */
static void
note_life(struct assoc *assoc, unsigned slot, const struct nvme_identify_ns *id)
{
	bool plain = assoc->subsys->options.plain;
	struct cache_life *was = assoc->ns[slot].life;

	assoc->ns[slot].life = cache_life_take(&assoc->subsys->caches[slot], plain ? 0 : weir_cache_life(id->vendor));
	cache_life_give(was);
}

static void
seen(struct assoc *assoc, unsigned slot)
{
	const struct nvme_identify_ns *id = &assoc->identify;
	struct subsys_ns *ns = assoc->subsys->ns[slot];
	struct assoc_ns *here = &assoc->ns[slot];
	/* What is known is expected of an association that has not looked yet. */
	bool was_usable = !here->seen || here->usable, is_new = ns->block_size == 0;
	uint64_t blocks = ns->blocks;
	const char *why = "";

	here->seen = true;
	here->usable = false;
	here->ana_group = le32_get(id->anagrpid);
	if (le64_get(id->ncap) > 0 && is_known_format(id)) {
		if (is_new)
			memcpy(ns->descriptors, assoc->page, sizeof(ns->descriptors));
		here->usable = is_new || is_same(ns, id, assoc->page);
		if (here->usable) {
			adopt(assoc, ns, id);
			note_life(assoc, slot, id);
		} else {
			why = "another identity than by other paths, or before: it is not used by this one";
		}
	}
	if (!is_new && (here->usable != was_usable || blocks != ns->blocks))
		subsys_event(assoc->subsys, SUBSYS_NAMESPACE, assoc->path->index, ns->nsid, 0, why);
}

static void
descriptors_read(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = answered(cmd);

	if (assoc == NULL)
		return;
	/* Where a target has none, the other names must do; but of a namespace that has gone since it was identified
	 * nothing is known, or it would be taken for another one when it is back. */
	if (!nvme_ok(cmd->io.req.status))
		memset(assoc->page, 0, NVME_IDENTIFY_LEN);
	if (nvme_sc(cmd->io.req.status) == NVME_SC_INVALID_NS)
		memset(&assoc->identify, 0, sizeof(assoc->identify));
	if (assoc->subsys->ns[assoc->ask_slot] != NULL)
		seen(assoc, assoc->ask_slot);
	ask_on(assoc);
}

static void
identify(struct assoc *assoc, const char *name, uint8_t cns, uint32_t nsid, void (*done)(struct ctrlr_cmd *))
{
	ask(assoc, name, (struct nvme_sqe){
		.opcode = NVME_ADMIN_IDENTIFY, .nsid = le32_of(nsid), .cdw10 = le32_of(cns),
	}, NVME_IDENTIFY_LEN, done);
}

static void
namespace_read(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = answered(cmd);

	if (assoc == NULL)
		return;
	/* One that is not there is as good as one of no blocks. */
	if (!nvme_ok(cmd->io.req.status))
		memset(assoc->page, 0, NVME_IDENTIFY_LEN);
	memcpy(&assoc->identify, assoc->page, sizeof(assoc->identify));
	if (assoc->subsys->ns[assoc->ask_slot] != NULL)
		identify(assoc, "Identify Namespace, its descriptors", 3,
		    assoc->subsys->ns[assoc->ask_slot]->nsid, descriptors_read);
	else
		ask_on(assoc);
}

/* ---- one after the other ---- */

static bool
ask_namespace(struct assoc *assoc)
{
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++) {
		if (!assoc->ns[slot].wanted || assoc->subsys->ns[slot] == NULL)
			continue;
		assoc->ns[slot].wanted = false;
		assoc->ask_slot = slot;
		identify(assoc, "Identify Namespace", 0, assoc->subsys->ns[slot]->nsid, namespace_read);
		return true;
	}
	return false;
}

static uint32_t
ana_bytes(const struct assoc *assoc)
{
	uint32_t groups = ctrlr_facts(assoc->ctrlr)->ana_groups;

	groups = groups < ANA_GROUPS_MAX ? groups : ANA_GROUPS_MAX;
	return (uint32_t)(sizeof(struct nvme_log_ana) + groups * sizeof(struct nvme_log_ana_group));
}

void
ask_on(struct assoc *assoc)
{
	if (assoc->asking || !assoc_is_up(assoc))
		return;
	if (assoc->want_changed) {
		assoc->want_changed = false;
		get_log(assoc, "Get Log Page, changed namespaces", NVME_LOG_CHANGED_NS, 0, NVME_IDENTIFY_LEN,
		    changed_read);
	} else if (assoc->want_log != 0) {
		uint8_t lid = assoc->want_log;

		assoc->want_log = 0;
		get_log(assoc, "Get Log Page, of an event", lid, 0, LOG_BYTES, log_read);
	} else if (assoc->want_ana) {
		assoc->want_ana = false;
		get_log(assoc, "Get Log Page, ANA states", NVME_LOG_ANA, NVME_ANA_RGO, ana_bytes(assoc), ana_read);
	} else if (!ask_namespace(assoc)) {
		assoc_asked(assoc);
	}
}

int
ask_start(struct assoc *assoc)
{
	uint32_t bytes = ana_bytes(assoc);

	assoc->page_bytes = bytes > NVME_IDENTIFY_LEN ? bytes : NVME_IDENTIFY_LEN;
	assoc->page = arena_alloc_aligned(assoc->subsys->reactor->arena, assoc->page_bytes, 4096);
	if (assoc->page == NULL)
		return -ENOMEM;
	assoc->ask_until_ns = assoc->subsys->reactor->now_ns +
	    assoc->subsys->options.connect_ms * NS_PER_MS;
	assoc->want_ana = ctrlr_facts(assoc->ctrlr)->ana;
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++)
		assoc->ns[slot].wanted = assoc->subsys->ns[slot] != NULL;
	ask_on(assoc);
	return 0;
}

void
ask_event(struct assoc *assoc, uint32_t dw0)
{
	uint32_t type = dw0 & 7, information = dw0 >> 8 & 0xff;
	uint8_t lid = (uint8_t)(dw0 >> 16);

	if (type == NVME_EVENT_NOTICE && information == NVME_NOTICE_ANA) {
		assoc->want_ana = true;
	} else if (type == NVME_EVENT_NOTICE && information == NVME_NOTICE_NS) {
		assoc->want_changed = true;
	} else {
		assoc->want_log = lid;
		subsys_event(assoc->subsys, SUBSYS_HEALTH, assoc->path->index, 0, dw0, "");
	}
	ask_on(assoc);
}

void
ask_stale(struct assoc *assoc)
{
	ana_soon(assoc);
}

void
ask_end(struct assoc *assoc)
{
	timer_clear(&assoc->subsys->reactor->timers, &assoc->ana_again);
}
