/* store_inside.h - what the files of a store share. */
#ifndef WEIR_KEEP_STORE_INSIDE_H
#define WEIR_KEEP_STORE_INSIDE_H

#include "keep/store.h"

enum { STORE_UNIT = 4096 }; /* that is written whole */

void store_put_init(struct store *store);

#endif
