/*
 * between.h - something between the library and a target that gives the latter ordered writes (orderer.h), over real
 * sockets, on a thread of its own.
 */
#ifndef WEIR_TESTS_LIB_BETWEEN_H
#define WEIR_TESTS_LIB_BETWEEN_H

#include "orderer.h"
#include "rt/rt.h"
#include "served.h"

struct between {
	struct orderer orderer;  /* looked at while it does not run */
	struct forger forger;
	struct rt *rt;
	char uri[512];           /* of the target, through it */
};

void between_start(struct between *between, const struct served *served);
void between_stop(struct between *between);

#endif
