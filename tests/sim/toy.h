/*
 * toy.h - small actors that check the simulation itself.
 *
 * An echo server and its clients, mail going to and fro between reactors, a
 * writer of a file.  What they find out they note in structs of the test, which
 * outlive a crash of theirs; everything else they own lies in their arenas.
 */
#ifndef WEIR_TESTS_TOY_H
#define WEIR_TESTS_TOY_H

#include "sim/sim.h"
#include "world/reactor.h"

#define TOY_FOREVER (UINT64_C(100000) * 1000 * 1000) /* ns; nothing a toy does takes so long */

/* A process with the smallest pools and no limit. */
struct sim_process *toy_process(struct sim *sim, const char *name, unsigned reactors,
    int (*start)(struct reactor *, void *), void *arg);

/* Echoes what it is sent; every second stream is given to the last reactor, where there are two. */
struct toy_server {
	const char *host;
	uint16_t port;
	bool sink;          /* swallows instead of echoing */
	unsigned accepted, ended, broken; /* streams: taken, closed after their end, or after an error */
	uint64_t received;
};

int toy_server_start(struct reactor *reactor, void *arg);

/* One on two reactors at 10.0.0.1:4420, which has come up, so that nobody is refused. */
struct sim_process *toy_serve(struct sim *sim, struct toy_server *server);

/* Sends `total` bytes and expects them back; one reactor. */
struct toy_client {
	const char *host;
	uint16_t port;
	uint64_t total, salt;
	uint64_t close_at;  /* closes once so much came back; 0: after everything */
	bool hasty;         /* closes as soon as all is written */
	bool abort;
	uint64_t sent, received;
	bool done, wrong;
	int error;          /* negative errno that ended the stream; -EPIPE too for an end too early */
};

int toy_client_start(struct reactor *reactor, void *arg);

/* A client of that one. */
struct toy_client toy_client_of(uint64_t total);

/* Every reactor sends bursts of numbered mail to every other and checks what it gets. */
struct toy_mail {
	uint32_t rounds;
	uint32_t received;
	bool wrong;
};

int toy_mail_start(struct reactor *reactor, void *arg);

enum { TOY_PAGES = 24, TOY_PAGE = 4096 };

/* Writes versions of pages and syncs now and then; one reactor. */
struct toy_writer {
	const char *path;
	uint32_t ops;       /* writes until it is done */
	uint32_t issued, in_flight, failed;
	bool done;
	/* per page: the last version submitted, reported done, and covered by a finished sync */
	uint32_t submitted[TOY_PAGES], written[TOY_PAGES], synced[TOY_PAGES];
};

int toy_writer_start(struct reactor *reactor, void *arg);

/* The version the page's bytes are of; UINT32_MAX: they are of no single one. */
uint32_t toy_page_version(const uint8_t *page, uint32_t index);

#endif
