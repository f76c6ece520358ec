/*
 * internal.h - what the files of conf/ share: complaints, the tree of the text, and values read from it.
 */
#ifndef WEIR_CONF_INTERNAL_H
#define WEIR_CONF_INTERNAL_H

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

/* "a, b or c" */
struct wordlist {
	char text[160];
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
	struct arena *arena, *scratch; /* for what stays, and for what only reading needs */
	struct conf *conf;
	struct conf_errors *errors;
	struct seen *files, *nguids, *uuids; /* of all namespaces */
	uint32_t ns_all, hosts_all;
	bool no_memory; /* nothing is read any more */
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

/*
 * Scalars.  NULL, an absent key, leaves `value` alone; so does what is wrong, after a complaint that names
 * the key.
 */
const char *scalar_text(struct reader *r, const struct node *node, const char *key);
void number_read(struct reader *r, const struct node *node, const char *key, uint32_t min, uint32_t max,
    uint32_t *value);
void bool_read(struct reader *r, const struct node *node, const char *key, bool *value);
void time_read(struct reader *r, const struct node *node, const char *key, uint32_t *value_ms);
/* The index of the word. */
void word_read(struct reader *r, const struct node *node, const char *key, const char *const *words, unsigned count,
    unsigned *value);
/* 1 to `max` printable ASCII characters. */
void ascii_read(struct reader *r, const struct node *node, const char *key, size_t max, const char **value);
void nqn_read(struct reader *r, const struct node *node, const char *key, const char **value);
/* Sixteen bytes that are not all zero: as a UUID is written, or with dashes between any bytes. */
void id_read(struct reader *r, const struct node *node, const char *key, bool uuid, uint8_t value[16]);
void address_read(struct reader *r, const struct node *node, uint16_t port, struct conf_address *value);

/* ---- seen.c ---- */

/* Empty.  NULL: `no_memory` is set. */
struct seen *seen_make(struct reader *r) __attribute__((warn_unused_result));

/* Whether the bytes, which stand while the file is read, have been asked about before. */
bool seen_before(struct reader *r, struct seen *seen, const void *bytes, size_t length);

/* ---- volume.c ---- */

/* Volume and size of a namespace; its block size is known. */
void volume_read(struct reader *r, const struct node *volume, const struct node *size, struct conf_ns *ns);

/* Where hosts may make namespaces. */
void pool_read(struct reader *r, const struct node *map, struct conf_subsys *subsys);

/* The path of the file that a volume lies in, or NULL: it lies in none. */
const char *volume_path(const char *volume);

/* Whether what was written is lost when it is closed. */
bool volume_forgets(const char *volume);

/* ---- subsys.c, namespace.c ---- */

void subsystems_read(struct reader *r, const struct node *list);
void namespaces_read(struct reader *r, const struct node *list, struct conf_subsys *subsys);

/* The index of the listener of that name, or -1. */
int listener_find(const struct conf *conf, const char *name);

extern const char *const conf_discovery_words[5]; /* by enum conf_discovery, then true and false */
extern const char *const conf_ana_words[5]; /* in the order of conf_ana_values */
extern const uint8_t conf_ana_values[5];

#endif
