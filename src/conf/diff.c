#include "conf/diff.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/differ.h"

/* A subsystem that both have. */
struct pair {
	const struct conf_subsys *old, *new;
};

void
tell(struct differ *d, enum conf_ease ease, const char *format, ...)
{
	static const char *const remarks[] = {
		[CONF_LIVE] = "", [CONF_HIDING] = " (hides data)", [CONF_LOSS] = " (loses data)",
		[CONF_OPENING] = " (unless it was off when it was opened)", [CONF_RESTART] = " (needs a restart)",
	};
	struct conf_change change = { .ease = ease };
	va_list args;
	int used;

	va_start(args, format);
	used = vsnprintf(change.text, sizeof(change.text), format, args);
	va_end(args);
	assert(used >= 0 && (size_t)used < sizeof(change.text));
	snprintf(change.text + used, sizeof(change.text) - (size_t)used, "%s", remarks[ease]);
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

static void
listener_told(struct differ *d, char sign, const struct conf_listener *l)
{
	char text[CONF_ADDRESS_TEXT];

	conf_address_text(&l->address, text);
	tell(d, CONF_LIVE, "%c listener %s%s%s%s", sign, l->name, strcmp(l->name, text) != 0 ? ": " : "",
	    strcmp(l->name, text) != 0 ? text : "",
	    l->discovery == CONF_DISCOVERY_ONLY ? ", discovery only" :
	    l->discovery == CONF_DISCOVERY_NO ? ", no discovery" : "");
}

static void
referrals_told(struct differ *d, char sign, const struct conf *has, const struct conf *not)
{
	char text[CONF_ADDRESS_TEXT];

	for (uint32_t i = 0; i < has->referral_count; i++) {
		if (referral_in(not, &has->referrals[i]))
			continue;
		conf_address_text(&has->referrals[i], text);
		tell(d, CONF_LIVE, "%c referral to %s", sign, text);
	}
}

/* Whom one of the two lets in and the other does not. */
static void
hosts_told(struct differ *d, char sign, const struct conf_subsys *has, const struct conf_subsys *not)
{
	struct hosts others;

	if (not->any_host)
		return;
	hosts_sort(not, &others);
	if (has->any_host)
		tell(d, CONF_LIVE, "%c any host of %s", sign, has->nqn);
	for (uint32_t i = 0; i < has->host_count; i++)
		if (!host_in(&others, has->hosts[i]))
			tell(d, CONF_LIVE, "%c host %s of %s", sign, has->hosts[i], has->nqn);
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

		if (ns_in(&others, ns) == NULL)
			tell(d, volume_forgets(ns->volume) && !stays ? CONF_LOSS : CONF_LIVE,
			    "- namespace %u of %s: %s", ns->nsid, pair->old->nqn, ns->volume);
	}
}

/* Where the subsystem is in one of the two and not in the other, of the listeners that both have. */
static void
listed_told(struct differ *d, char sign, const struct pair *pair)
{
	for (uint32_t i = 0; i < d->new->listener_count; i++) {
		const struct conf_listener *l = &d->new->listeners[i];
		int before = listener_in(d->old, l);
		bool was = before >= 0 && pair->old->listeners & UINT32_C(1) << before;
		bool is = pair->new->listeners & UINT32_C(1) << i;

		if (before >= 0 && was != is && is == (sign == '+'))
			tell(d, CONF_LIVE, "%c %s on listener %s", sign, pair->new->nqn, l->name);
	}
}

static void
removals(struct differ *d)
{
	referrals_told(d, '-', d->old, d->new);
	for (uint32_t i = 0; i < d->old->subsys_count; i++) {
		const struct pair pair = { &d->old->subsys[i], subsys_in(d->new, d->old->subsys[i].nqn) };

		if (pair.new != NULL)
			hosts_told(d, '-', pair.old, pair.new);
		ns_removed(d, &pair);
		if (pair.new != NULL)
			listed_told(d, '-', &pair);
		else
			tell(d, CONF_LIVE, "- subsystem %s", pair.old->nqn);
	}
	for (uint32_t i = 0; i < d->old->listener_count; i++)
		if (listener_in(d->new, &d->old->listeners[i]) < 0)
			listener_told(d, '-', &d->old->listeners[i]);
	qos_told(d, '-', d->old, d->new);
}

/* ---- what is altered ---- */

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *
order_log_text(const struct conf_order_log *log)
{
	return log->place != NULL ? log->place : "none";
}

static void
target_altered(struct differ *d)
{
	const struct conf *old = d->old, *new = d->new;

	if (!same_text(old->state_dir, new->state_dir))
		tell(d, CONF_RESTART, "~ state_dir: %s -> %s", old->state_dir != NULL ? old->state_dir : "none",
		    new->state_dir != NULL ? new->state_dir : "none");
	if (!same_text(old->order_log.place, new->order_log.place) || old->order_log.slots != new->order_log.slots)
		tell(d, CONF_RESTART, "~ order_log: %s -> %s", order_log_text(&old->order_log),
		    order_log_text(&new->order_log));
	if (old->connections_max != new->connections_max)
		tell(d, CONF_LIVE, "~ connections at most: %u -> %u", old->connections_max, new->connections_max);
	if (old->handshake_ms != new->handshake_ms)
		tell(d, CONF_LIVE, "~ handshake timeout: %u ms -> %u ms", old->handshake_ms, new->handshake_ms);
	if (old->stall_ms != new->stall_ms)
		tell(d, CONF_LIVE, "~ stall timeout: %u ms -> %u ms", old->stall_ms, new->stall_ms);
	for (uint32_t i = 0; i < new->listener_count; i++) {
		const struct conf_listener *l = &new->listeners[i];
		int before = listener_in(old, l);

		if (before >= 0 && old->listeners[before].discovery != l->discovery)
			tell(d, CONF_LIVE, "~ discovery on listener %s: %s -> %s", l->name,
			    conf_discovery_words[old->listeners[before].discovery], conf_discovery_words[l->discovery]);
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
	char from[POOL_TEXT], to[POOL_TEXT];

	pool_words(pair->old, from);
	pool_words(pair->new, to);
	if (strcmp(from, to) != 0)
		tell(d, CONF_LIVE, "~ namespaces of hosts in %s: %s -> %s", pair->new->nqn, from, to);
}

static void
subsys_altered(struct differ *d, const struct pair *pair)
{
	const struct conf_subsys *old = pair->old, *new = pair->new;
	const struct {
		const char *name, *old, *new;
	} texts[] = {
		{ "serial", old->serial, new->serial },
		{ "model", old->model, new->model },
	};
	const struct {
		const char *name;
		uint32_t old, new;
	} limits[] = {
		{ "controllers", old->controllers_max, new->controllers_max },
		{ "queues of a controller", old->queues_max, new->queues_max },
		{ "entries of a queue", old->entries_max, new->entries_max },
	};

	if (old->static_controllers != new->static_controllers)
		tell(d, CONF_LIVE, "~ controllers of %s: %s, hosts are disconnected", new->nqn,
		    new->static_controllers ? "dynamic -> static" : "static -> dynamic");
	for (unsigned i = 0; i < COUNT_OF(limits); i++)
		if (limits[i].old != limits[i].new)
			tell(d, CONF_LIVE, "~ %s of %s at most: %u -> %u", limits[i].name, new->nqn, limits[i].old,
			    limits[i].new);
	pool_altered(d, pair);
	for (unsigned i = 0; i < COUNT_OF(texts); i++)
		if (!same_text(texts[i].old, texts[i].new))
			tell(d, CONF_RESTART, "~ %s of %s: %s -> %s", texts[i].name, new->nqn,
			    texts[i].old != NULL ? texts[i].old : "the default",
			    texts[i].new != NULL ? texts[i].new : "the default");
}

/* What hosts see of a group that both have, listener by listener. */
static void
ana_altered(struct differ *d, const struct pair *pair, const struct conf_ana *old, const struct conf_ana *new)
{
	for (uint32_t i = 0; i < d->new->listener_count; i++) {
		const struct conf_listener *l = &d->new->listeners[i];
		int before = listener_in(d->old, l);
		enum conf_ana_state from, to = conf_ana_on(new, i);

		if (before < 0 || !(pair->old->listeners & UINT32_C(1) << before) ||
		    !(pair->new->listeners & UINT32_C(1) << i))
			continue;
		from = conf_ana_on(old, (uint32_t)before);
		if (from != to)
			tell(d, CONF_LIVE, "~ ANA group %u of %s on listener %s: %s -> %s", new->id, pair->new->nqn,
			    l->name, conf_ana_text(from), conf_ana_text(to));
	}
}

static void
ana_groups_altered(struct differ *d, const struct pair *pair)
{
	for (uint32_t i = 0; i < pair->new->ana_count; i++) {
		const struct conf_ana *new = &pair->new->ana[i], *old = ana_in(pair->old, new->id);

		if (old == NULL)
			tell(d, CONF_LIVE, "+ ANA group %u of %s: %s", new->id, pair->new->nqn,
			    conf_ana_text(new->state));
		else
			ana_altered(d, pair, old, new);
	}
}

static void
ana_groups_removed(struct differ *d, const struct pair *pair)
{
	for (uint32_t i = 0; i < pair->old->ana_count; i++) {
		const struct conf_ana *old = &pair->old->ana[i];

		if (ana_in(pair->new, old->id) == NULL)
			tell(d, CONF_LIVE, "- ANA group %u of %s", old->id, pair->new->nqn);
	}
}

static void
ns_altered(struct differ *d, const struct pair *pair, const struct conf_ns *old, const struct conf_ns *new)
{
	const char *nqn = pair->new->nqn;
	char from[SIZE_TEXT], to[SIZE_TEXT];

	if (old->size != new->size) {
		size_words(old->size, from);
		size_words(new->size, to);
		tell(d, new->size != 0 && new->size < old->size ? CONF_HIDING : CONF_LIVE,
		    "~ size of namespace %u of %s: %s -> %s", new->nsid, nqn, from, to);
	}
	if (old->write_protected != new->write_protected)
		tell(d, CONF_LIVE, "~ namespace %u of %s: %s", new->nsid, nqn,
		    new->write_protected ? "write protected" : "no longer write protected");
	if (old->ana_group != new->ana_group)
		tell(d, CONF_LIVE, "~ ANA group of namespace %u of %s: %u -> %u", new->nsid, nqn, old->ana_group,
		    new->ana_group);
	ns_qos_altered(d, nqn, old, new);
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
	qos_altered(d);
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
		char size[SIZE_TEXT];

		size_words(ns->size, size);
		if (ns_in(&others, ns) == NULL)
			tell(d, CONF_LIVE, "+ namespace %u of %s: %s, %s", ns->nsid, pair->new->nqn, ns->volume, size);
	}
}

static void
subsys_added(struct differ *d, const struct conf_subsys *subsys)
{
	if (subsys->any_host)
		tell(d, CONF_LIVE, "+ subsystem %s: any host", subsys->nqn);
	else
		tell(d, CONF_LIVE, "+ subsystem %s: %u host%s", subsys->nqn, subsys->host_count,
		    subsys->host_count == 1 ? "" : "s");
}

static void
additions(struct differ *d)
{
	qos_told(d, '+', d->new, d->old);
	for (uint32_t i = 0; i < d->new->listener_count; i++)
		if (listener_in(d->old, &d->new->listeners[i]) < 0)
			listener_told(d, '+', &d->new->listeners[i]);
	for (uint32_t i = 0; i < d->new->subsys_count; i++) {
		const struct pair pair = { subsys_in(d->old, d->new->subsys[i].nqn), &d->new->subsys[i] };

		if (pair.old == NULL)
			subsys_added(d, pair.new);
		else
			listed_told(d, '+', &pair);
		ns_added(d, &pair);
		if (pair.old != NULL)
			hosts_told(d, '+', pair.new, pair.old);
	}
	referrals_told(d, '+', d->new, d->old);
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
