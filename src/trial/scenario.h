/*
 * scenario.h - scenarios that people write, as YAML, and those that are built in.
 *
 *     name: two-paths       # of one that has no other, as that of its file
 *     says: two paths, one of which is cut again and again
 *     swarm: no
 *     knobs:
 *       hosts: 1-4
 *       listeners: 2
 *       until: 2 s
 *     often:                # kinds of faults: how often, and how long each lasts
 *       listener-silent: { every: 50-100 ms, for: 1-400 ms }
 *     faults:               # that happen in any case
 *       - { at: 12.5 ms, what: target-killed, for: 30 ms, whom: 0, part: 0 }
 *
 * weir-scenario(5) has the rest.
 */
#ifndef WEIR_TRIAL_SCENARIO_H
#define WEIR_TRIAL_SCENARIO_H

#include "conf/conf.h"
#include "trial/plan.h"

/* 0: all of it lies in the arena; -EINVAL: `errors` says where and why; -ENOMEM.  What it found to read stays in the
 * arena in any case, as with conf_parse(). */
int scenario_read(struct arena *arena, const char *text, size_t bytes, struct conf_errors *errors,
    struct scenario **scenario) __attribute__((warn_unused_result));

/* Those that are built in (`scenarios/NAME.yaml`): their text, which does not say their name. */
struct scenario_text {
	const char *name, *text;
};
extern const struct scenario_text scenario_texts[];
extern const unsigned scenario_count;

#endif
