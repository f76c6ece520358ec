#include "perf_report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

static const struct { const char *name; uint32_t ppm; } quantiles[] = {
	{ "p50", 500000 }, { "p90", 900000 }, { "p99", 990000 }, { "p99.9", 999000 }, { "p99.99", 999900 },
};

enum { QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]) };

static struct perf_result
sum(const struct perf_job *job, const struct perf_outcome *outcome)
{
	struct perf_result all;

	perf_result_init(&all);
	for (unsigned i = 0; i < job->uri_count; i++)
		perf_result_add(&all, &outcome->uris[i]);
	return all;
}

/* ---- JSON ---- */

/* Microseconds with two digits behind the point: what the histogram can tell. */
static struct json_object *
microseconds(uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", (double)ns / 1e3);
	return json_object_new_double_s((double)ns / 1e3, text);
}

struct json_object *
perf_report_side(const struct perf_side *side, double seconds)
{
	struct json_object *object = json_object_new_object(), *latency = json_object_new_object();

	json_object_object_add(object, "ios", json_object_new_uint64(side->hist.count));
	json_object_object_add(object, "iops", json_object_new_double((double)side->hist.count / seconds));
	json_object_object_add(object, "mb_s", json_object_new_double((double)side->bytes / seconds / 1e6));
	json_object_object_add(latency, "mean",
	    microseconds(side->hist.count > 0 ? side->hist.sum / side->hist.count : 0));
	for (size_t i = 0; i < QUANTILES; i++)
		json_object_object_add(latency, quantiles[i].name,
		    microseconds(hist_quantile(&side->hist, quantiles[i].ppm)));
	json_object_object_add(latency, "max", microseconds(side->hist.max));
	json_object_object_add(object, "latency_us", latency);
	return object;
}

static struct json_object *
json_ordered(const struct perf_result *result, double seconds)
{
	struct json_object *object;

	if (result->streams == 0)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "streams", json_object_new_uint64(result->streams));
	json_object_object_add(object, "groups", json_object_new_uint64(result->groups));
	json_object_object_add(object, "commands", json_object_new_uint64(result->commands));
	json_object_object_add(object, "durable",
	    result->durables ? perf_report_side(&result->durable, seconds) : NULL);
	return object;
}

static struct json_object *
json_result(const struct perf_result *result)
{
	double seconds = perf_result_seconds(result);
	struct json_object *object = json_object_new_object(), *verify = json_object_new_object();

	json_object_object_add(object, "seconds", json_object_new_double(seconds));
	json_object_object_add(object, "read", perf_report_side(&result->read, seconds));
	json_object_object_add(object, "write", perf_report_side(&result->write, seconds));
	json_object_object_add(object, "ordered", json_ordered(result, seconds));
	json_object_object_add(object, "errors", json_object_new_uint64(result->errors));
	json_object_object_add(object, "first_error",
	    result->errors > 0 ? json_object_new_string(result->first_error) : NULL);
	json_object_object_add(object, "stopped", json_object_new_boolean(result->stopped));
	json_object_object_add(object, "unanswered", json_object_new_uint64(result->unanswered));
	json_object_object_add(object, "resent", json_object_new_uint64(result->resent));
	json_object_object_add(object, "paths_lost", json_object_new_uint64(result->losses));
	json_object_object_add(object, "longest_pause_us", microseconds(result->pause_ns));
	json_object_object_add(verify, "enabled", json_object_new_boolean(result->verify));
	json_object_object_add(verify, "checked", json_object_new_uint64(result->checked));
	json_object_object_add(verify, "wrong", json_object_new_uint64(result->wrong));
	json_object_object_add(object, "verify", verify);
	return object;
}

static void
json_costs(struct json_object *object, const struct perf_result *result)
{
	json_object_object_add(object, "syscalls", json_object_new_uint64(result->syscalls));
	json_object_object_add(object, "busy_turns", json_object_new_uint64(result->busy_turns));
	json_object_object_add(object, "busy_ns", json_object_new_uint64(result->busy_ns));
	json_object_object_add(object, "waited_ns", json_object_new_uint64(result->waited_ns));
}

static struct json_object *
json_job(const struct perf_job *job, const struct perf_outcome *outcome)
{
	struct perf_result all = sum(job, outcome);
	struct json_object *object = json_result(&all), *uris = json_object_new_array();

	json_costs(object, &all);
	json_object_object_add(object, "name", json_object_new_string(job->name));
	json_object_object_add(object, "ran", json_object_new_boolean(outcome->ran));
	for (unsigned i = 0; i < job->uri_count; i++) {
		struct json_object *uri = json_result(&outcome->uris[i]);

		json_object_object_add(uri, "uri", json_object_new_string(job->uris[i]));
		json_object_array_add(uris, uri);
	}
	json_object_object_add(object, "uris", uris);
	return object;
}

void
perf_report_json(const struct perf_plan *plan, const struct perf_outcome *outcomes, const struct perf_result *total)
{
	struct json_object *object = json_result(total), *jobs = json_object_new_array();

	json_costs(object, total);
	for (unsigned i = 0; i < plan->job_count; i++)
		json_object_array_add(jobs, json_job(&plan->jobs[i], &outcomes[i]));
	json_object_object_add(object, "jobs", jobs);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

/* ---- for people ---- */

static void
table_row(const char *name, const struct perf_side *side, double seconds)
{
	if (side->hist.count == 0)
		return;
	printf("%-7s %10.0f %9.1f", name, (double)side->hist.count / seconds, (double)side->bytes / seconds / 1e6);
	for (size_t i = 0; i < QUANTILES; i++)
		printf(" %9.1f", (double)hist_quantile(&side->hist, quantiles[i].ppm) / 1e3);
	printf(" %9.1f\n", (double)side->hist.max / 1e3);
}

void
perf_report_rows(const struct perf_result *result)
{
	double seconds = perf_result_seconds(result);

	table_row("read", &result->read, seconds);
	table_row("write", &result->write, seconds);
	if (result->durables)
		table_row("durable", &result->durable, seconds);
}

void
perf_report_heads(void)
{
	printf("\n%-7s %10s %9s", "", "IOPS", "MB/s");
	for (size_t i = 0; i < QUANTILES; i++)
		printf(" %9s", quantiles[i].name);
	printf(" %9s  (latency in us)\n", "max");
}

static void
table_job(const struct perf_job *job, const struct perf_outcome *outcome)
{
	for (unsigned i = 0; i < job->uri_count; i++) {
		printf("%s%s%s%s\n", job->name, job->name[0] != '\0' ? ": " : "", job->uris[i],
		    outcome->ran ? "" : ": did not run");
		perf_report_rows(&outcome->uris[i]);
	}
	if (job->uri_count > 1 && job->name[0] != '\0') {
		struct perf_result all = sum(job, outcome);

		printf("%s, all\n", job->name);
		perf_report_rows(&all);
	}
}

void
perf_report_table(const struct perf_plan *plan, const struct perf_outcome *outcomes, const struct perf_result *total)
{
	bool several = plan->job_count > 1 || plan->jobs[0].uri_count > 1;

	perf_report_heads();
	for (unsigned i = 0; several && i < plan->job_count; i++)
		table_job(&plan->jobs[i], &outcomes[i]);
	if (several)
		puts("total");
	perf_report_rows(total);
	if (total->streams > 0)
		printf("\n%u streams: %" PRIu64 " writes in %" PRIu64 " groups, by %" PRIu64 " commands\n",
		    total->streams, total->write.hist.count, total->groups, total->commands);
	printf("\n%.1f s", perf_result_seconds(total));
	if (total->stopped)
		printf(", stopped");
	if (total->unanswered > 0)
		printf(", %" PRIu64 " I/Os had no answer", total->unanswered);
	if (total->errors > 0)
		printf(", %" PRIu64 " I/Os failed (the first: %s)", total->errors, total->first_error);
	if (total->losses > 0)
		printf(", paths were lost %" PRIu64 " times, %" PRIu64 " I/Os were sent again, the longest pause was "
		    "%.1f ms", total->losses, total->resent, (double)total->pause_ns / 1e6);
	if (!total->verify)
		printf(", not verified\n");
	else if (total->wrong == 0)
		printf(", verified: %" PRIu64 " blocks read back, all as written\n", total->checked);
	else
		printf(", VERIFICATION FAILED: %" PRIu64 " of %" PRIu64 " blocks read back were not as written "
		    "(the first: offset %" PRIu64 ")\n", total->wrong, total->checked, total->first_wrong);
}

/* ---- lines of --interval ---- */

void
perf_report_interval(bool json, double seconds, const struct perf_result *since)
{
	double took = perf_result_seconds(since);
	struct perf_side both = since->read;
	struct json_object *object;

	hist_merge(&both.hist, &since->write.hist);
	both.bytes += since->write.bytes;
	if (!json) {
		printf("%8.1f s %10.0f IOPS %9.1f MB/s   p99 %.1f us\n", seconds, (double)both.hist.count / took,
		    (double)both.bytes / took / 1e6, (double)hist_quantile(&both.hist, 990000) / 1e3);
		fflush(stdout);
		return;
	}
	object = json_object_new_object();
	json_object_object_add(object, "interval", json_object_new_double(seconds));
	json_object_object_add(object, "read", perf_report_side(&since->read, took));
	json_object_object_add(object, "write", perf_report_side(&since->write, took));
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	fflush(stdout);
	json_object_put(object);
}
