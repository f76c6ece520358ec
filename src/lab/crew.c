/*
 * crew.c - an experiment's measurements side by side, and what is left of each for those who ask later.
 */
#include "lab/crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONSTANT = 64 };

/* What is left of one.  It is shared, so there is no pointer in it. */
struct piece {
	struct lab_progress progress;
	uint64_t hash, events, runs;
	char why[2 * LAB_WHY], world[LAB_WORLD];
	char constants[LAB_CONSTANTS_MAX][CONSTANT];
	char profiles[LAB_PROFILES_MAX][LAB_PROFILE];
	unsigned constant_count, profile_count;
	char found[] __attribute__((aligned(16)));
};

struct pieces {
	struct lab *lab;
	unsigned count;
	bool (*work)(struct lab *piece, const void *arg, unsigned i, void *found);
	const void *arg;
	char *memory;
	size_t bytes, all; /* of one, and of all */
};

static struct piece *
piece_of(const struct pieces *pieces, unsigned i)
{
	return (struct piece *)(void *)(pieces->memory + i * pieces->bytes);
}

static void
watch(void *arg, const struct lab_progress *progress)
{
	((struct piece *)arg)->progress = *progress;
}

/* What was used is known to whoever began it. */
static void
keep(struct piece *piece, const struct lab *lab)
{
	piece->hash = lab->hash;
	piece->events = lab->events;
	piece->runs = lab->runs;
	memcpy(piece->why, lab->why, sizeof(piece->why));
	memcpy(piece->world, lab->world, sizeof(piece->world));
	memcpy(piece->profiles, lab->profiles, sizeof(piece->profiles));
	piece->profile_count = lab->profile_count;
	for (unsigned i = 0; i < lab->constant_count; i++)
		snprintf(piece->constants[i], CONSTANT, "%s", lab->constants[i]);
	piece->constant_count = lab->constant_count;
}

static bool
work(void *arg, unsigned i)
{
	struct pieces *pieces = arg;
	struct piece *piece = piece_of(pieces, i);
	struct arena arena;
	struct lab lab;
	bool done;

	arena_init(&arena, 0);
	lab_init(&lab, &arena, pieces->lab->maker, pieces->lab->seed);
	lab.variation = pieces->lab->variation;
	lab.quick = pieces->lab->quick;
	lab.workloads = pieces->lab->workloads;
	lab.watch = watch;
	lab.watch_arg = piece;
	done = pieces->work(&lab, pieces->arg, i, piece->found);
	keep(piece, &lab);
	arena_drop(&arena);
	return done;
}

/* How far all of them are, each as it was seen last. */
static void
look(void *arg)
{
	const struct pieces *pieces = arg;
	struct lab_progress all = pieces->lab->progress;

	if (pieces->lab->watch == NULL)
		return;
	for (unsigned i = 0; i < pieces->count; i++) {
		all.measured += piece_of(pieces, i)->runs > 0;
		all.virtual_ns += piece_of(pieces, i)->progress.virtual_ns;
	}
	pieces->lab->watch(pieces->lab->watch_arg, &all);
}

static bool
work_all(struct pieces *pieces)
{
	struct lab_crew *crew = pieces->lab->crew;
	char why[LAB_WHY] = "";
	bool all = true;

	if (crew != NULL)
		all = crew->work(crew, pieces->count, work, look, pieces, why);
	for (unsigned i = 0; crew == NULL && i < pieces->count && all; i++) {
		all = work(pieces, i);
		look(pieces);
	}
	for (unsigned i = 0; i < pieces->count; i++)
		if (piece_of(pieces, i)->why[0] != '\0')
			lab_refuse(pieces->lab, "%s", piece_of(pieces, i)->why);
	if (!all)
		lab_refuse(pieces->lab, "%s", why);
	return all;
}

static void
take(struct lab *lab, const struct piece *piece)
{
	for (unsigned i = 0; i < piece->constant_count; i++)
		lab_note_constant(lab, piece->constants[i]);
	for (unsigned i = 0; i < piece->profile_count; i++)
		lab_note_profile(lab, piece->profiles[i]);
	memcpy(lab->world, piece->world, sizeof(lab->world));
	lab->hash = (lab->hash ^ piece->hash) * UINT64_C(0x9e3779b97f4a7c15) + lab->runs;
	lab->events += piece->events;
	lab->runs++;
	lab_measured(lab, piece->progress.virtual_ns);
}

bool
lab_each(struct lab *lab, unsigned count,
    bool (*work_one)(struct lab *piece, const void *arg, unsigned i, void *found), const void *arg, void *found,
    size_t bytes)
{
	struct pieces pieces = {
		.lab = lab, .count = count, .work = work_one, .arg = arg,
		.bytes = (sizeof(struct piece) + bytes + 63) / 64 * 64,
	};
	bool done;

	pieces.all = count * pieces.bytes;
	pieces.memory = lab->crew != NULL ? lab->crew->share(lab->crew, pieces.all) : calloc(1, pieces.all);
	if (pieces.memory == NULL) {
		lab_refuse(lab, "there is no memory for what is found");
		return false;
	}
	lab_expect(lab, count);
	done = work_all(&pieces);
	for (unsigned i = 0; i < count && done; i++) {
		take(lab, piece_of(&pieces, i));
		memcpy((char *)found + i * bytes, piece_of(&pieces, i)->found, bytes);
	}
	if (lab->crew != NULL)
		lab->crew->unshare(lab->crew, pieces.memory, pieces.all);
	else
		free(pieces.memory);
	return done;
}
