#include "trace_tell.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "trace/rates.h"
#include "trace/working_set.h"
#include "trace_text.h"

enum { BATCH = 1024, AHEAD = 16 };

struct trace_tell *
trace_tell_create(unsigned files)
{
	struct trace_tell *tell = calloc(1, sizeof(*tell));

	if (tell == NULL)
		return NULL;
	tell->options = trace_stat_paper;
	tell->format = TRACE_TEXT_GUESS;
	tell->room = WORKING_SET_ROOM;
	arena_init(&tell->arena, 0);
	tell->rows.sources = calloc((size_t)files + 1, sizeof(*tell->rows.sources));
	if (tell->rows.sources != NULL)
		return tell;
	trace_tell_destroy(tell);
	return NULL;
}

void
trace_tell_destroy(struct trace_tell *tell)
{
	if (tell == NULL)
		return;
	trace_rows_free(&tell->rows);
	free(tell->names);
	arena_drop(&tell->arena);
	free(tell);
}

static struct trace_tally **
tally_of(struct trace_tell *tell, const struct trace_request *request)
{
	return &tell->tallies[tell->per_volume ? request->volume : 0];
}

static int
tally(struct trace_tell *tell, const struct trace_request *request)
{
	struct trace_tally **tally = tally_of(tell, request);

	if (*tally == NULL)
		*tally = trace_tally_create(&tell->arena, &tell->options, &tell->room);
	return *tally == NULL ? -ENOMEM : trace_tally_add(*tally, request);
}

static void
expect(struct trace_tell *tell, const struct trace_request *request)
{
	const struct trace_tally *tally = *tally_of(tell, request);

	if (tally != NULL)
		trace_tally_expect(tally, request);
}

static int
tally_all(struct trace_tell *tell, struct trace_text *text)
{
	struct trace_request requests[BATCH];
	struct bar bar;
	size_t count;
	int rc;

	static_assert(TRACE_TEXT_UNKNOWN == PROGRESS_UNKNOWN, "a pipe has a bar without an end");
	bar_begin(&bar, trace_text_name(text), trace_text_total(text), !tell->quiet);
	while ((rc = trace_text_next(text, requests, BATCH, &count)) == 0 && count > 0) {
		for (size_t i = 0; i < count && rc == 0; i++) {
			if (i + AHEAD < count)
				expect(tell, &requests[i + AHEAD]);
			rc = tally(tell, &requests[i]);
		}
		if (rc < 0) {
			fprintf(stderr, "weir: %s: out of memory\n", trace_text_name(text));
			break;
		}
		bar_at(&bar, trace_text_done(text));
	}
	bar_end(&bar);
	return rc;
}

/* The row of what was counted; of a volume, which has a name of its own, or NULL. */
static int
add_row(struct trace_tell *tell, const struct trace_name *name, const struct trace_tally *tally, const char *volume)
{
	char whole[TRACE_NAME + 1 + TRACE_VOLUME_NAME];
	struct trace_stat stat;

	snprintf(whole, sizeof(whole), "%s%s%s", name->text, volume != NULL ? ":" : "", volume != NULL ? volume : "");
	trace_tally_stat(tally, &stat);
	return trace_rows_add(&tell->rows, whole, name->path, &stat);
}

static int
add_rows(struct trace_tell *tell, const struct trace_name *name, const struct trace_text *text)
{
	const struct trace_reader *reader = trace_text_reader(text);
	const struct trace_read *read = trace_reader_seen(reader);
	int rc = 0;

	for (uint32_t i = 0; i < TRACE_VOLUMES && rc == 0; i++)
		if (tell->tallies[i] != NULL)
			rc = add_row(tell, name, tell->tallies[i],
			    tell->per_volume ? trace_reader_volume(reader, i) : NULL);
	if (rc < 0)
		fprintf(stderr, "weir: out of memory\n");
	tell->rows.sources[tell->rows.source_count++] = (struct trace_source) {
		.path = name->path, .format = trace_text_format(text), .read = *read,
	};
	tell->left |= read->bad > 0;
	return rc;
}

int
trace_tell_file(struct trace_tell *tell, unsigned file)
{
	struct trace_text *text;
	int rc;

	assert(file < tell->count);
	if (tell->names == NULL)
		tell->names = trace_names_create(tell->paths, tell->count);
	if (tell->names == NULL)
		fprintf(stderr, "weir: out of memory\n");
	if (tell->names == NULL)
		return -ENOMEM;
	rc = trace_text_open(&tell->arena, tell->paths[file], tell->format, &text);
	if (rc < 0)
		return rc;
	rc = tally_all(tell, text);
	if (rc == 0)
		rc = add_rows(tell, &tell->names[file], text);
	trace_text_complain(text, stderr);
	trace_text_close(text);
	for (unsigned i = 0; i < TRACE_VOLUMES; i++) {
		trace_tally_destroy(tell->tallies[i]);
		tell->tallies[i] = NULL;
	}
	return rc;
}
