/*
 * sim.h - a whole cluster in one process, in virtual time, from a seed.
 *
 * Implements `struct world_ops` over a heap of events instead of a kernel:
 * processes with reactors, a network that delays, splits, coalesces and cuts,
 * disks that forget what was not synced, mail, and crashes.  The same seed and
 * options give the same history with every compiler: no wall clock, no
 * floating point, no order by address.  It does not know what the processes
 * are; they are the code that also runs over the kernel.
 *
 * It is a tool of tests: where the machine has no memory left, it aborts.
 */
#ifndef WEIR_SIM_SIM_H
#define WEIR_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "world/reactor.h"
#include "world/world.h"

struct sim;
struct sim_process;
struct sim_file;

/* What the trace is made of; each entry is hashed. */
enum sim_kind {
	SIM_TURN = 1,  /* actor: a reactor */
	SIM_MAIL,      /* arrives; a: kind, b: sender */
	SIM_SYN,       /* a connection arrives; actor: a link; a: accepted or not */
	SIM_CONNECTED, /* the client learns of it; a: the error */
	SIM_BYTES,     /* bytes arrive; a: count, b: side that wrote them */
	SIM_FIN,       /* a: side that closed */
	SIM_RESET,     /* a: side that is told */
	SIM_SPACE,     /* a: side that may write again, b: bytes read by the other */
	SIM_AGAIN,     /* after a needlessly short count; a: side, b: events */
	SIM_IO,        /* a file operation took effect; a: offset, b: result */
	SIM_ERRAND,    /* was run; actor: a reactor */
	/* these are no events of their own: they happen in a turn, or from outside */
	SIM_READ,      /* a: bytes, b: hash of them */
	SIM_WRITE,     /* a: bytes accepted, b: side */
	SIM_LOG,       /* a: level, b: hash of the text */
	SIM_START,     /* actor: a process */
	SIM_CRASH,     /* actor: a process; a: flags */
	SIM_PAUSE,     /* actor: a reactor; a: until when */
	SIM_PART,      /* actor: a process; a: another, b: parted or joined */
	SIM_SLOW,      /* actor: a process; a: how many times */
	SIM_FAULTS,    /* actor: a file, by its path; a: errors, b: and all else, packed */
	SIM_SPOIL,     /* actor: a file, by its path; a: offset, b: hash of what is there now */
	SIM_FLIPS,     /* actor: a process; a: in how many segments of a million, b: bytes that are spared */
	SIM_FLIP,      /* actor: a link; a: which byte of those that a side wrote, b: side * 8 + bit */
};

enum { SIM_KINDS = SIM_FLIP + 1 };

struct sim_options {
	/* what a reactor's time is spent on */
	uint32_t turn_ns;          /* a turn */
	uint32_t io_ns;            /* a file operation, and a read or write of a stream */
	uint32_t byte_ps;          /* a byte moved through a stream, in picoseconds */
	uint32_t wake_jitter_ns;   /* a sleeper wakes up to this much late */
	/* network */
	uint32_t latency_ns, jitter_ns;
	uint32_t mbit;             /* a second that a process sends, and as many that it receives; 0: without limit */
	uint32_t socket_bytes_min, socket_bytes_max; /* written and not yet read, per direction */
	uint32_t segment_max;      /* bytes that arrive at once; 0: every write whole */
	bool segments_full;        /* all but the last of a write have as many; else what chance says */
	uint32_t short_ppm;        /* reads and writes that move less than they could */
	uint32_t spurious_ppm;     /* turns in which some stream is called without cause */
	uint32_t reset_ppm;        /* writes that break their connection */
	/* mail between reactors */
	uint32_t mail_ns, mail_jitter_ns;
	/* files */
	uint32_t io_delay_ns, io_jitter_ns;
	uint32_t writeback_ppm;    /* written pages that become durable without being asked to */
	uint32_t file_sector;      /* of a write that a crash finds in flight, or that a loss of power finds unsynced,
	                            * each so many bytes stay or do not, of the latter 4096 at most; 0: 4096 */
	uint32_t file_align;
	bool file_direct;
	bool file_persistent;      /* files lie in persistent memory: those that are mapped so */
	/* where a run ends in any case */
	uint64_t max_events, max_ns;
	uint64_t wall_ms;          /* the date at virtual time 0 */

	/*
	 * Asked once per file operation, before what sim_file_set_faults() says: 0 lets it be, a negative errno
	 * fails it without any effect, a positive number lets a read or write move at most so many bytes.
	 * sim_late(error): it is done, and fails.
	 */
	int64_t (*file_fault)(void *arg, const char *path, const struct file_io *io);
	/* Asked at each open of a file and each fetch from one: 0, or the negative errno that it fails with. */
	int (*file_refusal)(void *arg, const char *path);
	/* A page that was written there was lost to a sync that failed: reads see it still, and no later sync writes
	 * it.  NULL: nobody asks. */
	void (*file_lost)(void *arg, const char *path, uint64_t offset);
	/*
	 * Sees all that `side` writes to a connection, in order; answers how many of these bytes, from the first on,
	 * sim_process_flips() may, or may not, change; what that says of segments is of such bytes then. NULL: all may.
	 */
	size_t (*alike)(void *arg, const struct sim_process *connected, uint64_t link, unsigned side,
	    const uint8_t *bytes, size_t count, bool *may);
	void (*log)(void *arg, const char *process, unsigned reactor, int level, const char *text);
	/* Sees each entry of the trace: to find where two histories part. */
	void (*trace)(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b);
	void *arg; /* of them all */
};

static inline int64_t
sim_late(int error)
{
	return INT64_MIN + error;
}

struct sim_process_options {
	struct reactor_options reactor; /* zeros: the smallest pools that are allowed */
	size_t arena_bytes;             /* limit of each reactor's memory; 0: none */
	size_t room;                    /* address space for pages that grow, each; 0: for what they have at first */
	const char *address;            /* of its ends of connections; NULL: 10.0.0.N */
	/* Called in the first turn of each reactor; a negative errno ends the process. */
	int (*start)(struct reactor *reactor, void *arg);
	void *arg;
};

/* How a process ends without being asked. */
enum sim_crash {
	SIM_CRASH_HALF_OPEN = 1,   /* its peers hear nothing while it is down, not even when they write, or connect to
	                            * its own address */
	SIM_CRASH_KEEPS_WRITES = 2, /* the process died, its machine did not: completed writes stay */
};

/* Why a run ended. */
enum sim_end {
	SIM_END_MET,    /* the predicate holds */
	SIM_END_TIME,   /* the time was reached */
	SIM_END_IDLE,   /* nothing will ever happen again */
	SIM_END_LIMIT,  /* max_events or max_ns of the options */
};

/* Mean, but so that useful work gets done. */
struct sim_options sim_options_default(void);

struct sim *sim_create(uint64_t seed, const struct sim_options *options);

/* Ends all processes and gives back everything; NULL is ignored. */
void sim_destroy(struct sim *sim);

/* Runs until `met` answers true (NULL: never), asked after each event, or the time has come. */
enum sim_end sim_run_until(struct sim *sim, uint64_t until_ns, bool (*met)(void *arg), void *arg);

uint64_t sim_now(const struct sim *sim);
uint64_t sim_events(const struct sim *sim);

/* Of all that happened so far. */
uint64_t sim_hash(const struct sim *sim);

/* For scenarios: a number from the seed, evenly from 0 to limit - 1. */
uint64_t sim_below(struct sim *sim, uint64_t limit);

/* ---- processes; they live until sim_destroy(), running or down ---- */

/* Makes and starts one; the texts are copied. */
struct sim_process *sim_process_create(struct sim *sim, const char *name, unsigned reactors,
    const struct sim_process_options *options);

/*
 * Drops its memory, mail, listeners, streams and what of its writes was not
 * durable; `flags` of enum sim_crash.  Nothing happens if it is down.  Asked
 * for from a turn of the process itself, it happens at the turn's end.
 */
void sim_process_crash(struct sim_process *process, unsigned flags);

/* Starts it again, as first created, with the files as they are; it must be down. */
void sim_process_start(struct sim_process *process);

bool sim_process_running(const struct sim_process *process);

/* 0, or the negative errno with which its start failed. */
int sim_process_error(const struct sim_process *process);

/* The reactor, while the process runs; its owner is found in it. */
struct reactor *sim_process_reactor(struct sim_process *process, unsigned index);

/* Streams not closed yet: 0 where nothing was leaked. */
unsigned sim_process_streams(const struct sim_process *process);

/* The same of files: of one, or, NULL, of all. */
unsigned sim_process_files(const struct sim_process *process, const struct sim_file *file);

/*
 * The reactor takes no turn before: as a thread that the kernel does not run. What happens to it piles up. Half of
 * them, by chance, begin within the next turn, when it has its mail, and has not looked at its streams: what it reads
 * there when it goes on may be younger than the next mail. A later call counts, also one that ends it sooner; a
 * crash ends it. Nothing happens if the process is down.
 */
void sim_process_pause(struct sim_process *process, unsigned reactor, uint64_t until_ns);

/* ---- the network ---- */

enum sim_cut {
	SIM_CUT_RESET, /* connections are reset, both ends are told; nobody answers there */
	SIM_CUT_HOLD,  /* silence: what is on its way, or is sent, is held back, and comes when it is mended, though
	                * who sent it may have given up long before; resets, which nobody sends again, are lost */
};

/* Between a listener and whoever connects to it, until it is mended; the address is as it is listened at. */
void sim_cut(struct sim *sim, const char *host, uint16_t port, enum sim_cut how);
void sim_mend(struct sim *sim, const char *host, uint16_t port);

/*
 * Silence as of SIM_CUT_HOLD between two processes, whichever connects to which, until they are joined; they are not
 * parted yet.  Who is down is meant too, if it is its own address that others connect to; what was sent to a former
 * life of it is reset, or comes to nothing, and what its former life sent may still arrive.
 */
void sim_part(struct sim *sim, struct sim_process *a, struct sim_process *b);
void sim_join(struct sim *sim, struct sim_process *a, struct sim_process *b);

/*
 * What is on its way to and from the process takes so many times as long from now on, also when it has crashed and
 * is back; 1: as long as ever.  Where both ends are slow the slower one counts.
 */
void sim_process_slow(struct sim_process *process, uint32_t factor);

/*
 * The network changes bytes, as a broken switch does whose checksums are right: of the segments that the process sends
 * or receives, `ppm` of a million have one bit changed from now on, also when it has crashed and is back; 0: none.
 * The first `spared` bytes each way of a connection are let alone. Where both ends are meant each does its part.
 */
void sim_process_flips(struct sim_process *process, uint32_t ppm, uint32_t spared);

/* ---- files, for tests and oracles ---- */

/* What is wrong with a file; zeros: nothing. */
struct sim_file_faults {
	uint32_t error_ppm;      /* operations that fail with EIO, without any effect */
	uint32_t late_error_ppm; /* that fail with EIO when they have taken effect */
	uint32_t short_ppm;      /* reads and writes that move less than they should, in whole units of file_align */
	bool stalled;            /* none ends; all take effect once it is lifted, and may be torn by a crash before */
	uint32_t slow;           /* they take so many times as long; 0: as long as ever */
};

/*
 * From now on, until it is called again; the file need not be there yet.  What is on its way keeps what it has
 * drawn, but is stalled.  Opens and fetches are not meant: file_refusal is theirs.
 */
void sim_file_set_faults(struct sim *sim, const char *path, const struct sim_file_faults *faults);

/* NULL: no such file. */
struct sim_file *sim_file_find(struct sim *sim, const char *path);
uint64_t sim_file_size(const struct sim_file *file);

/* What a read would see; with `durable` what is sure to be there after a crash. */
void sim_file_peek(const struct sim_file *file, uint64_t offset, void *out, size_t bytes, bool durable);

/* The medium changes by itself, within the file's size: what is read there, and what a crash leaves. */
void sim_file_corrupt(struct sim_file *file, uint64_t offset, const void *data, size_t bytes);

#endif
