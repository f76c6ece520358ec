/*
 * narrow.h - another way to a target, by which it says that its controllers take little at once (MDTS).
 *
 * A listener of the test's own process; connections have no digests.
 */
#ifndef WEIR_TESTS_LIB_NARROW_H
#define WEIR_TESTS_LIB_NARROW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { NARROW_BYTES = 8192 };

struct narrow {
	int listening;
	uint16_t port, onward;
	pthread_t thread;
	atomic_uint large;       /* transfers of more than that, which were seen */
};

/* A way to the port `onward` of 127.0.0.1. */
void narrow_start(struct narrow *narrow, uint16_t onward);

/* All its connections have been closed. */
void narrow_stop(struct narrow *narrow);

#endif
