/*
 * discovery.c - the discovery log, page 70h (NVMe Base 2.0, 5.16.1.23): what
 * this host may connect to, and where.
 *
 * Which subsystems are shown to whom is decided before; the snapshot of a
 * discovery controller is one host's.
 */
#include "ctrl/internal.h"

/* The page is made anew for each read: of its lines, those that are asked for. */
struct writer {
	const struct window *w;
	uint64_t lines;
};

static void
line(struct writer *writer, const struct portal_info *portal, uint32_t portid,
    enum nvme_subtype subtype, const char *nqn, uint16_t cntlid)
{
	const struct window *w = writer->w;
	struct nvme_log_discovery_entry entry = {
		.trtype = NVME_TRTYPE_TCP,
		.adrfam = portal->ipv6 ? NVME_ADRFAM_IPV6 : NVME_ADRFAM_IPV4,
		.subtype = (uint8_t)subtype, .treq = NVME_TREQ_NO_SQ_FLOW,
		.portid = le16_of((uint16_t)portid), .cntlid = le16_of(cntlid),
		.asqsz = le16_of(CTRL_ADMIN_ENTRIES),
		.eflags = le16_of(subtype == NVME_SUBTYPE_CURRENT ? NVME_EFLAGS_EPCSD : 0),
	};
	uint64_t at = sizeof(struct nvme_log_discovery) + writer->lines++ * sizeof(entry);

	if (at >= w->from + w->room || at + sizeof(entry) <= w->from)
		return;
	ctrl_pad(entry.trsvcid, sizeof(entry.trsvcid), portal->trsvcid);
	ctrl_pad(entry.traddr, sizeof(entry.traddr), portal->traddr);
	memcpy(entry.subnqn, nqn, strlen(nqn));
	window_put(w, at, &entry, sizeof(entry));
}

/* A line for each of the portals that is in the mask and not kept for something else. */
static void
lines_of(struct writer *writer, const struct subsys_info *discovery, uint32_t mask, enum portal_use other,
    enum nvme_subtype subtype, const struct subsys_info *subsys)
{
	uint16_t cntlid = subsys->static_ids > 0 ? NVME_CNTLID_STATIC : NVME_CNTLID_DYNAMIC;

	for (uint32_t i = 0; i < discovery->portal_count; i++)
		if (mask >> i & 1 && discovery->portals[i].use != other)
			line(writer, &discovery->portals[i], i + 1, subtype, subsys->nqn, cntlid);
}

/* This discovery subsystem first, then what it shows, then others that know more. */
static uint64_t
lines_make(const struct subsys_info *discovery, const struct window *w)
{
	struct writer writer = { .w = w };

	lines_of(&writer, discovery, UINT32_MAX, PORTAL_IO, NVME_SUBTYPE_CURRENT, discovery);
	for (uint32_t i = 0; i < discovery->shown_count; i++)
		lines_of(&writer, discovery, discovery->shown[i].portals, PORTAL_DISCOVERY, NVME_SUBTYPE_NVM,
		    discovery->shown[i].subsys);
	for (uint32_t i = 0; i < discovery->referral_count; i++)
		line(&writer, &discovery->referrals[i], discovery->portal_count + i + 1, NVME_SUBTYPE_REFERRAL,
		    NVME_DISCOVERY_NQN, NVME_CNTLID_DYNAMIC);
	return writer.lines;
}

static uint64_t
lines_count(const struct subsys_info *discovery)
{
	return lines_make(discovery, &(struct window){ 0 });
}

void
discovery_make(struct admin *cmd, const struct window *w)
{
	const struct subsys_info *discovery = cmd->ctrl->subsys;
	struct nvme_log_discovery head = { .genctr = le64_of(discovery->genctr) };

	head.numrec = le64_of(lines_make(discovery, w));
	window_put(w, 0, &head, sizeof(head));
}

uint64_t
discovery_bytes(const struct admin *cmd)
{
	return sizeof(struct nvme_log_discovery) +
	    lines_count(cmd->ctrl->subsys) * sizeof(struct nvme_log_discovery_entry);
}
