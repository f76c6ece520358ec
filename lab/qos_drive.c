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

enum { SETTLE_MS = 100, READ_MS = 200, WRITE_MS = 1500, SHARE_MS = 400, DEPTHS = 7, SLOTS = 8 };

#define NEARLY 0.985       /* of the most that a device gives */
#define SPREAD_MOST 1.28   /* of two tenants: with more slots more is lost of fairness than is gained */

static const uint32_t depths_large[DEPTHS] = { 2, 4, 8, 12, 16, 20, 32 };
static const uint32_t depths_small[DEPTHS] = { 8, 16, 32, 64, 96, 128, 256 };
static const uint32_t slots_each[SLOTS] = { 1, 2, 3, 4, 5, 6, 7, 8 };

struct measured {
	double reads[QOS_SIZES], best[QOS_SIZES], worst[QOS_SIZES]; /* bytes a second, with so many in flight; writes
	                                                             * where they are cheapest, and dearest */
	struct qos_alone lone[QOS_KINDS][QOS_SIZES];                /* one at a time */
	double large[DEPTHS], small[DEPTHS];                        /* of reads, by how many are in flight */
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
		struct qos_alone read, best, worst;

		if (!try(lab, drive, times_percent, 100, bytes, depth, READ_MS, &read) ||
		    !try(lab, state_of(drive, false), times_percent, 0, bytes, depth, WRITE_MS, &best) ||
		    !try(lab, state_of(drive, true), times_percent, 0, bytes, depth, WRITE_MS, &worst) ||
		    !try(lab, drive, times_percent, 100, bytes, 1, SETTLE_MS, &m->lone[QOS_READ][s]) ||
		    !try(lab, drive, times_percent, 0, bytes, 1, SETTLE_MS, &m->lone[QOS_WRITE][s]))
			return false;
		m->reads[s] = read.bytes;
		m->best[s] = best.bytes;
		m->worst[s] = worst.bytes;
	}
	return true;
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

static void
find_costs(const struct measured *m, struct qos_params *params)
{
	double most = m->reads[QOS_SIZES - 1];

	for (unsigned s = 0; s < QOS_SIZES; s++) {
		params->size_cost[QOS_READ][s] = cost_of(most, m->reads[s]);
		params->size_cost[QOS_WRITE][s] = cost_of(most, m->best[s]);
		for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
			double longer = m->lone[kind][s].mean_ns - m->lone[kind][0].mean_ns;

			params->size_ns[kind][s] = longer > 0 ? (uint32_t)longer : 0;
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

/* The most slots with which two tenants that have little in common are still near to one another. */
static bool
find_slots(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	struct qos_cell cell = {
		.drive = drive, .times_percent = times_percent, .mix = &qos_mixes[QOS_MIX_SIZES], .tenants = 2,
		.settle_ns = SHARE_MS / 4 * LAB_MS, .measure_ns = SHARE_MS * LAB_MS, .terms = *terms,
	};
	struct qos_params *params = &cell.terms.params;

	if (!qos_cell_alone(lab, &cell, cell.alone))
		return false;
	for (unsigned i = 0; i < SLOTS; i++) {
		struct qos_ran ran;

		params->slots_least = slots_each[i];
		params->slots = 2 * slots_each[i];
		if (!qos_cell_run(lab, &cell, &policy_switch, 0, &ran))
			return false;
		if (i == 0 || ran.most <= SPREAD_MOST * ran.least)
			*terms = cell.terms;
	}
	return true;
}

bool
qos_drive_terms(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	struct qos_params *params = &terms->params;
	struct measured m;

	*terms = (struct policy_terms){ 0 };
	if (!measure_sizes(lab, drive, times_percent, &m) || !measure_depths(lab, drive, times_percent, &m))
		return false;
	qos_params_default(params);
	find_costs(&m, params);
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
	return lab->why[0] == '\0' && find_slots(lab, drive, times_percent, terms);
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

void
qos_drive_tell(struct result *result, const enum qos_drive *drives, const struct policy_terms *terms,
    unsigned count)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "cost of reads of 4 to 128 KiB", "", 0, true },
		{ "of writes", "", 0, true }, { "write cost, worst", "", 2, false },
		{ "least threshold", "us", 0, false },
		{ "greatest", "us", 0, false }, { "slots", "", 0, false }, { "slots, least", "", 0, false },
		{ "in flight", "KiB", 0, false },
	};
	struct result_table *table = result_table(result, "drives", "What measuring each drive says", columns, 9);

	for (unsigned i = 0; i < count; i++) {
		const struct qos_params *params = &terms[i].params;

		result_cell_text(table, "%s", qos_drives[drives[i]].name);
		tell_costs(table, params->size_cost[QOS_READ]);
		tell_costs(table, params->size_cost[QOS_WRITE]);
		result_cell_number(table, (double)params->write_cost_worst / QOS_COST_ONE);
		result_cell_number(table, params->thresh_min_ns / 1e3);
		result_cell_number(table, params->thresh_max_ns / 1e3);
		result_cell_number(table, params->slots);
		result_cell_number(table, params->slots_least);
		result_cell_number(table, params->inflight_bytes / 1024.0);
	}
}
