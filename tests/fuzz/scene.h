/*
 * scene.h - a target of one reactor and hogs of one kind, in the simulation: what
 * a test of them begins and ends with, and a host that works beside them.
 */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "cluster.h"
#include "hogs.h"

/* What is played.  Where nothing is said it is as usual. */
struct play {
	uint64_t seed;
	const char *volume, *other;  /* of namespace 1, and of 2; NULL: there is none */
	struct reactor_options bufs;
	uint32_t stall_ms;           /* how long a peer may owe data; 0: for longer than a test takes */
	uint32_t turn_ns;
	bool small_sockets;
	unsigned count, asks;        /* of the hogs, as the rest */
	enum hog_kind kind;
	bool strangers;
};

struct scene {
	struct cluster_target target;
	struct hogs *hogs;
	struct sim *sim;
	struct sim_process *served;
	uint64_t blamed;         /* peers that kept others waiting */
	uint64_t said, left_out; /* lines of the target's log, and those that it says there were more */
};

/* The target and the hogs begin when the simulation runs: until then both may be changed. */
void scene_begin(struct scene *scene, const struct play *play);

void scene_end(struct scene *scene);

/* A host comes at `from_ns`, and has done all its work without an error by `until_ns`; to be called once. */
void scene_work(struct scene *scene, struct cluster_host *host, uint64_t from_ns, uint64_t until_ns);

#endif
