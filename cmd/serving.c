#include "serving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply_files.h"
#include "events_files.h"
#include "refuse.h"
#include "survey.h"
#include "volumes.h"
#include "world/reactor.h"

static const uint64_t await_ns = 5000000000, look_ns = 10000000; /* for what was taken away */

/* ---- beginning, changing, ending ---- */

/* Once for the life of the target. */
static int
open_order_log(struct serving *serving, const struct conf_order_log *log, char why[256])
{
	static const enum store_kind kinds[] = {
		[CONF_ORDER_FILE] = STORE_FILE, [CONF_ORDER_MEMORY] = STORE_MEMORY,
		[CONF_ORDER_PERSISTENT] = STORE_PERSISTENT,
	};
	struct store_spec spec = { .slots = log->slots };
	enum conf_order_kind kind;

	if (log->place == NULL)
		return 0;
	spec.path = conf_order_path(log->place, &kind);
	spec.kind = kinds[kind];
	return store_open(serving->reactor, &spec, &serving->order, why);
}

int
serving_make(struct serving *serving, struct reactor *reactor, struct arena *arena, struct configured *first,
    char why[256])
{
	struct target_config config;
	struct arena scratch;
	int rc;

	serving->reactor = reactor;
	serving->arena = arena;
	list_init(&serving->volumes);
	list_init(&serving->surveys);
	serving->now = first;
	arena_init(&scratch, 0);
	serving->starting = true;
	rc = hosted_begin(&serving->hosted, serving, first->conf, why);
	if (rc == 0)
		rc = open_order_log(serving, &first->conf->order_log, why);
	if (rc == 0)
		rc = serving_config(&(struct making){ serving, &scratch, first, serving->hosted.state->made, NULL },
		    &config, why);
	if (rc == 0)
		rc = target_create(arena, &config, &serving->target, why);
	arena_drop(&scratch);
	serving->starting = false;
	return rc;
}

void
serving_started(struct serving *serving, bool done)
{
	volumes_settle(serving, done);
	if (!done)
		return;
	hosted_clean(&serving->hosted, serving->now->conf);
	events_files_clean(serving->now->conf);
}

static void
applied_configuration(struct serving *serving, int rc, const char *why)
{
	if (rc == 0) {
		configured_drop(serving->now);
		serving->now = serving->next;
	} else {
		configured_drop(serving->next);
	}
	serving->next = NULL;
	apply_files_end(&serving->files);
	serving->told(serving->owner, rc, why);
}

static int begin(struct serving *serving, struct configured *next, char why[256]);
static int apply(struct serving *serving, const struct configured *from, const struct made *made, char why[256]);
static void go_on(struct serving *serving);

static void
files_undone(struct apply_files *files)
{
	struct serving *serving = container_of(files, struct serving, files);

	serving->making = false;
	applied_configuration(serving, files->rc, files->why);
	go_on(serving);
}

/* What was made for it goes before anybody is told. */
static void
refused_configuration(struct serving *serving, int rc, const char *why)
{
	serving->making = true;
	serving->files.rc = rc;
	snprintf(serving->files.why, sizeof(serving->files.why), "%s", why);
	apply_files_undo(&serving->files, serving->reactor, files_undone);
}

static void
files_made(struct apply_files *files)
{
	go_on(container_of(files, struct serving, files));
}

/* Its files are there.  Hosts had their wishes meanwhile: there may be no place any more for what they have made. */
static void
change(struct serving *serving)
{
	char why[256];
	int rc = hosted_check(&serving->hosted, serving->now->conf, serving->next->conf, why);

	serving->making = false;
	if (rc == 0)
		rc = apply(serving, serving->next, serving->hosted.state->made, why);
	if (rc != 0)
		refused_configuration(serving, rc, why);
}

static void
operators_turn(struct serving *serving)
{
	struct configured *parked = serving->parked;
	char why[256];
	int rc;

	if (serving->making && !serving->files.beside) {
		change(serving);
	} else if (parked != NULL && serving->surveyed) {
		serving->parked = NULL;
		rc = begin(serving, parked, why);
		if (rc != 0)
			serving->told(serving->owner, rc, why);
	}
}

/* The wish at work, and then what waits: first the operator, then hosts. */
static void
go_on(struct serving *serving)
{
	if (serving_busy(serving))
		return;
	if (!hosted_works(&serving->hosted))
		operators_turn(serving);
	hosted_next(&serving->hosted);
}

void
serving_idle(struct serving *serving)
{
	go_on(serving);
}

static void
applied(struct target_applied *applied, int rc, const char *why)
{
	struct serving *serving = container_of(applied, struct serving, applied);

	volumes_settle(serving, rc == 0);
	serving->busy = false;
	if (hosted_works(&serving->hosted))
		hosted_applied(&serving->hosted, rc, why);
	else if (rc != 0)
		refused_configuration(serving, rc, why);
	else
		applied_configuration(serving, rc, why);
	go_on(serving);
}

/* Whether the target may become so without being started anew: else which change is in the way. */
static void
look_for_restart(void *arg, const struct conf_change *change)
{
	char *why = arg;

	if (change->ease == CONF_RESTART && why[0] == '\0')
		snprintf(why, 256, "needs a restart: %.230s", change->text);
}

static int
apply(struct serving *serving, const struct configured *from, const struct made *made, char why[256])
{
	const struct target_wish *wish = from == serving->now ? serving->hosted.now : NULL;
	const struct list *last = serving->volumes.prev;
	struct target_config config;
	struct arena scratch;
	int rc;

	serving->applied = (struct target_applied){ applied, volumes_unused };
	volumes_unwanted(serving);
	arena_init(&scratch, 0);
	rc = serving_config(&(struct making){ serving, &scratch, from, made, wish }, &config, why);
	if (rc == 0)
		rc = target_apply(serving->target, &config, &serving->applied, why);
	arena_drop(&scratch);
	serving->busy = rc == 0;
	if (rc != 0) {
		volumes_undo(serving);
		volumes_withdraw(serving, last);
	}
	return rc;
}

int
serving_fits(const struct serving *serving, const struct survey *survey, const struct conf *next, char why[256])
{
	int rc = configured_listens(serving->now->conf, next, why);

	if (rc == 0)
		rc = hosted_check(&serving->hosted, serving->now->conf, next, why);
	if (rc == 0)
		rc = hosted_check_folders(survey, serving->now->conf, next, why);
	return rc == 0 ? volumes_fit(serving, survey, next, why) : rc;
}

static void
look_again(struct timer *timer)
{
	go_on(container_of(timer, struct serving, look));
}

/* A subsystem that was taken away a moment ago may have events to keep yet. */
static bool
subsystems_await(const struct serving *serving, const struct conf *next)
{
	for (uint32_t i = 0; i < next->subsys_count; i++)
		if (target_writes_events(serving->target, next->subsys[i].nqn))
			return true;
	return false;
}

/* That ends only with a volume that is closed: until then it is not asked again. */
static bool
files_await(struct serving *serving, const struct conf *next)
{
	if (!serving->awaits || serving->awaited != serving->closed)
		serving->awaits = volumes_await(serving, serving->survey, next);
	serving->awaited = serving->closed;
	return serving->awaits;
}

/* And what else was taken away and is wanted again, I/O to end. */
static bool
is_early(struct serving *serving, const struct conf *next)
{
	uint64_t now_ns = serving->reactor->now_ns;

	if (serving->until_ns == 0)
		serving->until_ns = now_ns + await_ns;
	if (now_ns < serving->until_ns &&
	    (subsystems_await(serving, next) || files_await(serving, next))) {
		serving->look.fire = look_again;
		timer_set(&serving->reactor->timers, &serving->look, now_ns + look_ns);
		return true;
	}
	serving->until_ns = 0;
	serving->awaits = false;
	return false;
}

static void
survey_end(struct serving *serving)
{
	survey_drop(serving->survey);
	serving->survey = NULL;
	serving->surveyed = false;
}

/* What has not begun will not. */
static void
give_up(struct serving *serving, int rc, const char *why)
{
	survey_end(serving);
	configured_drop(serving->parked);
	serving->parked = NULL;
	serving->told(serving->owner, rc, why);
}

static void
surveyed(void *owner, int rc, const char *why)
{
	struct serving *serving = owner;

	serving->surveyed = rc == 0;
	if (rc != 0)
		give_up(serving, rc, why);
	else
		go_on(serving);
}

void
serving_stop(struct serving *serving)
{
	if (serving->parked != NULL)
		give_up(serving, -ECANCELED, "the target is stopping");
	hosted_stop(&serving->hosted);
}

static int
begin(struct serving *serving, struct configured *next, char why[256])
{
	int rc;

	if (is_early(serving, next->conf)) {
		serving->parked = next;
		return 0;
	}
	why[0] = '\0';
	conf_diff(serving->now->conf, next->conf, look_for_restart, why);
	rc = why[0] != '\0' ? -EINVAL : serving_fits(serving, serving->survey, next->conf, why);
	if (rc == 0 && apply_files_plan(&serving->files, serving, next->conf) != 0)
		rc = refuse(why, -ENOMEM, "out of memory");
	survey_end(serving);
	if (rc != 0) {
		configured_drop(next);
		return rc;
	}
	serving->next = next;
	serving->making = true;
	apply_files_make(&serving->files, serving->reactor, files_made);
	return 0;
}

int
serving_apply(struct serving *serving, struct configured *next, void (*told)(void *owner, int rc, const char *why),
    void *owner, char why[256])
{
	if (serving_applies(serving)) {
		configured_drop(next);
		return refuse(why, -EBUSY, "another configuration is being applied");
	}
	serving->survey = survey_make(serving, next->conf, true);
	if (serving->survey == NULL) {
		configured_drop(next);
		return refuse(why, -ENOMEM, "out of memory");
	}
	serving->told = told;
	serving->owner = owner;
	serving->parked = next;
	survey_ask(serving->survey, surveyed, serving);
	return 0;
}

bool
serving_applies(const struct serving *serving)
{
	return serving->next != NULL || serving->parked != NULL;
}

bool
serving_waits(const struct serving *serving)
{
	return surveys_wait(serving) || serving->files.beside || hosted_waits(&serving->hosted) ||
	    volumes_wait(serving);
}

bool
serving_busy(const struct serving *serving)
{
	return serving->busy || target_busy(serving->target);
}

int
serving_change(struct serving *serving, const struct made *made, char why[256])
{
	return apply(serving, serving->now, made, why);
}

bool
serving_identity(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns,
    struct identity *identity)
{
	const struct volume *volume = volume_find(serving, subsys, ns);

	if (volume != NULL)
		*identity = identity_of(ns, volume);
	return volume != NULL;
}

void
serving_end(struct serving *serving)
{
	timer_clear(&serving->reactor->timers, &serving->look);
	volumes_end(serving);
	if (serving->making)
		apply_files_undo_now(&serving->files, serving->reactor);
	if (serving->next != NULL)
		apply_files_end(&serving->files);
	surveys_end(serving);
	if (serving->order != NULL)
		store_close(serving->order);
	hosted_end(&serving->hosted);
	configured_drop(serving->now);
	configured_drop(serving->next);
	configured_drop(serving->parked);
}
