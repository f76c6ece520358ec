/* test_qos_books.c - what always holds in the switch, whatever comes, ends, is cancelled, leaves or is limited. */
#include "qos_bench.h"

#include <string.h>

#include "base/rng.h"

/* Something of it waits that no cap holds back. */
static bool
waits_for_turn(const struct qos_tenant *tenant)
{
	for (int queue = 0; queue < QOS_QUEUES; queue++)
		if (!list_empty(&tenant->queues[queue]) && tenant->lanes[queue % QOS_KINDS].shut != QOS_SHUT_CAP)
			return true;
	return false;
}

static void
check(struct bench *b)
{
	unsigned most_each = b->qos.share.turns_decide ? QOS_SLOTS_MAX : b->qos.share.slots_each;
	unsigned flies = 0, counted = 0, backlogged = 0;
	uint64_t occupied = 0;

	for (int t = 0; t < TENANTS; t++) {
		const struct qos_tenant *tenant = &b->tenants[t];
		unsigned waits = 0, flying = 0, in_slots = 0, full = 0;

		for (int i = 0; i < IOS; i++) {
			waits += b->where[t][i] == WAITS;
			flying += b->where[t][i] == FLIES;
			if (b->where[t][i] == FLIES)
				occupied += b->ios[t][i].occupies;
		}
		for (unsigned s = 0; s < QOS_SLOTS_ROOM; s++) {
			bool is_taken = (tenant->slots_taken & UINT64_C(1) << s) != 0;
			bool open = s == tenant->slot[QOS_READ] || s == tenant->slot[QOS_WRITE];

			full += is_taken && !open;
			if (is_taken)
				in_slots += tenant->slots[s] - open;
			assert_true(is_taken || !open);
			assert_true(!is_taken || tenant->slots[s] > 0);
		}
		assert_int_equal(tenant->waiting, waits);
		assert_int_equal(tenant->inflight, flying);
		assert_int_equal(in_slots, flying);
		assert_int_equal(full, tenant->slots_full);
		/* no more than there are for each, or than it had when there were more, and one that it fills then */
		assert_true(full <= most_each || full <= b->had[t] ||
		    (full == b->had[t] + 1u && tenant->state == QOS_DEFERRED));
		b->had[t] = (uint8_t)full;
		assert_true(tenant->state != QOS_DEFERRED || (tenant->deficit == 0 && flying > 0));
		assert_true(tenant->counted || waits + flying == 0);
		flies += flying;
		counted += tenant->counted;
		backlogged += waits_for_turn(tenant);
	}
	assert_int_equal(b->qos.share.counted, counted);
	assert_int_equal(b->qos.share.backlogged, backlogged);
	assert_int_equal(b->qos.occupied, occupied);
	assert_int_equal(list_empty(&b->qos.flying), flies == 0);
}

/* Something waits: then something will happen, by itself or at a time that is said. */
static void
check_alive(struct bench *b)
{
	bool waits = false, flies = false;

	for (int t = 0; t < TENANTS; t++) {
		waits |= b->tenants[t].waiting > 0;
		flies |= b->tenants[t].inflight > 0;
	}
	if (waits && !flies)
		assert_true(qos_deadline(&b->qos, b->now) < b->now + S);
}

/* Nobody knows it any more. */
static void
check_gone(const struct bench *b, const struct qos_tenant *tenant)
{
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		assert_ptr_not_equal(b->qos.tokens[kind].passing, &tenant->lanes[kind]);
		for (int of = QOS_CAP_TENANT; of <= QOS_CAP_ALL; of++)
			assert_ptr_not_equal(b->caps[of].entries[kind].stile.passing, &tenant->lanes[kind]);
	}
}

/* Some limits, each of them not often. */
static void
draw_limits(struct rng *rng, struct qos_limit limits[QOS_KINDS])
{
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		limits[kind].ios = rng_below(rng, 3) == 0 ? 10 + rng_below(rng, 20000) : 0;
		limits[kind].bytes = rng_below(rng, 3) == 0 ? 20 * MIB + rng_below(rng, 1 << 30) : 0;
	}
}

static void
draw_tenants(struct bench *b, struct rng *rng)
{
	struct qos_limit limits[QOS_KINDS];

	qos_group_init(&b->group, (uint32_t)(1 + rng_below(rng, 100)));
	for (int t = 0; t < TENANTS; t++)
		qos_tenant_init(&b->tenants[t], t % 2 == 0 ? &b->group : NULL, (uint32_t)(1 + rng_below(rng, 100)));
	for (int of = QOS_CAP_TENANT; of <= QOS_CAP_ALL; of++) {
		draw_limits(rng, limits);
		qos_cap_init(&b->caps[of], limits, 0);
		qos_use_cap(&b->qos, &b->caps[of], (enum qos_cap_of)of);
	}
	b->tenants[0].cap = rng_below(rng, 2) == 0 ? &b->caps[QOS_CAP_TENANT] : NULL;
	b->group.cap = rng_below(rng, 2) == 0 ? &b->caps[QOS_CAP_GROUP] : NULL;
	b->qos.cap = rng_below(rng, 2) == 0 ? &b->caps[QOS_CAP_ALL] : NULL;
}

static void
play(struct bench *b, struct rng *rng)
{
	static const uint32_t sizes[] = { 512, 4 * KIB, 16 * KIB, 100 * KIB, 128 * KIB, MIB };
	int t = (int)rng_below(rng, TENANTS), i = (int)rng_below(rng, IOS);
	struct qos_limit limits[QOS_KINDS];
	struct qos_io *io;

	switch (rng_below(rng, 9)) {
	case 0:
		if (b->where[t][i] == WAITS) {
			qos_cancel(&b->qos, &b->ios[t][i], b->now);
			b->where[t][i] = OUT;
		}
		break;
	case 1:
	case 2:
		if (b->where[t][i] == OUT)
			bench_arrive(b, t, i, (enum qos_op)rng_below(rng, QOS_OP_COMPARE_WRITE + 1),
			    sizes[rng_below(rng, 6)]);
		break;
	case 3:
	case 4:
		while ((io = bench_go(b)) != NULL)
			check(b);
		break;
	case 5:
		if (b->where[t][i] == FLIES)
			bench_end(b, &b->ios[t][i], rng_below(rng, 3 * MS));
		break;
	case 6:
		if (b->tenants[t].waiting == 0 && b->tenants[t].inflight == 0) {
			struct qos_tenant was = b->tenants[t];

			qos_leave(&b->qos, &b->tenants[t]);
			check_gone(b, &b->tenants[t]);
			memset(&b->tenants[t], 0xff, sizeof(b->tenants[t])); /* nobody may look at it */
			while (bench_go(b) != NULL)
				continue;
			for (int other = 0; other < TENANTS; other++)
				b->had[other] = b->tenants[other].slots_full;
			qos_tenant_init(&b->tenants[t], was.group, was.weight);
			b->tenants[t].cap = was.cap;
		}
		break;
	case 7:
		b->now += rng_below(rng, 300 * US);
		break;
	case 8:
		draw_limits(rng, limits);
		if (rng_below(rng, 20) == 0)
			qos_change_cap(&b->caps[rng_below(rng, 3)], limits, (uint32_t)rng_below(rng, 100));
		break;
	}
}

static void
whatever_comes_the_books_are_right(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct bench b;
		struct rng rng;

		rng_seed(&rng, seed);
		bench_begin(&b, TENANTS);
		draw_tenants(&b, &rng);
		for (int i = 0; i < 3000; i++) {
			play(&b, &rng);
			check(&b);
			while (i % 100 == 0 && bench_go(&b) != NULL)
				check(&b);
			if (i % 100 == 0)
				check_alive(&b);
		}
		/* all of it comes to an end */
		for (int left = 1, rounds = 0; left > 0; rounds++) {
			assert_true(rounds < 100000);
			left = 0;
			while (bench_go(&b) != NULL)
				continue;
			check_alive(&b);
			b.now += 100 * US;
			for (int t = 0; t < TENANTS; t++)
				for (int i = 0; i < IOS; i++) {
					left += b.where[t][i] == WAITS;
					if (b.where[t][i] == FLIES)
						bench_end(&b, &b.ios[t][i], 100 * US);
				}
		}
		for (int t = 0; t < TENANTS; t += 2) {
			qos_leave(&b.qos, &b.tenants[t]);
			check_gone(&b, &b.tenants[t]);
		}
		b.now += S;
		assert_null(bench_go(&b));
		check(&b);
		assert_int_equal(b.qos.share.counted, 0);
		assert_int_equal(b.qos.share.weights, 0);
		assert_int_equal(qos_deadline(&b.qos, b.now), UINT64_MAX);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_comes_the_books_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
