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
		groups[i] = (struct fair_group){ .name = { (char)('a' + i) }, .weight = 1 };
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
	hosts[1].weight = 7;
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

/* What it has had is its own, and not that of whoever stands where it stood. */
static void
a_group_is_the_same_wherever_it_stands(void **state)
{
	struct test_io *a[IOS], *b[IOS];
	struct fair_group second;

	(void)state;
	begin("mem:4M");
	groups[1].limits.limits[QOS_READ].ios = 10;
	hosts[0].group = 1;
	say();
	ask_all(a, AWAY, &alice, BLK_READ);
	assert_int_equal(over(a), 1);
	/* the first one is no more */
	second = groups[1];
	groups[0] = second;
	group_count = 1;
	hosts[0].group = 0;
	say();
	assert_int_equal(over(a), 1);
	fw.now_ns += 100 * MS;
	assert_int_equal(over(a), 2);
	/* another one comes, which has had nothing yet */
	groups[0].name[0] = 'c';
	groups[1] = second;
	group_count = 2;
	hosts[0].group = 1;
	hosts[1].group = 0;
	say();
	ask_all(b, AWAY, &bob, BLK_READ);
	assert_int_equal(over(a), 2);
	assert_int_equal(over(b), 1);
	groups[0].limits.limits[QOS_READ].ios = groups[1].limits.limits[QOS_READ].ios = 0;
	say();
	assert_int_equal(over(a) + over(b), 2 * IOS);
	end_all(a);
	end_all(b);
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

static void
what_was_done_and_waits_is_seen(void **state)
{
	struct fair_tenant_view who;
	struct fair_view view;
	struct test_io *a[IOS], *b[IOS];

	(void)state;
	begin("mem:4M");
	assert_false(fair_look(chans[AWAY], &view));
	assert_true(fair_look(chans[HOME], &view));
	assert_false(view.paced);
	assert_int_equal(view.rate, FAIR_ENDLESS);
	assert_int_equal(view.kinds[QOS_READ].headroom, FAIR_ENDLESS);
	assert_false(fair_look_tenant(chans[HOME], &alice, &who));
	hosts[0].limits.limits[QOS_WRITE].ios = 10;
	hosts[0].group = 1;
	say();
	fw.now_ns = 100 * (uint64_t)S;
	turns(1);
	ask_all(a, AWAY, &alice, BLK_WRITE);
	ask_all(b, HOME, &bob, BLK_READ);
	assert_int_equal(over(b), IOS);
	for (unsigned tenths = 1; tenths <= 10; tenths++) {
		fw.now_ns += 100 * MS;
		(void)over(a);
	}
	assert_true(fair_look(chans[HOME], &view));
	assert_int_equal(view.waiting, IOS - 11);
	assert_int_equal(view.inflight, 0);
	assert_int_equal(view.tenants, 1);
	assert_int_equal(view.kinds[QOS_READ].ios, IOS);
	assert_int_equal(view.kinds[QOS_READ].lately.ios, IOS);
	assert_int_equal(view.kinds[QOS_READ].lately.bytes, IOS * BS);
	assert_int_equal(view.kinds[QOS_WRITE].bytes, 11 * BS);
	assert_true(fair_look_tenant(chans[HOME], &alice, &who));
	assert_string_equal(who.nqn, alice.name);
	assert_string_equal(who.group, groups[1].name);
	assert_int_equal(who.waiting, IOS - 11);
	assert_int_equal(who.credits, 1); /* of ten a second what goes in a tenth of one */
	assert_int_equal(a[0]->io.credits, 1);
	assert_int_equal(b[0]->io.credits, 0); /* nothing is said */
	assert_int_equal(who.counts[QOS_WRITE].ios, 11);
	assert_int_equal(who.counts[QOS_READ].ios, 0);
	/* of the ten that ended in that second one had waited for 900 ms; the device was quick with all of them */
	assert_int_equal(who.lately[QOS_WRITE].ios, 10);
	assert_in_range(who.lately[QOS_WRITE].p999_ns, 900 * MS, 1020 * MS);
	assert_in_range(who.lately[QOS_WRITE].p50_ns, 400 * MS, 460 * MS);
	assert_true(view.kinds[QOS_WRITE].lately.p999_ns < 10 * MS);
	for (unsigned i = 0; i < IOS; i++)
		(void)blk->ops->cancel(chans[AWAY], &a[i]->io);
	turns(10);
	assert_true(fair_look(chans[HOME], &view));
	assert_int_equal(view.waiting, 0);
	end_all(b);
	for (unsigned i = 0; i < IOS; i++)
		io_ended(a[i], a[i]->sc);
	blk_end();
}

/* What hosts sent took long to read, and the device was quick. */
static void
a_turn_that_takes_long_is_no_slow_device(void **state)
{
	struct fair_view view;
	struct test_io *a[IOS];
	unsigned at = AWAY; /* a modelled drive has a home already */

	(void)state;
	begin("flash:optane,4M");
	fw.reads_ns = 50 * MS;
	ask_all(a, at, &bob, BLK_READ);
	turns(1);
	fw.reads_ns = 0;
	for (int i = 0; i < 10000 && over(a) < IOS; i++)
		turns(1);
	end_all(a);
	fw.now_ns += S;
	turns(1);
	assert_true(fair_look(chans[at], &view));
	assert_int_equal(view.kinds[QOS_READ].lately.ios, IOS);
	assert_in_range(view.kinds[QOS_READ].lately.p999_ns, 1, 10 * MS);
	blk_end();
}

static void
a_paced_device_tells_its_rate_and_what_is_left_of_it(void **state)
{
	struct fair_tenant_view who;
	struct fair_view view;
	struct test_io *a[IOS];
	unsigned at = AWAY; /* a modelled drive has a home already */
	uint64_t all;

	(void)state;
	begin("flash:optane,4M");
	volume.paced = true;
	qos_params_default(&volume.params);
	say();
	assert_true(fair_look(chans[at], &view));
	assert_true(view.paced);
	assert_int_equal(view.rate, volume.params.rate_first); /* what was before says nothing */
	assert_int_equal(view.write_cost, volume.params.write_cost_worst);
	assert_int_equal(view.kinds[QOS_READ].thresh_ns, volume.params.thresh_max_ns);
	all = view.kinds[QOS_READ].headroom + view.kinds[QOS_WRITE].headroom;
	assert_in_range(all, view.rate - view.rate / 1000, view.rate + view.rate / 1000);
	/* and a byte that is written is taken to cost nine times one that is read */
	assert_in_range(view.kinds[QOS_READ].headroom * 10 / view.kinds[QOS_WRITE].headroom, 85, 95);
	ask_all(a, at, &alice, BLK_READ);
	turns(1);
	assert_true(fair_look(chans[at], &view));
	assert_int_equal(view.waiting + view.inflight, IOS);
	assert_true(view.inflight > 0);
	assert_true(view.occupied > 0);
	assert_true(view.most >= QOS_SLOT_BYTES);
	assert_true(fair_look_tenant(chans[at], &alice, &who));
	assert_true(who.credits > 0);
	assert_int_equal(who.waiting + who.inflight, IOS);
	fw.now_ns += volume.params.stall_ns + 1;
	fw.reactors[at].now_ns = fw.now_ns;
	assert_true(fair_look(chans[at], &view));
	assert_true(view.stalled);
	for (int i = 0; i < 10000 && over(a) < IOS; i++)
		turns(1);
	end_all(a);
	assert_true(fair_look(chans[at], &view));
	assert_false(view.stalled);
	assert_int_equal(view.waiting + view.inflight, 0);
	assert_int_equal(view.occupied, 0);
	blk_end();
}

static void
tenants_are_seen_one_after_the_other(void **state)
{
	struct fair_tenant_view who;
	struct test_io *a, *b, *c;
	uint32_t next = 0;

	(void)state;
	begin("mem:4M");
	assert_false(fair_look_next(chans[HOME], &next, &who));
	b = ask(AWAY, &bob, BLK_READ, 0);
	a = ask(AWAY, &alice, BLK_READ, 0);
	turns(6);
	next = 0;
	assert_true(fair_look_next(chans[HOME], &next, &who));
	assert_string_equal(who.nqn, alice.name);
	assert_string_equal(who.group, "");
	assert_true(fair_look_next(chans[HOME], &next, &who));
	assert_string_equal(who.nqn, bob.name);
	assert_false(fair_look_next(chans[HOME], &next, &who));
	c = ask(AWAY, NULL, BLK_WRITE, 0);
	turns(6);
	next = 0;
	assert_true(fair_look_next(chans[HOME], &next, &who));
	assert_string_equal(who.nqn, "");
	assert_int_equal(who.counts[QOS_WRITE].ios, 1);
	assert_false(fair_look_next(chans[AWAY], &next, &who));
	io_ended(a, NVME_SC_SUCCESS);
	io_ended(b, NVME_SC_SUCCESS);
	io_ended(c, NVME_SC_SUCCESS);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_first_nothing_is_held_back),
		cmocka_unit_test(a_host_has_no_more_than_its_limit_and_others_have),
		cmocka_unit_test(a_group_and_a_volume_have_limits_too),
		cmocka_unit_test(a_group_is_the_same_wherever_it_stands),
		cmocka_unit_test(who_asks_for_much_waits_and_others_do_not),
		cmocka_unit_test(who_is_held_back_leaves_requests_for_others),
		cmocka_unit_test(what_waits_can_be_cancelled),
		cmocka_unit_test(who_is_forgotten_is_somebody_else_later),
		cmocka_unit_test(what_was_done_and_waits_is_seen),
		cmocka_unit_test(a_turn_that_takes_long_is_no_slow_device),
		cmocka_unit_test(a_paced_device_tells_its_rate_and_what_is_left_of_it),
		cmocka_unit_test(tenants_are_seen_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
