/*
 * reserve.h - what the files of reservations share: the state of one namespace
 * as core 0 keeps it, and the commands that wait for it.
 *
 * Every other core knows of it only what core->resv[] says.
 */
#ifndef WEIR_TARGET_RESERVE_H
#define WEIR_TARGET_RESERVE_H

#include "resv/image.h"
#include "target/conn.h"
#include "target/state_file.h"
#include "wire/identify.h"

/* Who of the registrants has a controller now; cores fill it one after the other. */
struct reserve_found {
	struct resv_controller controllers[RESV_HOSTS_MAX];
	uint32_t count;
};

enum { RESERVE_PATH = sizeof(((struct target *)NULL)->state_dir) + 64 };

struct reserve {
	struct core *core;    /* 0 */
	uint16_t slot;
	struct list waiting;  /* commands, one of a core at most: they are lent to us until they are answered */
	struct request *now;  /* the one at work, or NULL */
	unsigned current;
	struct resv copies[2]; /* [current] is what every core has; nobody refers to the other */
	struct resv_effect effect;
	uint32_t left;        /* cores that have not answered */
	struct reserve_found found;

	/* reserve_kept.c: */
	struct errand errand; /* makes the file */
	char path[RESERVE_PATH]; /* of it; the errand's too */
	int error;            /* what came of that */
	struct state_file *place; /* NULL: it is not kept; its file is there when it was needed first */
	uint8_t *image;       /* a slot of it, aligned */
	uint64_t sequence;    /* that is durable; 0: none */
	bool doubt;           /* a write of the next one failed, and may have landed: the file may say what is not so */
	struct iovec iov;
	struct file_io io;
};

/* The namespace that the command is about; it was noted before the command was lent. */
static inline uint32_t
reserve_nsid(const struct request *req)
{
	return (uint32_t)req->walked;
}

/* reserve_lend.c */
void reserve_returned(struct core *core, const struct target_mail *mail);
int reserve_lend_begin(struct core *core) __attribute__((warn_unused_result));

/* reserve.c */
size_t reserve_bytes(void); /* at most, of a volume */
struct reserve *reserve_make(struct core *core, uint16_t slot);
/* What was to be kept is durable, or cannot be. */
void reserve_kept(struct reserve *reserve, bool durable);

/* reserve_kept.c: makes the state durable; reserve_kept() follows, perhaps from inside. */
void reserve_keep(struct reserve *reserve);

#endif
