/*
 * policy_bound.c - the least score that any disk in a box of a pool's tree can have.
 *
 * Intervals through policy.c's formulas, arranged so that what goes together stays together.  With r the days that a
 * disk has left, L its rate, l and S_j the workload's rate and sequential share, A and A' its write amplification
 * before and afterwards,
 *
 *   V = r / (L + l)                      what it is worth; most of all narrow, by POOL_VALUE
 *   A - A' = f l (S_j - S) / (L + l)     f: how steeply A falls somewhere between (the mean value theorem)
 *   z = f (S_j - S) / A'                 0 where A is flat
 *
 * its lifetime changes by V l (z L / (L + l) - 1), and what it serves by V l L z.  A box that is a point has a bound
 * that is its score but for rounding, which tree.c leaves room for.
 */
#include <math.h>

#include "place/policy_inside.h"

#include "base/list.h"

struct range { double low, high; };

/* Of numbers, not of NANs, which fmin() and fmax() would have to look for. */
static inline double lesser(double a, double b) { return a < b ? a : b; }
static inline double greater(double a, double b) { return a > b ? a : b; }

static struct range
times(struct range a, struct range b)
{
	double p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;

	return (struct range){ lesser(lesser(p, q), lesser(r, s)), greater(greater(p, q), greater(r, s)) };
}

/* `b` is above 0. */
static struct range
over(struct range a, struct range b)
{
	return times(a, (struct range){ 1 / b.high, 1 / b.low });
}

static struct range
plus(struct range a, double b)
{
	return (struct range){ a.low + b, a.high + b };
}

static bool
is_written(const struct policy_query *q)
{
	return q->state == POOL_FLAT || q->state == POOL_STEEP;
}

static struct range
axis(const struct tree_node *node, unsigned which)
{
	return (struct range){ (double)node->box.low[which], (double)node->box.high[which] };
}

/* How sequential disks are with the workload, of which `share` of the rate is the workload's. */
static struct range
mixed_seq(const struct policy_query *q, struct range seq, struct range share)
{
	double own = q->workload->seq_ratio;

	return (struct range){
		seq.low + (own - seq.low) * (own < seq.low ? share.high : share.low),
		seq.high + (own - seq.high) * (own > seq.high ? share.high : share.low),
	};
}

/* z */
static struct range
relief(const struct policy_query *q, struct range seq, struct range share)
{
	const struct waf *waf = &q->model->waf;
	struct range mixed = mixed_seq(q, seq, share), fall;
	struct range away = { q->workload->seq_ratio - seq.high, q->workload->seq_ratio - seq.low };

	if (seq.high <= waf->epsilon && mixed.high <= waf->epsilon && waf->alpha == 0)
		return (struct range){ 0, 0 };
	waf_falls(waf, lesser(seq.low, mixed.low), lesser(greater(seq.high, mixed.high), 1), &fall.low, &fall.high);
	return over(times(fall, away), (struct range){ waf_at(waf, lesser(mixed.high, 1)), waf_at(waf, mixed.low) });
}

/* V: by what is left, and by what it is at the nearest of the rates at which that is kept. */
static struct range
worth(const struct policy_query *q, const struct tree_node *node, struct range rate, struct range per_rate)
{
	double own = q->workload->write_gb_per_day, kept = pool_value_rates[q->value];
	struct range left = plus(axis(node, POOL_DEATH), -q->now_days);
	double most = axis(node, POOL_VALUE + q->value).high - q->now_days / (rate.high + kept);
	/* (L + kept) / (L + l) is most at one end of the rates */
	double more = kept > own ? (rate.low + kept) * per_rate.high : (rate.high + kept) * per_rate.low;

	return (struct range){
		greater(left.low, 0) * per_rate.low,
		lesser(left.high * per_rate.high, greater(most, 0) * more),
	};
}

/* L (M / (L + l) - TCO'): concave in L, so it is most where it is flat, or at an end. */
static struct range
per_relief(const struct policy_query *q, struct range rate, struct range per_rate)
{
	double usd_per_day = q->model->usd_per_day, flat = q->flat_rate;
	double low = rate.low * (usd_per_day * per_rate.high - q->usd_per_gb);
	double high = rate.high * (usd_per_day * per_rate.low - q->usd_per_gb);

	if (flat <= rate.low || flat >= rate.high)
		return (struct range){ lesser(low, high), greater(low, high) };
	return (struct range){ lesser(low, high),
		flat * (usd_per_day / (flat + q->workload->write_gb_per_day) - q->usd_per_gb) };
}

/* Of (more_n) / (all that is served + more_d), as a ratio changes; the end that is asked for alone. */
static struct range
ratio(const struct policy_query *q, struct range more_n, struct range more_d)
{
	double least = q->cost.served_gb + more_d.low, most = q->cost.served_gb + more_d.high;

	if (least <= 0)
		return (struct range){ -INFINITY, INFINITY };
	if (q->dearest)
		return (struct range){ -INFINITY, more_n.high / (more_n.high > 0 ? least : most) };
	return (struct range){ more_n.low / (more_n.low < 0 ? least : most), INFINITY };
}

/* minTCO's gain of one thing and its money alone: of more lifetime. */
static struct range
lifetime_gain(const struct policy_query *q, struct range days)
{
	double usd_per_day = q->model->usd_per_day;

	if (q->policy == POLICY_MINTCO_V1)
		return times(days, (struct range){ usd_per_day, usd_per_day });
	if (q->cost.lifetime_days == 0)
		return (struct range){ -INFINITY, INFINITY };
	usd_per_day -= q->cost.usd / q->cost.lifetime_days;

	if (q->cost.lifetime_days + days.low <= 0)
		return (struct range){ -INFINITY, INFINITY };

	/* days * c / (all days + days) rises or falls throughout, so its ends are those of the days */
	double low = days.low * usd_per_day / (q->cost.lifetime_days + days.low);
	double high = days.high * usd_per_day / (q->cost.lifetime_days + days.high);

	return (struct range){ lesser(low, high), greater(low, high) };
}

static struct range
gain_written(const struct policy_query *q, const struct tree_node *node)
{
	double own = q->workload->write_gb_per_day, usd_per_day = q->model->usd_per_day;
	struct range rate = axis(node, POOL_RATE);
	struct range per_rate = { 1 / (rate.high + own), 1 / (rate.low + own) };
	struct range z = relief(q, axis(node, POOL_SEQ), (struct range){ own * per_rate.low, own * per_rate.high });
	struct range value = worth(q, node, rate, per_rate);

	value = (struct range){ value.low * own, value.high * own };
	if (q->policy == POLICY_MINTCO_V1 || q->policy == POLICY_MINTCO_V2)
		return lifetime_gain(q, times(value, plus(times(z, (struct range){ rate.low * per_rate.high,
		    rate.high * per_rate.low }), -1)));
	if (q->cost.served_gb == 0)
		return (struct range){ -INFINITY, INFINITY };
	if (z.low == 0 && z.high == 0)
		return ratio(q, (struct range){ -value.high * usd_per_day, -value.low * usd_per_day },
		    (struct range){ 0, 0 });
	return ratio(q, times(value, plus(times(z, per_relief(q, rate, per_rate)), -usd_per_day)),
	    times(value, times(rate, z)));
}

/* Of disks that are not written, which the workload has alone, by what endurance is left. */
static struct range
gain_unwritten(const struct policy_query *q, const struct tree_node *node)
{
	double copies = q->model->write_copies, per_day = q->workload->write_gb_per_day * copies * q->own_waf;
	struct range left = axis(node, POOL_DEATH), idle = { 0, q->state == POOL_UNUSED ? 0 : q->now_days };
	struct range days = { left.low / per_day + idle.low, left.high / per_day + idle.high };
	double a_gb, ends[4];

	if (q->policy == POLICY_MINTCO_V1 || q->policy == POLICY_MINTCO_V2)
		return lifetime_gain(q, days);
	if (q->cost.served_gb == 0)
		return (struct range){ -INFINITY, INFINITY };
	a_gb = q->model->usd_per_day / per_day - q->usd_per_gb / (q->own_waf * copies);
	for (unsigned i = 0; i < 4; i++) { /* rises or falls throughout with what is left */
		double gb = i & 1 ? left.high : left.low;

		ends[i] = (gb * a_gb + q->model->usd_per_day * (i & 2 ? idle.high : idle.low)) /
		    (q->cost.served_gb + gb / (q->own_waf * copies));
	}
	return (struct range){ lesser(ends[0], ends[1]), greater(ends[2], ends[3]) };
}

static struct range
gain_between(const struct policy_query *q, const struct tree_node *node)
{
	if (q->workload->write_gb_per_day == 0) {
		double none = policy_gain(q->policy, &q->cost, &(struct cost){ 0 });

		return (struct range){ none, none };
	}
	return is_written(q) ? gain_written(q, node) : gain_unwritten(q, node);
}

static double
warm_up_bound(const struct tree_node *node)
{
	return axis(node, POOL_WORKLOADS).low == 0 ? 0 : INFINITY;
}

static double
mintco_bound(const struct policy_query *q, const struct tree_node *node)
{
	struct range gain;

	gain = gain_between(q, node);
	if (q->dearest)
		return -gain.high;
	if (q->policy != POLICY_MINTCO_PERF)
		return gain.low;
	return policy_perf(q, gain.low, axis(node, POOL_ROOM).low, axis(node, POOL_IOPS).low);
}

/* Least write amplification: where disks are most sequential with the workload. */
static double
least_waf(const struct policy_query *q, const struct tree_node *node)
{
	double own = q->workload->write_gb_per_day;
	struct range rate = axis(node, POOL_RATE);

	if (!is_written(q))
		return own > 0 ? q->own_waf : 1;
	return waf_at(&q->model->waf, lesser(mixed_seq(q, axis(node, POOL_SEQ),
	    (struct range){ own / (rate.high + own), own / (rate.low + own) }).high, 1));
}

static double
most_endurance_gb(const struct policy_query *q, const struct tree_node *node)
{
	if (!is_written(q))
		return axis(node, POOL_DEATH).high;
	return (axis(node, POOL_DEATH).high - q->now_days) * axis(node, POOL_RATE).high * q->model->write_copies *
	    waf_at(&q->model->waf, lesser(axis(node, POOL_SEQ).low, 1));
}

/* Bounds are computed in other steps than scores: by so much less than they come out they hold. */
static double
safe(double bound)
{
	return isinf(bound) ? bound : bound - 1e-11 * fabs(bound);
}

double
policy_bound(struct tree_query *query, const struct tree_node *node)
{
	const struct policy_query *q = container_of(query, struct policy_query, query);
	double room = q->model->capacity_gb, iops = q->model->iops;

	if (axis(node, POOL_ROOM).low + q->workload->working_set_gb > room * (q->pool->room_max + 1e-9) ||
	    axis(node, POOL_IOPS).low + q->iops > iops * (q->pool->iops_max + 1e-9) ||
	    axis(node, POOL_DEATH).high <= (is_written(q) ? q->now_days : 0))
		return INFINITY;
	switch (q->policy) {
	case POLICY_MAX_REM_CYCLE: return safe(-most_endurance_gb(q, node));
	case POLICY_MIN_WAF: return safe(least_waf(q, node));
	case POLICY_MIN_RATE: return axis(node, POOL_RATE).low;
	case POLICY_MIN_WORKLOADS: return axis(node, POOL_WORKLOADS).low;
	case POLICY_LEAST_USED: return safe(axis(node, POOL_ROOM).low / room);
	default: return q->warm_up ? warm_up_bound(node) : safe(mintco_bound(q, node));
	}
}
