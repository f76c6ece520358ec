#include "survey.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refuse.h"
#include "volumes.h"
#include "world/reactor.h"

enum {
	PATHS_MIN = 16,
	NS_PER_MS = 1000000,
	/*
	 * Surveys whose errand is the world's: of one folder as many as it runs for one disk, and half of its threads
	 * at most.  The others wait here, and are gone as soon as nobody waits for them: however often a disk that
	 * hangs is asked, it keeps no more of them than these.
	 */
	OF_FOLDER = 2,
	AT_ONCE = 8,
};

struct path {
	const char *text; /* NULL: a place of the table that is free */
	bool folder, asked;
	uint64_t id[2];   /* of a file; */
	int rc;           /* of a folder; the errand's until it is done */
};

struct survey {
	struct list node;      /* in serving->surveys */
	struct serving *serving;
	struct arena arena;
	struct path *paths;    /* by hash; at least half of them are free */
	uint32_t room, count;
	struct path *leg;      /* whose folder is being asked for, with all others in it */
	struct errand errand;
	struct timer patience;
	pthread_mutex_t lock;
	const char *now;       /* which is being asked for, under the lock; NULL: none yet, or none any more */
	bool opens, dropped;
	bool asking, given;    /* it is not done yet; and the errand is the world's, else it waits for its turn */
	void (*then)(void *owner, int rc, const char *why);
	void *owner;
};

/* ---- what there is to be asked ---- */

static uint64_t
hash(const char *text, size_t length)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* The place of a path, or the free one that it would have. */
static struct path *
place(const struct survey *survey, const char *text)
{
	for (uint64_t at = hash(text, strlen(text));; at++) {
		struct path *path = &survey->paths[at % survey->room];

		if (path->text == NULL || strcmp(path->text, text) == 0)
			return path;
	}
}

static int
add(struct survey *survey, const char *text, bool folder)
{
	struct path *path = place(survey, text);

	if (path->text != NULL)
		return 0;
	path->text = arena_strdup(&survey->arena, text);
	path->folder = folder;
	survey->count += path->text != NULL;
	return path->text != NULL ? 0 : -ENOMEM;
}

/* A file, its list of bad blocks, and the one whose list of bad blocks it would be. */
static int
add_file(struct survey *survey, const char *text)
{
	char other[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];
	int rc = add(survey, text, false);

	snprintf(other, sizeof(other), "%.*s" BLK_BAD_SUFFIX, CONF_SPEC, text);
	if (rc == 0)
		rc = add(survey, other, false);
	if (rc == 0 && volume_stem(text, other))
		rc = add(survey, other, false);
	return rc;
}

/* Where it is kept what was of a namespace or a subsystem that is new, and what hosts wish; a question changes nothing,
 * and needs it not. */
static int
add_state(struct survey *survey)
{
	const char *state_dir = survey->serving->now->conf->state_dir;

	return survey->opens && state_dir != NULL ? add(survey, state_dir, true) : 0;
}

/* Of a volume that is served nothing is asked, but where it is to grow. */
static int
add_namespace(struct survey *survey, const struct conf_subsys *subsys, const struct conf_ns *ns)
{
	const struct volume *volume = volume_find(survey->serving, subsys, ns);
	char spec[CONF_SPEC], path[BLK_SPEC];
	int rc;

	if (volume != NULL)
		return volume->blk->path != NULL && volume->blk->blocks < ns->size / ns->block_size ?
		    add(survey, volume->blk->path, false) : 0;
	conf_volume_spec(ns, spec);
	rc = add_state(survey);
	return rc == 0 && blk_spec_path(spec, path) ? add_file(survey, path) : rc;
}

static int
add_subsys(struct survey *survey, const struct conf_subsys *subsys)
{
	const char *folder = hosted_new_folder(survey->serving->now->conf, subsys);
	int rc = folder != NULL ? add(survey, folder, true) : 0;

	if (rc == 0 && hosted_subsys(survey->serving->now->conf, subsys->nqn) == NULL)
		rc = add_state(survey);
	for (uint32_t i = 0; i < subsys->ns_count && rc == 0; i++)
		rc = add_namespace(survey, subsys, &subsys->ns[i]);
	return rc;
}

static void
survey_free(struct survey *survey)
{
	list_remove(&survey->node);
	pthread_mutex_destroy(&survey->lock);
	arena_drop(&survey->arena);
	free(survey);
}

struct survey *
survey_make(struct serving *serving, const struct conf *next, bool opens)
{
	struct survey *survey = calloc(1, sizeof(*survey));
	uint32_t most = PATHS_MIN;
	int rc;

	if (survey == NULL)
		return NULL;
	for (uint32_t i = 0; i < next->subsys_count; i++)
		most += 1 + 3 * next->subsys[i].ns_count;
	survey->serving = serving;
	survey->room = 2 * most;
	survey->opens = opens;
	pthread_mutex_init(&survey->lock, NULL);
	arena_init(&survey->arena, 0);
	list_push(&serving->surveys, &survey->node);
	survey->paths = arena_alloc(&survey->arena, survey->room * sizeof(*survey->paths));
	rc = survey->paths != NULL ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		rc = add_subsys(survey, &next->subsys[i]);
	if (rc == 0 && hosted_works(&serving->hosted))
		rc = add_state(survey); /* the wish goes first, and may wait for that */
	if (rc == 0)
		return survey;
	survey_free(survey);
	return NULL;
}

/* ---- beside the reactor ---- */

static void asked(struct errand *errand);

static void
note(struct survey *survey, const char *now)
{
	pthread_mutex_lock(&survey->lock);
	survey->now = now;
	pthread_mutex_unlock(&survey->lock);
}

/* A disk may know a file and not open it.  What comes of it says who opens the volume. */
static void
try_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		close(fd);
}

static void
ask_one(struct survey *survey, struct path *path)
{
	struct reactor *reactor = survey->serving->reactor;

	note(survey, path->text);
	path->asked = true;
	if (path->folder)
		path->rc = access(path->text, R_OK | W_OK | X_OK) == 0 ? 0 : -errno;
	else if (reactor->world->file_id(reactor, path->text, path->id) != 0)
		memset(path->id, 0, sizeof(path->id)); /* what cannot be looked at is nobody's */
	else if (survey->opens)
		try_open(path->text);
}

/* Bytes of the folder that it lies in, or is. */
static size_t
folder_length(const struct path *path)
{
	const char *name = path->folder ? NULL : strrchr(path->text, '/');

	return name != NULL ? (size_t)(name - path->text) : strlen(path->text);
}

/* Two that are spelt alike are on one disk: more is not known before it has answered. */
static bool
is_beside(const struct path *path, const struct path *other)
{
	size_t length = folder_length(path);

	return folder_length(other) == length && memcmp(path->text, other->text, length) == 0;
}

static void
ask(struct errand *errand)
{
	struct survey *survey = container_of(errand, struct survey, errand);

	for (struct path *path = survey->leg; path < survey->paths + survey->room; path++)
		if (path->text != NULL && !path->asked && is_beside(path, survey->leg))
			ask_one(survey, path);
	note(survey, NULL);
}

/* ---- on the reactor: whose turn it is ---- */

/* Folder by folder, so that one that does not answer holds up no other survey of others. */
static bool
next_leg(struct survey *survey)
{
	struct path *end = survey->paths + survey->room;

	while (survey->leg < end && (survey->leg->text == NULL || survey->leg->asked))
		survey->leg++;
	if (survey->leg == end)
		return false;
	survey->errand = (struct errand){
		.run = ask, .done = asked, .apart = true,
		.disk = hash(survey->leg->text, folder_length(survey->leg)),
	};
	return true;
}

static bool
may_ask(const struct serving *serving, const struct survey *survey)
{
	unsigned all = 0, of_folder = 0;

	list_for_each(&serving->surveys, node) {
		const struct survey *other = container_of(node, struct survey, node);

		all += other->given;
		of_folder += other->given && other->errand.disk == survey->errand.disk;
	}
	return survey->asking && !survey->given && all < AT_ONCE && of_folder < OF_FOLDER;
}

/* The oldest first. */
static struct survey *
next_turn(const struct serving *serving)
{
	list_for_each(&serving->surveys, node) {
		struct survey *survey = container_of(node, struct survey, node);

		if (may_ask(serving, survey))
			return survey;
	}
	return NULL;
}

static void
go_on(struct serving *serving)
{
	struct survey *survey;

	while ((survey = next_turn(serving)) != NULL) {
		survey->given = true;
		serving->reactor->world->errand(serving->reactor, &survey->errand);
	}
}

static void
asked(struct errand *errand)
{
	struct survey *survey = container_of(errand, struct survey, errand);
	struct serving *serving = survey->serving;

	survey->given = false;
	survey->asking = !survey->dropped && next_leg(survey);
	if (!survey->asking)
		timer_clear(&serving->reactor->timers, &survey->patience);
	if (survey->dropped)
		survey_free(survey);
	else if (!survey->asking && survey->then != NULL)
		survey->then(survey->owner, 0, "");
	go_on(serving);
}

static void
impatient(struct timer *timer)
{
	struct survey *survey = container_of(timer, struct survey, patience);
	void (*then)(void *owner, int rc, const char *why) = survey->then;
	const char *now;
	char why[256];

	pthread_mutex_lock(&survey->lock);
	now = survey->now;
	pthread_mutex_unlock(&survey->lock);
	survey->then = NULL;
	if (now != NULL)
		refuse(why, 0, "%.180s: the disk has not answered for %u seconds", now, SURVEY_PATIENCE_MS / 1000);
	else
		refuse(why, 0, "disks that were asked before do not answer");
	then(survey->owner, -ETIMEDOUT, why);
}

void
survey_ask(struct survey *survey, void (*then)(void *owner, int rc, const char *why), void *owner)
{
	struct reactor *reactor = survey->serving->reactor;

	survey->then = then;
	survey->owner = owner;
	if (survey->count == 0) {
		then(owner, 0, "");
		return;
	}
	survey->patience.fire = impatient;
	timer_set(&reactor->timers, &survey->patience,
	    reactor->now_ns + (uint64_t)SURVEY_PATIENCE_MS * NS_PER_MS);
	survey->leg = survey->paths;
	survey->asking = next_leg(survey);
	go_on(survey->serving);
}

void
survey_drop(struct survey *survey)
{
	if (survey == NULL)
		return;
	timer_clear(&survey->serving->reactor->timers, &survey->patience);
	survey->dropped = true;
	if (!survey->given)
		survey_free(survey);
}

/* ---- the answer ---- */

void
survey_id(const struct survey *survey, const char *path, uint64_t id[2])
{
	const struct path *asked = place(survey, path);

	memset(id, 0, sizeof(asked->id));
	if (asked->text != NULL)
		memcpy(id, asked->id, sizeof(asked->id));
}

int
survey_folder(const struct survey *survey, const char *folder)
{
	const struct path *asked = place(survey, folder);

	return asked->text != NULL ? asked->rc : 0;
}

/* ---- all ---- */

bool
surveys_wait(const struct serving *serving)
{
	list_for_each(&serving->surveys, node)
		if (container_of(node, struct survey, node)->asking)
			return true;
	return false;
}

void
surveys_end(struct serving *serving)
{
	list_for_each(&serving->surveys, node) {
		struct survey *survey = container_of(node, struct survey, node);

		timer_clear(&serving->reactor->timers, &survey->patience);
		survey_free(survey);
	}
}
