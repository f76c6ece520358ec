#include "place/pool.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "base/list.h"

static_assert((int)POOL_AXES == (int)TREE_AXES, "an axis of the tree for each");

const double pool_value_rates[] = { 30, 300 };

/* Boxes are by what a disk is worth to workloads of a medium rate; and by what it depends on how much that changes. */
static const float weights[POOL_STATES][TREE_AXES] = {
	[POOL_FLAT] = { [POOL_RATE] = 0.1f, [POOL_SEQ] = 0.03f, [POOL_VALUE] = 1 },
	[POOL_STEEP] = { [POOL_RATE] = 1, [POOL_SEQ] = 8, [POOL_VALUE] = 1 },
	[POOL_UNWRITTEN] = { [POOL_DEATH] = 1 },
	[POOL_UNUSED] = { [POOL_DEATH] = 1 },
};

static void
sum_add(struct pool_sum *sum, double value)
{
	double total = sum->sum + value;

	sum->lost += fabs(sum->sum) >= fabs(value) ? (sum->sum - total) + value : (value - total) + sum->sum;
	sum->sum = total;
}

/* Adds what a disk is to the sums, or with a sign of -1 takes it from them. */
static void
count_disk(struct pool *pool, const struct disk *disk, double sign)
{
	sum_add(&pool->usd, sign * disk_tco_usd(disk));
	sum_add(&pool->lifetime_days, sign * disk_lifetime_days(disk));
	sum_add(&pool->served_gb, sign * disk_total_gb(disk));
	for (unsigned r = 0; r < COST_RESOURCES; r++) {
		double used = cost_utilisation(disk, (enum cost_resource)r);

		sum_add(&pool->used[r], sign * used);
		sum_add(&pool->used_squares[r], sign * used * used);
	}
}

/* What no allocator can tell apart. */
static bool
same_disk(const void *owner, uint32_t a, uint32_t b)
{
	const struct pool *pool = owner;
	const struct disk *x = &pool->disks[a], *y = &pool->disks[b];

	return x->rate_gb_per_day == y->rate_gb_per_day && x->seq_gb_per_day == y->seq_gb_per_day &&
	    x->used_gb == y->used_gb && x->used_iops == y->used_iops && x->workloads == y->workloads &&
	    x->first_days == y->first_days && x->since_days == y->since_days && x->worn_gb == y->worn_gb &&
	    x->served_gb == y->served_gb && x->used == y->used;
}

static struct tree *
tree_of(struct pool *pool, uint32_t disk)
{
	const struct disk *d = &pool->disks[disk];
	enum pool_state state = d->rate_gb_per_day == 0 ? (d->used ? POOL_UNWRITTEN : POOL_UNUSED) :
	    disk_seq_ratio(d) <= d->model->waf.epsilon ? POOL_FLAT : POOL_STEEP;

	return &pool->kinds[pool->kind_of[disk]].trees[state];
}

static void
enter(struct pool *pool, uint32_t disk)
{
	const struct disk *d = &pool->disks[disk];
	double left_gb = d->model->endurance_gb - d->worn_gb;
	double point[TREE_AXES] = {
		[POOL_RATE] = d->rate_gb_per_day,
		[POOL_SEQ] = disk_seq_ratio(d),
		[POOL_DEATH] = d->rate_gb_per_day > 0 ? disk_death_days(d) : left_gb > 0 ? left_gb : 0,
		[POOL_ROOM] = d->used_gb,
		[POOL_IOPS] = d->used_iops,
		[POOL_WORKLOADS] = d->workloads,
	};

	for (unsigned i = 0; i < POOL_AXES - POOL_VALUE; i++)
		point[POOL_VALUE + i] = point[POOL_DEATH] / (point[POOL_RATE] + pool_value_rates[i]);
	tree_insert(&pool->nodes, tree_of(pool, disk), disk, point);
}

/* Both around each change of a disk. */
static void
begin_change(struct pool *pool, uint32_t disk)
{
	count_disk(pool, &pool->disks[disk], -1);
	tree_remove(&pool->nodes, tree_of(pool, disk), disk);
}

static void
end_change(struct pool *pool, uint32_t disk)
{
	count_disk(pool, &pool->disks[disk], 1);
	enter(pool, disk);
}

static struct pool_kind
new_kind(const struct disk_model *model)
{
	struct pool_kind kind = { .model = model };

	for (unsigned state = 0; state < POOL_STATES; state++)
		kind.trees[state] = (struct tree){ .root = TREE_NONE, .weights = weights[state] };
	return kind;
}

/* The kind of each disk, by the address of its model.  How many there are. */
static uint32_t
find_kinds(struct pool *pool)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0, kind; i < pool->count; i++) {
		for (kind = 0; kind < kinds && pool->kinds[kind].model != pool->disks[i].model; kind++)
			;
		if (kind == kinds)
			pool->kinds[kinds++] = new_kind(pool->disks[i].model);
		pool->kind_of[i] = kind;
	}
	return kinds;
}

int
pool_init(struct pool *pool, struct arena *arena, const struct disk *disks, uint32_t count,
    const struct workload *workloads, uint32_t workload_count)
{
	*pool = (struct pool){
		.arena = arena, .count = count, .workloads = workloads, .workload_count = workload_count,
		.disks = arena_alloc(arena, (count + 1) * sizeof(*pool->disks)),
		.first = arena_alloc(arena, (count + 1) * sizeof(*pool->first)),
		.kind_of = arena_alloc(arena, (count + 1) * sizeof(*pool->kind_of)),
		.kinds = arena_alloc(arena, (count + 1) * sizeof(*pool->kinds)),
		.places = arena_alloc(arena, ((size_t)workload_count + 1) * sizeof(*pool->places)),
		.room_max = 1, .iops_max = 1,
	};
	if (pool->disks == NULL || pool->first == NULL || pool->kind_of == NULL || pool->kinds == NULL ||
	    pool->places == NULL || tree_nodes_init(&pool->nodes, arena, count, same_disk, pool) != 0) {
		pool_fini(pool);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < workload_count; i++)
		pool->places[i].disk = TREE_NONE;
	for (uint32_t i = 0; i < count; i++) {
		assert(disks[i].workloads == 0);
		pool->disks[i] = disks[i];
		pool->first[i] = TREE_NONE;
	}
	pool->kind_count = find_kinds(pool);
	for (uint32_t i = 0; i < count; i++)
		end_change(pool, i);
	return 0;
}

void
pool_fini(struct pool *pool)
{
	tree_nodes_fini(&pool->nodes, pool->arena);
	arena_free(pool->arena, pool->disks);
	arena_free(pool->arena, pool->first);
	arena_free(pool->arena, pool->kind_of);
	arena_free(pool->arena, pool->kinds);
	arena_free(pool->arena, pool->places);
}

static void
link_to(struct pool *pool, uint32_t workload, uint32_t disk)
{
	struct pool_place *place = &pool->places[workload];

	*place = (struct pool_place){ .disk = disk, .next = pool->first[disk], .previous = TREE_NONE };
	if (place->next != TREE_NONE)
		pool->places[place->next].previous = workload;
	pool->first[disk] = workload;
	pool->placed++;
}

static void
unlink_from(struct pool *pool, uint32_t workload)
{
	struct pool_place *place = &pool->places[workload];

	if (place->previous == TREE_NONE)
		pool->first[place->disk] = place->next;
	else
		pool->places[place->previous].next = place->next;
	if (place->next != TREE_NONE)
		pool->places[place->next].previous = place->previous;
	place->disk = TREE_NONE;
	pool->placed--;
}

void
pool_put(struct pool *pool, uint32_t workload, uint32_t disk, double now_days)
{
	assert(pool->places[workload].disk == TREE_NONE);
	begin_change(pool, disk);
	disk_put(&pool->disks[disk], &pool->workloads[workload], now_days);
	end_change(pool, disk);
	link_to(pool, workload, disk);
}

void
pool_drop(struct pool *pool, uint32_t workload, double now_days)
{
	uint32_t disk = pool->places[workload].disk;

	begin_change(pool, disk);
	disk_drop(&pool->disks[disk], &pool->workloads[workload], now_days);
	end_change(pool, disk);
	unlink_from(pool, workload);
}

void
pool_move(struct pool *pool, uint32_t workload, uint32_t disk, double now_days, double usd_per_gb)
{
	const struct workload *w = &pool->workloads[workload];

	assert(pool->places[workload].disk != disk);
	pool_drop(pool, workload, now_days);
	begin_change(pool, disk);
	disk_put(&pool->disks[disk], w, now_days);
	disk_copy(&pool->disks[disk], w->working_set_gb);
	end_change(pool, disk);
	link_to(pool, workload, disk);
	sum_add(&pool->moving_usd, w->working_set_gb * usd_per_gb);
	pool->moves++;
}

/* Which disk is worn out first. */
struct worn_query {
	struct tree_query query;
	const struct pool *pool;
	double now_days;
};

static double
earliest(struct tree_query *query, const struct tree_node *node)
{
	const struct worn_query *worn = container_of(query, struct worn_query, query);
	double death_days = (double)node->box.low[POOL_DEATH];

	return death_days <= worn->now_days ? death_days : INFINITY;
}

static double
death(struct tree_query *query, uint32_t disk)
{
	const struct worn_query *worn = container_of(query, struct worn_query, query);
	double death_days = disk_death_days(&worn->pool->disks[disk]);

	return death_days <= worn->now_days ? death_days : INFINITY;
}

uint32_t
pool_worn(const struct pool *pool, double now_days)
{
	struct worn_query worn = { .pool = pool, .now_days = now_days };

	tree_query_init(&worn.query, earliest, death);
	for (uint32_t k = 0; k < pool->kind_count; k++)
		for (unsigned state = POOL_FLAT; state <= POOL_STEEP; state++)
			tree_find(&pool->nodes, &pool->kinds[k].trees[state], &worn.query);
	return worn.query.best;
}

uint32_t
pool_bury(struct pool *pool, uint32_t disk)
{
	uint32_t first = pool->first[disk];

	begin_change(pool, disk);
	disk_bury(&pool->disks[disk]);
	end_change(pool, disk);
	pool->first[disk] = TREE_NONE;
	for (uint32_t w = first; w != TREE_NONE; w = pool->places[w].next) {
		pool->places[w].disk = TREE_NONE;
		pool->placed--;
	}
	return first;
}

struct cost
pool_cost(const struct pool *pool)
{
	return (struct cost){
		.usd = pool_sum(&pool->usd) + pool_sum(&pool->moving_usd),
		.lifetime_days = pool_sum(&pool->lifetime_days),
		.served_gb = pool_sum(&pool->served_gb),
	};
}

void
pool_balance(const struct pool *pool, enum cost_resource resource, double *mean, double *cv)
{
	double n = pool->count, squares = pool_sum(&pool->used_squares[resource]);

	*mean = n > 0 ? pool_sum(&pool->used[resource]) / n : 0;
	*cv = *mean > 0 ? sqrt(fmax(squares / n - *mean * *mean, 0)) / *mean : 0;
}

static void
check_near(double found, double expected)
{
	assert(fabs(found - expected) <= 1e-9 * fabs(expected) + 1e-9);
}

void
pool_check(const struct pool *pool)
{
	struct cost kept = pool_cost(pool), direct = cost_of(pool->disks, pool->count);
	uint32_t disks = 0, workloads = 0;

	check_near(kept.usd, direct.usd + pool_sum(&pool->moving_usd));
	check_near(kept.lifetime_days, direct.lifetime_days);
	check_near(kept.served_gb, direct.served_gb);
	for (uint32_t k = 0; k < pool->kind_count; k++)
		for (unsigned state = 0; state < POOL_STATES; state++)
			disks += tree_check(&pool->nodes, &pool->kinds[k].trees[state]);
	assert(disks == pool->count);
	for (uint32_t i = 0; i < pool->count; i++) {
		uint32_t on_it = 0;

		for (uint32_t w = pool->first[i]; w != TREE_NONE; w = pool->places[w].next, on_it++)
			assert(pool->places[w].disk == i);
		assert(on_it == pool->disks[i].workloads);
		workloads += on_it;
	}
	assert(workloads == pool->placed);
}
