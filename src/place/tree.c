#include "place/tree.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"

int
tree_nodes_init(struct tree_nodes *nodes, struct arena *arena, uint32_t items,
    bool (*same)(const void *owner, uint32_t a, uint32_t b), const void *owner)
{
	*nodes = (struct tree_nodes){
		.nodes = arena_alloc(arena, (size_t)items * 2 * sizeof(struct tree_node)),
		.in = arena_alloc(arena, (size_t)items * 2 * sizeof(*nodes->in)),
		.points = arena_alloc_aligned(arena, (size_t)items * sizeof(*nodes->points), sizeof(*nodes->points)),
		.leaf = arena_alloc(arena, (size_t)items * sizeof(uint32_t)),
		.items = items, .same = same, .owner = owner, .free = TREE_NONE,
	};
	if (items > 0 && (nodes->nodes == NULL || nodes->in == NULL || nodes->points == NULL ||
	    nodes->leaf == NULL)) {
		tree_nodes_fini(nodes, arena);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < items; i++)
		nodes->leaf[i] = TREE_NONE;
	return 0;
}

void
tree_nodes_fini(struct tree_nodes *nodes, struct arena *arena)
{
	arena_free(arena, nodes->nodes);
	arena_free(arena, nodes->in);
	arena_free(arena, nodes->points);
	arena_free(arena, nodes->leaf);
	nodes->nodes = NULL;
	nodes->in = NULL;
	nodes->points = NULL;
	nodes->leaf = NULL;
}

static uint32_t
take(struct tree_nodes *nodes)
{
	uint32_t at = nodes->free;

	if (at == TREE_NONE) /* those that were never taken come one after the other */
		return nodes->taken++;
	nodes->free = nodes->nodes[at].parent;
	return at;
}

static void
give(struct tree_nodes *nodes, uint32_t at)
{
	nodes->nodes[at].parent = nodes->free;
	nodes->free = at;
}

static struct tree_box
join(const struct tree_box *a, const struct tree_box *b)
{
	struct tree_box box;

	for (unsigned i = 0; i < TREE_AXES; i++) {
		box.low[i] = a->low[i] < b->low[i] ? a->low[i] : b->low[i];
		box.high[i] = a->high[i] > b->high[i] ? a->high[i] : b->high[i];
	}
	return box;
}

static struct tree_box
around(const double point[TREE_AXES])
{
	struct tree_box box;

	for (unsigned i = 0; i < TREE_AXES; i++) {
		float nearest = (float)point[i];

		assert(point[i] >= 0 && nearest < INFINITY);
		box.low[i] = (double)nearest > point[i] ? nextafterf(nearest, 0) : nearest;
		box.high[i] = (double)nearest < point[i] ? nextafterf(nearest, INFINITY) : nearest;
	}
	return box;
}

/* How large the box of two is: by how much what is in it differs, in each direction as a share of itself, so that units
 * do not matter. */
static float
joint_size(const float *weights, const struct tree_box *a, const struct tree_box *b)
{
	float sum = 0;

	for (unsigned i = 0; i < TREE_AXES; i++) {
		float low = a->low[i] < b->low[i] ? a->low[i] : b->low[i];
		float high = a->high[i] > b->high[i] ? a->high[i] : b->high[i];

		sum += weights[i] * (high - low) / (high + low + 1e-6f);
	}
	return sum;
}

static float
size(const float *weights, const struct tree_box *box)
{
	return joint_size(weights, box, box);
}

/* What a node is, by its two children; and a leaf, by its items. */
static void
refit(struct tree_nodes *nodes, uint32_t at)
{
	struct tree_node *node = &nodes->nodes[at];
	const struct tree_node *left = &nodes->nodes[node->left], *right = &nodes->nodes[node->right];

	node->box = join(&left->box, &right->box);
	node->item = left->item < right->item ? left->item : right->item;
	node->height = (uint16_t)((left->height > right->height ? left->height : right->height) + 1);
	node->same = left->same && right->same && memcmp(&left->box, &right->box, sizeof(left->box)) == 0 &&
	    nodes->same(nodes->owner, left->item, right->item);
}

static void
refit_leaf(struct tree_nodes *nodes, uint32_t at)
{
	struct tree_node *leaf = &nodes->nodes[at];
	const uint32_t *items = nodes->in[at];

	leaf->height = 0;
	leaf->item = items[0];
	leaf->box = around(nodes->points[leaf->item]);
	leaf->same = true;
	nodes->leaf[leaf->item] = at;
	for (unsigned i = 1; i < leaf->count; i++) {
		uint32_t item = items[i];
		struct tree_box box = around(nodes->points[item]);

		leaf->same = leaf->same && memcmp(&leaf->box, &box, sizeof(box)) == 0 &&
		    nodes->same(nodes->owner, items[0], item);
		leaf->box = join(&leaf->box, &box);
		leaf->item = item < leaf->item ? item : leaf->item;
		nodes->leaf[item] = at;
	}
}

static void
adopt(struct tree_nodes *nodes, uint32_t parent, uint32_t *place, uint32_t child)
{
	*place = child;
	nodes->nodes[child].parent = parent;
}

/* `to` where `from` was. */
static void
replace(struct tree_nodes *nodes, struct tree *tree, uint32_t from, uint32_t to)
{
	uint32_t parent = nodes->nodes[from].parent;

	if (parent == TREE_NONE)
		tree->root = to;
	else if (nodes->nodes[parent].left == from)
		nodes->nodes[parent].left = to;
	else
		nodes->nodes[parent].right = to;
	nodes->nodes[to].parent = parent;
}

/*
 * Where one child is higher than the other by more than one, it comes up in the place of its parent, which keeps the
 * lower of its children; and so on below, where a leaf was put beside something high.  Children are as this leaves
 * them already, so that it is an AVL tree again.  Which node is there then.
 */
static uint32_t
balance(struct tree_nodes *nodes, struct tree *tree, uint32_t at)
{
	struct tree_node *node = &nodes->nodes[at];
	int left = nodes->nodes[node->left].height, right = nodes->nodes[node->right].height;

	refit(nodes, at);
	if (left - right <= 1 && right - left <= 1)
		return at;

	uint32_t *from = left > right ? &node->left : &node->right, up = *from;
	struct tree_node *high = &nodes->nodes[up];
	bool keeps_left = nodes->nodes[high->left].height > nodes->nodes[high->right].height;
	uint32_t down = keeps_left ? high->right : high->left;

	replace(nodes, tree, at, up);
	adopt(nodes, at, from, down);
	adopt(nodes, up, keeps_left ? &high->right : &high->left, at);
	balance(nodes, tree, at);
	refit(nodes, up);
	return up;
}

static void
mend(struct tree_nodes *nodes, struct tree *tree, uint32_t at)
{
	while (at != TREE_NONE)
		at = nodes->nodes[balance(nodes, tree, at)].parent;
}

/* In which leaf a new point makes all boxes together grow least, going down one way. */
static uint32_t
leaf_for(const struct tree_nodes *nodes, const struct tree *tree, const struct tree_box *box)
{
	uint32_t at = tree->root;

	while (nodes->nodes[at].height > 0) {
		const struct tree_node *node = &nodes->nodes[at];
		const struct tree_node *left = &nodes->nodes[node->left], *right = &nodes->nodes[node->right];
		float more_left = joint_size(tree->weights, &left->box, box) - size(tree->weights, &left->box);
		float more_right = joint_size(tree->weights, &right->box, box) - size(tree->weights, &right->box);
		/* where it grows neither, as of points that are equal, the tree stays low */
		bool goes_left = more_left != more_right ? more_left < more_right : left->height <= right->height;

		at = goes_left ? node->left : node->right;
	}
	return at;
}

/* Sorts items by where they are along the axis on which they differ most. */
static void
sort_for_split(const struct tree_nodes *nodes, const struct tree *tree, uint32_t *items, unsigned count)
{
	struct tree_box box = around(nodes->points[items[0]]);
	unsigned widest = 0;
	float most = -1;

	for (unsigned i = 1; i < count; i++) {
		struct tree_box one = around(nodes->points[items[i]]);

		box = join(&box, &one);
	}
	for (unsigned i = 0; i < TREE_AXES; i++) {
		float width = tree->weights[i] * (box.high[i] - box.low[i]) / (box.high[i] + box.low[i] + 1e-6f);

		if (width > most) {
			most = width;
			widest = i;
		}
	}
	for (unsigned i = 1; i < count; i++) {
		uint32_t item = items[i];
		unsigned at = i;

		for (; at > 0 && nodes->points[items[at - 1]][widest] > nodes->points[item][widest]; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* How many of the sorted items should be in the first of two boxes, so that both together are smallest. */
static unsigned
split_at(const struct tree_nodes *nodes, const struct tree *tree, const uint32_t *items, unsigned count)
{
	struct tree_box boxes[TREE_LEAF + 1], box;
	unsigned best = count / 2;
	float least = INFINITY;

	boxes[0] = around(nodes->points[items[0]]);
	for (unsigned i = 1; i < count; i++) {
		box = around(nodes->points[items[i]]);
		boxes[i] = join(&boxes[i - 1], &box);
	}
	box = around(nodes->points[items[count - 1]]);
	for (unsigned first = count - 1; first >= 1; first--) {
		struct tree_box one = around(nodes->points[items[first]]);
		float both;

		box = join(&box, &one);
		both = (float)first * size(tree->weights, &boxes[first - 1]) +
		    (float)(count - first) * size(tree->weights, &box);
		if (both < least) {
			least = both;
			best = first;
		}
	}
	return least > 0 ? best : count / 2;
}

static uint32_t
new_leaf(struct tree_nodes *nodes, const uint32_t *items, unsigned count)
{
	uint32_t at = take(nodes);
	struct tree_node *leaf = &nodes->nodes[at];

	leaf->parent = TREE_NONE;
	leaf->count = (uint16_t)count;
	memcpy(nodes->in[at], items, count * sizeof(*items));
	refit_leaf(nodes, at);
	return at;
}

/* A full leaf and one more item: two leaves below a node. */
static void
split(struct tree_nodes *nodes, struct tree *tree, uint32_t at, uint32_t item)
{
	uint32_t items[TREE_LEAF + 1], first, second;
	unsigned count;

	memcpy(items, nodes->in[at], sizeof(nodes->in[at]));
	items[TREE_LEAF] = item;
	sort_for_split(nodes, tree, items, TREE_LEAF + 1);
	count = split_at(nodes, tree, items, TREE_LEAF + 1);
	first = new_leaf(nodes, items, count);
	second = new_leaf(nodes, items + count, TREE_LEAF + 1 - count);
	adopt(nodes, at, &nodes->nodes[at].left, first);
	adopt(nodes, at, &nodes->nodes[at].right, second);
	mend(nodes, tree, at);
}

void
tree_insert(struct tree_nodes *nodes, struct tree *tree, uint32_t item, const double point[TREE_AXES])
{
	struct tree_box box = around(point);
	uint32_t at;

	assert(nodes->leaf[item] == TREE_NONE);
	memcpy(nodes->points[item], point, sizeof(nodes->points[item]));
	if (tree->root == TREE_NONE) {
		tree->root = new_leaf(nodes, &item, 1);
		return;
	}
	at = leaf_for(nodes, tree, &box);
	if (nodes->nodes[at].count == TREE_LEAF) {
		split(nodes, tree, at, item);
		return;
	}
	nodes->in[at][nodes->nodes[at].count++] = item;
	refit_leaf(nodes, at);
	mend(nodes, tree, nodes->nodes[at].parent);
}

/* A leaf without items goes, and its sibling is where their parent was. */
static void
remove_leaf(struct tree_nodes *nodes, struct tree *tree, uint32_t leaf)
{
	uint32_t parent = nodes->nodes[leaf].parent, sibling, above;

	give(nodes, leaf);
	if (parent == TREE_NONE) {
		tree->root = TREE_NONE;
		return;
	}
	sibling = nodes->nodes[parent].left == leaf ? nodes->nodes[parent].right : nodes->nodes[parent].left;
	above = nodes->nodes[parent].parent;
	replace(nodes, tree, parent, sibling);
	give(nodes, parent);
	mend(nodes, tree, above);
}

/* Two leaves that are side by side, and have little, become one in the place of their parent. */
static bool
merge(struct tree_nodes *nodes, struct tree *tree, uint32_t leaf)
{
	uint32_t parent = nodes->nodes[leaf].parent, left, right, items[TREE_LEAF];
	unsigned count;

	if (parent == TREE_NONE || nodes->nodes[parent].height > 1)
		return false;
	left = nodes->nodes[parent].left;
	right = nodes->nodes[parent].right;
	count = nodes->nodes[left].count;
	if (count + nodes->nodes[right].count > TREE_LEAF / 2)
		return false;
	memcpy(items, nodes->in[left], count * sizeof(*items));
	memcpy(items + count, nodes->in[right], nodes->nodes[right].count * sizeof(*items));
	count += nodes->nodes[right].count;
	give(nodes, left);
	give(nodes, right);
	nodes->nodes[parent].count = (uint16_t)count;
	memcpy(nodes->in[parent], items, count * sizeof(*items));
	refit_leaf(nodes, parent);
	mend(nodes, tree, nodes->nodes[parent].parent);
	return true;
}

void
tree_remove(struct tree_nodes *nodes, struct tree *tree, uint32_t item)
{
	uint32_t at = nodes->leaf[item];
	struct tree_node *leaf = &nodes->nodes[at];
	unsigned i = 0;

	nodes->leaf[item] = TREE_NONE;
	while (nodes->in[at][i] != item)
		i++;
	nodes->in[at][i] = nodes->in[at][--leaf->count];
	if (leaf->count == 0) {
		remove_leaf(nodes, tree, at);
		return;
	}
	refit_leaf(nodes, at);
	if (!merge(nodes, tree, at))
		mend(nodes, tree, leaf->parent);
}

static uint32_t
check_leaf(const struct tree_nodes *nodes, uint32_t at)
{
	const struct tree_node *leaf = &nodes->nodes[at];

	assert(leaf->count > 0 && leaf->count <= TREE_LEAF);
	for (unsigned i = 0; i < leaf->count; i++) {
		struct tree_box box = around(nodes->points[nodes->in[at][i]]), joint = join(&box, &leaf->box);

		assert(nodes->leaf[nodes->in[at][i]] == at && nodes->in[at][i] >= leaf->item);
		assert(memcmp(&joint, &leaf->box, sizeof(joint)) == 0);
	}
	return leaf->count;
}

static uint32_t
check(const struct tree_nodes *nodes, uint32_t at)
{
	const struct tree_node *node = &nodes->nodes[at];

	assert(node->height <= TREE_HEIGHT);
	if (node->height == 0)
		return check_leaf(nodes, at);

	const struct tree_node *left = &nodes->nodes[node->left], *right = &nodes->nodes[node->right];
	struct tree_box box = join(&left->box, &right->box);

	assert(left->parent == at && right->parent == at);
	assert(node->item == (left->item < right->item ? left->item : right->item));
	assert(memcmp(&box, &node->box, sizeof(box)) == 0);
	assert(left->height - right->height <= 1 && right->height - left->height <= 1);
	return check(nodes, node->left) + check(nodes, node->right);
}

uint32_t
tree_check(const struct tree_nodes *nodes, const struct tree *tree)
{
	return tree->root == TREE_NONE ? 0 : check(nodes, tree->root);
}
