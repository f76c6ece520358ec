/*
 * namespace.c - namespaces, and what no two of them may share.
 */
#include <string.h>

#include "conf/internal.h"

static bool
id_seen(struct reader *r, struct seen *seen, const uint8_t id[16])
{
	static const uint8_t none[16];

	return memcmp(id, none, 16) != 0 && seen_before(r, seen, id, 16);
}

/* With all that were read before it, of the same subsystem or another. */
static void
ns_compare(struct reader *r, uint32_t line, const struct conf_ns *ns)
{
	const char *path = ns->volume != NULL ? volume_path(ns->volume) : NULL;

	if (path != NULL && seen_before(r, r->files, path, strlen(path)))
		complain(r->errors, line, "two namespaces have the file %s", quote(path).text);
	if (id_seen(r, r->nguids, ns->nguid))
		complain(r->errors, line, "two namespaces have this NGUID");
	if (id_seen(r, r->uuids, ns->uuid))
		complain(r->errors, line, "two namespaces have this UUID");
}

static void
block_size_read(struct reader *r, const struct node *node, uint32_t *block_size)
{
	static const char *const words[] = { "512", "4096" };
	unsigned word = 1;

	word_read(r, node, "block_size", words, COUNT_OF(words), &word);
	*block_size = word == 0 ? 512 : 4096;
}

static void
ana_group_check(struct reader *r, uint32_t line, const struct conf_subsys *subsys, const struct conf_ns *ns)
{
	if (subsys->ana_count == 0) /* there was a complaint */
		return;
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		if (subsys->ana[i].id == ns->ana_group)
			return;
	complain(r->errors, line, "the subsystem has no ANA group %u", ns->ana_group);
}

static void
ns_read(struct reader *r, const struct node *node, struct conf_subsys *subsys, bool taken[CONF_NS_MAX + 1])
{
	static const char *const keys[] = {
		"nsid", "volume", "size", "block_size", "nguid", "uuid", "ana_group", "write_protected",
		"qos",
	};
	enum { NSID, VOLUME, SIZE, BLOCK_SIZE, NGUID, UUID, ANA_GROUP, WRITE_PROTECTED, QOS };
	struct conf_ns *ns = &subsys->ns[subsys->ns_count];
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(r, node, "a namespace", keys, COUNT_OF(keys), 2, values))
		return;
	number_read(r, values[NSID], "nsid", 1, CONF_NS_MAX, &ns->nsid);
	block_size_read(r, values[BLOCK_SIZE], &ns->block_size);
	volume_read(r, values[VOLUME], values[SIZE], ns);
	id_read(r, values[NGUID], "nguid", false, ns->nguid);
	id_read(r, values[UUID], "uuid", true, ns->uuid);
	ns->ana_group = 1;
	number_read(r, values[ANA_GROUP], "ana_group", 1, CONF_ANA_MAX, &ns->ana_group);
	ana_group_check(r, values[ANA_GROUP] != NULL ? values[ANA_GROUP]->line : node->line, subsys, ns);
	bool_read(r, values[WRITE_PROTECTED], "write_protected", &ns->write_protected);
	ns_qos_read(r, values[QOS], ns);
	if (ns->nsid != 0 && taken[ns->nsid])
		complain(r->errors, node->line, "two namespaces of the subsystem have the nsid %u", ns->nsid);
	taken[ns->nsid] = true;
	ns_compare(r, node->line, ns);
	subsys->ns_count++;
}

void
namespaces_read(struct reader *r, const struct node *list, struct conf_subsys *subsys)
{
	bool taken[CONF_NS_MAX + 1] = { false }; /* by nsid */

	if (!list_check(r, list, "namespaces", 0, CONF_NS_MAX))
		return;
	r->ns_all += list->count;
	if (r->ns_all > CONF_NS_ALL_MAX) {
		complain(r->errors, list->line,
		    "more than %d namespaces in the file, with those that hosts may make (`count`)",
		    CONF_NS_ALL_MAX);
		return;
	}
	subsys->ns = reader_alloc(r, list->count, sizeof(subsys->ns[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next)
		ns_read(r, node, subsys, taken);
}
