#include "conf/same.h"

#include <stdlib.h>
#include <string.h>

static bool
same_address(const struct conf_address *a, const struct conf_address *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

int
listener_in(const struct conf *conf, const struct conf_listener *l)
{
	for (uint32_t i = 0; i < conf->listener_count; i++)
		if (same_address(&conf->listeners[i].address, &l->address) &&
		    (l->address.port != 0 || strcmp(conf->listeners[i].name, l->name) == 0))
			return (int)i;
	return -1;
}

const struct conf_subsys *
subsys_in(const struct conf *conf, const char *nqn)
{
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		if (strcmp(conf->subsys[i].nqn, nqn) == 0)
			return &conf->subsys[i];
	return NULL;
}

bool
referral_in(const struct conf *conf, const struct conf_address *address)
{
	for (uint32_t i = 0; i < conf->referral_count; i++)
		if (same_address(&conf->referrals[i], address))
			return true;
	return false;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void
hosts_sort(const struct conf_subsys *subsys, struct hosts *hosts)
{
	hosts->count = subsys->host_count;
	for (uint32_t i = 0; i < hosts->count; i++)
		hosts->list[i] = subsys->hosts[i];
	qsort(hosts->list, hosts->count, sizeof(hosts->list[0]), by_name);
}

bool
host_in(const struct hosts *hosts, const char *host)
{
	return bsearch(&host, hosts->list, hosts->count, sizeof(hosts->list[0]), by_name) != NULL;
}

const struct conf_device *
device_in(const struct conf_qos *qos, const char *name)
{
	uint32_t at = device_find(qos, name);

	return at != CONF_QOS_NONE ? &qos->devices[at] : NULL;
}

const struct conf_group *
group_in(const struct conf_qos *qos, const char *name)
{
	uint32_t at = group_find(qos, name);

	return at != CONF_QOS_NONE ? &qos->groups[at] : NULL;
}

static int
by_host(const void *a, const void *b)
{
	const struct conf_tenant *const *x = a, *const *y = b;

	return strcmp((*x)->host, (*y)->host);
}

void
tenants_sort(const struct conf_qos *qos, struct tenants *tenants)
{
	tenants->count = qos->tenant_count;
	for (uint32_t i = 0; i < tenants->count; i++)
		tenants->list[i] = &qos->tenants[i];
	qsort(tenants->list, tenants->count, sizeof(tenants->list[0]), by_host);
}

const struct conf_tenant *
tenant_in(const struct tenants *tenants, const char *host)
{
	const struct conf_tenant wanted = { .host = host }, *key = &wanted;
	const struct conf_tenant *const *at = bsearch(&key, tenants->list, tenants->count, sizeof(tenants->list[0]),
	    by_host);

	return at != NULL ? *at : NULL;
}

const struct conf_ana *
ana_in(const struct conf_subsys *subsys, uint32_t id)
{
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		if (subsys->ana[i].id == id)
			return &subsys->ana[i];
	return NULL;
}

void
namespaces_sort(const struct conf_subsys *subsys, struct namespaces *namespaces)
{
	*namespaces = (struct namespaces){ { NULL } };
	for (uint32_t i = 0; subsys != NULL && i < subsys->ns_count; i++)
		namespaces->by_nsid[subsys->ns[i].nsid] = &subsys->ns[i];
}

const struct conf_ns *
volume_in(const struct namespaces *namespaces, const struct conf_ns *ns)
{
	const struct conf_ns *other = namespaces->by_nsid[ns->nsid];
	bool same = other != NULL && strcmp(other->volume, ns->volume) == 0 && other->block_size == ns->block_size;

	return same ? other : NULL;
}

const struct conf_ns *
ns_in(const struct namespaces *namespaces, const struct conf_ns *ns)
{
	const struct conf_ns *other = volume_in(namespaces, ns);
	bool same = other != NULL && memcmp(other->nguid, ns->nguid, 16) == 0 && memcmp(other->uuid, ns->uuid, 16) == 0;

	return same ? other : NULL;
}
