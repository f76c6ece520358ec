#include "target/hostline.h"

static struct request *
first_of(struct list *node)
{
	return container_of(node, struct request, waiter.node);
}

void
hostline_push(struct list *line, struct request *req)
{
	list_for_each(line, node) {
		struct request *first = first_of(node);

		if (memcmp(first->conn->hostid, req->conn->hostid, sizeof(req->conn->hostid)) != 0)
			continue;
		fifo_push(&first->behind, &req->xfer.tx_node);
		return;
	}
	fifo_init(&req->behind);
	list_push(line, &req->waiter.node);
}

struct request *
hostline_pop(struct list *line)
{
	struct list *node = list_pop(line);
	struct request *req = node != NULL ? first_of(node) : NULL;
	struct request *next;

	if (req == NULL || fifo_empty(&req->behind))
		return req;
	next = container_of(fifo_pop(&req->behind), struct request, xfer.tx_node);
	fifo_init(&next->behind);
	fifo_splice(&next->behind, &req->behind);
	list_push(line, &next->waiter.node);
	return req;
}
