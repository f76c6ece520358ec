/*
 * check.c - what a config may not be, said in words.
 *
 * It is our caller's mistake; whether the world has the addresses and the
 * volumes is seen later.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/view.h"

static bool
check_nqn(const char *nqn)
{
	char field[NVME_NQN_FIELD] = { 0 };

	if (strlen(nqn) > NVME_NQN_MAX)
		return false;
	memcpy(field, nqn, strlen(nqn));
	return nvme_nqn_length(field) >= 0;
}

static int
check_namespaces(const struct target_subsys *subsys, char why[256])
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < subsys->ns_count; i++) {
		const struct target_ns *ns = &subsys->ns[i];
		bool group = ns->ana_group == 0 ? subsys->ana_count <= 1 : subsys->ana_count == 0 && ns->ana_group == 1;

		for (uint32_t k = 0; k < subsys->ana_count; k++)
			group = group || subsys->ana[k].id == ns->ana_group;
		if (ns->nsid <= last || ns->nsid > CTRL_NS_MAX || !group || ns->blocks > ns->volume->blocks) {
			snprintf(why, 256, "namespace %u of %.180s: %s", ns->nsid, subsys->nqn,
			    !group ? "its ANA group is not there" : ns->blocks > ns->volume->blocks ?
			    "larger than its volume" : "NSIDs are 1 to 1024, ascending, each once");
			return -EINVAL;
		}
		last = ns->nsid;
	}
	return 0;
}

static int
check_subsys(const struct target_subsys *subsys, char why[256])
{
	uint32_t last = 0;

	if (!check_nqn(subsys->nqn) || strcmp(subsys->nqn, NVME_DISCOVERY_NQN) == 0) {
		snprintf(why, 256,
		    "'%.120s' is not an NQN for a subsystem (nqn.yyyy-mm.reverse.domain:name, of %d bytes "
		    "at most)", subsys->nqn, NVME_NQN_MAX);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < subsys->ana_count; i++) {
		if (subsys->ana[i].id <= last || subsys->ana[i].id > CTRL_ANA_MAX) {
			snprintf(why, 256, "%.180s: ANA groups are 1 to %d, ascending, each once", subsys->nqn,
			    CTRL_ANA_MAX);
			return -EINVAL;
		}
		last = subsys->ana[i].id;
	}
	for (uint32_t i = 0; i < subsys->host_count; i++) {
		if (!check_nqn(subsys->hosts[i])) {
			snprintf(why, 256, "'%.160s' is not an NQN for a host", subsys->hosts[i]);
			return -EINVAL;
		}
	}
	if (subsys->io_queues_max > TARGET_IO_QUEUES || subsys->entries_max > TARGET_QUEUE_ENTRIES) {
		snprintf(why, 256, "%.180s: more than %d I/O queues of %d entries", subsys->nqn, TARGET_IO_QUEUES,
		    TARGET_QUEUE_ENTRIES);
		return -EINVAL;
	}
	if (subsys->static_controllers && subsys->controllers_max > NVME_CNTLID_MAX) {
		snprintf(why, 256, "%.180s: more than %d static controllers", subsys->nqn, NVME_CNTLID_MAX);
		return -EINVAL;
	}
	if (subsys->host_count > TARGET_HOSTS_MAX) {
		snprintf(why, 256, "%.180s: more than %d hosts", subsys->nqn, TARGET_HOSTS_MAX);
		return -EINVAL;
	}
	return check_namespaces(subsys, why);
}

/* Each address once; of port 0 there may be many, which are all different in the end. */
static int
check_listeners(const struct target_config *config, char why[256])
{
	for (uint32_t i = 0; i < config->listen_count; i++) {
		const struct target_listen *a = &config->listen[i];

		for (uint32_t k = 0; k < i; k++) {
			const struct target_listen *b = &config->listen[k];

			if (a->port == 0 || a->port != b->port || strcmp(a->host, b->host) != 0)
				continue;
			snprintf(why, 256, "two listeners on %s:%u", a->host, a->port);
			return -EINVAL;
		}
	}
	return 0;
}

int
view_check(const struct target_config *config, char why[256])
{
	uint32_t volumes = 0;

	if (config->listen_count == 0 || config->listen_count > TARGET_LISTENERS_MAX ||
	    config->subsys_count > TARGET_SUBSYS_MAX || config->referral_count > CTRL_REFERRALS_MAX) {
		snprintf(why, 256, "1 to %d listeners, %d subsystems and %d referrals at most, please",
		    TARGET_LISTENERS_MAX, TARGET_SUBSYS_MAX, CTRL_REFERRALS_MAX);
		return -EINVAL;
	}
	if (check_listeners(config, why) != 0)
		return -EINVAL;
	for (uint32_t i = 0; i < config->subsys_count; i++) {
		int rc = check_subsys(&config->subsys[i], why);

		if (rc != 0)
			return rc;
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(config->subsys[k].nqn, config->subsys[i].nqn) == 0) {
				snprintf(why, 256, "two subsystems are called %.200s", config->subsys[i].nqn);
				return -EINVAL;
			}
		}
		volumes += config->subsys[i].ns_count;
	}
	if (volumes > TARGET_VOLUMES_MAX) {
		snprintf(why, 256, "more than %d namespaces", TARGET_VOLUMES_MAX);
		return -EINVAL;
	}
	return 0;
}
