/* A part in memory that outlives the process: what has changed is copied there, and that is all. */
#include "place/place.h"

struct place_memory {
	struct place place;
	struct order_image *kept; /* the part, there */
	struct task task;         /* says that it is done */
};

static void
done(struct task *task)
{
	struct place_memory *memory = container_of(task, struct place_memory, task);

	memory->place.done(&memory->place, 0);
}

/* A word is stored in one piece, whenever the process ends. */
static void
keep_word(le32 *kept, const le32 *word)
{
	uint32_t value;

	memcpy(&value, word, sizeof(value));
	*(volatile uint32_t *)(void *)kept = value;
}

static void
commit(struct place *place, const struct order_commit *commit)
{
	struct place_memory *memory = container_of(place, struct place_memory, place);

	for (uint64_t at = commit->from; at < commit->to; at++) {
		uint32_t slot = (uint32_t)at & (place->count - 1);

		memory->kept[slot] = place->slots[slot];
	}
	for (uint32_t i = 0; i < commit->word_count; i++)
		keep_word(&memory->kept[commit->words[i]].persist, &place->slots[commit->words[i]].persist);
	reactor_run_in(place->reactor, PHASE_COLLECT, &memory->task);
}

static void
close_memory(struct place *place)
{
	struct place_memory *memory = container_of(place, struct place_memory, place);

	task_cancel(&memory->task);
	arena_free(place->reactor->arena, memory);
}

struct place *
place_memory_open(struct reactor *reactor, void *log, const struct order_head *head, uint32_t part)
{
	static const struct place_ops ops = { commit, close_memory };
	struct place_memory *memory = arena_alloc(reactor->arena, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->place = (struct place){ .ops = &ops, .reactor = reactor, .count = head->slots };
	memory->kept = (struct order_image *)(void *)((uint8_t *)log + order_part_at(head, part));
	task_init(&memory->task, done);
	return &memory->place;
}
