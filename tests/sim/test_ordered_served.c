/*
 * test_ordered_served.c - a stream of ordered writes to two targets with logs, which lose their processes or their
 * power, and to a host that does: what is there after each is exactly the groups up to some point, and in the end all.
 */
#include <stdlib.h>

#include "ordered_bench.h"

enum { SEEDS = 12 };

struct lies {
	enum store_kind kind;
	const char *spec;
	bool power;          /* it survives a loss of that, too */
};

static const struct lies places[] = {
	{ STORE_FILE, "file:volume", true },
	{ STORE_PERSISTENT, "file:volume", true },
	{ STORE_MEMORY, "file:volume", false },
	{ STORE_FILE, "volatile:seed=3@file:volume", true },
};

enum { PLACES = sizeof(places) / sizeof(places[0]) };

static unsigned
chance(struct play *p, unsigned of)
{
	return (unsigned)sim_below(p->sim, of);
}

/* Its process, or the machine. */
static void
crash(struct play *p, const struct lies *place, struct sim_process *process)
{
	bool power = place->power && chance(p, 2) == 0;

	sim_process_crash(process, power ? 0 : SIM_CRASH_KEEPS_WRITES);
	play_wait(p, 1 + chance(p, 20));
	sim_process_start(process);
}

/* Until some more blocks were written, and a while after that. */
static void
write_some(struct play *p)
{
	p->lost_at = p->next + 1 + chance(p, 60);
	if (p->lost_at > ALL)
		p->lost_at = ALL;
	play_run(p, play_has_written);
	sim_run_until(p->sim, sim_now(p->sim) + sim_below(p->sim, PLAY_MS), NULL, NULL);
}

static void
what_is_written_is_there(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PLACES; i++) {
		struct play *p = play_create_served(places[i].kind, places[i].spec);

		play_start(p, 1 + i);
		play_end(p);
	}
}

/* The host holds what is not durable, and sends it again. */
static void
targets_are_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (unsigned i = 0; i < PLACES; i++) {
			struct play *p = play_create_served(places[i].kind, places[i].spec);

			play_start(p, seed);
			for (unsigned times = 0; times < 6 && !p->finished; times++) {
				write_some(p);
				crash(p, &places[i], p->processes[chance(p, SERVERS)]);
			}
			play_end(p);
		}
}

/* And now and then targets with it.  Another one begins where its groups end. */
static void
hosts_are_lost(void **state)
{
	unsigned kept = 0, undone = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (unsigned i = 0; i < PLACES; i++) {
			struct play *p = play_create_served(places[i].kind, places[i].spec);

			play_start(p, seed);
			for (unsigned times = 0; times < 6 && !p->finished; times++) {
				write_some(p);
				sim_process_crash(p->host, chance(p, 2) == 0 ? SIM_CRASH_HALF_OPEN : 0);
				for (unsigned server = 0; server < SERVERS; server++)
					if (chance(p, 3) == 0)
						crash(p, &places[i], p->processes[server]);
				sim_process_start(p->host);
			}
			kept += p->kept;
			undone += p->undone;
			play_end(p);
		}
	assert_true(kept > 1000 && undone > 100);
}

static bool
is_ending(void *arg)
{
	const struct play *p = arg;

	return p->finished || (p->ordered != NULL && ordered_session(p->ordered)->ending != ORDER_ENDS_NOT);
}

/* Whether servers were to forget its stream just then. */
static bool
lose_host(struct play *p)
{
	bool forgetting = ordered_session(p->ordered)->ending == ORDER_ENDS_FORGETTING;

	sim_process_crash(p->host, chance(p, 2) == 0 ? SIM_CRASH_HALF_OPEN : 0);
	p->ordered = NULL;
	return forgetting;
}

/* While a stream that nobody needs any more is forgotten: whoever finds it ends it, and all is there. */
static void
streams_end_whatever_is_lost(void **state)
{
	unsigned forgetting = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (unsigned i = 0; i < PLACES; i++) {
			struct play *p = play_create_served(places[i].kind, places[i].spec);
			bool host;

			p->ends = true;
			play_start(p, seed);
			for (unsigned times = 0; times < 6 && !p->finished; times++) {
				play_run(p, is_ending);
				sim_run_until(p->sim, sim_now(p->sim) + sim_below(p->sim, PLAY_MS / 2), NULL, NULL);
				host = !p->finished && chance(p, 2) == 0;
				if (host)
					forgetting += lose_host(p);
				if (chance(p, 2) == 0)
					crash(p, &places[i], p->processes[chance(p, SERVERS)]);
				if (host)
					sim_process_start(p->host);
			}
			play_end(p);
		}
	assert_true(forgetting > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_there),
		cmocka_unit_test(targets_are_lost),
		cmocka_unit_test(hosts_are_lost),
		cmocka_unit_test(streams_end_whatever_is_lost),
	};

	return cmocka_run_group_tests_name("ordered_served", tests, NULL, NULL);
}
