/*
 * sim_scenario.c - the scenarios that the command line names: built in, or in a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "sim.h"

/* ---- reading ---- */

/* What --until makes of it; 0, or -1 after having said why that cannot be. */
static int
change_until(const struct order *order, struct scenario *scenario)
{
	uint32_t listed = scenario->fault_count;
	const char *why = NULL;

	scenario->knobs[KNOB_UNTIL_MS] = (struct span) { order->until_ms, order->until_ms };
	if (listed > 0 && scenario->faults[listed - 1].at_ns >= order->until_ms * 1000000)
		why = "a fault that is to happen comes later";
	else if (scenario_faults_most(scenario) > PLAN_FAULTS_MAX)
		why = "in so much time there can be more faults than a plan can have";
	if (why != NULL)
		fprintf(stderr, "weir sim: --until: %s: %s\n", scenario->name, why);
	return why == NULL ? 0 : -1;
}

/* What the command line has to say of it too. */
static int
take(struct order *order, struct scenario *scenario, const char *path)
{
	if (scenario->name[0] == '\0')
		name_of_path(path, "scenario", scenario->name, sizeof(scenario->name));
	order->scenarios[order->scenario_count++] = scenario;
	return order->until_ms > 0 ? change_until(order, scenario) : 0;
}

/* 0, or -1 after having said what is wrong with it. */
static int
read_text(struct order *order, const char *path, const char *text, size_t bytes)
{
	struct conf_errors errors = { .count = 0 };
	struct scenario *scenario;
	int error = scenario_read(&order->arena, text, bytes, &errors, &scenario);

	if (error == 0)
		return take(order, scenario, path);
	config_complain(config_say, path, &errors, error);
	return -1;
}

static int
read_file(struct order *order)
{
	char *text;
	size_t bytes;
	int rc = config_load(order->named, &text, &bytes);

	if (rc == -ENOENT && strpbrk(order->named, "/.") == NULL) {
		fprintf(stderr, "weir sim: there is neither a scenario nor a file `%s'; --list says which there are\n",
		    order->named);
		return -1;
	}
	if (rc != 0) {
		config_complain(config_say, order->named, &(struct conf_errors) { .count = 0 }, rc);
		return -1;
	}
	order->from_file = true;
	rc = read_text(order, order->named, text, bytes);
	free(text);
	return rc;
}

int
order_find(struct order *order)
{
	bool all = strcmp(order->named, "all") == 0;

	order->scenarios = arena_alloc(&order->arena, (scenario_count + 1) * sizeof(order->scenarios[0]));
	if (order->scenarios == NULL) {
		fprintf(stderr, "weir sim: out of memory\n");
		return -1;
	}
	for (unsigned i = 0; i < scenario_count; i++) {
		const struct scenario_text *one = &scenario_texts[i];

		if (!all && strcmp(order->named, one->name) != 0)
			continue;
		if (read_text(order, one->name, one->text, strlen(one->text)) != 0)
			return -1;
	}
	return order->scenario_count > 0 ? 0 : read_file(order);
}

/* ---- playing it again ---- */

/* A word as a shell reads it. */
static void
put_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@%=,";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word != '\0'; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	putc('\'', out);
}

void
order_replay(const struct order *order, const struct scenario *scenario, uint64_t seed, const char *path,
    char command[SIM_COMMAND])
{
	FILE *out = fmemopen(command, SIM_COMMAND, "w");

	command[0] = '\0';
	if (out == NULL)
		return;
	fputs("weir sim --scenario ", out);
	put_word(out, path != NULL ? path : order->from_file ? order->named : scenario->name);
	fprintf(out, " --seed %" PRIu64, seed);
	/* What was made shorter has its own. */
	if (path == NULL && order->until_ms > 0)
		fprintf(out, " --until %" PRIu64 "ms", order->until_ms);
	if (order->max_events > 0)
		fprintf(out, " --max-events %" PRIu64, order->max_events);
	fclose(out);
}
