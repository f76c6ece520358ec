#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

enum { STALL_MS = 1000 * 1000 };

static void
count_line(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	struct scene *scene = arg;

	(void)process;
	(void)reactor;
	(void)level;
	if (strstr(text, " more lines about peers were left out") != NULL)
		scene->left_out += strtoull(text, NULL, 10);
	else
		scene->said++;
	scene->blamed += strstr(text, "others wait") != NULL;
}

void
scene_begin(struct scene *scene, const struct play *play)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options served = {
		.reactor = play->bufs, .start = cluster_target_start, .arg = &scene->target, .address = "10.0.0.1",
	};
	struct sim_process_options hogs = { .start = hogs_start };

	*scene = (struct scene){
		.target = { .host = "10.0.0.1", .spec = play->volume, .other = play->other, .reactors = 1,
			.stall_timeout_ms = play->stall_ms > 0 ? play->stall_ms : STALL_MS },
		.hogs = calloc(1, sizeof(*scene->hogs)),
	};
	assert_non_null(scene->hogs);
	scene->hogs->count = play->count;
	scene->hogs->asks = play->asks;
	scene->hogs->strangers = play->strangers;
	for (unsigned i = 0; i < play->count; i++)
		scene->hogs->hog[i].kind = play->kind;
	hogs.arg = scene->hogs;
	options.reset_ppm = 0;
	if (play->turn_ns > 0)
		options.turn_ns = play->turn_ns;
	if (play->small_sockets)
		options.socket_bytes_max = options.socket_bytes_min;
	options.log = count_line;
	options.arg = scene;
	scene->sim = sim_create(play->seed, &options);
	scene->served = sim_process_create(scene->sim, "target", 1, &served);
	sim_process_create(scene->sim, "hogs", 1, &hogs);
}

void
scene_end(struct scene *scene)
{
	sim_destroy(scene->sim);
	free(scene->hogs);
}

static bool
finished(void *arg)
{
	return ((struct cluster_host *)arg)->finished;
}

void
scene_work(struct scene *scene, struct cluster_host *host, uint64_t from_ns, uint64_t until_ns)
{
	struct sim_process_options options = { .start = cluster_host_start, .arg = host };

	sim_run_until(scene->sim, from_ns, NULL, NULL);
	sim_process_create(scene->sim, "host", 1, &options);
	sim_run_until(scene->sim, until_ns, finished, host);
	assert_true(host->finished && host->done_ios >= host->ios);
	assert_int_equal(host->failures + host->losses + host->wrong, 0);
}
