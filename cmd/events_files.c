#include "events_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made/made.h"
#include "serve.h"

struct gone {
	char name[MADE_UUID_TEXT];
	struct timespec written;
};

/* The newest that were found, from the newest on. */
struct found {
	struct gone list[EVENTS_FILES_GONE];
	unsigned count, removed;
};

static bool
is_served(const struct conf *conf, const uint8_t identity[16])
{
	uint8_t of[16];

	for (uint32_t i = 0; i < conf->subsys_count; i++) {
		identify_subsys(conf->subsys[i].nqn, of);
		if (memcmp(of, identity, sizeof(of)) == 0)
			return true;
	}
	return false;
}

/* Whether the file is of our own names, and of no subsystem that there is; then since when it was not written to. */
static bool
is_gone(const struct conf *conf, int folder, const char *name, struct gone *gone)
{
	uint8_t identity[16];
	struct stat st;

	if (strlen(name) != sizeof(gone->name) - 1 || !made_uuid_parse(name, identity) || is_served(conf, identity) ||
	    fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return false;
	memcpy(gone->name, name, sizeof(gone->name));
	gone->written = st.st_mtim;
	return true;
}

static bool
is_older(const struct gone *a, const struct gone *b)
{
	if (a->written.tv_sec != b->written.tv_sec)
		return a->written.tv_sec < b->written.tv_sec;
	return a->written.tv_nsec < b->written.tv_nsec;
}

/* One more; of more than there may be the oldest goes. */
static void
add(struct found *found, int folder, const struct gone *gone)
{
	unsigned at = found->count;

	while (at > 0 && is_older(&found->list[at - 1], gone))
		at--;
	if (found->count == EVENTS_FILES_GONE) {
		const struct gone *oldest = at == found->count ? gone : &found->list[found->count - 1];

		found->removed += unlinkat(folder, oldest->name, 0) == 0;
		if (at == found->count)
			return;
		found->count--;
	}
	memmove(&found->list[at + 1], &found->list[at], (found->count - at) * sizeof(found->list[0]));
	found->list[at] = *gone;
	found->count++;
}

void
events_files_clean(const struct conf *conf)
{
	char path[CONF_STATE_DIR_MAX + sizeof("/events")];
	struct found found = { .count = 0 };
	struct dirent *entry;
	struct gone gone;
	DIR *dir;

	if (conf->state_dir == NULL)
		return;
	snprintf(path, sizeof(path), "%.*s/events", CONF_STATE_DIR_MAX, conf->state_dir);
	dir = opendir(path);
	while (dir != NULL && (errno = 0, entry = readdir(dir)) != NULL)
		if (is_gone(conf, dirfd(dir), entry->d_name, &gone))
			add(&found, dirfd(dir), &gone);
	if (errno != 0 && errno != ENOENT)
		fprintf(stderr, "weir: warning: %s cannot be looked through for events of subsystems that are gone: "
		    "%s\n", path, strerror(errno));
	if (dir != NULL)
		closedir(dir);
	if (found.removed > 0)
		fprintf(stderr, "weir: events of %u subsystems that are gone are removed from %s: of %u they are "
		    "kept\n", found.removed, path, EVENTS_FILES_GONE);
}
