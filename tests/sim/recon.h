/*
 * recon.h - a target that is told anew what it serves while hosts work on it.
 *
 * An operator inside the target process makes plans and applies them; hosts
 * write versions of slots to whatever they find, through whatever leads there,
 * read the logs that events point to, and come back when they are thrown out.
 * Everybody writes down what happened; what may have happened follows from the
 * plans that held between a command's submission and its end.
 */
#ifndef WEIR_TESTS_RECON_H
#define WEIR_TESTS_RECON_H

#include "base/rng.h"
#include "host/qpair.h"
#include "probe.h"
#include "sim/sim.h"
#include "target/target.h"

enum {
	RECON_SUBSYS = 3, RECON_NS = 4, RECON_LISTEN = 3, RECON_GROUPS = 2,
	RECON_HOSTS = 4,        /* that do I/O; one more looks at the discovery log */
	RECON_SLOTS = 6, RECON_SLOT_BLOCKS = 16, RECON_BLOCKS = RECON_HOSTS * RECON_SLOTS * RECON_SLOT_BLOCKS,
	RECON_VOLUMES = 24, RECON_PLANS = 256, RECON_QUEUES = 3, RECON_WORKS = 5,
	RECON_VERSIONS = 16, RECON_REACTORS = 3,
	RECON_PORT = 4420, RECON_TAKEN_PORT = 4999,
	RECON_MS = 1000 * 1000,
	RECON_FEW = 256,        /* blocks of a volume in memory at first, where it grows */
};

/* What a seed does and does not. */
enum recon_feature {
	RECON_DOES_NS = 1 << 0, RECON_DOES_RESIZE = 1 << 1, RECON_DOES_REPLACE = 1 << 2, RECON_DOES_PROTECT = 1 << 3,
	RECON_DOES_GROUP = 1 << 4, RECON_DOES_ANA = 1 << 5, RECON_DOES_HOSTS = 1 << 6, RECON_DOES_SUBSYS = 1 << 7,
	RECON_DOES_LISTEN = 1 << 8, RECON_DOES_FAIL = 1 << 9, RECON_DOES_RESETS = 1 << 10, RECON_DOES_CRASH = 1 << 11,
	RECON_DOES_HASTE = 1 << 12, /* plans follow each other closely */
	RECON_DOES_STATIC = 1 << 13, /* controllers become static, and dynamic again */
};

/* ---- plans ---- */

struct plan_ns {
	int volume;       /* index; -1: no such namespace */
	unsigned life;    /* of the volume, which may be closed and made anew */
	uint32_t blocks;  /* 0: all */
	unsigned group;   /* index */
	bool protect;
};

struct plan_subsys {
	bool on, listed;
	unsigned statics; /* static controllers, as many as hosts at least; 0: they are dynamic */
	uint32_t hosts, listeners;
	uint8_t state[RECON_GROUPS][RECON_LISTEN];
	struct plan_ns ns[RECON_NS];
};

struct plan {
	uint64_t from_ns, until_ns; /* it may hold in between */
	uint32_t listeners;
	struct plan_subsys subsys[RECON_SUBSYS];
};

/* A config made of a plan, and where all of it lies. */
struct recon_config {
	struct target_config config;
	struct target_listen listen[RECON_LISTEN + 1];
	struct target_subsys subsys[RECON_SUBSYS];
	struct target_ana ana[RECON_SUBSYS][RECON_GROUPS];
	struct target_ns ns[RECON_SUBSYS][RECON_NS + 1];
	const char *hosts[RECON_SUBSYS][RECON_HOSTS + 1];
};

/* ---- volumes, and what may be found in them ---- */

struct recon_slot {
	uint32_t versions[RECON_VERSIONS]; /* each block of it holds one of these */
	unsigned count;
	bool any;                          /* too many to tell */
};

enum volume_state { VOLUME_NONE, VOLUME_IDLE, VOLUME_PLANNED, VOLUME_LEAVING };

struct recon_volume {
	struct probe probe;
	enum volume_state state;
	unsigned life;
	struct recon_slot slots[RECON_HOSTS][RECON_SLOTS];
};

/* ---- hosts ---- */

struct recon_host;

struct recon_work {
	struct hio io, compare;
	struct recon_host *host;
	bool busy, fused, compared; /* fused: the compare has its status already */
	uint8_t op;
	bool zeroes;
	unsigned subsys, nsid, queue, slot, from; /* from: of a Copy */
	uint32_t version, expected;
	uint64_t since_ns;
	uint8_t *data, *old;
	struct iovec iov, old_iov;
	struct nvme_copy_range range;
};

struct recon_host {
	struct recon *r;
	unsigned index;
	bool discovery;
	uint16_t queues;
	uint32_t slot_blocks;
	bool hdgst, ddgst, sq_flow;

	struct reactor *reactor;
	struct rng rng;
	struct gather gather;
	struct qpair admin, io[RECON_QUEUES];
	unsigned opened;
	bool losing, running, trying;
	unsigned subsys, listener, io_listener[RECON_QUEUES];
	uint16_t asked;                   /* for this controller */
	uint64_t try_ns, queue_ns;        /* since when a Connect is under way */
	struct hio command, alive, aer;
	void (*then)(struct recon_host *h);
	uint8_t *page;
	struct iovec page_iov;
	struct timer retry, alive_timer, poll, limit;
	char hostnqn[NVME_NQN_FIELD], subnqn[NVME_NQN_FIELD];

	/* what it knows */
	uint32_t dirty;                   /* pages that it was told to read */
	bool refreshing;
	uint32_t list[RECON_NS + 1];
	unsigned list_count, list_at;
	uint64_t blocks[RECON_NS];        /* 0: not there */
	uint32_t group[RECON_NS];         /* id */
	uint8_t state[RECON_GROUPS];
	uint64_t ana_changes;
	bool shown[RECON_SUBSYS + 1][RECON_LISTEN]; /* the last line: the discovery subsystem */

	struct recon_work works[RECON_WORKS];
	bool slot_busy[RECON_SLOTS];
	uint32_t version;
	bool crashed;                     /* since it was last connected */
};

/* ---- all of it ---- */

/* One call of target_apply(). */
struct attempt {
	struct target_applied applied;
	struct recon *r;
	struct plan plan;
	bool must_fail, over;
	bool giving[RECON_VOLUMES];
	unsigned left;
	struct attempt *next;     /* all there were */
};

struct recon_counts {
	uint64_t applies, failed_applies, busy_applies, unused, ios, reads, pairs, refused[8];
	uint64_t losses, notices, connects, unlisted, statics, busy, grown;
};

struct recon {
	struct sim *sim;
	uint64_t seed;
	uint32_t does;
	unsigned reactors, started;
	struct sim_process *target_process, *host_processes[RECON_HOSTS + 1];
	struct target *target;
	struct reactor *reactor0;
	struct rng rng;
	struct timer operator;
	struct listener taken;
	unsigned plans_left;
	bool stop, end, drain, drained;   /* hosts stop working; they go; the target is drained */
	struct plan plans[RECON_PLANS];
	unsigned plan_count;
	struct attempt *attempts, *under_way;
	struct recon_volume volumes[RECON_VOLUMES];
	struct recon_host hosts[RECON_HOSTS + 1];
	struct recon_counts counts;
	uint64_t baseline[RECON_REACTORS];
	/* One allocation that fails, where a test wants it: the n-th of a reactor. */
	unsigned fail_reactor;
	uint64_t fail_at;
	bool failed, told;                /* it did; and somebody was told */
	/* what went wrong, in words; the first is kept */
	unsigned wrong;
	char what[256];
};

void recon_wrong(struct recon *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* recon_plan.c: plans, and what follows from them */
void plan_empty(struct plan *plan);
void plan_mutate(struct recon *r, struct plan *plan);
void plan_config(const struct recon *r, const struct plan *plan, struct recon_config *out);
void plan_grow(struct recon *r, const struct plan *plan);
bool plan_uses(const struct plan *plan, int volume);
bool plan_admits(const struct plan *plan, unsigned subsys, unsigned host, unsigned listener);
uint32_t recon_nsid(unsigned index);
unsigned recon_ns_index(uint32_t nsid); /* RECON_NS: of none */

/* What may come of a command, by the plans that may have held. */
struct verdict {
	uint16_t statuses[8];
	unsigned status_count;
	bool ok;
	int volumes[8];       /* it may have gone to */
	unsigned volume_count;
	bool closed;          /* or to one that is closed by now, of which nothing is known any more */
};

struct recon_ask {
	unsigned host, subsys, listener;
	uint32_t nsid;
	bool changes, whole; /* whole: of no blocks */
	uint64_t lba, from_lba;
	uint32_t blocks;
	uint64_t since_ns;
};

void recon_judge(const struct recon *r, const struct recon_ask *ask, struct verdict *verdict);
bool recon_admitted(const struct recon *r, unsigned subsys, unsigned host, unsigned listener, uint64_t since_ns,
    bool always);
bool recon_allows(const struct verdict *verdict, struct nvme_status status);

/* recon_ids.c: static controllers, and others */
bool plan_has(const struct plan *plan, unsigned subsys, uint16_t cntlid); /* one that a host may ask for */
bool recon_has(const struct recon *r, unsigned subsys, uint16_t cntlid, uint64_t since_ns, bool always);
void recon_choose_id(struct recon_host *h);
void recon_check_id(struct recon_host *h); /* the one it was given */
bool recon_is_busy(const struct qpair *qp);
bool recon_was_busy(struct recon_host *h, const struct qpair *qp);
void recon_check_ids(struct recon *r);

/* recon_host.c, recon_load.c */
int recon_host_start(struct reactor *reactor, void *arg);
void recon_host_work(struct recon_host *h);
void recon_host_crashed(struct recon_host *h);
void recon_work_init(struct recon_host *h);

/* recon_beliefs.c: what it believes is what the last plan says */
void recon_host_check(struct recon_host *h);

/* recon.c: the operator, and a whole history */
/* `r` is zeroed but for plans_left, fail_at and fail_reactor, which may be set. */
void recon_create(struct recon *r, uint64_t seed, const struct sim_options *options);
void recon_play(struct recon *r);
void recon_destroy(struct recon *r);

#endif
