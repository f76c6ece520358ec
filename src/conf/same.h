/*
 * same.h - the same things in another configuration: which listener, subsystem, host, namespace, tenant of it is this?
 *
 * Hosts, namespaces and tenants, of which there may be many, are put in order first and looked up then.
 */
#ifndef WEIR_CONF_SAME_H
#define WEIR_CONF_SAME_H

#include "conf/internal.h"

/* Its index, or -1. */
int listener_in(const struct conf *conf, const struct conf_listener *l);

const struct conf_subsys *subsys_in(const struct conf *conf, const char *nqn);
bool referral_in(const struct conf *conf, const struct conf_address *address);
const struct conf_ana *ana_in(const struct conf_subsys *subsys, uint32_t id);

/* The hosts of a subsystem, to be looked up. */
struct hosts {
	const char *list[CONF_HOSTS_MAX];
	uint32_t count;
};

void hosts_sort(const struct conf_subsys *subsys, struct hosts *hosts);
bool host_in(const struct hosts *hosts, const char *host);

/* Devices and groups by their names, and tenants by their hosts; NULL: there is none.  Tenants are put in order. */
const struct conf_device *device_in(const struct conf_qos *qos, const char *name);
const struct conf_group *group_in(const struct conf_qos *qos, const char *name);

struct tenants {
	const struct conf_tenant *list[CONF_TENANTS_MAX];
	uint32_t count;
};

void tenants_sort(const struct conf_qos *qos, struct tenants *tenants);
const struct conf_tenant *tenant_in(const struct tenants *tenants, const char *host);

/* The namespaces of a subsystem by nsid; all NULL where there is no subsystem. */
struct namespaces {
	const struct conf_ns *by_nsid[CONF_NS_MAX + 1];
};

void namespaces_sort(const struct conf_subsys *subsys, struct namespaces *namespaces);

/* The one that has its volume. */
const struct conf_ns *volume_in(const struct namespaces *namespaces, const struct conf_ns *ns);

/* The one that is the same apart from what can change while it is served. */
const struct conf_ns *ns_in(const struct namespaces *namespaces, const struct conf_ns *ns);

#endif
