/*
 * log_reader.c - one step after another, until two heads agree (see the header).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weir/status.h>

#include "lib/log_reader.h"
#include "lib/status.h"
#include "wire/log.h"

static void answered(struct ctrlr_cmd *cmd);

/* Reads `bytes` from `offset` on. */
static void
ask(struct log_reader *reader, uint64_t offset, void *to, uint32_t bytes)
{
	struct hreq *req = &reader->cmd.io.req;
	uint32_t words = bytes / 4 - 1;

	reader->now = bytes;
	reader->iov = (struct iovec){ to, bytes };
	memset(&reader->cmd, 0, sizeof(reader->cmd));
	reader->cmd.done = answered;
	reader->cmd.owner = reader;
	/* Not RAE: what is read is no news any more. */
	req->sqe = (struct nvme_sqe){
		.opcode = NVME_ADMIN_GET_LOG_PAGE, .cdw10 = le32_of(NVME_LOG_DISCOVERY | words << 16),
		.cdw11 = le32_of(words >> 16), .cdw12 = le32_of((uint32_t)offset),
		.cdw13 = le32_of((uint32_t)(offset >> 32)),
	};
	req->data = HREQ_READ;
	req->length = bytes;
	req->iov = &reader->iov;
	req->iov_count = 1;
	ctrlr_submit(reader->ctrlr, &reader->cmd);
}

static void
end(struct log_reader *reader, int error, const char *why)
{
	reader->step = LOG_IDLE;
	reader->done(reader, error, why);
}

static void
read_head(struct log_reader *reader, enum log_step step)
{
	reader->step = step;
	ask(reader, 0, reader->page, sizeof(reader->page));
}

static void
read_on(struct log_reader *reader)
{
	uint32_t most = ctrlr_facts(reader->ctrlr)->transfer_max & ~UINT32_C(3);
	size_t left = reader->bytes - reader->at;

	ask(reader, sizeof(reader->page) + reader->at, reader->entries + reader->at,
	    left < most ? (uint32_t)left : most);
}

/* The head says how much there is. */
static void
begin_entries(struct log_reader *reader)
{
	log_reader_end(reader);
	discovery_header_decode(reader->page, &reader->head);
	if (reader->head.format != 0) {
		end(reader, -EPROTO, "the discovery log is of a format that this host does not know");
		return;
	}
	if (reader->head.entries > LOG_READER_ENTRIES_MAX) {
		end(reader, -EMSGSIZE, "the discovery log has more entries than this host reads, 16384");
		return;
	}
	reader->count = (uint32_t)reader->head.entries;
	reader->at = 0;
	reader->bytes = (size_t)reader->count * DISCOVERY_ENTRY_LEN;
	if (reader->count == 0) {
		end(reader, 0, NULL);
		return;
	}
	reader->entries = malloc(reader->bytes);
	if (reader->entries == NULL) {
		end(reader, -ENOMEM, "there is no memory for the discovery log");
		return;
	}
	reader->step = LOG_ENTRIES;
	read_on(reader);
}

static void
check(struct log_reader *reader)
{
	struct discovery_header now;

	discovery_header_decode(reader->page, &now);
	if (now.generation == reader->head.generation)
		end(reader, 0, NULL);
	else if (++reader->tries < LOG_READER_TRIES)
		begin_entries(reader);
	else
		end(reader, -EAGAIN, "the discovery log changes while it is read, again and again");
}

static void
answered(struct ctrlr_cmd *cmd)
{
	struct log_reader *reader = cmd->owner;
	const struct hreq *req = &cmd->io.req;

	if (cmd->io.lost)
		return;
	if (!nvme_ok(req->status)) {
		end(reader, nvme_status_errno(req->status), weir_status_text(lib_status(req->status)));
		return;
	}
	switch (reader->step) {
	case LOG_IDLE:
		return;
	case LOG_HEAD:
		begin_entries(reader);
		return;
	case LOG_ENTRIES:
		reader->at += reader->now;
		if (reader->at < reader->bytes)
			read_on(reader);
		else
			read_head(reader, LOG_CHECK);
		return;
	case LOG_CHECK:
		check(reader);
		return;
	}
}

void
log_reader_start(struct log_reader *reader, struct ctrlr *ctrlr)
{
	reader->ctrlr = ctrlr;
	reader->tries = 0;
	read_head(reader, LOG_HEAD);
}

void
log_reader_end(struct log_reader *reader)
{
	free(reader->entries);
	reader->entries = NULL;
	reader->count = 0;
}
