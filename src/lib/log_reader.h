/*
 * log_reader.h - reads the discovery log of a controller, as it was at one moment.
 *
 * In pieces, of which each may be of another moment: so the head is read once
 * more behind them, and all of it again where the generation is another one
 * (NVMe Base 2.0, 5.16.1.23).  On the service thread.
 */
#ifndef WEIR_LIB_LOG_READER_H
#define WEIR_LIB_LOG_READER_H

#include "host/ctrlr.h"
#include "lib/discovery_log.h"

enum { LOG_READER_ENTRIES_MAX = 16384, LOG_READER_TRIES = 16 };

struct log_reader {
	/* The owner's, set before the first reading.  From the reactor's turn: 0, and head, entries and count are what
	 * was read, valid until the next reading; else why not.  Not called where the controller is lost: its lost()
	 * is. */
	void (*done)(struct log_reader *reader, int error, const char *why);
	void *owner;

	struct ctrlr *ctrlr;
	enum log_step { LOG_IDLE, LOG_HEAD, LOG_ENTRIES, LOG_CHECK } step;
	unsigned tries;
	uint8_t page[DISCOVERY_HEADER_LEN]; /* the head, as it comes */
	struct discovery_header head;   /* before the entries */
	uint8_t *entries;               /* of DISCOVERY_ENTRY_LEN bytes: malloc()ed */
	uint32_t count;
	size_t bytes, at;               /* of all entries, and of those that were read */
	uint32_t now;                   /* bytes of the command in flight */
	struct ctrlr_cmd cmd;
	struct iovec iov;
};

/* Of a controller that is ready; nothing is being read. */
void log_reader_start(struct log_reader *reader, struct ctrlr *ctrlr);

/* Frees what was read; nothing is being read, or the controller is gone. */
void log_reader_end(struct log_reader *reader);

#endif
