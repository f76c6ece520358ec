#include "qos_cell.h"

#include <math.h>
#include <string.h>

#define SMALL_READS { "4k reads", 100, 4096, 32 }
#define SMALL_WRITES { "4k writes", 0, 4096, 32 }
#define LARGE_READS { "128k reads", 100, 131072, 8 }
#define LARGE_WRITES { "128k writes", 0, 131072, 8 }
#define BOTH { "4k 70/30", 70, 4096, 32 }

const struct qos_mix qos_mixes[QOS_MIXES] = {
	[QOS_MIX_SIZES] = { "4k + 128k reads", { SMALL_READS, LARGE_READS }, false, false },
	[QOS_MIX_KINDS] = { "4k reads + writes", { SMALL_READS, SMALL_WRITES }, false, true },
	[QOS_MIX_WRITES] = { "4k writes", { SMALL_WRITES, SMALL_WRITES }, true, true },
	[QOS_MIX_BOTH] = { "4k 70/30", { BOTH, BOTH }, true, true },
	[QOS_MIX_WRITE_SIZES] = { "4k + 128k writes", { SMALL_WRITES, LARGE_WRITES }, false, true },
};

/* Nothing changes: it need not be long. */
enum { SHORT_SETTLE_MS = 500, SHORT_MEASURE_MS = 2000, LOOK_MS = 10 };

static struct qos_cell
shortened(const struct qos_cell *cell)
{
	struct qos_cell shorter = *cell;

	if (!cell->mix->changes && cell->measure_ns > SHORT_MEASURE_MS * LAB_MS) {
		shorter.settle_ns = SHORT_SETTLE_MS * LAB_MS;
		shorter.measure_ns = SHORT_MEASURE_MS * LAB_MS;
	}
	return shorter;
}

bool
qos_cell_alone(struct lab *lab, const struct qos_cell *cell, double alone[QOS_HALVES])
{
	struct qos_cell shorter = shortened(cell);

	for (unsigned half = 0; half < QOS_HALVES; half++) {
		struct qos_alone found;

		if (half > 0 && cell->mix->same) {
			alone[half] = alone[0];
			continue;
		}
		if (!qos_drive_alone(lab, cell->drive, cell->times_percent, &cell->mix->loads[half], shorter.settle_ns,
		    shorter.measure_ns, &found))
			return false;
		alone[half] = found.bytes;
	}
	return true;
}

static void
gather_half(const struct qos_cell *cell, const struct lab_outcome *outcome, unsigned half, struct qos_ran *ran)
{
	unsigned count = 0;

	ran->mean_us[half] = ran->p99_us[half] = ran->p999_us[half] = 0;
	for (unsigned t = 0; t < cell->tenants; t++) {
		if (qos_cell_half(cell, t) != half)
			continue;
		ran->mean_us[half] += lab_metric_of(outcome, (int)t, 1, LAB_ALL_OPS, LAB_MEAN);
		ran->p99_us[half] = fmax(ran->p99_us[half], lab_metric_of(outcome, (int)t, 1, LAB_ALL_OPS, LAB_P99));
		ran->p999_us[half] = fmax(ran->p999_us[half],
		    lab_metric_of(outcome, (int)t, 1, LAB_ALL_OPS, LAB_P999));
		count++;
	}
	ran->mean_us[half] /= count;
}

/* What was seen of the policy while it was measured; over a fabric nothing is. */
static void
gather_views(const struct qos_cell *cell, const struct lab_outcome *outcome, struct qos_ran *ran)
{
	unsigned first;

	if (outcome->bin_count == 0)
		return;
	first = (unsigned)(cell->settle_ns / outcome->setup->bin_ns);
	for (unsigned bin = first; bin < outcome->bin_count; bin++) {
		const struct policy_view *view = lab_view_of(outcome, 0, bin);

		ran->waiting += (double)view->waiting / (outcome->bin_count - first);
		ran->waiting_most = fmax(ran->waiting_most, (double)view->waiting);
		for (unsigned kind = 0; kind < QOS_KINDS; kind++)
			ran->latency_most_us = fmax(ran->latency_most_us, (double)view->latency_ns[kind] / 1e3);
	}
}

static void
gather(const struct qos_cell *cell, const struct lab_outcome *outcome, struct qos_ran *ran)
{
	*ran = (struct qos_ran){ .least = INFINITY };
	for (unsigned t = 0; t < cell->tenants; t++) {
		double bytes = lab_metric_of(outcome, (int)t, 1, LAB_ALL_OPS, LAB_MBPS) * 1e6;

		ran->f[t] = bytes / (cell->alone[qos_cell_half(cell, t)] / cell->tenants);
		ran->least = fmin(ran->least, ran->f[t]);
		ran->most = fmax(ran->most, ran->f[t]);
		ran->mean += ran->f[t] / cell->tenants;
		ran->bytes += bytes;
	}
	for (unsigned half = 0; half < QOS_HALVES; half++)
		gather_half(cell, outcome, half, ran);
	gather_views(cell, outcome, ran);
	ran->served_p99_us = lab_served_us(outcome, LAB_ALL_JOBS, 1, LAB_ALL_OPS, 990000);
}

bool
qos_cell_run(struct lab *lab, const struct qos_cell *cell, const struct policy_ops *policy, double f,
    struct qos_ran *ran)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	struct lab_device *device;
	const struct lab_outcome *outcome;

	lab_setup_init(setup, cell->fabric ? LAB_FABRIC : LAB_DIRECT);
	setup->hosts = cell->tenants;
	setup->world.mbit = 200 * 1000; /* so that it is the drive that is shared, and not the network */
	device = qos_drive_device(setup, cell->drive, cell->times_percent);
	device->policy = policy;
	device->terms = cell->terms;
	for (unsigned t = 0; t < cell->tenants; t++) {
		unsigned half = qos_cell_half(cell, t);

		struct lab_job *job = qos_load_job(setup, &cell->mix->loads[half], t);

		job->host = t;
		job->terms.rate = (uint64_t)(f * cell->alone[half] / cell->tenants);
	}
	setup->bin_ns = cell->fabric ? 0 : LOOK_MS * LAB_MS;
	lab_setup_phase(setup, "settle", cell->settle_ns, false);
	lab_setup_phase(setup, "measure", cell->measure_ns, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	gather(cell, outcome, ran);
	return true;
}

/* How near it is looked for, how far one goes before it is known where, and what of its rate a tenant may lack. */
#define NEAR 1.01
#define STEP 1.08
#define LACKS 0.985
enum { LOOKS = 16 };

bool
qos_cell_oracle(struct lab *lab, const struct qos_cell *cell, double guess, struct qos_ran *best)
{
	const struct qos_cell shorter = shortened(cell);
	double low = 0, high = INFINITY, f = guess;

	*best = (struct qos_ran){ .mean = 0 };
	for (unsigned i = 0; i < LOOKS && !(high <= low * NEAR); i++) {
		struct qos_ran ran;

		if (!qos_cell_run(lab, &shorter, &policy_rates, f, &ran))
			return false;
		if (ran.least >= LACKS * f) {
			low = f;
			if (ran.mean > best->mean)
				*best = ran;
		} else {
			high = f;
		}
		f = low == 0 ? high / STEP : isinf(high) ? low * STEP : (low + high) / 2;
	}
	return true;
}
