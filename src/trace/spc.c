/*
 * spc.c - a line of the format of the Storage Performance Council, in which UMass keeps traces:
 * ASU,LBA,bytes,R|W,seconds, and perhaps more.
 */
#include "trace/format.h"

#define SECOND_NS UINT64_C(1000000000)

static const struct line_words asu_words = LINE_NUMBER("its ASU");
static const struct line_words lba_words = LINE_NUMBER("its LBA");
static const struct line_words size_words = LINE_NUMBER("its size");
static const struct line_words op_words = LINE_WORD("its operation", "R or W");
static const struct line_words time_words = LINE_TIME("its time");

enum line_kind
spc_line(struct line *line, struct line_said *said)
{
	struct line_field op;
	uint64_t lba, size;

	said->volume[0] = line_digits(line, &asu_words);
	said->joint = '\0';
	lba = line_number(line, &lba_words);
	size = line_number(line, &size_words);
	op = line_word(line, &op_words);
	said->is_write = line_is(&op, "w");
	if (!said->is_write && !line_is(&op, "r"))
		line_wrong(line, op_words.wrong);
	said->time_ns = line_moment(line, &time_words, SECOND_NS);
	line_extent(line, said, lba, LINE_SECTORS, size, LINE_BYTES);
	/* Further columns are anybody's. */
	return line->why == NULL ? LINE_REQUEST : LINE_BAD;
}
