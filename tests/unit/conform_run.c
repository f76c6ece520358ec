/*
 * conform_run.c - the life of a device under test, and the tests that conform.h makes of properties and devices.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "sim/memory.h"

enum { PROPERTIES_MAX = 64, NAME = 160 };

/* ---- the device's life ---- */

struct doing {
	struct conform *c;
	unsigned chan;
	uint64_t blocks;
	int rc;
};

static void
do_open(void *arg)
{
	struct doing *doing = arg;
	struct conform *c = doing->c;
	struct reactor *reactor = c->world->reactor(0);
	char why[256] = "";

	c->blk = NULL;
	doing->rc = c->device->open != NULL ? c->device->open(reactor, c->block_size, &c->blk) :
	    blk_open(reactor, c->device->spec, c->block_size, &c->blk, why);
	if (doing->rc != 0 && doing->rc != -ENOMEM)
		fail_msg("%s", why);
}

static void
do_destroy(void *arg)
{
	struct conform *c = ((struct doing *)arg)->c;

	c->blk->ops->destroy(c->blk);
	c->blk = NULL;
}

static void
do_open_chan(void *arg)
{
	struct doing *doing = arg;
	struct conform *c = doing->c;

	doing->rc = c->blk->ops->open_chan(c->blk, c->world->reactor(doing->chan), &c->chans[doing->chan]);
	if (doing->rc != 0)
		c->chans[doing->chan] = NULL;
}

static void
do_close_chan(void *arg)
{
	struct doing *doing = arg;
	struct blk_chan *chan = doing->c->chans[doing->chan];

	chan->blk->ops->close_chan(chan);
	doing->c->chans[doing->chan] = NULL;
}

static void
do_grow(void *arg)
{
	struct doing *doing = arg;
	struct blk *blk = doing->c->blk;

	doing->rc = blk->ops->grow != NULL ? blk->ops->grow(blk, doing->c->world->reactor(0), doing->blocks) :
	    -EOPNOTSUPP;
}

static int
try_open_chan(struct conform *c, unsigned chan)
{
	struct doing doing = { .c = c, .chan = chan };

	conform_do(c, chan, do_open_chan, &doing);
	return doing.rc;
}

void
conform_open_chan(struct conform *c, unsigned chan)
{
	assert_int_equal(try_open_chan(c, chan), 0);
	assert_ptr_equal(c->chans[chan]->blk, c->blk);
	assert_ptr_equal(c->chans[chan]->reactor, c->world->reactor(chan));
}

/* As those above do: when nothing is under way, of which they know the most. */
void
conform_close_chan(struct conform *c, unsigned chan)
{
	for (unsigned turns = 0; c->chans[chan]->busy > 0; turns++) {
		assert_true(turns < 1000);
		conform_turns(c, 1);
	}
	conform_do(c, chan, do_close_chan, &(struct doing){ .c = c, .chan = chan });
}

void
conform_close(struct conform *c)
{
	for (unsigned i = 0; i < c->reactors; i++)
		if (c->chans[i] != NULL)
			conform_close_chan(c, i);
	conform_do(c, 0, do_destroy, &(struct doing){ .c = c });
}

int
conform_try_open(struct conform *c)
{
	struct doing doing = { .c = c };

	conform_do(c, 0, do_open, &doing);
	for (unsigned i = 0; doing.rc == 0 && i < c->reactors; i++)
		doing.rc = try_open_chan(c, i);
	if (doing.rc != 0 && c->blk != NULL)
		conform_close(c);
	return doing.rc;
}

void
conform_open(struct conform *c)
{
	assert_int_equal(conform_try_open(c), 0);
	assert_int_equal(c->blk->block_size, c->block_size);
	assert_true(c->blk->blocks >= CONFORM_BYTES / c->block_size);
}

void
conform_again(struct conform *c)
{
	if (c->world->cut != NULL) {
		c->world->cut();
		for (unsigned i = 0; i < c->reactors; i++)
			c->chans[i] = NULL;
	} else {
		conform_close(c);
	}
	conform_open(c);
}

int
conform_grow(struct conform *c, uint64_t blocks)
{
	struct doing doing = { .c = c, .blocks = blocks };

	conform_do(c, 0, do_grow, &doing);
	return doing.rc;
}

/* ---- a test of each property and device ---- */

struct conform_case {
	const struct conform_property *property;
	const struct conform_world *world;
	const struct conform_device *device;
	uint32_t block_size;
	unsigned reactors;
	char name[NAME];
};

static void
run(void **state)
{
	const struct conform_case *k = *state;
	struct conform c = {
		.world = k->world, .device = k->device, .block_size = k->block_size, .reactors = k->reactors,
	};
	const char *exempt;

	rng_seed(&c.rng, 1);
	sim_arena_init(&c.memory, 0);
	c.world->begin(c.reactors);
	conform_open(&c);
	exempt = k->property->exempt != NULL ? k->property->exempt(&c) : NULL;
	if (exempt == NULL)
		k->property->hold(&c);
	conform_close(&c);
	for (unsigned i = 0; i < c.reactors; i++) /* no timer, no task */
		assert_int_equal(reactor_next(c.world->reactor(i)), UINT64_MAX);
	c.world->end();
	assert_int_equal(c.memory.bytes, 0);
	if (exempt != NULL)
		print_message("# does not apply, since %s: %s\n", exempt, k->name);
}

static size_t
add(struct conform_case *cases, const struct conform_property *property, const struct conform_case *of)
{
	static const uint32_t sizes[] = { 512, 4096 };
	size_t count = 0;

	for (size_t s = 0; s < 2; s++) {
		struct conform_case *k = &cases[count++];

		*k = *of;
		k->property = property;
		k->block_size = sizes[s];
		snprintf(k->name, NAME, "%s: %s, blocks of %u, %u reactor%s", property->name, k->device->name,
		    k->block_size, k->reactors, k->reactors == 1 ? "" : "s");
	}
	return count;
}

static size_t
list(const struct conform_property **all)
{
	const struct conform_property *const tables[] = { conform_data, conform_shared, conform_life, conform_random };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct conform_property *p = tables[i]; p->name != NULL; p++) {
			assert(count < PROPERTIES_MAX);
			all[count++] = p;
		}
	}
	return count;
}

int
conform_run(const struct conform_world *world, const struct conform_device *devices, unsigned few, unsigned many)
{
	const struct conform_property *properties[PROPERTIES_MAX];
	size_t property_count = list(properties), made = 0, most, count = 0;
	struct conform_case *cases;
	struct CMUnitTest *tests;
	int failed;

	while (devices[count].name != NULL)
		count++;
	most = 4 * property_count * count;
	cases = calloc(most, sizeof(*cases));
	tests = calloc(most, sizeof(*tests));
	assert(cases != NULL && tests != NULL);
	for (size_t d = 0; d < count; d++) {
		for (size_t p = 0; p < property_count; p++) {
			made += add(&cases[made], properties[p],
			    &(struct conform_case){ .world = world, .device = &devices[d], .reactors = few });
			made += add(&cases[made], properties[p],
			    &(struct conform_case){ .world = world, .device = &devices[d], .reactors = many });
		}
	}
	for (size_t i = 0; i < made; i++)
		tests[i] = (struct CMUnitTest){ .name = cases[i].name, .test_func = run, .initial_state = &cases[i] };
	failed = _cmocka_run_group_tests("conform", tests, made, NULL, NULL);
	free(tests);
	free(cases);
	return failed != 0; /* of hundreds an exit status would not keep all */
}
