#include "place/policy_inside.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/list.h"
#include "base/rng.h"

const char *const policy_names[POLICIES] = {
	[POLICY_MINTCO_V1] = "minTCO-v1", [POLICY_MINTCO_V2] = "minTCO-v2", [POLICY_MINTCO_V3] = "minTCO-v3",
	[POLICY_MINTCO_PERF] = "minTCO-Perf", [POLICY_MAX_REM_CYCLE] = "maxRemCycle", [POLICY_MIN_WAF] = "minWAF",
	[POLICY_MIN_RATE] = "minRate", [POLICY_MIN_WORKLOADS] = "minWorkloadNum", [POLICY_LEAST_USED] = "least used",
	[POLICY_ROUND_ROBIN] = "round robin", [POLICY_RANDOM] = "random",
};

const struct policy_weights policy_weights_best = { .cost = 5, .room = 1, .iops = 1, .room_cv = 3, .iops_cv = 3 };

static bool
is_mintco(enum policy policy)
{
	return policy <= POLICY_MINTCO_PERF;
}

/*
 * With R the endurance left now, P physical and A amplified as before, P' and A' as afterwards: R lasts for R/P' days
 * instead of R/P, in which R/A' is written instead of R/A.  The point is that of a disk that is written (pool.h).
 */
static struct cost
change_written(const struct disk_model *model, const double *point, const struct workload *w, double now_days)
{
	double rate = point[POOL_RATE], rate_after = rate + w->write_gb_per_day;
	double seq = (rate * point[POOL_SEQ] + w->write_gb_per_day * w->seq_ratio) / rate_after;
	double waf = waf_at(&model->waf, point[POOL_SEQ]), waf_after = waf_at(&model->waf, seq < 1 ? seq : 1);
	double left_days = point[POOL_DEATH] - now_days;
	struct cost change = {
		.lifetime_days = left_days * (rate * waf / (rate_after * waf_after) - 1),
		.served_gb = left_days * rate * (waf / waf_after - 1),
	};

	change.usd = model->usd_per_day * change.lifetime_days;
	return change;
}

struct cost
policy_change(const struct disk *disk, const struct workload *w, double now_days)
{
	const struct disk_model *model = disk->model;
	struct cost change = { 0 };
	double waf, left_gb;

	if (disk->rate_gb_per_day > 0) {
		const double point[TREE_AXES] = {
			[POOL_RATE] = disk->rate_gb_per_day, [POOL_SEQ] = disk_seq_ratio(disk),
			[POOL_DEATH] = disk_death_days(disk),
		};

		return change_written(model, point, w, now_days);
	}
	if (w->write_gb_per_day == 0)
		return change;
	waf = waf_at(&model->waf, w->seq_ratio);
	left_gb = model->endurance_gb - disk->worn_gb;
	change.lifetime_days = left_gb / (w->write_gb_per_day * model->write_copies * waf) +
	    (disk->used ? now_days - disk->since_days : 0);
	change.served_gb = left_gb / (waf * model->write_copies);
	change.usd = model->usd_per_day * change.lifetime_days;
	return change;
}

/* The change of (n / d) as n and d change, without the two large numbers that are nearly equal. */
static double
ratio_change(double n, double d, double more_n, double more_d)
{
	if (d + more_d <= 0)
		return DBL_MAX;
	return d > 0 ? (more_n - n / d * more_d) / (d + more_d) : (n + more_n) / more_d;
}

double
policy_gain(enum policy policy, const struct cost *pool, const struct cost *change)
{
	switch (policy) {
	case POLICY_MINTCO_V1:
		return change->usd;
	case POLICY_MINTCO_V2:
		return ratio_change(pool->usd, pool->lifetime_days, change->usd, change->lifetime_days);
	default:
		return ratio_change(pool->usd, pool->served_gb, change->usd, change->served_gb);
	}
}

/* Mean and coefficient of variation of a resource's utilisation if a disk that has `used` of it gets `more`. */
static void
balance_with(const struct pool *pool, enum cost_resource resource, double used, double more, double *mean, double *cv)
{
	double n = pool->count;
	double squares = pool_sum(&pool->used_squares[resource]) + (2 * used + more) * more;

	*mean = (pool_sum(&pool->used[resource]) + more) / n;
	*cv = *mean > 0 ? sqrt(fmax(squares / n - *mean * *mean, 0)) / *mean : 0;
}

double
policy_perf(const struct policy_query *q, double gain, double room_used, double iops_used)
{
	const struct policy_weights *weights = &q->options->weights;
	double usd_per_gb = q->usd_per_gb + gain;
	double writes = 2 * q->workload->write_ratio, reads = 2 * (1 - q->workload->write_ratio);
	double room, room_cv, iops, iops_cv;

	balance_with(q->pool, COST_ROOM, room_used / q->model->capacity_gb,
	    q->workload->working_set_gb / q->model->capacity_gb, &room, &room_cv);
	balance_with(q->pool, COST_IOPS, iops_used / q->model->iops, q->iops / q->model->iops, &iops, &iops_cv);
	return (q->dearest_usd_per_gb > 0 ? writes * weights->cost * (usd_per_gb / q->dearest_usd_per_gb) : 0) +
	    reads * (weights->room_cv * room_cv - weights->room * room + weights->iops_cv * iops_cv -
	    weights->iops * iops);
}

/* What the disk alone would cost per GB with the workload [TCO'(i,k)]. */
static bool
is_too_dear(const struct policy_query *q, const struct disk *disk, const struct cost *change)
{
	struct cost own = cost_of(disk, 1);

	own.usd += change->usd;
	own.served_gb += change->served_gb;
	return cost_usd_per_gb(&own) > q->options->usd_per_gb_max;
}

/* Of a disk that takes the workload; of one that is written the pool knows when it is worn out. */
static double
score_of(const struct policy_query *q, uint32_t index)
{
	const struct disk *disk = &q->pool->disks[index];
	const double *point = q->pool->nodes.points[index];
	struct cost change;

	switch (q->policy) {
	case POLICY_MAX_REM_CYCLE:
		return disk_worn_gb(disk, q->now_days) - disk->model->endurance_gb;
	case POLICY_MIN_WAF: {
		double rate = disk->rate_gb_per_day + q->workload->write_gb_per_day;
		double seq = disk->seq_gb_per_day + q->workload->write_gb_per_day * q->workload->seq_ratio;

		return rate > 0 ? waf_at(&disk->model->waf, seq < rate ? seq / rate : 1) : 1;
	}
	case POLICY_MIN_RATE:
		return disk->rate_gb_per_day;
	case POLICY_MIN_WORKLOADS:
		return disk->workloads;
	case POLICY_LEAST_USED:
		return cost_utilisation(disk, COST_ROOM);
	default:
		break;
	}
	if (q->warm_up && disk->workloads > 0)
		return INFINITY;
	change = point[POOL_RATE] > 0 ? change_written(q->model, point, q->workload, q->now_days) :
	    policy_change(disk, q->workload, q->now_days);
	if (q->options->usd_per_gb_max < INFINITY && is_too_dear(q, disk, &change))
		return INFINITY;
	if (q->warm_up)
		return 0;

	double gain = policy_gain(q->policy, &q->cost, &change);

	if (q->dearest)
		return -gain;
	return q->policy == POLICY_MINTCO_PERF ? policy_perf(q, gain, disk->used_gb, disk->used_iops) : gain;
}

/* As disk_refuses() says, of a disk of the kind that is looked at, with what the pool knows. */
static bool
takes(const struct policy_query *q, uint32_t index)
{
	const double *point = q->pool->nodes.points[index];

	return index + 1 != q->options->except && point[POOL_DEATH] > (point[POOL_RATE] > 0 ? q->now_days : 0) &&
	    point[POOL_ROOM] + q->workload->working_set_gb <= q->model->capacity_gb * q->pool->room_max &&
	    point[POOL_IOPS] + q->iops <= q->model->iops * q->pool->iops_max;
}

static double
score(struct tree_query *query, uint32_t item)
{
	const struct policy_query *q = container_of(query, struct policy_query, query);

	return takes(q, item) ? score_of(q, item) : INFINITY;
}

static void
set_kind(struct policy_query *q, const struct disk_model *model)
{
	q->model = model;
	q->iops = disk_iops_for(model, q->workload);
	q->own_waf = waf_at(&model->waf, q->workload->seq_ratio);
	q->flat_rate = q->usd_per_gb > 0 ? sqrt(model->usd_per_day * q->workload->write_gb_per_day / q->usd_per_gb) -
	    q->workload->write_gb_per_day : 0;
}

static void
ask_tree(struct policy_query *q, const struct pool_kind *kind, enum pool_state state)
{
	set_kind(q, kind->model);
	q->state = state;
	tree_find(&q->pool->nodes, &kind->trees[state], &q->query);
}

/* Which of the trees whose bounds are narrow has the best one: there the best is most likely, and the others are then
 * hardly opened. */
static const struct pool_kind *
most_likely(struct policy_query *q)
{
	const struct pool_kind *likely = NULL;
	double least = INFINITY;

	q->state = POOL_FLAT;
	for (uint32_t k = 0; k < q->pool->kind_count; k++) {
		const struct pool_kind *kind = &q->pool->kinds[k];
		double bound;

		if (kind->trees[POOL_FLAT].root == TREE_NONE)
			continue;
		set_kind(q, kind->model);
		bound = policy_bound(&q->query, &q->pool->nodes.nodes[kind->trees[POOL_FLAT].root]);
		if (bound < least) {
			least = bound;
			likely = kind;
		}
	}
	return likely;
}

static void
ask(struct policy_query *q)
{
	const struct pool *pool = q->pool;
	const struct pool_kind *likely;

	tree_query_init(&q->query, policy_bound, score);
	q->query.except = q->options->except > 0 ? q->options->except - 1 : TREE_NONE;
	likely = q->warm_up ? NULL : most_likely(q);
	if (likely != NULL)
		ask_tree(q, likely, POOL_FLAT);
	for (unsigned state = q->warm_up ? POOL_UNWRITTEN : POOL_FLAT; state < POOL_STATES; state++)
		for (uint32_t k = 0; k < pool->kind_count; k++)
			if (&pool->kinds[k] != likely || state != POOL_FLAT)
				ask_tree(q, &pool->kinds[k], (enum pool_state)state);
}

static bool
is_taker(struct policy_query *q, uint32_t disk)
{
	set_kind(q, q->pool->disks[disk].model);
	return takes(q, disk);
}

/* The same by looking at all. */
static void
scan(struct policy_query *q)
{
	tree_query_init(&q->query, NULL, NULL);
	for (uint32_t i = 0; i < q->pool->count; i++) {
		double found;

		if (!is_taker(q, i))
			continue;
		q->query.opened++;
		found = score_of(q, i);
		if (found < q->query.best_score) {
			q->query.best_score = found;
			q->query.best = i;
		}
	}
}

/* Round robin and random: the next one from somewhere on; or of all that take it any. */
static void
deal(struct policy_query *q, struct policy_state *state)
{
	uint32_t n = q->pool->count, takers = 0;

	if (q->policy == POLICY_ROUND_ROBIN) {
		for (uint32_t i = 0; i < n && q->query.best == TREE_NONE; i++)
			if (is_taker(q, (state->next + i) % n))
				q->query.best = (state->next + i) % n;
		if (q->query.best != TREE_NONE)
			state->next = (q->query.best + 1) % n;
		return;
	}
	for (unsigned i = 0; i < 64 && n > 0; i++) {
		uint32_t disk = (uint32_t)rng_below(state->rng, n);

		if (is_taker(q, disk)) {
			q->query.best = disk;
			return;
		}
	}
	for (uint32_t i = 0; i < n; i++) /* few take it: each of them with the same chance */
		if (is_taker(q, i) && rng_below(state->rng, ++takers) == 0)
			q->query.best = i;
}

static void
count_refusals(const struct policy_query *q, struct policy_choice *choice)
{
	for (uint32_t i = 0; i < q->pool->count; i++)
		choice->refused[disk_refuses(&q->pool->disks[i], q->workload, q->now_days, q->pool->room_max,
		    q->pool->iops_max)]++;
}

static void
choose(struct policy_query *q, void (*look)(struct policy_query *q), struct policy_state *state,
    struct policy_choice *choice)
{
	*choice = (struct policy_choice){ .disk = TREE_NONE, .before = q->cost, .after = q->cost };
	tree_query_init(&q->query, NULL, NULL);
	if (q->policy == POLICY_ROUND_ROBIN || q->policy == POLICY_RANDOM) {
		deal(q, state);
	} else {
		q->warm_up = is_mintco(q->policy) && !q->options->no_warm_up;
		if (q->warm_up)
			look(q);
		choice->warm_up = q->query.best != TREE_NONE;
		q->warm_up = false;
	}
	if (q->query.best == TREE_NONE && q->policy == POLICY_MINTCO_PERF) {
		q->dearest = true;
		look(q);
		q->dearest = false;
		q->dearest_usd_per_gb = q->usd_per_gb - q->query.best_score;
	}
	if (!choice->warm_up && q->policy != POLICY_ROUND_ROBIN && q->policy != POLICY_RANDOM)
		look(q);
	choice->opened = q->query.opened;
	choice->disk = q->query.best;
	if (choice->disk == TREE_NONE) {
		count_refusals(q, choice);
		return;
	}

	struct cost change = policy_change(&q->pool->disks[choice->disk], q->workload, q->now_days);

	choice->score = q->query.best_score;
	choice->after.usd += change.usd;
	choice->after.lifetime_days += change.lifetime_days;
	choice->after.served_gb += change.served_gb;
}

static unsigned
nearest_value(const struct workload *workload)
{
	unsigned nearest = 0;

	for (unsigned i = 1; i < POOL_AXES - POOL_VALUE; i++)
		if (fabs(pool_value_rates[i] - workload->write_gb_per_day) <
		    fabs(pool_value_rates[nearest] - workload->write_gb_per_day))
			nearest = i;
	return nearest;
}

static struct policy_query
question(const struct pool *pool, enum policy policy, const struct policy_options *options,
    const struct workload *workload, double now_days)
{
	struct cost cost = pool_cost(pool);

	return (struct policy_query){
		.pool = pool, .policy = policy, .options = options, .workload = workload, .now_days = now_days,
		.cost = cost, .usd_per_gb = cost.served_gb > 0 ? cost_usd_per_gb(&cost) : 0,
		.value = nearest_value(workload),
	};
}

void
policy_choose(const struct pool *pool, enum policy policy, const struct policy_options *options,
    struct policy_state *state, const struct workload *workload, double now_days, struct policy_choice *choice)
{
	struct policy_query q = question(pool, policy, options, workload, now_days);

	choose(&q, ask, state, choice);
}

void
policy_scan(const struct pool *pool, enum policy policy, const struct policy_options *options,
    struct policy_state *state, const struct workload *workload, double now_days, struct policy_choice *choice)
{
	struct policy_query q = question(pool, policy, options, workload, now_days);

	choose(&q, scan, state, choice);
}
