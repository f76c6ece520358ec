/*
 * Memory is what a question takes, of which there are CTL_ASKERS_MAX: the names of TARGET_VOLUMES_MAX volumes, a
 * mebibyte, and LOOK_ANSWER_MAX bytes, which ctl_answer() copies once.  That copy is the most that is done in a turn of
 * the reactor: before it, each look that comes back adds one record.
 */
#include "looks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "look_answer.h"
#include "volumes.h"
#include "wire/extension.h"

static_assert((int)FAIR_GROUP_NAME_MAX == (int)LOOK_GROUP_MAX, "each has room in an answer");
static_assert((int)CTL_ASKERS_MAX <= (int)TARGET_LOOKS_MAX, "each has one look under way");

/* One volume of what is looked at, which may be gone by then. */
struct looked {
	uint64_t number;
	char name[LOOK_NAME_MAX + 1];
};

struct looks {
	struct list node;
	struct ctl_question *question; /* NULL: it was answered */
	struct target *target;
	struct target_look look;
	struct look_answer answer;
	bool told;                     /* the volume that is looked at is in the answer */
	unsigned count, next;
	struct looked volumes[];
};

static void
drop(struct looks *looks)
{
	list_remove(&looks->node);
	look_answer_drop(&looks->answer);
	free(looks);
}

/* rc: 0, -ENOSPC: there is more than fits in; or -ENOMEM. */
static void
answer(struct looks *looks, int rc)
{
	if (rc != -ENOMEM)
		rc = look_answer_end(&looks->answer, rc == 0 ? LOOK_END : LOOK_MORE);
	if (rc == 0)
		ctl_answer(looks->question, true, looks->answer.bytes, looks->answer.used);
	else
		ctl_answer(looks->question, false, "out of memory\n", 14);
	drop(looks);
}

/* ---- one after the other ---- */

static void looked(struct target_look *look);

static void
look_at_next(struct looks *looks)
{
	if (looks->next == looks->count) {
		answer(looks, 0);
		return;
	}
	looks->told = false;
	looks->look = (struct target_look){
		.volume = looks->volumes[looks->next++].number, .each = true, .done = looked, .owner = looks,
	};
	target_look(looks->target, &looks->look);
}

/* What was found of the volume, where that is not told yet, and of a host there. */
static int
tell(struct looks *looks)
{
	const struct target_look *look = &looks->look;
	struct weir_log_view page;
	int rc = 0;

	target_look_page(look, &page);
	weir_view_sign(&page, 0);
	if (!looks->told)
		rc = look_answer_volume(&looks->answer, looks->volumes[looks->next - 1].name, &page);
	looks->told = true;
	if (rc == 0 && look->known)
		rc = look_answer_host(&looks->answer, look->tenant.nqn, look->tenant.group, &page);
	return rc;
}

static void
looked(struct target_look *look)
{
	struct looks *looks = look->owner;
	int rc;

	if (looks->question == NULL) {
		drop(looks);
		return;
	}
	rc = look->there ? tell(looks) : 0;
	if (rc != 0)
		answer(looks, rc);
	else if (look->known)
		target_look(looks->target, look);
	else
		look_at_next(looks);
}

/* ---- beginning and end ---- */

static unsigned
volumes_of(const struct serving *serving, struct looked *list)
{
	unsigned count = 0;

	list_for_each(&serving->volumes, node) {
		const struct volume *volume = container_of(node, struct volume, node);

		if (!volume->held)
			continue;
		if (list != NULL) {
			list[count].number = volume->blk->number;
			snprintf(list[count].name, sizeof(list[count].name), "%s?ns=%" PRIu32, volume->nqn,
			    volume->nsid);
		}
		count++;
	}
	return count;
}

void
looks_begin(struct list *list, const struct serving *serving, struct ctl_question *question)
{
	unsigned count = volumes_of(serving, NULL);
	struct looks *looks = calloc(1, sizeof(*looks) + count * sizeof(struct looked));

	if (looks == NULL) {
		ctl_answer(question, false, "out of memory\n", 14);
		return;
	}
	looks->count = volumes_of(serving, looks->volumes);
	looks->question = question;
	looks->target = serving->target;
	list_push(list, &looks->node);
	look_at_next(looks);
}

void
looks_stop(struct list *list)
{
	list_for_each(list, node) {
		struct looks *looks = container_of(node, struct looks, node);

		ctl_answer(looks->question, false, "the target is stopping\n", 23);
		looks->question = NULL;
	}
}

void
looks_end(struct list *list)
{
	list_for_each(list, node)
		drop(container_of(node, struct looks, node));
}
