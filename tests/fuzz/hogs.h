/*
 * hogs.h - hosts that want all the memory there is, as a process of the simulation.
 *
 * Each does one thing, again and again; what they are told is of no interest but
 * for how much it is.
 */
#ifndef TESTS_HOGS_H
#define TESTS_HOGS_H

#include "script_client.h"

enum { HOGS = 24 };

enum hog_kind {
	DEAF,    /* asks for long answers and takes none; */
	FULL,    /* fills its socket with short ones first; */
	SLOW,    /* takes some of it, now and then */
	OWING,   /* says it has data for admin commands, and sends none when asked */
	HALF,    /* sends half of its Connect */
	EVENTS,  /* asks for events, and has data in the capsules */
	WRITER,  /* has an I/O queue, asks for long reads and takes none, and writes */
	LEAVER,  /* has one, and disconnects it again and again, with data in the capsules */
	VERIFIER, /* has one, and has all blocks verified again and again, with data in the capsules */
	TRIMMER, /* has one, and has 256 ranges deallocated by each of many commands */
	WAITER,  /* has one, and does so many writes there, or with 0 all it can and a flush each second; its admin
		  * queue is silent */
	STALLER, /* as a waiter with 0, and before these writes has one of which it sends no data */
	SENDER,  /* has one, writes 64 KiB, sends the data a while after it was asked, and writes again when it is
		  * answered */
	DEBTOR,  /* has one, writes 1 MiB by so many commands, and sends nothing when asked */
	STUCK,   /* has one, reads, writes in capsules or copies what is never answered, and takes what comes; */
	PAUSED,  /* the same, and owes data of 1 MiB for a volume that answers; what it does not read is behind that */
	RUDE,    /* sends what is no PDU, again and again on connections that are new each time */
	WISHER,  /* wishes to detach namespace 1 from itself, by lists in capsules; */
	READER,  /* asks for one long answer and takes it */
	TASTER,  /* has an I/O queue, asks for so many reads of 1 MiB, and takes a little of them each 300 ms */
};

struct hog {
	enum hog_kind kind;
	struct client client, io; /* io: that of the I/O queue */
	struct timer timer;
	unsigned step;
	uint64_t got; /* bytes */
	struct pdu_data heard; /* the PDU of an I/O queue of which so many bytes have come; all are as long as that, */
	size_t heard_bytes, skip; /* behind so many bytes of another one */
};

struct hogs {
	unsigned count, asks; /* how many, and of how many commands each */
	bool strangers;       /* each is a host of its own */
	struct hog hog[HOGS];
};

/* As sim_process_options.start; `arg` is a struct hogs, in which count, asks and kinds are set. */
int hogs_start(struct reactor *reactor, void *arg);

/* How many of them still have all their connections. */
unsigned hogs_connected(const struct hogs *hogs);

#endif
