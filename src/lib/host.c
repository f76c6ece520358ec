/*
 * host.c - a host's beginning and end (weir/host.h).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "lib/queue.h"
#include "lib/watch.h"

enum { QUEUES_MAX = RT_REACTORS_MAX - 1, QUEUES = 32 };

void
host_log(struct weir_host *host, enum weir_log_level level, const char *format, ...)
{
	char text[512];
	va_list args;

	if (host->log == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	host->log(host->log_arg, level, text);
}

/* What the process below has to say; its levels are ours. */
static void
rt_says(void *owner, int level, const char *text)
{
	struct weir_host *host = owner;

	host_log(host, (enum weir_log_level)level, "%s", text);
}

/* On the service thread: who that is. */
static void
know_service(struct rt_call *call, struct reactor *reactor)
{
	((struct weir_host *)call->owner)->service = pthread_self();
	sem_post(&container_of(call, struct call, rt)->over);
}

static void
find_service(struct weir_host *host)
{
	struct call call = { .rt = { .run = know_service, .owner = host } };

	sem_init(&call.over, 0, 0);
	rt_call(host->rt, 0, &call.rt);
	while (sem_wait(&call.over) != 0)
		;
	sem_destroy(&call.over);
}

/* As lists and a lock: it can be destroyed from here on. */
static struct weir_host *
host_make(const struct weir_host_options *options)
{
	struct weir_host *host = calloc(1, sizeof(*host));

	if (host == NULL)
		return NULL;
	host->log = options->log;
	host->log_arg = options->log_arg;
	host->queues_max = options_or(options->queues_max, QUEUES);
	if (options->congestion != NULL)
		strcpy(host->congestion, options->congestion);
	pthread_mutex_init(&host->lock, NULL);
	list_init(&host->subsystems);
	list_init(&host->watches);
	return host;
}

static void
host_free(struct weir_host *host)
{
	rt_destroy(host->rt);
	pthread_mutex_destroy(&host->lock);
	free(host);
}

static int
process_start(struct weir_host *host, const struct weir_host_options *options)
{
	struct rt_options rt = rt_options_default();
	const char *missing = "";
	int rc;

	rt.attended = true;
	rt.reactors = host->queues_max + 1;
	/* A queue has a connection for each path, which is one or few: an io_uring is no gain, and it has its price in
	 * a process that is another's (memory that is locked, system calls that are interrupted by its work). */
	rt.moves = RT_MOVES_CALLS;
	rt.spin_us = options->spin_us == UINT32_MAX ? 0 : options_or(options->spin_us, RT_SPIN_AUTO);
	rt.sockets.congestion = host->congestion[0] != '\0' ? host->congestion : NULL;
	rt.log = rt_says;
	rt.owner = host;
	rt.missing = &missing;
	rc = rt_create(&host->rt, &rt);
	if (rc != 0)
		return lib_fail(rc, "there is no %s for a host: %s", missing, strerror(-rc));
	host_reactor(host)->on_mail = host_on_mail;
	rc = rt_start(host->rt);
	if (rc != 0)
		return lib_fail(rc, "the service thread cannot be made: %s", strerror(-rc));
	find_service(host);
	return 0;
}

int
weir_host_create(const struct weir_host_options *given, struct weir_host **out)
{
	struct weir_host_options options;
	struct weir_host *host;
	int rc = OPTIONS_TAKE(&options, given);

	if (rc != 0)
		return rc;
	if (options.queues_max > QUEUES_MAX)
		return lib_fail(-EINVAL, "queues_max is %u; it is %d at most", options.queues_max, QUEUES_MAX);
	if (options.congestion != NULL && strlen(options.congestion) >= sizeof(host->congestion))
		return lib_fail(-EINVAL, "there is no congestion control `%s`", options.congestion);
	host = host_make(&options);
	if (host == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a host");
	rc = identity_find("/etc", options.hostnqn, options.hostid, host->nqn, host->id);
	if (rc == 0)
		rc = process_start(host, &options);
	if (rc != 0) {
		host_free(host);
		return rc;
	}
	*out = host;
	return 0;
}

/* The first of a list, or NULL; whoever ends it takes it out. */
static struct list *
first_of(struct weir_host *host, struct list *list)
{
	struct list *first;

	pthread_mutex_lock(&host->lock);
	first = list_empty(list) ? NULL : list->next;
	pthread_mutex_unlock(&host->lock);
	return first;
}

static void
end_subsys(struct weir_host *host, struct weir_subsys *ws)
{
	struct list *node;

	while ((node = first_of(host, &ws->queues)) != NULL)
		weir_queue_close(container_of(node, struct weir_queue, node));
	weir_subsys_disconnect(ws);
}

void
weir_host_destroy(struct weir_host *host)
{
	struct list *node;

	if (host == NULL)
		return;
	assert(!host_is_service(host));
	while ((node = first_of(host, &host->watches)) != NULL)
		weir_discovery_unwatch(container_of(node, struct weir_discovery_watch, node));
	while ((node = first_of(host, &host->subsystems)) != NULL)
		end_subsys(host, container_of(node, struct weir_subsys, node));
	rt_end(host->rt);
	host_free(host);
}

const char *
weir_host_nqn(const struct weir_host *host)
{
	return host->nqn;
}

void
weir_host_id(const struct weir_host *host, uint8_t id[16])
{
	memcpy(id, host->id, sizeof(host->id));
}

const char *
weir_version(void)
{
	return LIBWEIR_VERSION;
}
