#include "lib_bench.h"

#include <stdlib.h>

void
must_be(int rc, int expected, const char *what, const char *file, int line)
{
	if (rc == expected)
		return;
	print_error("%s:%d: %s answered %d, not %d; the library says: %s\n", file, line, what, rc, expected,
	    weir_error());
	_fail(file, line);
}

void
must_say(const char *words)
{
	if (strstr(weir_error(), words) == NULL)
		fail_msg("'%s' does not say '%s'", weir_error(), words);
}

struct weir_host *
bench_host(void)
{
	struct weir_host_options options = WEIR_OPTIONS(weir_host_options);
	struct weir_host *host;

	options.hostnqn = SERVED_HOST;
	must(weir_host_create(&options, &host));
	return host;
}

struct weir_subsys *
bench_subsys(struct weir_host *host, const struct served *served, const struct weir_subsys_options *options)
{
	struct weir_subsys *subsys;

	must(weir_subsys_connect(host, served_uri(served, "?ns=1"), options, &subsys));
	return subsys;
}

struct weir_queue *
bench_queue(struct weir_subsys *subsys, uint32_t depth)
{
	struct weir_queue_options options = WEIR_OPTIONS(weir_queue_options);
	struct weir_queue *queue;

	options.depth = depth;
	must(weir_queue_open(subsys, &options, &queue));
	return queue;
}

static uint64_t
word_of(uint64_t offset, uint32_t version)
{
	uint64_t word = (offset ^ (uint64_t)version << 40) * 0x9e3779b97f4a7c15u;

	return word ^ word >> 29;
}

void
bench_fill(void *data, size_t bytes, uint64_t offset, uint32_t version)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(offset + at, version);

		memcpy((uint8_t *)data + at, &word, 8);
	}
}

void
bench_check(const void *data, size_t bytes, uint64_t offset, uint32_t version)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(offset + at, version), got;

		memcpy(&got, (const uint8_t *)data + at, 8);
		if (got != word)
			fail_msg("byte %llu is not of version %u", (unsigned long long)(offset + at), version);
	}
}

void
bench_drain(struct weir_queue *queue)
{
	while (weir_queue_in_flight(queue) > 0)
		assert_true(weir_queue_poll(queue, -1) >= 0);
}
