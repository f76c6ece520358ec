/*
 * msr.c - a line of the traces of MSR Cambridge: FILETIME,host,disk,Read|Write,offset,bytes,response.
 */
#include "trace/format.h"

/* A FILETIME counts 100 ns since 1601. */
enum { FILETIME_NS = 100 };

static const struct line_words time_words = LINE_NUMBER("its time (a FILETIME)");
static const struct line_words host_words = LINE_WORD("its host", "a word");
static const struct line_words disk_words = LINE_NUMBER("its disk");
static const struct line_words type_words = LINE_WORD("its type", "Read or Write");
static const struct line_words offset_words = LINE_NUMBER("its offset");
static const struct line_words size_words = LINE_NUMBER("its size");
static const struct line_words response_words = LINE_NUMBER("its response time");

enum line_kind
msr_line(struct line *line, struct line_said *said)
{
	uint64_t filetime = line_number(line, &time_words), offset, size;
	struct line_field type;

	if (__builtin_mul_overflow(filetime, (uint64_t)FILETIME_NS, &said->time_ns))
		line_wrong(line, "its time (a FILETIME) is beyond 2^64 ns");
	said->volume[0] = line_word(line, &host_words);
	said->joint = '.';
	said->volume[1] = line_digits(line, &disk_words);
	type = line_word(line, &type_words);
	said->is_write = line_is(&type, "write");
	if (!said->is_write && !line_is(&type, "read"))
		line_wrong(line, type_words.wrong);
	offset = line_number(line, &offset_words);
	size = line_number(line, &size_words);
	line_number(line, &response_words);
	line_extent(line, said, offset, LINE_BYTES, size, LINE_BYTES);
	return line_ends(line, LINE_REQUEST);
}
