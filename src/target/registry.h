/*
 * registry.h - what the files of the registry share: the rolls and their entries,
 * on core 0.
 */
#ifndef WEIR_TARGET_REGISTRY_H
#define WEIR_TARGET_REGISTRY_H

#include "target/core.h"

enum entry_state {
	ENTRY_WAITING, /* for dying ones of its host: in roll->waiting */
	ENTRY_ALIVE,   /* in roll->members */
	ENTRY_DYING,   /* the same; its admin connection is gone, its I/O perhaps not yet */
	ENTRY_GONE,    /* about to be freed */
};

struct entry {
	struct list node;       /* in its roll; members in the order of their numbers */
	struct roll *roll;
	uint64_t number;        /* of a member: those admitted later have greater ones */
	uint8_t hostid[16];
	uint16_t key;           /* of all mail about it */
	uint16_t cntlid;        /* as hosts know it; of one that waits: what it asks for */
	bool fixed;             /* a static controller */
	uint8_t state;          /* enum entry_state */
	bool ending;            /* it was told to end */
	struct conn *conn;      /* of one that waits: a token */
	struct target_wish *wish; /* that the keeper has of it; NULL: none */
	struct {
		uint32_t left;  /* members that it waits for; 0: there is none */
		uint32_t ended; /* and how many they were */
		uint64_t below; /* what its members' numbers are smaller than */
		uint16_t named; /* or the only one; WEIR_FENCE_OLDER: each of them */
	} fence;
	struct tenant *tenant;  /* of a member; NULL: there was no number for it, or no memory */
	char hostnqn[NVME_NQN_FIELD];
};

/* A host that has associations, with whatever subsystems. */
struct tenant {
	struct list node;
	struct blk_tenant who;
	uint32_t members;       /* 0: it is going, */
	uint32_t left;          /* and so many cores have not forgotten it yet */
};

/* The associations of one subsystem; there while there are any, and while its controllers are static: it is
 * remembered when they were used. */
struct roll {
	struct list node;
	struct list members, waiting;
	uint32_t count;         /* of members */
	struct statics *statics; /* NULL: none was used yet */
	char nqn[NVME_NQN_FIELD];
};

struct registry {
	struct list rolls;
	struct list tenants;
	uint64_t tenant_numbers[BLK_TENANTS / 64]; /* bit n: it is somebody's, or never anybody's */
	uint64_t number;        /* of the newest member */
	struct entry *by_key[NVME_CNTLID_MAX + 1];
};

static inline struct entry *
entry_of(struct list *node)
{
	return container_of(node, struct entry, node);
}

/* Which host it is, in all that its I/O is for: of the living ones the NQN is the same then. */
static inline bool
entry_same_id(const struct entry *a, const struct entry *b)
{
	return memcmp(a->hostid, b->hostid, sizeof(a->hostid)) == 0;
}

static inline bool
entry_same_nqn(const struct entry *a, const struct entry *b)
{
	return strncmp(a->hostnqn, b->hostnqn, sizeof(a->hostnqn)) == 0;
}

/* A host has one identifier, and an identifier is one host's: two like these cannot both be who they say. */
static inline bool
entry_disagrees(const struct entry *a, const struct entry *b)
{
	return entry_same_id(a, b) != entry_same_nqn(a, b);
}

/* registry_fence.c: ends others of a host; and one of those that a fence waits for may be gone */
void registry_fence(struct core *core, const struct target_mail *mail);
void registry_fence_count_down(struct core *core, const struct entry *gone);

/* registry_tenants.c: the tenant of a host for one member more, or NULL; and for one fewer (NULL: of nobody). */
struct tenant *tenant_take(struct core *core, const char hostnqn[NVME_NQN_FIELD]);
void tenant_give(struct core *core, struct tenant *tenant);
void tenants_begin(struct registry *registry);
void tenants_end(struct core *core);

#endif
