/*
 * ordered_host.c - writes groups of three blocks to an ordered volume, one behind the other, until it is killed; first
 * it says what those before it have left there.
 *     ordered_host VERIFIED WRITTEN URI...   VERIFIED blocks are known to be there, WRITTEN may be
 * It says, each in one write, so that a kill leaves whole lines:
 *     recovered BLOCKS US   BLOCKS are there in a row, and nothing after them up to WRITTEN; so long it took to recover
 *     written BLOCKS        before they are; they may be there from now on
 *     durable BLOCKS
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

enum { BLOCK = 4096, GROUP = 3, KEPT = 4096, TARGETS = 4, AT_ONCE = 60 };

static unsigned char blocks[KEPT][BLOCK]; /* by number of the block, round and round */
static uint64_t first, durable_said;      /* blocks that were there when it began */

static void
say(const char *word, uint64_t a, uint64_t b)
{
	char line[100];
	int length = snprintf(line, sizeof(line), "%s %" PRIu64 " %" PRIu64 "\n", word, a, b);

	if (write(1, line, (size_t)length) != length)
		exit(3);
}

static int
fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, weir_error());
	return 1;
}

static void
fill(unsigned char *block, uint64_t number)
{
	for (unsigned i = 0; i < BLOCK; i += 8)
		memcpy(block + i, &(uint64_t){ (number + 1) * UINT64_C(0x9e3779b97f4a7c15) }, 8);
}

static void
durable(void *arg, uint64_t group)
{
	(void)arg;
	durable_said = first + group * GROUP;
	say("durable", durable_said, 0);
}

static uint64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* 1: the block is what it should be, 0: zeros; -1: something else, or it cannot be read. */
static int
look(struct weir_ordered *volume, uint64_t number)
{
	static unsigned char wanted[BLOCK], got[BLOCK], zeros[BLOCK];

	fill(wanted, number);
	if (weir_ordered_read(volume, got, BLOCK, number * BLOCK) != 0)
		return -1;
	return memcmp(got, wanted, BLOCK) == 0 ? 1 : memcmp(got, zeros, BLOCK) == 0 ? 0 : -1;
}

/* How many blocks are there in a row; none may be after them. */
static int
verify(struct weir_ordered *volume, uint64_t verified, uint64_t written)
{
	uint64_t number = verified;
	int is;

	while ((is = look(volume, number)) == 1)
		number++;
	first = number;
	for (; is == 0 && number < written; number++)
		is = look(volume, number);
	if (is != 0 || first % GROUP != 0) {
		fprintf(stderr, "block %" PRIu64 " is not what it should be, after %" PRIu64 " (%s)\n", number, first,
		    is < 0 ? "it has something else" : is > 0 ? "it is there" : "a part of a group is there");
		return 1;
	}
	return 0;
}

static int
write_on(struct weir_ordered *volume)
{
	uint64_t number = first, end = weir_ordered_size(volume) / BLOCK;

	while (number + GROUP <= end) {
		unsigned flags = number / GROUP % 16 == 7 ? WEIR_GROUP_DURABLE : 0;
		int rc = 0;

		if (number + GROUP > durable_said + KEPT)
			rc = -11; /* its buffers are in use */
		if (rc == 0 && number % (uint64_t)(GROUP * AT_ONCE) == 0)
			say("written", number + GROUP * AT_ONCE, 0);
		for (unsigned i = 0; rc == 0 && i < GROUP; i++) {
			fill(blocks[(number + i) % KEPT], number + i);
			rc = weir_ordered_write(volume, blocks[(number + i) % KEPT], BLOCK, (number + i) * BLOCK,
			    i + 1 == GROUP ? flags | WEIR_GROUP_END : 0, NULL);
			if (rc == -11 && i > 0 && weir_ordered_poll(volume, 1000) >= 0) {
				i--;
				rc = 0;
			}
		}
		number += rc == 0 ? GROUP : 0;
		if ((rc != 0 && rc != -11) || weir_ordered_poll(volume, rc == 0 ? 0 : 1000) < 0)
			return fail("writing");
	}
	return weir_ordered_wait(volume, 0, -1) < 0 ? fail("waiting") : 0;
}

int
main(int argc, char **argv)
{
	struct weir_host_options host_options = WEIR_OPTIONS(weir_host_options);
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);
	struct weir_member members[TARGETS];
	struct weir_ordered *volume;
	struct weir_host *host;
	uint64_t began;

	if (argc < 4 || argc > 3 + TARGETS)
		return 2;
	host_options.hostnqn = "nqn.2026-11.example:ordered-host";
	options.stream = 9;
	options.stripe = 65536;
	options.durable = durable;
	if (weir_host_create(&host_options, &host) < 0)
		return fail("host");
	for (int i = 3; i < argc; i++) {
		if (weir_subsys_connect(host, argv[i], NULL, &members[i - 3].subsys) < 0)
			return fail(argv[i]);
		members[i - 3].nsid = 1;
	}
	began = now_us();
	if (weir_ordered_open(members, (unsigned)argc - 3, &options, &volume) < 0)
		return fail("opening");
	began = now_us() - began;
	if (verify(volume, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10)) != 0)
		return 1;
	durable_said = first;
	say("recovered", first, began);
	return write_on(volume);
}
