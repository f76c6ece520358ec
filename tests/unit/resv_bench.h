/*
 * resv_bench.h - reservations on a table of text: a state is set and read as
 * a line such as "WERO 1a 2b* 3a", which is the type (- is none), then the
 * registrants with their keys, and a star at who holds it.
 *
 * What is true after any command is asked after every one.
 */
#ifndef TESTS_RESV_BENCH_H
#define TESTS_RESV_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resv/resv.h"

/* A command: key[0] is CRKEY, key[1] NRKEY or PRKEY. */
struct resv_command {
	unsigned host;
	enum nvme_io_opcode opcode;
	uint32_t cdw10;
	uint64_t key[2];
};

struct resv_bench {
	struct resv resv;
	struct resv_effect effect;
	struct nvme_status status;
};

enum { RESV_TEXT_MAX = 1024 };

extern const char *const resv_type_names[7];

/* The id of host `number`; two ids differ in one byte alone. */
const uint8_t *resv_hostid(unsigned number);
unsigned resv_number(const uint8_t *hostid);

void resv_set(struct resv_bench *b, const char *state);
const char *resv_state(const struct resv_bench *b);

/* "2G 3R": host 2 was told that its registration was preempted, 3 that the reservation was released; P: preempted. */
const char *resv_told(const struct resv_bench *b);

/* "2 3": their commands are to end. */
const char *resv_ended(const struct resv_bench *b);

enum nvme_sc resv_do(struct resv_bench *b, const struct resv_command *command);

/* ---- rules in rows ---- */

/* A command in one line; keys are letters, 0 is the key 0. */
#define REGISTER(host, crkey, nrkey) { host, NVME_RESV_REGISTER, NVME_RREGA_REGISTER, { crkey, nrkey } }
#define UNREGISTER(host, flags, crkey) { host, NVME_RESV_REGISTER, NVME_RREGA_UNREGISTER | (flags), { crkey, 0 } }
#define REPLACE(host, flags, crkey, nrkey) \
	{ host, NVME_RESV_REGISTER, NVME_RREGA_REPLACE | (flags), { crkey, nrkey } }
#define ACQUIRE(host, type, crkey) { host, NVME_RESV_ACQUIRE, NVME_RACQA_ACQUIRE | (type) << 8, { crkey, 'q' } }
#define PREEMPT(host, type, crkey, prkey) \
	{ host, NVME_RESV_ACQUIRE, NVME_RACQA_PREEMPT | (type) << 8, { crkey, prkey } }
#define RELEASE(host, type, crkey) { host, NVME_RESV_RELEASE, NVME_RRELA_RELEASE | (type) << 8, { crkey, 0 } }
#define CLEAR(host, crkey) { host, NVME_RESV_RELEASE, NVME_RRELA_CLEAR, { crkey, 0 } }

enum { WE = 1, EA, WERO, EARO, WEAR, EAAR, IEKEY = NVME_RESV_IEKEY };

/* A rule: what a command does to a state, and who hears of it; of a refusal only the status is told. */
struct resv_rule {
	const char *before;
	struct resv_command command;
	enum nvme_sc sc;
	const char *after, *told;
};

void resv_play(const struct resv_rule *rules, size_t count);

#define PLAY(rules) resv_play(rules, sizeof(rules) / sizeof(rules[0]))
#define CONFLICT NVME_SC_RESV_CONFLICT, NULL, NULL
#define INVALID NVME_SC_INVALID_FIELD, NULL, NULL
#define OK NVME_SC_SUCCESS

#endif
