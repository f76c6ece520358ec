/*
 * qos_print.c - fair sharing as canonical YAML.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/printer.h"

/* What is said of a device where nobody has decided otherwise. */
static void
say_device(const struct printer *p, const struct conf_device *device)
{
	struct conf_device usual;
	char text[DEVICE_VALUE], other[DEVICE_VALUE];

	qos_params_default(&usual.params);
	line_text(p, "    - ", "name", device->name);
	for (unsigned key = 0; key < device_keys(); key++) {
		device_value(device, key, text);
		device_value(&usual, key, other);
		if (device_measured(key) || strcmp(text, other) != 0)
			say(p, "      %s: %s\n", device_key(key), text);
	}
}

void
conf_device_print(const struct conf_device *device, void (*put)(void *arg, const char *text, size_t bytes), void *arg)
{
	const struct printer p = { put, arg };

	say_device(&p, device);
}

/* One line for each limit, and none where there is no limit. */
static void
say_limits(const struct printer *p, const char *before, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms)
{
	static const char *const words[QOS_KINDS] = { [QOS_READ] = "read", [QOS_WRITE] = "write" };
	static const struct qos_limit none[QOS_KINDS];
	char inner[32], size[SIZE_TEXT];

	if (memcmp(limits, none, sizeof(none)) == 0 && burst_ms == 0)
		return;
	say(p, "%slimits:\n", before);
	snprintf(inner, sizeof(inner), "%s  ", before);
	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		if (limits[kind].ios != 0)
			say(p, "%s%s_iops: %" PRIu64 "\n", inner, words[kind], limits[kind].ios);
	for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
		size_print(limits[kind].bytes, size);
		if (limits[kind].bytes != 0)
			say(p, "%s%s_bandwidth: %s\n", inner, words[kind], size);
	}
	if (burst_ms != 0)
		line_time(p, inner, "burst", burst_ms);
}

static void
say_group(const struct printer *p, const struct conf_group *group)
{
	line_text(p, "    - ", "name", group->name);
	if (group->weight != 1)
		say(p, "      weight: %u\n", group->weight);
	say_limits(p, "      ", group->limits, group->burst_ms);
}

static void
say_tenant(const struct printer *p, const struct conf_qos *qos, const struct conf_tenant *tenant)
{
	line_text(p, "    - ", "host", tenant->host);
	if (tenant->group != CONF_QOS_NONE)
		line_text(p, "      ", "group", qos->groups[tenant->group].name);
	if (tenant->weight != 1)
		say(p, "      weight: %u\n", tenant->weight);
	say_limits(p, "      ", tenant->limits, tenant->burst_ms);
}

void
say_qos(const struct printer *p, const struct conf_qos *qos)
{
	if (qos->mode == CONF_QOS_OFF && qos->device_count == 0 && qos->group_count == 0 && qos->tenant_count == 0)
		return;
	say(p, "qos:\n");
	if (qos->mode != CONF_QOS_OFF)
		line_text(p, "  ", "mode", conf_qos_words[qos->mode]);
	if (qos->device_count > 0)
		say(p, "  devices:\n");
	for (uint32_t i = 0; i < qos->device_count; i++)
		say_device(p, &qos->devices[i]);
	if (qos->group_count > 0)
		say(p, "  groups:\n");
	for (uint32_t i = 0; i < qos->group_count; i++)
		say_group(p, &qos->groups[i]);
	if (qos->tenant_count > 0)
		say(p, "  tenants:\n");
	for (uint32_t i = 0; i < qos->tenant_count; i++)
		say_tenant(p, qos, &qos->tenants[i]);
}

void
say_ns_qos(const struct printer *p, const struct conf_qos *qos, const struct conf_ns *ns)
{
	static const struct qos_limit none[QOS_KINDS];

	if (ns->mode == qos->mode && ns->device == CONF_QOS_NONE && memcmp(ns->limits, none, sizeof(none)) == 0 &&
	    ns->burst_ms == 0)
		return;
	say(p, "        qos:\n");
	if (ns->mode != qos->mode)
		line_text(p, "          ", "mode", conf_qos_words[ns->mode]);
	if (ns->device != CONF_QOS_NONE)
		line_text(p, "          ", "device", qos->devices[ns->device].name);
	say_limits(p, "          ", ns->limits, ns->burst_ms);
}
