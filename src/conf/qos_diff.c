/*
 * qos_diff.c - what is different in fair sharing.  All of it can be changed while it is in use, but that a namespace
 * begins to be shared.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/differ.h"

/* ---- words ---- */

enum { LIMITS_TEXT = 200 };

static void __attribute__((format(printf, 2, 3)))
add(char text[LIMITS_TEXT], const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	if (used > 0)
		used += (size_t)snprintf(text + used, LIMITS_TEXT - used, ", ");
	va_start(args, format);
	used += (size_t)vsnprintf(text + used, LIMITS_TEXT - used, format, args);
	va_end(args);
	assert(used < LIMITS_TEXT);
}

static void
limits_words(const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms, char text[LIMITS_TEXT])
{
	static const char *const words[QOS_KINDS] = { [QOS_READ] = "reads", [QOS_WRITE] = "writes" };
	char size[SIZE_TEXT];

	text[0] = '\0';
	for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
		if (limits[kind].ios != 0)
			add(text, "%" PRIu64 " %s a second", limits[kind].ios, words[kind]);
		size_print(limits[kind].bytes, size);
		if (limits[kind].bytes != 0)
			add(text, "%s a second of %s", size, words[kind]);
	}
	if (burst_ms != 0)
		add(text, "bursts of %u ms", burst_ms);
	if (text[0] == '\0')
		add(text, "none");
}

static const char *
group_words(const struct conf_qos *qos, const struct conf_tenant *tenant)
{
	return tenant->group != CONF_QOS_NONE ? qos->groups[tenant->group].name : "none";
}

static const char *
device_words(const struct conf_qos *qos, const struct conf_ns *ns)
{
	return ns->device != CONF_QOS_NONE ? qos->devices[ns->device].name : "the default";
}

/* ---- what one has and the other has not ---- */

static void
tenants_told(struct differ *d, char sign, const struct conf_qos *has, const struct conf_qos *not)
{
	struct tenants others;

	tenants_sort(not, &others);
	for (uint32_t i = 0; i < has->tenant_count; i++) {
		const struct conf_tenant *tenant = &has->tenants[i];
		char limits[LIMITS_TEXT];

		limits_words(tenant->limits, tenant->burst_ms, limits);
		if (tenant_in(&others, tenant->host) == NULL)
			tell(d, CONF_LIVE, "%c tenant %s: group %s, weight %u, limits %s", sign, tenant->host,
			    group_words(has, tenant), tenant->weight, limits);
	}
}

void
qos_told(struct differ *d, char sign, const struct conf *has, const struct conf *not)
{
	for (uint32_t i = 0; i < has->qos.device_count; i++)
		if (device_in(&not->qos, has->qos.devices[i].name) == NULL)
			tell(d, CONF_LIVE, "%c device %s", sign, has->qos.devices[i].name);
	for (uint32_t i = 0; i < has->qos.group_count; i++) {
		const struct conf_group *group = &has->qos.groups[i];
		char limits[LIMITS_TEXT];

		limits_words(group->limits, group->burst_ms, limits);
		if (group_in(&not->qos, group->name) == NULL)
			tell(d, CONF_LIVE, "%c group %s: weight %u, limits %s", sign, group->name, group->weight,
			    limits);
	}
	tenants_told(d, sign, &has->qos, &not->qos);
}

/* ---- what is altered ---- */

/* What `what` has by that key, in words. */
static void
told_if_other(struct differ *d, const char *key, const char *what, const char *old, const char *new)
{
	if (strcmp(old, new) != 0)
		tell(d, CONF_LIVE, "~ %s of %s: %s -> %s", key, what, old, new);
}

static void
weight_altered(struct differ *d, const char *what, uint32_t old, uint32_t new)
{
	if (old != new)
		tell(d, CONF_LIVE, "~ weight of %s: %u -> %u", what, old, new);
}

static void
device_altered(struct differ *d, const struct conf_device *old, const struct conf_device *new)
{
	char what[CONF_NAME_MAX + 16], from[DEVICE_VALUE], to[DEVICE_VALUE];

	snprintf(what, sizeof(what), "device %s", new->name);
	for (unsigned key = 0; key < device_keys(); key++) {
		device_value(old, key, from);
		device_value(new, key, to);
		told_if_other(d, device_key(key), what, from, to);
	}
}

static void
group_altered(struct differ *d, const struct conf_group *old, const struct conf_group *new)
{
	char what[CONF_NAME_MAX + 16], from[LIMITS_TEXT], to[LIMITS_TEXT];

	snprintf(what, sizeof(what), "group %s", new->name);
	limits_words(old->limits, old->burst_ms, from);
	limits_words(new->limits, new->burst_ms, to);
	weight_altered(d, what, old->weight, new->weight);
	told_if_other(d, "limits", what, from, to);
}

static void
tenant_altered(struct differ *d, const struct conf_tenant *old, const struct conf_tenant *new)
{
	char what[CONF_NQN_MAX + 16], from[LIMITS_TEXT], to[LIMITS_TEXT];

	snprintf(what, sizeof(what), "tenant %s", new->host);
	limits_words(old->limits, old->burst_ms, from);
	limits_words(new->limits, new->burst_ms, to);
	told_if_other(d, "group", what, group_words(&d->old->qos, old), group_words(&d->new->qos, new));
	weight_altered(d, what, old->weight, new->weight);
	told_if_other(d, "limits", what, from, to);
}

void
qos_altered(struct differ *d)
{
	const struct conf_qos *old = &d->old->qos, *new = &d->new->qos;
	struct tenants others;

	if (old->mode != new->mode)
		tell(d, CONF_LIVE, "~ sharing where a namespace does not say: %s -> %s", conf_qos_words[old->mode],
		    conf_qos_words[new->mode]);
	for (uint32_t i = 0; i < new->device_count; i++) {
		const struct conf_device *before = device_in(old, new->devices[i].name);

		if (before != NULL)
			device_altered(d, before, &new->devices[i]);
	}
	for (uint32_t i = 0; i < new->group_count; i++) {
		const struct conf_group *before = group_in(old, new->groups[i].name);

		if (before != NULL)
			group_altered(d, before, &new->groups[i]);
	}
	tenants_sort(old, &others);
	for (uint32_t i = 0; i < new->tenant_count; i++) {
		const struct conf_tenant *before = tenant_in(&others, new->tenants[i].host);

		if (before != NULL)
			tenant_altered(d, before, &new->tenants[i]);
	}
}

void
ns_qos_altered(struct differ *d, const char *nqn, const struct conf_ns *old, const struct conf_ns *new)
{
	char what[CONF_NQN_MAX + 40], from[LIMITS_TEXT], to[LIMITS_TEXT];

	snprintf(what, sizeof(what), "namespace %u of %s", new->nsid, nqn);
	limits_words(old->limits, old->burst_ms, from);
	limits_words(new->limits, new->burst_ms, to);
	if (old->mode == CONF_QOS_OFF && new->mode != CONF_QOS_OFF)
		tell(d, CONF_OPENING, "~ sharing of %s: %s -> %s", what, conf_qos_words[old->mode],
		    conf_qos_words[new->mode]);
	else
		told_if_other(d, "sharing", what, conf_qos_words[old->mode], conf_qos_words[new->mode]);
	told_if_other(d, "device", what, device_words(&d->old->qos, old), device_words(&d->new->qos, new));
	told_if_other(d, "limits", what, from, to);
}
