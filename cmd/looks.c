#include "looks.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"
#include "volumes.h"
#include "wire/extension.h"

enum { NAME = CONF_NQN_MAX + 32 };

/* One volume of what is looked at, which may be gone by then. */
struct looked {
	uint64_t number;
	char name[NAME];
};

struct looks {
	struct list node;
	struct ctl_question *question; /* NULL: it was answered */
	struct target *target;
	struct target_look look;
	struct json_object *namespaces, *now; /* `now`: the one that is looked at; NULL: nothing is known of it yet */
	unsigned count, next;
	struct looked volumes[];
};

static void
drop(struct looks *looks)
{
	list_remove(&looks->node);
	json_object_put(looks->namespaces);
	free(looks);
}

static void
answer(struct looks *looks)
{
	const char *text = json_object_to_json_string_ext(looks->namespaces,
	    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (looks->question != NULL)
		ctl_answer(looks->question, true, text, strlen(text));
	drop(looks);
}

/* ---- one after the other ---- */

static void looked(struct target_look *look);

static void
look_at_next(struct looks *looks)
{
	looks->now = NULL;
	if (looks->next == looks->count || looks->question == NULL) {
		answer(looks);
		return;
	}
	looks->look = (struct target_look){
		.volume = looks->volumes[looks->next++].number, .each = true, .done = looked, .owner = looks,
	};
	target_look(looks->target, &looks->look);
}

static void
looked(struct target_look *look)
{
	struct looks *looks = look->owner;
	struct weir_log_view page;
	struct weir_view view;

	target_look_page(look, &page);
	weir_view_sign(&page, 0);
	(void)weir_view_decode(&page, sizeof(page), &view);
	if (looks->now == NULL) {
		looks->now = top_device_json(looks->volumes[looks->next - 1].name, &view);
		json_object_object_add(looks->now, "tenants", json_object_new_array());
		json_object_array_add(looks->namespaces, looks->now);
	}
	if (!look->known) {
		look_at_next(looks);
		return;
	}
	json_object_array_add(json_object_object_get(looks->now, "tenants"),
	    top_host_json(look->tenant.nqn, &view));
	target_look(looks->target, look);
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
			snprintf(list[count].name, NAME, "%s?ns=%" PRIu32, volume->nqn, volume->nsid);
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
	looks->namespaces = json_object_new_array();
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
