/*
 * served.c - what the options of `weir serve` say, as a configuration: one subsystem, for every host.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "serve.h"

static bool
named(const struct conf *conf, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(conf->listeners[i].name, name) == 0)
			return true;
	return false;
}

static int
fill_listeners(const struct served *served, struct configured *configured)
{
	struct conf *conf = configured->conf;

	conf->listeners = arena_alloc(&configured->arena, served->listen_count * sizeof(*conf->listeners));
	if (conf->listeners == NULL)
		return -ENOMEM;
	conf->listener_count = served->listen_count;
	for (uint32_t i = 0; i < served->listen_count; i++) {
		struct conf_listener *listener = &conf->listeners[i];
		char name[CONF_ADDRESS_TEXT];

		memcpy(listener->address.host, served->listen[i].host, sizeof(listener->address.host));
		listener->address.port = served->listen[i].port;
		conf_address_text(&listener->address, name);
		if (named(conf, i, name)) /* any free port, again */
			snprintf(name + strlen(name), sizeof(name) - strlen(name), "-%u", i + 1);
		listener->name = arena_strdup(&configured->arena, name);
		if (listener->name == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* What is longer no configuration can say, and nobody who reads one has room for it. */
static int
check_length(const char *option, const char *said, const char *whole, size_t most)
{
	if (strlen(whole) <= most)
		return 0;
	fprintf(stderr, "weir: %s %.80s%s: with its path in full it has %zu bytes, and %zu at most are allowed\n",
	    option, said, strlen(said) > 80 ? "..." : "", strlen(whole), most);
	return -EINVAL;
}

/*
 * A specification as a configuration has it: the size of memory stands beside it, a
 * file has none here, because --ns makes it at least so large and serves all of
 * it, and its path is whole.  What cannot be read is left for blk_open() to say.
 */
static int
fill_volume(const char *spec, struct arena *arena, struct conf_ns *ns)
{
	const char *inner = blk_spec_inner(spec), *size;
	char text[CONF_SPEC + PATH_MAX], directory[PATH_MAX] = "";
	bool file;

	size = strncmp(inner, "file:", 5) == 0 ? strrchr(inner, ',') : strchr(inner, ':');
	file = strncmp(inner, "file:", 5) == 0;
	if (!file && (size == NULL || !size_parse(size + 1, &ns->size)))
		size = NULL;
	if (file && size != NULL && strncmp(size, ",size=", 6) != 0)
		size = NULL;
	if (size == NULL)
		size = inner + strlen(inner);
	if (file && inner[5] != '/' && getcwd(directory, sizeof(directory)) != NULL)
		strcat(directory, "/");
	snprintf(text, sizeof(text), "%.*s%s%s%.*s", (int)(inner - spec), spec, file ? "file:" : "", directory,
	    (int)(size - inner) - (file ? 5 : 0), inner + (file ? 5 : 0));
	ns->volume = arena_strdup(arena, text);
	return ns->volume != NULL ? check_length("--ns", spec, text, CONF_VOLUME_MAX) : -ENOMEM;
}

static int
fill_subsys(const struct served *served, struct configured *configured)
{
	struct conf_subsys *subsys = arena_alloc(&configured->arena, sizeof(*subsys));
	struct conf_ns *ns = arena_alloc(&configured->arena, served->spec_count * sizeof(*ns));
	struct conf_ana *ana = arena_alloc(&configured->arena, sizeof(*ana));
	int rc;

	if (subsys == NULL || ns == NULL || ana == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < served->spec_count; i++) {
		ns[i] = (struct conf_ns){ .nsid = i + 1, .block_size = served->block_size, .ana_group = 1,
			.device = CONF_QOS_NONE };
		rc = fill_volume(served->specs[i], &configured->arena, &ns[i]);
		if (rc != 0)
			return rc;
	}
	*ana = (struct conf_ana){ .id = 1, .state = CONF_ANA_OPTIMIZED };
	*subsys = (struct conf_subsys){
		.nqn = served->subnqn, .all_listeners = true, .listeners = UINT32_MAX, .any_host = true,
		.controllers_max = CONF_DEFAULT_CONTROLLERS, .queues_max = CONF_DEFAULT_QUEUES,
		.entries_max = CONF_DEFAULT_QUEUE_ENTRIES, .ana = ana, .ana_count = 1,
		.ns = ns, .ns_count = served->spec_count,
	};
	configured->conf->subsys = subsys;
	configured->conf->subsys_count = 1;
	return 0;
}

/* As a configuration has it: an absolute path, behind what stands before it.  NULL: it cannot be made. */
static const char *
absolute(struct configured *configured, const char *before, const char *path)
{
	char text[2 * PATH_MAX], directory[PATH_MAX] = "";

	if (path[0] != '/' && getcwd(directory, sizeof(directory)) == NULL)
		return NULL;
	snprintf(text, sizeof(text), "%s%s%s%s", before, directory, path[0] != '/' ? "/" : "", path);
	return arena_strdup(&configured->arena, text);
}

static int
fill_state_dir(const struct served *served, struct configured *configured)
{
	const char *dir = served->state_dir;

	if (dir == NULL)
		return 0;
	configured->conf->state_dir = absolute(configured, "", dir);
	if (configured->conf->state_dir == NULL)
		return -ENOMEM;
	return check_length("--state-dir", dir, configured->conf->state_dir, CONF_STATE_DIR_MAX);
}

static int
fill_order_log(const struct served *served, struct configured *configured)
{
	struct conf_order_log *log = &configured->conf->order_log;
	char before[16], said[PATH_MAX];
	enum conf_order_kind kind;
	const char *path;

	if (served->order_log == NULL)
		return 0;
	snprintf(said, sizeof(said), "%.*s", (int)served->order_log_length, served->order_log);
	path = conf_order_path(said, &kind);
	snprintf(before, sizeof(before), "%.*s", (int)(path - said), said);
	log->slots = served->order_slots;
	log->place = absolute(configured, before, path);
	return log->place != NULL ? check_length("--order-log", said, log->place, CONF_SPEC - 1) : -ENOMEM;
}

int
served_conf(const struct served *served, struct configured *configured)
{
	struct conf *conf = configured->conf = arena_alloc(&configured->arena, sizeof(*conf));

	int rc = conf == NULL ? -ENOMEM : fill_listeners(served, configured);

	if (rc == 0)
		rc = fill_subsys(served, configured);
	if (rc == 0)
		rc = fill_state_dir(served, configured);
	if (rc == 0)
		rc = fill_order_log(served, configured);
	if (rc != 0) {
		if (rc != -EINVAL) /* of which all was said */
			fprintf(stderr, "weir: %s\n", strerror(-rc));
		return rc;
	}
	conf->handshake_ms = served->handshake_ms > 0 ? served->handshake_ms : CONF_DEFAULT_HANDSHAKE_MS;
	conf->stall_ms = served->stall_ms > 0 ? served->stall_ms : CONF_DEFAULT_STALL_MS;
	configured->specs = served->specs;
	conf->connections_max = served->connections_max > 0 ? served->connections_max : CONF_DEFAULT_CONNECTIONS;
	return 0;
}
