/*
 * read.c - the file as a whole: what is on its first level, and listeners and referrals.
 */
#include <errno.h>
#include <string.h>

#include "conf/internal.h"

const char *const conf_discovery_words[5] = {
	[CONF_DISCOVERY_YES] = "yes", [CONF_DISCOVERY_NO] = "no", [CONF_DISCOVERY_ONLY] = "only", "true", "false",
};

/* The arena of the tree while a file is read: nodes, twice the text, and what was seen. */
enum { TREE_BYTES_MAX = 256 * 1024 * 1024 };

int
listener_find(const struct conf *conf, const char *name)
{
	for (uint32_t i = 0; i < conf->listener_count; i++)
		if (conf->listeners[i].name != NULL && strcmp(conf->listeners[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* ---- listeners ---- */

static void
name_read(struct reader *r, const struct node *node, const char **value)
{
	const char *text = scalar_text(r, node, "name");

	if (text == NULL)
		return;
	if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:%[]") != strlen(text) ||
	    text[0] == '\0' || strlen(text) > CONF_NAME_MAX)
		complain(r->errors, node->line, "`name` is 1 to %d letters, digits and - _ . : %% [ ], not %s",
		    CONF_NAME_MAX,
		    quote(text).text);
	else
		*value = reader_strdup(r, text);
}

static void
listener_compare(struct reader *r, const struct node *node, const struct conf_listener *l)
{
	int same = l->name != NULL ? listener_find(r->conf, l->name) : -1;

	if (same >= 0)
		complain(r->errors, node->line, "two listeners have the name %s", quote(l->name).text);
	for (uint32_t i = 0; i < r->conf->listener_count && l->address.host[0] != '\0'; i++) {
		const struct conf_listener *other = &r->conf->listeners[i];
		char a[CONF_ADDRESS_TEXT], b[CONF_ADDRESS_TEXT];

		if (!conf_addresses_meet(&l->address, &other->address))
			continue;
		conf_address_text(&l->address, a);
		conf_address_text(&other->address, b);
		complain(r->errors, node->line, "%s is not free: another listener has %s", a, b);
	}
}

static void
listener_read(struct reader *r, const struct node *node)
{
	static const char *const keys[] = { "address", "name", "discovery" };
	enum { ADDRESS, NAME, DISCOVERY };
	struct conf_listener *l = &r->conf->listeners[r->conf->listener_count];
	const struct node *values[COUNT_OF(keys)];
	unsigned discovery = CONF_DISCOVERY_YES;
	char text[CONF_ADDRESS_TEXT];

	if (!map_read(r, node, "a listener", keys, COUNT_OF(keys), 1, values))
		return;
	word_read(r, values[DISCOVERY], "discovery", conf_discovery_words, COUNT_OF(conf_discovery_words), &discovery);
	if (discovery > CONF_DISCOVERY_ONLY)
		discovery = strcmp(conf_discovery_words[discovery], "true") == 0 ? CONF_DISCOVERY_YES :
		    CONF_DISCOVERY_NO;
	l->discovery = discovery;
	address_read(r, values[ADDRESS], discovery == CONF_DISCOVERY_ONLY ? CONF_PORT_DISCOVERY : CONF_PORT,
	    &l->address);
	name_read(r, values[NAME], &l->name);
	if (values[NAME] == NULL && l->address.host[0] != '\0') {
		conf_address_text(&l->address, text);
		l->name = reader_strdup(r, text);
	}
	listener_compare(r, node, l);
	r->conf->listener_count++;
}

static void
listeners_read(struct reader *r, const struct node *list)
{
	if (list == NULL || !list_check(r, list, "listeners", 1, CONF_LISTENERS_MAX))
		return;
	r->conf->listeners = reader_alloc(r, list->count, sizeof(r->conf->listeners[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next)
		listener_read(r, node);
}

/* ---- the rest of the first level ---- */

static void
referrals_read(struct reader *r, const struct node *list)
{
	static const char *const keys[] = { "address" };
	struct conf *conf = r->conf;

	if (list == NULL || !list_check(r, list, "referrals", 0, CONF_REFERRALS_MAX))
		return;
	conf->referrals = reader_alloc(r, list->count, sizeof(conf->referrals[0]));
	for (const struct node *node = list->first; node != NULL && !reader_done(r); node = node->next) {
		struct conf_address *address = &conf->referrals[conf->referral_count];
		const struct node *values[COUNT_OF(keys)];

		if (!map_read(r, node, "a referral", keys, COUNT_OF(keys), 1, values))
			continue;
		address_read(r, values[0], CONF_PORT_DISCOVERY, address);
		if (address->host[0] != '\0' && address->port == 0)
			complain(r->errors, node->line, "a referral has a port, and not 0");
		for (uint32_t i = 0; i < conf->referral_count && address->host[0] != '\0'; i++)
			if (conf->referrals[i].port == address->port && strcmp(conf->referrals[i].host,
			    address->host) == 0)
				complain(r->errors, node->line, "two referrals have the address %s", address->host);
		conf->referral_count++;
	}
}

static void
state_dir_read(struct reader *r, const struct node *node)
{
	const char *text = scalar_text(r, node, "state_dir");

	if (text == NULL)
		return;
	if (text[0] != '/')
		complain(r->errors, node->line, "`state_dir` is an absolute path, not %s", quote(text).text);
	else if (strlen(text) > CONF_STATE_DIR_MAX)
		complain(r->errors, node->line, "`state_dir` has %d bytes at most, not %zu", CONF_STATE_DIR_MAX,
		    strlen(text));
	else
		r->conf->state_dir = reader_strdup(r, text);
}

static void
limits_read(struct reader *r, const struct node *limits, const struct node *timeouts)
{
	static const char *const limit_keys[] = { "connections" }, *const time_keys[] = { "handshake", "stall" };
	const struct node *values[COUNT_OF(time_keys)];

	if (limits != NULL && map_read(r, limits, "`limits`", limit_keys, COUNT_OF(limit_keys), 0, values))
		number_read(r, values[0], "connections", 1, CONF_CONNECTIONS_MAX, &r->conf->connections_max);
	if (timeouts != NULL && map_read(r, timeouts, "`timeouts`", time_keys, COUNT_OF(time_keys), 0, values)) {
		time_read(r, values[0], "handshake", &r->conf->handshake_ms);
		time_read(r, values[1], "stall", &r->conf->stall_ms);
	}
}

static void
root_read(struct reader *r, const struct node *root)
{
	static const char *const keys[] = { "listeners", "subsystems", "state_dir", "referrals", "limits", "timeouts",
		"qos", "order_log" };
	enum { LISTENERS, SUBSYSTEMS, STATE_DIR, REFERRALS, LIMITS, TIMEOUTS, QOS, ORDER_LOG };
	const struct node *values[COUNT_OF(keys)];

	if (!map_read(r, root, "the file", keys, COUNT_OF(keys), 1, values))
		return;
	state_dir_read(r, values[STATE_DIR]);
	order_log_read(r, values[ORDER_LOG]);
	listeners_read(r, values[LISTENERS]);
	if (values[QOS] != NULL)
		qos_read(r, values[QOS]);
	if (values[SUBSYSTEMS] != NULL)
		subsystems_read(r, values[SUBSYSTEMS]);
	referrals_read(r, values[REFERRALS]);
	limits_read(r, values[LIMITS], values[TIMEOUTS]);
}

static int
read_into(struct reader *r, struct arena *scratch, const char *text, size_t bytes)
{
	struct node *root;
	int error = tree_read(scratch, text, bytes, r->errors, &root);

	if (error != 0)
		return error;
	r->scratch = scratch;
	r->files = seen_make(r);
	r->nguids = seen_make(r);
	r->uuids = seen_make(r);
	r->conf = reader_alloc(r, 1, sizeof(*r->conf));
	if (r->no_memory)
		return -ENOMEM;
	*r->conf = (struct conf){
		.connections_max = CONF_DEFAULT_CONNECTIONS,
		.handshake_ms = CONF_DEFAULT_HANDSHAKE_MS,
		.stall_ms = CONF_DEFAULT_STALL_MS,
	};
	root_read(r, root);
	if (r->no_memory)
		return -ENOMEM;
	return r->errors->count == 0 ? 0 : -EINVAL;
}

int
conf_parse(struct arena *arena, const char *text, size_t bytes, struct conf **conf, struct conf_errors *errors)
{
	struct reader r = { .arena = arena, .errors = errors };
	struct arena scratch;
	int error;

	errors->count = 0;
	errors->more = false;
	arena_init(&scratch, TREE_BYTES_MAX);
	error = read_into(&r, &scratch, text, bytes);
	arena_drop(&scratch);
	/* What seems to be wrong may only not have been read. */
	if (error == -ENOMEM)
		*errors = (struct conf_errors){ .count = 0 };
	complaints_sort(errors);
	*conf = error == 0 ? r.conf : NULL;
	return error;
}
