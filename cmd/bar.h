/*
 * bar.h - progress.h on the terminal: a line on stderr that is written anew, and is gone at the end.
 */
#ifndef WEIR_CMD_BAR_H
#define WEIR_CMD_BAR_H

#include <stdbool.h>

#include "progress.h"

struct bar {
	struct progress progress;
	const char *doing;         /* "writing" */
	bool shown;                /* false: stderr is no terminal, or nobody wants to see it */
};

/* `total` may be PROGRESS_UNKNOWN. */
void bar_begin(struct bar *bar, const char *doing, uint64_t total, bool wanted);

/* So far now; a tenth of a second has to pass before it is shown once more. */
void bar_at(struct bar *bar, uint64_t done);

void bar_end(struct bar *bar);

#endif
