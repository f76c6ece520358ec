/*
 * list.h - intrusive lists: a doubly linked ring, and a singly linked queue.
 *
 * Nodes live inside what they link; nothing is allocated and nothing fails.
 */
#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *head) { head->next = head->prev = head; }
static inline bool list_empty(const struct list *head) { return head->next == head; }

/* Puts `node`, which is in no list, at the end. */
static inline void
list_push(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

/* The same at the beginning. */
static inline void
list_push_front(struct list *head, struct list *node)
{
	list_push(head->next, node);
}

/* Takes `node` out; it may be taken out again without harm. */
static inline void
list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* The same, of a node that goes into another list next, or has nobody who asks whether it is in one. */
static inline void
list_unlink(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

/* Puts `node`, which is in that list or another one, at the end. */
static inline void
list_move(struct list *head, struct list *node)
{
	if (node->next == head)
		return;
	list_unlink(node);
	list_push(head, node);
}

/* Takes the first node out, or answers NULL. */
static inline struct list *
list_pop(struct list *head)
{
	struct list *node = head->next;

	if (node == head)
		return NULL;
	list_remove(node);
	return node;
}

#define list_for_each(head, node) \
	for (struct list *node = (head)->next, *node##_next = node->next; node != (head); \
	     node = node##_next, node##_next = node->next)

/* A first-in first-out queue with one link per node. */
struct fifo_node {
	struct fifo_node *next;
};

struct fifo {
	struct fifo_node *head, **tail;
};

static inline void fifo_init(struct fifo *q) { q->head = NULL; q->tail = &q->head; }
static inline bool fifo_empty(const struct fifo *q) { return q->head == NULL; }

static inline void
fifo_push(struct fifo *q, struct fifo_node *node)
{
	node->next = NULL;
	*q->tail = node;
	q->tail = &node->next;
}

static inline struct fifo_node *
fifo_pop(struct fifo *q)
{
	struct fifo_node *node = q->head;

	if (node == NULL)
		return NULL;
	q->head = node->next;
	if (q->head == NULL)
		q->tail = &q->head;
	return node;
}

/* Moves all of `from` behind what `to` holds. */
static inline void
fifo_splice(struct fifo *to, struct fifo *from)
{
	if (from->head == NULL)
		return;
	*to->tail = from->head;
	to->tail = from->tail;
	fifo_init(from);
}

#endif
