/*
 * fiu.c - a line of the traces of FIU: ns pid process LBA blocks W|R major minor digest.
 *
 * A process may be called anything, also "a b 8 16 R": so what follows it is
 * found from the line's end.
 */
#include "trace/format.h"

enum { DIGEST = 32 /* hexadecimal digits of an MD5 */, BEHIND = 5 /* columns from the LBA to the minor number */ };

static const struct line_words time_words = LINE_TIME("its time");
static const struct line_words pid_words = LINE_NUMBER("its process id");
static const struct line_words lba_words = LINE_NUMBER("its LBA");
static const struct line_words size_words = LINE_NUMBER("its number of blocks");
static const struct line_words op_words = LINE_WORD("its operation", "W or R");
static const struct line_words major_words = LINE_NUMBER("its device's major number");
static const struct line_words minor_words = LINE_NUMBER("its device's minor number");

static bool
is_blank(char sign)
{
	return sign == ' ' || sign == '\t';
}

/* Where the last word that ends before `end` begins; `from`: also where there is none. */
static const char *
word_before(const char *from, const char *end)
{
	while (end > from && is_blank(end[-1]))
		end--;
	while (end > from && !is_blank(end[-1]))
		end--;
	return end;
}

static bool
is_digest(const char *at, const char *end)
{
	static const bool hexadecimal[256] = { ['0' ... '9'] = true, ['a' ... 'f'] = true, ['A' ... 'F'] = true };
	bool all = end - at >= DIGEST && (end - at == DIGEST || is_blank(at[DIGEST]));

	for (int i = 0; i < DIGEST && all; i++)
		all = hexadecimal[(unsigned char)at[i]];
	return all;
}

/* Past the process, and cuts a digest off the end, at the blank before it. */
static void
process_skip(struct line *line)
{
	const char *at = word_before(line->at, line->end);

	if (at > line->at && is_digest(at, line->end))
		line->end = at - 1;
	else
		at = line->end;
	for (int i = 0; i < BEHIND; i++)
		at = word_before(line->at, at);
	if (at > line->at)
		line->at = at;
	else
		line_wrong(line, "some of its columns are missing");
}

enum line_kind
fiu_line(struct line *line, struct line_said *said)
{
	struct line_field op;
	uint64_t lba, blocks;

	said->time_ns = line_moment(line, &time_words, 1);
	line_number(line, &pid_words);
	if (line->why == NULL)
		process_skip(line);
	lba = line_number(line, &lba_words);
	blocks = line_number(line, &size_words);
	op = line_word(line, &op_words);
	said->is_write = line_is(&op, "w");
	if (!said->is_write && !line_is(&op, "r"))
		line_wrong(line, op_words.wrong);
	said->volume[0] = line_digits(line, &major_words);
	said->joint = ',';
	said->volume[1] = line_digits(line, &minor_words);
	line_extent(line, said, lba, LINE_SECTORS, blocks, LINE_SECTORS);
	return line_ends(line, LINE_REQUEST);
}
