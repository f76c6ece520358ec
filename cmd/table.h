/*
 * table.h - rows of text under headings, each column as wide as what is in it.
 *
 * Where there was no memory for a cell the table remembers, and says so when
 * it is printed.
 */
#ifndef WEIR_CMD_TABLE_H
#define WEIR_CMD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 16 };

struct table {
	unsigned columns;
	const char *const *heads; /* one beginning with '>' stands right, as what is under it does */
	char **cells;             /* row by row */
	size_t count, room;
	bool short_of_memory;
};

/* `heads` stay the caller's, as long as the table is. */
void table_init(struct table *table, const char *const *heads, unsigned columns);

/* The next cell, row by row. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints heads and rows, and drops them; 0, or -ENOMEM: it did not. */
int table_end(struct table *table, FILE *out) __attribute__((warn_unused_result));

#endif
