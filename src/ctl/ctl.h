/*
 * ctl.h - the control socket: a question, an answer, and the connection is over.
 *
 * A question is a line that says what is wanted, then whatever belongs to it
 * until the asker has closed his side.  An answer is a line, `ok` or `error`,
 * and text; or `busy`, where the question was not read: so many ask already.
 * What the words mean is its user's.  It knows no file system: the world
 * listens at a path as it does at an address.
 *
 * Everything is called on one reactor.
 */
#ifndef WEIR_CTL_CTL_H
#define WEIR_CTL_CTL_H

#include "world/reactor.h"

enum {
	CTL_ASKERS_MAX = 8,
	CTL_WORD_MAX = 32,
	CTL_TEXT_MAX = 32 * 1024 * 1024 + 1, /* bytes of a question: a configuration, or one byte more */
	CTL_PATIENCE_MS = 10000,  /* for a question to come, and for an answer to be taken */
};

struct ctl_question {
	char word[CTL_WORD_MAX]; /* the first line */
	const char *text;        /* what followed it, `bytes` bytes; stands until the answer */
	size_t bytes;
};

struct ctl {
	struct reactor *reactor;
	struct listener listener;
	struct list askers;
	unsigned asker_count;
	/* Is to be answered by ctl_answer(), at once or later. */
	void (*asked)(struct ctl *ctl, struct ctl_question *question);
	void *owner;
};

/* 0, or a negative errno: nothing is listened at `path`, and what is there is left alone. */
int ctl_listen(struct ctl *ctl, struct reactor *reactor, const char *path,
    void (*asked)(struct ctl *ctl, struct ctl_question *question), void *owner) __attribute__((warn_unused_result));

/* The text is copied, or where there is no memory for it one that says so; the question is no more. */
void ctl_answer(struct ctl_question *question, bool ok, const char *text, size_t bytes);

/* No more questions: those that are not whole yet are answered that the target is stopping.  The others still are to
 * be. */
void ctl_stop(struct ctl *ctl);

/* Ends it, with all who ask. */
void ctl_end(struct ctl *ctl);

#endif
