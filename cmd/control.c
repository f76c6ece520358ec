#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "looks.h"
#include "serve.h"
#include "survey.h"
#include "sys/line.h"
#include "text.h"

enum { PATH_BYTES = 108 };

void
control_default_path(char path[108])
{
	const char *base = getenv("XDG_RUNTIME_DIR");

	if (base != NULL && base[0] == '/' && strlen(base) < PATH_BYTES - 20)
		snprintf(path, PATH_BYTES, "%s/weir.sock", base);
	else if (getuid() == 0)
		snprintf(path, PATH_BYTES, "/run/weir.sock");
	else
		snprintf(path, PATH_BYTES, "/tmp/weir-%u.sock", getuid());
}

/* ---- one apply, whoever asked for it ---- */

static void
change_add(void *arg, const struct conf_change *change)
{
	struct control *control = arg;
	size_t length = strlen(change->text) + 1;

	if (control->changes_bytes + length > control->changes_room) {
		size_t room = 2 * (control->changes_room + length);
		char *more = realloc(control->changes, room);

		if (more == NULL)
			return;
		control->changes = more;
		control->changes_room = room;
	}
	memcpy(control->changes + control->changes_bytes, change->text, length - 1);
	control->changes[control->changes_bytes + length - 1] = '\n';
	control->changes_bytes += length;
}

static void
answer(struct ctl_question *asker, const struct control *control, int rc, const char *why)
{
	char text[300];

	if (rc == 0) {
		ctl_answer(asker, true, control->changes != NULL ? control->changes : "", control->changes_bytes);
		return;
	}
	snprintf(text, sizeof(text), "%s\n", why);
	ctl_answer(asker, false, text, strlen(text));
}

/* SIGHUP may have come meanwhile. */
static void
go_on(struct control *control)
{
	const char *again = control->again;

	if (again == NULL || control->reread.busy)
		return;
	control->again = NULL;
	control_reload(control, again);
}

static void
told(void *owner, int rc, const char *why)
{
	struct control *control = owner;
	struct ctl_question *asker = control->asker;

	control->asker = NULL;
	if (rc != 0)
		line_say("weir: the configuration is not applied, and nothing has changed: %s\n", why);
	else if (control->changes_bytes == 0)
		line_say("weir: a configuration is applied that changes nothing\n");
	else
		line_say("weir: a new configuration is applied\n");
	if (rc == 0)
		line_say_all(control->changes, control->changes_bytes);
	if (rc == 0)
		listen_warn(control->serving->now->conf, control->opened);
	if (asker != NULL)
		answer(asker, control, rc, why);
	go_on(control);
}

/* Takes the configuration.  Without an asker none is being applied. */
static void
apply(struct control *control, struct configured *next, struct ctl_question *asker)
{
	char why[256];
	int rc;

	if (serving_applies(control->serving) || reread_waits(&control->reread)) {
		snprintf(why, sizeof(why), "another configuration is being applied\n");
		ctl_answer(asker, false, why, strlen(why));
		configured_drop(next);
		return;
	}
	control->asker = asker;
	control->changes_bytes = 0;
	control->opened = listen_opened(control->serving->now->conf, next->conf);
	conf_diff(control->serving->now->conf, next->conf, change_add, control);
	rc = serving_apply(control->serving, next, told, control, why);
	if (rc != 0)
		told(control, rc, why);
}

static void
reread_done(void *owner, struct configured *next)
{
	struct control *control = owner;

	if (next != NULL)
		apply(control, next, NULL);
	else
		go_on(control);
}

void
control_reload(struct control *control, const char *path)
{
	if (control->stopping) {
		line_say("weir: SIGHUP: the configuration is not read again: the target is stopping\n");
		return;
	}
	if (path == NULL) {
		line_say("weir: SIGHUP: there is no --config to be read again\n");
		return;
	}
	if (control->reread.busy || serving_applies(control->serving)) {
		line_say("weir: SIGHUP: the configuration is read again when what is being %s is done\n",
		    control->reread.busy ? "read" : "applied");
		control->again = path;
		return;
	}
	reread_begin(&control->reread, control->serving->reactor, path, reread_done, control);
}

/* ---- questions ---- */

static void
refuse_text(struct ctl_question *question, const struct conf_errors *errors)
{
	char text[CONF_ERRORS_MAX * 300];
	size_t used = 0;

	for (uint32_t i = 0; i < errors->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "line %u: %s\n", errors->list[i].line,
		    errors->list[i].text);
	if (used == 0)
		used = (size_t)snprintf(text, sizeof(text), "out of memory\n");
	ctl_answer(question, false, text, used);
}

/* The configuration in a question, or NULL after having answered what is wrong with it. */
static struct configured *
read_text(struct ctl_question *question)
{
	struct configured *next = configured_make();
	struct conf_errors errors = { .count = 0 };

	if (next != NULL && conf_parse(&next->arena, question->text, question->bytes, &next->conf, &errors) == 0)
		return next;
	refuse_text(question, &errors);
	configured_drop(next);
	return NULL;
}

static void
asked_apply(struct control *control, struct ctl_question *question)
{
	struct configured *next = read_text(question);

	if (next != NULL)
		apply(control, next, question);
}

/* Whether a configuration could be applied: a question that waits for disks. */
struct fits {
	struct list node; /* in control->fits */
	struct control *control;
	struct ctl_question *question;
	struct configured *next;
	struct survey *survey;
};

static void
fits_end(struct fits *fits)
{
	list_remove(&fits->node);
	survey_drop(fits->survey);
	configured_drop(fits->next);
	free(fits);
}

static void
fits_surveyed(void *owner, int rc, const char *reason)
{
	struct fits *fits = owner;
	char why[256];

	snprintf(why, sizeof(why), "%s", reason);
	if (rc == 0)
		rc = serving_fits(fits->control->serving, fits->survey, fits->next->conf, why);
	ctl_answer(fits->question, rc == 0, why, strlen(why));
	fits_end(fits);
}

static void
asked_fits(struct control *control, struct ctl_question *question)
{
	struct configured *next = read_text(question);
	struct fits *fits;

	if (next == NULL)
		return;
	fits = calloc(1, sizeof(*fits));
	if (fits != NULL)
		fits->survey = survey_make(control->serving, next->conf, false);
	if (fits == NULL || fits->survey == NULL) {
		ctl_answer(question, false, "out of memory\n", 14);
		configured_drop(next);
		free(fits);
		return;
	}
	fits->control = control;
	fits->question = question;
	fits->next = next;
	list_push(&control->fits, &fits->node);
	survey_ask(fits->survey, fits_surveyed, fits);
}

static void
asked_config(struct control *control, struct ctl_question *question)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);

	if (memory != NULL)
		conf_print(control->serving->now->conf, text_put, memory);
	if (text_end(memory, &text) == 0)
		ctl_answer(question, true, text, bytes);
	else
		ctl_answer(question, false, "out of memory\n", 14);
	free(text);
}

static void
asked(struct ctl *ctl, struct ctl_question *question)
{
	struct control *control = ctl->owner;

	if (strcmp(question->word, "apply") == 0)
		asked_apply(control, question);
	else if (strcmp(question->word, "fits") == 0)
		asked_fits(control, question);
	else if (strcmp(question->word, "config") == 0)
		asked_config(control, question);
	else if (strcmp(question->word, "look") == 0)
		looks_begin(&control->looks, control->serving, question);
	else
		ctl_answer(question, false, "not a word that is known here\n", 30);
}

/* ---- life ---- */

int
control_begin(struct control *control, struct serving *serving, bool always, char why[256])
{
	bool own = control->path != NULL;
	int rc;

	control->serving = serving;
	list_init(&control->fits);
	list_init(&control->looks);
	if ((own && strcmp(control->path, "none") == 0) || (!own && !always))
		return 0;
	if (!own) {
		control_default_path(control->default_path);
		control->path = control->default_path;
	}
	rc = ctl_listen(&control->ctl, serving->reactor, control->path, asked, control);
	control->listening = rc == 0;
	if (rc == 0)
		return 0;
	snprintf(why, 256, "no control socket at %.120s: %s", control->path,
	    rc == -EINVAL ? "a path that begins with / is needed" : strerrordesc_np(-rc));
	if (own)
		return rc;
	fprintf(stderr, "weir: warning: %s\n", why);
	return 0;
}

void
control_stop(struct control *control)
{
	if (control->stopping || control->serving == NULL)
		return; /* or it has not begun */
	control->stopping = true;
	list_for_each(&control->fits, node) {
		struct fits *fits = container_of(node, struct fits, node);

		ctl_answer(fits->question, false, "the target is stopping\n", 23);
		fits_end(fits);
	}
	looks_stop(&control->looks);
	if (reread_waits(&control->reread))
		line_say("weir: SIGHUP: the configuration is not read again: the target is stopping\n");
	reread_stop(&control->reread);
	serving_stop(control->serving);
	if (control->listening)
		ctl_stop(&control->ctl);
}

bool
control_waits(const struct control *control)
{
	return control->reread.busy;
}

void
control_end(struct control *control)
{
	control_stop(control);
	if (control->serving != NULL)
		looks_end(&control->looks);
	reread_end(&control->reread);
	control->asker = NULL;
	if (control->listening)
		ctl_end(&control->ctl);
	control->listening = false;
	free(control->changes);
	control->changes = NULL;
	control->changes_bytes = control->changes_room = 0;
}
