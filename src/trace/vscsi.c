/*
 * vscsi.c - a line of a vscsi trace as CSV: version,seconds,op,bytes,LBA.
 *
 * The operation is a SCSI one, in hexadecimal (SBC-4): what reads or writes
 * blocks is a request, also WRITE AND VERIFY; whatever else there is is not.
 */
#include "trace/format.h"

#define SECOND_NS UINT64_C(1000000000)

static const struct line_words version_words = LINE_WORD("its version", "1 or 2");
static const struct line_words time_words = LINE_TIME("its time");
static const struct line_words op_words = LINE_WORD("its operation", "one or two hexadecimal digits");
static const struct line_words size_words = LINE_NUMBER("its size");
static const struct line_words lba_words = LINE_NUMBER("its LBA");

enum what { NEITHER, READS, WRITES };

static const unsigned char what_of[256] = {
	[0x08] = READS, [0x28] = READS, [0x88] = READS, [0xa8] = READS,         /* READ(6), (10), (16), (12) */
	[0x0a] = WRITES, [0x2a] = WRITES, [0x8a] = WRITES, [0xaa] = WRITES,     /* WRITE */
	[0x2e] = WRITES, [0x8e] = WRITES, [0xae] = WRITES,                      /* WRITE AND VERIFY */
};

/* -1: it is none. */
static int
hex_digit(char sign)
{
	if (sign >= '0' && sign <= '9')
		return sign - '0';
	sign |= 0x20;
	return sign >= 'a' && sign <= 'f' ? sign - 'a' + 10 : -1;
}

static enum what
op_read(struct line *line)
{
	struct line_field op = line_word(line, &op_words);
	unsigned code = 0;

	if (op.length > 2)
		line_wrong(line, op_words.wrong);
	for (size_t i = 0; i < op.length && line->why == NULL; i++) {
		int digit = hex_digit(op.at[i]);

		if (digit < 0)
			line_wrong(line, op_words.wrong);
		else
			code = code << 4 | (unsigned)digit;
	}
	return line->why == NULL ? (enum what)what_of[code] : NEITHER;
}

enum line_kind
vscsi_line(struct line *line, struct line_said *said)
{
	uint64_t version = line_number(line, &version_words), size, lba;
	enum what what;

	if (version != 1 && version != 2)
		line_wrong(line, version_words.wrong);
	said->time_ns = line_moment(line, &time_words, SECOND_NS);
	what = op_read(line);
	size = line_number(line, &size_words);
	lba = line_number(line, &lba_words);
	if (what == NEITHER)
		return line_ends(line, LINE_OTHER);
	said->is_write = what == WRITES;
	/* There is one disk, without a name. */
	said->volume[0] = (struct line_field){ "0", 1 };
	said->joint = '\0';
	line_extent(line, said, lba, LINE_SECTORS, size, LINE_BYTES);
	return line_ends(line, LINE_REQUEST);
}
