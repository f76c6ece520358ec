/*
 * hash_lab.c - a measurement for hash.c, with all ways in which a job can choose what comes next.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hash_lab.h"
#include "lab/rig.h"

static void
plan(struct lab_setup *setup, enum lab_rig rig)
{
	struct lab_job *job;

	lab_setup_init(setup, rig);
	setup->hosts = 2;
	setup->reactors = 2;
	lab_setup_device(setup, "fault:delay-write=1@mem:16M");
	lab_setup_device(setup, "file:volume.img,size=16M")->block_size = 512;
	job = lab_setup_job(setup, "mixed", LAB_READ, 8192, 16);
	job->percent[LAB_READ] = 60;
	job->percent[LAB_WRITE] = 30;
	job->percent[LAB_TRIM] = 10;
	job->zipf_percent = 99;
	job->flush_every = 5;
	job = lab_setup_job(setup, "arriving", LAB_WRITE, 4096, 8);
	job->rate = 7777;
	job->device = job->host = 1;
	job->sequential_percent = 40;
	job->streams = 3;
	job->run = 4;
	job->fua = true;
	job->phases = 2;
	lab_setup_phase(setup, "one", 3 * LAB_MS, true);
	lab_setup_phase(setup, "other", 3 * LAB_MS, true);
}

void
hash_lab(uint64_t seed, void (*trace)(void *, uint64_t, enum sim_kind, uint64_t, uint64_t, uint64_t))
{
	struct arena arena;
	struct lab_setup *setups = calloc(2, sizeof(*setups));
	struct lab lab;

	arena_init(&arena, 0);
	lab_init(&lab, &arena, &lab_maker_plain, seed);
	lab.trace = trace;
	for (unsigned rig = 0; rig < 2; rig++) {
		if (setups == NULL)
			abort();
		plan(&setups[rig], rig);
		if (lab_run(&lab, &setups[rig]) == NULL)
			printf("it cannot be run: %s\n", lab.why);
	}
	printf("seed %" PRIu64 " lab: %016" PRIx64 " after %" PRIu64 " events\n", seed, lab.hash, lab.events);
	arena_drop(&arena);
	free(setups);
}
