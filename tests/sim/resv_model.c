#include "resv_model.h"

#include <assert.h>
#include <string.h>

enum { OK = 0x000, INVALID = 0x002, CONFLICT = 0x083 };

void
model_init(struct model *model)
{
	memset(model, 0, sizeof(*model));
	memset(model->worlds[0].state.order, MODEL_NOBODY, MODEL_HOSTS);
	model->worlds[0].state.holder = MODEL_NOBODY;
	model->count = 1;
}

/* ---- what a command does to a state ---- */

static unsigned
registered(const struct model_state *s)
{
	unsigned n = 0;

	while (n < MODEL_HOSTS && s->order[n] != MODEL_NOBODY)
		n++;
	return n;
}

static bool
of_all(uint8_t type)
{
	return type >= 5;
}

static bool
holds(const struct model_state *s, unsigned host)
{
	return s->type != 0 && s->keys[host] != 0 && (of_all(s->type) || s->holder == host);
}

static void
add(struct model_state *s, unsigned host, uint8_t key)
{
	s->order[registered(s)] = (uint8_t)host;
	s->keys[host] = key;
}

static void
take_out(struct model_state *s, unsigned host)
{
	uint8_t order[MODEL_HOSTS];
	unsigned n = 0;

	memset(order, MODEL_NOBODY, sizeof(order));
	for (unsigned i = 0; i < MODEL_HOSTS; i++)
		if (s->order[i] != host && s->order[i] != MODEL_NOBODY)
			order[n++] = s->order[i];
	memcpy(s->order, order, sizeof(order));
	s->keys[host] = 0;
	if (s->holder == host || n == 0)
		s->type = 0;
	if (s->type == 0)
		s->holder = MODEL_NOBODY;
}

static void
give(struct model_state *s, unsigned host, uint8_t type)
{
	s->type = type;
	s->holder = of_all(type) ? MODEL_NOBODY : (uint8_t)host;
}

static uint16_t
do_register(struct model_state *s, unsigned host, const struct model_command *c)
{
	bool is = s->keys[host] != 0, proved = is && (c->ignore || s->keys[host] == c->key);

	if (c->cptpl == 1 || (c->op != MODEL_UNREGISTER && c->other == 0))
		return INVALID;
	if (c->op == MODEL_REGISTER && is && s->keys[host] != c->other)
		return CONFLICT;
	if (c->op == MODEL_REGISTER && !is)
		add(s, host, c->other);
	if (c->op == MODEL_UNREGISTER && !proved)
		return CONFLICT;
	if (c->op == MODEL_UNREGISTER)
		take_out(s, host);
	if (c->op == MODEL_REPLACE && !proved && (is || !c->ignore))
		return CONFLICT;
	if (c->op == MODEL_REPLACE && !is)
		add(s, host, c->other);
	if (c->op == MODEL_REPLACE)
		s->keys[host] = c->other;
	if (c->cptpl > 0)
		s->ptpl = c->cptpl == 3;
	s->generation++;
	return OK;
}

static uint16_t
do_preempt(struct model_state *s, unsigned host, const struct model_command *c, uint32_t *victims)
{
	bool takes = of_all(s->type) ? c->other == 0 : s->type != 0 && s->keys[s->holder] == c->other;
	bool all = of_all(s->type) && c->other == 0;
	uint32_t out = 0;

	if (c->other == 0 && !of_all(s->type))
		return INVALID;
	for (unsigned i = 0; i < MODEL_HOSTS; i++)
		if (s->keys[i] != 0 && (all || s->keys[i] == c->other) && !(takes && i == host))
			out |= 1u << i;
	if (out == 0 && !takes)
		return CONFLICT;
	for (unsigned i = 0; i < MODEL_HOSTS; i++)
		if (out >> i & 1)
			take_out(s, i);
	if (takes)
		give(s, host, c->type);
	s->generation++;
	if (c->op == MODEL_PREEMPT_ABORT)
		*victims = out & ~(1u << host);
	return OK;
}

static uint16_t
do_acquire(struct model_state *s, unsigned host, const struct model_command *c, uint32_t *victims)
{
	if (c->ignore || c->type < 1 || c->type > 6)
		return INVALID;
	if (s->keys[host] == 0 || s->keys[host] != c->key)
		return CONFLICT;
	if (c->op != MODEL_ACQUIRE)
		return do_preempt(s, host, c, victims);
	if (s->type != 0)
		return holds(s, host) && s->type == c->type ? OK : CONFLICT;
	give(s, host, c->type);
	return OK;
}

static uint16_t
do_release(struct model_state *s, unsigned host, const struct model_command *c)
{
	if (c->ignore)
		return INVALID;
	if (s->keys[host] == 0 || s->keys[host] != c->key)
		return CONFLICT;
	if (c->op == MODEL_CLEAR) {
		for (unsigned i = 0; i < MODEL_HOSTS; i++)
			take_out(s, i);
		s->generation++;
		return OK;
	}
	if (!holds(s, host))
		return OK;
	if (s->type != c->type)
		return INVALID;
	s->type = 0;
	s->holder = MODEL_NOBODY;
	return OK;
}

uint64_t
model_status_result(uint16_t status)
{
	return 1u << 16 | status;
}

uint64_t
model_report_result(const struct model_state *state)
{
	const uint8_t *at = (const uint8_t *)state;
	uint64_t hash = 14695981039346656037u;

	for (unsigned i = 0; i < sizeof(*state); i++)
		hash = (hash ^ at[i]) * 1099511628211u;
	return hash | UINT64_C(1) << 63;
}

static uint64_t
do_command(struct model_state *s, unsigned host, const struct model_command *c, uint32_t *victims)
{
	*victims = 0;
	switch (c->op) {
	case MODEL_REGISTER:
	case MODEL_UNREGISTER:
	case MODEL_REPLACE:
		return model_status_result(do_register(s, host, c));
	case MODEL_ACQUIRE:
	case MODEL_PREEMPT:
	case MODEL_PREEMPT_ABORT:
		return model_status_result(do_acquire(s, host, c, victims));
	case MODEL_RELEASE:
	case MODEL_CLEAR:
		return model_status_result(do_release(s, host, c));
	case MODEL_SET_PTPL:
		s->ptpl = c->cptpl;
		return model_status_result(OK);
	case MODEL_REPORT:
		return model_report_result(s);
	}
	assert(false);
	return 0;
}

/* ---- worlds ---- */

static void
put(struct model *model, const struct model_world *world)
{
	for (unsigned i = 0; i < model->count; i++)
		if (memcmp(&model->worlds[i], world, sizeof(*world)) == 0)
			return;
	assert(model->count < MODEL_WORLDS);
	model->worlds[model->count++] = *world;
}

/* What is kept is what is so. */
static void
settle(struct model_world *world)
{
	world->doubt = 0;
	memset(&world->kept, 0, sizeof(world->kept));
}

/* Where it was not done it may have been written, if it would have been. */
static void
land(struct model *model, unsigned host)
{
	unsigned count = model->count;

	for (unsigned i = 0; i < count; i++) {
		struct model_world world = model->worlds[i];
		uint32_t victims;

		world.kept = world.state;
		if (do_command(&world.kept, host, &model->commands[host], &victims) != model_status_result(OK))
			continue;
		if (!world.state.ptpl && !world.kept.ptpl && !world.doubt)
			continue;
		world.doubt = 1;
		put(model, &world);
	}
}

/* Whatever is under way may be done next. */
static void
widen(struct model *model)
{
	/* More come as we go. */
	for (unsigned i = 0; i < model->count; i++) {
		for (unsigned h = 0; h < MODEL_HOSTS; h++) {
			struct model_world next = model->worlds[i];
			uint32_t victims;

			if (model->stages[h] != MODEL_UNDER_WAY || next.result[h].is != 0)
				continue;
			next.result[h].is = do_command(&next.state, h, &model->commands[h], &victims);
			next.result[h].victims = victims;
			if (next.result[h].is == model_status_result(OK))
				settle(&next);
			put(model, &next);
		}
	}
}

void
model_begin(struct model *model, unsigned host, const struct model_command *command)
{
	assert(model->stages[host] == MODEL_IDLE);
	model->commands[host] = *command;
	model->stages[host] = MODEL_UNDER_WAY;
	model->spanning[host] = false;
	widen(model);
}

/* Leaves the worlds in which this came of the host's command; where `any`, all of them. */
static bool
leave(struct model *model, unsigned host, uint64_t result, bool any, uint32_t *victims)
{
	unsigned count = model->count;

	assert(model->stages[host] != MODEL_IDLE);
	model->stages[host] = MODEL_IDLE;
	model->count = 0;
	*victims = UINT32_MAX;
	for (unsigned i = 0; i < count; i++) {
		struct model_world world = model->worlds[i];

		if (!any && world.result[host].is != result)
			continue;
		*victims &= (uint32_t)world.result[host].victims;
		world.result[host].is = world.result[host].victims = 0;
		put(model, &world);
	}
	return model->count > 0;
}

bool
model_end(struct model *model, unsigned host, uint64_t result, uint32_t *victims)
{
	return leave(model, host, result, false, victims);
}

bool
model_failed(struct model *model, unsigned host, bool lands)
{
	bool lost = model->stages[host] == MODEL_LOST, is;
	uint32_t victims;

	/* What landed then was found when what is kept was read. */
	is = leave(model, host, 0, model->spanning[host] && lands, &victims);
	if (lands && !lost)
		land(model, host);
	return is;
}

void
model_forget(struct model *model, unsigned host, bool lands)
{
	bool lost = model->stages[host] == MODEL_LOST;
	uint32_t victims;

	leave(model, host, 0, true, &victims);
	if (lands && !lost)
		land(model, host);
}

static void
put_survivor(struct model *model, struct model_world world, struct model_state kept)
{
	if (!kept.ptpl) {
		memset(&kept, 0, sizeof(kept));
		memset(kept.order, MODEL_NOBODY, MODEL_HOSTS);
		kept.holder = MODEL_NOBODY;
	}
	world.state = kept;
	settle(&world);
	put(model, &world);
}

/* Of each world what was to be kept, or is: of each there may be two. */
static void
survive(struct model *model)
{
	static struct model_world before[MODEL_WORLDS];
	unsigned count = model->count;

	for (unsigned h = 0; h < MODEL_HOSTS; h++)
		model->spanning[h] = model->stages[h] != MODEL_IDLE;
	memcpy(before, model->worlds, count * sizeof(before[0]));
	model->count = 0;
	for (unsigned i = 0; i < count; i++) {
		put_survivor(model, before[i], before[i].state);
		if (before[i].doubt)
			put_survivor(model, before[i], before[i].kept);
	}
}

void
model_crash(struct model *model)
{
	for (unsigned h = 0; h < MODEL_HOSTS; h++)
		if (model->stages[h] == MODEL_UNDER_WAY)
			model->stages[h] = MODEL_LOST;
	survive(model);
}

void
model_retire(struct model *model)
{
	survive(model);
	widen(model);
}

/* The specification's figure. */
static unsigned
may_in(const struct model_state *s, unsigned host)
{
	bool is = s->keys[host] != 0, exclusive = s->type == 2 || s->type == 4 || s->type == 6;
	bool all = s->type == 0 || holds(s, host) || (is && s->type >= 3);

	return (all || !exclusive ? MODEL_READS : MODEL_READS_NOT) | (all ? MODEL_WRITES : MODEL_WRITES_NOT);
}

unsigned
model_may(const struct model *model, unsigned host)
{
	unsigned may = 0;

	for (unsigned i = 0; i < model->count; i++)
		may |= may_in(&model->worlds[i].state, host);
	return may;
}
