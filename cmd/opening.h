/*
 * opening.h - a volume that is opened: at once, or by an errand, before who needs it asks for it.
 *
 * All that a disk is asked for so happens here, beside the reactor: the volume, with an annex of the reactor, and what
 * its paths lead to.  It is then the volume's (volumes.h), or is taken back.
 */
#ifndef WEIR_CMD_OPENING_H
#define WEIR_CMD_OPENING_H

#include "blk/blk.h"
#include "conf/conf.h"

struct reactor;

/* The files that a volume would have: its own, its list of bad blocks, and the one whose list its own would be by its
 * name; zeros: none is there. */
struct volume_names {
	uint64_t file[2], bad[2], of[2];
};

struct opening {
	/* Which one; the maker's. */
	struct reactor *reactor;
	const char *nqn;
	const char *state_dir; /* in which no file of an operator's lies; NULL: it is no operator's, or there is none */
	uint32_t nsid, block_size;
	char spec[CONF_SPEC];
	bool fair;             /* its I/O is to wait for turns */
	/* What came of it; an errand's until it is done. */
	struct reactor *annex; /* NULL: it is not open, or a volume has it */
	struct blk *blk;
	uint8_t id[16];        /* see identify_volume() */
	struct volume_names names;
	int rc;
	char why[256];
};

/* Nothing is opened yet; `mode`: how hosts are to share it. */
void opening_init(struct opening *opening, struct reactor *reactor, const char *nqn, uint32_t nsid, const char *spec,
    uint32_t block_size, enum conf_qos_mode mode);

/* The rest may be called by an errand.  Opens it: opening->rc, and why. */
void opening_run(struct opening *opening);

/* Takes back what that did to files, where it is still the opening's, and closes it.  0, or a negative errno: a file
 * stays as it is. */
int opening_undo(struct opening *opening) __attribute__((warn_unused_result));

/* Closes it, if it is still the opening's; files stay. */
void opening_close(struct opening *opening);

/* Whether a volume may be in the file that a path leads to, or would: before anything is done to it.  Not in the
 * state folder (NULL: there is none), and no link stands for a list of bad blocks: while nothing is there nobody
 * knows that it is one.  0, or -EINVAL and why. */
int opening_place(const char *path, const char *state_dir, char why[256]) __attribute__((warn_unused_result));

/* Looks where the path of a volume leads. */
void opening_look(struct reactor *reactor, const char *path, struct volume_names *names);

#endif
