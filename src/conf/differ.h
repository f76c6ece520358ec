/*
 * differ.h - what the files share that tell what is different: whom, and how.
 */
#ifndef WEIR_CONF_DIFFER_H
#define WEIR_CONF_DIFFER_H

#include "conf/diff.h"
#include "conf/same.h"

struct differ {
	const struct conf *old, *new;
	void (*tell)(void *arg, const struct conf_change *change);
	void *arg;
	uint32_t count;
};

void tell(struct differ *d, enum conf_ease ease, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- qos_diff.c ---- */

/* The devices, groups and tenants that one of the two has and the other has not. */
void qos_told(struct differ *d, char sign, const struct conf *has, const struct conf *not);

/* What is otherwise of those that both have. */
void qos_altered(struct differ *d);
void ns_qos_altered(struct differ *d, const char *nqn, const struct conf_ns *old, const struct conf_ns *new);

#endif
