/*
 * tree.h - a file of YAML as scalars, lists and mappings, what these say, and what is wrong with them.
 *
 * For configurations, and for whatever else people write in the same way.
 */
#ifndef WEIR_CONF_TREE_H
#define WEIR_CONF_TREE_H

#include "conf/conf.h"

#define COUNT_OF(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))

/* ---- complain.c: what is wrong, in words ---- */

/* Notes one more; those that find no room are only known to be there. */
void complain(struct conf_errors *errors, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* By line; of one line in the order of complaining. */
void complaints_sort(struct conf_errors *errors);

/* A text for a message: in quotes, and only its beginning where it is long. */
struct quoted {
	char text[80];
};
struct quoted quote(const char *text);

/* The index of the word that is most like `text`, or `count`: none is. */
unsigned nearest(const char *text, const char *const *words, unsigned count);

/* "a, b or c"; "a, b ..." where there are more than find room. */
struct wordlist {
	char text[176];
};
struct wordlist wordlist(const char *const *words, unsigned count);

/* ---- tree.c: the text as scalars, lists and mappings ---- */

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	enum node_kind kind;
	uint32_t line;
	uint32_t count;      /* of children; those of a mapping are key, value, key, value */
	struct node *first;
	struct node *next;   /* the next child of the same parent */
	const char *text;    /* of a scalar: printable UTF-8 */
};

/* 0; -EINVAL: there is a complaint; -ENOMEM. */
int tree_read(struct arena *arena, const char *text, size_t bytes, struct conf_errors *errors, struct node **root)
    __attribute__((warn_unused_result));

/* ---- value.c: what a node says ---- */

struct reader {
	struct arena *arena;
	struct conf_errors *errors;
	bool no_memory; /* nothing is read any more */
	/* Of configurations alone. */
	struct arena *scratch; /* for what only reading needs; what stays is in `arena` */
	struct conf *conf;
	struct seen *files, *nguids, *uuids; /* of all namespaces */
	uint32_t ns_all, hosts_all;
};

/* Whether there is any use in reading on. */
bool reader_done(const struct reader *r);

/* Zeroed; NULL: `no_memory` is set. */
void *reader_alloc(struct reader *r, size_t count, size_t bytes) __attribute__((warn_unused_result));
const char *reader_strdup(struct reader *r, const char *text) __attribute__((warn_unused_result));

/*
 * The values of a mapping, by the index of their key; NULL: the key is absent.  The first `required` of the
 * keys must be there.  `what` is what it describes, for messages.  False, with a complaint: not a mapping.
 */
bool map_read(struct reader *r, const struct node *map, const char *what, const char *const *keys, unsigned count,
    unsigned required, const struct node **values);

/* A list of `min` to `max`; false, with a complaint: it is not. */
bool list_check(struct reader *r, const struct node *node, const char *key, uint32_t min, uint32_t max);

/* NULL: the key is absent, `node` is NULL; or it is not a scalar, after a complaint that names the key. */
const char *scalar_text(struct reader *r, const struct node *node, const char *key);

/* What is absent, or wrong, leaves `value` alone. */
void number_read(struct reader *r, const struct node *node, const char *key, uint32_t min, uint32_t max,
    uint32_t *value);
void bool_read(struct reader *r, const struct node *node, const char *key, bool *value);
/* Letters, digits and - _ . behind the first one, fewer than `room`, and a NUL behind them. */
void label_read(struct reader *r, const struct node *node, const char *key, char *value, size_t room);
/* The index of the word. */
void word_read(struct reader *r, const struct node *node, const char *key, const char *const *words, unsigned count,
    unsigned *value);

#endif
