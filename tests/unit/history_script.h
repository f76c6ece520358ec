/*
 * history_script.h - what was asked of a block and answered, played by a true device from a seed; and made a lie.
 */
#ifndef TESTS_HISTORY_SCRIPT_H
#define TESTS_HISTORY_SCRIPT_H

#include "trial/history.h"

enum { SCRIPT_OPS_MAX = 400, SCRIPT_EVENTS_MAX = 4096, SCRIPT_HOSTS = 3 };

enum what { BEGIN, SHAKE, END, UNKNOWN, SETTLED, POWER, WIPED, CORRUPTED, FLUSH_BEGIN, FLUSH_DONE };
enum how { DONE, DURABLE, FOUND, DIFFERS, NO_EFFECT };

struct script_event {
	enum what what;
	enum how how;
	int op;              /* or flush */
	uint32_t who;
	uint64_t value;      /* found */
	bool shaken;
};

struct script_op {
	enum history_kind kind;
	uint32_t who;
	uint64_t value, expected;
	bool fua;
};

struct script {
	struct script_event events[SCRIPT_EVENTS_MAX];
	struct script_op ops[SCRIPT_OPS_MAX];
	int event_count, op_count, flush_count;
};
extern struct script script;

/* A new one, with no more than so many operations and hardly more events: 0: nothing is lost; 1: power is; 2: a volume
 * in RAM is, too; 3: and the block changes by itself. */
void script_play(uint64_t seed, int ops_max, int events_max, unsigned disasters);

/* Something of it is said otherwise, or was not so. */
void script_lie(void);

#endif
