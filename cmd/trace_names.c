#include "trace_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

enum { NUMBER = 12 /* bytes that "#2" may take */, ROOM = TRACE_NAME - NUMBER };

/* How much of a path is taken: 0: "usr", 1: "usr.csv", 2: "a/usr", 3: "a/usr.csv", 4: "b/a/usr", ... */
static bool
level_reaches(unsigned level, const char *path)
{
	unsigned folders = 0;

	for (; *path != '\0'; path++)
		folders += *path == '/';
	return level / 2 <= folders;
}

static void
path_write(const char *path, unsigned level, char text[ROOM])
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./";
	const char *last = strrchr(path, '/'), *at = last = last != NULL ? last + 1 : path;
	size_t length = 0;

	for (unsigned folders = level / 2; at > path && folders > 0; folders--)
		for (at--; at > path && at[-1] != '/';)
			at--;
	for (; *at != '\0' && length < ROOM - 1; at++) {
		if (*at == '.' && at >= last && level % 2 == 0)
			break;
		text[length++] = strchr(plain, *at) != NULL ? *at : '-';
	}
	text[length] = '\0';
}

/* The least that says something is as with all that is called by its file. */
static void
name_write(struct trace_name *name, unsigned level)
{
	if (level == 0 || strcmp(name->path, "-") == 0)
		name_of_path(name->path, "stdin", name->text, ROOM);
	else
		path_write(name->path, level, name->text);
}

static int
by_text(const void *a, const void *b)
{
	const struct trace_name *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order != 0 ? order : (x->file > y->file) - (x->file < y->file);
}

static int
by_file(const void *a, const void *b)
{
	const struct trace_name *x = a, *y = b;

	return (x->file > y->file) - (x->file < y->file);
}

/* Writes these so, and sorts them; how many there are that differ. */
static unsigned
write_all(struct trace_name *names, unsigned count, unsigned level)
{
	unsigned differ = 1;

	for (unsigned i = 0; i < count; i++)
		name_write(&names[i], level);
	qsort(names, count, sizeof(*names), by_text);
	for (unsigned i = 1; i < count; i++)
		differ += strcmp(names[i].text, names[i - 1].text) != 0;
	return differ;
}

/* Those that are called alike, by as little of their paths as tells most of them apart. */
static void
tell_apart(struct trace_name *names, unsigned count)
{
	unsigned best = 0, most = 1;
	bool reaches = true;

	for (unsigned level = 1; reaches && most < count; level++) {
		unsigned differ = write_all(names, count, level);

		best = differ > most ? level : best;
		most = differ > most ? differ : most;
		reaches = false;
		for (unsigned i = 0; i < count && !reaches; i++)
			reaches = level_reaches(level + 1, names[i].path);
	}
	write_all(names, count, best);
}

static unsigned
alike(const struct trace_name *names, unsigned count)
{
	unsigned same = 1;

	while (same < count && strcmp(names[same].text, names[0].text) == 0)
		same++;
	return same;
}

/* No other name has such a sign. */
static void
number(struct trace_name *names, unsigned count)
{
	size_t length = strlen(names[0].text);

	for (unsigned i = 1; i < count; i++)
		snprintf(names[i].text + length, TRACE_NAME - length, "#%u", i + 1);
}

struct trace_name *
trace_names_create(char *const *paths, unsigned count)
{
	struct trace_name *names = calloc((size_t)count + 1, sizeof(*names));

	if (names == NULL)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		names[i].path = paths[i];
		names[i].file = i;
	}
	write_all(names, count, 0);
	for (unsigned i = 0, same; i < count; i += same) {
		same = alike(names + i, count - i);
		if (same > 1)
			tell_apart(names + i, same);
	}
	qsort(names, count, sizeof(*names), by_text);
	for (unsigned i = 0, same; i < count; i += same) {
		same = alike(names + i, count - i);
		number(names + i, same);
	}
	qsort(names, count, sizeof(*names), by_file);
	return names;
}
