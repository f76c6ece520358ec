/*
 * internal.h - what the files of resv/ share.
 */
#ifndef WEIR_RESV_INTERNAL_H
#define WEIR_RESV_INTERNAL_H

#include "resv/resv.h"

/* The type's reservation is held by each of the registrants. */
static inline bool
resv_type_of_all(enum nvme_resv_type type)
{
	return type == NVME_RESV_WE_AR || type == NVME_RESV_EA_AR;
}

/* The host's place among the registrants, or RESV_NOBODY. */
uint32_t resv_find(const struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN]);

/* Whether the registrant holds the reservation, or one of its shares; RESV_NOBODY holds none. */
bool resv_holds(const struct resv *resv, uint32_t place);

#endif
