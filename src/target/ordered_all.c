/*
 * ordered_all.c - which streams there are, whose they are, and in which parts: core 0's.
 *
 * LIST, CUT and FLOOR come here from controllers, are done for a stream one after the other, and ask the cores of its
 * parts.  (doc/extension.md, Admin commands)
 */
#include <assert.h>

#include "target/ordered.h"
#include "wire/extension.h"

static struct nvme_status
refused(enum nvme_sc sc)
{
	return nvme_status_of(sc, true);
}

static bool
is_flagged(le32 field, uint32_t flag)
{
	return (le32_get(field) & flag) != 0;
}

/* ---- a command ends, and the next one of its stream begins ---- */

static void next(struct ordered_all *all, struct ordered_entry *entry);

void
ordered_done(struct ordered_all *all, struct ordered_command *command, struct nvme_status status)
{
	struct target_mail mail = { .kind = MAIL_ORDERED, .order = command };

	command->status = status;
	core_post(all->core, command->core, &mail);
}

void
ordered_finish(struct ordered_all *all, struct ordered_entry *entry, struct nvme_status status)
{
	struct ordered_command *command = entry->now;

	arena_free(all->core->target->arena, entry->known);
	entry->known = NULL;
	entry->room = 0;
	entry->now = NULL;
	if (command != NULL)
		ordered_done(all, command, status);
	next(all, entry);
}

static bool
is_anywhere(const struct ordered_entry *entry)
{
	for (unsigned i = 0; i < ORDERED_PART_WORDS; i++)
		if (entry->parts[i] != 0)
			return true;
	return false;
}

/* Nothing is known of it any more, and nobody asks. */
static bool
forget(struct ordered_all *all, struct ordered_entry *entry)
{
	if (entry->now != NULL || entry->ending || !fifo_empty(&entry->waiting) || is_anywhere(entry))
		return false;
	list_remove(&entry->node);
	arena_free(all->core->target->arena, entry);
	return true;
}

/* ---- parts are asked ---- */

void
ordered_ask_part(struct ordered_all *all, struct ordered_entry *entry, enum ordered_what what, uint32_t part)
{
	struct target_mail mail = { .kind = MAIL_ORDER_ASK, .order_ask = &entry->ask };

	entry->ask.what = what;
	entry->ask.of = entry;
	entry->ask.owner = entry->owner;
	entry->ask.number = entry->number;
	entry->ask.part = part;
	entry->ask.as = ordered_whose(all, entry->owner);
	core_post(all->core, ordered_core_of(all->core, part), &mail);
}

/* ---- whose it is ---- */

static uint32_t
holder_of(const struct ordered_command *command)
{
	return le32_get(command->sqe.cdw13);
}

/* Somebody else has taken it: who had it before neither stops it nor says how it goes on. */
static bool
is_taken(const struct ordered_entry *entry)
{
	return entry->holder != 0 && entry->holder != holder_of(entry->now);
}

/* ---- CUT ---- */

static void
cut(struct ordered_all *all, struct ordered_entry *entry)
{
	const struct ordered_command *command = entry->now;
	struct ordered_ask *asked = &entry->ask;
	bool force = is_flagged(command->sqe.cdw12, WEIR_CUT_FORCE);

	if (!entry->still || is_taken(entry)) {
		ordered_finish(all, entry, refused(NVME_SC_SEQUENCE));
		return;
	}
	if (!ordered_read(all, entry, &entry->read)) {
		ordered_finish(all, entry, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	if (ordered_is_lost(all, entry, &entry->read) && !force) {
		ordered_read_end(all, &entry->read);
		ordered_finish(all, entry, refused(NVME_SC_DENIED));
		return;
	}
	asked->known = entry->known;
	asked->count = entry->count;
	asked->read = &entry->read;
	asked->after = le32_get(command->sqe.cdw11);
	asked->gone = is_flagged(command->sqe.cdw12, WEIR_CUT_GONE);
	asked->force = force;
	asked->key = command->key;
	asked->qid = (uint16_t)(le32_get(command->sqe.cdw10) >> 16);
	memcpy(asked->elsewhere, entry->parts, sizeof(asked->elsewhere));
	ordered_clear(asked->elsewhere, command->queue_core);
	ordered_ask_part(all, entry, ORDERED_CUT, command->queue_core);
}

/* In the others nothing is appended to it any more. */
static void
close_others(struct ordered_all *all, const struct ordered_entry *entry)
{
	struct target_mail mail = {
		.kind = MAIL_ORDER_CLOSE, .order_hold = { .owner = entry->owner, .stream = entry->number },
	};

	for (uint32_t part = 0; part < ORDER_PARTS_MAX; part++) {
		if (part == entry->home || !ordered_has(entry->parts, part))
			continue;
		mail.order_hold.part = (uint16_t)part;
		core_post(all->core, ordered_core_of(all->core, part), &mail);
	}
}

/* Where it was cut it has a mark, whether its queue was there or not. */
static void
was_cut(struct ordered_all *all, struct ordered_entry *entry)
{
	const struct ordered_ask *said = &entry->ask;

	ordered_read_end(all, &entry->read);
	entry->ends = entry->ends && !said->began;
	if (said->began) {
		entry->ended = false;
		entry->home = said->part;
		ordered_set(entry->parts, said->part);
	}
	if (said->was_cut) {
		entry->doubtful = false;
		entry->holder = holder_of(entry->now);
		close_others(all, entry);
	}
	entry->now->dw0 = said->last;
	ordered_finish(all, entry, said->status);
}

/* ---- owners ---- */

static uint32_t
find_owner(const struct ordered_all *all, const struct order_owner *as)
{
	for (uint32_t i = 0; i < ORDER_OWNERS; i++) {
		const struct order_owner *owner = &all->owners[i];

		if (memcmp(owner->host_id, as->host_id, sizeof(as->host_id)) == 0 && strcmp(owner->nqn, as->nqn) == 0 &&
		    strcmp(owner->subsystem, as->subsystem) == 0)
			return i;
	}
	return ORDER_OWNER_NONE;
}

static bool
find_room(const struct ordered_all *all, const struct order_owner *as, uint32_t *room)
{
	(void)order_owner_find((const uint8_t (*)[ORDER_OWNER_BYTES])all->store->owners, all->named, as, room);
	return *room != ORDER_OWNER_NONE;
}

static void begin(struct ordered_all *all, struct ordered_command *command);
static void put_next(struct ordered_all *all);

static void
owner_put(void *arg, int error)
{
	struct ordered_all *all = arg;
	struct ordered_command *command = container_of(fifo_pop(&all->putters), struct ordered_command, node);
	uint32_t index = all->putting_index;

	all->putting = false;
	all->core->ordered_ios--;
	if (error != 0) {
		memset(all->store->owners[index], 0, ORDER_OWNER_BYTES);
		core_log(all->core, 0, "the log of ordered writes cannot be written: %s", strerrordesc_np(-error));
		ordered_done(all, command, nvme_status_of(NVME_SC_INTERNAL, false));
	} else {
		all->owners[index] = command->as;
		begin(all, command);
	}
	put_next(all);
	core_maybe_drained(all->core);
}

static void
put_next(struct ordered_all *all)
{
	struct ordered_command *command;
	uint32_t room;

	if (all->putting || fifo_empty(&all->putters))
		return;
	command = container_of(all->putters.head, struct ordered_command, node);
	if (command->sqe.opcode != WEIR_ADMIN_CUT || find_owner(all, &command->as) != ORDER_OWNER_NONE ||
	    !find_room(all, &command->as, &room)) {
		fifo_pop(&all->putters);
		begin(all, command); /* one before it was the same one's; or it needs none, or there is no room */
		put_next(all);
		return;
	}
	all->putting = true;
	all->putting_index = room;
	all->core->ordered_ios++;
	order_owner_write(&command->as, all->store->owners[room]);
	store_put_owner(all->store, all->core->reactor, room, owner_put, all);
}

/* ---- what is asked ---- */

static bool
is_only_home(const struct ordered_entry *entry)
{
	for (uint32_t part = 0; part < ORDER_PARTS_MAX; part++)
		if (part != entry->home && ordered_has(entry->parts, part))
			return false;
	return true;
}

static void
start(struct ordered_all *all, struct ordered_entry *entry)
{
	const struct nvme_sqe *sqe = &entry->now->sqe;
	bool ends = is_flagged(sqe->cdw12, WEIR_FLOOR_ENDS);

	switch (sqe->opcode) {
	case WEIR_ADMIN_LIST:
		if (is_flagged(sqe->cdw10, WEIR_LIST_TAKE))
			entry->holder = holder_of(entry->now);
		if (is_flagged(sqe->cdw10, WEIR_LIST_STOP) && !is_taken(entry))
			ordered_ask_part(all, entry, ORDERED_STOP, entry->home);
		else
			ordered_gather(all, entry, ordered_listed);
		return;
	case WEIR_ADMIN_CUT:
		ordered_gather(all, entry, cut);
		return;
	default:
		if (is_taken(entry)) {
			ordered_finish(all, entry, refused(NVME_SC_SEQUENCE));
			return;
		}
		entry->ask.ends = ends;
		entry->ask.after = le32_get(sqe->cdw11);
		ordered_ask_part(all, entry, ends && is_only_home(entry) ? ORDERED_END : ORDERED_FLOOR, entry->home);
	}
}

/* It went on being needed while other parts had something of it. */
static void
end_if_alone(struct ordered_all *all, struct ordered_entry *entry)
{
	if (!entry->ends || !is_only_home(entry))
		return;
	entry->ending = true;
	entry->ask.ends = true;
	entry->ask.after = entry->ends_at;
	ordered_ask_part(all, entry, ORDERED_END, entry->home);
}

static void
next(struct ordered_all *all, struct ordered_entry *entry)
{
	if (entry->now != NULL || entry->ending || forget(all, entry))
		return;
	if (fifo_empty(&entry->waiting)) {
		end_if_alone(all, entry);
		return;
	}
	entry->now = container_of(fifo_pop(&entry->waiting), struct ordered_command, node);
	start(all, entry);
}

static void
said(struct ordered_all *all, struct ordered_entry *entry)
{
	switch (entry->ask.what) {
	case ORDERED_STOP:
		ordered_gather(all, entry, ordered_listed);
		return;
	case ORDERED_FILL:
		ordered_filled(all, entry);
		return;
	case ORDERED_CUT:
		was_cut(all, entry);
		return;
	case ORDERED_FLOOR:
		entry->ends = entry->ask.ends && nvme_ok(entry->ask.status);
		entry->ends_at = entry->ask.after;
		ordered_finish(all, entry, entry->ask.status);
		return;
	case ORDERED_END:
		entry->ending = entry->ends = false;
		entry->ended = nvme_ok(entry->ask.status);
		if (entry->ended)
			entry->holder = 0;
		ordered_finish(all, entry, entry->ask.status);
		return;
	}
}

static struct ordered_entry *
find(const struct ordered_all *all, uint32_t owner, uint16_t number)
{
	list_for_each(&all->streams, node) {
		struct ordered_entry *entry = container_of(node, struct ordered_entry, node);

		if (entry->owner == owner && entry->number == number)
			return entry;
	}
	return NULL;
}

static struct ordered_entry *
make(struct ordered_all *all, uint32_t owner, const struct ordered_command *command)
{
	struct ordered_entry *entry = arena_alloc(all->core->target->arena, sizeof(*entry));

	if (entry == NULL)
		return NULL;
	entry->owner = owner;
	entry->number = number_of(command);
	entry->home = command->queue_core;
	fifo_init(&entry->waiting);
	list_push(&all->streams, &entry->node);
	return entry;
}

/* As many as a host may have, with those that have ended and of which something is left. */
static bool
has_many(const struct ordered_all *all, uint32_t owner)
{
	unsigned count = 0;

	list_for_each(&all->streams, node)
		count += container_of(node, struct ordered_entry, node)->owner == owner;
	return count >= CTRL_STREAMS;
}

/* Of a stream that there is not. */
static void
begin_none(struct ordered_all *all, struct ordered_command *command, uint32_t owner)
{
	struct ordered_entry *entry;
	uint32_t room;

	if (command->sqe.opcode == WEIR_ADMIN_LIST) {
		ordered_list_none(all, command);
	} else if (command->sqe.opcode != WEIR_ADMIN_CUT) {
		ordered_done(all, command, refused(NVME_SC_SEQUENCE));
	} else if (ordered_is_doubtful(all) && !is_flagged(command->sqe.cdw12, WEIR_CUT_FORCE)) {
		ordered_done(all, command, refused(NVME_SC_DENIED));
	} else if ((owner == ORDER_OWNER_NONE && !find_room(all, &command->as, &room)) || has_many(all, owner)) {
		ordered_done(all, command, nvme_status_of(NVME_SC_INTERRUPTED, false));
	} else if (owner == ORDER_OWNER_NONE) {
		fifo_push(&all->putters, &command->node);
		put_next(all);
	} else if ((entry = make(all, owner, command)) == NULL) {
		ordered_done(all, command, nvme_status_of(NVME_SC_INTERNAL, false));
	} else {
		fifo_push(&entry->waiting, &command->node);
		next(all, entry);
	}
}

static void
begin(struct ordered_all *all, struct ordered_command *command)
{
	uint32_t owner = find_owner(all, &command->as);
	struct ordered_entry *entry;

	if (command->sqe.opcode == WEIR_ADMIN_LIST && is_flagged(command->sqe.cdw10, WEIR_LIST_STREAMS)) {
		ordered_list_streams(all, command, owner);
		return;
	}
	entry = owner != ORDER_OWNER_NONE ? find(all, owner, number_of(command)) : NULL;
	if (entry == NULL) {
		begin_none(all, command, owner);
		return;
	}
	fifo_push(&entry->waiting, &command->node);
	next(all, entry);
}

/* A part has nothing of it any more. */
static void
left(struct ordered_all *all, const struct target_mail *mail)
{
	struct ordered_entry *entry = find(all, mail->order_hold.owner, mail->order_hold.stream);

	if (entry == NULL)
		return;
	ordered_clear(entry->parts, mail->order_hold.part);
	next(all, entry);
}

void
ordered_all_mail(struct core *core, const struct target_mail *mail)
{
	struct ordered_all *all = core->target->ordered;

	all->core = core;
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_ORDER:
		begin(all, mail->order);
		return;
	case MAIL_ORDER_SAID:
		said(all, mail->order_ask->of);
		return;
	case MAIL_ORDER_LEFT:
		left(all, mail);
		return;
	default:
		assert(false); /* not for us */
	}
}
