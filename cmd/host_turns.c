#include "host_turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* There as long as anything of it waits. */
struct host {
	struct list node;
	uint8_t hostid[16];
	struct fifo waiting;
};

static struct host *
host_of(struct list *node)
{
	return container_of(node, struct host, node);
}

void
host_turns_init(struct host_turns *turns)
{
	list_init(&turns->hosts);
}

bool
host_turns_empty(const struct host_turns *turns)
{
	return list_empty(&turns->hosts);
}

static struct host *
find(struct host_turns *turns, const uint8_t hostid[16])
{
	list_for_each(&turns->hosts, node)
		if (memcmp(host_of(node)->hostid, hostid, sizeof(host_of(node)->hostid)) == 0)
			return host_of(node);
	return NULL;
}

int
host_turns_push(struct host_turns *turns, const uint8_t hostid[16], struct fifo_node *node)
{
	struct host *host = find(turns, hostid);

	if (host == NULL) {
		host = calloc(1, sizeof(*host));
		if (host == NULL)
			return -ENOMEM;
		memcpy(host->hostid, hostid, sizeof(host->hostid));
		fifo_init(&host->waiting);
		list_push(&turns->hosts, &host->node);
	}
	fifo_push(&host->waiting, node);
	return 0;
}

static void
drop(struct host *host)
{
	list_remove(&host->node);
	free(host);
}

struct fifo_node *
host_turns_pop(struct host_turns *turns)
{
	struct fifo_node *node;
	struct host *host;

	if (host_turns_empty(turns))
		return NULL;
	host = host_of(turns->hosts.next);
	node = fifo_pop(&host->waiting);
	if (fifo_empty(&host->waiting)) {
		drop(host);
	} else {
		list_remove(&host->node);
		list_push(&turns->hosts, &host->node);
	}
	return node;
}

void
host_turns_take(struct host_turns *turns, bool (*is_over)(void *arg, const struct fifo_node *node), void *arg,
    struct fifo *over)
{
	list_for_each(&turns->hosts, at) {
		struct host *host = host_of(at);
		struct fifo_node *node;
		struct fifo all;

		fifo_init(&all);
		fifo_splice(&all, &host->waiting);
		while ((node = fifo_pop(&all)) != NULL)
			fifo_push(is_over(arg, node) ? over : &host->waiting, node);
		if (fifo_empty(&host->waiting))
			drop(host);
	}
}

void
host_turns_end(struct host_turns *turns)
{
	list_for_each(&turns->hosts, node)
		drop(host_of(node));
}
