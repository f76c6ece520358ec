/*
 * options.c - numbers, addresses and lists on the command line.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

bool
options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	int error = argp_parse(argp, argc, argv, 0, NULL, input);

	if (error != 0)
		fprintf(stderr, "weir: the command line: %s\n", strerror(error));
	return error == 0;
}

bool
option_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || v < min || v > max)
		return false;
	*value = v;
	return true;
}

uint64_t
option_number_of(struct argp_state *state, const char *option, const char *arg, uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!option_number(arg, min, max, &value))
		argp_error(state, "%s '%s': not a number from %" PRIu64 " to %" PRIu64, option, arg, min, max);
	return value;
}

/* ADDR:PORT, [V6ADDR]:PORT, or ADDR alone. */
bool
option_address(const char *text, char *host, unsigned host_bytes, uint16_t *port)
{
	const char *start = text, *end, *colon;
	uint64_t number = *port;

	if (text[0] == '[') {
		start = text + 1;
		end = strchr(start, ']');
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return false;
		colon = end[1] == ':' ? end + 1 : NULL;
	} else {
		colon = strrchr(text, ':');
		end = colon != NULL ? colon : text + strlen(text);
	}
	if (end == start || (unsigned)(end - start) >= host_bytes)
		return false;
	if (colon != NULL && !option_number(colon + 1, 0, UINT16_MAX, &number))
		return false;
	snprintf(host, host_bytes, "%.*s", (int)(end - start), start);
	*port = (uint16_t)number;
	return true;
}

/* Numbers and ranges: 0,2-5 */
bool
option_cpus(const char *text, int *cpus, unsigned max, unsigned *count)
{
	unsigned n = 0;

	for (;;) {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (end == text || first < 0 || first > INT_MAX)
			return false;
		if (*end == '-') {
			text = end + 1;
			last = strtol(text, &end, 10);
			if (end == text || last < first || last > INT_MAX)
				return false;
		}
		for (; first <= last; first++) {
			if (n == max)
				return false;
			cpus[n++] = (int)first;
		}
		if (*end == '\0')
			break;
		if (*end != ',')
			return false;
		text = end + 1;
	}
	*count = n;
	return true;
}

unsigned
option_processors(unsigned most)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

	return (unsigned)count < most ? (unsigned)count : most;
}

/* By trying: a process may be on fewer than it may be moved to. */
int
option_cpu_missing(const int *cpus, unsigned count)
{
	int missing = -1;
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before) != 0)
		return -1;
	for (unsigned i = 0; i < count && missing < 0; i++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		if (cpus[i] < CPU_SETSIZE)
			CPU_SET((size_t)cpus[i], &one);
		if (sched_setaffinity(0, sizeof(one), &one) != 0)
			missing = cpus[i];
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
	return missing;
}
