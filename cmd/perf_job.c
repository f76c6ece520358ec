#include "perf_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

#include "base/size.h"
#include "cmd.h"

enum kind { NUMBER32, NUMBER64, SIZE, FLAG, PATTERN, RATE };

static const struct {
	const char *name;
	enum kind kind;
	size_t at;               /* in struct perf_job */
	uint64_t min, max;       /* of numbers */
} keys[] = {
	{ "rw", PATTERN, 0, 0, 0 },
	{ "mix", NUMBER32, offsetof(struct perf_job, mix), 0, 100 },
	{ "bs", SIZE, offsetof(struct perf_job, bs), 0, 0 },
	{ "qd", NUMBER32, offsetof(struct perf_job, qd), 1, PERF_QD_MAX },
	{ "queues", NUMBER32, offsetof(struct perf_job, queues), 1, PERF_QUEUES_MAX },
	{ "threads", NUMBER32, offsetof(struct perf_job, threads), 1, PERF_QUEUES_MAX },
	{ "time", NUMBER64, offsetof(struct perf_job, seconds), 1, 86400 },
	{ "ios", NUMBER64, offsetof(struct perf_job, ios), 1, UINT64_MAX },
	{ "size", SIZE, offsetof(struct perf_job, size), 0, 0 },
	{ "rate", RATE, 0, 0, 0 },
	{ "verify", FLAG, offsetof(struct perf_job, verify), 0, 0 },
	{ "seed", NUMBER64, offsetof(struct perf_job, seed), 0, UINT64_MAX },
	{ "priority", NUMBER32, offsetof(struct perf_job, priority), 0, 3 },
	{ "ordered", FLAG, offsetof(struct perf_job, ordered), 0, 0 },
	{ "group", NUMBER32, offsetof(struct perf_job, group), 1, PERF_QD_MAX },
	{ "flush-every", NUMBER32, offsetof(struct perf_job, flush_every), 0, UINT32_MAX },
	{ "streams", NUMBER32, offsetof(struct perf_job, streams), 1, PERF_QUEUES_MAX },
	{ "hdgst", FLAG, offsetof(struct perf_job, hdgst), 0, 0 },
	{ "ddgst", FLAG, offsetof(struct perf_job, ddgst), 0, 0 },
	{ "flow-control", FLAG, offsetof(struct perf_job, sq_flow), 0, 0 },
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

const char *const perf_job_keys[KEYS + 1] = {
	"rw", "mix", "bs", "qd", "queues", "threads", "time", "ios", "size", "rate", "verify", "seed", "priority",
	"ordered", "group", "flush-every", "streams", "hdgst", "ddgst", "flow-control", NULL,
};

void
perf_job_init(struct perf_job *job)
{
	*job = (struct perf_job){
		.name = "", .rw = "randread", .random = true, .fixed_mix = 100, .mix = 70, .bs = 4096, .qd = 32,
		.queues = 1, .threads = 1, .seconds = 10, .seed = 1, .group = 1, .streams = 1,
	};
}

static bool
set_pattern(struct perf_job *job, const char *text, char why[PERF_WHY])
{
	static const struct { const char *name; bool random; int read_percent; } kinds[] = {
		{ "read", false, 100 }, { "write", false, 0 }, { "randread", true, 100 },
		{ "randwrite", true, 0 }, { "randrw", true, -1 },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(text, kinds[i].name) != 0)
			continue;
		job->rw = kinds[i].name;
		job->random = kinds[i].random;
		job->fixed_mix = kinds[i].read_percent;
		return true;
	}
	snprintf(why, PERF_WHY, "not read, write, randread, randwrite or randrw");
	return false;
}

/* IOPS, or IOPS,SIZE: operations and bytes per second; 0 of either: no limit. */
static bool
set_rate(struct perf_job *job, const char *text, char why[PERF_WHY])
{
	const char *comma = strchr(text, ',');
	char iops[24];
	uint64_t number = 0, bytes = 0;

	snprintf(iops, sizeof(iops), "%.*s", comma != NULL ? (int)(comma - text) : (int)strlen(text), text);
	if (!option_number(iops, 0, 1000000000, &number) || (comma != NULL && !size_parse(comma + 1, &bytes)) ||
	    (number == 0 && bytes == 0)) {
		snprintf(why, PERF_WHY, "not operations per second, and bytes behind a comma, like 1000 or 0,100M");
		return false;
	}
	job->rate_iops = number;
	job->rate_bytes = bytes;
	return true;
}

static bool
set_flag(bool *flag, const char *text, char why[PERF_WHY])
{
	bool yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;

	if (!yes && strcmp(text, "no") != 0 && strcmp(text, "false") != 0) {
		snprintf(why, PERF_WHY, "not yes, no, true or false");
		return false;
	}
	*flag = yes;
	return true;
}

static bool
set_number(void *value, enum kind kind, const char *text, uint64_t min, uint64_t max, char why[PERF_WHY])
{
	uint64_t number = 0;

	if (!option_number(text, min, max, &number)) {
		snprintf(why, PERF_WHY, "not a number from %" PRIu64 " to %" PRIu64, min, max);
		return false;
	}
	if (kind == NUMBER32)
		*(uint32_t *)value = (uint32_t)number;
	else
		*(uint64_t *)value = number;
	return true;
}

static bool
set_size(uint64_t *value, const char *text, char why[PERF_WHY])
{
	uint64_t bytes = 0;

	if (!size_parse(text, &bytes) || bytes == 0) {
		snprintf(why, PERF_WHY, "not a size like 4k or 1G");
		return false;
	}
	*value = bytes;
	return true;
}

bool
perf_job_set(struct perf_job *job, const char *key, const char *text, char why[PERF_WHY])
{
	for (unsigned i = 0; i < KEYS; i++) {
		void *value = (uint8_t *)job + keys[i].at;

		if (strcmp(key, keys[i].name) != 0)
			continue;
		switch (keys[i].kind) {
		case NUMBER32:
		case NUMBER64: return set_number(value, keys[i].kind, text, keys[i].min, keys[i].max, why);
		case SIZE: return set_size(value, text, why);
		case FLAG: return set_flag(value, text, why);
		case PATTERN: return set_pattern(job, text, why);
		case RATE: return set_rate(job, text, why);
		}
	}
	snprintf(why, PERF_WHY, "there is no such key");
	return false;
}

bool
perf_job_add_uri(struct perf_job *job, const char *text, char why[PERF_WHY])
{
	struct weir_uri uri;

	if (job->uri_count == PERF_URIS_MAX) {
		snprintf(why, PERF_WHY, "more than %d URIs", PERF_URIS_MAX);
		return false;
	}
	if (weir_uri_parse(text, &uri) < 0) {
		snprintf(why, PERF_WHY, "%s", weir_error());
		return false;
	}
	if (uri.subnqn[0] == '\0') {
		snprintf(why, PERF_WHY, "it names no subsystem; nvme+tcp://HOST:PORT/SUBNQN?ns=1 does");
		return false;
	}
	job->uris[job->uri_count++] = text;
	return true;
}

static bool
check_ordered(const struct perf_job *job, char why[PERF_WHY])
{
	if (!job->ordered) {
		const char *key = job->group != 1 ? "group" : job->flush_every != 0 ? "flush-every" :
		    job->streams != 1 ? "streams" : NULL;

		if (key != NULL)
			snprintf(why, PERF_WHY, "%s says something of ordered writes, and this has no `ordered`", key);
		return key == NULL;
	}
	if (perf_job_reads(job) > 0)
		snprintf(why, PERF_WHY, "ordered: only writes have an order: with rw write or randwrite");
	else if (job->verify)
		snprintf(why, PERF_WHY, "verify reads, and only writes have an order");
	else if (job->queues > 1)
		snprintf(why, PERF_WHY, "queues: each stream of ordered writes has its own, and how many is said by "
		    "`streams`");
	else if (job->group > job->qd)
		snprintf(why, PERF_WHY, "group: one of %" PRIu32 " never ends where qd, what may be in flight, is %"
		    PRIu32, job->group, job->qd);
	else
		return true;
	return false;
}

bool
perf_job_check(struct perf_job *job, char why[PERF_WHY])
{
	uint32_t lines = perf_job_lines(job) * job->uri_count;

	if (!check_ordered(job, why))
		return false;
	if (job->verify && perf_job_reads(job) == 100) {
		snprintf(why, PERF_WHY, "verify checks what is written, and this would only read");
		return false;
	}
	for (unsigned i = 0; job->verify && i < job->uri_count; i++)
		for (unsigned j = 0; j < i; j++)
			if (strcmp(job->uris[i], job->uris[j]) == 0) {
				snprintf(why, PERF_WHY, "verify: the same URI twice would overwrite what it wrote");
				return false;
			}
	if (job->threads > lines)
		job->threads = lines;
	return true;
}
