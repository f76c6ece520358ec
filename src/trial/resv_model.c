#include "trial/resv_model.h"

#include <assert.h>
#include <string.h>

enum { OK = 0x000, INVALID = 0x002, CONFLICT = 0x083 };

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
do_register(struct model_state *s, unsigned host, const struct model_command *c, bool persists)
{
	bool is = s->keys[host] != 0, proved = is && (c->ignore || s->keys[host] == c->key);

	if (c->cptpl == 1 || (c->cptpl == 3 && !persists) || (c->op != MODEL_UNREGISTER && c->other == 0))
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

const char *
model_op_name(enum model_op op)
{
	static const char *const names[] = {
		[MODEL_REGISTER] = "register", [MODEL_UNREGISTER] = "unregister", [MODEL_REPLACE] = "replace",
		[MODEL_ACQUIRE] = "acquire", [MODEL_PREEMPT] = "preempt", [MODEL_PREEMPT_ABORT] = "preempt and abort",
		[MODEL_RELEASE] = "release", [MODEL_CLEAR] = "clear", [MODEL_SET_PTPL] = "feature 83h",
		[MODEL_REPORT] = "report",
	};

	return names[op];
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
do_command(const struct model *model, struct model_state *s, unsigned host, uint32_t *victims)
{
	const struct model_command *c = &model->commands[host];

	*victims = 0;
	switch (c->op) {
	case MODEL_REGISTER:
	case MODEL_UNREGISTER:
	case MODEL_REPLACE:
		return model_status_result(do_register(s, host, c, model->persists));
	case MODEL_ACQUIRE:
	case MODEL_PREEMPT:
	case MODEL_PREEMPT_ABORT:
		return model_status_result(do_acquire(s, host, c, victims));
	case MODEL_RELEASE:
	case MODEL_CLEAR:
		return model_status_result(do_release(s, host, c));
	case MODEL_SET_PTPL:
		if (c->cptpl != 0 && !model->persists)
			return model_status_result(INVALID);
		s->ptpl = c->cptpl;
		return model_status_result(OK);
	case MODEL_REPORT:
		return model_report_result(s);
	}
	assert(false);
	return 0;
}

/* ---- worlds ---- */

static unsigned
hash(const struct model_world *world)
{
	const uint8_t *at = (const uint8_t *)world;
	uint64_t hash = 0;

	static_assert(sizeof(*world) % 8 == 0, "whole words");
	for (unsigned i = 0; i < sizeof(*world); i += 8) {
		uint64_t word;

		memcpy(&word, at + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return (unsigned)hash % (2 * MODEL_WORLDS);
}

static void
empty(struct model *model)
{
	model->count = 0;
	memset(model->found, 0, sizeof(model->found));
}

/* Each of them once, in the order they came. */
static void
put(struct model *model, const struct model_world *world)
{
	unsigned at = hash(world);

	for (; model->found[at] != 0; at = (at + 1) % (2 * MODEL_WORLDS))
		if (memcmp(&model->worlds[model->found[at] - 1], world, sizeof(*world)) == 0)
			return;
	if (model->count == MODEL_WORLDS) {
		model->vague = true;
		return;
	}
	model->worlds[model->count++] = *world;
	model->found[at] = (uint16_t)model->count;
}

static struct model_state
nobody(void)
{
	struct model_state state = { .holder = MODEL_NOBODY };

	memset(state.order, MODEL_NOBODY, MODEL_HOSTS);
	return state;
}

void
model_init(struct model *model, bool persists)
{
	struct model_world world = { .state = nobody() };

	memset(model, 0, sizeof(*model));
	model->persists = persists;
	put(model, &world);
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
		if (do_command(model, &world.kept, host, &victims) != model_status_result(OK))
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
			next.result[h].is = do_command(model, &next.state, h, &victims);
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

static unsigned
set_aside(struct model *model)
{
	unsigned count = model->count;

	memcpy(model->before, model->worlds, count * sizeof(model->worlds[0]));
	empty(model);
	return count;
}

/* Leaves the worlds in which this came of the host's command; where `any`, all of them. */
static bool
leave(struct model *model, unsigned host, uint64_t result, bool any, uint32_t *victims)
{
	unsigned count = set_aside(model);

	assert(model->stages[host] != MODEL_IDLE);
	model->stages[host] = MODEL_IDLE;
	*victims = UINT32_MAX;
	for (unsigned i = 0; i < count; i++) {
		struct model_world world = model->before[i];

		if (!any && world.result[host].is != result)
			continue;
		*victims &= (uint32_t)world.result[host].victims;
		world.result[host].is = world.result[host].victims = 0;
		put(model, &world);
	}
	if (model->vague)
		*victims = 0;
	return model->count > 0 || model->vague;
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
	world.state = kept.ptpl ? kept : nobody();
	settle(&world);
	put(model, &world);
}

/* Of each world what was to be kept, or is: of each there may be two. */
static void
survive(struct model *model)
{
	unsigned count = set_aside(model);

	for (unsigned h = 0; h < MODEL_HOSTS; h++)
		model->spanning[h] = model->stages[h] != MODEL_IDLE;
	for (unsigned i = 0; i < count; i++) {
		put_survivor(model, model->before[i], model->before[i].state);
		if (model->before[i].doubt)
			put_survivor(model, model->before[i], model->before[i].kept);
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
	bool is = host != MODEL_NOBODY && s->keys[host] != 0;
	bool all = s->type == 0 || (is && (s->type >= 3 || holds(s, host)));
	bool exclusive = s->type == 2 || s->type == 4 || s->type == 6;

	return (all || !exclusive ? MODEL_READS : MODEL_READS_NOT) | (all ? MODEL_WRITES : MODEL_WRITES_NOT);
}

unsigned
model_may(const struct model *model, unsigned host)
{
	unsigned may = model->vague ? MODEL_READS | MODEL_READS_NOT | MODEL_WRITES | MODEL_WRITES_NOT : 0;

	for (unsigned i = 0; i < model->count; i++)
		may |= may_in(&model->worlds[i].state, host);
	for (unsigned h = 0; h < MODEL_HOSTS; h++)
		if (h != host && model->stages[h] != MODEL_IDLE && model->commands[h].op == MODEL_PREEMPT_ABORT)
			may |= MODEL_ENDS;
	return may;
}

void
model_found(struct model *model, const struct model_state *state)
{
	struct model_world world = { .state = *state };

	if (!model->vague)
		return;
	for (unsigned h = 0; h < MODEL_HOSTS; h++)
		if (model->stages[h] != MODEL_IDLE)
			return;
	model->vague = false;
	empty(model);
	put(model, &world);
}
