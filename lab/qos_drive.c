#include "qos_drive.h"

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

enum { SETTLE_MS = 100, READ_MS = 200, WRITE_MS = 1500 };

struct measured {
	double rates[QOS_KINDS][QOS_SIZES]; /* bytes a second, with so many in flight */
	struct qos_alone lone[QOS_KINDS][QOS_SIZES]; /* one at a time */
};

static uint32_t
in_flight(uint32_t bytes)
{
	uint32_t count = MIB / bytes;

	return count < IN_FLIGHT_LEAST ? IN_FLIGHT_LEAST : count > IN_FLIGHT_MOST ? IN_FLIGHT_MOST : count;
}

/* Writes are measured where they are dearest: on a drive that was written all over. */
static enum qos_drive
worst_of(enum qos_drive drive)
{
	return drive != QOS_DRIVE_OPTANE && !qos_drives[drive].fragmented ? drive + 1 : drive;
}

static bool
measure(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct measured *m)
{
	for (unsigned s = 0; s < QOS_SIZES; s++) {
		uint32_t bytes = (uint32_t)QOS_SIZE_LEAST << s;

		for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
			const struct qos_load many = { "many", kind == QOS_READ ? 100 : 0, bytes, in_flight(bytes) };
			const struct qos_load one = { "one", kind == QOS_READ ? 100 : 0, bytes, 1 };
			enum qos_drive which = kind == QOS_READ ? drive : worst_of(drive);
			struct qos_alone alone;

			if (!qos_drive_alone(lab, which, times_percent, &many, SETTLE_MS * LAB_MS *
			    (kind == QOS_READ ? 1 : 5), (kind == QOS_READ ? READ_MS : WRITE_MS) * LAB_MS, &alone) ||
			    !qos_drive_alone(lab, drive, times_percent, &one, SETTLE_MS * LAB_MS / 4,
			    READ_MS * LAB_MS / 4, &m->lone[kind][s]))
				return false;
			m->rates[kind][s] = alone.bytes;
		}
	}
	return true;
}

static uint32_t
cost_of(double most, double rate)
{
	double cost = round(QOS_COST_ONE * most / rate);

	return cost < 1 ? 1 : cost > QOS_COST_MAX ? QOS_COST_MAX : (uint32_t)cost;
}

/* Slots, and what may be in flight, in I/Os of 128 KiB. */
static void
set_room(enum qos_drive drive, struct qos_params *params)
{
	uint32_t large = 20;

	params->slots = 8;
	params->slots_least = 4;
	if (drive == QOS_DRIVE_OPTANE) {
		params->slots = 2;
		params->slots_least = 1;
		large = 4;
	} else if (drive == QOS_DRIVE_QLC || drive == QOS_DRIVE_QLC_FRAGMENTED) {
		params->slots = 16;
		params->slots_least = 8;
	}
	params->inflight_bytes = large * QOS_SLOT_BYTES;
}

bool
qos_drive_terms(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	struct qos_params *params = &terms->params;
	struct measured m;

	if (!measure(lab, drive, times_percent, &m))
		return false;
	*terms = (struct policy_terms){ .rate = (uint64_t)m.rates[QOS_READ][0] };
	qos_params_default(params);
	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		for (unsigned s = 0; s < QOS_SIZES; s++) {
			double longer = m.lone[kind][s].mean_ns - m.lone[kind][0].mean_ns;

			params->size_cost[kind][s] = cost_of(m.rates[kind][QOS_SIZES - 1], m.rates[kind][s]);
			params->size_ns[kind][s] = longer > 0 ? (uint32_t)longer : 0;
		}
	params->write_cost_worst = cost_of(m.rates[QOS_READ][QOS_SIZES - 1], m.rates[QOS_WRITE][QOS_SIZES - 1]);
	if (params->write_cost_worst < QOS_COST_ONE)
		params->write_cost_worst = QOS_COST_ONE;
	params->thresh_min_ns = (uint32_t)(1.2 * m.lone[QOS_READ][QOS_SIZES - 1].mean_ns);
	params->thresh_max_ns = (uint32_t)fmax(5 * params->thresh_min_ns, 2.5 * m.lone[QOS_WRITE][0].p99_ns);
	params->rate_most = (uint64_t)(4 * m.rates[QOS_READ][QOS_SIZES - 1]);
	set_room(drive, params);
	terms->latency_ns = params->thresh_max_ns;
	if (qos_params_wrong(params) != NULL)
		lab_refuse(lab, "%s: %s", qos_drives[drive].name, qos_params_wrong(params));
	return lab->why[0] == '\0';
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
