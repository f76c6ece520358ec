/*
 * find.h - which subsystems there are: a discovery service is asked, wherever it listens.
 */
#ifndef WEIR_CMD_FIND_H
#define WEIR_CMD_FIND_H

#include <argp.h>
#include <weir/weir.h>

#include "host_options.h"

/* What was named: a subsystem, or a discovery service, with or without a port. */
struct place_named {
	const char *text;
	struct weir_uri uri;
	bool port_said;
};

/* URI or HOST[:PORT]; what is neither ends the program with a message. */
void find_parse(struct argp_state *state, const char *text, struct place_named *place);

/*
 * Asks the discovery service there.  Where no port was said, 8009 is tried and then 4420, as a target may serve it
 * on the port of its I/O; the one that answered is in place->uri afterwards.  0, or -1 after having said why not.
 */
int find_discover(struct weir_host *host, const struct host_options *options, struct place_named *place,
    unsigned referrals, struct weir_discovery *discovery) __attribute__((warn_unused_result));

struct weir_discovery_options find_options(const struct host_options *options, unsigned referrals);

/* The subsystems in it that can be connected to, each once, with all of its addresses.  How many; `uris` is malloc()ed;
 * -ENOMEM. */
int find_subsystems(const struct weir_discovery *discovery, const struct weir_uri *service, struct weir_uri **uris)
    __attribute__((warn_unused_result));

#endif
