/*
 * tree.h - points in a few dimensions, in boxes in boxes: which one is best, without looking at all of them.
 *
 * Whoever asks can tell a bound for all points in a box; boxes whose bound is worse than what was found are not
 * opened.  The smallest boxes have a handful of points, which are looked at one by one: of so few a bound hardly says
 * more than of one, and takes as long to compute.  Points come and go one by one: each goes where boxes grow least, a
 * box that is too full becomes two, and the tree is kept balanced by rotations on the way up, so that both take
 * O(log points).  How many boxes a question opens depends on how alike the points are; points that are equal in all
 * that matters are looked at once.
 *
 * It knows nothing of what the points are.
 */
#ifndef WEIR_PLACE_TREE_H
#define WEIR_PLACE_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* An AVL tree of height h has as many leaves at least as Fibonacci's sequence says: of 2^32 none is higher. */
enum { TREE_AXES = 8, TREE_LEAF = 32 /* points at most */, TREE_HEIGHT = 48 };

#define TREE_NONE UINT32_MAX

/* Rounded outwards, so that nodes are small: most of the time goes to where they are fetched from memory. */
struct tree_box { float low[TREE_AXES], high[TREE_AXES]; };

struct tree_node {
	struct tree_box box;
	uint32_t parent;
	uint32_t item;                /* the lowest one below */
	uint16_t height;              /* 0: a leaf */
	uint16_t count;               /* of a leaf's items */
	bool same;                    /* all below are equal in all that matters */
	uint32_t left, right;
};

/* The nodes of several trees, which have disjoint items below `items`. */
struct tree_nodes {
	struct tree_node *nodes;
	uint32_t (*in)[TREE_LEAF];    /* of each node that is a leaf its items */
	double (*points)[TREE_AXES];  /* of each item, exactly; each is a line of the cache */
	uint32_t *leaf;               /* of each item; TREE_NONE: it is in no tree */
	uint32_t free;                /* the first that was given back, linked by `parent`; TREE_NONE */
	uint32_t taken;               /* nodes from here on never were */
	uint32_t items;
	/* Whether two items that lie at the same point are equal for every question. */
	bool (*same)(const void *owner, uint32_t a, uint32_t b);
	const void *owner;
};

struct tree {
	uint32_t root;                /* TREE_NONE: nothing is in it */
	const float *weights;         /* of each axis: how much it matters that what is in a box is alike there */
};

/* 0, or -ENOMEM. */
int tree_nodes_init(struct tree_nodes *nodes, struct arena *arena, uint32_t items,
    bool (*same)(const void *owner, uint32_t a, uint32_t b), const void *owner) __attribute__((warn_unused_result));
void tree_nodes_fini(struct tree_nodes *nodes, struct arena *arena);

/* The item is in no tree; all of its coordinates are finite, and 0 or more. */
void tree_insert(struct tree_nodes *nodes, struct tree *tree, uint32_t item, const double point[TREE_AXES]);
/* It is in that one. */
void tree_remove(struct tree_nodes *nodes, struct tree *tree, uint32_t item);

/* What is looked for: the item with the least score; of those with the same one the lowest. */
struct tree_query {
	/* At most the score of any item in the node; INFINITY: none of them is a candidate. */
	double (*bound)(struct tree_query *query, const struct tree_node *node);
	double (*score)(struct tree_query *query, uint32_t item); /* INFINITY: it is no candidate */
	uint32_t except;              /* no candidate, though equal to others that are; TREE_NONE: there is none such */
	uint32_t best;                /* TREE_NONE: none yet; kept from tree to tree */
	double best_score;
	uint64_t opened;              /* nodes that were looked at */
};

void tree_query_init(struct tree_query *query, double (*bound)(struct tree_query *, const struct tree_node *),
    double (*score)(struct tree_query *, uint32_t));
void tree_find(const struct tree_nodes *nodes, const struct tree *tree, struct tree_query *query);

/* Aborts where a tree is not as it must be; for tests.  How many items are in it. */
uint32_t tree_check(const struct tree_nodes *nodes, const struct tree *tree);

#endif
