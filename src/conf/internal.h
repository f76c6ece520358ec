/*
 * internal.h - what the files of conf/ share: values of a configuration.
 */
#ifndef WEIR_CONF_INTERNAL_H
#define WEIR_CONF_INTERNAL_H

#include "conf/tree.h"

/* ---- value.c: scalars, as number_read() has them ---- */

void time_read(struct reader *r, const struct node *node, const char *key, uint32_t *value_ms);
/* 1 to `max` printable ASCII characters. */
void ascii_read(struct reader *r, const struct node *node, const char *key, size_t max, const char **value);
void nqn_read(struct reader *r, const struct node *node, const char *key, const char **value);
/* Sixteen bytes that are not all zero: as a UUID is written, or with dashes between any bytes. */
void id_read(struct reader *r, const struct node *node, const char *key, bool uuid, uint8_t value[16]);
void address_read(struct reader *r, const struct node *node, uint16_t port, struct conf_address *value);

/* ---- order_log.c ---- */

void order_log_read(struct reader *r, const struct node *log);

/* ---- seen.c ---- */

/* Empty.  NULL: `no_memory` is set. */
struct seen *seen_make(struct reader *r) __attribute__((warn_unused_result));

/* Whether the bytes, which stand while the file is read, have been asked about before. */
bool seen_before(struct reader *r, struct seen *seen, const void *bytes, size_t length);

/* ---- volume.c ---- */

/* Volume and size of a namespace; its block size is known. */
void volume_read(struct reader *r, const struct node *volume, const struct node *size, struct conf_ns *ns);

/* Where hosts may make namespaces. */
void pool_read(struct reader *r, const struct node *map, struct conf_subsys *subsys);

/* The path of the file that a volume lies in, or NULL: it lies in none. */
const char *volume_path(const char *volume);

/* Whether what was written is lost when it is closed. */
bool volume_forgets(const char *volume);

/* ---- subsys.c, namespace.c ---- */

void subsystems_read(struct reader *r, const struct node *list);
void namespaces_read(struct reader *r, const struct node *list, struct conf_subsys *subsys);

/* The index of the listener of that name, or -1. */
int listener_find(const struct conf *conf, const char *name);

/* ---- qos.c, device.c: fair sharing ---- */

void qos_read(struct reader *r, const struct node *map);

/* What a namespace says of it; NULL: nothing. */
void ns_qos_read(struct reader *r, const struct node *map, struct conf_ns *ns);

/* The index of the device or the group of that name, or CONF_QOS_NONE. */
uint32_t device_find(const struct conf_qos *qos, const char *name);
uint32_t group_find(const struct conf_qos *qos, const char *name);

void device_read(struct reader *r, const struct node *node, struct conf_device *device);

/* The parameters, by number: what they are called, and what they say.  `device_value()` is the text that
 * device_read() reads. */
enum { DEVICE_VALUE = 128 };
unsigned device_keys(void);
const char *device_key(unsigned key);
void device_value(const struct conf_device *device, unsigned key, char text[DEVICE_VALUE]);

/* Whether it is told of a device in any case: it was measured, and differs from drive to drive. */
bool device_measured(unsigned key);

extern const char *const conf_qos_words[3]; /* by enum conf_qos_mode */

extern const char *const conf_discovery_words[5]; /* by enum conf_discovery, then true and false */
extern const char *const conf_ana_words[5]; /* in the order of conf_ana_values */
extern const uint8_t conf_ana_values[5];

#endif
