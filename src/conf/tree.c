/*
 * tree.c - from YAML to scalars, lists and mappings with their lines.
 *
 * libyaml tells events; what is made of them is what a configuration can use:
 * one document of printable text, bounded in size and depth.  An alias becomes
 * a node that shares its children with what it names, so it costs nothing, and
 * whoever walks the tree walks them again.  It knows no keys.
 */
#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "conf/internal.h"

#include "base/utf8.h"

struct anchor {
	const char *name;
	struct node *node;
};

struct tree {
	struct arena *arena;
	struct conf_errors *errors;
	struct node *root;
	struct node *open[CONF_DEPTH_MAX], *last[CONF_DEPTH_MAX]; /* and the youngest child of each */
	unsigned depth, anchor_count;
	uint32_t node_count;
	struct anchor anchors[CONF_ANCHORS_MAX];
};

/* ---- the text, before it is parsed ---- */

/* Whatever libyaml would refuse as a byte or a character, with the line; and directives, of which it keeps all. */
static bool
text_check(const char *text, size_t bytes, struct conf_errors *errors)
{
	const uint8_t *at = (const uint8_t *)text, *end = at + bytes;
	uint32_t line = 1, code = '\n', before;

	if (bytes > CONF_TEXT_MAX) {
		complain(errors, 0, "longer than %d MiB", CONF_TEXT_MAX >> 20);
		return false;
	}
	while (at < end) {
		unsigned length;

		before = code;
		length = utf8_next(at, (size_t)(end - at), &code);
		if (length == 0) {
			complain(errors, line, "byte %02Xh is not UTF-8", at[0]);
			return false;
		}
		if (!utf8_printable(code) && code != '\t' && code != '\n' && code != '\r' &&
		    !(code == 0xfeff && at == (const uint8_t *)text)) {
			complain(errors, line, "the control character U+%04X cannot be in it", (unsigned)code);
			return false;
		}
		if (code == '%' && (before == '\n' || before == '\r')) {
			complain(errors, line, "directives (lines that begin with %%) cannot be used");
			return false;
		}
		if (code == '\r' || (code == '\n' && before != '\r'))
			line++;
		at += length;
	}
	return true;
}

/* ---- nodes ---- */

/* Puts a node where it belongs; 0, -EINVAL or -ENOMEM. */
static int
node_add(struct tree *tree, const yaml_event_t *event, enum node_kind kind, struct node **added)
{
	struct node *node, *parent = tree->depth > 0 ? tree->open[tree->depth - 1] : NULL;
	uint32_t line = (uint32_t)event->start_mark.line + 1;

	if (tree->node_count++ == CONF_NODES_MAX) {
		complain(tree->errors, line, "more than %d keys and values", CONF_NODES_MAX);
		return -EINVAL;
	}
	node = arena_alloc(tree->arena, sizeof(*node));
	if (node == NULL)
		return -ENOMEM;
	node->kind = kind;
	node->line = line;
	if (parent == NULL) {
		tree->root = node;
	} else {
		if (parent->count++ == 0)
			parent->first = node;
		else
			tree->last[tree->depth - 1]->next = node;
		tree->last[tree->depth - 1] = node;
	}
	*added = node;
	return 0;
}

static int
anchor_add(struct tree *tree, const yaml_char_t *name, struct node *node)
{
	struct anchor *anchor = &tree->anchors[tree->anchor_count];

	if (name == NULL)
		return 0;
	if (tree->anchor_count == CONF_ANCHORS_MAX) {
		complain(tree->errors, node->line, "more than %d anchors", CONF_ANCHORS_MAX);
		return -EINVAL;
	}
	anchor->name = arena_strdup(tree->arena, (const char *)name);
	anchor->node = node;
	tree->anchor_count++;
	return anchor->name != NULL ? 0 : -ENOMEM;
}

static int
tag_check(const struct tree *tree, const yaml_char_t *tag, const yaml_event_t *event)
{
	if (tag == NULL)
		return 0;
	complain(tree->errors, (uint32_t)event->start_mark.line + 1, "tags (%s) cannot be used",
	    quote((const char *)tag).text);
	return -EINVAL;
}

static int
scalar_add(struct tree *tree, const yaml_event_t *event)
{
	const yaml_char_t *text = event->data.scalar.value;
	size_t bytes = event->data.scalar.length;
	struct node *node;
	char *copy;
	int error = tag_check(tree, event->data.scalar.tag, event);

	if (error == 0)
		error = node_add(tree, event, NODE_SCALAR, &node);
	if (error == 0)
		error = anchor_add(tree, event->data.scalar.anchor, node);
	if (error != 0)
		return error;
	for (size_t at = 0, length; at < bytes; at += length) {
		uint32_t code = 0;

		length = utf8_next(text + at, bytes - at, &code);
		if (length == 0 || !utf8_printable(code)) {
			complain(tree->errors, node->line,
			    "the control character U+%04X cannot be in a value", (unsigned)code);
			return -EINVAL;
		}
	}
	copy = arena_alloc_raw(tree->arena, bytes + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	node->text = copy;
	return 0;
}

static int
branch_open(struct tree *tree, const yaml_event_t *event, enum node_kind kind, const yaml_char_t *anchor,
    const yaml_char_t *tag)
{
	struct node *node;
	int error = tag_check(tree, tag, event);

	if (error == 0 && tree->depth == CONF_DEPTH_MAX) {
		complain(tree->errors, (uint32_t)event->start_mark.line + 1, "nested deeper than %d", CONF_DEPTH_MAX);
		return -EINVAL;
	}
	if (error == 0)
		error = node_add(tree, event, kind, &node);
	if (error == 0)
		error = anchor_add(tree, anchor, node);
	if (error == 0)
		tree->open[tree->depth++] = node;
	return error;
}

static int
alias_add(struct tree *tree, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	uint32_t line = (uint32_t)event->start_mark.line + 1;
	const struct node *named = NULL;
	struct node *node;
	int error;

	for (unsigned i = tree->anchor_count; i > 0 && named == NULL; i--)
		if (strcmp(tree->anchors[i - 1].name, name) == 0)
			named = tree->anchors[i - 1].node;
	if (named == NULL) {
		complain(tree->errors, line, "there is no anchor %s above", quote(name).text);
		return -EINVAL;
	}
	for (unsigned i = 0; i < tree->depth; i++)
		if (tree->open[i] == named) {
			complain(tree->errors, line, "the alias %s stands inside what it names", quote(name).text);
			return -EINVAL;
		}
	error = node_add(tree, event, named->kind, &node);
	if (error != 0)
		return error;
	node->count = named->count;
	node->first = named->first;
	node->text = named->text;
	return 0;
}

/* ---- events ---- */

static int
event_take(struct tree *tree, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return scalar_add(tree, event);
	case YAML_SEQUENCE_START_EVENT:
		return branch_open(tree, event, NODE_LIST, event->data.sequence_start.anchor,
		    event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return branch_open(tree, event, NODE_MAP, event->data.mapping_start.anchor,
		    event->data.mapping_start.tag);
	case YAML_ALIAS_EVENT:
		return alias_add(tree, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		tree->depth--;
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		if (tree->root == NULL)
			return 0;
		complain(tree->errors, (uint32_t)event->start_mark.line + 1, "a second document begins here");
		return -EINVAL;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int
syntax_error(const struct tree *tree, const yaml_parser_t *parser)
{
	uint32_t line = (uint32_t)parser->problem_mark.line + 1;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	complain(tree->errors, line, "not YAML: %s%s%s", parser->problem, parser->context != NULL ? ", " : "",
	    parser->context != NULL ? parser->context : "");
	return -EINVAL;
}

static int
events_read(struct tree *tree, yaml_parser_t *parser)
{
	bool end = false;
	int error = 0;

	while (error == 0 && !end) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event))
			return syntax_error(tree, parser);
		end = event.type == YAML_STREAM_END_EVENT;
		error = event_take(tree, &event);
		yaml_event_delete(&event);
	}
	return error;
}

int
tree_read(struct arena *arena, const char *text, size_t bytes, struct conf_errors *errors, struct node **root)
{
	yaml_parser_t parser;
	struct tree *tree;
	int error;

	if (!text_check(text, bytes, errors))
		return -EINVAL;
	tree = arena_alloc(arena, sizeof(*tree));
	if (tree == NULL || !yaml_parser_initialize(&parser))
		return -ENOMEM;
	tree->arena = arena;
	tree->errors = errors;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	error = events_read(tree, &parser);
	yaml_parser_delete(&parser);
	if (error == 0 && tree->root == NULL) {
		complain(errors, 1, "there is nothing in it");
		error = -EINVAL;
	}
	*root = tree->root;
	return error;
}
