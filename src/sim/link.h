/*
 * link.h - a simulated connection: two ends, and a pipe of bytes each way.
 *
 * A link lives until both its ends are closed and no event speaks of it; a
 * stream lives until its owner closes it.  Side 0 connected, side 1 accepted;
 * pipe s holds what side s wrote.
 */
#ifndef WEIR_SIM_LINK_H
#define WEIR_SIM_LINK_H

#include "sim/internal.h"

struct sim_stream {
	struct stream base;
	struct list node;         /* in the process's streams, oldest first */
	struct list accept_node;  /* in its reactor's accepts, before it is taken */
	struct sim_listener *listener; /* while in there */
	struct sim_process *process;
	struct sim_link *link;
	unsigned side;
	unsigned may;             /* events that may hold, as far as the owner was told */
};

struct sim_pipe {
	uint8_t *ring;
	uint32_t limit;           /* bytes the ring holds */
	/* written >= arrived >= consumed >= freed: what the writer knows to be free again */
	uint64_t written, arrived, consumed, freed;
	uint64_t last_ns;         /* nothing that is sent now arrives before */
	bool fin;                 /* the writer's end has arrived */
	bool cut;                 /* was reset: what is still under way never arrives */
	bool blocked;             /* the writer found too little room */
	bool space_due;           /* it will be told of more */
};

struct sim_side {
	struct sim_stream *stream; /* NULL: not yet, or no more */
	struct sim_process *process;
	bool refuses;             /* has answered bytes that came after its end with a reset */
	int error;                /* negative errno of what is not a read of bytes that are there */
	char name[80];
};

struct sim_link {
	struct list node;
	struct sim *sim;
	uint64_t id;
	unsigned held;            /* events in the heap that speak of it */
	bool open;                /* the client knows that it is connected */
	char host[64];            /* where to */
	uint16_t port;
	struct sim_side ends[2];
	struct sim_pipe pipes[2];
};

struct sim_listener {
	struct list node;         /* in sim->listeners */
	struct sim_reactor *reactor;
	struct listener *listener;
	char host[108];
	uint16_t port;
};

extern const struct stream_ops sim_stream_ops;

/* An event of the link, which it then waits for. */
void sim_link_event(struct sim_link *link, enum sim_kind kind, unsigned side, uint64_t count, uint64_t at_ns);

/* How long something is on its way. */
uint64_t sim_link_delay(const struct sim_link *link);

/* When so many bytes, given to the network card of `side` at `at_ns`, have left it. */
uint64_t sim_link_departure(struct sim_link *link, unsigned side, uint64_t bytes, uint64_t at_ns);

/* When what is sent by `side` at `at_ns` arrives, behind all that it sent before. */
uint64_t sim_link_arrival(struct sim_link *link, unsigned side, uint64_t at_ns);

/* Whose end it is, or, before it was accepted, will be as far as one can tell by the address; NULL: nobody's. */
struct sim_process *sim_link_process(const struct sim_link *link, unsigned side);

/* Whether its address is cut so that nobody answers, and whether nothing that is sent on it arrives at `side`. */
bool sim_link_is_reset(const struct sim_link *link);
bool sim_link_is_silent(const struct sim_link *link, unsigned side);

/* Frees it once nobody needs it. */
void sim_link_check(struct sim_link *link);

/* A new stream at an end; it wants nothing yet. */
struct sim_stream *sim_stream_create(struct sim_link *link, unsigned side, struct sim_reactor *reactor);

/* The stream and its place in the link go; what the peer sees of it is the caller's affair. */
void sim_stream_free(struct sim_stream *stream);

/* Tells the owner, if it asked, that `events` may hold. */
void sim_stream_tell(struct sim_stream *stream, unsigned events);

/* Resets the connection: the other side of `side` hears of it, unless it has its own end. */
void sim_link_abort(struct sim_link *link, unsigned side, uint64_t at_ns);

#endif
