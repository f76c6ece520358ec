/*
 * discovery_log.h - the discovery log, page 70h, decoded (NVMe Base 2.0, 5.16.1.23).
 *
 * It does not know how the page is read: header first, then entries, and
 * again where the generation is another afterwards, is for who reads it.
 */
#ifndef WEIR_LIB_DISCOVERY_LOG_H
#define WEIR_LIB_DISCOVERY_LOG_H

#include <weir/discovery.h>

enum { DISCOVERY_HEADER_LEN = 1024, DISCOVERY_ENTRY_LEN = 1024 }; /* what must be read of them */

struct discovery_header {
	uint64_t generation, entries;
	uint16_t format; /* 0 is the one that there is */
};

/* Of DISCOVERY_HEADER_LEN bytes. */
void discovery_header_decode(const void *page, struct discovery_header *header);

/* Of DISCOVERY_ENTRY_LEN bytes; `level` is 0.  Texts are without the spaces and NULs behind, and can be shown. */
void discovery_entry_decode(const void *raw, struct weir_discovered *entry);

#endif
