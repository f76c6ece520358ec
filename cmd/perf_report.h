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

#endif
