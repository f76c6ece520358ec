#include "qos_drive.h"

#include <stdio.h>
#include <string.h>

#include "lab/calibrate.h"

enum { KIB = 1024 };

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

enum { MEASURE_S = 30 };

/* Which drive is measured: the very one that is shared, in its state; or for all states of a model one that was written
 * all over, as whoever has a drive is told to do before.  What that changes is in doc/lab-qos.md. */
static const bool measured_as_it_is = true;

/* The same model, written all over. */
static enum qos_drive
written_over(enum qos_drive drive)
{
	return drive == QOS_DRIVE_OPTANE || qos_drives[drive].fragmented ? drive : drive + 1;
}

bool
qos_drive_terms(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	struct calibrate *calibrate = lab_alloc(lab, sizeof(*calibrate));
	const char *wrong;

	*terms = (struct policy_terms){ 0 };
	lab_setup_init(setup, LAB_DIRECT);
	qos_drive_device(setup, measured_as_it_is ? drive : written_over(drive), times_percent);
	if (!lab_calibrate(lab, &setup->devices[0], MEASURE_S * LAB_S, calibrate))
		return false;
	wrong = calibrate_params(calibrate, &terms->params);
	if (wrong != NULL) {
		lab_refuse(lab, "%s: %s", qos_drives[drive].name, wrong);
		return false;
	}
	terms->depth = calibrate_saturates(calibrate, CALIBRATE_SMALL, &terms->rate);
	terms->latency_ns = terms->params.thresh_max_ns;
	return true;
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
