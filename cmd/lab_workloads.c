/*
 * lab_workloads.c - workloads from a file, for experiments that take them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "lab.h"
#include "place/workloads_read.h"

static void
say(const char *path, const struct csv_remarks *remarks, const char *kind)
{
	for (uint32_t i = 0; i < remarks->count && i < CSV_SAID; i++)
		fprintf(stderr, "weir lab: %s:%u: %s%s\n", config_shown(path), remarks->first[i].line, kind,
		    remarks->first[i].why);
	if (remarks->count > CSV_SAID)
		fprintf(stderr, "weir lab: %s: %sand %u more\n", config_shown(path), kind, remarks->count - CSV_SAID);
}

int
lab_workloads_read(struct lab_workloads *workloads, struct arena *arena, const char *path)
{
	struct csv_said said = { 0 };
	struct workloads read;
	char *text = NULL;
	size_t bytes;
	int error = config_text(path, &text, &bytes);

	if (error == 0) {
		error = workloads_read(&read, arena, text, bytes, &said);
		say(path, &said.wrong, "");
		say(path, &said.odd, "warning: ");
		if (error == -ENOMEM)
			fprintf(stderr, "weir lab: out of memory\n");
	}
	if (error == 0)
		*workloads = (struct lab_workloads){ read.list, read.count, path };
	free(text);
	return error;
}
