/*
 * sim_outcome.c - how a trial ended, and what was tried, for people and for programs.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "host/lane.h"
#include "sim.h"

enum outcome_end
outcome_end_of(const struct trial_result *result)
{
	switch (result->end) {
	case TRIAL_RIGHT: return OUTCOME_RIGHT;
	case TRIAL_WRONG: return OUTCOME_WRONG;
	case TRIAL_LIMIT: return OUTCOME_LIMIT;
	}
	return OUTCOME_WRONG;
}

const char *
outcome_text(enum outcome_end end)
{
	switch (end) {
	case OUTCOME_RIGHT: return "right";
	case OUTCOME_WRONG: return "wrong";
	case OUTCOME_LIMIT: return "endless";
	case OUTCOME_DIED: return "dead";
	case OUTCOME_LATE: return "late";
	}
	return "";
}

bool
outcome_alike(const struct outcome *a, const struct outcome *b)
{
	return a->end == b->end && strcmp(a->result.oracle, b->result.oracle) == 0;
}

void
outcome_report(struct report *report, const struct outcome *outcome)
{
	report_text(report, "outcome", NULL, outcome_text(outcome->end));
	if (outcome->end == OUTCOME_RIGHT)
		return;
	report_text(report, "oracle", outcome->result.oracle[0] != '\0' ? "by" : NULL, outcome->result.oracle);
	report_text(report, "why", "why", outcome->result.why);
}

void
outcome_report_time(struct report *report, uint64_t ns)
{
	char text[64];

	if (ns < 3600 * UINT64_C(1000000000))
		snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64 " s", ns / 1000000000, ns / 1000000 % 1000);
	else
		snprintf(text, sizeof(text), "%" PRIu64 ".%02" PRIu64 " h", ns / 3600000000000, ns / 36000000000 % 100);
	report_text(report, NULL, "virtual time", text);
	report_number(report, "virtual_ns", NULL, ns, "");
}

/* ---- what was tried ---- */

static_assert((int)LANE_OPS <= (int)(sizeof(((struct trial_counts *)0)->by_op) / sizeof(uint64_t)), "all are counted");

/* As the knobs of the load are called; a write with FUA is a write. */
static const char *const ops[LANE_OPS] = {
	[LANE_READ] = "read", [LANE_WRITE] = "write", [LANE_FLUSH] = "flush", [LANE_WRITE_ZEROES] = "zeroes",
	[LANE_DEALLOCATE] = "deallocate", [LANE_COMPARE] = "compare", [LANE_COMPARE_AND_WRITE] = "compare-and-write",
	[LANE_VERIFY] = "verify", [LANE_COPY] = "copy", [LANE_WRITE_UNCORRECTABLE] = "uncorrectable",
};

/* People are not told of what there was none of. */
static void
count(struct report *report, const char *name, uint64_t value)
{
	report_number(report, name, value > 0 ? name : NULL, value, "");
}

static bool
is_any(const uint64_t *values, unsigned count)
{
	while (count > 0)
		if (values[--count] > 0)
			return true;
	return false;
}

void
counts_report(struct report *report, const struct trial_counts *counts)
{
	report_open(report, "tried", "Tried");
	report_number(report, "ios", "I/Os", counts->ios, "");
	count(report, "failed", counts->failed);
	count(report, "resent", counts->resent);
	count(report, "unknown", counts->unknown);
	report_number(report, "checked", "blocks judged", counts->checked, "");
	report_number(report, "track_lost", counts->track_lost > 0 ? "lost track of a block" : NULL,
	    counts->track_lost, "");
	count(report, "connects", counts->connects);
	count(report, "losses", counts->losses);
	report_number(report, "given_up", counts->given_up > 0 ? "given up" : NULL, counts->given_up, "");
	count(report, "claims", counts->claims);
	count(report, "conflicts", counts->conflicts);
	report_number(report, "over_end", counts->over_end > 0 ? "over the end" : NULL, counts->over_end, "");
	report_number(report, "grown", counts->grown > 0 ? "where it has grown" : NULL, counts->grown, "");
	report_open(report, "ops", is_any(counts->by_op, LANE_OPS) ? "Kinds of I/O" : NULL);
	for (unsigned op = 0; op < LANE_OPS; op++)
		count(report, ops[op], counts->by_op[op]);
	report_close(report);
	report_open(report, "faults", is_any(counts->faults, FAULTS) ? "Faults" : NULL);
	for (unsigned kind = 0; kind < FAULTS; kind++)
		count(report, fault_rows[kind].name, counts->faults[kind]);
	report_close(report);
	report_close(report);
}

void
counts_add(struct trial_counts *counts, const struct trial_counts *more)
{
	counts->ios += more->ios;
	for (unsigned op = 0; op < LANE_OPS; op++)
		counts->by_op[op] += more->by_op[op];
	counts->failed += more->failed;
	counts->resent += more->resent;
	counts->unknown += more->unknown;
	counts->checked += more->checked;
	counts->track_lost += more->track_lost;
	for (unsigned kind = 0; kind < FAULTS; kind++)
		counts->faults[kind] += more->faults[kind];
	counts->connects += more->connects;
	counts->losses += more->losses;
	counts->given_up += more->given_up;
	counts->claims += more->claims;
	counts->conflicts += more->conflicts;
	counts->over_end += more->over_end;
	counts->grown += more->grown;
}
