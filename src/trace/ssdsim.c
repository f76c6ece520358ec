/*
 * ssdsim.c - a line of what SSDsim takes: ns device LBA sectors 0 (a write) | 1 (a read).
 */
#include "trace/format.h"

static const struct line_words time_words = LINE_NUMBER("its time");
static const struct line_words device_words = LINE_NUMBER("its device");
static const struct line_words lba_words = LINE_NUMBER("its LBA");
static const struct line_words size_words = LINE_NUMBER("its number of sectors");
static const struct line_words op_words = LINE_WORD("its operation", "0 (a write) or 1 (a read)");

enum line_kind
ssdsim_line(struct line *line, struct line_said *said)
{
	uint64_t lba, sectors, op;

	said->time_ns = line_number(line, &time_words);
	said->volume[0] = line_digits(line, &device_words);
	said->joint = '\0';
	lba = line_number(line, &lba_words);
	sectors = line_number(line, &size_words);
	op = line_number(line, &op_words);
	if (op > 1)
		line_wrong(line, op_words.wrong);
	said->is_write = op == 0;
	line_extent(line, said, lba, LINE_SECTORS, sectors, LINE_SECTORS);
	return line_ends(line, LINE_REQUEST);
}
