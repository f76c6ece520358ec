/*
 * calibrate.c - `weir calibrate`: measures a volume, and prints its parameters as weir.yaml(5) has them.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "calibrating.h"
#include "cmd.h"
#include "conf/conf.h"
#include "host_options.h"

enum {
	KEY_DESTROY = 1000, KEY_PREPARE, KEY_TIME, KEY_NAME, KEY_OUT, KEY_CONFIG, KEY_BLOCK_SIZE,
	TIME_LEAST_MS = 1000, TIME_MOST_MS = 24 * 3600 * 1000, TIME_MS = 60 * 1000,
	P99 = 990000,
};

static const struct argp_option options[] = {
	{ "destroy-data", KEY_DESTROY, NULL, 0, "what the volume has may be lost: it is written to", 0 },
	{ "prepare", KEY_PREPARE, NULL, 0,
	    "first write all of it, in order and then at random, however long that takes", 0 },
	{ "time", KEY_TIME, "TIME", 0, "how long to measure in all, at most (default 60s)", 0 },
	{ "name", KEY_NAME, "NAME", 0, "what the device is to be called (default: as the volume)", 0 },
	{ "out", KEY_OUT, "FILE", 0, "print the parameters to this file (default: standard output)", 0 },
	{ "config", KEY_CONFIG, "FILE", 0, "VOLUME is SUBNQN/NSID of this configuration, weir.yaml(5)", 0 },
	{ "block-size", KEY_BLOCK_SIZE, "BYTES", 0, "512 or 4096 (default)", 0 },
	{ 0 },
};

struct wish {
	const char *volume, *out, *config;
	char spec[CONF_SPEC], name[CONF_NAME_MAX + 1];
	uint32_t block_size;
	uint64_t time_ms;
	bool destroy, prepare;
};

static void
parse_name(struct argp_state *state, const char *arg, char name[CONF_NAME_MAX + 1])
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t length = strlen(arg);

	if (length == 0 || length > CONF_NAME_MAX || strspn(arg, signs) < length || strchr("-_.", arg[0]) != NULL)
		argp_error(state, "--name '%s': 1 to %d letters, digits and - _ . behind the first one", arg,
		    CONF_NAME_MAX);
	else
		memcpy(name, arg, length + 1);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct wish *wish = state->input;

	switch (key) {
	case KEY_DESTROY: wish->destroy = true; return 0;
	case KEY_PREPARE: wish->prepare = true; return 0;
	case KEY_TIME: wish->time_ms = option_duration_of(state, "--time", arg, TIME_LEAST_MS, TIME_MOST_MS); return 0;
	case KEY_NAME: parse_name(state, arg, wish->name); return 0;
	case KEY_OUT: wish->out = arg; return 0;
	case KEY_CONFIG: wish->config = arg; return 0;
	case KEY_BLOCK_SIZE:
		if (strcmp(arg, "512") != 0 && strcmp(arg, "4096") != 0)
			argp_error(state, "--block-size '%s': 512 or 4096", arg);
		wish->block_size = arg[0] == '5' ? 512 : 4096;
		return 0;
	case ARGP_KEY_ARG:
		if (wish->volume != NULL)
			argp_error(state, "one volume, please; what is '%s'?", arg);
		wish->volume = arg;
		return 0;
	case ARGP_KEY_END:
		if (wish->volume == NULL)
			argp_error(state, "which volume?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "VOLUME\n--config=FILE SUBNQN/NSID", "Measures a volume, as `weir serve --ns' has it, and "
	"prints its parameters for `devices' in weir.yaml(5).", NULL, NULL, NULL,
};

/* ---- which volume ---- */

/* As a configuration has it, by the name of its subsystem and its number. */
static bool
find_configured(struct wish *wish, const struct conf *conf)
{
	const char *slash = strrchr(wish->volume, '/');
	size_t length = slash != NULL ? (size_t)(slash - wish->volume) : 0;
	uint64_t nsid = 0;

	if (slash == NULL || !option_number(slash + 1, 1, CONF_NS_MAX, &nsid)) {
		fprintf(stderr, "weir calibrate: '%s' is not SUBNQN/NSID\n", wish->volume);
		return false;
	}
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		for (uint32_t k = 0; k < conf->subsys[i].ns_count; k++) {
			const struct conf_subsys *subsys = &conf->subsys[i];

			if (strlen(subsys->nqn) != length || strncmp(subsys->nqn, wish->volume, length) != 0 ||
			    subsys->ns[k].nsid != nsid)
				continue;
			conf_volume_spec(&subsys->ns[k], wish->spec);
			wish->block_size = subsys->ns[k].block_size;
			return true;
		}
	fprintf(stderr, "weir calibrate: %s has no %s\n", config_shown(wish->config), wish->volume);
	return false;
}

static bool
find_volume(struct wish *wish)
{
	struct arena arena;
	struct conf *conf;
	bool found;

	if (wish->config == NULL) {
		snprintf(wish->spec, sizeof(wish->spec), "%s", wish->volume);
		if (strlen(wish->volume) < sizeof(wish->spec))
			return true;
		fprintf(stderr, "weir calibrate: a volume's text has %zu bytes at most\n", sizeof(wish->spec) - 1);
		return false;
	}
	arena_init(&arena, 0);
	found = config_read(&arena, wish->config, &conf) == 0 && find_configured(wish, conf);
	arena_drop(&arena);
	return found;
}

/* Before it is opened, which may make a file larger. */
static bool
may_write(const struct wish *wish)
{
	char path[BLK_SPEC];

	if (wish->destroy || !blk_spec_path(wish->spec, path))
		return true;
	fprintf(stderr, "weir calibrate: %s would be written all over, since what writes cost is measured too, and all "
	    "that it has be lost; --destroy-data says that it may be\n", path);
	return false;
}

/* By the file that it lies in, by its profile, or by its kind. */
static void
name_by_default(struct wish *wish)
{
	const char *inner = blk_spec_inner(wish->spec);
	char text[BLK_SPEC];

	if (wish->name[0] != '\0')
		return;
	if (!blk_spec_path(wish->spec, text)) {
		inner += strncmp(inner, "flash:", 6) == 0 ? 6 : 0;
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(inner, ":,"), inner);
	}
	name_of_path(text, "device", wish->name, sizeof(wish->name));
}

/* ---- what came of it ---- */

static void
say_sizes(const char *what, const struct gauge_heard heard[QOS_SIZES], bool rates)
{
	fprintf(stderr, "%-22s", what);
	for (unsigned size = 0; size < QOS_SIZES; size++)
		fprintf(stderr, " %8" PRIu64, (rates ? heard[size].rate / 1000 : heard[size].median_ns) / 1000);
	fprintf(stderr, "\n");
}

/* Where a few take very long it is hardly the drive that does so: then it would have to be very busy to look busy. */
static void
check_mean(const struct gauge_heard *large)
{
	if (large->mean_ns > large->median_ns * 3 / 2)
		fprintf(stderr, "weir calibrate: warning: half of the reads of 128 KiB take %" PRIu64 " us or less "
		    "alone, but %" PRIu64 " us on average: where something else is at work here, measure again "
		    "without it\n", large->median_ns / 1000, large->mean_ns / 1000);
}

/* What it takes to see that an I/O has ended must not look like a device that has too much to do. */
static void
check_turns(const struct calibrating *c, const struct qos_params *params)
{
	uint64_t turn_ns = hist_quantile(&c->turns, P99);

	fprintf(stderr, "a turn of the reactor takes %" PRIu64 ".%" PRIu64 " us at most, 99 times out of 100\n",
	    turn_ns / 1000, turn_ns / 100 % 10);
	if (params->thresh_min_ns <= 2 * turn_ns)
		fprintf(stderr, "weir calibrate: warning: that is more than half of latency_min_us, %u us: a turn that "
		    "takes long looks like a device that has too much to do; this machine is too busy, or too slow for "
		    "that device, to share it with `mode: gimbal'\n", params->thresh_min_ns / 1000);
}

static void
say_summary(const struct calibrating *c, const struct qos_params *params)
{
	const struct calibrate *found = &c->calibrate;
	uint64_t rate;
	uint32_t large = calibrate_saturates(found, CALIBRATE_LARGE, &rate);
	uint32_t small = calibrate_saturates(found, CALIBRATE_SMALL, &rate);

	fprintf(stderr, "%-22s", "");
	for (uint32_t bytes = QOS_SIZE_LEAST; bytes <= QOS_SIZE_MOST; bytes *= 2)
		fprintf(stderr, " %4u KiB", bytes / 1024);
	fprintf(stderr, "\n");
	say_sizes("a read alone, us", found->alone[QOS_READ], false);
	say_sizes("reads, MB/s", found->full[QOS_READ], true);
	say_sizes("a write alone, us", found->alone[QOS_WRITE], false);
	say_sizes("writes, MB/s", found->full[QOS_WRITE], true);
	fprintf(stderr, "saturated by %u reads of 128 KiB, or %u of 4 KiB\n", large, small);
	check_mean(&found->alone[QOS_READ][QOS_SIZES - 1]);
	check_turns(c, params);
}

static void
put(void *arg, const char *text, size_t bytes)
{
	fwrite(text, 1, bytes, arg); /* whoever closes it sees what went wrong */
}

/* Before anything is measured, which may take hours; what is there stays until there is something else.  NULL: it has
 * been said why. */
static FILE *
open_out(const struct wish *wish)
{
	FILE *out = wish->out != NULL ? fopen(wish->out, "a") : stdout;

	if (out == NULL)
		fprintf(stderr, "weir calibrate: %s: %s\n", wish->out, strerror(errno));
	return out;
}

/* A pipe cannot be cut, and has nothing that would have to be. */
static bool
print(const struct wish *wish, const struct conf_device *device, FILE *out)
{
	bool written = out == stdout || ftruncate(fileno(out), 0) == 0 || errno == EINVAL;

	if (written)
		conf_device_print(device, put, out);
	written = written && fflush(out) == 0 && !ferror(out);
	if (!written)
		fprintf(stderr, "weir calibrate: %s: %s\n", out != stdout ? wish->out : "standard output",
		    strerror(errno));
	return written;
}

static bool
calibrate(const struct wish *wish, struct calibrating *c, FILE *out)
{
	struct conf_device device;
	const char *wrong;

	c->spec = wish->spec;
	c->block_size = wish->block_size;
	c->time_ns = wish->time_ms * 1000 * 1000;
	c->prepare = wish->prepare;
	c->rt_options = rt_options_default();
	if (!calibrating_run(c))
		return false;
	memcpy(device.name, wish->name, sizeof(device.name));
	wrong = calibrate_params(&c->calibrate, &device.params);
	if (wrong != NULL)
		fprintf(stderr, "weir calibrate: %s\n", wrong);
	else
		say_summary(c, &device.params);
	return wrong == NULL && print(wish, &device, out);
}

int
cmd_calibrate(int argc, char **argv)
{
	struct wish wish = { .block_size = 4096, .time_ms = TIME_MS };
	struct calibrating *c;
	bool right;
	FILE *out;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &wish))
		return EXIT_USAGE;
	if (!find_volume(&wish) || !may_write(&wish))
		return EXIT_FAILED;
	name_by_default(&wish);
	out = open_out(&wish);
	if (out == NULL)
		return EXIT_FAILED;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		fprintf(stderr, "weir calibrate: out of memory\n");
	right = c != NULL && calibrate(&wish, c, out);
	free(c);
	if (out != stdout)
		fclose(out);
	return right ? EXIT_OK : EXIT_FAILED;
}
