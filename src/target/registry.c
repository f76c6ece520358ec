/*
 * registry.c - which associations there are, and who may have one; on core 0.
 *
 * Every admin Connect is asked of here by mail before it is answered (connect.c).
 * An association is a member of its subsystem's roll until its core says that it
 * is gone: then none of its I/O is at a device any more.  While one of a host is
 * dying, the host's next one waits in line, so that a write that is sent again
 * is never overtaken by its older self.  Fences (fence.c) are counted down here.
 */
#include <assert.h>
#include <errno.h>

#include "target/core.h"
#include "target/wish.h"
#include "wire/extension.h"

enum {
	DISCOVERY_MAX = 1024, /* controllers of the discovery subsystem */
};

enum state {
	STATE_WAITING, /* for dying ones of its host: in roll->waiting */
	STATE_ALIVE,   /* in roll->members */
	STATE_DYING,   /* the same; its admin connection is gone, its I/O perhaps not yet */
	STATE_GONE,    /* about to be freed */
};

struct entry {
	struct list node;       /* in its roll; members in the order of their numbers */
	struct roll *roll;
	uint64_t number;        /* of a member: those admitted later have greater ones */
	uint8_t hostid[16];
	uint16_t key;           /* of all mail about it */
	uint8_t state;          /* enum state */
	bool ending;            /* it was told to end */
	struct conn *conn;      /* of one that waits: a token */
	struct {
		uint32_t left;  /* members that it waits for; 0: there is none */
		uint32_t ended; /* and how many they were */
		uint64_t below; /* what its members' numbers are smaller than */
		uint16_t named; /* or the only one; WEIR_FENCE_OLDER: each of them */
	} fence;
	char hostnqn[NVME_NQN_FIELD];
};

/* The associations of one subsystem; there while there are any. */
struct roll {
	struct list node;
	struct list members, waiting;
	uint32_t count;         /* of members */
	char nqn[NVME_NQN_FIELD];
};

struct registry {
	struct list rolls;
	uint64_t number;        /* of the newest member */
	struct entry *by_key[NVME_CNTLID_MAX + 1];
};

/* ---- finding ---- */

static struct entry *
entry_of(struct list *node)
{
	return container_of(node, struct entry, node);
}

static bool
same_host(const struct entry *a, const struct entry *b)
{
	return memcmp(a->hostid, b->hostid, sizeof(a->hostid)) == 0;
}

static struct roll *
roll_find(struct registry *registry, const char *nqn)
{
	list_for_each(&registry->rolls, node) {
		struct roll *roll = container_of(node, struct roll, node);

		if (strncmp(roll->nqn, nqn, NVME_NQN_FIELD) == 0)
			return roll;
	}
	return NULL;
}

static struct roll *
roll_make(struct core *core, const char *nqn)
{
	struct roll *roll = arena_alloc(core->reactor->arena, sizeof(*roll));

	if (roll == NULL)
		return NULL;
	list_init(&roll->members);
	list_init(&roll->waiting);
	memcpy(roll->nqn, nqn, sizeof(roll->nqn));
	list_push(&core->registry->rolls, &roll->node);
	return roll;
}

static void
roll_maybe_free(struct core *core, struct roll *roll)
{
	if (!list_empty(&roll->members) || !list_empty(&roll->waiting))
		return;
	list_remove(&roll->node);
	arena_free(core->reactor->arena, roll);
}

const char *
registry_find(const struct core *core, uint16_t cntlid, const char **hostnqn)
{
	const struct entry *entry = core->registry->by_id[cntlid];

	if (entry == NULL)
		return NULL;
	*hostnqn = entry->hostnqn;
	return entry->roll->nqn;
}

/* ---- who may connect ---- */

static bool
host_is_dying(const struct entry *entry)
{
	list_for_each(&entry->roll->members, node)
		if (entry_of(node)->state == STATE_DYING && same_host(entry_of(node), entry))
			return true;
	return false;
}

/* A host has one identifier; one that is dying says nothing of who it is now. */
static bool
other_id(const struct entry *entry)
{
	list_for_each(&entry->roll->members, node) {
		const struct entry *member = entry_of(node);

		if (member->state == STATE_ALIVE && !same_host(member, entry) &&
		    strncmp(member->hostnqn, entry->hostnqn, sizeof(member->hostnqn)) == 0)
			return true;
	}
	return false;
}

static enum ctrl_admission
admission(const struct core *core, const struct entry *entry)
{
	const struct roll *roll = entry->roll;
	const struct view_subsys *subsys = view_subsys(core->view, roll->nqn);

	if (strncmp(roll->nqn, NVME_DISCOVERY_NQN, sizeof(roll->nqn)) == 0)
		return roll->count < DISCOVERY_MAX ? CTRL_HOST_ADMITTED : CTRL_HOST_NO_ROOM;
	if (subsys == NULL || roll->count >= subsys->controllers_max)
		return CTRL_HOST_NO_ROOM;
	return other_id(entry) ? CTRL_HOST_OTHER_ID : CTRL_HOST_ADMITTED;
}

static void
answer(struct core *core, uint16_t key, struct conn *conn, enum ctrl_admission admitted)
{
	struct target_mail mail = {
		.kind = MAIL_JOINED, .key = key, .joined = { conn, (uint8_t)admitted, core->registry->number },
	};

	core_post(core, key % core->reactor->count, &mail);
}

/* Out of the roll and forgotten; the roll may go with it. */
static void
entry_free(struct core *core, struct entry *entry)
{
	struct roll *roll = entry->roll;

	core->registry->by_key[entry->key] = NULL;
	list_remove(&entry->node);
	arena_free(core->reactor->arena, entry);
	roll_maybe_free(core, roll);
}

/* It waits for nobody: it becomes a member, or is refused. */
static void
decide(struct core *core, struct entry *entry)
{
	enum ctrl_admission admitted = admission(core, entry);

	if (admitted == CTRL_HOST_ADMITTED)
		entry->number = ++core->registry->number;
	answer(core, entry->key, entry->conn, admitted);
	if (admitted != CTRL_HOST_ADMITTED) {
		entry_free(core, entry);
		return;
	}
	entry->state = STATE_ALIVE;
	entry->conn = NULL;
	entry->roll->count++;
	list_remove(&entry->node);
	list_push(&entry->roll->members, &entry->node);
}

void
registry_join(struct core *core, const struct target_mail *mail)
{
	const struct nvme_connect_data *data = mail->join.data;
	struct entry *entry = arena_alloc(core->reactor->arena, sizeof(*entry));
	struct roll *roll = roll_find(core->registry, data->subnqn);

	if (entry != NULL && roll == NULL)
		roll = roll_make(core, data->subnqn);
	if (entry == NULL || roll == NULL) {
		arena_free(core->reactor->arena, entry);
		answer(core, mail->key, mail->join.conn, CTRL_HOST_NO_ROOM);
		return;
	}
	assert(core->registry->by_key[mail->key] == NULL);
	core->registry->by_key[mail->key] = entry;
	entry->roll = roll;
	entry->state = STATE_WAITING;
	entry->key = mail->key;
	entry->conn = mail->join.conn;
	memcpy(entry->hostid, data->hostid, sizeof(entry->hostid));
	memcpy(entry->hostnqn, data->hostnqn, sizeof(entry->hostnqn));
	list_push(&roll->waiting, &entry->node);
	if (!host_is_dying(entry))
		decide(core, entry);
}

/* ---- fences ---- */

static void
fenced(struct core *core, uint16_t key, uint32_t ended)
{
	struct target_mail mail = { .kind = MAIL_FENCED, .key = key, .ended = ended };

	core_post(core, key % core->reactor->count, &mail);
}

/* Whether the fence of `entry` waits for the end of `member`. */
static bool
waits_for(const struct entry *entry, const struct entry *member)
{
	if (member == entry || !same_host(member, entry) || member->number >= entry->fence.below)
		return false;
	return entry->fence.named == WEIR_FENCE_OLDER || entry->fence.named == member->key;
}

static void
end(struct core *core, struct entry *entry)
{
	struct target_mail mail = { .kind = MAIL_END, .key = entry->key };

	if (entry->ending || entry->state != STATE_ALIVE)
		return;
	entry->ending = true;
	core_post(core, entry->key % core->reactor->count, &mail);
}

/* Ends others of its host, all that are older or the one that is named, and answers when they are gone. */
void
registry_fence(struct core *core, const struct target_mail *mail)
{
	struct entry *entry = core->registry->by_key[mail->key];

	if (entry == NULL || entry->state == STATE_WAITING)
		return; /* it has gone meanwhile, and nobody waits for the answer */
	assert(entry->fence.left == 0);
	entry->fence.named = mail->fence;
	entry->fence.below = mail->fence == WEIR_FENCE_OLDER ? entry->number : core->registry->number + 1;
	list_for_each(&entry->roll->members, node) {
		if (!waits_for(entry, entry_of(node)))
			continue;
		end(core, entry_of(node));
		entry->fence.left++;
	}
	entry->fence.ended = entry->fence.left;
	if (entry->fence.left == 0)
		fenced(core, entry->key, 0);
}

static void
count_down(struct core *core, const struct entry *gone)
{
	list_for_each(&gone->roll->members, node) {
		struct entry *entry = entry_of(node);

		if (entry->fence.left > 0 && waits_for(entry, gone) && --entry->fence.left == 0)
			fenced(core, entry->key, entry->fence.ended);
	}
}

/* ---- who is going, and who is gone ---- */

void
registry_dying(struct core *core, const struct target_mail *mail)
{
	struct entry *entry = core->registry->by_key[mail->key];

	if (entry != NULL && entry->state == STATE_ALIVE)
		entry->state = STATE_DYING;
}

/* Those that waited for it may be decided on, if no other one of their host is dying. */
static void
let_in(struct core *core, const struct entry *gone)
{
	if (host_is_dying(gone))
		return;
	list_for_each(&gone->roll->waiting, node)
		if (same_host(entry_of(node), gone))
			decide(core, entry_of(node));
}

void
registry_left(struct core *core, const struct target_mail *mail)
{
	struct entry *entry = core->registry->by_key[mail->key];

	if (entry == NULL)
		return; /* it was refused */
	if (entry->state == STATE_WAITING) {
		answer(core, entry->key, entry->conn, CTRL_HOST_NO_ROOM); /* it is not read: the connection is gone */
	} else {
		entry->state = STATE_GONE;
		entry->roll->count--;
		count_down(core, entry);
		let_in(core, entry);
	}
	entry_free(core, entry);
}

/* ---- who asks which there are ---- */

void
registry_present(struct core *core, uint16_t key, uint32_t nsid, uint64_t *there, uint64_t *attached)
{
	const struct entry *asker = core->registry->by_key[key];
	const struct view_subsys *subsys;
	const struct ns_info *ns;

	if (asker == NULL)
		return; /* it has gone meanwhile */
	subsys = view_subsys(core->view, asker->roll->nqn);
	ns = subsys != NULL ? subsys_ns(&subsys->info, nsid) : NULL;
	list_for_each(&asker->roll->members, node) {
		const struct entry *entry = entry_of(node);
		uint64_t bit = UINT64_C(1) << entry->key % 64;

		if (entry->state != STATE_ALIVE)
			continue;
		there[entry->key / 64] |= bit;
		if (ns != NULL && subsys_attached(ns, entry->hostnqn, entry->number))
			attached[entry->key / 64] |= bit;
	}
}

void
target_each_controller(const struct target *target, const char *nqn,
    void (*found)(void *arg, const struct target_controller *controller), void *arg)
{
	const struct roll *roll = roll_find(target->cores[0]->registry, nqn);

	if (roll == NULL)
		return;
	list_for_each(&roll->members, node) {
		const struct entry *entry = entry_of(node);

		found(arg, &(struct target_controller){ entry->key, entry->number, entry->hostnqn });
	}
}

/* ---- beginning and end ---- */

size_t
registry_bytes(void)
{
	return sizeof(struct entry);
}

int
registry_begin(struct core *core)
{
	core->registry = arena_alloc(core->reactor->arena, sizeof(*core->registry));
	if (core->registry == NULL)
		return -ENOMEM;
	list_init(&core->registry->rolls);
	return 0;
}

void
registry_end(struct core *core)
{
	if (core->registry == NULL)
		return;
	for (unsigned key = 0; key <= NVME_CNTLID_MAX && !list_empty(&core->registry->rolls); key++)
		if (core->registry->by_key[key] != NULL)
			entry_free(core, core->registry->by_key[key]);
	arena_free(core->reactor->arena, core->registry);
}
