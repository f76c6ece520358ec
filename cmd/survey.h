/*
 * survey.h - what disks say of the paths that a configuration names and that are not served yet: beside the reactor.
 *
 * A disk may take its time, or not answer at all.  It is asked apart from everything else, nothing is changed by it,
 * and who waits for the answer does so no longer than SURVEY_PATIENCE_MS.  A disk that hangs keeps a few of them.
 */
#ifndef WEIR_CMD_SURVEY_H
#define WEIR_CMD_SURVEY_H

#include "serving.h"

enum { SURVEY_PATIENCE_MS = 5000 };

struct survey;

/* What there is to be asked for this configuration, and whether files that are there are opened too, as they will be if
 * it is applied; NULL: no memory. */
struct survey *survey_make(struct serving *serving, const struct conf *next, bool opens);

/* Asks; `then` is called on the reactor, maybe from inside: rc 0, or -ETIMEDOUT and why. */
void survey_ask(struct survey *survey, void (*then)(void *owner, int rc, const char *why), void *owner);

/* At any time; `then` is not called any more.  NULL is ignored. */
void survey_drop(struct survey *survey);

/* Which file a path leads to; zeros: none, or it was not asked. */
void survey_id(const struct survey *survey, const char *path, uint64_t id[2]);

/* Whether hosts may make namespaces in a folder: 0 or a negative errno; also where it was not asked. */
int survey_folder(const struct survey *survey, const char *folder) __attribute__((warn_unused_result));

/* Whether any disk has not answered yet, also of surveys that were dropped. */
bool surveys_wait(const struct serving *serving);

/* The reactor runs no more, nor any thread of it. */
void surveys_end(struct serving *serving);

#endif
