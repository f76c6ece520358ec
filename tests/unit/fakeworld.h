/*
 * fakeworld.h - the smallest world a unit test can run reactors in.
 *
 * Memory, files held in memory whose operations complete when the test lets
 * them and fail when it says so, mail between the reactors.  No streams, and
 * time is a number that fake_turn() advances.
 */
#ifndef WEIR_TESTS_FAKEWORLD_H
#define WEIR_TESTS_FAKEWORLD_H

#include "base/arena.h"
#include "base/rng.h"
#include "world/reactor.h"

enum {
	FAKE_REACTORS = 4,
	FAKE_FILES = 4,
	FAKE_MAIL = 64,        /* per reactor, not yet delivered */
	FAKE_TURN_NS = 1000,
};

struct fake_file {
	char path[64];         /* empty: not there */
	uint8_t *bytes;
	uint64_t size;
	unsigned handles;
	bool device;
	bool lost;             /* a sync has failed, or a durable write */
};

struct fake_finish {
	struct task task;
	struct fakeworld *world;
};

struct fakeworld {
	struct arena arena;
	struct reactor reactors[FAKE_REACTORS];
	unsigned count;
	uint64_t now_ns;
	uint64_t reads_ns;     /* a turn takes so long before it hands anything to devices */
	struct rng rng;
	struct mail mail[FAKE_REACTORS][FAKE_MAIL];
	unsigned mail_count[FAKE_REACTORS];

	struct fake_file files[FAKE_FILES];
	struct fifo requests;     /* submitted, not yet done */
	unsigned in_flight;
	bool hold_files;          /* requests wait for fake_files_finish(); else they finish in the next turn */
	struct fifo errands;      /* given, not yet run: that is done before the next turn, */
	bool hold_errands;        /* but while this is so */
	unsigned annexes;         /* open; each is its reactor itself */
	unsigned boots;           /* of the machine, beyond the first; set by the test */
	struct fake_finish finish[FAKE_REACTORS];
	uint32_t align;           /* of every file; 0 is 1 */
	int fail_open;            /* negative errno of every open, and of what makes a file or extends it */
	int fail_fetch;           /* and of every fetch */
	uint64_t fetched;         /* bytes, so */
	int fail[FILE_ZERO + 1];  /* by file_op: negative errno of every such request */
	bool fails_late;          /* when it was done */
	uint64_t short_by;        /* the next read or write moves so much less */
	bool writes_zeros;        /* no more than FILE_ZEROS_MAX at a time */
	uint64_t disk_bytes;      /* a write past this offset fails with -ENOSPC; 0: no limit */
	unsigned done[FILE_ZERO + 1], durable; /* counted */
	uint64_t pages_mapped, pages_discarded; /* bytes */
	uint64_t pages_most;      /* more are not mapped or reserved at once; 0: no limit */
	bool fail_use;            /* nothing that was reserved can be used */
};

void fakeworld_init(struct fakeworld *fw, unsigned reactors);

/* Fails the test where memory, pages or handles are left. */
void fakeworld_fini(struct fakeworld *fw);

/* One turn of every reactor. */
void fake_turn(struct fakeworld *fw);

/* Finishes what is in flight now, in order; those submitted meanwhile wait. */
void fake_files_finish(struct fakeworld *fw);

/* Makes a file of zeros. */
struct fake_file *fake_file_make(struct fakeworld *fw, const char *path, uint64_t size);
struct fake_file *fake_file_find(struct fakeworld *fw, const char *path);

#endif
