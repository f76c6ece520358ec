/*
 * pages.h - memory straight from the kernel, page by page.
 */
#ifndef WEIR_SYS_PAGES_H
#define WEIR_SYS_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed pages that take no memory before they are touched; `apart`: so does each by itself, and there are no huge
 * ones.  NULL: none to be had. */
void *pages_map(size_t bytes, bool apart);

/* The same at the start of address space for `room` bytes, of which the others may not be touched; ends by
 * pages_unmap() of all of it. */
void *pages_reserve(size_t bytes, size_t room);

/* Makes a part of these, so far untouched, zeroed pages like the first; start and length are multiples of 4096.
 *  0, or -ENOMEM. */
int pages_use(void *pages, size_t bytes);

void pages_unmap(void *pages, size_t bytes);

/* Gives the pages back; they read as zeros.  Start and length are multiples of 4096. */
void pages_discard(void *pages, size_t bytes);

#endif
