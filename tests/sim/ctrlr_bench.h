/*
 * ctrlr_bench.h - a host process with one controller at a time, of which it
 * notes all that it is told, in virtual time.
 */
#ifndef WEIR_TESTS_CTRLR_BENCH_H
#define WEIR_TESTS_CTRLR_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "host/ctrlr.h"

enum { GUEST_CMDS = 64 };

struct guest;

struct guest_cmd {
	struct ctrlr_cmd cmd;
	struct guest *guest;
	struct iovec iov;
	uint64_t number;           /* in the order of submission */
	bool busy;
	uint8_t page[4096];
};

/* Of one host process; zeroed by guest_init(), which gives it a name; the test sets the first lines. */
struct guest {
	struct ctrlr_options options;
	bool again;                /* a controller that is lost is followed by another one */
	bool leaves;               /* once all commands are done: closes it */
	uint64_t commands;         /* to be done, GUEST_CMDS at a time */
	uint64_t work_ns;          /* not before */
	uint64_t end_ns;           /* when it is ended whatever it does; 0: never */
	uint64_t end_after;        /* so many commands it is ended, by who hears of the last one; 0: never */
	bool end_when_ready;
	bool by_close;             /* then: else it is destroyed */
	void (*on_event)(struct guest *g, uint32_t dw0);

	struct reactor *reactor;
	struct ctrlr *ctrlr;
	struct ctrlr_facts facts;
	char subnqn[NVME_NQN_FIELD]; /* of Identify */
	struct timer retry, begin, end;
	struct guest_cmd *cmds;
	size_t before;             /* bytes of its arena without a controller */
	uint64_t submitted, done, answered, lost_cmds, unsent;
	uint64_t next_answer[HREQ_WRITE], overtakings; /* of those with data, and of those without */
	bool up, ended;
	unsigned unopened, opened, readies, losts, closes, events;
	uint64_t ready_ns, lost_ns;
	int error;
	char why[200];
	bool final;
	struct nvme_status connect_status;
};

/* A guest who wants the cluster's target, without a keep alive and without I/O queues. */
void guest_init(struct guest *g);

struct sim_process *guest_process(struct sim *sim, struct guest *g);

/* Ends its controller from where it is, as the test has said. */
void guest_end(struct guest *g);

/* Nothing is left of its controllers. */
bool guest_idle(const struct guest *g, struct sim_process *process);

#endif
