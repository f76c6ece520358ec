/*
 * config.c - a configuration from a file, with what is wrong with it on stderr.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "conf/conf.h"

const char *
config_shown(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* All of it, or one byte more than a configuration may have. */
static int
read_all(const char *path, char *text, size_t *bytes)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	int error = 0;

	if (file == NULL)
		return -errno;
	errno = 0;
	*bytes = fread(text, 1, (size_t)CONF_TEXT_MAX + 1, file);
	if (ferror(file))
		error = errno != 0 ? -errno : -EIO;
	if (file != stdin)
		fclose(file);
	return error;
}

int
config_text(const char *path, char **text, size_t *bytes)
{
	int error;

	*bytes = 0;
	*text = malloc((size_t)CONF_TEXT_MAX + 1);
	error = *text != NULL ? read_all(path, *text, bytes) : -ENOMEM;
	if (error == 0)
		return 0;
	free(*text);
	*text = NULL;
	fprintf(stderr, "weir: %s: %s\n", config_shown(path), strerror(-error));
	return error;
}

int
config_parse(struct arena *arena, const char *path, const char *text, size_t bytes, struct conf **conf)
{
	struct conf_errors errors = { .count = 0 };
	int error = conf_parse(arena, text, bytes, conf, &errors);

	for (uint32_t i = 0; i < errors.count; i++)
		if (errors.list[i].line == 0)
			fprintf(stderr, "%s: %s\n", config_shown(path), errors.list[i].text);
		else
			fprintf(stderr, "%s:%u: %s\n", config_shown(path), errors.list[i].line, errors.list[i].text);
	if (errors.more)
		fprintf(stderr, "%s: and more\n", config_shown(path));
	if (error == -ENOMEM)
		fprintf(stderr, "weir: %s: %s\n", config_shown(path), strerror(-error));
	return error;
}

/* Whoever reads a pipe waits for its writer. */
bool
config_stays(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

int
config_read(struct arena *arena, const char *path, struct conf **conf)
{
	char *text;
	size_t bytes;
	int error = config_text(path, &text, &bytes);

	if (error == 0)
		error = config_parse(arena, path, text, bytes, conf);
	free(text);
	return error;
}
