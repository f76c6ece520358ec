/*
 * cmd.h - the subcommands of `weir`.
 *
 * Each has its own file with its options; it answers the exit code: 0 done,
 * 1 it went wrong, 2 the command line is wrong (but `diff` as diff(1)), 3 not all was done, or is known to be.
 */
#ifndef WEIR_CMD_H
#define WEIR_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_LEFT = 3 };

/* What is served, and asked for, where nothing else is said. */
#define DEFAULT_SUBNQN "nqn.2026-11.local.weir:default"
enum { DEFAULT_PORT = 4420 };

struct argp_state;

int cmd_serve(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_discover(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_id(int argc, char **argv);
int cmd_read(int argc, char **argv);
int cmd_write(int argc, char **argv);
int cmd_copy(int argc, char **argv);
int cmd_ping(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_flash(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_plan(int argc, char **argv);

struct arena;
struct conf;
struct conf_errors;

/*
 * config.c: the configuration in a file, "-" is standard input, into the arena, which is its own.  0, or a
 * negative errno after having said on stderr what is wrong.
 */
int config_read(struct arena *arena, const char *path, struct conf **conf) __attribute__((warn_unused_result));

/* What it is called where it is spoken of. */
const char *config_shown(const char *path);

/* Whether it can be read once more, at once: it is a regular file; or is not there, which reading says. */
bool config_stays(const char *path);

/* Its two halves: the text, which is malloc()ed; and what it says, with `path` for what is wrong. */
int config_text(const char *path, char **text, size_t *bytes) __attribute__((warn_unused_result));
int config_parse(struct arena *arena, const char *path, const char *text, size_t bytes, struct conf **conf)
    __attribute__((warn_unused_result));

/* The first half without a word.  0, or a negative errno. */
int config_load(const char *path, char **text, size_t *bytes) __attribute__((warn_unused_result));

/* Says what is wrong with it line by line: errors of conf_parse(), if any, and what that or config_load() answered. */
void config_complain(void (*say)(const char *format, ...), const char *path, const struct conf_errors *errors,
    int error);

/*
 * What a file without a name in it is called: weir-sim-crash-17.yaml in whatever folder weir-sim-crash-17; of other
 * signs what a name may have, and where that is nothing `otherwise`.
 */
void name_of_path(const char *path, const char *otherwise, char *name, size_t room);

/* On stderr, however long that takes. */
void config_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what is right, and perhaps not meant. */
void config_warn(const struct conf *conf);

struct argp;

/* options.c: argp_parse(), and a word on stderr where there was no memory for it; false: the command line was not
 * understood. */
bool options_parse(const struct argp *argp, int argc, char **argv, void *input) __attribute__((warn_unused_result));

/* Words of the command line; false: not one, and nothing was changed */
bool option_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* The same for an argp parser: what is not one ends the program with a message. */
uint64_t option_number_of(struct argp_state *state, const char *option, const char *arg, uint64_t min,
    uint64_t max);
bool option_address(const char *text, char *host, unsigned host_bytes, uint16_t *port);
bool option_cpus(const char *text, int *cpus, unsigned max, unsigned *count);

/* How many processors this process may be on; `most` at most. */
unsigned option_processors(unsigned most);

/* The first of these processors that a thread of the process cannot be on; -1: it can be on each. */
int option_cpu_missing(const int *cpus, unsigned count);

#endif
