/*
 * control.h - changing a target while it runs: the control socket of `weir serve`, and who asks there.
 *
 * Words: `apply` with a configuration, answered with what has changed; `fits`
 * with one, answered with what is in its way of that which is served, or which
 * hosts have made; `config`, answered with the configuration that holds; `look`,
 * answered with what goes on at all volumes, and who does it.
 */
#ifndef WEIR_CMD_CONTROL_H
#define WEIR_CMD_CONTROL_H

#include "ctl/ctl.h"
#include "reread.h"
#include "serving.h"

struct control {
	const char *path;     /* as the operator said; NULL: he did not; "none": no socket */
	struct serving *serving;
	struct ctl ctl;
	bool listening, stopping;
	struct list fits;     /* questions that wait for a survey, */
	struct list looks;    /* and for what volumes' homes know (looks.h) */
	struct ctl_question *asker; /* of the apply that is under way; NULL: it was SIGHUP */
	struct reread reread; /* of SIGHUP */
	const char *again;    /* the file is to be read again when what is under way is done; NULL: it is not */
	char *changes;        /* text of what it changes; malloc()ed */
	size_t changes_bytes, changes_room;
	uint32_t opened;      /* listeners that it opens to everybody */
	char default_path[108];
};

/* Where the socket is when nobody says: of this user. */
void control_default_path(char path[108]);

/* Begins to listen, if so asked or with `always`; without a path of its own, a socket that is in use is no
 * failure.  0, or a negative errno and why. */
int control_begin(struct control *control, struct serving *serving, bool always, char why[256])
    __attribute__((warn_unused_result));

/* Reads the file again, beside the reactor, and applies it, now or after what is being applied; what comes of it is
 * said on stderr.  NULL: there is none. */
void control_reload(struct control *control, const char *path);

/* The target is being drained: no question is taken any more, and of those that wait nothing is begun.  What is being
 * applied ends, and who asked for it is told. */
void control_stop(struct control *control);

/* Whether a disk is waited for that has the file: nothing else comes of it when the target is being drained. */
bool control_waits(const struct control *control);

/* Nothing is being applied any more. */
void control_end(struct control *control);

/*
 * The other side, for commands: asks and waits, where this user's target listens, or root's.  The answer's text is
 * malloc()ed.  0: ok; 1: an error, which the text says; or a negative errno after having said on stderr what is wrong,
 * -ENODATA where the target ended, or went away, without an answer to what it had been asked; -EBUSY where it did not
 * read the question.
 */
int control_ask(const char *path, const char *word, const char *text, size_t bytes, char **answer,
    size_t *answer_bytes) __attribute__((warn_unused_result));

#endif
