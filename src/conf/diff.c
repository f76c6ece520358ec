#include "conf/diff.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/same.h"

struct differ {
	const struct conf *old, *new;
	void (*tell)(void *arg, const struct conf_change *change);
	void *arg;
	uint32_t count;
};

/* A subsystem that both have. */
struct pair {
	const struct conf_subsys *old, *new;
};

static void __attribute__((format(printf, 3, 4)))
tell(struct differ *d, struct conf_change change, const char *format, ...)
{
	static const char *const remarks[] = {
		[CONF_LIVE] = "", [CONF_HIDING] = " (hides data)", [CONF_LOSS] = " (loses data)",
		[CONF_RESTART] = " (needs a restart)",
	};
	va_list args;
	int used;

	va_start(args, format);
	used = vsnprintf(change.text, sizeof(change.text), format, args);
	va_end(args);
	assert(used >= 0 && (size_t)used < sizeof(change.text));
	snprintf(change.text + used, sizeof(change.text) - (size_t)used, "%s", remarks[change.ease]);
	d->tell(d->arg, &change);
	d->count++;
}

/* ---- words ---- */

static void
size_words(uint64_t size, char text[SIZE_TEXT])
{
	if (size == 0)
		snprintf(text, SIZE_TEXT, "as large as it is");
	else
		size_print(size, text);
}

static struct conf_change
of_listener(enum conf_change_kind kind, const struct conf_listener *l, const struct pair *pair)
{
	return (struct conf_change){ .kind = kind, .listener = l, .subsys_old = pair != NULL ? pair->old : NULL,
		.subsys = pair != NULL ? pair->new : NULL };
}

static void
listener_told(struct differ *d, enum conf_change_kind kind, const struct conf_listener *l)
{
	char text[CONF_ADDRESS_TEXT];

	conf_address_text(&l->address, text);
	tell(d, of_listener(kind, l, NULL), "%c listener %s%s%s%s", kind == CONF_LISTENER_ADDED ? '+' : '-', l->name,
	    strcmp(l->name, text) != 0 ? ": " : "", strcmp(l->name, text) != 0 ? text : "",
	    l->discovery == CONF_DISCOVERY_ONLY ? ", discovery only" :
	    l->discovery == CONF_DISCOVERY_NO ? ", no discovery" : "");
}

static void
referrals_told(struct differ *d, const struct conf *has, const struct conf *not, enum conf_change_kind kind)
{
	char text[CONF_ADDRESS_TEXT];

	for (uint32_t i = 0; i < has->referral_count; i++) {
		const struct conf_address *referral = &has->referrals[i];
		const struct conf_change change = { .kind = kind, .referral = referral };

		if (referral_in(not, referral))
			continue;
		conf_address_text(referral, text);
		tell(d, change, "%c referral to %s", kind == CONF_REFERRAL_ADDED ? '+' : '-', text);
	}
}

/* Whom one of the two lets in and the other does not. */
static void
hosts_told(struct differ *d, const struct pair *pair, enum conf_change_kind kind)
{
	bool more = kind == CONF_HOST_ALLOWED;
	const struct conf_subsys *has = more ? pair->new : pair->old, *not = more ? pair->old : pair->new;
	struct conf_change change = { .kind = kind, .subsys_old = pair->old, .subsys = pair->new };
	struct hosts others;

	if (not->any_host)
		return;
	hosts_sort(not, &others);
	if (has->any_host)
		tell(d, change, "%c any host of %s", more ? '+' : '-', has->nqn);
	for (uint32_t i = 0; i < has->host_count; i++) {
		change.host = has->hosts[i];
		if (!host_in(&others, change.host))
			tell(d, change, "%c host %s of %s", more ? '+' : '-', change.host, has->nqn);
	}
}

/* ---- what is taken away ---- */

static void
ns_removed(struct differ *d, const struct pair *pair)
{
	struct namespaces others;

	namespaces_sort(pair->new, &others);
	for (uint32_t i = 0; i < pair->old->ns_count; i++) {
		const struct conf_ns *ns = &pair->old->ns[i];
		bool stays = volume_in(&others, ns) != NULL;
		const struct conf_change change = { .kind = CONF_NS_REMOVED,
			.ease = volume_forgets(ns->volume) && !stays ? CONF_LOSS : CONF_LIVE, .subsys_old = pair->old,
			.subsys = pair->new, .ns_old = ns };

		if (ns_in(&others, ns) == NULL)
			tell(d, change, "- namespace %u of %s: %s", ns->nsid, pair->old->nqn, ns->volume);
	}
}

/* Where the subsystem is in one of the two and not in the other, of the listeners that both have. */
static void
listed_told(struct differ *d, const struct pair *pair, enum conf_change_kind kind)
{
	for (uint32_t i = 0; i < d->new->listener_count; i++) {
		const struct conf_listener *l = &d->new->listeners[i];
		int before = listener_in(d->old, l);
		bool was = before >= 0 && pair->old->listeners & UINT32_C(1) << before;
		bool is = pair->new->listeners & UINT32_C(1) << i;

		if (before >= 0 && was && !is && kind == CONF_SUBSYS_UNLISTED)
			tell(d, of_listener(kind, l, pair), "- %s on listener %s", pair->new->nqn, l->name);
		if (before >= 0 && !was && is && kind == CONF_SUBSYS_LISTED)
			tell(d, of_listener(kind, l, pair), "+ %s on listener %s", pair->new->nqn, l->name);
	}
}

static void
removals(struct differ *d)
{
	referrals_told(d, d->old, d->new, CONF_REFERRAL_REMOVED);
	for (uint32_t i = 0; i < d->old->subsys_count; i++) {
		const struct pair pair = { &d->old->subsys[i], subsys_in(d->new, d->old->subsys[i].nqn) };
		const struct conf_change change = { .kind = CONF_SUBSYS_REMOVED, .subsys_old = pair.old };

		if (pair.new != NULL)
			hosts_told(d, &pair, CONF_HOST_DISALLOWED);
		ns_removed(d, &pair);
		if (pair.new != NULL)
			listed_told(d, &pair, CONF_SUBSYS_UNLISTED);
		else
			tell(d, change, "- subsystem %s", pair.old->nqn);
	}
	for (uint32_t i = 0; i < d->old->listener_count; i++)
		if (listener_in(d->new, &d->old->listeners[i]) < 0)
			listener_told(d, CONF_LISTENER_REMOVED, &d->old->listeners[i]);
}

/* ---- what is altered ---- */

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void
target_altered(struct differ *d)
{
	const struct conf *old = d->old, *new = d->new;

	if (!same_text(old->state_dir, new->state_dir))
		tell(d, (struct conf_change){ .kind = CONF_STATE_DIR, .ease = CONF_RESTART }, "~ state_dir: %s -> %s",
		    old->state_dir != NULL ? old->state_dir : "none",
		    new->state_dir != NULL ? new->state_dir : "none");
	if (old->connections_max != new->connections_max)
		tell(d, (struct conf_change){ .kind = CONF_CONNECTIONS }, "~ connections at most: %u -> %u",
		    old->connections_max, new->connections_max);
	if (old->handshake_ms != new->handshake_ms)
		tell(d, (struct conf_change){ .kind = CONF_HANDSHAKE }, "~ handshake timeout: %u ms -> %u ms",
		    old->handshake_ms, new->handshake_ms);
	if (old->stall_ms != new->stall_ms)
		tell(d, (struct conf_change){ .kind = CONF_STALL }, "~ stall timeout: %u ms -> %u ms", old->stall_ms,
		    new->stall_ms);
	for (uint32_t i = 0; i < new->listener_count; i++) {
		const struct conf_listener *l = &new->listeners[i];
		int before = listener_in(old, l);

		if (before >= 0 && old->listeners[before].discovery != l->discovery)
			tell(d, of_listener(CONF_LISTENER_DISCOVERY, l, NULL), "~ discovery on listener %s: %s -> %s",
			    l->name, conf_discovery_words[old->listeners[before].discovery],
			    conf_discovery_words[l->discovery]);
	}
}

enum { POOL_TEXT = CONF_POOL_MAX + SIZE_TEXT + 32 };

static void
pool_words(const struct conf_subsys *subsys, char text[POOL_TEXT])
{
	char size[SIZE_TEXT];

	size_print(subsys->pool_size, size);
	if (subsys->pool == NULL)
		strcpy(text, "none");
	else
		snprintf(text, POOL_TEXT, "%s, %s, %u of them", subsys->pool, size, subsys->pool_count);
}

static void
pool_altered(struct differ *d, const struct pair *pair)
{
	const struct conf_change change = { .kind = CONF_POOL, .subsys_old = pair->old, .subsys = pair->new };
	char from[POOL_TEXT], to[POOL_TEXT];

	pool_words(pair->old, from);
	pool_words(pair->new, to);
	if (strcmp(from, to) != 0)
		tell(d, change, "~ namespaces of hosts in %s: %s -> %s", pair->new->nqn, from, to);
}

static void
subsys_altered(struct differ *d, const struct pair *pair)
{
	const struct conf_subsys *old = pair->old, *new = pair->new;
	const struct {
		enum conf_change_kind kind;
		const char *name, *old, *new;
	} texts[] = {
		{ CONF_SUBSYS_SERIAL, "serial", old->serial, new->serial },
		{ CONF_SUBSYS_MODEL, "model", old->model, new->model },
	};
	const struct {
		enum conf_change_kind kind;
		const char *name;
		uint32_t old, new;
	} limits[] = {
		{ CONF_SUBSYS_CONTROLLERS, "controllers", old->controllers_max, new->controllers_max },
		{ CONF_SUBSYS_QUEUES, "queues of a controller", old->queues_max, new->queues_max },
		{ CONF_SUBSYS_ENTRIES, "entries of a queue", old->entries_max, new->entries_max },
	};
	struct conf_change change = { .subsys_old = old, .subsys = new, .kind = CONF_SUBSYS_STATIC };

	if (old->static_controllers != new->static_controllers)
		tell(d, change, "~ controllers of %s: %s, hosts are disconnected", new->nqn,
		    new->static_controllers ? "dynamic -> static" : "static -> dynamic");
	for (unsigned i = 0; i < COUNT_OF(limits); i++) {
		change.kind = limits[i].kind;
		if (limits[i].old != limits[i].new)
			tell(d, change, "~ %s of %s at most: %u -> %u", limits[i].name, new->nqn, limits[i].old,
			    limits[i].new);
	}
	pool_altered(d, pair);
	change.ease = CONF_RESTART;
	for (unsigned i = 0; i < COUNT_OF(texts); i++) {
		change.kind = texts[i].kind;
		if (!same_text(texts[i].old, texts[i].new))
			tell(d, change, "~ %s of %s: %s -> %s", texts[i].name, new->nqn,
			    texts[i].old != NULL ? texts[i].old : "the default",
			    texts[i].new != NULL ? texts[i].new : "the default");
	}
}

/* What hosts see of a group that both have, listener by listener. */
static void
ana_altered(struct differ *d, const struct pair *pair, const struct conf_ana *old, const struct conf_ana *new)
{
	for (uint32_t i = 0; i < d->new->listener_count; i++) {
		const struct conf_listener *l = &d->new->listeners[i];
		int before = listener_in(d->old, l);
		struct conf_change change = of_listener(CONF_ANA_STATE, l, pair);
		enum conf_ana_state from, to = conf_ana_on(new, i);

		if (before < 0 || !(pair->old->listeners & UINT32_C(1) << before) ||
		    !(pair->new->listeners & UINT32_C(1) << i))
			continue;
		change.ana_old = old;
		change.ana = new;
		from = conf_ana_on(old, (uint32_t)before);
		if (from != to)
			tell(d, change, "~ ANA group %u of %s on listener %s: %s -> %s", new->id, pair->new->nqn,
			    l->name, conf_ana_text(from), conf_ana_text(to));
	}
}

static void
ana_groups_altered(struct differ *d, const struct pair *pair)
{
	for (uint32_t i = 0; i < pair->new->ana_count; i++) {
		const struct conf_ana *new = &pair->new->ana[i], *old = ana_in(pair->old, new->id);
		const struct conf_change change = { .kind = CONF_ANA_ADDED, .subsys_old = pair->old,
		    .subsys = pair->new,
			.ana = new };

		if (old == NULL)
			tell(d, change, "+ ANA group %u of %s: %s", new->id, pair->new->nqn, conf_ana_text(new->state));
		else
			ana_altered(d, pair, old, new);
	}
}

static void
ana_groups_removed(struct differ *d, const struct pair *pair)
{
	for (uint32_t i = 0; i < pair->old->ana_count; i++) {
		const struct conf_ana *old = &pair->old->ana[i];
		const struct conf_change change = { .kind = CONF_ANA_REMOVED, .subsys_old = pair->old,
			.subsys = pair->new, .ana_old = old };

		if (ana_in(pair->new, old->id) == NULL)
			tell(d, change, "- ANA group %u of %s", old->id, pair->new->nqn);
	}
}

static void
ns_altered(struct differ *d, const struct pair *pair, const struct conf_ns *old, const struct conf_ns *new)
{
	struct conf_change change = { .subsys_old = pair->old, .subsys = pair->new, .ns_old = old, .ns = new };
	const char *nqn = pair->new->nqn;
	char from[SIZE_TEXT], to[SIZE_TEXT];

	if (old->size != new->size) {
		size_words(old->size, from);
		size_words(new->size, to);
		change.kind = CONF_NS_RESIZED;
		change.ease = new->size != 0 && new->size < old->size ? CONF_HIDING : CONF_LIVE;
		tell(d, change, "~ size of namespace %u of %s: %s -> %s", new->nsid, nqn, from, to);
		change.ease = CONF_LIVE;
	}
	change.kind = CONF_NS_PROTECTED;
	if (old->write_protected != new->write_protected)
		tell(d, change, "~ namespace %u of %s: %s", new->nsid, nqn,
		    new->write_protected ? "write protected" : "no longer write protected");
	change.kind = CONF_NS_MOVED;
	if (old->ana_group != new->ana_group)
		tell(d, change, "~ ANA group of namespace %u of %s: %u -> %u", new->nsid, nqn, old->ana_group,
		    new->ana_group);
}

static void
namespaces_altered(struct differ *d, const struct pair *pair)
{
	struct namespaces others;

	namespaces_sort(pair->old, &others);
	for (uint32_t i = 0; i < pair->new->ns_count; i++) {
		const struct conf_ns *old = ns_in(&others, &pair->new->ns[i]);

		if (old != NULL)
			ns_altered(d, pair, old, &pair->new->ns[i]);
	}
}

static void
alterations(struct differ *d)
{
	target_altered(d);
	for (uint32_t i = 0; i < d->new->subsys_count; i++) {
		const struct pair pair = { subsys_in(d->old, d->new->subsys[i].nqn), &d->new->subsys[i] };

		if (pair.old == NULL)
			continue;
		subsys_altered(d, &pair);
		ana_groups_altered(d, &pair);
		namespaces_altered(d, &pair);
		ana_groups_removed(d, &pair);
	}
}

/* ---- what is added ---- */

static void
ns_added(struct differ *d, const struct pair *pair)
{
	struct namespaces others;

	namespaces_sort(pair->old, &others);
	for (uint32_t i = 0; i < pair->new->ns_count; i++) {
		const struct conf_ns *ns = &pair->new->ns[i];
		const struct conf_change change = { .kind = CONF_NS_ADDED, .subsys_old = pair->old, .subsys = pair->new,
			.ns = ns };
		char size[SIZE_TEXT];

		size_words(ns->size, size);
		if (ns_in(&others, ns) == NULL)
			tell(d, change, "+ namespace %u of %s: %s, %s", ns->nsid, pair->new->nqn, ns->volume, size);
	}
}

static void
subsys_added(struct differ *d, const struct conf_subsys *subsys)
{
	const struct conf_change change = { .kind = CONF_SUBSYS_ADDED, .subsys = subsys };

	if (subsys->any_host)
		tell(d, change, "+ subsystem %s: any host", subsys->nqn);
	else
		tell(d, change, "+ subsystem %s: %u host%s", subsys->nqn, subsys->host_count,
		    subsys->host_count == 1 ? "" : "s");
}

static void
additions(struct differ *d)
{
	for (uint32_t i = 0; i < d->new->listener_count; i++)
		if (listener_in(d->old, &d->new->listeners[i]) < 0)
			listener_told(d, CONF_LISTENER_ADDED, &d->new->listeners[i]);
	for (uint32_t i = 0; i < d->new->subsys_count; i++) {
		const struct pair pair = { subsys_in(d->old, d->new->subsys[i].nqn), &d->new->subsys[i] };

		if (pair.old == NULL)
			subsys_added(d, pair.new);
		else
			listed_told(d, &pair, CONF_SUBSYS_LISTED);
		ns_added(d, &pair);
		if (pair.old != NULL)
			hosts_told(d, &pair, CONF_HOST_ALLOWED);
	}
	referrals_told(d, d->new, d->old, CONF_REFERRAL_ADDED);
}

uint32_t
conf_diff(const struct conf *old, const struct conf *new, void (*tell_one)(void *arg, const struct conf_change *change),
    void *arg)
{
	struct differ d = { old, new, tell_one, arg, 0 };

	removals(&d);
	alterations(&d);
	additions(&d);
	return d.count;
}
