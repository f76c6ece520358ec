#include "trial/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/rng.h"

enum { HUNDRED = 100, MANY = 1000, MILLION = 1000000, SECOND_US = 1000000, FAR_US = 100000, MINUTE_MS = 60000 };

const struct knob_row knob_rows[KNOBS] = {
	/*                         name                 unit     least  most       calm   or_zero */
	[KNOB_TARGETS] =         { "targets",           "",      1,     8,         1,     false,
	    "processes that serve one subsystem each" },
	[KNOB_TARGET_REACTORS] = { "target-reactors",   "",      1,     16,        1,     false,
	    "threads of each target" },
	[KNOB_LISTENERS] =       { "listeners",         "",      1,     8,         1,     false,
	    "addresses of each target; a host has a path by each" },
	[KNOB_VOLUMES] =         { "volumes",           "",      1,     8,         1,     false,
	    "namespaces of each target" },
	[KNOB_HOSTS] =           { "hosts",             "",      1,     64,        1,     false,
	    "processes, each of which uses all targets" },
	[KNOB_HOST_REACTORS] =   { "host-reactors",     "",      1,     16,        1,     false,
	    "threads of each host" },
	[KNOB_LANES] =           { "lanes",             "",      1,     16,        1,     false,
	    "queues of each host to each target" },

	[KNOB_DEPTH] =           { "depth",             "",      1,     256,       1,     false,
	    "I/Os that a host has in flight on each lane" },
	[KNOB_BLOCKS] =          { "blocks",            "",      1,     65536,     64,    false,
	    "blocks of each volume that are used, of 4 KiB: where they are few, hosts conflict" },
	[KNOB_IO_BLOCKS] =       { "io-blocks",         "",      1,     256,       1,     false,
	    "blocks of one I/O, at most" },
	[KNOB_PAUSE_US] =        { "pause",             "us",    0,     SECOND_US, 0,     false,
	    "between an I/O and the next that takes its place, at most" },
	[KNOB_READ] =            { "read",              "",      0,     HUNDRED,   0,     false,
	    "the share of Read, beside the other shares; where all are 0, all is Read" },
	[KNOB_WRITE] =           { "write",             "",      0,     HUNDRED,   0,     false,
	    "the share of Write" },
	[KNOB_WRITE_FUA] =       { "write-fua",         "",      0,     HUNDRED,   0,     false,
	    "the share of Write that is durable when it is answered" },
	[KNOB_FLUSH] =           { "flush",             "",      0,     HUNDRED,   0,     false,
	    "the share of Flush" },
	[KNOB_ZEROES] =          { "zeroes",            "",      0,     HUNDRED,   0,     false,
	    "the share of Write Zeroes" },
	[KNOB_DEALLOCATE] =      { "deallocate",        "",      0,     HUNDRED,   0,     false,
	    "the share of Dataset Management that deallocates" },
	[KNOB_COPY] =            { "copy",              "",      0,     HUNDRED,   0,     false,
	    "the share of Copy" },
	[KNOB_VERIFY] =          { "verify",            "",      0,     HUNDRED,   0,     false,
	    "the share of Verify" },
	[KNOB_COMPARE] =         { "compare",           "",      0,     HUNDRED,   0,     false,
	    "the share of Compare" },
	[KNOB_COMPARE_AND_WRITE] = { "compare-and-write", "",    0,     HUNDRED,   0,     false,
	    "the share of Compare and Write" },
	[KNOB_UNCORRECTABLE] =   { "uncorrectable",     "",      0,     HUNDRED,   0,     false,
	    "the share of Write Uncorrectable" },

	[KNOB_HEADER_DIGEST] =   { "header-digest",     "%",     0,     HUNDRED,   0,     false,
	    "of the hosts: they use header digests" },
	[KNOB_DATA_DIGEST] =     { "data-digest",       "%",     0,     HUNDRED,   0,     false,
	    "of the hosts: they use data digests" },
	[KNOB_SQ_FLOW] =         { "sq-flow",           "%",     0,     HUNDRED,   0,     false,
	    "of the hosts: they use flow control of submission queues" },
	[KNOB_QUEUE_DEPTH_POLICY] = { "queue-depth-policy", "%", 0,     HUNDRED,   0,     false,
	    "of the hosts: they choose the path with the fewest I/Os in flight, not each in turn" },
	[KNOB_NO_EXTENSION] =    { "no-extension",      "%",     0,     HUNDRED,   0,     false,
	    "of the hosts: they use nothing of Weir's own extension" },
	[KNOB_KATO_MS] =         { "kato",              "ms",    20,    MINUTE_MS, 5000,  false,
	    "the keep-alive time of hosts" },
	[KNOB_IO_TIMEOUT_MS] =   { "io-timeout",        "ms",    10,    MINUTE_MS, 30000, false,
	    "how long a host waits for an answer before it gives up the path" },
	[KNOB_CLAIMS] =          { "claims",            "%",     0,     HUNDRED,   0,     false,
	    "of the hosts: they use reservations" },

	[KNOB_SMALL_BUFS] =      { "small-buffers",     "",      16,    1024,      256,   false,
	    "buffers of 8 KiB of each target reactor" },
	[KNOB_LARGE_BUFS] =      { "large-buffers",     "",      16,    1024,      128,   false,
	    "buffers of 64 KiB of each target reactor" },
	[KNOB_QUEUE_ENTRIES] =   { "queue-entries",     "",      2,     1024,      0,     true,
	    "the longest queue that targets offer; 0: as they like" },
	[KNOB_STALL_MS] =        { "stall",             "ms",    10,    MINUTE_MS, 0,     true,
	    "how long a target bears that a peer stops in the middle of something; 0: as it likes" },
	[KNOB_MEMORY_MIB] =      { "memory",            "MiB",   8,     4096,      0,     true,
	    "of each target reactor beside its buffers, at most; 0: no limit" },

	[KNOB_IN_RAM] =          { "in-ram",            "%",     0,     HUNDRED,   100,   false,
	    "of the volumes; the others lie in files" },
	[KNOB_DISK_US] =         { "disk",              "us",    0,     SECOND_US, 10,    false,
	    "what an operation on a file takes" },
	[KNOB_DISK_JITTER_US] =  { "disk-jitter",       "us",    0,     SECOND_US, 0,     false,
	    "by which it takes longer, at most" },
	[KNOB_WRITEBACK_PPM] =   { "writeback",         "ppm",   0,     MILLION,   0,     false,
	    "of written pages that become durable unasked" },

	[KNOB_LATENCY_US] =      { "latency",           "us",    0,     FAR_US, 5,     false,
	    "of the network, one way" },
	[KNOB_JITTER_US] =       { "jitter",            "us",    0,     FAR_US, 0,     false,
	    "by which it takes longer, at most" },
	[KNOB_MBIT] =            { "bandwidth",         "Mbit",  1,     1000000,   0,     true,
	    "of a second; 0: as much as you like" },
	[KNOB_SEGMENT] =         { "segment",           "bytes", 64,    1048576,   0,     true,
	    "bytes that arrive at once, at most; 0: whatever was sent at once" },
	[KNOB_SOCKET_MIN] =      { "socket-min",        "bytes", 256,   16777216,  65536, false,
	    "bytes that are sent and not yet read, of the smallest socket" },
	[KNOB_SOCKET_MAX] =      { "socket-max",        "bytes", 256,   16777216,  65536, false,
	    "the same, of the largest one" },
	[KNOB_SHORT_PPM] =       { "short",             "ppm",   0,     500000,    0,     false,
	    "of reads and writes, which move less than they could" },
	[KNOB_SPURIOUS_PPM] =    { "spurious",          "ppm",   0,     500000,    0,     false,
	    "of turns, in which some stream is called without cause" },
	[KNOB_RESET_PPM] =       { "reset",             "ppm",   0,     100000,    0,     false,
	    "of writes, which break their connection" },

	[KNOB_MAIL_NS] =         { "mail",              "ns",    1,     MILLION,   200,   false,
	    "from one reactor to another" },
	[KNOB_MAIL_JITTER_NS] =  { "mail-jitter",       "ns",    0,     MILLION,   0,     false,
	    "by which it takes longer, at most" },
	[KNOB_TURN_NS] =         { "turn-time",         "ns",    1,     MILLION,   500,   false,
	    "that a turn of a reactor takes" },
	[KNOB_IO_NS] =           { "io-time",           "ns",    0,     MILLION,   1000,  false,
	    "that each read or write takes of it" },
	[KNOB_UNTIL_MS] =        { "until",             "ms",    1,     PLAN_SECONDS_MAX * 1000, 100, false,
	    "load and faults; then all is mended, and must come to rest" },

	[KNOB_FAIR] =            { "fair",              "%",     0,     HUNDRED,   0,     false,
	    "of the volumes: I/O waits for its turn there, and hosts have weights and limits" },
};

const struct knob_pair knob_pairs[KNOB_PAIRS] = {
	{ KNOB_IO_BLOCKS, KNOB_BLOCKS },
	{ KNOB_SOCKET_MIN, KNOB_SOCKET_MAX },
};

const struct fault_row fault_rows[FAULTS] = {
	[FAULT_TARGET_KILLED] =   { "target-killed",   true,
	    "the process of a target dies; its machine keeps what was written" },
	[FAULT_TARGET_POWER] =    { "target-power",    true,  "the machine of a target loses power" },
	[FAULT_HOST_KILLED] =     { "host-killed",     true,  "the process of a host dies" },
	[FAULT_HOST_LEAVES] =     { "host-leaves",     true,  "a host leaves in order" },
	[FAULT_ALL_LEAVE] =       { "all-leave",       true,  "all hosts are killed, and come back at once" },
	[FAULT_LISTENER_SILENT] = { "listener-silent", true,
	    "what goes by a listener is held back, and comes when it is over" },
	[FAULT_LISTENER_RESETS] = { "listener-resets", true,
	    "the connections by a listener are reset, and nobody answers there" },
	[FAULT_PARTED] =          { "parted",          true,  "silence between a host and a target" },
	[FAULT_TARGET_PAUSED] =   { "target-paused",   true,  "a reactor of a target does nothing" },
	[FAULT_HOST_PAUSED] =     { "host-paused",     true,  "a reactor of a host does nothing" },
	[FAULT_NETWORK_SLOW] =    { "network-slow",    true,
	    "all that goes to and from a target takes a hundred times" },
	[FAULT_DISK_FAILS] =      { "disk-fails",      true,
	    "operations on the file of a volume fail, some when they have had their effect" },
	[FAULT_DISK_STALLS] =     { "disk-stalls",     true,  "none of them ends" },
	[FAULT_DISK_SLOW] =       { "disk-slow",       true,  "they take a hundred times" },
	[FAULT_DISK_LIES] =       { "disk-lies",       false, "a block of the file changes by itself" },
	[FAULT_ANA] =             { "ana",             true,
	    "the access state of a target by a listener becomes another" },
	[FAULT_VOLUME_GONE] =     { "volume-gone",     true,  "a namespace is taken away" },
	[FAULT_VOLUME_GROWS] =    { "volume-grows",    false, "a namespace becomes larger" },
	[FAULT_HOST_BARRED] =     { "host-barred",     true,  "a host is not in a target's list of hosts" },
	[FAULT_LISTENER_GONE] =   { "listener-gone",   true,  "the operator takes a listener away" },
	[FAULT_NO_MEMORY] =       { "no-memory",       true,
	    "allocations of a reactor, of a target or a host, fail now and then" },
	[FAULT_NETWORK_FLIPS] =   { "network-flips",   true,
	    "bits of what goes to and from a host change, of headers and of data where it uses their digests" },
};

/* ---- drawing ---- */

/* What is drawn for has a number, which stays: knobs, kinds of faults, and knobs that came later. */
enum { THING_FAULTS = KNOB_UNTIL_MS + 1, THING_LATER = 1000 };

static uint64_t
thing_of(enum knob knob)
{
	return knob <= KNOB_UNTIL_MS ? (uint64_t)knob : THING_LATER + (uint64_t)knob;
}

/* Numbers for one thing alone, so that what is drawn for it does not depend on what else there is. */
static struct rng
rng_for(uint64_t seed, uint64_t thing)
{
	struct rng rng;

	rng_seed(&rng, seed);
	rng_seed(&rng, rng_next(&rng) ^ (thing + 1) * 0xff51afd7ed558ccdULL);
	return rng;
}

static uint64_t
draw_evenly(struct rng *rng, struct span span)
{
	return span.from + rng_below(rng, span.to - span.from + 1);
}

static unsigned
bits_of(uint64_t value)
{
	unsigned bits = 0;

	for (; value > 0; value >>= 1)
		bits++;
	return bits;
}

/* Each power of two in the span as likely as the next. */
static uint64_t
draw_by_size(struct rng *rng, struct span span)
{
	unsigned bits = bits_of(span.from) + (unsigned)rng_below(rng, bits_of(span.to) - bits_of(span.from) + 1);
	struct span part = { bits > 0 ? UINT64_C(1) << (bits - 1) : 0, (UINT64_C(1) << bits) - 1 };

	if (part.from < span.from)
		part.from = span.from;
	if (part.to > span.to)
		part.to = span.to;
	return draw_evenly(rng, part);
}

/* An end of the span now and then, and in between by size, where it is wide, as often as evenly. */
static uint64_t
draw(struct rng *rng, struct span span)
{
	bool wide = span.to / HUNDRED >= (span.from > 0 ? span.from : 1);

	switch (rng_below(rng, 8)) {
	case 0:
		return span.from;
	case 1:
		return span.to;
	case 2:
	case 3:
	case 4:
		if (wide)
			return draw_by_size(rng, span);
	}
	return draw_evenly(rng, span);
}

static bool
is_share(enum knob knob)
{
	return knob >= KNOB_READ && knob <= KNOB_UNCORRECTABLE;
}

static void
knobs_draw(const struct scenario *scenario, struct plan *plan)
{
	for (enum knob knob = 0; knob < KNOBS; knob++) {
		struct rng rng = rng_for(plan->seed, thing_of(knob));
		bool left_out = scenario->swarm && is_share(knob) && rng_below(&rng, 4) == 0;
		uint64_t value = draw(&rng, scenario->knobs[knob]);

		plan->knobs[knob] = left_out || value < knob_rows[knob].least ? 0 : value;
	}
	for (unsigned i = 0; i < KNOB_PAIRS; i++) {
		uint64_t *smaller = &plan->knobs[knob_pairs[i].smaller], *larger = &plan->knobs[knob_pairs[i].larger];
		uint64_t most = scenario->knobs[knob_pairs[i].larger].to;

		if (*smaller > most)
			*smaller = most;
		if (*larger < *smaller)
			*larger = *smaller;
	}
}

/* Faults of one kind, one after another. */
struct faults_to_come {
	struct rng rng;
	const struct fault_rate *rate;
	uint64_t at_ns; /* the next; UINT64_MAX: none */
};

static void
faults_step(struct faults_to_come *f)
{
	f->at_ns += draw(&f->rng, f->rate->every_us) * 1000 + rng_below(&f->rng, 1000);
}

static void
faults_begin(struct faults_to_come *f, const struct scenario *scenario, uint64_t seed, enum fault_kind kind)
{
	f->rng = rng_for(seed, THING_FAULTS + (uint64_t)kind);
	f->rate = &scenario->rates[kind];
	f->at_ns = UINT64_MAX;
	if (f->rate->every_us.from == 0 || (scenario->swarm && rng_below(&f->rng, 2) == 0))
		return;
	f->at_ns = 0;
	faults_step(f);
}

/* Parts to choose from: of some a process has a few, each in a few ways; but many are the blocks of volumes. */
static uint64_t
parts(enum fault_kind kind)
{
	return kind == FAULT_DISK_LIES ? knob_rows[KNOB_VOLUMES].most * knob_rows[KNOB_BLOCKS].most : MANY;
}

static struct fault
fault_draw(struct faults_to_come *f, enum fault_kind kind)
{
	uint64_t for_ns = fault_rows[kind].lasts ? draw(&f->rng, f->rate->for_us) * 1000 : 0;
	uint32_t whom = (uint32_t)rng_below(&f->rng, MANY), what = (uint32_t)rng_below(&f->rng, parts(kind));

	return (struct fault){ .at_ns = f->at_ns, .for_ns = for_ns, .kind = kind, .whom = whom, .what = what };
}

/* Those that are listed and those of each kind, by time; at one instant the listed ones first. */
static void
faults_draw(const struct scenario *scenario, struct plan *plan)
{
	uint64_t until_ns = plan->knobs[KNOB_UNTIL_MS] * MILLION;
	struct faults_to_come kinds[FAULTS];
	uint32_t listed = 0;

	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		faults_begin(&kinds[kind], scenario, plan->seed, kind);
	for (;;) {
		uint64_t at_ns = listed < scenario->fault_count ? scenario->faults[listed].at_ns : UINT64_MAX;
		enum fault_kind next = FAULTS;

		for (enum fault_kind kind = 0; kind < FAULTS; kind++)
			if (kinds[kind].at_ns < at_ns) {
				at_ns = kinds[kind].at_ns;
				next = kind;
			}
		if (at_ns >= until_ns)
			return;
		assert(plan->fault_count < PLAN_FAULTS_MAX);
		if (next == FAULTS) {
			plan->faults[plan->fault_count++] = scenario->faults[listed++];
		} else {
			plan->faults[plan->fault_count++] = fault_draw(&kinds[next], next);
			faults_step(&kinds[next]);
		}
	}
}

uint64_t
scenario_faults_most(const struct scenario *scenario)
{
	uint64_t most = scenario->fault_count, until_us = scenario->knobs[KNOB_UNTIL_MS].to * 1000;

	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		if (scenario->rates[kind].every_us.from > 0)
			most += until_us / scenario->rates[kind].every_us.from;
	return most;
}

void
plan_draw(const struct scenario *scenario, uint64_t seed, struct plan *plan)
{
	assert(scenario_faults_most(scenario) <= PLAN_FAULTS_MAX);
	memset(plan, 0, sizeof(*plan));
	memcpy(plan->scenario, scenario->name, sizeof(plan->scenario));
	plan->seed = seed;
	knobs_draw(scenario, plan);
	faults_draw(scenario, plan);
	assert(plan_is_valid(plan));
}

/* ---- one that was drawn ---- */

static bool
fault_is_valid(const struct fault *fault, uint64_t until_ns)
{
	return (unsigned)fault->kind < FAULTS && fault->at_ns < until_ns &&
	    fault_rows[fault->kind].lasts == (fault->for_ns > 0);
}

bool
plan_is_valid(const struct plan *plan)
{
	uint64_t until_ns = plan->knobs[KNOB_UNTIL_MS] * MILLION;

	for (enum knob knob = 0; knob < KNOBS; knob++) {
		const struct knob_row *row = &knob_rows[knob];
		uint64_t value = plan->knobs[knob];

		if (value > row->most || (value < row->least && (!row->or_zero || value > 0)))
			return false;
	}
	for (unsigned i = 0; i < KNOB_PAIRS; i++)
		if (plan->knobs[knob_pairs[i].smaller] > plan->knobs[knob_pairs[i].larger])
			return false;
	if (plan->fault_count > PLAN_FAULTS_MAX)
		return false;
	for (uint32_t i = 0; i < plan->fault_count; i++)
		if (!fault_is_valid(&plan->faults[i], until_ns) ||
		    (i > 0 && plan->faults[i - 1].at_ns > plan->faults[i].at_ns))
			return false;
	return true;
}

/* ---- printing ---- */

static void
knobs_print(const struct plan *plan, bool calm, FILE *out)
{
	for (enum knob knob = 0; knob < KNOBS; knob++) {
		const struct knob_row *row = &knob_rows[knob];

		if ((plan->knobs[knob] == row->calm) == calm)
			fprintf(out, "  %s: %" PRIu64 "%s%s\n", row->name, plan->knobs[knob],
			    row->unit[0] == '\0' ? "" : " ", row->unit);
	}
}

/* In ms, with as many decimals as it takes. */
static void
time_print(uint64_t ns, FILE *out)
{
	uint64_t rest = ns % MILLION, worth = MILLION / 10;

	fprintf(out, "%" PRIu64, ns / MILLION);
	if (rest > 0)
		fputc('.', out);
	for (; rest > 0; rest %= worth, worth /= 10)
		fputc((int)('0' + rest / worth), out);
	fputs(" ms", out);
}

static void
fault_print(const struct fault *fault, FILE *out)
{
	fputs("  - { at: ", out);
	time_print(fault->at_ns, out);
	fprintf(out, ", what: %s", fault_rows[fault->kind].name);
	if (fault_rows[fault->kind].lasts) {
		fputs(", for: ", out);
		time_print(fault->for_ns, out);
	}
	fprintf(out, ", whom: %" PRIu32 ", part: %" PRIu32 " }\n", fault->whom, fault->what);
}

void
plan_print(const struct plan *plan, FILE *out)
{
	fprintf(out, "# With seed %" PRIu64 ".\n", plan->seed);
	if (plan->scenario[0] != '\0')
		fprintf(out, "name: %s\n", plan->scenario);
	fprintf(out, "says: what seed %" PRIu64 " makes of it\nswarm: no\nknobs:\n", plan->seed);
	knobs_print(plan, false, out);
	fputs("  # as calm as can be:\n", out);
	knobs_print(plan, true, out);
	if (plan->fault_count > 0)
		fputs("faults:\n", out);
	for (uint32_t i = 0; i < plan->fault_count; i++)
		fault_print(&plan->faults[i], out);
}
