/*
 * A part in memory that outlives the process: what has changed is stored there, in words that are whole whenever the
 * process ends.  That is all, but in persistent memory: there it is written back, behind which all of it is there.
 */
#include "place/place.h"

enum {
	WORD = sizeof(uint64_t),
	PIECES = 16, /* that are written back together */
};

struct place_memory {
	struct place place;
	struct order_image *kept; /* the part, there */
	struct file *file;        /* that is mapped to persistent memory; NULL: it is none */
};

/* The CRC and the word behind it are in one of these: where an entry is whole, that is too. */
static void
keep_entry(struct order_image *kept, const struct order_image *image)
{
	volatile uint64_t *to = (volatile uint64_t *)(void *)kept;
	const uint8_t *from = (const uint8_t *)image;

	for (size_t i = 0; i < sizeof(*image) / WORD; i++) {
		uint64_t value;

		memcpy(&value, from + i * WORD, WORD);
		to[i] = value;
	}
}

static void
keep_word(le32 *kept, const le32 *word)
{
	uint32_t value;

	memcpy(&value, word, sizeof(value));
	*(volatile uint32_t *)(void *)kept = value;
}

/* All that the commit has stored; in no order, as none of it is told before all of it is there. */
static void
write_back(struct place_memory *memory, const struct order_commit *commit)
{
	const struct world_ops *world = memory->place.reactor->world;
	uint32_t slots = memory->place.count;
	struct iovec pieces[PIECES];
	int count = 0;

	for (uint64_t at = commit->from, run; at < commit->to; at += run) {
		uint32_t slot = (uint32_t)at & (slots - 1);

		run = commit->to - at < slots - slot ? commit->to - at : slots - slot;
		pieces[count++] = (struct iovec){ &memory->kept[slot], (size_t)run * sizeof(struct order_image) };
	}
	for (uint32_t i = 0; i < commit->word_count; i++) {
		if (count == PIECES) {
			world->file_write_back(memory->file, pieces, count);
			count = 0;
		}
		pieces[count++] = (struct iovec){ &memory->kept[commit->words[i]].persist, sizeof(le32) };
	}
	world->file_write_back(memory->file, pieces, count);
}

static bool
commit(struct place *place, const struct order_commit *commit)
{
	struct place_memory *memory = container_of(place, struct place_memory, place);

	for (uint64_t at = commit->from; at < commit->to; at++) {
		uint32_t slot = (uint32_t)at & (place->count - 1);

		keep_entry(&memory->kept[slot], &place->slots[slot]);
	}
	for (uint32_t i = 0; i < commit->word_count; i++)
		keep_word(&memory->kept[commit->words[i]].persist, &place->slots[commit->words[i]].persist);
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
open_memory(struct reactor *reactor, void *log, struct file *file, const struct order_head *head, uint32_t part)
{
	static const struct place_ops ops = { commit, close_memory, true };
	struct place_memory *memory = arena_alloc(reactor->arena, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->place = (struct place){ .ops = &ops, .reactor = reactor, .count = head->slots };
	memory->kept = (struct order_image *)(void *)((uint8_t *)log + order_part_at(head, part));
	memory->file = file;
	return &memory->place;
}

struct place *
place_memory_open(struct reactor *reactor, void *log, const struct order_head *head, uint32_t part)
{
	return open_memory(reactor, log, NULL, head, part);
}

struct place *
place_persistent_open(struct reactor *reactor, struct file *file, const struct order_head *head, uint32_t part)
{
	return open_memory(reactor, file->map, file, head, part);
}
