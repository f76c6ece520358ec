#include "serving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply_files.h"
#include "refuse.h"
#include "serve.h"
#include "volumes.h"
#include "world/reactor.h"

static const uint64_t await_ns = 5000000000, look_ns = 10000000; /* for what was taken away */

/* ---- from a conf to a target_config; all of it lies in an arena that goes once the target has read it ---- */

/* What is being made, of a configuration and what hosts have made. */
struct making {
	struct serving *serving;
	struct arena *arena;
	const struct configured *from;
	const struct made *made;
	const struct target_wish *wish; /* for which it is made, of the configuration that holds; NULL: for none */
};

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
	return 0;
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
	return 0;
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
		.entries_max = from->entries_max, .ns_management = from->pool != NULL, .capacity = from->pool_size,
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

static int
make_config(const struct making *m, struct target_config *config, char why[256])
{
	const struct conf *conf = m->from->conf;
	struct target_listen *listen = arena_alloc(m->arena, conf->listener_count * sizeof(*listen));
	struct target_listen *referrals = arena_alloc(m->arena, (conf->referral_count + 1) * sizeof(*referrals));
	struct target_subsys *subsys = arena_alloc(m->arena, (conf->subsys_count + 1) * sizeof(*subsys));

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
	*config = (struct target_config){
		.listen = listen, .listen_count = conf->listener_count, .subsys = subsys,
		.subsys_count = conf->subsys_count,
		.referrals = referrals, .referral_count = conf->referral_count,
		.connections_max = conf->connections_max,
		.state_dir = conf->state_dir, .handshake_timeout_ms = conf->handshake_ms,
		.stall_timeout_ms = conf->stall_ms,
		.keeper = &m->serving->hosted.keeper, .again = m->wish != NULL,
		.asker = m->wish != NULL ? m->wish->asker.cntlid : 0,
	};
	return 0;
}

/* ---- beginning, changing, ending ---- */

int
serving_make(struct serving *serving, struct reactor *reactor, struct arena *arena, struct configured *first,
    char why[256])
{
	struct target_config config;
	struct arena scratch;
	int rc;

	serving->reactor = reactor;
	serving->arena = arena;
	list_init(&serving->volumes);
	serving->now = first;
	arena_init(&scratch, 0);
	serving->starting = true;
	rc = hosted_begin(&serving->hosted, serving, first->conf, why);
	if (rc == 0)
		rc = make_config(&(struct making){ serving, &scratch, first, serving->hosted.state->made, NULL },
		    &config, why);
	if (rc == 0)
		rc = target_create(arena, &config, &serving->target, why);
	arena_drop(&scratch);
	serving->starting = false;
	return rc;
}

void
serving_started(struct serving *serving, bool done)
{
	volumes_settle(serving, done);
	if (done)
		hosted_clean(&serving->hosted, serving->now->conf);
}

static void
applied_configuration(struct serving *serving, int rc, const char *why)
{
	if (rc == 0) {
		configured_drop(serving->now);
		serving->now = serving->next;
	} else {
		configured_drop(serving->next);
	}
	serving->next = NULL;
	apply_files_end(&serving->files);
	serving->told(serving->owner, rc, why);
}

static int begin(struct serving *serving, struct configured *next, char why[256]);
static int apply(struct serving *serving, const struct configured *from, const struct made *made, char why[256]);
static void go_on(struct serving *serving);

static void
files_undone(struct apply_files *files)
{
	struct serving *serving = container_of(files, struct serving, files);

	serving->busy = serving->making = false;
	applied_configuration(serving, files->rc, files->why);
	go_on(serving);
}

/* What was made for it goes before anybody is told. */
static void
refused_configuration(struct serving *serving, int rc, const char *why)
{
	serving->busy = serving->making = true;
	serving->files.rc = rc;
	snprintf(serving->files.why, sizeof(serving->files.why), "%s", why);
	apply_files_undo(&serving->files, serving->reactor, files_undone);
}

static void
files_made(struct apply_files *files)
{
	struct serving *serving = container_of(files, struct serving, files);

	serving->busy = false;
	go_on(serving);
}

/* The wish at work, and then what waits: first the operator, then hosts. */
static void
go_on(struct serving *serving)
{
	struct configured *parked = hosted_works(&serving->hosted) ? NULL : serving->parked;
	char why[256];
	int rc;

	if (serving_busy(serving))
		return;
	if (serving->making) {
		serving->making = false;
		rc = apply(serving, serving->next, serving->hosted.state->made, why);
		if (rc != 0)
			refused_configuration(serving, rc, why);
		return;
	}
	if (parked != NULL)
		serving->parked = NULL;
	if (parked != NULL && (rc = begin(serving, parked, why)) != 0)
		serving->told(serving->owner, rc, why);
	hosted_next(&serving->hosted);
}

void
serving_idle(struct serving *serving)
{
	go_on(serving);
}

static void
applied(struct target_applied *applied, int rc, const char *why)
{
	struct serving *serving = container_of(applied, struct serving, applied);

	volumes_settle(serving, rc == 0);
	serving->busy = false;
	if (serving->next != NULL && rc != 0)
		refused_configuration(serving, rc, why);
	else if (serving->next != NULL)
		applied_configuration(serving, rc, why);
	else
		hosted_applied(&serving->hosted, rc);
	go_on(serving);
}

/* Whether the target may become so without being started anew: else which change is in the way. */
static void
look_for_restart(void *arg, const struct conf_change *change)
{
	char *why = arg;

	if (change->ease == CONF_RESTART && why[0] == '\0')
		snprintf(why, 256, "needs a restart: %.230s", change->text);
}

static int
apply(struct serving *serving, const struct configured *from, const struct made *made, char why[256])
{
	const struct target_wish *wish = from == serving->now ? serving->hosted.now : NULL;
	const struct list *last = serving->volumes.prev;
	struct target_config config;
	struct arena scratch;
	int rc;

	serving->applied = (struct target_applied){ applied, volumes_unused };
	volumes_unwanted(serving);
	arena_init(&scratch, 0);
	rc = make_config(&(struct making){ serving, &scratch, from, made, wish }, &config, why);
	if (rc == 0)
		rc = target_apply(serving->target, &config, &serving->applied, why);
	arena_drop(&scratch);
	serving->busy = rc == 0;
	if (rc != 0) {
		volumes_undo(serving);
		volumes_close_strays(serving, last);
	}
	return rc;
}

int
serving_fits(const struct serving *serving, const struct conf *next, char why[256])
{
	int rc = configured_listens(serving->now->conf, next, why);

	if (rc == 0)
		rc = hosted_check(&serving->hosted, serving->now->conf, next, why);
	return rc == 0 ? volumes_fit(serving, next, why) : rc;
}

static void
look_again(struct timer *timer)
{
	go_on(container_of(timer, struct serving, look));
}

/* A subsystem that was taken away a moment ago may have events to keep yet. */
static bool
subsystems_await(const struct serving *serving, const struct conf *next)
{
	for (uint32_t i = 0; i < next->subsys_count; i++)
		if (target_writes_events(serving->target, next->subsys[i].nqn))
			return true;
	return false;
}

/* And what else was taken away and is wanted again, I/O to end. */
static bool
is_early(struct serving *serving, const struct conf *next)
{
	uint64_t now_ns = serving->reactor->now_ns;

	if (serving->until_ns == 0)
		serving->until_ns = now_ns + await_ns;
	if (now_ns < serving->until_ns && (subsystems_await(serving, next) || volumes_await(serving, next))) {
		serving->look.fire = look_again;
		timer_set(&serving->reactor->timers, &serving->look, now_ns + look_ns);
		return true;
	}
	serving->until_ns = 0;
	return false;
}

static int
begin(struct serving *serving, struct configured *next, char why[256])
{
	int rc;

	if (is_early(serving, next->conf)) {
		serving->parked = next;
		return 0;
	}
	why[0] = '\0';
	conf_diff(serving->now->conf, next->conf, look_for_restart, why);
	rc = why[0] != '\0' ? -EINVAL : serving_fits(serving, next->conf, why);
	if (rc == 0 && apply_files_plan(&serving->files, serving, next->conf) != 0)
		rc = refuse(why, -ENOMEM, "out of memory");
	if (rc != 0) {
		configured_drop(next);
		return rc;
	}
	serving->next = next;
	serving->busy = serving->making = true;
	apply_files_make(&serving->files, serving->reactor, files_made);
	return 0;
}

int
serving_apply(struct serving *serving, struct configured *next, void (*told)(void *owner, int rc, const char *why),
    void *owner, char why[256])
{
	if (serving_applies(serving)) {
		configured_drop(next);
		return refuse(why, -EBUSY, "another configuration is being applied");
	}
	serving->told = told;
	serving->owner = owner;
	if (!serving_busy(serving) && !hosted_works(&serving->hosted))
		return begin(serving, next, why);
	serving->parked = next;
	return 0;
}

bool
serving_applies(const struct serving *serving)
{
	return serving->next != NULL || serving->parked != NULL;
}

bool
serving_busy(const struct serving *serving)
{
	return serving->busy || target_busy(serving->target);
}

int
serving_change(struct serving *serving, const struct made *made, char why[256])
{
	return apply(serving, serving->now, made, why);
}

bool
serving_identity(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns,
    struct identity *identity)
{
	const struct volume *volume = volume_find(serving, subsys, ns);

	if (volume != NULL)
		*identity = identity_of(ns, volume);
	return volume != NULL;
}

void
serving_end(struct serving *serving)
{
	timer_clear(&serving->reactor->timers, &serving->look);
	volumes_close_strays(serving, &serving->volumes);
	if (serving->making)
		apply_files_undo_now(&serving->files, serving->reactor);
	if (serving->next != NULL)
		apply_files_end(&serving->files);
	hosted_end(&serving->hosted);
	configured_drop(serving->now);
	configured_drop(serving->next);
	configured_drop(serving->parked);
}
