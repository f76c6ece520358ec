/*
 * faults.c - which faults of a plan are under way: whom they befall, when they begin, and when they are over.
 */
#include "trial/faults.h"

static const uint64_t AGAIN_NS = 1000 * 1000;

/* Of a process, and then of its parts. */
static void
choose(struct trial *trial, struct under_way *f, enum whom whom)
{
	uint64_t targets = trial_knob(trial, KNOB_TARGETS), hosts = trial_knob(trial, KNOB_HOSTS);
	uint32_t number = f->fault.whom, what = f->fault.what;

	if (whom == OF_ANY) {
		whom = number % 2 == 0 ? OF_REACTOR : OF_HOST_REACTOR; /* targets are few, and used by all */
		number /= 2;
	}
	if (whom == OF_HOST || whom == OF_HOST_REACTOR)
		f->user = &trial->users[number % hosts];
	else if (whom != OF_ALL)
		f->served = &trial->targets[number % targets];
	if (whom == OF_BOTH)
		f->user = &trial->users[what % hosts];
	if (whom == OF_LISTENER)
		f->part = (unsigned)(what % trial_knob(trial, KNOB_LISTENERS));
	if (whom == OF_REACTOR)
		f->part = (unsigned)(what % trial_knob(trial, KNOB_TARGET_REACTORS));
	if (whom == OF_HOST_REACTOR)
		f->part = (unsigned)(what % trial_knob(trial, KNOB_HOST_REACTORS));
	if (whom == OF_VOLUME) {
		f->part = (unsigned)(what % trial_knob(trial, KNOB_VOLUMES));
		f->volume = &f->served->volumes[f->part];
	}
}

static void
disturb(struct trial *trial, const struct under_way *f)
{
	if (f->served != NULL)
		f->served->disturbed = true;
	if (f->served == NULL || f->user != NULL)
		trial->disturbed = true;
}

void
fault_begin(struct trial *trial, const struct fault *fault)
{
	struct under_way *f = arena_alloc(&trial->arena, sizeof(*f));
	bool begun;

	f->fault = *fault;
	f->until_ns = sim_now(trial->sim) + fault->for_ns;
	choose(trial, f, fault_ways[fault->kind].whom);
	list_push(&trial->faults, &f->node);
	begun = fault_ways[fault->kind].begin(trial, f);
	ills_look(trial);
	if (begun)
		disturb(trial, f);
	trial->result->counts.faults[fault->kind] += begun;
	if (begun && fault_ways[fault->kind].mend != NULL)
		return;
	list_remove(&f->node);
	arena_free(&trial->arena, f);
}

uint64_t
fault_next_end(const struct trial *trial)
{
	uint64_t next_ns = UINT64_MAX;

	list_for_each(&trial->faults, node)
		if (under_way_of(node)->until_ns < next_ns)
			next_ns = under_way_of(node)->until_ns;
	return next_ns;
}

/* What follows from all that is under way does so without it.  Whether it is over. */
static bool
mend(struct trial *trial, struct under_way *f)
{
	list_remove(&f->node);
	if (!fault_ways[f->fault.kind].mend(trial, f)) {
		f->until_ns = sim_now(trial->sim) + AGAIN_NS;
		list_push(&trial->faults, &f->node);
		return false;
	}
	ills_look(trial);
	trial_note(trial, "trial", "%s is over", fault_rows[f->fault.kind].name);
	arena_free(&trial->arena, f);
	return true;
}

bool
fault_mend_due(struct trial *trial)
{
	bool any = false;

	list_for_each(&trial->faults, node)
		if (under_way_of(node)->until_ns <= sim_now(trial->sim))
			any = mend(trial, under_way_of(node)) || any;
	return any;
}

bool
fault_mend_first(struct trial *trial)
{
	uint64_t first_ns = fault_next_end(trial);

	list_for_each(&trial->faults, node)
		if (under_way_of(node)->until_ns == first_ns)
			under_way_of(node)->until_ns = 0;
	return fault_mend_due(trial);
}

void
fault_mend_all(struct trial *trial)
{
	list_for_each(&trial->faults, node)
		under_way_of(node)->until_ns = 0;
	fault_mend_due(trial);
}

bool
fault_holds_down(const struct trial *trial, const struct served *served, const struct user *user)
{
	list_for_each(&trial->faults, node) {
		const struct under_way *f = under_way_of(node);
		enum fault_kind kind = f->fault.kind;

		if (served != NULL && f->served == served &&
		    (kind == FAULT_TARGET_KILLED || kind == FAULT_TARGET_POWER))
			return true;
		if (user != NULL && (kind == FAULT_ALL_LEAVE || (kind == FAULT_HOST_KILLED && f->user == user)))
			return true;
	}
	return false;
}
