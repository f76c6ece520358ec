/*
 * serving_config.c - from a configuration, and what hosts have made, to what a target is told.
 *
 * All of it lies in an arena that goes once the target has read it.  Volumes are opened on the way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "refuse.h"
#include "serve.h"
#include "sharing.h"
#include "volumes.h"

struct identity
identity_of(const struct conf_ns *ns, const struct volume *volume)
{
	static const uint8_t none[16];
	struct identity identity = { .lasts = volume->blk->path != NULL || memcmp(ns->uuid, none, sizeof(none)) != 0 };
	uint8_t derived[16];

	target_uuid(ns->uuid, volume->id, identity.uuid);
	target_uuid(none, volume->id, derived);
	memcpy(identity.before, memcmp(derived, identity.uuid, 16) == 0 ? volume->id : identity.uuid, 16);
	return identity;
}

struct made_ns *
identity_made(const struct made *made, const char *nqn, uint32_t nsid, const struct identity *identity)
{
	struct made_ns *ns = made_of_operator(made, nqn, nsid, identity->uuid);

	return ns != NULL ? ns : made_of_operator(made, nqn, nsid, identity->before);
}

static int
make_ns(const struct making *m, const struct conf_subsys *subsys, const struct conf_ns *from, const char *given,
    struct target_ns *ns, char why[256])
{
	const struct made_ns *asked;
	struct identity identity;
	int rc;
	struct volume *volume = volume_ready(m->serving, subsys, from, given, &rc, why);

	if (volume == NULL)
		return rc;
	ns->volume = volume->blk;
	ns->nsid = from->nsid;
	ns->blocks = from->size / from->block_size;
	memcpy(ns->nguid, from->nguid, sizeof(ns->nguid));
	memcpy(ns->uuid, from->uuid, sizeof(ns->uuid));
	memcpy(ns->id, volume->id, sizeof(ns->id));
	ns->ana_group = from->ana_group;
	ns->protection = from->write_protected ? NVME_PROTECT_WRITES : NVME_PROTECT_NONE;
	identity = identity_of(from, volume);
	asked = identity_made(m->made, subsys->nqn, from->nsid, &identity);
	if (asked != NULL && asked->protection > ns->protection)
		ns->protection = (enum nvme_protection)asked->protection;
	return sharing_volume(&m->from->conf->qos, from, m->arena, &ns->fair) == 0 ? 0 :
	    refuse(why, -ENOMEM, "out of memory");
}

static int
make_made_ns(const struct making *m, const struct conf_subsys *subsys, const struct made_ns *from, struct target_ns *ns,
    char why[256])
{
	int rc;
	struct volume *volume = volume_ready_made(m->serving, subsys, m->made, from, &rc, why);

	if (volume == NULL)
		return rc;
	*ns = (struct target_ns){
		.nsid = from->nsid, .volume = volume->blk, .blocks = from->blocks, .ana_group = from->ana_group,
		.protection = (enum nvme_protection)from->protection, .private = !from->shared, .listed = true,
		.hosts = from->hosts, .host_count = from->host_count, .others = from->others,
		.other_count = from->other_count,
	};
	memcpy(ns->id, from->uuid, sizeof(ns->id));
	if (from->kept)
		memcpy(ns->uuid, from->uuid, sizeof(ns->uuid));
	return sharing_usual(&m->from->conf->qos, m->arena, &ns->fair) == 0 ? 0 :
	    refuse(why, -ENOMEM, "out of memory");
}

static int
by_nsid(const void *a, const void *b)
{
	const struct target_ns *x = a, *y = b;

	return x->nsid < y->nsid ? -1 : x->nsid > y->nsid;
}

/* Those of the configuration and those of hosts, in one list. */
static int
make_namespaces(const struct making *m, const struct conf_subsys *from, struct target_subsys *subsys, char why[256])
{
	struct target_ns *ns = arena_alloc(m->arena, (from->ns_count + m->made->count + 1) * sizeof(*ns));
	uint32_t count = 0;
	int rc = 0;

	if (ns == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	for (; count < from->ns_count && rc == 0; count++)
		rc = make_ns(m, from, &from->ns[count], m->from->specs != NULL ? m->from->specs[count] : NULL,
		    &ns[count], why);
	for (uint32_t i = 0; i < m->made->count && rc == 0; i++)
		if (m->made->ns[i].own && strcmp(m->made->ns[i].nqn, from->nqn) == 0)
			rc = make_made_ns(m, from, &m->made->ns[i], &ns[count++], why);
	qsort(ns, count, sizeof(*ns), by_nsid);
	subsys->ns = ns;
	subsys->ns_count = count;
	return rc;
}

static int
make_subsys(const struct making *m, const struct conf_subsys *from, struct target_subsys *subsys, char why[256])
{
	struct target_ana *ana = arena_alloc(m->arena, from->ana_count * sizeof(*ana));
	uint64_t used = made_bytes(m->made, from->nqn);

	if (ana == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < from->ana_count; i++) {
		ana[i].id = from->ana[i].id;
		for (uint32_t k = 0; k < m->from->conf->listener_count; k++)
			ana[i].state[k] = (enum nvme_ana_state)conf_ana_on(&from->ana[i], k);
	}
	*subsys = (struct target_subsys){
		.nqn = from->nqn, .serial = from->serial, .model = from->model, .listeners = from->listeners,
		.hosts_listed = !from->any_host, .hosts = from->hosts, .host_count = from->host_count,
		.ana = ana, .ana_count = from->ana_count,
		.static_controllers = from->static_controllers, .controllers_max = from->controllers_max,
		.io_queues_max = from->queues_max,
		.entries_max = from->entries_max, .ns_management = from->pool != NULL,
		.capacity_free = from->pool_size > used ? from->pool_size - used : 0,
		.nwpc = m->from->conf->state_dir != NULL ? NVME_NWPC_PROTECT | NVME_NWPC_POWER_CYCLE : 0,
	};
	identify_subsys(from->nqn, subsys->identity);
	return make_namespaces(m, from, subsys, why);
}

static void
make_address(const struct conf_address *from, struct target_listen *listen)
{
	memcpy(listen->host, from->host, sizeof(listen->host));
	listen->port = from->port;
}

/* A listener with any free port keeps the one it has, as long as it keeps its name. */
static void
make_listen(const struct serving *serving, const struct conf_listener *from, struct target_listen *listen)
{
	static const enum portal_use uses[] = {
		[CONF_DISCOVERY_YES] = PORTAL_ANY, [CONF_DISCOVERY_NO] = PORTAL_IO,
		[CONF_DISCOVERY_ONLY] = PORTAL_DISCOVERY,
	};
	const struct conf *now = serving->now->conf;

	make_address(&from->address, listen);
	for (uint32_t i = 0; i < now->listener_count && serving->target != NULL && from->address.port == 0; i++) {
		const struct conf_listener *had = &now->listeners[i];

		if (had->address.port == 0 && strcmp(had->name, from->name) == 0 &&
		    strcmp(had->address.host, from->address.host) == 0)
			*listen = *target_bound(serving->target, i);
	}
	listen->use = uses[from->discovery];
}

int
serving_config(const struct making *m, struct target_config *config, char why[256])
{
	const struct conf *conf = m->from->conf;
	struct target_listen *listen = arena_alloc(m->arena, conf->listener_count * sizeof(*listen));
	struct target_listen *referrals = arena_alloc(m->arena, (conf->referral_count + 1) * sizeof(*referrals));
	struct target_subsys *subsys = arena_alloc(m->arena, (conf->subsys_count + 1) * sizeof(*subsys));
	struct fair_terms terms;

	if (listen == NULL || referrals == NULL || subsys == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < conf->listener_count; i++)
		make_listen(m->serving, &conf->listeners[i], &listen[i]);
	for (uint32_t i = 0; i < conf->referral_count; i++)
		make_address(&conf->referrals[i], &referrals[i]);
	for (uint32_t i = 0; i < conf->subsys_count; i++) {
		int rc = make_subsys(m, &conf->subsys[i], &subsys[i], why);

		if (rc != 0)
			return rc;
	}
	if (sharing_terms(&conf->qos, m->arena, &terms) != 0)
		return refuse(why, -ENOMEM, "out of memory");
	*config = (struct target_config){
		.fair = terms,
		.listen = listen, .listen_count = conf->listener_count, .subsys = subsys,
		.subsys_count = conf->subsys_count,
		.referrals = referrals, .referral_count = conf->referral_count,
		.connections_max = conf->connections_max,
		.order = m->serving->order, .state_dir = conf->state_dir, .handshake_timeout_ms = conf->handshake_ms,
		.stall_timeout_ms = conf->stall_ms,
		.keeper = &m->serving->hosted.keeper, .again = m->wish != NULL,
		.asker = m->wish != NULL ? m->wish->asker.cntlid : 0,
	};
	return 0;
}
