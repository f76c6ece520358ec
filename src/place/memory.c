/*
 * A part in memory that outlives the process: its slots lie there themselves, so what is stored in them is kept, in
 * whatever order.  An entry of which not all is there yet is none, by its CRC, and a word is whole.  That is all, but
 * in persistent memory: there a commit is written back, behind which all of it is there.
 */
#include "place/place.h"

enum { PIECES = 16 }; /* that are written back together */

struct place_memory {
	struct place place;
	struct file *file; /* that is mapped to persistent memory; NULL: it is none */
};

/* In no order, as none of it is told before all of it is there. */
static void
write_back(struct place_memory *memory, const struct order_commit *commit)
{
	const struct world_ops *world = memory->place.reactor->world;
	struct order_image *slots = memory->place.slots;
	uint32_t slot_count = memory->place.count;
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
commit(struct place *place, const struct order_commit *commit)
{
	struct place_memory *memory = container_of(place, struct place_memory, place);

	if (memory->file != NULL)
		write_back(memory, commit);
	return true;
}

static void
close_memory(struct place *place)
{
	struct place_memory *memory = container_of(place, struct place_memory, place);

	arena_free(place->reactor->arena, memory);
}

static struct place *
open_memory(struct reactor *reactor, struct file *file, const struct order_head *head)
{
	static const struct place_ops ops = { commit, close_memory, true };
	struct place_memory *memory = arena_alloc(reactor->arena, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->place = (struct place){ .ops = &ops, .reactor = reactor, .count = head->slots };
	memory->file = file;
	return &memory->place;
}

struct place *
place_memory_open(struct reactor *reactor, const struct order_head *head)
{
	return open_memory(reactor, NULL, head);
}

struct place *
place_persistent_open(struct reactor *reactor, struct file *file, const struct order_head *head)
{
	return open_memory(reactor, file, head);
}
