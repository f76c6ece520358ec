/*
 * qos.h - fair sharing, as an operator wrote it: what drives are like, who has which part, and what nobody may exceed.
 *
 * Which namespace is shared how stands with the namespace (conf.h).  What the numbers do is for qos/ to know.
 */
#ifndef WEIR_CONF_QOS_H
#define WEIR_CONF_QOS_H

#include "qos/cap.h"

enum {
	CONF_DEVICES_MAX = 64,
	CONF_GROUPS_MAX = 64,
	CONF_TENANTS_MAX = 1024,
	CONF_NAME_MAX = 63,
};

#define CONF_QOS_NONE UINT32_MAX /* no device, no group */

enum conf_qos_mode {
	CONF_QOS_OFF,    /* first come, first served */
	CONF_QOS_CAPS,   /* so too, but nobody exceeds his limits */
	CONF_QOS_GIMBAL, /* fair parts of what the device can do, and limits */
};

struct conf_device {
	char name[CONF_NAME_MAX + 1];
	struct qos_params params;
};

struct conf_group {
	char name[CONF_NAME_MAX + 1];
	uint32_t weight;
	struct qos_limit limits[QOS_KINDS]; /* of its tenants together; 0: none */
	uint32_t burst_ms;                  /* 0: not given */
};

/* A host of which something is said; any other one has weight 1 and no limits. */
struct conf_tenant {
	const char *host;
	uint32_t group;                     /* by index; CONF_QOS_NONE: it is in none */
	uint32_t weight;                    /* in its group, or beside groups */
	struct qos_limit limits[QOS_KINDS];
	uint32_t burst_ms;
};

struct conf_qos {
	enum conf_qos_mode mode;            /* where a namespace does not say */
	uint32_t device_count;
	struct conf_device *devices;
	uint32_t group_count;
	struct conf_group *groups;
	uint32_t tenant_count;
	struct conf_tenant *tenants;
};

/* A device as an entry of `devices`, with every parameter that is measured, in pieces. */
void conf_device_print(const struct conf_device *device, void (*put)(void *arg, const char *text, size_t bytes),
    void *arg);

#endif
