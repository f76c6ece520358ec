/*
 * conf.h - what a target is to be, as its operator wrote it in weir.yaml(5).
 *
 * Text in, a checked `struct conf` or a list of what is wrong out; the
 * difference of two; and one as text again.  It knows neither volumes nor
 * sockets: that a file is there or an address is ours is for others to find.
 */
#ifndef WEIR_CONF_CONF_H
#define WEIR_CONF_CONF_H

#include "base/arena.h"
#include "base/nqn.h"
#include "conf/qos.h"

enum {
	CONF_TEXT_MAX = 32 * 1024 * 1024, /* bytes; whatever conf_print() prints is shorter */
	CONF_DEPTH_MAX = 16,
	CONF_NODES_MAX = 512 * 1024,      /* scalars, lists and mappings as written */
	CONF_ANCHORS_MAX = 256,
	CONF_ERRORS_MAX = 20,

	CONF_LISTENERS_MAX = 16,
	CONF_SUBSYS_MAX = 64,
	CONF_REFERRALS_MAX = 16,
	CONF_NS_MAX = 1024,               /* of a subsystem; the largest nsid too */
	CONF_NS_ALL_MAX = 4096,
	CONF_HOSTS_MAX = 1024,            /* of a subsystem */
	CONF_HOSTS_ALL_MAX = 16384,
	CONF_ANA_MAX = 64,                /* of a subsystem; the largest id too */

	CONF_NQN_MAX = NQN_MAX,
	CONF_SERIAL_MAX = 20,
	CONF_MODEL_MAX = 40,
	CONF_VOLUME_MAX = 220,
	CONF_SPEC = 256,
	CONF_STATE_DIR_MAX = 255,
	CONF_POOL_MAX = 150,              /* of `host_namespaces`: a volume's text */

	CONF_TIME_MAX_MS = 3600000,
	CONF_CONNECTIONS_MAX = 1000000,
	CONF_CONTROLLERS_MAX = 65519,     /* FFEFh, the largest id of a controller */
	CONF_QUEUES_MAX = 128,
	CONF_QUEUE_ENTRIES_MAX = 1024,
};

enum { /* where nothing is said */
	CONF_PORT = 4420,
	CONF_PORT_DISCOVERY = 8009,
	CONF_DEFAULT_CONNECTIONS = 4096,
	CONF_DEFAULT_HANDSHAKE_MS = 10000,
	CONF_DEFAULT_STALL_MS = 30000,
	CONF_DEFAULT_CONTROLLERS = 1000,
	CONF_DEFAULT_POOL_COUNT = 64,
	CONF_DEFAULT_QUEUES = 128,
	CONF_DEFAULT_QUEUE_ENTRIES = 1024,
};

enum conf_discovery { CONF_DISCOVERY_YES, CONF_DISCOVERY_NO, CONF_DISCOVERY_ONLY };

enum conf_ana_state { /* with the values of the standard */
	CONF_ANA_OPTIMIZED = 1,
	CONF_ANA_NON_OPTIMIZED = 2,
	CONF_ANA_INACCESSIBLE = 3,
	CONF_ANA_PERSISTENT_LOSS = 4,
	CONF_ANA_CHANGE = 15,
};

struct conf_address {
	char host[64]; /* numeric, in its shortest form, without brackets */
	uint16_t port;
};

struct conf_listener {
	const char *name;
	struct conf_address address;
	enum conf_discovery discovery;
};

struct conf_ana {
	uint32_t id;
	enum conf_ana_state state;
	uint8_t on[CONF_LISTENERS_MAX]; /* by index of the listener: enum conf_ana_state, or 0: `state` */
};

struct conf_ns {
	uint32_t nsid;
	const char *volume;  /* as written, without a size */
	uint64_t size;       /* bytes; 0: a file, as large as it is */
	uint32_t block_size;
	uint8_t nguid[16], uuid[16]; /* zeros: none was given */
	uint32_t ana_group;
	bool write_protected;
	enum conf_qos_mode mode;
	uint32_t device;     /* whose parameters its own has, by index; CONF_QOS_NONE: those of qos_params_default() */
	struct qos_limit limits[QOS_KINDS]; /* of all hosts together */
	uint32_t burst_ms;
};

struct conf_subsys {
	const char *nqn;
	const char *serial, *model; /* NULL: not given */
	bool all_listeners;         /* none are named */
	uint32_t listeners;         /* a bit for each listener, by index, where it is served; never 0 */
	bool any_host;              /* then there are no hosts here */
	uint32_t host_count;
	const char **hosts;
	bool static_controllers;    /* their ids are 1 to controllers_max, for hosts to choose from */
	uint32_t controllers_max, queues_max, entries_max;
	const char *pool;           /* where hosts may make namespaces: mem, or file:FOLDER; NULL: nowhere */
	uint64_t pool_size;         /* bytes in all */
	uint32_t pool_count;        /* namespaces in all */
	uint32_t ana_count;         /* 1 at least */
	struct conf_ana *ana;
	uint32_t ns_count;
	struct conf_ns *ns;
};

enum conf_order_kind { CONF_ORDER_FILE, CONF_ORDER_MEMORY, CONF_ORDER_PERSISTENT };

/* Where the log of ordered writes is. */
struct conf_order_log {
	const char *place;     /* file:PATH, memory:PATH or persistent:PATH; NULL: there is none */
	uint32_t slots;        /* of each of its parts, of one that is made; 0: not given */
};

struct conf {
	const char *state_dir; /* NULL: not given */
	struct conf_order_log order_log;
	uint32_t connections_max, handshake_ms, stall_ms;
	uint32_t listener_count;
	struct conf_listener *listeners;
	uint32_t subsys_count;
	struct conf_subsys *subsys;
	uint32_t referral_count;
	struct conf_address *referrals;
	struct conf_qos qos;
};

/* What is wrong: each with its line, from 1 (0: the file as a whole), in the order of the lines. */
struct conf_error {
	uint32_t line;
	char text[252];
};

struct conf_errors {
	uint32_t count;
	bool more; /* than are kept */
	struct conf_error list[CONF_ERRORS_MAX];
};

/*
 * Reads and checks a file's text.  Everything that stays is in the arena, which is this configuration's
 * own: to drop it is the way to be rid of the configuration, and of what is left where there is none.
 * 0; -EINVAL: `errors` has one at least; -ENOMEM: it has none.
 */
int conf_parse(struct arena *arena, const char *text, size_t bytes, struct conf **conf, struct conf_errors *errors)
    __attribute__((warn_unused_result));

/* The canonical text, in pieces: conf_parse() makes the same configuration of it. */
void conf_print(const struct conf *conf, void (*put)(void *arg, const char *text, size_t bytes), void *arg);

/* ---- questions ---- */

/* The specification that blk_open() takes: the volume and its size. */
void conf_volume_spec(const struct conf_ns *ns, char spec[CONF_SPEC]);

/* The path in a place of the log of ordered writes, and of which kind it is; NULL: it is none. */
const char *conf_order_path(const char *place, enum conf_order_kind *kind);

/* How many slots a part of such a log may have. */
enum { CONF_ORDER_SLOTS_LEAST = 1024, CONF_ORDER_SLOTS_MAX = 1 << 24 };
static inline bool
conf_order_slots(uint64_t slots)
{
	return slots >= CONF_ORDER_SLOTS_LEAST && slots <= CONF_ORDER_SLOTS_MAX && (slots & (slots - 1)) == 0;
}

/* The state of a group on a listener. */
enum conf_ana_state conf_ana_on(const struct conf_ana *ana, uint32_t listener);
const char *conf_ana_text(enum conf_ana_state state);

/* ADDRESS:PORT with brackets around IPv6. */
enum { CONF_ADDRESS_TEXT = 80 };
void conf_address_text(const struct conf_address *address, char text[CONF_ADDRESS_TEXT]);

/* Whether nobody can listen at both: they are the same, or one of them is every address of the port. */
bool conf_addresses_meet(const struct conf_address *a, const struct conf_address *b);

/*
 * Reads one.  Without a port it is `port`.  False: not one, and nothing was changed.
 */
bool conf_address_parse(const char *text, uint16_t port, struct conf_address *address);

#endif
