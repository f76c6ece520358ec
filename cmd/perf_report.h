/*
 * perf_report.h - what was measured, as JSON or as a table.
 */
#ifndef WEIR_CMD_PERF_REPORT_H
#define WEIR_CMD_PERF_REPORT_H

#include "perf_job.h"
#include "perf_run.h"

void perf_report_json(const struct perf_plan *plan, const struct perf_outcome *outcomes,
    const struct perf_result *total);
void perf_report_table(const struct perf_plan *plan, const struct perf_outcome *outcomes,
    const struct perf_result *total);

/* One line of --interval. */
void perf_report_interval(bool json, double seconds, const struct perf_result *since);

/* Parts of these, for others that measure reads and writes: the object of a side; the table's heading, and the rows of
 * those sides that have something. */
struct json_object;
struct json_object *perf_report_side(const struct perf_side *side, double seconds);
void perf_report_heads(void);
void perf_report_rows(const struct perf_result *result);

#endif
