/*
 * record.h - where it is kept what hosts have made: the file `namespaces` of the state directory.
 *
 * Which bytes are in it is made/'s.  (doc/formats/namespaces.md)
 */
#ifndef WEIR_CMD_RECORD_H
#define WEIR_CMD_RECORD_H

#include "made/made.h"

struct record {
	char dir[512];     /* empty: nothing is kept */
	int fd;            /* of that folder, wherever it is moved; while dir is not empty, -1: none */
	bool there;        /* a file is */
	bool doubt;        /* or may be another than `text`: a rename or its sync failed, and may have landed or not */
	char *text, *next; /* what it says, and shall say; malloc()ed */
	size_t bytes, next_bytes;
};

/* Reads it, and makes it durable; `made` is NULL where there is none.  0, or a negative errno and why. */
int record_begin(struct record *record, const char *dir, struct arena *arena, struct made **made, char why[256])
    __attribute__((warn_unused_result));

/* Writes the next one beside it, durably, if what lies there says anything else; or `always`.  0 or a negative
 * errno. */
int record_prepare(struct record *record, const struct made *made, bool always) __attribute__((warn_unused_result));

/* It takes the place of the old one, durably.  Where there is no next one, what is said to be there is beyond doubt. */
int record_commit(struct record *record) __attribute__((warn_unused_result));

/* Or it is not to be; what was written is room for the next. */
void record_discard(struct record *record);

void record_end(struct record *record);

#endif
