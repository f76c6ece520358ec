#include "sys/clock.h"

#include <assert.h>
#include <sys/random.h>
#include <time.h>

static uint64_t
read_clock(clockid_t id)
{
	struct timespec ts;
	int rc = clock_gettime(id, &ts);

	assert(rc == 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t
clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t
clock_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME) / 1000000u;
}

uint64_t
clock_random(void)
{
	uint64_t value;
	ssize_t n = getrandom(&value, sizeof(value), 0);

	/* Requests of up to 256 bytes are neither cut short nor interrupted (getrandom(2)). */
	assert(n == (ssize_t)sizeof(value));
	return value;
}
