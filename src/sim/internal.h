/*
 * internal.h - what the files of the simulation share.
 *
 * Everything here is allocated from sim->arena, except what a simulated
 * process allocates itself, which lies in the arenas of its reactors.
 */
#ifndef WEIR_SIM_INTERNAL_H
#define WEIR_SIM_INTERNAL_H

#include "base/arena.h"
#include "base/rng.h"
#include "sim/sim.h"

struct sim_link;
struct sim_io;
struct sim_reactor;

/* ---- events ---- */

struct sim_event {
	struct fifo_node node;  /* free, or in a reactor's inbox */
	enum sim_kind kind;
	uint32_t life;          /* of TURN, MAIL and ERRAND: which life of the reactor's process */
	struct sim_reactor *reactor;
	struct sim_link *link;
	struct sim_io *io;
	struct errand *errand;
	size_t slot;            /* while it is in the heap: where */
	unsigned side;          /* of a link: whom it happens to; of BYTES and FIN: who sent */
	bool passed;            /* of a link: the network card of whom it comes to */
	uint64_t count;
	struct mail mail;
};

struct sim_slot {
	uint64_t at_ns, sequence;
	struct sim_event *event;
};

struct sim {
	struct arena arena;
	struct sim_options options;
	struct rng rng;
	uint64_t now_ns, events, hash;

	struct sim_slot *heap;
	size_t heap_count, heap_size;
	uint64_t sequence;
	struct fifo spare;      /* events not in use */

	struct list processes, links, listeners, files;
	struct list cuts, parts;
	struct fifo held_back;  /* events of links that are silent */
	uint32_t process_count, link_count;
	uint64_t file_count;    /* that there have ever been */
	uint16_t next_port;
	struct fifo spare_pages;
	struct list sicknesses; /* of files: faults.c */
};

/* Zeroed memory of the simulation; aborts where there is none. */
void *sim_alloc(struct sim *sim, size_t bytes);
char *sim_strdup(struct sim *sim, const char *text);

/* `ppm` of a million times true. */
bool sim_chance(struct sim *sim, uint32_t ppm);
/* `base` and a random part of `jitter`. */
uint64_t sim_delay(struct sim *sim, uint32_t base, uint32_t jitter);

/* An event to be filled and put; it is the heap's, and given back by who handles it. */
struct sim_event *sim_event_take(struct sim *sim, enum sim_kind kind);
void sim_event_put(struct sim *sim, struct sim_event *event, uint64_t at_ns);
/* One that was put happens at `at_ns` already, which is before its time. */
void sim_event_hasten(struct sim *sim, struct sim_event *event, uint64_t at_ns);
void sim_event_give(struct sim *sim, struct sim_event *event);
/* The next in time, and among those of one instant in the order put; NULL: none. */
struct sim_event *sim_event_next(struct sim *sim, uint64_t *at_ns);
uint64_t sim_event_next_at(const struct sim *sim); /* UINT64_MAX: none */

/* ---- trace ---- */

void sim_trace(struct sim *sim, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b);
uint64_t sim_hash_bytes(uint64_t hash, const void *data, size_t bytes);

/* ---- processes ---- */

enum sim_pause {
	PAUSE_BETWEEN, /* turns */
	PAUSE_COMES,   /* once the next turn has its mail */
	PAUSE_WITHIN,  /* a turn, which has its mail and has done nothing else yet */
};

struct sim_reactor {
	struct reactor base;
	struct arena arena;
	struct sim_process *process;
	struct rng rng;
	uint64_t clock_ns;       /* within a turn: how far it has come; else when the last one ended */
	struct sim_event *turn;  /* in the heap; NULL: none is due.  Those of former lives may be there too */
	uint64_t turn_at_ns;
	uint64_t paused_until_ns; /* no turn begins before, or goes on */
	enum sim_pause pause;
	bool in_turn, started;
	struct fifo inbox;       /* mail that has arrived */
	struct fifo done;        /* file operations that have taken effect */
	struct fifo errands;     /* that were run */
	uint64_t errand_at_ns;   /* when the last one given is */
	struct list accepts;     /* streams to be handed to their listeners */
	uint64_t *mail_at_ns;    /* per receiver: when the last mail to it arrives */
};

struct sim_process {
	struct list node;
	struct sim *sim;
	char *name, *address;
	struct sim_process_options options;
	unsigned count, index;
	struct sim_reactor *reactors;
	struct arena pages;
	bool running, crash_asked;
	bool dark;               /* crashed half-open, and not started since: nothing arrives */
	unsigned crash_flags;
	uint32_t life;
	uint32_t boots;          /* of its machine: crashes in which what was not durable was lost */
	int error;
	struct list streams, handles, annexes;
	unsigned stream_count;
	uint16_t next_port;
	uint32_t slow;           /* what is on its way to and from it takes so many times as long */
	uint32_t flips_ppm, flips_spared; /* segments of its connections with a wrong bit; bytes that have none */
	uint64_t sends_until_ns, receives_until_ns; /* its network card is busy */
};

static inline struct sim_reactor *
sim_reactor_of(struct reactor *reactor)
{
	return container_of(reactor, struct sim_reactor, base);
}

extern const struct world_ops sim_world_ops;

/* Sees to it that the reactor takes a turn not before `at_ns`. */
void sim_reactor_wake(struct sim_reactor *reactor, uint64_t at_ns);
void sim_reactor_handle_turn(struct sim *sim, struct sim_event *event);
void sim_reactor_handle_mail(struct sim *sim, struct sim_event *event);
void sim_reactor_handle_errand(struct sim *sim, struct sim_event *event);
/* The annexes of a process that is no more. */
void sim_annexes_drop(struct sim_process *process);
uint64_t sim_reactor_name(const struct sim_reactor *reactor); /* as an actor of the trace */

/* Spends the reactor's time; answers the instant at which that was done. */
uint64_t sim_reactor_spend(struct sim_reactor *reactor, uint64_t ns);

/* ---- network ---- */

int sim_net_listen(struct reactor *reactor, struct listener *listener) __attribute__((warn_unused_result));
void sim_net_unlisten(struct reactor *reactor, struct listener *listener);
int sim_net_connect(struct reactor *reactor, const char *host, uint16_t port, struct stream **stream)
    __attribute__((warn_unused_result));
/* Hands the streams that wait to their listeners. */
void sim_net_accept(struct sim_reactor *reactor);
/* Calls one of the reactor's streams, if it has any, without cause. */
void sim_net_spurious(struct sim_reactor *reactor);
void sim_net_crash(struct sim_process *process, bool half_open);
/* Something was mended: all arrives now, and where a link is silent for another reason, is held back again. */
void sim_net_let_go(struct sim *sim);
void sim_net_handle(struct sim *sim, struct sim_event *event);

/* ---- files ---- */

int sim_file_share(struct file *file, struct reactor *reactor, struct file **shared)
    __attribute__((warn_unused_result));
int sim_file_open(struct reactor *reactor, const char *path, uint64_t size, uint32_t block,
    struct file **file)
    __attribute__((warn_unused_result));
int sim_file_make(struct reactor *reactor, const char *path, uint64_t size, int64_t *was)
    __attribute__((warn_unused_result));
int sim_file_extend(struct file *file, uint64_t size) __attribute__((warn_unused_result));
int sim_file_id(struct reactor *reactor, const char *path, uint64_t id[2]) __attribute__((warn_unused_result));
int sim_file_undo(struct reactor *reactor, const char *path, int64_t was, const uint64_t id[2])
    __attribute__((warn_unused_result));
void sim_file_submit(struct file *file, struct file_io *io);
uint64_t sim_file_data(struct file *file, uint64_t offset);
int sim_file_map(struct file *file, bool persistent) __attribute__((warn_unused_result));
void sim_file_write_back(struct file *file, const struct iovec *iov, int iov_count);
int64_t sim_file_load(struct reactor *reactor, const char *path, struct arena *arena, uint64_t most, void **bytes)
    __attribute__((warn_unused_result));
int64_t sim_file_fetch(struct file *file, uint64_t offset, void *to, size_t bytes)
    __attribute__((warn_unused_result));
void sim_file_close(struct file *file);
void sim_file_done(struct sim_reactor *reactor);
void sim_file_crash(struct sim_process *process, bool keeps_writes);
void sim_file_handle(struct sim *sim, struct sim_event *event);
uint64_t sim_file_name(const char *path); /* as an actor of the trace */

struct sim_file;
/* What an operation that is submitted now meets, as file_fault answers. */
int64_t sim_faults_draw(const struct sim_file *file, const struct file_io *io, uint64_t bytes, uint32_t align);
/* How long it takes. */
uint64_t sim_faults_delay(const struct sim_file *file);
/* Whether it may not take effect now: then its event is kept, and put again once it may. */
bool sim_faults_stall(const struct sim_file *file, struct sim_event *event);

#endif
