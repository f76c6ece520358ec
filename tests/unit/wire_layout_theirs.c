/*
 * wire_layout_theirs.c - libnvme's half of the rows of wire_layout.h.
 */
#include <nvme/types.h>

#include "wire_layout.h"

#define SIZE(ours, theirs) sizeof(struct theirs),
#define FIELD(ours, our_field, theirs, their_field) offsetof(struct theirs, their_field),
#define VALUE(ours, theirs) (theirs),
#define CODE(sct, ours, theirs) ((sct) << 8 | (theirs)),

const uint64_t their_values[] = { WIRE_LAYOUT_ROWS };
const size_t their_count = sizeof(their_values) / sizeof(their_values[0]);
