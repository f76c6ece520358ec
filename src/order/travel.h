/*
 * travel.h - how ordered writes and lists travel between host and server (doc/extension.md, ORDER).
 *
 * Bytes are the caller's; nothing is kept.
 */
#ifndef WEIR_ORDER_TRAVEL_H
#define WEIR_ORDER_TRAVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "order/gate.h"
#include "order/known.h"
#include "wire/extension.h"
#include "wire/nvme.h"

/* Whether a command says that it is an ordered write. */
static inline bool
order_travels(const struct nvme_sqe *sqe)
{
	return (sqe->flags & WEIR_ORDERED_MASK) != 0;
}

/* Puts it into a Write, or into a Flush where it has no blocks; the rest of the command is the caller's. */
void order_put(const struct order_attribute *attribute, uint16_t stream, struct nvme_sqe *sqe);

/* False: it is no Write or Flush, or its fields have bits that mean nothing.  What they say is not looked at. */
bool order_get(const struct nvme_sqe *sqe, struct order_attribute *attribute, uint16_t *stream);

/* An entry of a list. */
void order_put_known(const struct order_known *known, struct weir_list_entry *entry);

/* One that was listed.  False: it does not count. */
bool order_get_listed(const struct weir_list_entry *entry, struct order_listed *listed);

#endif
