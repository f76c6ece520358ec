/*
 * subsys.c - subsystems: names, listeners, hosts, ANA groups.
 *
 * The listeners of the file are known by now.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/internal.h"

const char *const conf_ana_words[5] = { "optimized", "non-optimized", "inaccessible", "persistent-loss", "change" };
const uint8_t conf_ana_values[5] = {
	CONF_ANA_OPTIMIZED, CONF_ANA_NON_OPTIMIZED, CONF_ANA_INACCESSIBLE, CONF_ANA_PERSISTENT_LOSS, CONF_ANA_CHANGE,
};

const char *
conf_ana_text(enum conf_ana_state state)
{
	for (unsigned i = 0; i < COUNT_OF(conf_ana_values); i++)
		if (conf_ana_values[i] == state)
			return conf_ana_words[i];
	return "?";
}

enum conf_ana_state
conf_ana_on(const struct conf_ana *ana, uint32_t listener)
{
	return ana->on[listener] != 0 ? ana->on[listener] : ana->state;
}

/* The index of the listener that a node names, or -1 after a complaint. */
static int
listener_of(struct reader *r, const struct node *node)
{
	const char *names[CONF_LISTENERS_MAX], *name = scalar_text(r, node, "listeners");
	unsigned count = 0;
	int found = name != NULL ? listener_find(r->conf, name) : -1;

	if (name == NULL || found >= 0)
		return found;
	for (uint32_t i = 0; i < r->conf->listener_count; i++)
		if (r->conf->listeners[i].name != NULL)
			names[count++] = r->conf->listeners[i].name;
	complain(r->errors, node->line, "there is no listener %s%s%s", quote(name).text, count > 0 ? "; there is " : "",
	    wordlist(names, count).text);
	return -1;
}

static void
listeners_named(struct reader *r, const struct node *list, struct conf_subsys *subsys)
{
	if (!list_check(r, list, "listeners", 1, CONF_LISTENERS_MAX))
		return;
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next) {
		int at = listener_of(r, node);

		if (at < 0)
			continue;
		if (r->conf->listeners[at].discovery == CONF_DISCOVERY_ONLY)
			complain(r->errors, node->line, "the listener %s is for discovery only",
			    quote(node->text).text);
		if (subsys->listeners & UINT32_C(1) << at)
			complain(r->errors, node->line, "the listener %s is there twice", quote(node->text).text);
		subsys->listeners |= UINT32_C(1) << at;
	}
}

static void
listeners_all(struct reader *r, const struct node *map, struct conf_subsys *subsys)
{
	subsys->all_listeners = true;
	for (uint32_t i = 0; i < r->conf->listener_count; i++)
		if (r->conf->listeners[i].discovery != CONF_DISCOVERY_ONLY)
			subsys->listeners |= UINT32_C(1) << i;
	if (subsys->listeners == 0 && r->conf->listener_count > 0)
		complain(r->errors, map->line, "every listener is for discovery only: the subsystem has none");
}

static void
hosts_read(struct reader *r, const struct node *list, struct conf_subsys *subsys)
{
	struct seen *seen;

	subsys->any_host = list == NULL;
	if (list == NULL || !list_check(r, list, "hosts", 0, CONF_HOSTS_MAX))
		return;
	r->hosts_all += list->count;
	if (r->hosts_all > CONF_HOSTS_ALL_MAX) {
		complain(r->errors, list->line, "more than %d hosts in the file", CONF_HOSTS_ALL_MAX);
		return;
	}
	seen = seen_make(r);
	subsys->hosts = reader_alloc(r, list->count, sizeof(subsys->hosts[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next) {
		const char *host = NULL;

		nqn_read(r, node, "hosts", &host);
		if (host == NULL)
			continue;
		if (seen_before(r, seen, host, strlen(host)))
			complain(r->errors, node->line, "the host %s is there twice", quote(host).text);
		subsys->hosts[subsys->host_count++] = host;
	}
}

/* ---- ANA groups ---- */

static void
ana_state_read(struct reader *r, const struct node *node, const char *key, uint8_t *state)
{
	unsigned word = COUNT_OF(conf_ana_words);

	word_read(r, node, key, conf_ana_words, COUNT_OF(conf_ana_words), &word);
	if (word < COUNT_OF(conf_ana_words))
		*state = conf_ana_values[word];
}

static void
ana_on_read(struct reader *r, const struct node *map, const struct conf_subsys *subsys, struct conf_ana *ana)
{
	if (map->kind != NODE_MAP) {
		complain(r->errors, map->line, "`on` is listeners with states, like { name: inaccessible }");
		return;
	}
	for (const struct node *key = map->first; key != NULL && !reader_done(r); key = key->next->next) {
		int at = listener_of(r, key);

		if (at < 0)
			continue;
		if (!(subsys->listeners & UINT32_C(1) << at))
			complain(r->errors, key->line, "the subsystem is not on the listener %s",
			    quote(key->text).text);
		if (ana->on[at] != 0)
			complain(r->errors, key->line, "`%s` is there twice", key->text);
		ana_state_read(r, key->next, key->text, &ana->on[at]);
	}
}

static void
ana_read(struct reader *r, const struct node *node, struct conf_subsys *subsys)
{
	static const char *const keys[] = { "id", "state", "on" };
	enum { ID, STATE, ON };
	const struct node *values[COUNT_OF(keys)];
	struct conf_ana *ana = &subsys->ana[subsys->ana_count];
	uint8_t state = CONF_ANA_OPTIMIZED;

	if (!map_read(r, node, "an ANA group", keys, COUNT_OF(keys), 1, values))
		return;
	number_read(r, values[ID], "id", 1, CONF_ANA_MAX, &ana->id);
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		if (ana->id != 0 && subsys->ana[i].id == ana->id)
			complain(r->errors, values[ID]->line, "two ANA groups have the id %u", ana->id);
	ana_state_read(r, values[STATE], "state", &state);
	ana->state = state;
	if (values[ON] != NULL)
		ana_on_read(r, values[ON], subsys, ana);
	subsys->ana_count++;
}

static int
by_id(const void *a, const void *b)
{
	const struct conf_ana *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* In the order of their ids, as targets have them, however they were written. */
static void
ana_groups_read(struct reader *r, const struct node *list, struct conf_subsys *subsys)
{
	uint32_t count = 1;

	if (list != NULL && !list_check(r, list, "ana_groups", 1, CONF_ANA_MAX))
		return;
	if (list != NULL)
		count = list->count;
	subsys->ana = reader_alloc(r, count, sizeof(subsys->ana[0]));
	if (list == NULL && subsys->ana != NULL) {
		subsys->ana_count = 1;
		subsys->ana[0].id = 1;
		subsys->ana[0].state = CONF_ANA_OPTIMIZED;
	}
	for (const struct node *node = list != NULL ? list->first : NULL; node != NULL && !reader_done(r);
	    node = node->next)
		ana_read(r, node, subsys);
	if (subsys->ana != NULL)
		qsort(subsys->ana, subsys->ana_count, sizeof(subsys->ana[0]), by_id);
}

/* ---- the subsystem ---- */

/* Who chooses the ids of its controllers: the target, or hosts. */
static void
controllers_read(struct reader *r, const struct node *node, struct conf_subsys *subsys)
{
	static const char *const words[] = { "dynamic", "static" };
	unsigned word = 0;

	word_read(r, node, "controllers", words, COUNT_OF(words), &word);
	subsys->static_controllers = word == 1;
}

static void
subsys_limits_read(struct reader *r, const struct node *map, struct conf_subsys *subsys)
{
	static const char *const keys[] = { "controllers", "queues", "queue_entries" };
	const struct node *values[COUNT_OF(keys)];

	if (map == NULL || !map_read(r, map, "`limits` of a subsystem", keys, COUNT_OF(keys), 0, values))
		return;
	number_read(r, values[0], keys[0], 1, CONF_CONTROLLERS_MAX, &subsys->controllers_max);
	number_read(r, values[1], keys[1], 1, CONF_QUEUES_MAX, &subsys->queues_max);
	number_read(r, values[2], keys[2], 2, CONF_QUEUE_ENTRIES_MAX, &subsys->entries_max);
}

static void
subsys_read(struct reader *r, const struct node *node)
{
	static const char *const keys[] = {
		"nqn", "serial", "model", "listeners", "hosts", "controllers", "limits", "ana_groups",
		"host_namespaces",
		"namespaces",
	};
	enum { NQN, SERIAL, MODEL, LISTENERS, HOSTS, CONTROLLERS, LIMITS, ANA_GROUPS, HOST_NAMESPACES, NAMESPACES };
	struct conf_subsys *subsys = &r->conf->subsys[r->conf->subsys_count];
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(r, node, "a subsystem", keys, COUNT_OF(keys), 1, values))
		return;
	nqn_read(r, values[NQN], "nqn", &subsys->nqn);
	for (uint32_t i = 0; i < r->conf->subsys_count && subsys->nqn != NULL; i++)
		if (r->conf->subsys[i].nqn != NULL && strcmp(r->conf->subsys[i].nqn, subsys->nqn) == 0)
			complain(r->errors, values[NQN]->line, "two subsystems have the NQN %s",
			    quote(subsys->nqn).text);
	ascii_read(r, values[SERIAL], "serial", CONF_SERIAL_MAX, &subsys->serial);
	ascii_read(r, values[MODEL], "model", CONF_MODEL_MAX, &subsys->model);
	if (values[LISTENERS] != NULL)
		listeners_named(r, values[LISTENERS], subsys);
	else
		listeners_all(r, node, subsys);
	hosts_read(r, values[HOSTS], subsys);
	controllers_read(r, values[CONTROLLERS], subsys);
	subsys->controllers_max = CONF_DEFAULT_CONTROLLERS;
	subsys->queues_max = CONF_DEFAULT_QUEUES;
	subsys->entries_max = CONF_DEFAULT_QUEUE_ENTRIES;
	subsys_limits_read(r, values[LIMITS], subsys);
	ana_groups_read(r, values[ANA_GROUPS], subsys);
	pool_read(r, values[HOST_NAMESPACES], subsys);
	r->conf->subsys_count++; /* its namespaces are compared with each other too */
	if (values[NAMESPACES] != NULL && !reader_done(r))
		namespaces_read(r, values[NAMESPACES], subsys);
}

void
subsystems_read(struct reader *r, const struct node *list)
{
	if (!list_check(r, list, "subsystems", 0, CONF_SUBSYS_MAX))
		return;
	r->conf->subsys = reader_alloc(r, list->count, sizeof(r->conf->subsys[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next)
		subsys_read(r, node);
}
