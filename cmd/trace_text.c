#include "trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "trace_in.h"

enum { BUFFER = 256 * 1024, GUESS = 64 * 1024 };

struct trace_text {
	struct arena *arena;
	struct trace_in *in;
	enum trace_format format;
	struct trace_reader *reader;
	uint64_t bytes;
	bool end;             /* nothing comes behind what the buffer has */
	const char *at;       /* what of it is still to be read, */
	size_t length;        /* and how much */
	char buffer[BUFFER];
};

static int
buffer_fill(struct trace_text *text)
{
	size_t bytes;
	int error = trace_in_read(text->in, text->buffer + text->length, sizeof(text->buffer) - text->length, &bytes);

	if (error != 0)
		return error;
	text->at = text->buffer;
	text->length += bytes;
	text->bytes += bytes;
	text->end = bytes == 0;
	return 0;
}

static int
format_find(struct trace_text *text)
{
	while (text->length < GUESS && !text->end) {
		int error = buffer_fill(text);

		if (error != 0)
			return error;
	}
	if (trace_guess(text->buffer, text->length, &text->format))
		return 0;
	fprintf(stderr, "weir: %s: %s (", trace_text_name(text),
	    text->length == 0 ? "it is empty, and no trace" : "its first lines are those of no trace that can be read");
	for (unsigned i = 0; i < TRACE_FORMATS; i++)
		fprintf(stderr, "%s%s", i > 0 ? ", " : "", trace_format_names[i]);
	fprintf(stderr, ")\n");
	return -EINVAL;
}

static int
no_memory(const char *path)
{
	fprintf(stderr, "weir: %s: %s\n", path, strerror(ENOMEM));
	return -ENOMEM;
}

int
trace_text_open(struct arena *arena, const char *path, int format, struct trace_text **text)
{
	struct trace_text *made = arena_alloc_raw(arena, sizeof(*made));
	int error;

	*text = NULL;
	if (made == NULL)
		return no_memory(path);
	made->arena = arena;
	made->reader = NULL;
	made->bytes = 0;
	made->end = false;
	made->length = 0;
	made->at = made->buffer;
	error = trace_in_open(path, &made->in);
	if (error == 0 && format == TRACE_TEXT_GUESS)
		error = format_find(made);
	else
		made->format = (enum trace_format)format;
	if (error == 0 && (made->reader = trace_reader_create(arena, made->format)) == NULL)
		error = no_memory(path);
	if (error == 0)
		*text = made;
	else
		trace_text_close(made);
	return error;
}

void
trace_text_close(struct trace_text *text)
{
	if (text == NULL)
		return;
	trace_reader_destroy(text->reader);
	trace_in_close(text->in);
	arena_free(text->arena, text);
}

/* Of another format than that which was said, or of nothing at all. */
static bool
is_nothing(const struct trace_read *seen)
{
	return seen->headings + seen->bad == seen->lines;
}

static int
nothing_found(const struct trace_text *text, const struct trace_read *seen)
{
	const char *name = trace_text_name(text), *format = trace_format_names[text->format];

	if (text->bytes == 0)
		fprintf(stderr, "weir: %s: it is empty, and no trace\n", name);
	else if (seen->bad == 0)
		fprintf(stderr, "weir: %s: it has no requests (read as %s)\n", name, format);
	else
		fprintf(stderr, "weir: %s: no line of it can be read as %s; line %" PRIu64 ": %s\n", name, format,
		    seen->bads[0].line, seen->bads[0].why);
	return -ENODATA;
}

int
trace_text_next(struct trace_text *text, struct trace_request *requests, size_t room, size_t *count)
{
	for (;;) {
		int error;

		*count = trace_read(text->reader, &text->at, &text->length, text->end, requests, room);
		if (*count == 0 && text->end && is_nothing(trace_reader_seen(text->reader)))
			return nothing_found(text, trace_reader_seen(text->reader));
		if (*count > 0 || text->end)
			return 0;
		error = buffer_fill(text);
		if (error != 0)
			return error;
	}
}

uint64_t
trace_text_done(const struct trace_text *text)
{
	return trace_in_done(text->in);
}

uint64_t
trace_text_total(const struct trace_text *text)
{
	return trace_in_total(text->in);
}

uint64_t
trace_text_bytes(const struct trace_text *text)
{
	return text->bytes;
}

const char *
trace_text_name(const struct trace_text *text)
{
	return trace_in_name(text->in);
}

enum trace_format
trace_text_format(const struct trace_text *text)
{
	return text->format;
}

const struct trace_reader *
trace_text_reader(const struct trace_text *text)
{
	return text->reader;
}

void
trace_text_complain(const struct trace_text *text, FILE *out)
{
	const struct trace_read *seen = trace_reader_seen(text->reader);

	if (is_nothing(seen))
		return;
	for (uint64_t i = 0; i < seen->bad && i < TRACE_BAD_KEPT; i++)
		fprintf(out, "%s:%" PRIu64 ": %s: %s\n", trace_text_name(text), seen->bads[i].line, seen->bads[i].why,
		    seen->bads[i].text);
	if (seen->bad > TRACE_BAD_KEPT)
		fprintf(out, "%s: and %" PRIu64 " more that cannot be read\n", trace_text_name(text),
		    seen->bad - TRACE_BAD_KEPT);
}
