/*
 * config.c - a configuration from a file, with what is wrong with it on stderr.
 */
#include <errno.h>
#include <stdarg.h>
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

void
config_complain(void (*say)(const char *format, ...), const char *path, const struct conf_errors *errors, int error)
{
	const char *shown = config_shown(path);

	for (uint32_t i = 0; i < errors->count; i++)
		if (errors->list[i].line == 0)
			say("%s: %s\n", shown, errors->list[i].text);
		else
			say("%s:%u: %s\n", shown, errors->list[i].line, errors->list[i].text);
	if (errors->more)
		say("%s: and more\n", shown);
	if (errors->count == 0)
		say("weir: %s: %s\n", shown, strerror(-error));
}

void
config_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
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
config_load(const char *path, char **text, size_t *bytes)
{
	int error;

	*bytes = 0;
	*text = malloc((size_t)CONF_TEXT_MAX + 1);
	error = *text != NULL ? read_all(path, *text, bytes) : -ENOMEM;
	if (error == 0)
		return 0;
	free(*text);
	*text = NULL;
	return error;
}

int
config_text(const char *path, char **text, size_t *bytes)
{
	const struct conf_errors none = { .count = 0 };
	int error = config_load(path, text, bytes);

	if (error != 0)
		config_complain(config_say, path, &none, error);
	return error;
}

int
config_parse(struct arena *arena, const char *path, const char *text, size_t bytes, struct conf **conf)
{
	struct conf_errors errors = { .count = 0 };
	int error = conf_parse(arena, text, bytes, conf, &errors);

	if (error != 0)
		config_complain(config_say, path, &errors, error);
	return error;
}

static bool
is_plain(char sign)
{
	return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9');
}

void
name_of_path(const char *path, const char *otherwise, char *name, size_t room)
{
	const char *last = strrchr(path, '/');
	size_t length = 0;

	for (last = last != NULL ? last + 1 : path; *last != '\0' && *last != '.' && length < room - 1; last++)
		if (is_plain(*last))
			name[length++] = *last;
		else if (length > 0)
			name[length++] = *last == '_' ? '_' : '-';
	name[length] = '\0';
	if (length == 0)
		snprintf(name, room, "%s", otherwise);
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

static bool
is_limited(const struct conf_ns *ns)
{
	static const struct qos_limit none[QOS_KINDS];

	return memcmp(ns->limits, none, sizeof(none)) != 0;
}

/* Of what is said of sharing, and means nothing as it is off. */
static void
warn_of_off(const struct conf *conf)
{
	bool shared = conf->qos.mode != CONF_QOS_OFF;

	for (uint32_t i = 0; i < conf->subsys_count; i++)
		for (uint32_t n = 0; n < conf->subsys[i].ns_count; n++) {
			const struct conf_ns *ns = &conf->subsys[i].ns[n];

			shared = shared || ns->mode != CONF_QOS_OFF;
			if (ns->mode == CONF_QOS_OFF && is_limited(ns))
				config_say("weir: warning: the limits of namespace %u of %s do not hold: its `mode' is "
				    "off, where `caps' would do\n", ns->nsid, conf->subsys[i].nqn);
		}
	if (!shared && conf->qos.group_count + conf->qos.tenant_count > 0)
		config_say("weir: warning: what `qos' says of groups and tenants does not hold: `mode' is off for all "
		    "namespaces, where `caps' or `gimbal' would do\n");
}

void
config_warn(const struct conf *conf)
{
	const char *nqn = NULL;
	uint32_t count = 0, first = 0;

	warn_of_off(conf);
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		for (uint32_t n = 0; n < conf->subsys[i].ns_count; n++) {
			const struct conf_ns *ns = &conf->subsys[i].ns[n];

			if (ns->mode == CONF_QOS_GIMBAL && ns->device == CONF_QOS_NONE && count++ == 0) {
				first = ns->nsid;
				nqn = conf->subsys[i].nqn;
			}
		}
	if (count == 1)
		config_say("weir: warning: namespace %u of %s is shared by what some TLC drive can do: weir "
		    "calibrate measures what its own can\n", first, nqn);
	else if (count > 1)
		config_say("weir: warning: namespace %u of %s and %u others are shared by what some TLC drive can do: "
		    "weir calibrate measures what their own can\n", first, nqn, count - 1);
}
