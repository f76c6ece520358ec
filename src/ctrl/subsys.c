#include "ctrl/subsys.h"

const struct ns_info *
subsys_ns(const struct subsys_info *subsys, uint32_t nsid)
{
	uint32_t from = 0, to = subsys->ns_count;

	while (from < to) {
		uint32_t at = from + (to - from) / 2;

		if (subsys->ns[at].nsid == nsid)
			return &subsys->ns[at];
		if (subsys->ns[at].nsid < nsid)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

static bool
is_host(const struct ns_info *ns, const char *hostnqn)
{
	uint32_t from = 0, to = ns->host_count;

	while (from < to) {
		uint32_t at = from + (to - from) / 2;
		int order = strncmp(ns->hosts[at], hostnqn, NVME_NQN_FIELD);

		if (order == 0)
			return true;
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return false;
}

static bool
is_other(const struct ns_info *ns, uint64_t association)
{
	uint32_t from = 0, to = ns->other_count;

	while (from < to) {
		uint32_t at = from + (to - from) / 2;

		if (ns->others[at] == association)
			return true;
		if (ns->others[at] < association)
			from = at + 1;
		else
			to = at;
	}
	return false;
}

bool
subsys_attached(const struct ns_info *ns, const char *hostnqn, uint64_t association)
{
	return !ns->listed || is_host(ns, hostnqn) != is_other(ns, association);
}

bool
subsys_same_lists(const struct ns_info *a, const struct ns_info *b)
{
	return a->listed == b->listed && a->host_count == b->host_count && a->other_count == b->other_count &&
	    (a->host_count == 0 || memcmp(a->hosts, b->hosts, a->host_count * sizeof(*a->hosts)) == 0) &&
	    (a->other_count == 0 || memcmp(a->others, b->others, a->other_count * sizeof(*a->others)) == 0);
}

bool
subsys_volatile_cache(const struct subsys_info *subsys)
{
	for (uint32_t i = 0; i < subsys->ns_count; i++)
		if (subsys->ns[i].volatile_cache)
			return true;
	return false;
}

bool
subsys_marks_bad(const struct subsys_info *subsys)
{
	for (uint32_t i = 0; i < subsys->ns_count; i++)
		if (subsys->ns[i].marks_bad)
			return true;
	return false;
}

void
subsys_assert(const struct subsys_info *subsys)
{
	uint64_t groups = 0;
	uint32_t last = 0;

	static_assert(CTRL_ANA_MAX <= 64, "a bit for each group");
	assert(subsys->mdts_shift > 0 && subsys->portal_count <= CTRL_PORTALS_MAX);
	assert(subsys->shown_count <= CTRL_SHOWN_MAX && subsys->referral_count <= CTRL_REFERRALS_MAX);
	for (uint32_t i = 0; i < subsys->ana_count; i++) {
		assert(subsys->ana[i].id > last && subsys->ana[i].id <= CTRL_ANA_MAX);
		last = subsys->ana[i].id;
		groups |= UINT64_C(1) << (last - 1);
	}
	last = 0;
	for (uint32_t i = 0; i < subsys->ns_count; i++) {
		const struct ns_info *ns = &subsys->ns[i];

		assert(ns->nsid > last && ns->nsid <= CTRL_NS_MAX);
		assert(ns->ana_group <= CTRL_ANA_MAX && (groups != 0) == (ns->ana_group != 0));
		assert(groups == 0 || groups >> (ns->ana_group - 1) & 1);
		last = ns->nsid;
	}
}
