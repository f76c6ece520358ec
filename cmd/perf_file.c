/*
 * perf_file.c - what a job file says: defaults, and jobs that differ from them.
 *
 * The keys of a job are those of the command line, and perf_job.c knows what
 * they mean; here is what only a file has: names, URIs, and which job waits
 * for which.
 */
#include "perf_file.h"

#include <errno.h>
#include <string.h>

#include "conf/tree.h"

/* What a job has beside the keys of the command line, before these. */
enum { NAME, URI, AFTER, OWN_KEYS };
enum { KEYS_MAX = 32, NAME_MAX_BYTES = 64 };

struct file_reader {
	struct reader r;
	struct perf_file *file;
	struct perf_job defaults;
	const char *keys[KEYS_MAX];
	unsigned key_count;
	const struct node *nodes[PERF_JOBS_MAX];
	const struct node *after[PERF_JOBS_MAX]; /* of each job; NULL: it waits for none */
};

static void
keys_gather(struct file_reader *reader)
{
	reader->keys[NAME] = "name";
	reader->keys[URI] = "uri";
	reader->keys[AFTER] = "after";
	reader->key_count = OWN_KEYS;
	for (const char *const *key = perf_job_keys; *key != NULL; key++)
		reader->keys[reader->key_count++] = *key;
}

/* ---- the keys of the command line ---- */

static const struct node *
value_of(const struct file_reader *reader, const struct node *const *values, const char *key)
{
	for (unsigned i = OWN_KEYS; i < reader->key_count; i++)
		if (strcmp(reader->keys[i], key) == 0)
			return values[i];
	return NULL;
}

static void
options_read(struct file_reader *reader, const struct node *const *values, struct perf_job *job)
{
	const struct node *seconds = value_of(reader, values, "time"), *ios = value_of(reader, values, "ios");
	char why[PERF_WHY] = "";

	if (seconds != NULL && ios != NULL)
		complain(reader->r.errors, ios->line, "`time` and `ios` both say when it ends; one of them can");
	if (seconds != NULL)
		job->ios = 0; /* that of the defaults */
	for (unsigned i = OWN_KEYS; i < reader->key_count; i++) {
		const char *text = scalar_text(&reader->r, values[i], reader->keys[i]);

		if (text != NULL && !perf_job_set(job, reader->keys[i], text, why))
			complain(reader->r.errors, values[i]->line, "`%s` cannot be %s: %s", reader->keys[i],
			    quote(text).text, why);
	}
}

static void
defaults_read(struct file_reader *reader, const struct node *node)
{
	const struct node *values[KEYS_MAX] = { NULL };

	perf_job_init(&reader->defaults);
	if (node != NULL && map_read(&reader->r, node, "`defaults`", reader->keys + OWN_KEYS,
	    reader->key_count - OWN_KEYS, 0, values + OWN_KEYS))
		options_read(reader, values, &reader->defaults);
}

/* ---- what only a job has ---- */

static int
job_find(const struct perf_file *file, const char *name)
{
	for (unsigned i = 0; i < file->job_count; i++)
		if (file->jobs[i].name[0] != '\0' && strcmp(file->jobs[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void
name_read(struct file_reader *reader, const struct node *node, struct perf_job *job)
{
	const char *text = scalar_text(&reader->r, node, "name");
	int same = text != NULL ? job_find(reader->file, text) : -1;

	if (text == NULL)
		return;
	if (text[0] == '\0' || strlen(text) > NAME_MAX_BYTES)
		complain(reader->r.errors, node->line, "`name` has 1 to %d letters, not %s", NAME_MAX_BYTES,
		    quote(text).text);
	else if (same >= 0)
		complain(reader->r.errors, node->line, "two jobs have the name %s, the first is in line %u",
		    quote(text).text, reader->nodes[same]->line);
	else
		job->name = text;
}

static void
uri_read(struct file_reader *reader, const struct node *node, struct perf_job *job)
{
	const char *text = scalar_text(&reader->r, node, "uri");
	char why[PERF_WHY] = "";

	if (text != NULL && !perf_job_add_uri(job, text, why))
		complain(reader->r.errors, node->line, "%s: %s", quote(text).text, why);
}

static void
uris_read(struct file_reader *reader, const struct node *node, struct perf_job *job)
{
	if (node == NULL)
		return;
	if (node->kind != NODE_LIST)
		uri_read(reader, node, job);
	else if (list_check(&reader->r, node, "uri", 1, PERF_URIS_MAX))
		for (const struct node *one = node->first; one != NULL; one = one->next)
			uri_read(reader, one, job);
}

static void
job_read(struct file_reader *reader, const struct node *node)
{
	struct perf_file *file = reader->file;
	struct perf_job *job = &file->jobs[file->job_count];
	const struct node *values[KEYS_MAX];

	*job = reader->defaults;
	file->after[file->job_count] = -1;
	if (!map_read(&reader->r, node, "a job", reader->keys, reader->key_count, AFTER, values))
		return;
	name_read(reader, values[NAME], job);
	uris_read(reader, values[URI], job);
	options_read(reader, values, job);
	reader->nodes[file->job_count] = node;
	reader->after[file->job_count] = values[AFTER];
	file->job_count++;
}

/* ---- which job waits for which ---- */

static bool
comes_after(const struct perf_file *file, unsigned job, unsigned other)
{
	int at = file->after[job];

	/* Through no more than all jobs: there may be a circle. */
	for (unsigned i = 0; i < file->job_count && at >= 0; i++, at = file->after[at])
		if (at == (int)other)
			return true;
	return false;
}

static void
after_read(struct file_reader *reader, unsigned index)
{
	const char *text = scalar_text(&reader->r, reader->after[index], "after");
	int other = text != NULL ? job_find(reader->file, text) : -1;

	if (text == NULL)
		return;
	if (other < 0)
		complain(reader->r.errors, reader->after[index]->line, "there is no job %s for it to be after",
		    quote(text).text);
	else if (other == (int)index)
		complain(reader->r.errors, reader->after[index]->line, "a job cannot be after itself");
	else
		reader->file->after[index] = other;
}

/* One complaint for each circle, at the first job of it. */
static void
circles_check(struct file_reader *reader)
{
	struct perf_file *file = reader->file;

	for (unsigned i = 0; i < file->job_count; i++) {
		bool first = comes_after(file, i, i);

		for (unsigned j = 0; j < i && first; j++)
			first = !(comes_after(file, i, j) && comes_after(file, j, i));
		if (first)
			complain(reader->r.errors, reader->after[i]->line, "%s would wait for itself: %s is after it",
			    quote(file->jobs[i].name).text, quote(file->jobs[file->after[i]].name).text);
	}
}

/* ---- jobs as wholes ---- */

static bool
share_a_uri(const struct perf_job *a, const struct perf_job *b)
{
	for (unsigned i = 0; i < a->uri_count; i++)
		for (unsigned j = 0; j < b->uri_count; j++)
			if (strcmp(a->uris[i], b->uris[j]) == 0)
				return true;
	return false;
}

/* Of all that are right by themselves. */
static void
jobs_check(struct file_reader *reader)
{
	struct perf_file *file = reader->file;
	char why[PERF_WHY] = "";

	for (unsigned i = 0; i < file->job_count; i++) {
		struct perf_job *job = &file->jobs[i];

		if (!perf_job_check(job, why))
			complain(reader->r.errors, reader->nodes[i]->line, "%s", why);
		for (unsigned j = 0; j < i; j++) {
			const struct perf_job *other = &file->jobs[j];

			if (!comes_after(file, i, j) && !comes_after(file, j, i) && share_a_uri(job, other) &&
			    ((job->verify && perf_job_reads(other) < 100) ||
			    (other->verify && perf_job_reads(job) < 100)))
				complain(reader->r.errors, reader->nodes[i]->line,
				    "verify: it and %s would overwrite what the other wrote; let it be `after` that",
				    quote(other->name).text);
		}
	}
}

static void
root_read(struct file_reader *reader, const struct node *root)
{
	static const char *const keys[] = { "jobs", "defaults" };
	enum { JOBS, DEFAULTS };
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(&reader->r, root, "the file", keys, COUNT_OF(keys), 1, values))
		return;
	defaults_read(reader, values[DEFAULTS]);
	if (values[JOBS] == NULL || !list_check(&reader->r, values[JOBS], "jobs", 1, PERF_JOBS_MAX))
		return;
	for (const struct node *node = values[JOBS]->first; node != NULL; node = node->next)
		job_read(reader, node);
	for (unsigned i = 0; i < reader->file->job_count; i++)
		after_read(reader, i);
	circles_check(reader);
	if (reader->r.errors->count == 0)
		jobs_check(reader);
}

int
perf_file_parse(struct arena *arena, const char *text, size_t bytes, struct perf_file *file,
    struct conf_errors *errors)
{
	struct file_reader reader = { .r = { .arena = arena, .errors = errors }, .file = file };
	struct node *root;
	int error;

	*errors = (struct conf_errors){ .count = 0 };
	file->job_count = 0;
	keys_gather(&reader);
	error = tree_read(arena, text, bytes, errors, &root);
	if (error != 0)
		return error;
	root_read(&reader, root);
	complaints_sort(errors);
	return errors->count == 0 ? 0 : -EINVAL;
}
