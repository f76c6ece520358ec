/*
 * host_options.h - what all commands that are hosts have in common: their options, and how they connect.
 *
 * What goes wrong is said here, on stderr: what, where, and what may help.
 */
#ifndef WEIR_CMD_HOST_OPTIONS_H
#define WEIR_CMD_HOST_OPTIONS_H

#include <argp.h>
#include <weir/weir.h>

#include "rt/wake.h"

struct host_options {
	const char *hostnqn, *hostid;
	bool given; /* any of them was */
	bool verbose;
	struct flag own_words; /* from here on the command says itself what happens to connections */
	struct weir_subsys_options subsys;
};

/* All defaults, and as many queues as a command needs. */
void host_options_init(struct host_options *options, uint16_t queues);

/* The options --hostnqn, --hdgst ...: the children of the command's argp, whose input is a struct host_options:
 * in ARGP_KEY_INIT, state->child_inputs[0] = &...; */
extern const struct argp_child host_options_child[];

/* 1.5 (seconds), 200ms, 2m: in milliseconds, from `min` to `max`; what is none ends the program with a message. */
uint64_t option_duration_of(struct argp_state *state, const char *option, const char *arg, uint64_t min, uint64_t max);

/* A size of at least `min`: 4k, 1G; what is none ends the program with a message. */
uint64_t option_size_of(struct argp_state *state, const char *option, const char *arg, uint64_t min);

/* A URI, or HOST[:PORT] for nvme+tcp://HOST[:PORT].  What is none ends the program with a message. */
void option_uri_of(struct argp_state *state, const char *arg, struct weir_uri *uri);

/* The same, of a subsystem. */
void option_subsys_of(struct argp_state *state, const char *arg, struct weir_uri *uri);

/* NULL: it has been said why. */
struct weir_host *host_start(const struct host_options *options);

/* Connects to a subsystem; NULL: it has been said why. */
struct weir_subsys *host_reach(struct weir_host *host, const struct host_options *options,
    const struct weir_uri *uri);

enum { HOST_URI_TEXT = 4096 };

/* Says what failed and why, with what may help against this error. */
void host_complain(const char *what, int error);

#endif
