/*
 * blkparse.c - a line of blkparse's default text: device CPU sequence seconds pid action RWBS, and of what is queued
 * the rest, "sector + sectors [process]".
 *
 * A request arrives where it is queued (Q), and that event alone is one; the
 * others follow from it, or speak of merging.  At the end of the text is a summary.
 */
#include "trace/format.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static const struct line_words device_words = LINE_WORD("its device", "MAJOR,MINOR");
static const struct line_words cpu_words = LINE_NUMBER("its processor");
static const struct line_words sequence_words = LINE_NUMBER("its sequence number");
static const struct line_words time_words = LINE_TIME("its time");
static const struct line_words pid_words = LINE_NUMBER("its process id");
static const struct line_words action_words = LINE_WORD("its action", "a letter or two");
static const struct line_words rwbs_words = LINE_WORD("its kind (RWBS)", "one that blkparse writes");
static const struct line_words sector_words = LINE_NUMBER("its sector");
static const struct line_words plus_words = LINE_WORD("the + behind its sector", "there");
static const struct line_words size_words = LINE_NUMBER("its number of sectors");

/* How the lines of the summary begin, whatever devices there were. */
static const char *const summary[] = {
	"CPU", "Total (", "Read", "PC Read", "IO unplugs", "Allocation wait", "Dispatch wait", "Completion wait",
	"Throughput (", "Events (", "Skips:", "Input file ",
};

static bool
is_summary(const struct line *line)
{
	for (unsigned i = 0; i < sizeof(summary) / sizeof(summary[0]); i++) {
		size_t length = strlen(summary[i]);

		if ((size_t)(line->end - line->at) >= length && memcmp(line->at, summary[i], length) == 0)
			return true;
	}
	return false;
}

static bool
is_device(const struct line_field *device)
{
	size_t digits[2] = { 0, 0 }, commas = 0;

	for (size_t i = 0; i < device->length; i++)
		if (device->at[i] == ',' && commas == 0)
			commas++;
		else if (device->at[i] >= '0' && device->at[i] <= '9')
			digits[commas]++;
		else
			return false;
	return digits[0] > 0 && digits[1] > 0;
}

/* What a request does: a flush may come before a write, and marks behind it (RWBS). */
static enum line_kind
rwbs_kind(struct line *line, struct line_said *said)
{
	struct line_field rwbs = line_word(line, &rwbs_words);
	size_t first = rwbs.length > 1 && rwbs.at[0] == 'F' && memchr("RW", rwbs.at[1], 2) != NULL;
	char what = rwbs.length > 0 ? rwbs.at[first] : '\0';

	for (size_t i = 0; i < rwbs.length; i++)
		if (rwbs.at[i] < 'A' || rwbs.at[i] > 'Z')
			return line_wrong(line, rwbs_words.wrong);
	said->is_write = what == 'W';
	if (what == 'R' || (what == 'W' && (rwbs.length == first + 1 || rwbs.at[first + 1] != 'Z')))
		return LINE_REQUEST;
	if (what != '\0' && memchr("WDFNZ", what, 5) != NULL)
		return LINE_OTHER;
	return line_wrong(line, rwbs_words.wrong);
}

/* The process in its brackets, which may be called anything: the last thing there is. */
static enum line_kind
process_ends(struct line *line, enum line_kind kind)
{
	if (line->why != NULL)
		return LINE_BAD;
	while (line->end > line->at && (line->end[-1] == ' ' || line->end[-1] == '\t'))
		line->end--;
	if (line->end - line->at < 2 || line->end[-1] != ']')
		return line_wrong(line, "it does not end with a process in brackets");
	return kind;
}

/* Behind the RWBS of a Q: sectors, or none where a flush or a command that is passed through is queued. */
static enum line_kind
queued(struct line *line, struct line_said *said, enum line_kind kind)
{
	struct line_field plus;
	uint64_t sector;

	if (kind != LINE_REQUEST || *line->at == '[')
		return process_ends(line, kind == LINE_REQUEST ? LINE_OTHER : kind);
	sector = line_number(line, &sector_words);
	if (*line->at == '(' || *line->at == '[')
		return process_ends(line, LINE_OTHER);
	plus = line_word(line, &plus_words);
	if (line->why == NULL && (plus.length != 1 || *plus.at != '+'))
		line_wrong(line, plus_words.wrong);
	line_extent(line, said, sector, LINE_SECTORS, line_number(line, &size_words), LINE_SECTORS);
	if (line->why == NULL && *line->at != '[')
		line_wrong(line, "no process in brackets follows its sectors");
	return process_ends(line, kind);
}

enum line_kind
blkparse_line(struct line *line, struct line_said *said)
{
	struct line_field action;

	if (is_summary(line))
		return LINE_APART;
	said->volume[0] = line_word(line, &device_words);
	said->joint = '\0';
	if (line->why == NULL && !is_device(&said->volume[0]))
		line_wrong(line, device_words.wrong);
	line_number(line, &cpu_words);
	line_number(line, &sequence_words);
	said->time_ns = line_moment(line, &time_words, SECOND_NS);
	line_number(line, &pid_words);
	action = line_word(line, &action_words);
	if (action.length > 2)
		line_wrong(line, action_words.wrong);
	if (line->why != NULL)
		return LINE_BAD;
	if (action.length != 1 || *action.at != 'Q')
		return LINE_APART;
	return queued(line, said, rwbs_kind(line, said));
}
