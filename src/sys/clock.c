#include "sys/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

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

/* Where getrandom() is forbidden. */
static bool
read_device(void *value, size_t bytes)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, value, bytes);
	close(fd);
	return got == (ssize_t)bytes;
}

uint64_t
clock_random(void)
{
	uint64_t value;

	/* Requests of up to 256 bytes are neither cut short nor interrupted (getrandom(2)). */
	if (getrandom(&value, sizeof(value), 0) == (ssize_t)sizeof(value) || read_device(&value, sizeof(value)))
		return value;
	/* Nothing that can be guessed will do: who asks may make a secret of it. */
	fprintf(stderr, "weir: there are no random numbers: %s\n", strerror(errno));
	exit(1);
}
