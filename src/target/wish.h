/*
 * wish.h - what hosts wish of the target that only its owner can do: namespaces
 * created, deleted, attached and detached, and write protection.
 *
 * The target checks a command as far as the snapshot goes that its controller
 * has, and hands it to the keeper, who knows what lies where.  Everything here
 * is called on reactor 0.
 */
#ifndef WEIR_TARGET_WISH_H
#define WEIR_TARGET_WISH_H

#include "target/target.h"
#include "wire/identify.h"

/* A controller that there is. */
struct target_controller {
	uint16_t cntlid;
	uint64_t association;   /* no two ever have the same, in the life of a target */
	const char *hostnqn;
	bool leaving;           /* it may still be served, but is not there for who asks */
};

struct target_wish;

enum target_wish_kind {
	WISH_CREATE,  /* like `create` */
	WISH_DELETE,  /* `nsid`, or UINT32_MAX: all */
	WISH_ATTACH,  /* `nsid` to the controllers of `cntlids` */
	WISH_DETACH,
	WISH_PROTECT, /* `nsid`, or UINT32_MAX: all that are active at the asker; `protection` */
};

/* How far it is that what was written before a protection is durable: the target's (settle.c). */
struct settle {
	void (*then)(struct target_wish *wish, struct nvme_status status);
	struct blk_io io;
	struct blk_chan *chan;
	struct timer timer;
	uint32_t nsid;          /* the next one is behind it */
	unsigned asked;         /* the core that is asked whether its writes have ended */
};

/* One at a time of a command; what it names was there when the command came, and may have gone since. */
struct target_wish {
	struct fifo_node node;  /* the keeper's */
	enum target_wish_kind kind;
	uint32_t nsid;
	enum nvme_protection protection;
	struct ns_info create;  /* blocks, block_size, shared, ana_group */
	char nqn[NVME_NQN_FIELD];      /* the subsystem */
	char asker_nqn[NVME_NQN_FIELD];
	struct target_controller asker;
	uint8_t hostid[16];     /* the asker's, which reservations go by */
	bool over;              /* the asker is going, gone, reset, or aborts it: what has not begun is not to be */
	struct request *req;    /* the target's; */
	struct request *abort;  /* the Abort that is answered after it, or NULL; */
	uint16_t key;           /* by which it knows the asker; */
	uint64_t volume;        /* of the namespace `nsid` when it came; */
	struct settle settle;   /* and what is to be on the medium, of one that protects */
	uint64_t newest;        /* the last association that it may mean: ids are used again */
	uint32_t cntlid_count;
	uint16_t cntlids[];     /* ascending */
};

/* A controller has so many under way at most: the keeper has one of them, the others wait on its core. */
enum { TARGET_WISHES_MAX = 8 };

struct target_keeper {
	/* Is to end by target_wish_done(), at once or later, once target_apply() has made it so, or not. */
	void (*wish)(struct target_keeper *keeper, struct target_wish *wish);
	/* Or NULL: some wish is over.  It ends like any other, and soon where it has not begun, with 0:21: the asker's
	 * host may wait for that (FENCE, its next Connect, a reset), and the operator, who put it out, believes it. */
	void (*over)(struct target_keeper *keeper);
	/* Or NULL: target_apply() would not be too early any more. */
	void (*idle)(struct target_keeper *keeper);
};

/* Whoever wished is answered, and the wish is no more; `nsid`: of a namespace that was created. */
void target_wish_done(struct target *target, struct target_wish *wish, struct nvme_status status, uint32_t nsid);

/* What the operator is told of a wish, or of where it is kept: as many lines a minute as of all that peers, or storage,
 * bring about.  No '\n'; what cannot be seen is shown as numbers. */
void target_log_peer(struct target *target, const char *format, ...) __attribute__((format(printf, 2, 3)));
void target_log_storage(struct target *target, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether `nsid` is the namespace that it was when the wish came: NSIDs are used again. */
bool target_still_named(const struct target *target, const struct target_wish *wish);

/* Whether reservations of a namespace let the asker change it, as they are now. */
bool target_may_write(const struct target *target, const struct target_wish *wish, uint32_t nsid);

/* The controllers of a subsystem, with those that are leaving. */
void target_each_controller(const struct target *target, const char *nqn,
    void (*found)(void *arg, const struct target_controller *controller), void *arg);

#endif
