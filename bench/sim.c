/*
 * sim.c - the program weir-sim-bench: what does an I/O cost in the simulation?
 *
 *   weir-sim-bench [--hosts N] [--reactors N] [--depth N] [--reads PERCENT] [--ios N] [--seed N]
 *       [--file] [--kinds]
 *
 * Plays the load of sim_load.c with the options that the simulation has by
 * default, one thread in all, and prints as one JSON object what the I/Os took
 * of this processor's time and of the simulation's.  Coming to work, and a tenth
 * of the I/Os after that, are not counted.  With --kinds it also says how much
 * of each kind of the trace there was per I/O, which takes a little time itself.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"
#include "sim_load.h"

enum { HOSTS_MAX = 64 };

/* Of these is said how many there were: they are what a load is made of. */
static const char *const kind_names[] = {
	[SIM_TURN] = "turn", [SIM_MAIL] = "mail", [SIM_BYTES] = "bytes", [SIM_SPACE] = "space", [SIM_AGAIN] = "again",
	[SIM_READ] = "read", [SIM_WRITE] = "write",
};
enum { KINDS = sizeof(kind_names) / sizeof(kind_names[0]) };

struct bench {
	uint32_t hosts, reactors, depth, reads_percent, ios;
	uint64_t seed;
	bool in_file, kinds;

	struct sim *sim;
	struct load_target target;
	struct load_host *load;
	uint64_t until;         /* I/Os */
	uint64_t counts[KINDS]; /* of the trace */
};

/* How far it has come. */
struct mark {
	uint64_t ios, reads, cpu_ns, now_ns, events;
	uint64_t counts[KINDS];
};

static void
count_kind(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	struct bench *bench = arg;

	if ((unsigned)kind < KINDS)
		bench->counts[kind]++;
}

static uint64_t
ios_done(const struct bench *bench)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < bench->hosts; i++)
		sum += bench->load[i].reads + bench->load[i].writes + bench->load[i].failed;
	return sum;
}

static bool
is_done(void *arg)
{
	struct bench *bench = arg;

	return ios_done(bench) >= bench->until;
}

static void
take_mark(const struct bench *bench, struct mark *mark)
{
	*mark = (struct mark){ .ios = ios_done(bench), .cpu_ns = cpu_ns(), .now_ns = sim_now(bench->sim),
		.events = sim_events(bench->sim) };
	for (uint32_t i = 0; i < bench->hosts; i++)
		mark->reads += bench->load[i].reads;
	for (unsigned i = 0; i < KINDS; i++)
		mark->counts[i] = bench->counts[i];
}

static void
begin(struct bench *bench)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options target = {
		.reactor = { 512, 32 }, .start = load_target_start, .arg = &bench->target,
	};

	if (bench->kinds)
		options.trace = count_kind;
	options.arg = bench;
	bench->sim = sim_create(bench->seed, &options);
	bench->target = (struct load_target){ .blocks = bench->hosts * LOAD_BLOCKS, .in_file = bench->in_file };
	sim_process_create(bench->sim, "target", bench->reactors, &target);
	sim_run_until(bench->sim, 1000 * 1000, NULL, NULL);
	for (uint32_t i = 0; i < bench->hosts; i++) {
		struct sim_process_options host = { .start = load_host_start, .arg = &bench->load[i] };

		bench->load[i] = (struct load_host){ .index = i, .depth = bench->depth,
			.reads_percent = bench->reads_percent };
		sim_process_create(bench->sim, "host", 1, &host);
	}
}

static bool
run(struct bench *bench, uint64_t ios)
{
	bench->until = ios;
	return sim_run_until(bench->sim, UINT64_MAX, is_done, bench) == SIM_END_MET;
}

static void
print(const struct bench *bench, const struct mark *a, const struct mark *b)
{
	uint64_t wrong = 0, failed = 0;

	for (uint32_t i = 0; i < bench->hosts; i++) {
		wrong += bench->load[i].wrong;
		failed += bench->load[i].failed;
	}
	printf("{\"ios\": %" PRIu64 ", \"reads\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"failed\": %" PRIu64,
	    b->ios - a->ios, b->reads - a->reads, wrong, failed);
	printf(", \"cpu_ns\": %" PRIu64 ", \"virtual_ns\": %" PRIu64 ", \"events\": %" PRIu64
	    ", \"hash\": \"%016" PRIx64 "\"",
	    b->cpu_ns - a->cpu_ns, b->now_ns - a->now_ns, b->events - a->events, sim_hash(bench->sim));
	for (unsigned i = 0; bench->kinds && i < KINDS; i++)
		if (kind_names[i] != NULL)
			printf(", \"%s\": %" PRIu64, kind_names[i], b->counts[i] - a->counts[i]);
	printf("}\n");
}

static bool
read_options(struct bench *bench, int argc, char **argv)
{
	static const struct option options[] = {
		{ "hosts", required_argument, NULL, 'h' }, { "reactors", required_argument, NULL, 'r' },
		{ "depth", required_argument, NULL, 'd' }, { "reads", required_argument, NULL, 'm' },
		{ "ios", required_argument, NULL, 'i' }, { "seed", required_argument, NULL, 's' },
		{ "file", no_argument, NULL, 'f' }, { "kinds", no_argument, NULL, 'k' }, { 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t value = optarg != NULL ? strtoull(optarg, NULL, 10) : 0;

		if (option == 'h')
			bench->hosts = (uint32_t)value;
		else if (option == 'r')
			bench->reactors = (uint32_t)value;
		else if (option == 'd')
			bench->depth = (uint32_t)value;
		else if (option == 'm')
			bench->reads_percent = (uint32_t)value;
		else if (option == 'i')
			bench->ios = (uint32_t)value;
		else if (option == 's')
			bench->seed = value;
		else if (option == 'f')
			bench->in_file = true;
		else if (option == 'k')
			bench->kinds = true;
		else
			return false;
	}
	return optind == argc && bench->hosts >= 1 && bench->hosts <= HOSTS_MAX && bench->reactors >= 1 &&
	    bench->depth >= 1 && bench->depth <= LOAD_DEPTH_MAX && bench->reads_percent <= 100 && bench->ios >= 10;
}

int
main(int argc, char **argv)
{
	struct bench bench = { .hosts = 1, .reactors = 1, .depth = 32, .reads_percent = 70, .ios = 100000, .seed = 1 };
	struct mark first, last;
	bool whole;

	if (!read_options(&bench, argc, argv)) {
		fprintf(stderr, "usage: weir-sim-bench [--hosts N] [--reactors N] [--depth N] [--reads PERCENT] "
		    "[--ios N] [--seed N] [--file] [--kinds]\n");
		return 2;
	}
	bench.load = calloc(bench.hosts, sizeof(*bench.load));
	if (bench.load == NULL)
		return 1;
	begin(&bench);
	whole = run(&bench, bench.ios / 10);
	take_mark(&bench, &first);
	whole = whole && run(&bench, first.ios + bench.ios);
	take_mark(&bench, &last);
	if (whole)
		print(&bench, &first, &last);
	else
		fprintf(stderr, "weir-sim-bench: nothing happens any more\n");
	sim_destroy(bench.sim);
	free(bench.load);
	return whole ? 0 : 1;
}
