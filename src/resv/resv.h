/*
 * resv.h - reservations of one namespace (NVMe Base 2.0, 7.2 to 7.6 and 8.19).
 *
 * Answers: what does a reservation command of a host do, who must be told,
 * whose commands must end, and what may a host read or write now?  Pure: it
 * knows hosts by their ids, and nothing of controllers, connections, threads
 * or disks.  doc/reservations.md has the rules and the choices.
 */
#ifndef WEIR_RESV_RESV_H
#define WEIR_RESV_RESV_H

#include "wire/log.h"
#include "wire/reservation.h"

enum { RESV_HOSTS_MAX = 64, RESV_HOSTID_LEN = 16 };

#define RESV_NOBODY UINT32_MAX

struct resv_host {
	uint8_t hostid[RESV_HOSTID_LEN]; /* not zeros */
	uint64_t key;                    /* not 0 */
};

/* A value: a copy of it is a state to go back to. */
struct resv {
	struct resv_host hosts[RESV_HOSTS_MAX]; /* the registrants, in order of registration */
	uint32_t host_count;
	uint32_t holder; /* of types 1 to 4 an index into hosts, else RESV_NOBODY */
	uint32_t generation;
	enum nvme_resv_type type;
	bool ptpl;
	bool can_persist; /* there is somewhere to keep the state: PTPL may be set */
};

struct resv_notice {
	uint8_t hostid[RESV_HOSTID_LEN];
	enum nvme_resv_notice kind;
};

/* What the target has to do beside answering; of a command that was refused, nothing. */
struct resv_effect {
	bool changed; /* the state is another: masks that were kept are asked for anew */
	bool persist; /* first of all: the state is to be durable before anybody hears of it */
	uint32_t notice_count, abort_count;
	struct resv_notice notices[RESV_HOSTS_MAX]; /* each host at most once, never the caller */
	uint8_t aborts[RESV_HOSTS_MAX][RESV_HOSTID_LEN]; /* their commands end with 0:1B before the answer */
};

/* Nobody is registered. */
void resv_init(struct resv *resv, bool can_persist);

/* Whether all that doc/reservations.md says of a state is true of it. */
bool resv_valid(const struct resv *resv);

enum resv_access { RESV_READ = 1, RESV_WRITE = 2 };

/* What the host may do now, as bits of resv_access; valid until an effect says `changed`. */
unsigned resv_access(const struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN]);

/*
 * The commands of the host `hostid`.  Of the SQE, CDW10 is looked at; `data` is
 * what the command brought, whole.  The effect is filled in any case.
 */
struct nvme_status resv_register(struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN],
    const struct nvme_sqe *sqe, const struct nvme_resv_register_data *data, struct resv_effect *effect);
struct nvme_status resv_acquire(struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN],
    const struct nvme_sqe *sqe, const struct nvme_resv_acquire_data *data, struct resv_effect *effect);
struct nvme_status resv_release(struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN],
    const struct nvme_sqe *sqe, const struct nvme_resv_release_data *data, struct resv_effect *effect);

/* Set Features 83h. */
struct nvme_status resv_set_ptpl(struct resv *resv, bool ptpl, struct resv_effect *effect);

/* A controller that a host has now. */
struct resv_controller {
	uint8_t hostid[RESV_HOSTID_LEN];
	uint16_t cntlid;
};

enum { RESV_REPORT_MAX = (RESV_HOSTS_MAX + 1) * 64 }; /* what lies behind it in a report is zeros */

/*
 * Reservation Report of any host: fills `out` with all of the `bytes` bytes
 * that nvme_resv_report_bytes() says the command asks for, unless it is
 * refused.  Of several controllers of a host the first is named; of a host
 * without one, FFFFh.
 */
struct nvme_status resv_report(const struct resv *resv, const struct nvme_sqe *sqe,
    const struct resv_controller *controllers, uint32_t count, uint8_t *out, size_t bytes);

#endif
