/*
 * tree_find.c - which boxes of a tree are opened, and in which order.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "place/tree.h"

void
tree_query_init(struct tree_query *query, double (*bound)(struct tree_query *, const struct tree_node *),
    double (*score)(struct tree_query *, uint32_t))
{
	*query = (struct tree_query){
		.bound = bound, .score = score, .except = TREE_NONE, .best = TREE_NONE, .best_score = INFINITY,
	};
}

/* Whether something in a node with that bound may still be better, or as good and lower. */
static bool
may_win(const struct tree_query *query, const struct tree_node *node, double bound)
{
	return bound < query->best_score ||
	    (bound == query->best_score && bound < INFINITY && node->item < query->best);
}

static void
look(struct tree_query *query, uint32_t item)
{
	double score = query->score(query, item);

	if (score < query->best_score || (score == query->best_score && score < INFINITY && item < query->best)) {
		query->best = item;
		query->best_score = score;
	}
}

/* Looks at a node whose items are equal, and answers INFINITY; else what its bound is. */
static double
meet(struct tree_query *query, const struct tree_node *node)
{
	query->opened++;
	if (!node->same || node->item == query->except)
		return query->bound(query, node);
	look(query, node->item);
	return INFINITY;
}

static void
look_at_all(const struct tree_nodes *nodes, struct tree_query *query, uint32_t leaf)
{
	const uint32_t *items = nodes->in[leaf];
	unsigned count = nodes->nodes[leaf].count;

	for (unsigned i = 0; i < count; i++)
		__builtin_prefetch(nodes->points[items[i]]);
	for (unsigned i = 0; i < count; i++)
		look(query, items[i]);
}

static void
fetch(const struct tree_node *node)
{
	__builtin_prefetch(node);
	__builtin_prefetch((const char *)node + 64);
}

void
tree_find(const struct tree_nodes *nodes, const struct tree *tree, struct tree_query *query)
{
	struct { uint32_t node; double bound; } stack[TREE_HEIGHT + 2];
	unsigned depth = 0;

	if (tree->root == TREE_NONE)
		return;
	stack[depth].node = tree->root;
	stack[depth++].bound = meet(query, &nodes->nodes[tree->root]);
	while (depth > 0) {
		const struct tree_node *node = &nodes->nodes[stack[--depth].node];

		if (!may_win(query, node, stack[depth].bound))
			continue;
		if (node->height == 0) {
			look_at_all(nodes, query, stack[depth].node);
			continue;
		}

		fetch(&nodes->nodes[node->right]);

		double left = meet(query, &nodes->nodes[node->left]), right = meet(query, &nodes->nodes[node->right]);
		bool left_first = left <= right;

		assert(depth + 2 <= sizeof(stack) / sizeof(stack[0]));
		stack[depth].node = left_first ? node->right : node->left;
		stack[depth++].bound = left_first ? right : left;
		stack[depth].node = left_first ? node->left : node->right;
		stack[depth++].bound = left_first ? left : right;
	}
}
