/*
 * qos_bench.h - the switch with some tenants and their I/Os, for tests: what of them waits, and what is in flight.
 */
#ifndef WEIR_TESTS_QOS_BENCH_H
#define WEIR_TESTS_QOS_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "qos/qos.h"

enum { TENANTS = 8, IOS = 64, KIB = 1024, MIB = 1024 * KIB, US = 1000, MS = 1000 * US, S = 1000 * MS };

enum where { OUT, WAITS, FLIES };

struct bench {
	struct qos_params params;
	struct qos qos;
	struct qos_tenant tenants[TENANTS];
	struct qos_group group;
	struct qos_cap caps[3]; /* of a tenant, of the group, of all */
	struct qos_io ios[TENANTS][IOS];
	enum where where[TENANTS][IOS];
	uint64_t went[TENANTS]; /* bytes */
	uint8_t had[TENANTS];   /* full slots, when it was looked last */
	uint64_t now;
};

/* With the parameters of qos_params_default(), and as many tenants of weight 1. */
void bench_begin(struct bench *b, int tenants);

/* A tenant's I/O, which is nowhere, comes; the next one goes, or NULL; and one that went has ended. */
void bench_arrive(struct bench *b, int t, int i, enum qos_op op, uint64_t bytes);
struct qos_io *bench_go(struct bench *b);
void bench_end(struct bench *b, struct qos_io *io, uint64_t latency_ns);

#endif
