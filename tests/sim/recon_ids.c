/*
 * recon_ids.c - which controllers hosts ask for, static ones or any, and which they may have.
 */
#include <stdio.h>
#include <string.h>

#include "recon.h"
#include "target/wish.h"

/* ---- by the plans ---- */

bool
plan_has(const struct plan *plan, unsigned subsys, uint16_t cntlid)
{
	unsigned statics = plan->subsys[subsys].statics;

	if (statics == 0)
		return cntlid == NVME_CNTLID_DYNAMIC;
	return cntlid == NVME_CNTLID_STATIC || (cntlid >= 1 && cntlid <= statics);
}

/* Whether some plan since then has what the host asks for, or, with `always`, each of them. */
bool
recon_has(const struct recon *r, unsigned subsys, uint16_t cntlid, uint64_t since_ns, bool always)
{
	for (unsigned i = 0; i < r->plan_count; i++)
		if (r->plans[i].until_ns >= since_ns && plan_has(&r->plans[i], subsys, cntlid) != always)
			return !always;
	return always;
}

/* ---- a host's ---- */

/* Mostly what there is, as far as the operator says: any, or a certain one. */
void
recon_choose_id(struct recon_host *h)
{
	const struct plan_subsys *subsys = &h->r->plans[h->r->plan_count - 1].subsys[h->subsys];

	h->asked = h->discovery || subsys->statics == 0 ? NVME_CNTLID_DYNAMIC : NVME_CNTLID_STATIC;
	if (h->discovery || !(h->r->does & RECON_DOES_STATIC) || h->r->stop || h->r->fail_at > 0)
		return;
	if (rng_below(&h->rng, 8) == 0)
		h->asked = NVME_CNTLID_STATIC;
	else if (rng_below(&h->rng, 3) == 0)
		h->asked = (uint16_t)(1 + rng_below(&h->rng, RECON_HOSTS + 4));
}

/* One of those it asked for; that no two have one at a time the operator looks after. */
void
recon_check_id(struct recon_host *h)
{
	uint16_t id = h->admin.cntlid;

	if (h->discovery)
		return;
	if (!recon_has(h->r, h->subsys, h->asked, h->try_ns, false))
		recon_wrong(h->r, "host %u was let in to %u as %04x", h->index, h->subsys, h->asked);
	if (h->asked == NVME_CNTLID_DYNAMIC)
		return;
	h->r->counts.statics++;
	if (h->asked == NVME_CNTLID_STATIC ? !recon_has(h->r, h->subsys, id, h->try_ns, false) : id != h->asked)
		recon_wrong(h->r, "host %u asked %u for %04x and is %u", h->index, h->subsys, h->asked, id);
}

bool
recon_is_busy(const struct qpair *qp)
{
	return strstr(qp->why, "refused") != NULL && strstr(qp->why, "1:81") != NULL;
}

/* The static controller was another's, or the last dynamic ones had not gone yet. */
bool
recon_was_busy(struct recon_host *h, const struct qpair *qp)
{
	uint64_t since = h->try_ns > 5 * RECON_MS ? h->try_ns - 5 * RECON_MS : 0;

	return recon_is_busy(qp) && qp == &h->admin && !recon_has(h->r, h->subsys, NVME_CNTLID_DYNAMIC, since, true);
}

/* ---- all there are ---- */

struct ids {
	struct recon *r;
	uint64_t there[CTRL_ID_WORDS];
};

static void
one_id(void *arg, const struct target_controller *controller)
{
	struct ids *ids = arg;
	uint64_t *word = &ids->there[controller->cntlid / 64], bit = UINT64_C(1) << controller->cntlid % 64;

	if (*word & bit)
		recon_wrong(ids->r, "there are two controllers %u", controller->cntlid);
	*word |= bit;
}

/* No two controllers of a subsystem have one id, from the answer to Connect until nothing of them is left. */
void
recon_check_ids(struct recon *r)
{
	char nqn[NVME_NQN_FIELD];

	for (unsigned i = 0; i < RECON_SUBSYS; i++) {
		struct ids ids = { .r = r };

		memset(nqn, 0, sizeof(nqn));
		snprintf(nqn, sizeof(nqn), "nqn.2026-11.local.weir:recon%u", i);
		target_each_controller(r->target, nqn, one_id, &ids);
	}
}
