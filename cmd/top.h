/*
 * top.h - what the files of `weir top` share: what was seen of each namespace.
 */
#ifndef WEIR_CMD_TOP_H
#define WEIR_CMD_TOP_H

#include <stdio.h>
#include <weir/weir.h>

enum { TOP_NAME = 320, TOP_WHY = 256 };

struct top_row {
	char name[TOP_NAME];       /* of subsystem and namespace, as a URI */
	struct weir_view view;
	char why[TOP_WHY];         /* why there is no view; "": there is one */
};

/* top_show.c: for people, and as one line for programs.  0, or -ENOMEM. */
int top_print(FILE *out, const struct top_row *rows, unsigned count) __attribute__((warn_unused_result));
void top_print_json(const struct top_row *rows, unsigned count);

#endif
