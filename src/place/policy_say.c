/*
 * policy_say.c - why a workload got its disk, or none, in plain words.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "place/policy.h"

static const char *const aims[POLICIES] = {
	[POLICY_MINTCO_V1] = "costs least in all its life",
	[POLICY_MINTCO_V2] = "costs least per day",
	[POLICY_MINTCO_V3] = "costs least per GB written",
	[POLICY_MINTCO_PERF] = "costs little per GB written and keeps disks evenly full",
	[POLICY_MAX_REM_CYCLE] = "has most endurance left",
	[POLICY_MIN_WAF] = "amplifies writes least with it",
	[POLICY_MIN_RATE] = "is written least",
	[POLICY_MIN_WORKLOADS] = "has fewest workloads",
	[POLICY_LEAST_USED] = "has the smallest part of its room taken",
	[POLICY_ROUND_ROBIN] = "is the next one that takes it",
	[POLICY_RANDOM] = "was drawn of those that take it",
};

static const char *const refusals[DISK_SLOW + 1] = {
	[DISK_TAKES] = "too dear", [DISK_WORN] = "worn out", [DISK_FULL] = "too full", [DISK_SLOW] = "too slow",
};

static void __attribute__((format(printf, 4, 5)))
say(char *text, size_t room, size_t *at, const char *format, ...)
{
	va_list args;
	int length;

	if (*at >= room)
		return;
	va_start(args, format);
	length = vsnprintf(text + *at, room - *at, format, args);
	va_end(args);
	*at += length > 0 ? (size_t)length : 0;
}

/* How much worse the next best disk would be, of what it has to do with money. */
static void
say_next(const struct pool *pool, enum policy policy, const struct policy_options *options,
    const struct workload *workload, double now_days, const struct policy_choice *choice, char *text, size_t room,
    size_t *at)
{
	struct policy_options others = *options;
	struct policy_choice next;

	if (policy == POLICY_ROUND_ROBIN || policy == POLICY_RANDOM || choice->warm_up)
		return;
	others.except = choice->disk + 1;
	policy_choose(pool, policy, &others, NULL, workload, now_days, &next);
	if (next.disk == TREE_NONE) {
		say(text, room, at, "; no other disk takes it");
		return;
	}
	say(text, room, at, "; the next best is disk %" PRIu32 " (%s)", next.disk, pool->disks[next.disk].model->name);
	if (isfinite(cost_usd_per_gb(&next.after)))
		say(text, room, at, ", with which all come to %.6g USD per GB", cost_usd_per_gb(&next.after));
}

void
policy_say(const struct pool *pool, enum policy policy, const struct policy_options *options,
    const struct workload *workload, double now_days, const struct policy_choice *choice, char text[POLICY_WORDS])
{
	size_t at = 0;

	if (choice->disk == TREE_NONE) {
		const char *between = " ";

		say(text, POLICY_WORDS, &at, "no disk takes %s:", workload->name);
		for (unsigned i = 0; i <= DISK_SLOW; i++)
			if (choice->refused[i] > 0) {
				say(text, POLICY_WORDS, &at, "%s%" PRIu32 " %s %s", between, choice->refused[i],
				    choice->refused[i] == 1 ? "is" : "are", refusals[i]);
				between = ", ";
			}
		if (pool->count == 0)
			say(text, POLICY_WORDS, &at, " there is none");
		return;
	}
	say(text, POLICY_WORDS, &at, "%s: disk %" PRIu32 " (%s) %s", workload->name, choice->disk,
	    pool->disks[choice->disk].model->name, choice->warm_up ? "has no workload yet" : aims[policy]);
	if (isfinite(cost_usd_per_gb(&choice->after)))
		say(text, POLICY_WORDS, &at, "; all come to %.6g USD per GB", cost_usd_per_gb(&choice->after));
	if (isfinite(cost_usd_per_gb(&choice->before)))
		say(text, POLICY_WORDS, &at, ", %.6g before", cost_usd_per_gb(&choice->before));
	say_next(pool, policy, options, workload, now_days, choice, text, POLICY_WORDS, &at);
}
