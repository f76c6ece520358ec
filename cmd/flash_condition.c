/*
 * flash_condition.c - `weir flash condition`: prepares a drive, and keeps what it is like then in a file.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/size.h"
#include "cmd.h"
#include "flash.h"
#include "host_options.h"
#include "report.h"

enum { KEY_SIZE = 1000, KEY_STATE, KEY_SEED, KEY_OUT, KEY_JSON, PATH_BYTES = 256 };

static const struct argp_option options[] = {
	{ "size", KEY_SIZE, "SIZE", 0, "at this capacity (default: 8G, or as near as there is)", 0 },
	{ "state", KEY_STATE, "STATE", 0, "fresh, sequential or fragmented (default)", 0 },
	{ "seed", KEY_SEED, "N", 0, "what is written all over is so by this seed (default 1)", 0 },
	{ "out", KEY_OUT, "FILE", 0, "keep it here (default: PROFILE-SIZE-STATE-HASH.flash)", 0 },
	{ "json", KEY_JSON, NULL, 0, "print what came of it as one JSON object", 0 },
	{ 0 },
};

struct wish {
	const char *name, *out;
	enum condition_kind kind;
	uint64_t bytes; /* 0: nothing was said */
	uint64_t seed;
	bool json;
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct wish *wish = state->input;

	switch (key) {
	case KEY_SIZE: wish->bytes = option_size_of(state, "--size", arg, 1); return 0;
	case KEY_STATE: wish->kind = flash_kind_of(state, arg); return 0;
	case KEY_SEED: wish->seed = option_number_of(state, "--seed", arg, 0, UINT64_MAX); return 0;
	case KEY_OUT: wish->out = arg; return 0;
	case KEY_JSON: wish->json = true; return 0;
	case ARGP_KEY_ARG: flash_name_take(state, arg, &wish->name); return 0;
	case ARGP_KEY_END: flash_name_needed(state, wish->name); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "PROFILE", "Fills a modelled drive in order, writes it all over, and keeps what it is like "
	"then, without contents, in a file.", NULL, NULL, NULL,
};

static uint64_t
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
path_default(const struct flash_state *state, char path[PATH_BYTES])
{
	char size[SIZE_TEXT], hash[FLASH_HASH_TEXT];

	size_print(state->geometry.units * state->geometry.unit_bytes, size);
	flash_hash_text(&state->profile, hash);
	snprintf(path, PATH_BYTES, "%s-%s-%s-%s.flash", state->profile.name, size,
	    condition_names[state->condition.kind], hash);
}

/* ---- what came of it ---- */

static void
tell_wear(struct report *report, const struct flash_wear *wear)
{
	char text[FLASH_TIMES_TEXT + 48], mean[FLASH_TIMES_TEXT];

	snprintf(text, sizeof(text), "%" PRIu32 " to %" PRIu32 ", %s on average", wear->erases_least, wear->erases_most,
	    flash_times(wear->erases_mean_permille, mean));
	report_number(report, "erases", "erases", wear->erases, "");
	report_number(report, "erases_least", NULL, wear->erases_least, "");
	report_number(report, "erases_most", NULL, wear->erases_most, "");
	report_number(report, "erases_mean_permille", NULL, wear->erases_mean_permille, "");
	report_text(report, NULL, "erases of a block", text);
	report_number(report, "used_percent", "worn", wear->used_percent, "%");
}

static void
tell(const struct flash_state *state, const char *path, bool json, bool was_there, uint64_t took_ns)
{
	const struct ftl_counts *c = &state->counts;
	uint64_t moved = c->gc_units + c->fold_units + c->wear_units, unit = state->geometry.unit_bytes;
	uint64_t permille = flash_amplified(wear_units(c), c->host_units);
	char hash[FLASH_HASH_TEXT], text[FLASH_TIMES_TEXT + 8], times[FLASH_TIMES_TEXT];
	struct report report;

	flash_hash_text(&state->profile, hash);
	report_init(&report, json);
	report_text(&report, "profile", "profile", state->profile.name);
	report_text(&report, "hash", "hash", hash);
	report_bytes(&report, "bytes", "size", state->geometry.units * unit);
	report_text(&report, "state", "state", condition_names[state->condition.kind]);
	report_number(&report, "seed", state->condition.kind == CONDITION_FRAGMENTED ? "seed" : NULL,
	    state->condition.seed, "");
	report_bytes(&report, "written_bytes", "written", c->host_units * unit);
	report_bytes(&report, "moved_bytes", "moved", moved * unit);
	report_bytes(&report, "programmed_bytes", "programmed", state->wear.media_bytes);
	tell_wear(&report, &state->wear);
	snprintf(text, sizeof(text), "%s times", flash_times(permille, times));
	report_number(&report, "write_amplification_permille", NULL, permille, "");
	report_text(&report, NULL, c->host_units > 0 ? "amplified" : NULL, text);
	report_text(&report, "file", "file", path);
	report_bool(&report, "was_there", NULL, was_there);
	report_number(&report, "cpu_ns", NULL, took_ns, "");
	snprintf(text, sizeof(text), "%s s", flash_times(took_ns / 1000000, times));
	report_text(&report, NULL, was_there ? NULL : "took", text);
	report_text(&report, NULL, was_there ? "made before" : NULL, "yes, and the same");
	report_end(&report, true);
}

/* ---- the file ---- */

/* The file is there already: 0 if it is the state that is wanted. */
static int
compare(const char *path, const struct flash_state *wanted, struct flash_state *found)
{
	const struct condition *a = &wanted->condition, *b = &found->condition;

	if (found->geometry.units == wanted->geometry.units && a->kind == b->kind &&
	    a->overwrite_percent == b->overwrite_percent && a->seed == b->seed)
		return 0;
	fprintf(stderr, "weir flash: %s: it is there already, and another state: %s, %" PRIu64 " bytes", path,
	    condition_names[b->kind], found->geometry.units * found->geometry.unit_bytes);
	if (b->kind == CONDITION_FRAGMENTED)
		fprintf(stderr, ", seed %" PRIu64, b->seed);
	fprintf(stderr, "; --out names another file\n");
	return -1;
}

static int
look_at(const char *path, const struct flash_state *wanted, bool json)
{
	struct flash_state found;
	int error = flash_state_read(path, &wanted->profile, &found);

	if (error != 0)
		fprintf(stderr, "weir flash: %s: it is there already, and stays as it is; --out names another file\n",
		    path);
	else
		error = compare(path, wanted, &found);
	if (error == 0)
		tell(&found, path, json, true, 0);
	flash_state_drop(&found);
	return error;
}

static int
write_out(int fd, const uint8_t *image, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, image + done, bytes - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* 0, or a negative errno. */
static int
write_whole(int fd, const struct flash_state *state)
{
	mode_t mask = umask(0); /* there is no other way to ask */
	int error;

	umask(mask);
	error = write_out(fd, state->image, state->image_bytes);
	if (error == 0 && (fchmod(fd, 0666 & ~mask) != 0 || fsync(fd) != 0))
		error = -errno;
	if (close(fd) != 0 && error == 0)
		error = -errno;
	return error;
}

/* Never in place of a file; where a file system cannot say so, there was none when we looked. */
static int
name_it(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return rename(from, to) == 0 ? 0 : -errno;
}

/* By another name until it is whole: whatever ends us, there is no half of a state by its own. */
static int
keep(const char *path, const struct flash_state *state)
{
	char by[PATH_MAX];
	int fd = -1, error = 0;

	if ((size_t)snprintf(by, sizeof(by), "%s.XXXXXX", path) >= sizeof(by))
		error = -ENAMETOOLONG;
	else if ((fd = mkostemp(by, O_CLOEXEC)) < 0)
		error = -errno;
	if (error == 0) {
		error = write_whole(fd, state);
		if (error == 0)
			error = name_it(by, path);
		if (error != 0)
			unlink(by);
	}
	if (error != 0)
		fprintf(stderr, "weir flash: %s: %s\n", path, strerror(-error));
	return error == 0 ? 0 : -1;
}

static int
make(const char *path, struct flash_state *state, bool json)
{
	uint64_t begin = cpu_ns();
	int error = flash_state_make(state);

	if (error == 0)
		error = keep(path, state);
	if (error == 0)
		tell(state, path, json, false, cpu_ns() - begin);
	flash_state_drop(state);
	return error;
}

int
flash_condition(int argc, char **argv)
{
	struct wish wish = { .kind = CONDITION_FRAGMENTED, .seed = 1 };
	struct flash_state state = { .image = NULL };
	char usual[PATH_BYTES];
	struct stat status;
	int error;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &wish))
		return EXIT_USAGE;
	if (flash_named(wish.name, &state.profile) != 0)
		return EXIT_FAILED;
	if (state.profile.media == FLASH_IN_PLACE) {
		fprintf(stderr, "weir flash: %s is written in place: it is always as it is when it is fresh, and "
		    "there is nothing to prepare\n", state.profile.name);
		return EXIT_FAILED;
	}
	if (flash_sized(&state.profile, wish.bytes, &state.geometry) != 0)
		return EXIT_FAILED;
	state.condition = condition_of(wish.kind, wish.seed);
	path_default(&state, usual);
	if (wish.out == NULL)
		wish.out = usual;
	error = stat(wish.out, &status) == 0 ? look_at(wish.out, &state, wish.json) :
	    make(wish.out, &state, wish.json);
	return error == 0 ? EXIT_OK : EXIT_FAILED;
}
