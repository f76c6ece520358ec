/*
 * stats.c - what all cores have counted, for who runs the target.
 *
 * What hosts are told of it is in smart.c.
 */
#include "target/core.h"

void
stats_add(struct target_stats *sum, const struct target_stats *one)
{
	sum->reads += one->reads;
	sum->writes += one->writes;
	sum->read_blocks512 += one->read_blocks512;
	sum->write_blocks512 += one->write_blocks512;
	sum->media_errors += one->media_errors;
	sum->connections += one->connections;
	sum->turns += one->turns;
	sum->busy_turns += one->busy_turns;
	sum->busy_ns += one->busy_ns;
	sum->syscalls += one->syscalls;
}

/* Notes down what it is now, for core 0 to read. */
void
stats_note(struct core *core)
{
	core->counted = core->stats;
	for (uint32_t i = 0; i < EVENTS_LOGS; i++)
		stats_add(&core->counted, &core->served[i].stats);
	core->counted.connections = core->conn_count;
	core->counted.turns = core->reactor->turns;
	core->counted.busy_turns = core->reactor->busy_turns;
	core->counted.busy_ns = core->reactor->busy_ns;
	core->counted.syscalls = core->reactor->syscalls;
}

static void
add_up(const struct target *target, unsigned cores, struct target_stats *sum)
{
	*sum = (struct target_stats){ 0 };
	for (unsigned i = 0; i < cores; i++)
		stats_add(sum, &target->cores[i]->counted);
}

void
target_stats(const struct target *target, struct target_stats *sum)
{
	unsigned cores = target->cores[0]->reactor->count;

	for (unsigned i = 0; i < cores; i++)
		stats_note(target->cores[i]);
	add_up(target, cores, sum);
}

void
stats_noted(struct core *core)
{
	struct target_stats sum;

	if (--core->uncounted > 0)
		return;
	add_up(core->target, core->reactor->count, &sum);
	core->told(core->told_owner, &sum);
}

void
target_ask_stats(struct target *target, void (*told)(void *owner, const struct target_stats *sum),
    void *owner)
{
	struct core *core = target->cores[0];
	struct target_mail mail = { .kind = MAIL_COUNT };

	if (core->uncounted > 0)
		return;
	core->uncounted = core->reactor->count;
	core->told = told;
	core->told_owner = owner;
	for (unsigned i = 0; i < core->reactor->count; i++)
		core_post(core, i, &mail);
}
