#include "trace/reader.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "trace/format.h"
#include "trace/volumes.h"

struct trace_reader {
	struct arena *arena;
	enum trace_format format;
	bool begun;       /* there was a line that is neither empty nor a comment */
	bool skipping;    /* a line that is too long, up to its end */
	size_t carried;   /* of a line whose end did not come yet */
	char carry[TRACE_LINE + 2]; /* and of one that is too long a byte more; and a newline */
	struct trace_read seen;
	struct volumes volumes;
};

struct trace_reader *
trace_reader_create(struct arena *arena, enum trace_format format)
{
	struct trace_reader *reader = arena_alloc(arena, sizeof(*reader));

	if (reader == NULL)
		return NULL;
	reader->arena = arena;
	reader->format = format;
	return reader;
}

void
trace_reader_destroy(struct trace_reader *reader)
{
	if (reader != NULL)
		arena_free(reader->arena, reader);
}

static void
bad_note(struct trace_read *seen, const char *at, const char *end, const char *why)
{
	struct trace_bad *bad;
	size_t length = 0;

	if (seen->bad++ >= TRACE_BAD_KEPT)
		return;
	bad = &seen->bads[seen->bad - 1];
	bad->line = seen->lines;
	bad->why = why;
	for (; at < end && length < sizeof(bad->text) - 1; at++)
		if (*at != '\r' || at + 1 < end)
			bad->text[length++] = *at >= ' ' && *at <= '~' ? *at : '?';
	bad->text[length] = '\0';
}

static bool
request_found(struct trace_reader *reader, const char *at, const char *end, struct trace_request *request)
{
	struct trace_read *seen = &reader->seen;
	struct line line = { .why = NULL };
	struct line_said said;
	bool text, first = !reader->begun;
	enum line_kind kind = format_line(reader->format, at, end, &line, &said, &text);

	seen->lines++;
	reader->begun |= text;
	if (kind == LINE_REQUEST) {
		line.why = volumes_find(&reader->volumes, &said, &request->volume);
		seen->volumes = reader->volumes.count;
		kind = line.why == NULL ? LINE_REQUEST : LINE_BAD;
	}
	switch (kind) {
	case LINE_REQUEST:
		request->time_ns = said.time_ns;
		request->offset = said.offset;
		request->bytes = said.bytes;
		request->is_write = said.is_write;
		return true;
	case LINE_OTHER:
		seen->other++;
		return false;
	case LINE_APART:
		seen->headings++;
		return false;
	case LINE_BAD:
		if (first && format_heads(at))
			seen->headings++;
		else
			bad_note(seen, at, end, line.why);
		return false;
	}
	return false;
}

/* The next line from `*at` to `*stop`, where a newline is; false: its end has not come. */
static bool
line_found(struct trace_reader *reader, const char **bytes, size_t *length, bool end, const char **at,
    const char **stop)
{
	while (*length > 0 || (end && reader->carried > 0)) {
		const char *from = *bytes, *newline = *length > 0 ? memchr(from, '\n', *length) : NULL;
		size_t run = newline != NULL ? (size_t)(newline - from) : *length, room, taken;
		bool whole = newline != NULL || end;

		*bytes += run + (newline != NULL);
		*length -= run + (newline != NULL);
		if (reader->skipping) {
			reader->skipping = !whole;
			continue;
		}
		*at = from;
		*stop = newline;
		if (newline != NULL && reader->carried == 0)
			return true;
		room = TRACE_LINE + 1 - reader->carried;
		taken = run < room ? run : room;
		if (taken > 0)
			memcpy(reader->carry + reader->carried, from, taken);
		reader->carried += taken;
		if (!whole && reader->carried <= TRACE_LINE)
			continue;
		reader->skipping = !whole;
		*at = reader->carry;
		*stop = reader->carry + reader->carried;
		reader->carry[reader->carried] = '\n';
		reader->carried = 0;
		return true;
	}
	return false;
}

size_t
trace_read(struct trace_reader *reader, const char **bytes, size_t *length, bool end, struct trace_request *requests,
    size_t room)
{
	const char *at, *stop;
	size_t count = 0;

	while (count < room && line_found(reader, bytes, length, end, &at, &stop)) {
		if (reader->seen.lines == 0)
			at = format_begin(at, stop);
		count += request_found(reader, at, stop, &requests[count]);
	}
	return count;
}

const struct trace_read *
trace_reader_seen(const struct trace_reader *reader)
{
	return &reader->seen;
}

const char *
trace_reader_volume(const struct trace_reader *reader, uint32_t volume)
{
	assert(volume < reader->volumes.count);
	return reader->volumes.names[volume];
}
