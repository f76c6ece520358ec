/*
 * made.h - what hosts have made of a target: namespaces, where they are active,
 * and how they are protected (doc/namespaces.md).
 *
 * Pure: states are copied, changed, and kept as text.  It knows neither volumes
 * nor files, nor what the configuration says.  A state lies in an arena of its
 * own; nobody gives back parts of it.
 */
#ifndef WEIR_MADE_MADE_H
#define WEIR_MADE_MADE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "wire/nvme.h"

enum {
	MADE_NS_MAX = 4096,
	MADE_NSID_MAX = 1024,
	MADE_GROUP_MAX = 64,
	MADE_HOSTS_MAX = 1024,       /* of a namespace */
	MADE_HOSTS_ALL_MAX = 16384,
	MADE_VOLUMES_MAX = 4,        /* of the operator's, under one NSID, that are known to be protected */
	MADE_BUCKETS = 1024,
	MADE_TEXT_MAX = 32 * 1024 * 1024, /* of a record; whatever made_print() prints is shorter */
};

/* A controller that there is; its host's NQN stands as long as it does. */
struct made_controller {
	uint16_t cntlid;
	uint64_t association;
	const char *hostnqn;
	bool unnamed;          /* what it has may change, but it is not meant by its id */
};

struct made_ns {
	const char *nqn;       /* of the subsystem */
	uint32_t nsid;
	bool own;              /* a host's; else the operator's, of which only `protection` is here */
	bool kept;             /* it, or its volume, outlives the process, so it is in the record */
	bool fresh;            /* it was created by the change that made this state */
	uint8_t uuid[16];      /* as hosts are told */
	uint32_t block_size;   /* from here on of own ones */
	uint64_t blocks;
	uint32_t ana_group;
	bool shared;
	uint8_t protection;    /* enum nvme_protection, as hosts set it */
	const char **hosts;    /* ascending */
	uint64_t *others;      /* ascending */
	uint32_t host_count, other_count;
};

struct made {
	uint64_t id;           /* the target's own number */
	struct made_ns *ns;    /* `count` of them, `room` at most */
	uint32_t count, room;
	uint16_t *links, *buckets; /* by which they are found */
};

/* The state again, for a change, with room for some more; `like` NULL: an empty one.  NULL: no memory. */
struct made *made_copy(struct arena *arena, const struct made *like, uint32_t more) __attribute__((warn_unused_result));

/* Whether a change came to nothing. */
bool made_same(const struct made *a, const struct made *b);

/* A host's namespace, or NULL. */
struct made_ns *made_own(const struct made *made, const char *nqn, uint32_t nsid);

/* The operator's namespace of that UUID, or NULL: nothing is known of it. */
struct made_ns *made_of_operator(const struct made *made, const char *nqn, uint32_t nsid, const uint8_t uuid[16]);

/* What a subsystem's hosts have taken. */
uint64_t made_bytes(const struct made *made, const char *nqn);
uint32_t made_count(const struct made *made, const char *nqn);

/* One more, like this one; its texts are copied.  NULL: no memory, or there are MADE_NS_MAX already. */
struct made_ns *made_add(struct arena *arena, struct made *made, const struct made_ns *like);

void made_remove(struct made *made, struct made_ns *ns);

/* One more of the operator's is to be known under the NSID: forgets the oldest, where there are too many. */
void made_forget(struct made *made, const char *nqn, uint32_t nsid);

/* So many more are to come: forgets the oldest of the operator's that are not in use, where there would be more than
 * MADE_NS_MAX. */
void made_make_room(struct made *made, uint32_t more, bool (*used)(void *arg, const struct made_ns *ns), void *arg);

/* Whether it is active at a controller of the host, of that association. */
bool made_active(const struct made_ns *ns, const char *hostnqn, uint64_t association);

/*
 * Attaches it to, or detaches it from, the controllers of those ids, ascending.  `present`: those of the subsystem.
 * What the command is answered; on anything but success the state is not to be used any more.
 */
enum nvme_sc made_attach(struct arena *arena, struct made *made, struct made_ns *ns, bool attach,
    const uint16_t *cntlids, uint32_t cntlid_count, const struct made_controller *present, uint32_t present_count);

/* ---- the record (doc/formats/namespaces.md) ---- */

/* In pieces: those that are to be kept. */
void made_print(const struct made *made, void (*put)(void *arg, const char *text, size_t bytes), void *arg);

/* 0; -EUCLEAN: damaged; -EINVAL: not a record, or of a later version; -ENOMEM. */
int made_parse(struct arena *arena, const char *text, size_t bytes, struct made **made)
    __attribute__((warn_unused_result));

/* A UUID as people write it. */
enum { MADE_UUID_TEXT = 37 };
void made_uuid_text(const uint8_t uuid[16], char text[MADE_UUID_TEXT]);
bool made_uuid_parse(const char *text, uint8_t uuid[16]);

#endif
