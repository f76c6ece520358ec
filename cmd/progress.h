/*
 * progress.h - how far something long is: a bar, how fast it goes, how long it will take.
 *
 * Pure: it is given the time, and answers a line of text.  Who shows it is
 * transfer.c.
 */
#ifndef WEIR_CMD_PROGRESS_H
#define WEIR_CMD_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#define PROGRESS_UNKNOWN UINT64_MAX

enum { PROGRESS_TEXT = 256 };

struct progress {
	uint64_t total;            /* bytes; PROGRESS_UNKNOWN: nobody can say */
	uint64_t done;             /* bytes */
	uint64_t began_ns, now_ns;
	/* How fast it goes is seen from here: where it was two to four seconds ago. */
	struct { uint64_t ns, done; } mark, next_mark;
};

void progress_init(struct progress *progress, uint64_t total, uint64_t now_ns);

/* It is so far now; `now_ns` and `done` never go back. */
void progress_at(struct progress *progress, uint64_t done, uint64_t now_ns);

/* Bytes per second: lately, and all in all. */
uint64_t progress_rate(const struct progress *progress);
uint64_t progress_mean(const struct progress *progress);

/* One line without its end, in `columns` at most, `what` first: "copying".  The bar has what room is left. */
void progress_line(const struct progress *progress, const char *what, unsigned columns, char text[PROGRESS_TEXT]);

/* Sizes and times as people read them: "1.5 GiB", "4096 bytes"; "2:05", "7 s". */
enum { PROGRESS_WORD = 32 };
void progress_size(uint64_t bytes, char text[PROGRESS_WORD]);
void progress_time(uint64_t seconds, char text[PROGRESS_WORD]);

#endif
