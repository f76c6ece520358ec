#include "qos_cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KIB = 1024, MIB = 1024 * 1024, IN_FLIGHT_LEAST = 8, IN_FLIGHT_MOST = 32 };

const struct qos_drive_row qos_drives[QOS_DRIVES] = {
	[QOS_DRIVE_TLC] = { "tlc-plp", "tlc-plp", "flash:tlc-plp,128G,state=sequential,data=no", false },
	[QOS_DRIVE_TLC_FRAGMENTED] = { "tlc-plp, fragmented", "tlc-plp", "flash:tlc-plp,8G,state=fragmented,data=no",
		true },
	[QOS_DRIVE_OPTANE] = { "optane", "optane", "flash:optane,8G,data=no", false },
	[QOS_DRIVE_QLC] = { "qlc", "qlc", "flash:qlc,512G,state=sequential,data=no", false },
	[QOS_DRIVE_QLC_FRAGMENTED] = { "qlc, fragmented", "qlc", "flash:qlc,64G,state=fragmented,data=no", true },
	[QOS_DRIVE_CONSUMER] = { "tlc-consumer", "tlc-consumer", "flash:tlc-consumer,128G,state=sequential,data=no",
		false },
	[QOS_DRIVE_CONSUMER_FRAGMENTED] = { "tlc-consumer, fragmented", "tlc-consumer",
		"flash:tlc-consumer,8G,state=fragmented,data=no", true },
};

struct lab_job *
qos_load_job(struct lab_setup *setup, const struct qos_load *load, unsigned index)
{
	struct lab_job *job = lab_setup_job(setup, load->name, LAB_READ, load->bytes, load->depth);

	snprintf(job->name, sizeof(job->name), "%.32s %u", load->name, index + 1);
	job->percent[LAB_READ] = load->read_percent;
	job->percent[LAB_WRITE] = 100 - load->read_percent;
	return job;
}

struct lab_device *
qos_drive_device(struct lab_setup *setup, enum qos_drive drive, uint32_t times_percent)
{
	struct lab_device *device = lab_setup_device(setup, "%s", qos_drives[drive].spec);

	device->times_percent = times_percent;
	return device;
}

bool
qos_drive_alone(struct lab *lab, enum qos_drive drive, uint32_t times_percent, const struct qos_load *load,
    uint64_t settle_ns, uint64_t measure_ns, struct qos_alone *alone)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct lab_outcome *outcome;

	lab_setup_init(setup, LAB_DIRECT);
	qos_drive_device(setup, drive, times_percent);
	qos_load_job(setup, load, 0);
	if (settle_ns > 0)
		lab_setup_phase(setup, "settle", settle_ns, false);
	lab_setup_phase(setup, "measure", measure_ns, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	*alone = (struct qos_alone){
		.bytes = lab_metric_of(outcome, 0, setup->phase_count - 1, LAB_ALL_OPS, LAB_MBPS) * 1e6,
		.mean_ns = lab_metric_of(outcome, 0, setup->phase_count - 1, LAB_ALL_OPS, LAB_MEAN) * 1e3,
		.p99_ns = lab_metric_of(outcome, 0, setup->phase_count - 1, LAB_ALL_OPS, LAB_P99) * 1e3,
		.p999_ns = lab_metric_of(outcome, 0, setup->phase_count - 1, LAB_ALL_OPS, LAB_P999) * 1e3,
	};
	return true;
}

bool
qos_drive_ready(struct lab *lab, enum qos_drive drive)
{
	static const struct qos_load load = { "once", 100, 4 * KIB, 1 };
	struct qos_alone alone;

	return qos_drive_alone(lab, drive, 0, &load, 0, LAB_MS, &alone);
}

/* ---- what measuring says ---- */

enum { SETTLE_MS = 100, READ_MS = 200, WRITE_MS = 1500, SHARE_MS = 400, COST_MS = 1000, DEPTHS = 7, SLOTS = 10,
	FULL = 8 };

#define NEARLY 0.985       /* of the most that a device gives */
#define TAKEN_LEAST 0.0625
/* With more slots more is lost of fairness than is gained. */
#define SPREAD_OF_TWO 1.28
#define SPREAD_OF_FOUR 1.32

static const uint32_t depths_large[DEPTHS] = { 2, 4, 8, 12, 16, 20, 32 };
static const uint32_t depths_small[DEPTHS] = { 8, 16, 32, 64, 96, 128, 256 };
static const uint32_t slots_each[SLOTS] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16 };

struct measured {
	double reads[QOS_SIZES], best[QOS_SIZES], worst[QOS_SIZES]; /* bytes a second, with so many in flight; writes
	                                                             * where they are cheapest, and dearest */
	struct qos_alone lone[QOS_KINDS][QOS_SIZES];                /* one at a time */
	double large[DEPTHS], small[DEPTHS];                        /* of reads, by how many are in flight */
	double full[QOS_KINDS][QOS_SIZES];                          /* with more in flight than any needs; writes
	                                                             * where they are cheapest */
	double mixed[QOS_KINDS];                                    /* of the smallest, together */
};

static uint32_t
in_flight(uint32_t bytes)
{
	uint32_t count = MIB / bytes;

	return count < IN_FLIGHT_LEAST ? IN_FLIGHT_LEAST : count > IN_FLIGHT_MOST ? IN_FLIGHT_MOST : count;
}

/* The same drive as it was filled, and written all over. */
static enum qos_drive
state_of(enum qos_drive drive, bool fragmented)
{
	if (drive == QOS_DRIVE_OPTANE || qos_drives[drive].fragmented == fragmented)
		return drive;
	return fragmented ? drive + 1 : drive - 1;
}

/* So many reads or writes of so many bytes in flight. */
static bool
try(struct lab *lab, enum qos_drive drive, uint32_t times_percent, uint32_t read_percent, uint32_t bytes,
    uint32_t depth, unsigned ms, struct qos_alone *alone)
{
	const struct qos_load load = { "load", read_percent, bytes, depth };

	return qos_drive_alone(lab, drive, times_percent, &load, ms * LAB_MS / 3, ms * LAB_MS, alone);
}

static bool
measure_sizes(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct measured *m)
{
	for (unsigned s = 0; s < QOS_SIZES; s++) {
		uint32_t bytes = (uint32_t)QOS_SIZE_LEAST << s, depth = in_flight(bytes);
		struct qos_alone read, best, worst, full_read, full_write;

		if (!try(lab, drive, times_percent, 100, bytes, depth, READ_MS, &read) ||
		    !try(lab, state_of(drive, false), times_percent, 0, bytes, depth, WRITE_MS, &best) ||
		    !try(lab, state_of(drive, true), times_percent, 0, bytes, depth, WRITE_MS, &worst) ||
		    !try(lab, drive, times_percent, 100, bytes, FULL * depth, SETTLE_MS, &full_read) ||
		    !try(lab, state_of(drive, false), times_percent, 0, bytes, FULL * depth, WRITE_MS, &full_write) ||
		    !try(lab, drive, times_percent, 100, bytes, 1, SETTLE_MS, &m->lone[QOS_READ][s]) ||
		    !try(lab, drive, times_percent, 0, bytes, 1, SETTLE_MS, &m->lone[QOS_WRITE][s]))
			return false;
		m->reads[s] = read.bytes;
		m->best[s] = best.bytes;
		m->worst[s] = worst.bytes;
		m->full[QOS_READ][s] = full_read.bytes;
		m->full[QOS_WRITE][s] = full_write.bytes;
	}
	return true;
}

/* As many reads and writes as can be. */
static bool
measure_mixed(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct measured *m)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct lab_outcome *outcome;

	lab_setup_init(setup, LAB_DIRECT);
	qos_drive_device(setup, drive, times_percent);
	for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
		const struct qos_load load = { "mixed", kind == QOS_READ ? 100 : 0, QOS_SIZE_LEAST,
			FULL / QOS_KINDS * in_flight(QOS_SIZE_LEAST) };

		qos_load_job(setup, &load, kind);
	}
	lab_setup_phase(setup, "settle", WRITE_MS * LAB_MS / 3, false);
	lab_setup_phase(setup, "measure", WRITE_MS * LAB_MS, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	for (unsigned kind = 0; kind < QOS_KINDS && outcome != NULL; kind++)
		m->mixed[kind] = lab_metric_of(outcome, (int)kind, 1, LAB_ALL_OPS, LAB_MBPS) * 1e6;
	return outcome != NULL;
}

static bool
measure_depths(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct measured *m)
{
	for (unsigned d = 0; d < DEPTHS; d++) {
		struct qos_alone large, small;

		if (!try(lab, drive, times_percent, 100, QOS_SIZE_MOST, depths_large[d], READ_MS, &large) ||
		    !try(lab, drive, times_percent, 100, QOS_SIZE_LEAST, depths_small[d], SETTLE_MS, &small))
			return false;
		m->large[d] = large.bytes;
		m->small[d] = small.bytes;
	}
	return true;
}

/* The fewest in flight that give nearly the most. */
static unsigned
saturates(const double rates[DEPTHS])
{
	unsigned d = 0;

	while (rates[d] < NEARLY * rates[DEPTHS - 1])
		d++;
	return d;
}

static uint32_t
cost_of(double most, double rate)
{
	double cost = round(QOS_COST_ONE * most / rate);

	return cost < 1 ? 1 : cost > QOS_COST_MAX ? QOS_COST_MAX : (uint32_t)cost;
}

/* Of the time for which reads keep the device busy, so much is taken from writes: as src/qos/calibrate has it. */
static double
taken_by_reads(const struct measured *m, bool fragmented)
{
	double write_alone = fragmented ? m->worst[0] : m->best[0];
	double taken = (1 - m->mixed[QOS_WRITE] / write_alone) / (m->mixed[QOS_READ] / m->full[QOS_READ][0]);

	return fmin(1, fmax(TAKEN_LEAST, taken));
}

static void
find_costs(const struct measured *m, bool fragmented, struct qos_params *params)
{
	double most = m->reads[QOS_SIZES - 1], taken = taken_by_reads(m, fragmented);

	for (unsigned s = 0; s < QOS_SIZES; s++) {
		params->size_cost[QOS_READ][s] = cost_of(most, m->reads[s]);
		params->size_cost[QOS_WRITE][s] = cost_of(most, m->best[s]);
		for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
			double longer = m->lone[kind][s].mean_ns - m->lone[kind][0].mean_ns;

			params->size_ns[kind][s] = longer > 0 ? (uint32_t)longer : 0;
			params->size_rate[kind][s] = (uint64_t)(m->full[kind][s] / (kind == QOS_READ ? taken : 1));
		}
	}
	params->write_cost_worst = cost_of(m->best[QOS_SIZES - 1], m->worst[QOS_SIZES - 1]);
	if (params->write_cost_worst < QOS_COST_ONE)
		params->write_cost_worst = QOS_COST_ONE;
}

/* What makes the most of the device with large reads, and with small ones. */
static uint32_t
room_of(uint32_t large, uint32_t small)
{
	return large > small ? large : small;
}

/* Of tenants that have little in common, with those terms. */
static bool
find_spread(struct lab *lab, enum qos_drive drive, uint32_t times_percent, const struct policy_terms *terms,
    enum qos_mix_kind mix, unsigned tenants, double *spread)
{
	struct qos_cell cell = {
		.drive = drive, .times_percent = times_percent, .mix = &qos_mixes[mix], .tenants = tenants,
		.settle_ns = (mix == QOS_MIX_SIZES ? SETTLE_MS : COST_MS) * LAB_MS, .measure_ns = SHARE_MS * LAB_MS,
		.terms = *terms,
	};
	struct qos_ran ran;

	if (!qos_cell_alone(lab, &cell, cell.alone) || !qos_cell_run(lab, &cell, &policy_switch, 0, &ran))
		return false;
	*spread = ran.most / ran.least;
	return true;
}

/* The most slots of each with which two readers, of small and large, are still near to one another. */
static bool
find_slots(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	struct policy_terms tried = *terms;

	for (unsigned i = 0; i < SLOTS; i++) {
		double spread;

		tried.params.slots_least = slots_each[i];
		tried.params.slots = 2 * slots_each[i];
		if (!find_spread(lab, drive, times_percent, &tried, QOS_MIX_SIZES, 2, &spread))
			return false;
		if (i == 0 || spread <= SPREAD_OF_TWO)
			*terms = tried;
	}
	return true;
}

/* And of those that each of many has at least: two readers and two writers too, whom only that keeps apart. */
static bool
find_slots_least(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	for (unsigned i = SLOTS; i-- > 0;) {
		double sizes, kinds;

		if (2 * slots_each[i] > terms->params.slots)
			continue;
		terms->params.slots_least = slots_each[i];
		if (!find_spread(lab, drive, times_percent, terms, QOS_MIX_SIZES, 4, &sizes) ||
		    !find_spread(lab, drive, times_percent, terms, QOS_MIX_KINDS, 4, &kinds))
			return false;
		if (sizes <= SPREAD_OF_FOUR && kinds <= SPREAD_OF_FOUR)
			break;
	}
	return true;
}

bool
qos_drive_terms(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	struct qos_params *params = &terms->params;
	struct measured m;

	*terms = (struct policy_terms){ 0 };
	if (!measure_sizes(lab, drive, times_percent, &m) || !measure_depths(lab, drive, times_percent, &m) ||
	    !measure_mixed(lab, drive, times_percent, &m))
		return false;
	qos_params_default(params);
	find_costs(&m, qos_drives[drive].fragmented, params);
	params->thresh_min_ns = (uint32_t)(2 * m.lone[QOS_READ][QOS_SIZES - 1].mean_ns);
	params->thresh_max_ns = (uint32_t)fmax(5 * params->thresh_min_ns, 2.5 * m.lone[QOS_WRITE][0].p99_ns);
	params->rate_most = (uint64_t)(4 * m.large[DEPTHS - 1]);
	terms->depth = depths_small[saturates(m.small)];
	params->inflight_bytes = room_of(depths_large[saturates(m.large)] * QOS_SLOT_BYTES,
	    terms->depth * params->size_cost[QOS_READ][0] * (QOS_SIZE_LEAST / QOS_COST_ONE));
	terms->rate = (uint64_t)m.small[saturates(m.small)];
	terms->latency_ns = params->thresh_max_ns;
	if (qos_params_wrong(params) != NULL)
		lab_refuse(lab, "%s: %s", qos_drives[drive].name, qos_params_wrong(params));
	return lab->why[0] == '\0' && find_slots(lab, drive, times_percent, terms) &&
	    find_slots_least(lab, drive, times_percent, terms);
}

/* Costs of each size, the smallest first. */
static void
tell_costs(struct result_table *table, const uint32_t costs[QOS_SIZES])
{
	char text[QOS_SIZES * 8] = "";

	for (unsigned s = 0; s < QOS_SIZES; s++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.2f", s > 0 ? " " : "",
		    (double)costs[s] / QOS_COST_ONE);
	result_cell_text(table, "%s", text);
}

static void
tell_rates(struct result_table *table, const uint64_t rates[QOS_SIZES])
{
	char text[QOS_SIZES * 16] = "";

	for (unsigned s = 0; s < QOS_SIZES; s++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.0f", s > 0 ? " " : "",
		    (double)rates[s] / 1e6);
	result_cell_text(table, "%s", text);
}

void
qos_drive_tell(struct result *result, const enum qos_drive *drives, const struct policy_terms *terms,
    unsigned count)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "cost of reads of 4 to 128 KiB", "", 0, true },
		{ "of writes", "", 0, true }, { "write cost, worst", "", 2, false },
		{ "reads of each size that leave no time", "MB/s", 0, true }, { "writes", "MB/s", 0, true },
		{ "least threshold", "us", 0, false },
		{ "greatest", "us", 0, false }, { "slots", "", 0, false }, { "slots, least", "", 0, false },
		{ "in flight", "KiB", 0, false },
	};
	struct result_table *table = result_table(result, "drives", "What measuring each drive says", columns, 11);

	for (unsigned i = 0; i < count; i++) {
		const struct qos_params *params = &terms[i].params;

		result_cell_text(table, "%s", qos_drives[drives[i]].name);
		tell_costs(table, params->size_cost[QOS_READ]);
		tell_costs(table, params->size_cost[QOS_WRITE]);
		result_cell_number(table, (double)params->write_cost_worst / QOS_COST_ONE);
		tell_rates(table, params->size_rate[QOS_READ]);
		tell_rates(table, params->size_rate[QOS_WRITE]);
		result_cell_number(table, params->thresh_min_ns / 1e3);
		result_cell_number(table, params->thresh_max_ns / 1e3);
		result_cell_number(table, params->slots);
		result_cell_number(table, params->slots_least);
		result_cell_number(table, params->inflight_bytes / 1024.0);
	}
}
