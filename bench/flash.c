/*
 * flash.c - the program weir-flash-bench: what does the modelled SSD cost?
 *
 *   weir-flash-bench MODE [--profile NAME] [--size GIB] [--depth N] [--reads PERCENT] [--jobs N] [--seed N]
 *
 * Plays it, or a part of it, in virtual time, one thread in all, and prints as one JSON object what that took of this
 * processor's time.
 *
 * nand: host reads of 4 KiB in a closed loop, each on a die drawn at random; a tenth of the jobs before that are not
 * counted.
 * drive: commands of 4 KiB in a closed loop, anywhere on a fragmented drive that has no contents; not counted are the
 * making of the drive, a tenth of the jobs, and, where some write, those until its buffer has been filled twice.
 * data: the same reads of a drive with contents, of which each word is looked at.  One of DATA_EVERY blocks has any,
 * and these are read: so the memory they lie in is large enough to be out of all caches, and small enough to be had.
 * condition: a fragmented drive is made of nothing.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "cpu.h"
#include "flash/condition.h"
#include "flash/exercise.h"
#include "flash/nand.h"

enum { DEPTH_MAX = 4096, READ_BYTES = 4096, READ_WORDS = READ_BYTES / 8, DATA_EVERY = 8 };

struct bench {
	struct arena arena;
	struct flash_profile profile;
	uint32_t size_gib, depth, reads_percent, jobs;
	uint64_t seed;
	uint64_t wrong; /* blocks that were read */
};

static bool
read_profile(struct bench *bench, const char *name)
{
	struct conf_errors errors;

	for (unsigned i = 0; i < flash_profile_count; i++)
		if (strcmp(flash_profile_texts[i].name, name) == 0)
			return flash_profile_read(&bench->arena, flash_profile_texts[i].text,
			    strlen(flash_profile_texts[i].text), &errors, &bench->profile) == 0;
	return false;
}

/* ---- nand ---- */

/* Each job that ends is submitted again: when the last of so many ended. */
static uint64_t
read_on(struct nand *nand, struct rng *rng, uint32_t dies, uint32_t jobs)
{
	uint64_t now_ns = 0;

	for (uint32_t i = 0; i < jobs; i++) {
		struct nand_job *job = nand_run(nand, UINT64_MAX);

		now_ns = job->end_ns;
		job->die = (uint16_t)rng_below(rng, dies);
		nand_submit(nand, job, now_ns);
	}
	return now_ns;
}

static int
run_nand(struct bench *bench)
{
	struct flash_geometry geometry = { .dies = bench->profile.dies, .channels = bench->profile.channels };
	struct nand_job *jobs = arena_alloc(&bench->arena, bench->depth * sizeof(*jobs));
	uint64_t cpu[2], now[2];
	struct nand *nand;
	struct rng rng;

	rng_seed(&rng, bench->seed);
	if (jobs == NULL || nand_create(&bench->arena, &geometry, &bench->profile, &nand) != 0)
		return 1;
	for (uint32_t i = 0; i < bench->depth; i++) {
		jobs[i] = (struct nand_job){ .op = NAND_READ, .urgent = true, .cells_ns = bench->profile.read_ns,
			.die = (uint16_t)rng_below(&rng, geometry.dies), .bytes = READ_BYTES };
		nand_submit(nand, &jobs[i], 0);
	}
	now[0] = read_on(nand, &rng, geometry.dies, bench->jobs / 10);
	cpu[0] = cpu_ns();
	now[1] = read_on(nand, &rng, geometry.dies, bench->jobs);
	cpu[1] = cpu_ns();
	printf("{\"jobs\": %" PRIu32 ", \"cpu_ns\": %" PRIu64 ", \"virtual_ns\": %" PRIu64,
	    bench->jobs, cpu[1] - cpu[0], now[1] - now[0]);
	printf(", \"cpu_ns_per_job\": %.1f}\n", (double)(cpu[1] - cpu[0]) / bench->jobs);
	nand_destroy(nand);
	return 0;
}

/* ---- a whole drive ---- */

static bool
make_drive(struct bench *bench, uint8_t *store, struct drive **drive)
{
	struct drive_options options = { .profile = bench->profile, .seed = bench->seed, .store = store };
	struct condition condition = condition_of(CONDITION_FRAGMENTED, bench->seed);
	char why[FLASH_WHY];

	if (flash_geometry_init(&options.geometry, &bench->profile, (uint64_t)bench->size_gib << 30, why) != 0) {
		fprintf(stderr, "weir-flash-bench: %s\n", why);
		return false;
	}
	if (drive_create(&bench->arena, &options, drive) != 0)
		return false;
	if (drive_ftl(*drive) != NULL)
		condition_make(drive_ftl(*drive), &condition);
	return true;
}

static bool
play(struct bench *bench, struct drive *drive, const struct exercise_load *load)
{
	const struct exercise_result *result;
	struct exercise *exercise;
	uint64_t cpu[2];

	if (exercise_create(&bench->arena, drive, load, &exercise) != 0)
		return false;
	exercise_fill_buffer(exercise);
	exercise_run(exercise, bench->jobs / 10);
	exercise_forget(exercise);
	cpu[0] = cpu_ns();
	exercise_run(exercise, bench->jobs);
	cpu[1] = cpu_ns();
	result = exercise_result(exercise);
	printf("{\"jobs\": %" PRIu32 ", \"reads\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
	    ", \"virtual_ns\": %" PRIu64 ", \"programmed_bytes\": %" PRIu64 "}\n",
	    bench->jobs, result->latency[EXERCISE_READS].count, bench->wrong, cpu[1] - cpu[0], result->ns,
	    result->programmed_bytes);
	exercise_destroy(exercise);
	return true;
}

static int
run_drive(struct bench *bench)
{
	struct exercise_load load = { .bytes = READ_BYTES, .depth = bench->depth, .read_percent = bench->reads_percent,
		.seed = bench->seed };
	struct drive *drive;

	return make_drive(bench, NULL, &drive) && play(bench, drive, &load) ? 0 : 1;
}

/* What a word of a block is. */
static uint64_t
word_of(uint64_t block, uint64_t word)
{
	return (block + 1) * UINT64_C(0x9e3779b97f4a7c15) + word;
}

static void
check(const struct drive_cmd *cmd, void *arg)
{
	struct bench *bench = arg;
	const uint64_t *words = cmd->iov->iov_base;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < READ_WORDS; i++)
		wrong |= words[i] ^ word_of(cmd->offset / READ_BYTES, i);
	bench->wrong += wrong != 0;
}

static int
run_data(struct bench *bench)
{
	struct exercise_load load = { .bytes = READ_BYTES, .depth = bench->depth, .read_percent = 100,
		.step_bytes = DATA_EVERY * READ_BYTES, .seed = bench->seed, .ended = check, .arg = bench };
	uint64_t bytes = (uint64_t)bench->size_gib << 30;
	uint64_t *store = arena_alloc_aligned(&bench->arena, bytes, READ_BYTES);
	struct drive *drive;

	load.contents = arena_alloc_aligned(&bench->arena, (size_t)bench->depth * READ_BYTES, READ_BYTES);
	if (store == NULL || load.contents == NULL)
		return 1;
	for (uint64_t block = 0; block < bytes / READ_BYTES; block += DATA_EVERY)
		for (uint64_t i = 0; i < READ_WORDS; i++)
			store[block * READ_WORDS + i] = word_of(block, i);
	return make_drive(bench, (uint8_t *)store, &drive) && play(bench, drive, &load) && bench->wrong == 0 ? 0 : 1;
}

static int
run_condition(struct bench *bench)
{
	uint64_t begin = cpu_ns();
	const struct ftl_counts *counts;
	struct drive *drive;

	if (!make_drive(bench, NULL, &drive) || drive_ftl(drive) == NULL)
		return 1;
	counts = ftl_counts(drive_ftl(drive));
	printf("{\"cpu_ns\": %" PRIu64 ", \"host_units\": %" PRIu64 ", \"moved_units\": %" PRIu64 "}\n",
	    cpu_ns() - begin, counts->host_units, counts->gc_units + counts->fold_units + counts->wear_units);
	return 0;
}

static const struct mode {
	const char *name;
	int (*run)(struct bench *bench);
} modes[] = {
	{ "nand", run_nand },
	{ "drive", run_drive },
	{ "data", run_data },
	{ "condition", run_condition },
};

static const struct mode *
find_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

static bool
read_options(struct bench *bench, int argc, char **argv)
{
	static const struct option options[] = {
		{ "profile", required_argument, NULL, 'p' }, { "size", required_argument, NULL, 'g' },
		{ "depth", required_argument, NULL, 'd' }, { "reads", required_argument, NULL, 'r' },
		{ "jobs", required_argument, NULL, 'j' }, { "seed", required_argument, NULL, 's' }, { 0 },
	};
	const char *profile = "tlc-plp";
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t value = optarg != NULL ? strtoull(optarg, NULL, 10) : 0;

		if (option == 'p')
			profile = optarg;
		else if (option == 'g')
			bench->size_gib = (uint32_t)value;
		else if (option == 'r')
			bench->reads_percent = (uint32_t)value;
		else if (option == 'd')
			bench->depth = (uint32_t)value;
		else if (option == 'j')
			bench->jobs = (uint32_t)value;
		else if (option == 's')
			bench->seed = value;
		else
			return false;
	}
	return optind == argc - 1 && bench->depth >= 1 && bench->depth <= DEPTH_MAX && bench->jobs >= 10 &&
	    bench->reads_percent <= 100 && bench->size_gib >= 1 && read_profile(bench, profile);
}

int
main(int argc, char **argv)
{
	struct bench bench = { .size_gib = 8, .depth = 128, .reads_percent = 100, .jobs = 10000000, .seed = 1 };
	const struct mode *mode = NULL;
	int failed = 2;

	arena_init(&bench.arena, 0);
	if (read_options(&bench, argc, argv))
		mode = find_mode(argv[optind]);
	if (mode != NULL)
		failed = mode->run(&bench);
	else
		fprintf(stderr, "usage: weir-flash-bench nand|drive|data|condition [--profile NAME] [--size GIB] "
		    "[--depth N] [--reads PERCENT] [--jobs N] [--seed N]\n");
	arena_drop(&bench.arena);
	return failed;
}
