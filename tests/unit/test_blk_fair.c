/*
 * test_blk_fair.c - the filter that lets tenants' I/Os wait for their turn: whose it is, what holds it back, and how it
 * ends.  That it is a device like others test_blk_conform.c says, and how fair its turns are the tests of qos/.
 */
#include "blk/fair.h"
#include "blk_bench.h"

#include <stdio.h>
#include <string.h>

#include "blk/devices.h"

enum { AWAY, HOME, MS = 1000 * 1000, S = 1000 * MS, IOS = 30, MANY = 1536 };

static struct blk_tenant alice = { .number = 1 }, bob = { .number = 2 };
static struct fair_group groups[2];
static struct fair_host hosts[2];
static struct fair_volume volume;
static uint32_t group_count;

/* What holds: what was said before stays while others take its place. */
static struct said {
	struct fair_group groups[2];
	struct fair_host hosts[2];
	struct fair_terms terms;
} said[2];
static unsigned saying;

/* Nothing is limited; what a test says of it holds from say() on. */
static void
begin(const char *spec)
{
	struct blk *inner;
	char why[256];

	fakeworld_init(&fw, CHANS);
	for (unsigned i = 0; i < CHANS; i++)
		fw.reactors[i].on_mail = blk_mail;
	snprintf(alice.name, sizeof(alice.name), "nqn.2026-11.test:alice");
	snprintf(bob.name, sizeof(bob.name), "nqn.2026-11.test:bob");
	for (int i = 0; i < 2; i++) {
		groups[i] = (struct fair_group){ .weight = 1 };
		hosts[i] = (struct fair_host){ .group = FAIR_NO_GROUP, .weight = 1 };
		snprintf(hosts[i].nqn, sizeof(hosts[i].nqn), "%s", i == 0 ? alice.name : bob.name);
	}
	group_count = 2;
	volume = (struct fair_volume){ .paced = false };
	assert_int_equal(blk_open(&fw.reactors[0], spec, BS, &inner, why), 0);
	assert_int_equal(fair_open(&fw.reactors[0], HOME, inner, &blk), 0);
	blk_open_chans();
	assert_true(fair_is(blk));
}

static void
say(void)
{
	struct said *now = &said[saying++ % 2];

	memcpy(now->groups, groups, sizeof(groups));
	memcpy(now->hosts, hosts, sizeof(hosts));
	now->terms = (struct fair_terms){ now->groups, group_count, now->hosts, 2 };
	for (unsigned i = 0; i < CHANS; i++)
		fair_apply(chans[i], &volume, &now->terms);
}

static struct test_io *
ask(unsigned chan, const struct blk_tenant *who, enum blk_op op, uint64_t lba)
{
	struct test_io *t = io_make(chan, op, 0, lba, 1);

	t->io.tenant = who;
	io_submit(t);
	return t;
}

static void
ask_all(struct test_io *ios[IOS], unsigned chan, const struct blk_tenant *who, enum blk_op op)
{
	for (unsigned i = 0; i < IOS; i++)
		ios[i] = ask(chan, who, op, i);
}

static unsigned
over(struct test_io *ios[IOS])
{
	unsigned count = 0;

	turns(6);
	for (unsigned i = 0; i < IOS; i++)
		count += ios[i]->done;
	return count;
}

static void
end_all(struct test_io *ios[IOS])
{
	for (unsigned i = 0; i < IOS; i++)
		io_ended(ios[i], NVME_SC_SUCCESS);
}

static void
at_first_nothing_is_held_back(void **state)
{
	struct test_io *a[IOS], *b[IOS], *c[IOS];

	(void)state;
	begin("mem:4M");
	ask_all(a, AWAY, &alice, BLK_WRITE);
	ask_all(b, HOME, &bob, BLK_WRITE);
	ask_all(c, AWAY, NULL, BLK_READ);
	assert_int_equal(over(a) + over(b) + over(c), 3 * IOS);
	end_all(a);
	end_all(b);
	end_all(c);
	turns(3);
	for (unsigned i = 0; i < CHANS; i++)
		assert_int_equal(reactor_next(&fw.reactors[i]), UINT64_MAX);
	blk_end();
}

static void
a_host_has_no_more_than_its_limit_and_others_have(void **state)
{
	struct test_io *a[IOS], *b[IOS], *w[IOS];

	(void)state;
	begin("mem:4M");
	hosts[0].limits.limits[QOS_READ].ios = 10;
	say();
	ask_all(a, AWAY, &alice, BLK_READ);
	ask_all(w, HOME, &alice, BLK_WRITE);
	ask_all(b, AWAY, &bob, BLK_READ);
	assert_int_equal(over(b), IOS);
	assert_int_equal(over(w), IOS);
	assert_int_equal(over(a), 1);
	assert_true(reactor_next(&fw.reactors[HOME]) < fw.now_ns + 100 * MS);
	for (unsigned tenths = 1; tenths <= 10; tenths++) {
		fw.now_ns += 100 * MS;
		assert_int_equal(over(a), 1 + tenths);
	}
	/* the same once more is no burst anew; another limit is one for what waits, too */
	say();
	assert_int_equal(over(a), 11);
	hosts[0].limits.limits[QOS_READ].ios = 0;
	say();
	assert_int_equal(over(a), IOS);
	end_all(a);
	end_all(b);
	end_all(w);
	blk_end();
}

static void
a_group_and_a_volume_have_limits_too(void **state)
{
	struct test_io *a[IOS], *b[IOS], *c[IOS];

	(void)state;
	begin("mem:4M");
	groups[1].limits.limits[QOS_WRITE].bytes = 10 * BS;
	hosts[0].group = hosts[1].group = 1;
	volume.limits.limits[QOS_WRITE].ios = 20;
	say();
	ask_all(a, AWAY, &alice, BLK_WRITE);
	ask_all(b, HOME, &bob, BLK_WRITE);
	ask_all(c, HOME, NULL, BLK_WRITE);
	for (unsigned i = 0; i < 100; i++) {
		fw.now_ns += 10 * MS;
		turns(6);
	}
	assert_in_range(over(a), 4, 6);
	assert_in_range(over(b), 4, 6);
	assert_in_range(over(c), 9, 12);
	/* all move, while they wait */
	hosts[0].group = hosts[1].group = FAIR_NO_GROUP;
	volume.limits.limits[QOS_WRITE].ios = 0;
	group_count = 0;
	say();
	assert_int_equal(over(a) + over(b) + over(c), 3 * IOS);
	end_all(a);
	end_all(b);
	end_all(c);
	blk_end();
}

/* Of a device that takes its time: what waits is of one tenant alone, and another one's goes at once. */
static void
who_asks_for_much_waits_and_others_do_not(void **state)
{
	struct test_io *a[IOS], *b;

	(void)state;
	begin("flash:optane,4M");
	volume.paced = true;
	qos_params_default(&volume.params);
	volume.params.size_cost[QOS_READ][0] = 8 * QOS_COST_ONE; /* four of them fill a slot */
	volume.params.slots = volume.params.slots_least = 1;
	volume.params.inflight_bytes = QOS_SLOT_BYTES;
	say();
	ask_all(a, AWAY, &alice, BLK_READ);
	assert_int_equal(over(a), 0);
	b = ask(AWAY, &bob, BLK_READ, 5);
	while (b->done == 0)
		turns(1);
	assert_true(over(a) < IOS / 2);
	for (int i = 0; i < 10000 && over(a) < IOS; i++)
		turns(1);
	end_all(a);
	io_ended(b, NVME_SC_SUCCESS);
	turns(1);
	blk_end();
}

/* What a channel of another reactor has for all its hosts is not one's who is held back. */
static void
who_is_held_back_leaves_requests_for_others(void **state)
{
	struct test_io *a[MANY], *b[IOS];
	unsigned count = sizeof(a) / sizeof(a[0]);

	(void)state;
	begin("mem:4M");
	hosts[0].limits.limits[QOS_READ].ios = 1;
	say();
	for (unsigned i = 0; i < count; i++)
		a[i] = ask(AWAY, &alice, BLK_READ, 0);
	turns(10);
	ask_all(b, AWAY, &bob, BLK_READ);
	assert_int_equal(over(b), IOS);
	end_all(b);
	for (unsigned i = count - 1; i > count - 100; i--) /* these have not even been sent */
		assert_true(blk->ops->cancel(chans[AWAY], &a[i]->io));
	hosts[0].limits.limits[QOS_READ].ios = 0;
	say();
	for (unsigned i = 0; i < count; i++)
		io_ended(a[i], i > count - 100 ? NVME_SC_ABORT_REQUESTED : NVME_SC_SUCCESS);
	turns(3);
	blk_end();
}

static void
what_waits_can_be_cancelled(void **state)
{
	struct test_io *a[IOS], *b[IOS];

	(void)state;
	begin("mem:4M");
	volume.limits.limits[QOS_READ].ios = 1;
	say();
	ask_all(a, HOME, &alice, BLK_READ);
	ask_all(b, AWAY, &alice, BLK_READ);
	assert_int_equal(over(a) + over(b), 1);
	for (unsigned i = 1; i < IOS; i++) {
		assert_true(blk->ops->cancel(chans[HOME], &a[i]->io));
		assert_false(blk->ops->cancel(chans[HOME], &a[i]->io));
		assert_int_equal(a[i]->done, 0);
	}
	for (unsigned i = 0; i < IOS; i++)
		assert_false(blk->ops->cancel(chans[AWAY], &b[i]->io));
	turns(10);
	io_ended(a[0], NVME_SC_SUCCESS);
	for (unsigned i = 1; i < IOS; i++)
		io_ended(a[i], NVME_SC_ABORT_REQUESTED);
	for (unsigned i = 0; i < IOS; i++)
		io_ended(b[i], NVME_SC_ABORT_REQUESTED);
	assert_int_equal(reactor_next(&fw.reactors[HOME]), UINT64_MAX);
	blk_end();
}

static void
who_is_forgotten_is_somebody_else_later(void **state)
{
	struct blk_tenant carol = { .number = 1, .name = "nqn.2026-11.test:carol" };
	struct test_io *a[IOS];

	(void)state;
	begin("mem:4M");
	hosts[0].limits.limits[QOS_READ].ios = 1;
	say();
	ask_all(a, AWAY, &alice, BLK_READ);
	fw.now_ns += (uint64_t)IOS * S;
	for (int i = 0; i < IOS; i++, fw.now_ns += S)
		turns(6);
	end_all(a);
	for (unsigned i = 0; i < CHANS; i++)
		fair_forget(chans[i], &alice);
	for (unsigned i = 0; i < CHANS; i++)
		fair_forget(chans[i], &bob); /* who never asked */
	ask_all(a, AWAY, &carol, BLK_READ);
	assert_int_equal(over(a), IOS);
	end_all(a);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_first_nothing_is_held_back),
		cmocka_unit_test(a_host_has_no_more_than_its_limit_and_others_have),
		cmocka_unit_test(a_group_and_a_volume_have_limits_too),
		cmocka_unit_test(who_asks_for_much_waits_and_others_do_not),
		cmocka_unit_test(who_is_held_back_leaves_requests_for_others),
		cmocka_unit_test(what_waits_can_be_cancelled),
		cmocka_unit_test(who_is_forgotten_is_somebody_else_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
