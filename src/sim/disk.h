/*
 * disk.h - the bytes of a simulated file: what is written, and what is safe.
 *
 * A loss of power leaves of each sector that was written since it was synced
 * what was written last, or what was safe: each sector for itself, whatever
 * the order in which they were written, so a later write may survive where an
 * earlier one does not, and a write that had completed may be torn.  What is
 * safe are zeros at first; then what a sync that succeeded found, a durable
 * write brought, or was written back unasked.  The last is how a version that
 * was overwritten later can be what survives: whether a page is written back
 * is drawn at each write (writeback_ppm), and for a later moment it need not
 * be, since until the next write a crash may keep that version anyway.
 *
 * A file that is mapped is what stands in the map. What was stored there is
 * written when that matters: when a sync is asked for, and at a crash; versions
 * that were stored between the two are nowhere.
 *
 * Not modelled: a sector that is itself torn; a disk that says that it has
 * synced what it has not; sizes of files, which are durable at once; a process
 * that dies, or power that fails, while it stores.
 */
#ifndef WEIR_SIM_DISK_H
#define WEIR_SIM_DISK_H

#include "sim/internal.h"

enum {
	DISK_PAGE = 4096,
	DISK_CHUNK_PAGES = 512,
	FILE_BYTES_MAX_SHIFT = 42,
};

/* Absent memory reads as zeros. */
struct sim_page {
	struct list dirty_node; /* in the file's dirty list, while now and safe may differ, or in its lost one */
	uint8_t *now;           /* what a read sees */
	uint8_t *safe;          /* what a crash leaves; meaningful while dirty */
	uint64_t dirty_since;   /* the file's write count when it became dirty */
	bool dirty;
	bool lost;              /* dirty, and no sync makes it safe: not before it is written again */
};

struct sim_file {
	struct list node;       /* in sim->files */
	struct sim *sim;
	char *path;
	uint64_t number;        /* no other file of the simulation has had it */
	uint64_t size;
	struct sim_process *process; /* with whose machine it fails: who opened it last */
	uint64_t writes;
	struct list dirty;      /* in the order in which they became so */
	struct list lost_pages;
	bool lost;              /* a sync has failed, or a durable write, since nobody had it open */
	struct sim_page **chunks;
	size_t chunk_count;
	uint8_t *map;           /* what reads see in place of the pages' own, of which now is as of what was written; */
	uint64_t map_bytes;     /* of so many, and then to the end of the page */
	unsigned maps;          /* handles that have mapped it */
};

/* Who has it open. */
struct sim_handle {
	struct file base;
	struct list node;      /* in the process's handles */
	struct sim_reactor *reactor;
	struct sim_file *file;
	struct list ios;       /* submitted and without effect yet, in that order */
	unsigned pending;      /* submitted and not done() */
	bool maps;             /* the file, itself */
	bool persistent;       /* the map is: what is written back is safe */
};

void sim_disk_get(const struct sim_file *file, uint64_t offset, void *out, size_t bytes, bool safe);

/* The page from `offset` on that has memory, by its first byte; UINT64_MAX: none. */
uint64_t sim_disk_data(const struct sim_file *file, uint64_t offset);

/* Writes; NULL data: zeros.  `durable`: these bytes at once, and nothing else for certain. */
void sim_disk_put(struct sim_file *file, uint64_t offset, const void *data, size_t bytes, bool durable);

/* Its bytes are one piece of memory, until as many have unmapped it as have mapped it.  0 or -ENOMEM. */
int sim_disk_map(struct sim_file *file) __attribute__((warn_unused_result));
void sim_disk_unmap(struct sim_file *file);

/* What was stored into the map until now is written. */
void sim_disk_stored(struct sim_file *file);

/* And these bytes of it are safe. */
void sim_disk_keep(struct sim_file *file, uint64_t offset, uint64_t bytes);

/* Everything written up to the given write count is safe from now on. */
void sim_disk_sync(struct sim_file *file, uint64_t writes);

/* A sync of everything up to there has failed: as with a kernel, reads see it still, and no later sync writes it. */
void sim_disk_lose(struct sim_file *file, uint64_t writes);

/* Each page in the range may become safe by itself. */
void sim_disk_writeback(struct sim_file *file, uint64_t offset, uint64_t bytes);

/* Power fails: of the sectors that differ, some, all or none keep what was written; what a failed sync lost, none. */
void sim_disk_crash(struct sim_file *file);

#endif
