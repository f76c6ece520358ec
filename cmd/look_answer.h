/*
 * look_answer.h - the answer to `look` at the control socket: what goes on at the volumes of a target, as records.
 *
 * It knows neither who asks nor where records come from.  An answer is records, one right behind the other:
 *
 *   bytes 0       'V': a volume; 'H': a host at the volume before; '.': the end; '+': the end, and there is more
 *   byte  1       of a host, how long the name of its group is; 0: it is in none
 *   bytes 2, 3    how long the name is, the lower byte first
 *   from 4 on     the name, without a zero: of a volume SUBNQN?ns=N; of a host its NQN, or nothing, which is the
 *                 target itself; of the end nothing
 *   and then      the name of its group, without a zero
 *   and then      of a volume and a host 512 bytes: struct weir_log_view, as hosts are told it (doc/extension.md,
 *                 VIEW); of a volume all but what is of a host counts
 *
 * A volume comes before its hosts.  There is one end, and nothing behind it: what was cut short has none.
 */
#ifndef WEIR_CMD_LOOK_ANSWER_H
#define WEIR_CMD_LOOK_ANSWER_H

#include <weir/view.h>

#include "base/nqn.h"

struct weir_log_view;

enum {
	LOOK_NAME_MAX = NQN_MAX + sizeof("?ns=4294967295") - 1,
	LOOK_GROUP_MAX = 63,
	LOOK_ANSWER_MAX = 8 * 1024 * 1024, /* bytes: some ten thousand hosts */
};

enum look_kind { LOOK_VOLUME = 'V', LOOK_HOST = 'H', LOOK_END = '.', LOOK_MORE = '+' };

/* ---- writing ---- */

struct look_answer {
	char *bytes; /* malloc()ed; zeros at first */
	size_t used, room;
};

/*
 * Another volume, or a host, of a group or of none ("").  0; -ENOSPC: there is no room for more in an answer; or
 * -ENOMEM.  Then it is as it was.
 */
int look_answer_volume(struct look_answer *answer, const char *name, const struct weir_log_view *page)
    __attribute__((warn_unused_result));
int look_answer_host(struct look_answer *answer, const char *nqn, const char *group, const struct weir_log_view *page)
    __attribute__((warn_unused_result));

/* LOOK_END or LOOK_MORE, for which there is always room.  0, or -ENOMEM. */
int look_answer_end(struct look_answer *answer, enum look_kind kind) __attribute__((warn_unused_result));

void look_answer_drop(struct look_answer *answer);

/* ---- reading ---- */

struct look_reader {
	const char *at;
	size_t left;
	bool any; /* a volume has come */
};

struct look_record {
	enum look_kind kind;
	char name[LOOK_NAME_MAX + 1];
	char group[LOOK_GROUP_MAX + 1]; /* of a host that is in one */
	struct weir_view view;          /* of a volume or a host */
};

/* The next record; after an end there is none to ask for.  False: there is no answer that goes on like that. */
bool look_answer_next(struct look_reader *reader, struct look_record *record) __attribute__((warn_unused_result));

#endif
