/*
 * flash/nand: thousands of random jobs against a model that looks at everything each time it has to know anything; and
 * what holds of many jobs together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/nand.h"

enum { JOBS = 400, DIES_MAX = 8, CHANNELS_MAX = 4, ROUNDS = 300, NEVER_ASKED = 0 };

/* ---- the model ---- */

enum phase { IDLE, SENSE, WANT, MOVE, CELLS, SUSPEND, RESUME };

struct model_job {
	const struct nand_job *job;
	uint32_t cells_left, bytes_left;
	unsigned suspends, ahead;
	unsigned asked_power; /* when, in order of asking */
	bool waits, done, powered, suspended; /* waits: it has never been on the die */
};

struct model_die {
	enum phase phase;
	uint64_t until;    /* of all phases but IDLE and WANT */
	unsigned asked;    /* for the channel, in order of asking */
	struct model_job *on;
};

/* Jobs are in the order in which they were submitted. */
struct model {
	const struct flash_profile *profile;
	struct flash_geometry geometry;
	struct model_job jobs[JOBS];
	struct model_die dies[DIES_MAX];
	uint64_t channel_free[CHANNELS_MAX];
	uint64_t now, moving_ns[CHANNELS_MAX], busy_ns[DIES_MAX];
	unsigned count, asked;
};

static uint32_t
moving_ns(uint64_t bytes, const struct flash_profile *profile, bool in)
{
	uint64_t moved = bytes * (1000 + profile->overhead_permille);
	uint64_t mb_s = in ? profile->channel_write_mb_s : profile->channel_mb_s;

	return (uint32_t)(moved / mb_s + (moved % mb_s != 0));
}

static unsigned
powered(const struct model *model)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < model->count; i++)
		sum += model->jobs[i].powered && !model->jobs[i].done;
	return sum;
}

/* The first of a die's jobs, of the urgent or of the others, that has not ended. */
static struct model_job *
model_first(struct model *model, unsigned die, bool urgent)
{
	for (unsigned i = 0; i < model->count; i++) {
		struct model_job *job = &model->jobs[i];

		if (job->job->die == die && job->job->urgent == urgent && !job->done)
			return job;
	}
	return NULL;
}

static void
model_ask(struct model *model, struct model_die *die)
{
	die->phase = WANT;
	die->asked = ++model->asked;
}

static void
model_cells(struct model *model, struct model_die *die)
{
	struct model_job *on = die->on;
	bool can = on->job->op == NAND_PROGRAM ? model->profile->suspends_program : model->profile->suspends_erase;

	die->phase = CELLS;
	die->until = model->now + on->cells_left;
	if (can && on->suspends < model->profile->suspends_max && on->cells_left > model->profile->suspend_ns &&
	    model_first(model, on->job->die, true) != NULL) {
		on->suspends++;
		on->ahead = 0;
		on->suspended = true;
		die->phase = SUSPEND;
		die->until = model->now + model->profile->suspend_ns;
	}
}

static void
model_put_on(struct model *model, struct model_die *die, struct model_job *job)
{
	die->on = job;
	job->waits = false;
	if (job->suspended) {
		job->suspended = false;
		die->phase = RESUME;
		die->until = model->now + model->profile->resume_ns;
	} else if (job->job->op == NAND_READ) {
		die->phase = SENSE;
		die->until = model->now + job->cells_left;
	} else if (job->job->op == NAND_PROGRAM) {
		model_ask(model, die);
	} else {
		model_cells(model, die);
	}
}

static void
model_next(struct model *model, unsigned number)
{
	struct model_die *die = &model->dies[number];
	struct model_job *urgent = model_first(model, number, true), *other = model_first(model, number, false);

	die->on = NULL;
	die->phase = IDLE;
	if (other != NULL && other->asked_power && !other->powered)
		other = NULL;
	if (urgent != NULL && (other == NULL || other->ahead < NAND_READS_AHEAD)) {
		if (other != NULL)
			other->ahead++;
		model_put_on(model, die, urgent);
		return;
	}
	if (other == NULL)
		return;
	if (!other->powered) {
		other->asked_power = ++model->asked;
		if (powered(model) == model->profile->programs_max)
			return;
		other->powered = true;
	}
	model_put_on(model, die, other);
}

/* Whoever asked first, of those that have none. */
static void
model_power(struct model *model)
{
	struct model_job *first = NULL;

	for (unsigned i = 0; i < model->count; i++) {
		struct model_job *job = &model->jobs[i];

		if (job->asked_power != NEVER_ASKED && !job->powered &&
		    (first == NULL || job->asked_power < first->asked_power))
			first = job;
	}
	if (first == NULL)
		return;
	first->powered = true;
	first->ahead = NAND_READS_AHEAD;
	if (model->dies[first->job->die].phase == IDLE)
		model_next(model, first->job->die);
}

static const struct nand_job *
model_end(struct model *model, unsigned number)
{
	struct model_job *on = model->dies[number].on;

	on->done = true;
	if (on->powered)
		model_power(model);
	model_next(model, number);
	return on->job;
}

static uint32_t
piece(const struct model *model, const struct model_job *job)
{
	uint32_t most = job->job->op == NAND_PROGRAM ? model->profile->page_bytes : UINT32_MAX;

	return job->bytes_left < most ? job->bytes_left : most;
}

static const struct nand_job *
model_die_step(struct model *model, unsigned number)
{
	struct model_die *die = &model->dies[number];
	struct model_job *on = die->on;

	switch (die->phase) {
	case SENSE:
		model_ask(model, die);
		break;
	case MOVE:
		on->bytes_left -= piece(model, on);
		if (on->bytes_left > 0)
			model_ask(model, die);
		else if (on->job->op == NAND_PROGRAM)
			model_cells(model, die);
		else
			return model_end(model, number);
		break;
	case CELLS:
		return model_end(model, number);
	case SUSPEND:
		model_next(model, number);
		break;
	case RESUME:
		model_cells(model, die);
		break;
	case IDLE:
	case WANT:
		fail();
	}
	return NULL;
}

/* Which of the dies that want the channel is to have it: urgently, or else in order of asking. */
static struct model_die *
model_chosen(struct model *model, unsigned channel)
{
	struct model_die *best = NULL;

	for (unsigned i = channel; i < model->geometry.dies; i += model->geometry.channels) {
		struct model_die *die = &model->dies[i];

		if (die->phase == WANT && (best == NULL || die->on->job->urgent > best->on->job->urgent ||
		    (die->on->job->urgent == best->on->job->urgent && die->asked < best->asked)))
			best = die;
	}
	return best;
}

static void
model_channel_step(struct model *model, unsigned channel)
{
	struct model_die *die = model_chosen(model, channel);
	uint32_t ns = moving_ns(piece(model, die->on), model->profile, die->on->job->op == NAND_PROGRAM);

	die->phase = MOVE;
	die->until = model->channel_free[channel] = model->now + ns;
	model->moving_ns[channel] += ns;
}

/* The next thing that happens, of which dies' come first; its time, or UINT64_MAX. */
static uint64_t
model_soonest(struct model *model, unsigned *number, bool *channel)
{
	uint64_t soonest = UINT64_MAX;

	for (unsigned i = 0; i < model->geometry.dies; i++) {
		const struct model_die *die = &model->dies[i];

		if (die->phase != IDLE && die->phase != WANT && die->until < soonest) {
			soonest = die->until;
			*number = i;
			*channel = false;
		}
	}
	for (unsigned i = 0; i < model->geometry.channels; i++) {
		uint64_t at = model->channel_free[i] > model->now ? model->channel_free[i] : model->now;

		if (model_chosen(model, i) != NULL && at < soonest) {
			soonest = at;
			*number = i;
			*channel = true;
		}
	}
	return soonest;
}

static void
model_pass(struct model *model, uint64_t now)
{
	for (unsigned i = 0; i < model->geometry.dies; i++)
		if (model->dies[i].phase != IDLE)
			model->busy_ns[i] += now - model->now;
	model->now = now;
}

static const struct nand_job *
model_run(struct model *model, uint64_t until, uint64_t *end)
{
	const struct nand_job *ended = NULL;
	unsigned number = 0;
	bool channel = false;

	for (;;) {
		uint64_t at = model_soonest(model, &number, &channel);

		if (at == UINT64_MAX || at > until)
			return NULL;
		model_pass(model, at);
		if (channel)
			model_channel_step(model, number);
		else
			ended = model_die_step(model, number);
		*end = at;
		if (ended != NULL)
			return ended;
	}
}

static void
model_submit(struct model *model, const struct nand_job *job, uint64_t now)
{
	struct model_job *mine = &model->jobs[model->count++];
	struct model_die *die = &model->dies[job->die];

	model_pass(model, now);
	*mine = (struct model_job){ .job = job, .cells_left = job->cells_ns, .bytes_left = job->bytes, .waits = true };
	if (die->phase == IDLE) {
		model_next(model, job->die);
	} else if (die->phase == CELLS) {
		die->on->cells_left = (uint32_t)(die->until - now);
		model_cells(model, die);
	}
}

/* ---- both ---- */

struct pair {
	struct arena arena;
	struct flash_profile profile;
	struct nand *nand;
	struct model model;
	struct nand_job jobs[JOBS];
	uint64_t at_ns[JOBS]; /* when each was submitted */
	bool ended[JOBS];
	unsigned count, ends;
	struct rng rng;
};

static uint32_t
some(struct pair *pair, uint32_t least, uint32_t most)
{
	return least + (uint32_t)rng_below(&pair->rng, most - least + 1);
}

/* Small numbers, so that much happens at the same instant. */
static void
pair_begin(struct pair *pair, uint64_t seed)
{
	uint32_t channels = 1 + (uint32_t)(seed % CHANNELS_MAX);
	struct flash_geometry geometry = { .channels = channels, .dies = channels * (DIES_MAX / channels) };

	memset(pair, 0, sizeof(*pair));
	rng_seed(&pair->rng, seed);
	pair->profile = (struct flash_profile){
		.page_bytes = 4, .channel_mb_s = some(pair, 500, 2000), .channel_write_mb_s = some(pair, 500, 2000),
		.overhead_permille = some(pair, 0, 100), .programs_max = some(pair, 1, DIES_MAX),
		.suspends_program = some(pair, 0, 1), .suspends_erase = some(pair, 0, 1),
		.suspend_ns = some(pair, 0, 4), .resume_ns = some(pair, 0, 3), .suspends_max = some(pair, 0, 4),
	};
	arena_init(&pair->arena, 0);
	assert_int_equal(nand_create(&pair->arena, &geometry, &pair->profile, &pair->nand), 0);
	pair->model.profile = &pair->profile;
	pair->model.geometry = geometry;
}

static uint32_t
least_ns(const struct pair *pair, const struct nand_job *job)
{
	return job->op == NAND_ERASE ? job->cells_ns :
	    job->cells_ns + moving_ns(job->bytes, &pair->profile, job->op == NAND_PROGRAM);
}

/* What both say ended next, until `until`; false: nothing did. */
static bool
pair_run(struct pair *pair, uint64_t until)
{
	const struct nand_job *job = nand_run(pair->nand, until);
	uint64_t end = 0;
	size_t number;

	assert_ptr_equal(job, model_run(&pair->model, until, &end));
	if (job == NULL)
		return false;
	number = (size_t)(job - pair->jobs);
	assert_int_equal(job->end_ns, end);
	assert_false(pair->ended[number]);
	assert_true(job->end_ns >= pair->at_ns[number] + least_ns(pair, job));
	pair->ended[number] = true;
	pair->ends++;
	return true;
}

static void
pair_submit(struct pair *pair, uint64_t now)
{
	struct nand_job *job = &pair->jobs[pair->count];
	uint32_t op = some(pair, 0, 9);

	*job = (struct nand_job){ .die = (uint16_t)some(pair, 0, pair->model.geometry.dies - 1) };
	if (op < 8) {
		job->op = NAND_READ;
		job->urgent = op < 6;
		job->cells_ns = some(pair, 1, 8);
		job->bytes = some(pair, 1, 8);
	} else if (op == 8) {
		job->op = NAND_PROGRAM;
		job->cells_ns = some(pair, 1, 60);
		job->bytes = some(pair, 1, 14);
	} else {
		job->op = NAND_ERASE;
		job->cells_ns = some(pair, 1, 90);
	}
	pair->at_ns[pair->count++] = now;
	nand_submit(pair->nand, job, now);
	model_submit(&pair->model, job, now);
}

static void
pair_check_loads(struct pair *pair)
{
	for (unsigned die = 0; die < pair->model.geometry.dies; die++) {
		uint32_t load = 0;

		for (unsigned i = 0; i < pair->count; i++)
			load += !pair->ended[i] && pair->jobs[i].die == die && !pair->jobs[i].urgent;
		assert_int_equal(nand_load(pair->nand, die), load);
	}
}

/* Each channel moved what there was to move, and a die was busy for at least as long as its jobs took. */
static void
pair_check_sums(struct pair *pair)
{
	uint64_t moved[CHANNELS_MAX] = { 0 }, busy[DIES_MAX] = { 0 };

	for (unsigned i = 0; i < JOBS; i++) {
		const struct nand_job *job = &pair->jobs[i];
		uint32_t left = job->bytes, page = job->op == NAND_PROGRAM ? pair->profile.page_bytes : UINT32_MAX;
		uint64_t moving = 0;

		for (; left > 0; left -= left < page ? left : page)
			moving += moving_ns(left < page ? left : page, &pair->profile, job->op == NAND_PROGRAM);
		moved[job->die % pair->model.geometry.channels] += moving;
		busy[job->die] += job->cells_ns + moving;
	}
	for (unsigned i = 0; i < pair->model.geometry.channels; i++)
		assert_int_equal(pair->model.moving_ns[i], moved[i]);
	for (unsigned i = 0; i < pair->model.geometry.dies; i++)
		assert_true(pair->model.busy_ns[i] >= busy[i]);
}

/* Some come by themselves, at any time, some as soon as another has ended, as they do of a closed loop. */
static void
jobs_end_as_in_a_model_that_is_obvious(void **state)
{
	static struct pair pair;

	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		uint32_t gap;
		uint64_t now = 0;

		pair_begin(&pair, seed);
		gap = some(&pair, 0, 12);
		while (pair.count < JOBS) {
			now += some(&pair, 0, gap);
			while (pair_run(&pair, now))
				if (pair.count < JOBS && some(&pair, 0, 3) == 0)
					pair_submit(&pair, pair.model.now);
			if (pair.count < JOBS)
				pair_submit(&pair, now);
			pair_check_loads(&pair);
		}
		while (pair_run(&pair, UINT64_MAX))
			continue;
		assert_int_equal(pair.ends, JOBS);
		pair_check_loads(&pair);
		pair_check_sums(&pair);
		nand_destroy(pair.nand);
	}
}

/* ---- many jobs ---- */

/* What is never idle ends when all it had to do adds up. */
static void
nothing_is_idle_that_has_something_to_do(void **state)
{
	static struct nand_job jobs[JOBS];
	struct flash_profile profile = { .page_bytes = 16384, .channel_mb_s = 1000, .channel_write_mb_s = 1000,
		.programs_max = 4 };
	struct flash_geometry geometry = { .dies = 4, .channels = 1 };
	struct arena arena;
	struct nand *nand;
	struct nand_job *job;
	uint64_t die_ns = 0, channel_ns = 0, last_ns = 0;

	arena_init(&arena, 0);
	assert_int_equal(nand_create(&arena, &geometry, &profile, &nand), 0);
	/* A die: every third program, and reads between. */
	for (unsigned i = 0; i < JOBS; i++) {
		jobs[i] = (struct nand_job){ .op = i % 3 == 0 ? NAND_PROGRAM : NAND_READ, .urgent = i % 3 == 1,
			.cells_ns = 1000 + i, .bytes = 4096 };
		die_ns += 4096 + 1000 + i;
		nand_submit(nand, &jobs[i], 0);
	}
	while ((job = nand_run(nand, UINT64_MAX)) != NULL)
		last_ns = job->end_ns;
	assert_int_equal(last_ns, die_ns);
	/* A channel, with dies that sense in no time: but for the first, and between two of the same die. */
	for (unsigned i = 0; i < JOBS; i++) {
		jobs[i] = (struct nand_job){ .op = NAND_READ, .urgent = i % 2, .die = (uint16_t)(i % 4), .cells_ns = 10,
			.bytes = 4096 + i };
		channel_ns += jobs[i].bytes;
		nand_submit(nand, &jobs[i], die_ns);
	}
	while ((job = nand_run(nand, UINT64_MAX)) != NULL)
		last_ns = job->end_ns;
	assert_int_equal(last_ns, die_ns + 10 + channel_ns);
	nand_destroy(nand);
}

/*
 * Reads a second of 32 dies on 8 channels, each on one drawn at random, `depth` at a time: 55 us and 8.1 us each, and
 * 22 us of a controller before that.
 */
static uint64_t
reads_a_second(unsigned depth)
{
	enum { READS = 100000, DIES = 32, DEPTH_MAX = 256, CONTROLLER = 22000 };
	static struct nand_job jobs[DEPTH_MAX], *waiting[DEPTH_MAX];
	struct flash_profile profile = { .page_bytes = 16384, .channel_mb_s = 533, .channel_write_mb_s = 533,
		.overhead_permille = 60, .programs_max = 20 };
	struct flash_geometry geometry = { .dies = DIES, .channels = 8 };
	struct arena arena;
	struct nand *nand;
	struct rng rng;
	uint64_t last_ns = 0;
	unsigned submitted = 0, ended = depth; /* all wait for the controller */

	arena_init(&arena, 0);
	rng_seed(&rng, depth);
	assert_int_equal(nand_create(&arena, &geometry, &profile, &nand), 0);
	for (unsigned i = 0; i < depth; i++) {
		jobs[i] = (struct nand_job){ .op = NAND_READ, .urgent = true, .cells_ns = 55000, .bytes = 4096 };
		waiting[i] = &jobs[i];
	}
	while (ended < READS) {
		struct nand_job *next = submitted < ended ? waiting[submitted % depth] : NULL;
		uint64_t next_ns = next != NULL ? next->end_ns + CONTROLLER : UINT64_MAX;
		struct nand_job *job = nand_run(nand, next_ns);

		if (job != NULL) {
			waiting[ended++ % depth] = job;
			last_ns = job->end_ns;
			continue;
		}
		next->die = (uint16_t)rng_below(&rng, DIES);
		nand_submit(nand, next, next_ns);
		submitted++;
	}
	nand_destroy(nand);
	return READS * UINT64_C(1000000000) / last_ns;
}

/* What 32 servers of 63 us do in a closed network in which each customer goes to one at random after 22 us. */
static void
random_reads_are_as_fast_as_dies_that_are_drawn(void **state)
{
	static const struct {
		unsigned depth;
		uint64_t thousands;
	} known[] = { { 16, 163 }, { 32, 271 }, { 64, 378 }, { 128, 444 }, { 256, 478 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t reads = reads_a_second(known[i].depth);

		assert_in_range(reads, known[i].thousands * 970, known[i].thousands * 1030);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_end_as_in_a_model_that_is_obvious),
		cmocka_unit_test(nothing_is_idle_that_has_something_to_do),
		cmocka_unit_test(random_reads_are_as_fast_as_dies_that_are_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
