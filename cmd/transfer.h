/*
 * transfer.h - what `weir read`, `write` and `copy` have in common: a pump with a bar, signals, sums and a report.
 */
#ifndef WEIR_CMD_TRANSFER_H
#define WEIR_CMD_TRANSFER_H

#include <argp.h>

#include "bar.h"
#include "ends.h"
#include "host_options.h"
#include "pump.h"

struct transfer_options {
	struct host_options host;
	unsigned depth;
	uint64_t bs;       /* bytes of a piece; 0: we choose */
	bool quiet, json;
};

void transfer_options_init(struct transfer_options *options, uint16_t queues);

/* --depth, --bs, --quiet, --json, and those of a host; its input is a struct transfer_options. */
extern const struct argp transfer_argp;

/* CRC-32C of each piece, to see afterwards whether what was moved is there. */
struct sums {
	uint32_t *sum;
	uint64_t count, room;
	uint64_t wrong, first_wrong; /* pieces that are not as they were; where the first begins, in what is moved */
};

struct transfer {
	const struct transfer_options *options;
	struct volume from, to;         /* those of them that are volumes */
	uint32_t piece_bytes;
	bool sums_wanted;
	struct sums sums;
	struct bar bar;                 /* of the pass that runs */
	const char *doing;              /* "writing" */
	uint64_t bytes;                 /* that were moved */
	uint64_t zeros;                 /* of them in pieces that were nothing but zeros */
	uint64_t elapsed_ns;            /* that took so long */
	bool verified, stopped;
	int error;
	char why[256];                  /* "": nothing went wrong */
};

/* How large pieces are for these volumes, either NULL; 0, or -1 after having said what is wrong with --bs. */
int transfer_piece(struct transfer *transfer, const struct volume *one, const struct volume *other)
    __attribute__((warn_unused_result));

/* Moves `total` bytes, or all there are.  0; or -1: transfer->why says what was wrong, or it was stopped.  `ended`: the
 * source said that it had no more; may be NULL. */
int transfer_move(struct transfer *transfer, struct end *source, struct end *sink, uint64_t total, bool find_zeros,
    bool *ended) __attribute__((warn_unused_result));

/* Reads `bytes` more or less as moved, rounded up to `block_size`, once more; as transfer_move(), and what is not the
 * same as it was is wrong.  `take`: nothing is compared, it is only taken down. */
int transfer_sum(struct transfer *transfer, struct end *source, uint32_t block_size, uint64_t bytes, bool take);

/* What was written is durable afterwards.  0, or -1 as transfer_move(). */
int transfer_flush(struct transfer *transfer, struct volume *volume) __attribute__((warn_unused_result));

/* Something else went wrong: the first that is said counts.  -1. */
int transfer_fails(struct transfer *transfer, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says what came of it: words on stderr, or JSON on `json`; closes the volumes; the exit code. */
int transfer_end(struct transfer *transfer, const char *done, FILE *json);

#endif
