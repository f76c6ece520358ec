/*
 * qos.c - fair sharing: what is said of drives, groups and tenants, and of a namespace.
 *
 * Who is there already when a name is looked for: devices and groups stand before tenants and namespaces are read.
 */
#include <string.h>

#include "base/size.h"
#include "conf/internal.h"

const char *const conf_qos_words[3] = {
	[CONF_QOS_OFF] = "off", [CONF_QOS_CAPS] = "caps", [CONF_QOS_GIMBAL] = "gimbal",
};

uint32_t
device_find(const struct conf_qos *qos, const char *name)
{
	for (uint32_t i = 0; i < qos->device_count; i++)
		if (strcmp(qos->devices[i].name, name) == 0)
			return i;
	return CONF_QOS_NONE;
}

uint32_t
group_find(const struct conf_qos *qos, const char *name)
{
	for (uint32_t i = 0; i < qos->group_count; i++)
		if (strcmp(qos->groups[i].name, name) == 0)
			return i;
	return CONF_QOS_NONE;
}

static void
mode_read(struct reader *r, const struct node *node, enum conf_qos_mode *mode)
{
	unsigned word = *mode;

	word_read(r, node, "mode", conf_qos_words, COUNT_OF(conf_qos_words), &word);
	*mode = word;
}

/* ---- limits ---- */

static void
iops_read(struct reader *r, const struct node *node, const char *key, uint64_t *value)
{
	uint32_t ios = (uint32_t)*value;

	number_read(r, node, key, 1, QOS_CAP_IOS_MAX, &ios);
	*value = ios;
}

static void
bandwidth_read(struct reader *r, const struct node *node, const char *key, uint64_t *value)
{
	const char *text = scalar_text(r, node, key);
	uint64_t bytes;

	if (text == NULL)
		return;
	if (size_parse(text, &bytes) && bytes >= 1 && bytes <= QOS_CAP_BYTES_MAX)
		*value = bytes;
	else
		complain(r->errors, node->line, "`%s` is bytes a second, a number with K, M, G or T from 1 to 1T, "
		    "not %s", key, quote(text).text);
}

static void
caps_read(struct reader *r, const struct node *map, struct qos_limit limits[QOS_KINDS], uint32_t *burst_ms)
{
	static const char *const keys[] = {
		"read_iops", "write_iops", "read_bandwidth", "write_bandwidth", "burst",
	};
	const struct node *values[COUNT_OF(keys)];

	if (map == NULL || !map_read(r, map, "`limits`", keys, COUNT_OF(keys), 0, values))
		return;
	for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
		iops_read(r, values[kind], keys[kind], &limits[kind].ios);
		bandwidth_read(r, values[2 + kind], keys[2 + kind], &limits[kind].bytes);
	}
	time_read(r, values[4], keys[4], burst_ms);
}

/* ---- devices, groups, tenants ---- */

static void
devices_read(struct reader *r, const struct node *list)
{
	struct conf_qos *qos = &r->conf->qos;

	if (list == NULL || !list_check(r, list, "devices", 0, CONF_DEVICES_MAX))
		return;
	qos->devices = reader_alloc(r, list->count, sizeof(qos->devices[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next) {
		struct conf_device *device = &qos->devices[qos->device_count];

		device_read(r, node, device);
		if (device->name[0] != '\0' && device_find(qos, device->name) != CONF_QOS_NONE)
			complain(r->errors, node->line, "two devices have the name %s", quote(device->name).text);
		qos->device_count++;
	}
}

static void
group_read(struct reader *r, const struct node *node, struct conf_group *group)
{
	static const char *const keys[] = { "name", "weight", "limits" };
	const struct node *values[COUNT_OF(keys)];

	group->weight = 1;
	if (!map_read(r, node, "a group", keys, COUNT_OF(keys), 1, values))
		return;
	label_read(r, values[0], keys[0], group->name, sizeof(group->name));
	number_read(r, values[1], keys[1], 1, QOS_WEIGHT_MAX, &group->weight);
	caps_read(r, values[2], group->limits, &group->burst_ms);
}

static void
groups_read(struct reader *r, const struct node *list)
{
	struct conf_qos *qos = &r->conf->qos;

	if (list == NULL || !list_check(r, list, "groups", 0, CONF_GROUPS_MAX))
		return;
	qos->groups = reader_alloc(r, list->count, sizeof(qos->groups[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next) {
		struct conf_group *group = &qos->groups[qos->group_count];

		group_read(r, node, group);
		if (group->name[0] != '\0' && group_find(qos, group->name) != CONF_QOS_NONE)
			complain(r->errors, node->line, "two groups have the name %s", quote(group->name).text);
		qos->group_count++;
	}
}

static void
tenant_read(struct reader *r, const struct node *node, struct seen *seen, struct conf_tenant *tenant)
{
	static const char *const keys[] = { "host", "group", "weight", "limits" };
	enum { HOST, GROUP, WEIGHT, LIMITS };
	const struct node *values[COUNT_OF(keys)];
	const char *group;

	*tenant = (struct conf_tenant){ .group = CONF_QOS_NONE, .weight = 1 };
	if (!map_read(r, node, "a tenant", keys, COUNT_OF(keys), 1, values))
		return;
	nqn_read(r, values[HOST], "host", &tenant->host);
	if (tenant->host != NULL && seen_before(r, seen, tenant->host, strlen(tenant->host)))
		complain(r->errors, node->line, "the tenant %s is there twice", quote(tenant->host).text);
	group = scalar_text(r, values[GROUP], "group");
	if (group != NULL)
		tenant->group = group_find(&r->conf->qos, group);
	if (group != NULL && tenant->group == CONF_QOS_NONE)
		complain(r->errors, values[GROUP]->line, "there is no group %s", quote(group).text);
	number_read(r, values[WEIGHT], "weight", 1, QOS_WEIGHT_MAX, &tenant->weight);
	caps_read(r, values[LIMITS], tenant->limits, &tenant->burst_ms);
}

static void
tenants_read(struct reader *r, const struct node *list)
{
	struct conf_qos *qos = &r->conf->qos;
	struct seen *seen;

	if (list == NULL || !list_check(r, list, "tenants", 0, CONF_TENANTS_MAX))
		return;
	seen = seen_make(r);
	qos->tenants = reader_alloc(r, list->count, sizeof(qos->tenants[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next)
		tenant_read(r, node, seen, &qos->tenants[qos->tenant_count++]);
}

void
qos_read(struct reader *r, const struct node *map)
{
	static const char *const keys[] = { "mode", "devices", "groups", "tenants" };
	enum { MODE, DEVICES, GROUPS, TENANTS };
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(r, map, "`qos`", keys, COUNT_OF(keys), 0, values))
		return;
	mode_read(r, values[MODE], &r->conf->qos.mode);
	devices_read(r, values[DEVICES]);
	groups_read(r, values[GROUPS]);
	if (!reader_done(r))
		tenants_read(r, values[TENANTS]);
}

/* ---- of a namespace ---- */

void
ns_qos_read(struct reader *r, const struct node *map, struct conf_ns *ns)
{
	static const char *const keys[] = { "mode", "device", "limits" };
	enum { MODE, DEVICE, LIMITS };
	const struct node *values[COUNT_OF(keys)];
	const char *device;

	ns->mode = r->conf->qos.mode;
	ns->device = CONF_QOS_NONE;
	if (map == NULL || !map_read(r, map, "`qos` of a namespace", keys, COUNT_OF(keys), 0, values))
		return;
	mode_read(r, values[MODE], &ns->mode);
	device = scalar_text(r, values[DEVICE], "device");
	if (device != NULL)
		ns->device = device_find(&r->conf->qos, device);
	if (device != NULL && ns->device == CONF_QOS_NONE)
		complain(r->errors, values[DEVICE]->line, "there is no device %s", quote(device).text);
	caps_read(r, values[LIMITS], ns->limits, &ns->burst_ms);
}
