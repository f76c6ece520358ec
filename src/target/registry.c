/*
 * registry.c - which associations there are, and who may have one; on core 0.
 *
 * Every admin Connect is asked of here by mail before it is answered (connect.c).
 * An association is a member of its subsystem's roll until its core says that it
 * is gone: then none of its I/O is at a device any more, and none of its admin
 * commands is with anybody.  While one of a host is dying, the host's next one
 * waits in line, so that a write that is sent again is never overtaken by its
 * older self.  Static controllers are chosen here
 * (statics.c) and found; fences are in registry_fence.c, and hosts, whatever number of associations they have, in
 * registry_tenants.c.
 */
#include <assert.h>
#include <errno.h>

#include "target/registry.h"
#include "target/statics.h"
#include "target/wish.h"

enum {
	DISCOVERY_MAX = 1024, /* controllers of the discovery subsystem */
};

/* ---- finding ---- */

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
	const struct view_subsys *subsys = view_subsys(core->view, roll->nqn);

	if (!list_empty(&roll->members) || !list_empty(&roll->waiting))
		return;
	if (roll->statics != NULL && subsys != NULL && subsys->info.static_ids > 0)
		return;
	list_remove(&roll->node);
	arena_free(core->reactor->arena, roll->statics);
	arena_free(core->reactor->arena, roll);
}

const char *
registry_find(const struct core *core, uint16_t key, const char **hostnqn, uint16_t *cntlid)
{
	const struct entry *entry = core->registry->by_key[key];

	if (entry == NULL)
		return NULL;
	*hostnqn = entry->hostnqn;
	*cntlid = entry->cntlid;
	return entry->roll->nqn;
}

/* ---- who may connect ---- */

static bool
host_is_dying(const struct entry *entry)
{
	list_for_each(&entry->roll->members, node)
		if (entry_of(node)->state == ENTRY_DYING && entry_same_id(entry_of(node), entry))
			return true;
	return false;
}

/* One that is dying says nothing of who a host is now. */
static bool
other_id(const struct entry *entry)
{
	list_for_each(&entry->roll->members, node)
		if (entry_of(node)->state == ENTRY_ALIVE && entry_disagrees(entry_of(node), entry))
			return true;
	return false;
}

/* Whether there still are controllers of the other model, as the subsystem was before. */
static bool
other_model(const struct roll *roll, bool fixed)
{
	list_for_each(&roll->members, node)
		if (entry_of(node)->state != ENTRY_GONE && entry_of(node)->fixed != fixed)
			return true;
	return false;
}

static bool
is_discovery(const struct roll *roll)
{
	return strncmp(roll->nqn, NVME_DISCOVERY_NQN, sizeof(roll->nqn)) == 0;
}

/* An id is chosen with it, and what was asked for is one of the subsystem as it was there: views come to cores
 * one after the other. */
static enum ctrl_admission
admission(struct core *core, struct entry *entry)
{
	struct roll *roll = entry->roll;
	const struct view_subsys *subsys = view_subsys(core->view, roll->nqn);
	bool fixed = subsys != NULL && subsys->info.static_ids > 0;
	bool discovery = is_discovery(roll);
	uint32_t room = discovery ? DISCOVERY_MAX : subsys != NULL ? subsys->controllers_max : 0;
	uint16_t cntlid = entry->key;

	if (!fixed && roll->count >= room)
		return CTRL_HOST_NO_ROOM;
	if (!discovery && other_id(entry))
		return CTRL_HOST_OTHER_ID;
	if (fixed != (entry->cntlid != NVME_CNTLID_DYNAMIC) || other_model(roll, fixed))
		return CTRL_HOST_NO_ROOM;
	if (fixed)
		cntlid = statics_take(&roll->statics, core->reactor->arena, subsys->info.static_ids, entry->cntlid);
	if (fixed && roll->statics == NULL)
		core_log_peer(core, "a controller was refused: out of memory");
	if (cntlid == 0)
		return CTRL_HOST_NO_ROOM;
	entry->cntlid = cntlid;
	entry->fixed = fixed;
	return CTRL_HOST_ADMITTED;
}

static void
answer(struct core *core, uint16_t key, struct conn *conn, enum ctrl_admission admitted, uint16_t cntlid,
    const struct tenant *tenant)
{
	struct target_mail mail = {
		.kind = MAIL_JOINED, .key = key, .joined = { conn, (uint8_t)admitted, cntlid, core->registry->number,
			tenant != NULL ? &tenant->who : NULL },
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
	tenant_give(core, entry->tenant);
	arena_free(core->reactor->arena, entry);
	roll_maybe_free(core, roll);
}

/* It waits for nobody: it becomes a member, or is refused. */
static void
decide(struct core *core, struct entry *entry)
{
	enum ctrl_admission admitted = admission(core, entry);

	if (admitted == CTRL_HOST_ADMITTED) {
		entry->number = ++core->registry->number;
		entry->tenant = is_discovery(entry->roll) ? NULL : tenant_take(core, entry->hostnqn);
	}
	answer(core, entry->key, entry->conn, admitted, entry->cntlid, entry->tenant);
	if (admitted != CTRL_HOST_ADMITTED) {
		entry_free(core, entry);
		return;
	}
	entry->state = ENTRY_ALIVE;
	entry->conn = NULL;
	entry->roll->count++;
	list_remove(&entry->node);
	list_push(&entry->roll->members, &entry->node);
}

static void
join(struct core *core, const struct target_mail *mail)
{
	const struct nvme_connect_data *data = mail->join.data;
	struct entry *entry = arena_alloc(core->reactor->arena, sizeof(*entry));
	struct roll *roll = roll_find(core->registry, data->subnqn);

	if (entry != NULL && roll == NULL)
		roll = roll_make(core, data->subnqn);
	if (entry == NULL || roll == NULL) {
		arena_free(core->reactor->arena, entry);
		core_log_peer(core, "a controller was refused: out of memory");
		answer(core, mail->key, mail->join.conn, CTRL_HOST_NO_ROOM, 0, NULL);
		return;
	}
	assert(core->registry->by_key[mail->key] == NULL);
	core->registry->by_key[mail->key] = entry;
	entry->roll = roll;
	entry->state = ENTRY_WAITING;
	entry->key = mail->key;
	entry->cntlid = le16_get(data->cntlid);
	entry->conn = mail->join.conn;
	memcpy(entry->hostid, data->hostid, sizeof(entry->hostid));
	memcpy(entry->hostnqn, data->hostnqn, sizeof(entry->hostnqn));
	list_push(&roll->waiting, &entry->node);
	if (!host_is_dying(entry))
		decide(core, entry);
}

/* ---- who is going, and who is gone ---- */

void
registry_wish_over(struct core *core, uint16_t key)
{
	const struct entry *entry = core->registry->by_key[key];

	if (entry != NULL && entry->wish != NULL)
		wish_over(core, entry->wish);
}

static void
dying(struct core *core, const struct target_mail *mail)
{
	struct entry *entry = core->registry->by_key[mail->key];

	if (entry == NULL || entry->state != ENTRY_ALIVE)
		return;
	entry->state = ENTRY_DYING;
	registry_wish_over(core, mail->key);
}

/* A controller wishes nothing any more when it is dying, and does not leave before what it wished is done. */
void
registry_wish(struct core *core, uint16_t key, struct target_wish *wish)
{
	struct entry *entry = core->registry->by_key[key];

	assert(entry != NULL && (entry->wish == NULL) != (wish == NULL));
	entry->wish = wish;
}

/* Those that waited for it may be decided on, if no other one of their host is dying. */
static void
let_in(struct core *core, const struct entry *gone)
{
	if (host_is_dying(gone))
		return;
	list_for_each(&gone->roll->waiting, node)
		if (entry_same_id(entry_of(node), gone))
			decide(core, entry_of(node));
}

static void
left(struct core *core, const struct target_mail *mail)
{
	struct entry *entry = core->registry->by_key[mail->key];

	if (entry == NULL)
		return; /* it was refused */
	if (entry->state == ENTRY_WAITING) {
		/* It is not read: the connection is gone. */
		answer(core, entry->key, entry->conn, CTRL_HOST_NO_ROOM, 0, NULL);
	} else {
		entry->state = ENTRY_GONE;
		entry->roll->count--;
		if (entry->fixed)
			statics_leave(entry->roll->statics, entry->cntlid); /* one that waits may want it */
		registry_fence_count_down(core, entry);
		let_in(core, entry);
	}
	entry_free(core, entry);
}

/* ---- mail ---- */

/* A queue for a static controller, which its core judges; where there is none of that id, nobody else can. */
static void
seek(struct core *core, const struct target_mail *mail)
{
	const struct nvme_connect_data *data = mail->attach.data;
	const struct roll *roll = roll_find(core->registry, data->subnqn);
	struct target_mail on = *mail;
	struct target_mail answer = { .kind = MAIL_ATTACHED, .qid = mail->qid, .attached.conn = mail->attach.conn };

	on.kind = MAIL_ATTACH;
	for (const struct list *node = roll != NULL ? roll->members.next : NULL;
	    node != NULL && node != &roll->members; node = node->next) {
		const struct entry *entry = container_of(node, struct entry, node);

		if (!entry->fixed || entry->cntlid != le16_get(data->cntlid))
			continue;
		on.key = entry->key;
		core_post(core, on.key % core->reactor->count, &on);
		return;
	}
	answer.attached.status = ctrl_check_io_connect(NULL, mail->attach.sqe, data, &answer.attached.fault);
	core_post(core, mail->attach.core, &answer);
}

void
registry_mail(struct core *core, const struct target_mail *mail)
{
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_JOIN:
		join(core, mail);
		return;
	case MAIL_DYING:
		dying(core, mail);
		return;
	case MAIL_LEFT:
		left(core, mail);
		return;
	case MAIL_FENCE:
		registry_fence(core, mail);
		return;
	case MAIL_SEEK:
		seek(core, mail);
		return;
	default:
		assert(false);
	}
}

/* Of subsystems that have gone, or are of the other model, nothing is remembered. */
void
registry_view(struct core *core)
{
	list_for_each(&core->registry->rolls, node)
		roll_maybe_free(core, container_of(node, struct roll, node));
}

/* ---- who asks which there are ---- */

uint64_t
registry_present(struct core *core, uint16_t key, uint32_t nsid, uint64_t *there, uint64_t *attached)
{
	const struct entry *asker = core->registry->by_key[key];
	const struct view_subsys *subsys;
	const struct ns_info *ns;

	if (asker == NULL)
		return 0; /* it has gone meanwhile */
	subsys = view_subsys(core->view, asker->roll->nqn);
	ns = subsys != NULL ? subsys_ns(&subsys->info, nsid) : NULL;
	list_for_each(&asker->roll->members, node) {
		const struct entry *entry = entry_of(node);
		uint64_t bit = UINT64_C(1) << entry->cntlid % 64;

		if (entry->state != ENTRY_ALIVE)
			continue;
		there[entry->cntlid / 64] |= bit;
		if (ns != NULL && subsys_attached(ns, entry->hostnqn, entry->number))
			attached[entry->cntlid / 64] |= bit;
	}
	return core->registry->number;
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

		found(arg, &(struct target_controller){ entry->cntlid, entry->number, entry->hostnqn,
		    entry->state != ENTRY_ALIVE });
	}
}

/* ---- beginning and end ---- */

size_t
registry_bytes(void)
{
	return sizeof(struct entry) + sizeof(struct tenant) + statics_bytes();
}

int
registry_begin(struct core *core)
{
	core->registry = arena_alloc(core->reactor->arena, sizeof(*core->registry));
	if (core->registry == NULL)
		return -ENOMEM;
	list_init(&core->registry->rolls);
	tenants_begin(core->registry);
	return 0;
}

static void
free_all(struct core *core, struct list *entries)
{
	struct list *node;

	while ((node = list_pop(entries)) != NULL)
		arena_free(core->reactor->arena, entry_of(node));
}

void
registry_end(struct core *core)
{
	struct list *node;

	if (core->registry == NULL)
		return;
	while ((node = list_pop(&core->registry->rolls)) != NULL) {
		struct roll *roll = container_of(node, struct roll, node);

		free_all(core, &roll->members);
		free_all(core, &roll->waiting);
		arena_free(core->reactor->arena, roll->statics);
		arena_free(core->reactor->arena, roll);
	}
	tenants_end(core);
	arena_free(core->reactor->arena, core->registry);
}
