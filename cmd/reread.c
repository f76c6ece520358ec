#include "reread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "survey.h"
#include "sys/line.h"
#include "world/reactor.h"

enum { NS_PER_MS = 1000000 };

/* ---- beside the reactor ---- */

static void
read_file(struct errand *errand)
{
	struct reread *reread = container_of(errand, struct reread, errand);
	char *text = NULL;
	size_t bytes;

	reread->stays = config_stays(reread->path);
	if (!reread->stays)
		return;
	reread->next = configured_make();
	reread->error = reread->next != NULL ? config_load(reread->path, &text, &bytes) : -ENOMEM;
	if (reread->error == 0)
		reread->error = conf_parse(&reread->next->arena, text, bytes, &reread->next->conf, &reread->errors);
	free(text);
}

/* ---- what comes of it ---- */

static void
drop(struct reread *reread)
{
	configured_drop(reread->next);
	reread->next = NULL;
}

static void
refused(const struct reread *reread)
{
	if (!reread->stays) {
		line_say("weir: SIGHUP: %s is no regular file, and not read again\n", reread->path);
		return;
	}
	config_complain(line_say, reread->path, &reread->errors, reread->error);
	line_say("weir: the configuration is not applied, and nothing has changed\n");
}

static void
file_read(struct errand *errand)
{
	struct reread *reread = container_of(errand, struct reread, errand);
	struct configured *next = NULL;

	timer_clear(&reread->reactor->timers, &reread->patience);
	reread->busy = false;
	if (!reread->late && reread->stays && reread->error == 0) {
		next = reread->next;
		reread->next = NULL;
	} else if (!reread->late) {
		refused(reread);
	}
	drop(reread);
	reread->then(reread->owner, next);
}

static void
impatient(struct timer *timer)
{
	struct reread *reread = container_of(timer, struct reread, patience);

	reread->late = true;
	line_say("weir: %s: the disk has not answered for %u seconds\n", reread->path, SURVEY_PATIENCE_MS / 1000);
	line_say("weir: the configuration is not applied, and nothing has changed\n");
	reread->then(reread->owner, NULL);
}

void
reread_begin(struct reread *reread, struct reactor *reactor, const char *path,
    void (*then)(void *owner, struct configured *next), void *owner)
{
	*reread = (struct reread){
		.reactor = reactor, .path = path, .busy = true, .then = then, .owner = owner,
		.patience = { .fire = impatient },
		.errand = { .run = read_file, .done = file_read, .apart = true },
	};
	timer_set(&reactor->timers, &reread->patience,
	    reactor->now_ns + (uint64_t)SURVEY_PATIENCE_MS * NS_PER_MS);
	reactor->world->errand(reactor, &reread->errand);
}

bool
reread_waits(const struct reread *reread)
{
	return reread->busy && !reread->late;
}

void
reread_stop(struct reread *reread)
{
	if (!reread_waits(reread))
		return;
	reread->late = true;
	timer_clear(&reread->reactor->timers, &reread->patience);
}

void
reread_end(struct reread *reread)
{
	if (reread->busy)
		timer_clear(&reread->reactor->timers, &reread->patience);
	drop(reread);
}
