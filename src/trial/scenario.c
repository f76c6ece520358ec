#include "trial/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "conf/amount.h"
#include "conf/tree.h"

/* Of nodes while a file is read. */
enum { TREE_BYTES_MAX = 256 * 1024 * 1024, MS_NS = 1000000 };

static const uint64_t US_MAX = PLAN_SECONDS_MAX * UINT64_C(1000000);

/* "5-100 us", for what is said of a span, or of a bound. */
struct said {
	char text[80];
};

static struct said
say(uint64_t value, const char *unit)
{
	struct said said;

	snprintf(said.text, sizeof(said.text), "%" PRIu64 "%s%s", value, unit[0] == '\0' ? "" : " ", unit);
	return said;
}

/* False, with a complaint: not a span, or beyond the bounds. */
static bool
span_read(struct reader *r, const struct node *node, const char *key, const char *unit, uint64_t least, uint64_t most,
    struct span *span)
{
	const char *text = scalar_text(r, node, key);
	struct span read;
	char why[AMOUNT_WHY];

	if (text == NULL)
		return false;
	if (!amount_span(text, unit, &read, why)) {
		complain(r->errors, node->line, "`%s` %s, not %s", key, why, quote(text).text);
		return false;
	}
	if (read.from < least || read.to > most) {
		complain(r->errors, node->line, "`%s` is from %s to %s, not %s", key, say(least, unit).text,
		    say(most, unit).text, quote(text).text);
		return false;
	}
	*span = read;
	return true;
}

/* One amount, not a span of several. */
static bool
time_read_ns(struct reader *r, const struct node *node, const char *key, uint64_t least, uint64_t *value_ns)
{
	struct span span;

	if (!span_read(r, node, key, "ns", least, US_MAX * 1000, &span))
		return false;
	*value_ns = span.from;
	if (span.from == span.to)
		return true;
	complain(r->errors, node->line, "`%s` is one time, not %s", key, quote(node->text).text);
	return false;
}

/* ---- knobs ---- */

static void
knob_read(struct reader *r, const struct node *node, enum knob knob, struct span *span)
{
	const struct knob_row *row = &knob_rows[knob];
	struct span read;

	if (!span_read(r, node, row->name, row->unit, row->or_zero ? 0 : row->least, row->most, &read))
		return;
	if ((read.from > 0 && read.from < row->least) || (read.to > 0 && read.to < row->least))
		complain(r->errors, node->line, "`%s` is 0, or %s at least", row->name, say(row->least,
		    row->unit).text);
	else
		*span = read;
}

/* What no seed can make true. */
static void
pair_check(struct reader *r, const struct scenario *s, const struct knob_pair *pair, const struct node *const *values)
{
	const struct knob_row *smaller = &knob_rows[pair->smaller], *larger = &knob_rows[pair->larger];
	const struct node *node = values[pair->larger] != NULL ? values[pair->larger] : values[pair->smaller];

	if (s->knobs[pair->smaller].from > s->knobs[pair->larger].to)
		complain(r->errors, node->line, "`%s` is %s at least, and may not be above `%s`, which is %s at most",
		    smaller->name, say(s->knobs[pair->smaller].from, smaller->unit).text, larger->name,
		    say(s->knobs[pair->larger].to, larger->unit).text);
}

static void
knobs_read(struct reader *r, const struct node *map, struct scenario *s)
{
	const struct node *values[KNOBS];
	const char *names[KNOBS];

	for (enum knob knob = 0; knob < KNOBS; knob++) {
		names[knob] = knob_rows[knob].name;
		s->knobs[knob] = (struct span){ knob_rows[knob].calm, knob_rows[knob].calm };
	}
	if (map == NULL || !map_read(r, map, "`knobs`", names, KNOBS, 0, values))
		return;
	for (enum knob knob = 0; knob < KNOBS; knob++)
		if (values[knob] != NULL)
			knob_read(r, values[knob], knob, &s->knobs[knob]);
	for (unsigned i = 0; i < KNOB_PAIRS && r->errors->count == 0; i++)
		pair_check(r, s, &knob_pairs[i], values);
}

/* ---- faults ---- */

/* Whether there is a `for` where there must be one, and only there. */
static bool
for_check(struct reader *r, const struct node *node, enum fault_kind kind, const struct node *time)
{
	const struct fault_row *row = &fault_rows[kind];

	if (row->lasts == (time != NULL))
		return true;
	if (row->lasts)
		complain(r->errors, node->line, "`%s` lasts, and needs `for`", row->name);
	else
		complain(r->errors, time->line, "`%s` is over at once: it has no `for`", row->name);
	return false;
}

static void
rate_read(struct reader *r, const struct node *map, enum fault_kind kind, struct fault_rate *rate)
{
	static const char *const keys[] = { "every", "for" };
	enum { EVERY, FOR };
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(r, map, quote(fault_rows[kind].name).text, keys, COUNT_OF(keys), 1, values))
		return;
	span_read(r, values[EVERY], "every", "us", 1, US_MAX, &rate->every_us);
	if (for_check(r, map, kind, values[FOR]) && values[FOR] != NULL)
		span_read(r, values[FOR], "for", "us", 1, US_MAX, &rate->for_us);
}

static void
fault_names(const char *names[FAULTS])
{
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		names[kind] = fault_rows[kind].name;
}

static void
rates_read(struct reader *r, const struct node *map, struct scenario *s)
{
	const struct node *values[FAULTS];
	const char *names[FAULTS];

	fault_names(names);
	if (map == NULL || !map_read(r, map, "`often`", names, FAULTS, 0, values))
		return;
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		if (values[kind] != NULL)
			rate_read(r, values[kind], kind, &s->rates[kind]);
	if (r->errors->count == 0 && scenario_faults_most(s) > PLAN_FAULTS_MAX)
		complain(r->errors, map->line, "so often there can be %" PRIu64 " faults until %s, and no more than "
		    "%d find room", scenario_faults_most(s), say(s->knobs[KNOB_UNTIL_MS].to, "ms").text,
		    PLAN_FAULTS_MAX);
}

/* FAULTS, with a complaint: there is no such kind. */
static enum fault_kind
kind_read(struct reader *r, const struct node *node)
{
	const char *text = scalar_text(r, node, "what"), *names[FAULTS];
	unsigned meant;

	if (text == NULL)
		return FAULTS;
	fault_names(names);
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		if (strcmp(names[kind], text) == 0)
			return kind;
	meant = nearest(text, names, FAULTS);
	if (meant < FAULTS)
		complain(r->errors, node->line, "there is no fault %s; `%s` is meant?", quote(text).text, names[meant]);
	else
		complain(r->errors, node->line, "there is no fault %s; there is %s", quote(text).text,
		    wordlist(names, FAULTS).text);
	return FAULTS;
}

static void
fault_read(struct reader *r, const struct node *map, uint64_t until_ms, struct fault *fault)
{
	static const char *const keys[] = { "at", "what", "for", "whom", "part" };
	enum { AT, WHAT, FOR, WHOM, PART };
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(r, map, "a fault", keys, COUNT_OF(keys), 2, values))
		return;
	fault->kind = kind_read(r, values[WHAT]);
	if (fault->kind < FAULTS && for_check(r, map, fault->kind, values[FOR]) && values[FOR] != NULL)
		time_read_ns(r, values[FOR], "for", 1, &fault->for_ns);
	number_read(r, values[WHOM], "whom", 0, UINT32_MAX, &fault->whom);
	number_read(r, values[PART], "part", 0, UINT32_MAX, &fault->what);
	if (time_read_ns(r, values[AT], "at", 0, &fault->at_ns) && fault->at_ns >= until_ms * MS_NS)
		complain(r->errors, values[AT]->line, "`at` is before `until`, which may be %s, not %s",
		    say(until_ms, "ms").text, quote(values[AT]->text).text);
}

/* By time; those of one instant in the order of the file, which is that of time as a rule. */
static void
faults_sort(struct fault *faults, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct fault fault = faults[i];
		uint32_t at = i;

		for (; at > 0 && faults[at - 1].at_ns > fault.at_ns; at--)
			faults[at] = faults[at - 1];
		faults[at] = fault;
	}
}

static void
faults_read(struct reader *r, const struct node *list, struct scenario *s)
{
	/* Where a knob is wrong it may be this one. */
	uint64_t until_ms = r->errors->count == 0 ? s->knobs[KNOB_UNTIL_MS].from : UINT64_MAX / MS_NS;
	struct fault *faults;
	uint32_t count = 0;

	if (list == NULL || !list_check(r, list, "faults", 0, PLAN_FAULTS_MAX))
		return;
	faults = reader_alloc(r, list->count, sizeof(*faults));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next)
		fault_read(r, node, until_ms, &faults[count++]);
	faults_sort(faults, count);
	s->faults = faults;
	s->fault_count = count;
}

/* ---- the file ---- */

static void
root_read(struct reader *r, const struct node *root, struct scenario *s)
{
	static const char *const keys[] = { "says", "swarm", "knobs", "often", "faults", "name" };
	enum { SAYS, SWARM, KNOB_SPANS, OFTEN, LISTED, NAME };
	const struct node *values[COUNT_OF(keys)];
	const char *says;

	if (!map_read(r, root, "a scenario", keys, COUNT_OF(keys), 0, values))
		return;
	label_read(r, values[NAME], "name", s->name, sizeof(s->name));
	says = scalar_text(r, values[SAYS], "says");
	s->says = reader_strdup(r, says != NULL ? says : "");
	bool_read(r, values[SWARM], "swarm", &s->swarm);
	knobs_read(r, values[KNOB_SPANS], s);
	/* How many can happen when is only known where the knobs are. */
	faults_read(r, values[LISTED], s);
	rates_read(r, values[OFTEN], s);
}

static int
read_into(struct reader *r, struct arena *tree, const char *text, size_t bytes, struct scenario **scenario)
{
	struct node *root;
	int error = tree_read(tree, text, bytes, r->errors, &root);

	if (error != 0)
		return error;
	*scenario = reader_alloc(r, 1, sizeof(**scenario));
	if (*scenario != NULL)
		root_read(r, root, *scenario);
	if (r->no_memory)
		return -ENOMEM;
	return r->errors->count == 0 ? 0 : -EINVAL;
}

int
scenario_read(struct arena *arena, const char *text, size_t bytes, struct conf_errors *errors,
    struct scenario **scenario)
{
	struct reader r = { .arena = arena, .errors = errors };
	struct arena tree;
	int error;

	errors->count = 0;
	errors->more = false;
	arena_init(&tree, TREE_BYTES_MAX);
	error = read_into(&r, &tree, text, bytes, scenario);
	arena_drop(&tree);
	if (error == -ENOMEM)
		*errors = (struct conf_errors){ .count = 0 };
	complaints_sort(errors);
	if (error != 0)
		*scenario = NULL;
	return error;
}
