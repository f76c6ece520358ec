/*
 * looks.h - what goes on at all volumes of a target, for who runs it: `look` at the control socket.
 */
#ifndef WEIR_CMD_LOOKS_H
#define WEIR_CMD_LOOKS_H

#include "ctl/ctl.h"
#include "serving.h"

/*
 * Looks at each volume in turn, and at who has I/O there, and answers the question with what look_answer.h says.  It is
 * in `looks` meanwhile.  Of one question one look at a time is under way, and there are CTL_ASKERS_MAX questions.
 */
void looks_begin(struct list *looks, const struct serving *serving, struct ctl_question *question);

/* The target is stopping, which those are told who still wait; and it is gone, with all that was looked at. */
void looks_stop(struct list *looks);
void looks_end(struct list *looks);

#endif
