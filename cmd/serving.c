#include "serving.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"
#include "world/reactor.h"

/* One that is open. */
struct volume {
	struct list node;
	struct blk *blk;
	char nqn[CONF_NQN_MAX + 1], volume[CONF_VOLUME_MAX + 32]; /* as configured: of which namespace */
	uint32_t nsid, block_size;
	uint8_t id[16];
	bool wanted;  /* by the configuration that is being made */
	bool retired; /* by the one that holds: it is closed as soon as the target is done with it */
};

static int __attribute__((format(printf, 3, 4)))
refuse(char why[256], int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, 256, format, args);
	va_end(args);
	return rc;
}

struct configured *
configured_make(void)
{
	struct configured *configured = calloc(1, sizeof(*configured));

	if (configured != NULL)
		arena_init(&configured->arena, 0);
	return configured;
}

void
configured_drop(struct configured *configured)
{
	if (configured == NULL)
		return;
	arena_drop(&configured->arena);
	free(configured);
}

/* ---- volumes ---- */

static struct volume *
volume_find(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns)
{
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		if (!volume->retired && volume->nsid == ns->nsid && volume->block_size == ns->block_size &&
		    strcmp(volume->nqn, subsys->nqn) == 0 && strcmp(volume->volume, ns->volume) == 0)
			return volume;
	}
	return NULL;
}

static void
volume_close(struct serving *serving, struct volume *volume)
{
	list_remove(&volume->node);
	volume->blk->ops->destroy(volume->blk);
	arena_free(serving->arena, volume);
}

static int
volume_open(struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns, const char *given,
    struct volume **out, char why[256])
{
	struct volume *volume = arena_alloc(serving->arena, sizeof(*volume));
	char spec[CONF_SPEC], reason[256];
	int rc;

	if (volume == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	conf_volume_spec(ns, spec);
	rc = blk_open(serving->reactor, given != NULL ? given : spec, ns->block_size, &volume->blk, reason);
	if (rc != 0) {
		arena_free(serving->arena, volume);
		if (given != NULL)
			return refuse(why, rc, "--ns %.100s: %.140s", given, reason);
		return refuse(why, rc, "namespace %u: %.230s", ns->nsid, reason);
	}
	snprintf(volume->nqn, sizeof(volume->nqn), "%s", subsys->nqn);
	snprintf(volume->volume, sizeof(volume->volume), "%s", ns->volume);
	volume->nsid = ns->nsid;
	volume->block_size = ns->block_size;
	identify_volume(subsys->nqn, volume->blk, volume->id);
	list_push(&serving->volumes, &volume->node);
	*out = volume;
	return 0;
}

/* Open, and at least as large as it is to be. */
static int
volume_ready(struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns, const char *given,
    struct volume **out, char why[256])
{
	struct volume *volume = volume_find(serving, subsys, ns);
	uint64_t blocks = ns->size / ns->block_size;
	int rc = 0;

	if (volume == NULL)
		rc = volume_open(serving, subsys, ns, given, &volume, why);
	else if (volume->blk->blocks < blocks) {
		rc = volume->blk->ops->grow == NULL ? -EOPNOTSUPP :
		    volume->blk->ops->grow(volume->blk, serving->reactor, blocks);
		if (rc != 0)
			return refuse(why, rc, "namespace %u of %.120s: a volume of this kind cannot grow so far while it is used: %s",
			    ns->nsid, subsys->nqn, strerrordesc_np(-rc));
	}
	if (rc != 0)
		return rc;
	volume->wanted = true;
	*out = volume;
	return 0;
}

/* Nobody uses it any more, or never did. */
static void
volume_unused(struct target_applied *applied, struct blk *blk)
{
	struct serving *serving = container_of(applied, struct serving, applied);

	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		if (volume->blk == blk)
			volume_close(serving, volume);
	}
}

/* Those that are of no namespace of the configuration in use. */
static void
close_strays(struct serving *serving, const struct list *since)
{
	while (serving->volumes.prev != since)
		volume_close(serving, container_of(serving->volumes.prev, struct volume, node));
}

/* ---- from a conf to a target_config; all of it lies in the arena of the configuration ---- */

static int
make_ns(struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *from, const char *given,
    struct target_ns *ns, char why[256])
{
	struct volume *volume = NULL;
	int rc = volume_ready(serving, subsys, from, given, &volume, why);

	if (rc != 0)
		return rc;
	ns->volume = volume->blk;
	ns->nsid = from->nsid;
	ns->blocks = from->size / from->block_size;
	memcpy(ns->nguid, from->nguid, sizeof(ns->nguid));
	memcpy(ns->uuid, from->uuid, sizeof(ns->uuid));
	memcpy(ns->id, volume->id, sizeof(ns->id));
	ns->ana_group = from->ana_group;
	ns->protection = from->write_protected ? NVME_PROTECT_WRITES : NVME_PROTECT_NONE;
	return 0;
}

static int
make_subsys(struct serving *serving, struct configured *next, const struct conf_subsys *from,
    struct target_subsys *subsys, char why[256])
{
	struct target_ns *ns = arena_alloc(&next->arena, (from->ns_count + 1) * sizeof(*ns));
	struct target_ana *ana = arena_alloc(&next->arena, from->ana_count * sizeof(*ana));

	if (ns == NULL || ana == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < from->ana_count; i++) {
		ana[i].id = from->ana[i].id;
		for (uint32_t k = 0; k < next->conf->listener_count; k++)
			ana[i].state[k] = (enum nvme_ana_state)conf_ana_on(&from->ana[i], k);
	}
	for (uint32_t i = 0; i < from->ns_count; i++) {
		const char *given = next->specs != NULL ? next->specs[i] : NULL;
		int rc = make_ns(serving, from, &from->ns[i], given, &ns[i], why);

		if (rc != 0)
			return rc;
	}
	*subsys = (struct target_subsys){
		.nqn = from->nqn, .serial = from->serial, .model = from->model, .listeners = from->listeners,
		.hosts_listed = !from->any_host, .hosts = from->hosts, .host_count = from->host_count,
		.ana = ana, .ana_count = from->ana_count, .ns = ns, .ns_count = from->ns_count,
		.controllers_max = from->controllers_max, .io_queues_max = from->queues_max,
		.entries_max = from->entries_max,
	};
	identify_subsys(from->nqn, subsys->identity);
	return 0;
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
		[CONF_DISCOVERY_YES] = PORTAL_ANY, [CONF_DISCOVERY_NO] = PORTAL_IO, [CONF_DISCOVERY_ONLY] = PORTAL_DISCOVERY,
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

static int
make_config(struct serving *serving, struct configured *next, struct target_config *config, char why[256])
{
	const struct conf *conf = next->conf;
	struct target_listen *listen = arena_alloc(&next->arena, conf->listener_count * sizeof(*listen));
	struct target_listen *referrals = arena_alloc(&next->arena, (conf->referral_count + 1) * sizeof(*referrals));
	struct target_subsys *subsys = arena_alloc(&next->arena, (conf->subsys_count + 1) * sizeof(*subsys));

	if (listen == NULL || referrals == NULL || subsys == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	list_for_each(&serving->volumes, node)
		container_of(node, struct volume, node)->wanted = false;
	for (uint32_t i = 0; i < conf->listener_count; i++)
		make_listen(serving, &conf->listeners[i], &listen[i]);
	for (uint32_t i = 0; i < conf->referral_count; i++)
		make_address(&conf->referrals[i], &referrals[i]);
	for (uint32_t i = 0; i < conf->subsys_count; i++) {
		int rc = make_subsys(serving, next, &conf->subsys[i], &subsys[i], why);

		if (rc != 0)
			return rc;
	}
	*config = (struct target_config){
		.listen = listen, .listen_count = conf->listener_count, .subsys = subsys, .subsys_count = conf->subsys_count,
		.referrals = referrals, .referral_count = conf->referral_count, .connections_max = conf->connections_max,
		.state_dir = conf->state_dir, .handshake_timeout_ms = conf->handshake_ms, .stall_timeout_ms = conf->stall_ms,
	};
	return 0;
}

/* ---- beginning, changing, ending ---- */

int
serving_make(struct serving *serving, struct reactor *reactor, struct arena *arena, struct configured *first,
    char why[256])
{
	struct target_config config;
	int rc;

	serving->reactor = reactor;
	serving->arena = arena;
	list_init(&serving->volumes);
	serving->now = first;
	rc = make_config(serving, first, &config, why);
	return rc == 0 ? target_create(arena, &config, &serving->target, why) : rc;
}

static void
applied(struct target_applied *applied, int rc, const char *why)
{
	struct serving *serving = container_of(applied, struct serving, applied);

	if (rc == 0) {
		configured_drop(serving->now);
		serving->now = serving->next;
		list_for_each(&serving->volumes, node) {
			struct volume *volume = container_of(node, struct volume, node);

			volume->retired = !volume->wanted;
		}
	} else {
		configured_drop(serving->next);
	}
	serving->next = NULL;
	serving->told(serving->owner, rc, why);
}

/* Whether the target may become so without being started anew: else which change is in the way. */
static void
look_for_restart(void *arg, const struct conf_change *change)
{
	char *why = arg;

	if (change->ease == CONF_RESTART && why[0] == '\0')
		snprintf(why, 256, "needs a restart: %.230s", change->text);
}

int
serving_apply(struct serving *serving, struct configured *next, void (*told)(void *owner, int rc, const char *why),
    void *owner, char why[256])
{
	const struct list *last = serving->volumes.prev;
	struct target_config config;
	int rc = 0;

	why[0] = '\0';
	if (serving->next != NULL)
		rc = refuse(why, -EBUSY, "another configuration is being applied");
	else
		conf_diff(serving->now->conf, next->conf, look_for_restart, why);
	if (rc == 0 && why[0] != '\0')
		rc = -EINVAL;
	if (rc != 0) {
		configured_drop(next);
		return rc;
	}
	serving->next = next;
	serving->told = told;
	serving->owner = owner;
	serving->applied = (struct target_applied){ applied, volume_unused };
	rc = make_config(serving, next, &config, why);
	if (rc == 0)
		rc = target_apply(serving->target, &config, &serving->applied, why);
	if (rc != 0) {
		close_strays(serving, last);
		configured_drop(next);
		serving->next = NULL;
	}
	return rc;
}

void
serving_end(struct serving *serving)
{
	list_for_each(&serving->volumes, node)
		volume_close(serving, container_of(node, struct volume, node));
	configured_drop(serving->now);
	configured_drop(serving->next);
}
