/*
 * serve.h - what `weir serve` finds out before it starts: who it is, where it listens.
 */
#ifndef WEIR_CMD_SERVE_H
#define WEIR_CMD_SERVE_H

#include "rt/rt.h"
#include "serving.h"

/* identity.c: who a subsystem is, a host, and a volume of a subsystem, which is open. */
void identify_subsys(const char *nqn, uint8_t id[16]);
void identify_host(const char *nqn, uint8_t id[16]);
void identify_volume(const char *nqn, const struct blk *blk, uint8_t id[16]);

/* listen.c: numbers for the names among them.  0, or a negative errno after having said on stderr what is wrong. */
int listen_resolve(struct target_listen *listen, uint32_t count) __attribute__((warn_unused_result));

/*
 * listen.c: adds the sockets that we were handed to the places to listen, TARGET_LISTENERS_MAX of them
 * at most.  0, or a negative errno after having said on stderr what is wrong.
 */
int listen_inherit(struct target_listen *listen, uint32_t *count, struct rt_options *options)
    __attribute__((warn_unused_result));

/* The same where a configuration says where to listen: other sockets are not used, and are told of. */
int listen_inherit_conf(const struct conf *conf, struct rt_options *options) __attribute__((warn_unused_result));

/* At which listeners of a configuration may whoever reaches this machine use something?  A bit for each by index, but
 * those where it was so with the one before, or NULL. */
uint32_t listen_opened(const struct conf *before, const struct conf *conf);

/* Says so on stderr. */
void listen_warn(const struct conf *conf, uint32_t opened);

/* Where nothing else was said. */
void listen_by_default(struct target_listen *listen, uint32_t *count);

/* state_dir.c: a folder, and those above it, where they are not there, durably.  0 or negative errno. */
int folder_make(const char *path) __attribute__((warn_unused_result));

/*
 * Makes the folder of what must outlive a restart, where it is not there, and keeps every other weir out of it until
 * the process ends.  0, or a negative errno after having said on stderr what is wrong.
 */
int state_dir_take(const char *dir) __attribute__((warn_unused_result));

/* Of each reactor: buffers for data. */
enum { SERVE_SMALL_BUFS = 2304, SERVE_LARGE_BUFS = 256 };

/* What memory depends on. */
struct explained {
	unsigned reactors;
	uint32_t volumes, shared, connections; /* `shared`: so many volumes wait for turns */
	const char **specs;    /* of those volumes that are known */
	uint32_t spec_count;
	bool order_log;
	uint32_t order_slots;    /* 0: as usual */
};

/* explain.c: prints how much memory serving takes, and how that adds up.  0, or -EINVAL after having said on stderr
 * what is wrong with a volume. */
int explain_memory(const struct explained *explained);

enum { SERVED_SPECS_MAX = 64 };

/* What the options of `weir serve` say where there is no configuration. */
struct served {
	struct target_listen listen[TARGET_LISTENERS_MAX];
	uint32_t listen_count;
	const char *specs[SERVED_SPECS_MAX]; /* volumes, with their sizes */
	uint32_t spec_count, block_size;
	const char *subnqn;
	const char *state_dir;               /* NULL: none */
	const char *order_log;               /* file:PATH, or memory: or persistent:; NULL: none */
	size_t order_log_length;             /* so many bytes of it are that; */
	uint32_t order_slots;                /* and what follows says this; 0: as usual */
	uint32_t handshake_ms, stall_ms, connections_max; /* 0: as usual */
};

/* What the command line says. */
struct serve_options {
	struct served told;        /* by options that a configuration says too */
	const char *told_first;    /* the first of these options; NULL: none was given */
	const char *config;        /* the file */
	const char *control;       /* the path of the socket, as control.h has it */
	const char *data_dir;
	bool stats, explain;
	uint32_t stop_ms;          /* for volumes to finish what was begun */
	struct rt_options rt;      /* threads, engines and sockets; what to do at a signal is not set */
	int cpus[RT_REACTORS_MAX]; /* rt.cpus */
};

/* serve_options.c: 0, or EXIT_USAGE; what is wrong is said on stderr, mostly by ending the program. */
int serve_options_parse(int argc, char **argv, struct serve_options *said);

/* served.c: as a configuration.  0, or a negative errno after having said on stderr what is wrong. */
int served_conf(const struct served *served, struct configured *configured) __attribute__((warn_unused_result));

#endif
