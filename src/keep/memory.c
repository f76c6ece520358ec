/*
 * A part in memory that outlives the process: its slots lie there themselves, so what is stored in them is kept, in
 * whatever order.  An entry of which not all is there yet is none, by its CRC, and a word is whole.  That is all, but
 * in persistent memory: there a commit is written back, behind which all of it is there.
 */
#include "keep/keep.h"

enum { PIECES = 16 }; /* that are written back together */

struct keep_memory {
	struct keep keep;
	struct file *file; /* that is mapped to persistent memory; NULL: it is none */
};

/* In no order, as none of it is told before all of it is there. */
static void
write_back(struct keep_memory *memory, const struct order_commit *commit)
{
	const struct world_ops *world = memory->keep.reactor->world;
	struct order_image *slots = memory->keep.slots;
	uint32_t slot_count = memory->keep.count;
	struct iovec pieces[PIECES];
	int count = 0;

	for (uint64_t at = commit->from, run; at < commit->to; at += run) {
		uint32_t slot = (uint32_t)at & (slot_count - 1);

		run = commit->to - at < slot_count - slot ? commit->to - at : slot_count - slot;
		pieces[count++] = (struct iovec){ &slots[slot], (size_t)run * sizeof(struct order_image) };
	}
	for (uint32_t i = 0; i < commit->word_count; i++) {
		if (count == PIECES) {
			world->file_write_back(memory->file, pieces, count);
			count = 0;
		}
		pieces[count++] = (struct iovec){ &slots[commit->words[i]].persist, sizeof(le32) };
	}
	world->file_write_back(memory->file, pieces, count);
}

static bool
commit(struct keep *keep, const struct order_commit *commit)
{
	struct keep_memory *memory = container_of(keep, struct keep_memory, keep);

	if (memory->file != NULL)
		write_back(memory, commit);
	return true;
}

static void
close_memory(struct keep *keep)
{
	struct keep_memory *memory = container_of(keep, struct keep_memory, keep);

	arena_free(keep->reactor->arena, memory);
}

static struct keep *
open_memory(struct reactor *reactor, struct file *file, const struct order_head *head)
{
	static const struct keep_ops ops = { commit, close_memory, true };
	struct keep_memory *memory = arena_alloc(reactor->arena, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->keep = (struct keep){ .ops = &ops, .reactor = reactor, .count = head->slots };
	memory->file = file;
	return &memory->keep;
}

struct keep *
keep_memory_open(struct reactor *reactor, const struct order_head *head)
{
	return open_memory(reactor, NULL, head);
}

struct keep *
keep_persistent_open(struct reactor *reactor, struct file *file, const struct order_head *head)
{
	return open_memory(reactor, file, head);
}
