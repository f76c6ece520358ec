/*
 * recon_beliefs.c - what does a host believe?  It reads the page that each event
 * points to and keeps what it learns; at the end that is what the last plan says.
 *
 * Each step begins one command, whose end calls the next.  How a host came here,
 * and what it does to the namespaces, is not known.
 */
#include <string.h>

#include "recon_host.h"
#include "wire/identify.h"

/* ---- one command after the other ---- */

static void
command_done(struct hio *io)
{
	struct recon_host *h = io->owner;

	if (!h->losing && h->admin.state == QPAIR_UP)
		h->then(h);
}

void
recon_command(struct recon_host *h, const struct nvme_sqe *sqe, uint32_t read_bytes, void (*then)(struct recon_host *))
{
	h->command.req.sqe = *sqe;
	h->command.req.data = read_bytes > 0 ? HREQ_READ : HREQ_NONE;
	h->command.req.length = read_bytes;
	h->page_iov = (struct iovec){ h->page, read_bytes };
	h->command.req.iov = &h->page_iov;
	h->command.req.iov_count = 1;
	h->command.owner = h;
	h->command.done = command_done;
	h->then = then;
	(void)qpair_submit(&h->admin, &h->command);
}

static void
read_log(struct recon_host *h, uint8_t lid, uint32_t bytes, void (*then)(struct recon_host *))
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(lid | (bytes / 4 - 1) << 16) };

	memset(h->page, 0, bytes);
	recon_command(h, &sqe, bytes, then);
}

static void
identify(struct recon_host *h, uint32_t cns, uint32_t nsid, void (*then)(struct recon_host *))
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY, .nsid = le32_of(nsid), .cdw10 = le32_of(cns) };

	memset(h->page, 0, 4096);
	recon_command(h, &sqe, 4096, then);
}

bool
recon_command_ok(struct recon_host *h, const char *what)
{
	if (!nvme_ok(h->command.req.status))
		recon_wrong(h->r, "%s: status %03x", what, (unsigned)nvme_sc(h->command.req.status));
	return nvme_ok(h->command.req.status);
}

/* ---- what it knows ---- */

static void
log_read(struct recon_host *h)
{
	const struct nvme_log_discovery *log = (const void *)h->page;
	uint64_t lines = le64_get(log->numrec);

	recon_command_ok(h, "log 70h");
	memset(h->shown, 0, sizeof(h->shown));
	if (lines > (RECON_SUBSYS + 1) * RECON_LISTEN)
		recon_wrong(h->r, "the discovery log has %u lines", (unsigned)lines);
	for (uint64_t i = 0; i < lines && i < RECON_PAGE / 1024 - 1; i++) {
		const struct nvme_log_discovery_entry *entry = &log->entries[i];
		unsigned listener = 0, subsys = RECON_SUBSYS;

		while (listener < RECON_LISTEN && entry->trsvcid[3] != '0' + (char)listener)
			listener++;
		if (entry->subtype == NVME_SUBTYPE_NVM)
			subsys = (unsigned)(entry->subnqn[strnlen((const char *)entry->subnqn, 223) - 1] - '0');
		if (listener < RECON_LISTEN && subsys <= RECON_SUBSYS && !h->shown[subsys][listener])
			h->shown[subsys][listener] = true;
		else
			recon_wrong(h->r, "the discovery log shows what is not there, or twice");
	}
	recon_refresh(h);
}

static void
ana_read(struct recon_host *h)
{
	const struct nvme_log_ana *log = (const void *)h->page;
	size_t at = sizeof(*log);

	recon_command_ok(h, "log 0Ch");
	if (le64_get(log->changes) < h->ana_changes)
		recon_wrong(h->r, "the ANA log's change count went back");
	h->ana_changes = le64_get(log->changes);
	for (unsigned i = 0; i < le16_get(log->group_count) && i < RECON_GROUPS; i++) {
		struct nvme_log_ana_group group;

		memcpy(&group, h->page + at, sizeof(group));
		at += sizeof(group) + 4 * le32_get(group.ns_count);
		h->state[le32_get(group.id) == 1 ? 0 : 1] = group.state & 15;
	}
	recon_refresh(h);
}

static void
namespace_read(struct recon_host *h)
{
	const struct nvme_identify_ns *id = (const void *)h->page;
	unsigned index = recon_ns_index(h->list[h->list_at++]);

	/* One that went meanwhile is told of again. */
	if (nvme_ok(h->command.req.status) && index < RECON_NS) {
		h->blocks[index] = le64_get(id->nsze);
		h->group[index] = le32_get(id->anagrpid);
	}
	if (h->list_at < h->list_count)
		identify(h, 0, h->list[h->list_at], namespace_read);
	else
		recon_refresh(h);
}

static void
list_read(struct recon_host *h)
{
	recon_command_ok(h, "the list of namespaces");
	memset(h->blocks, 0, sizeof(h->blocks));
	h->list_at = h->list_count = 0;
	for (unsigned i = 0; i <= RECON_NS && get_le32(h->page + 4 * i) != 0; i++)
		h->list[h->list_count++] = get_le32(h->page + 4 * i);
	for (unsigned i = 0; i < h->list_count; i++)
		if (recon_ns_index(h->list[i]) == RECON_NS)
			recon_wrong(h->r, "a namespace %u that no plan has", h->list[i]);
	if (h->list_count > 0)
		identify(h, 0, h->list[0], namespace_read);
	else
		recon_refresh(h);
}

static void
changed_read(struct recon_host *h)
{
	recon_command_ok(h, "log 04h");
	identify(h, 2, 0, list_read);
}

void
recon_refresh(struct recon_host *h)
{
	uint32_t dirty = h->dirty;

	h->refreshing = dirty != 0;
	if (dirty & DIRTY_NS) {
		h->dirty &= ~(uint32_t)DIRTY_NS;
		read_log(h, NVME_LOG_CHANGED_NS, 4096, changed_read);
	} else if (dirty & DIRTY_ANA) {
		h->dirty &= ~(uint32_t)DIRTY_ANA;
		read_log(h, NVME_LOG_ANA, 4096, ana_read);
	} else if (dirty & DIRTY_LOG) {
		h->dirty &= ~(uint32_t)DIRTY_LOG;
		read_log(h, NVME_LOG_DISCOVERY, RECON_PAGE, log_read);
	} else if (!h->running && !h->discovery && h->opened == 0) {
		recon_open_next(h);
	} else if (h->discovery) {
		h->running = true;
		h->trying = false;
	}
}

static void
event(struct hio *io)
{
	struct recon_host *h = io->owner;
	uint8_t info = (uint8_t)(io->req.dw0 >> 8), page = (uint8_t)(io->req.dw0 >> 16);

	if (h->losing || h->admin.state != QPAIR_UP || !nvme_ok(io->req.status))
		return;
	if ((io->req.dw0 & 7) != NVME_EVENT_NOTICE || info != (page == NVME_LOG_CHANGED_NS ? NVME_NOTICE_NS :
	    page == NVME_LOG_ANA ? NVME_NOTICE_ANA : NVME_NOTICE_DISCOVERY))
		recon_wrong(h->r, "an event of type %u, %02x, points to page %02x", io->req.dw0 & 7, info, page);
	h->r->counts.notices++;
	h->dirty |= page == NVME_LOG_CHANGED_NS ? DIRTY_NS : page == NVME_LOG_ANA ? DIRTY_ANA :
	    page == NVME_LOG_DISCOVERY ? DIRTY_LOG : 0;
	recon_listen(h);
	if (!h->refreshing && h->running)
		recon_refresh(h);
}

void
recon_listen(struct recon_host *h)
{
	h->aer.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ASYNC_EVENT };
	h->aer.req.data = HREQ_NONE;
	h->aer.owner = h;
	h->aer.done = event;
	(void)qpair_submit(&h->admin, &h->aer);
}

/* ---- at the end: what it knows is what the last plan says ---- */

static void
check_log(struct recon_host *h, const struct plan *plan)
{
	for (unsigned s = 0; s <= RECON_SUBSYS; s++) {
		for (unsigned l = 0; l < RECON_LISTEN; l++) {
			bool is = s == RECON_SUBSYS ? plan->listeners >> l & 1 : plan_admits(plan, s, 0, l);

			if (is != h->shown[s][l])
				recon_wrong(h->r, "host 0 believes that subsystem %u is%s reached by %u", s,
				    is ? " not" : "", l);
		}
	}
}

void
recon_host_check(struct recon_host *h)
{
	const struct plan *plan = &h->r->plans[h->r->plan_count - 1];
	const struct plan_subsys *subsys = &plan->subsys[h->subsys];
	bool could = h->discovery;

	for (unsigned s = 0; s < RECON_SUBSYS; s++)
		for (unsigned l = 0; l < RECON_LISTEN; l++)
			could = could || plan_admits(plan, s, h->index, l);
	/* Where connections are reset it may just be on its way again. */
	if (h->running != could && !(could && h->r->does & RECON_DOES_RESETS))
		recon_wrong(h->r, "host %u is%s connected", h->index, could ? " not" : "");
	if (!h->running)
		return;
	if (h->refreshing || h->dirty != 0)
		recon_wrong(h->r, "host %u still reads", h->index);
	if (h->discovery) {
		check_log(h, plan);
		return;
	}
	for (unsigned i = 0; i < RECON_NS; i++) {
		const struct plan_ns *ns = &subsys->ns[i];
		uint64_t blocks = ns->volume < 0 ? 0 : ns->blocks > 0 ? ns->blocks : RECON_BLOCKS;

		if (h->blocks[i] != blocks)
			recon_wrong(h->r, "host %u believes that namespace %u has %u blocks, not %u", h->index,
			    recon_nsid(i), (unsigned)h->blocks[i], (unsigned)blocks);
		if (blocks > 0 && (h->group[i] == 1 ? 0u : 1u) != ns->group)
			recon_wrong(h->r, "host %u takes namespace %u for one of group %u", h->index, recon_nsid(i),
			    h->group[i]);
	}
	for (unsigned g = 0; g < RECON_GROUPS; g++)
		if (h->state[g] != subsys->state[g][h->listener])
			recon_wrong(h->r, "host %u believes that group %u is %u, not %u", h->index, g, h->state[g],
			    subsys->state[g][h->listener]);
}
