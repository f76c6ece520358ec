/*
 * test_tasters.c - who takes a read only in part, or owes the data of a write,
 * does not keep the memory from others, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster.h"
#include "hogs.h"

enum { TASTERS = 20, READS = 4, IOS = 200 };

static const uint64_t tenth = 100 * 1000 * 1000;

/* What the target says of the hogs. */
struct said {
	unsigned waited, unkept; /* closed because others waited for memory, or because there was none for a copy */
};

static const struct hogs few = { .count = 4, .asks = READS, .strangers = true, .hog = { { .kind = TASTER } } },
	many = { .count = TASTERS, .asks = READS, .strangers = true, .hog = { { .kind = TASTER } } },
	one_host = { .count = HOGS, .asks = 1, .hog = { { .kind = TASTER } } },
	invented = { .count = HOGS, .asks = 1, .strangers = true, .hog = { { .kind = TASTER } } },
	debtors = { .count = HOGS, .asks = 1, .strangers = true, .hog = { { .kind = DEBTOR } } },
	nobody = { .count = 0 };

static void
count_line(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	struct said *said = arg;

	(void)process;
	(void)reactor;
	(void)level;
	said->waited += strstr(text, "others wait for the memory") != NULL;
	said->unkept += strstr(text, "no buffer is free to keep it in") != NULL;
}

/* How long a host's work takes beside them, in tenths of a second: of nsid 1, as they do.  The stall timeout does not
 * help.  `first`: it begins before they do, and has brought data then. */
static uint64_t
work(const char *spec, uint32_t large, const struct hogs *kind, bool first, struct cluster_host host, struct said *said)
{
	struct cluster_target target = {
		.host = "10.0.0.1", .spec = spec, .reactors = 1, .stall_timeout_ms = 1000 * 1000,
	};
	struct sim_process_options hosts = { .start = cluster_host_start, .arg = &host };
	struct sim_process_options served = {
		.reactor = { 2304, large }, .start = cluster_target_start, .arg = &target, .address = "10.0.0.1",
	};
	struct sim_options options = sim_options_default();
	struct hogs *hogs = calloc(1, sizeof(*hogs));
	struct sim_process_options hog = { .start = hogs_start, .arg = hogs };
	uint64_t began = first ? 0 : 20, tenths = began;
	struct sim *sim;

	assert_non_null(hogs);
	*said = (struct said){ 0 };
	*hogs = *kind;
	for (unsigned i = 0; i < hogs->count; i++)
		hogs->hog[i].kind = kind->hog[0].kind;
	options.reset_ppm = 0;
	options.log = count_line;
	options.arg = said;
	sim = sim_create(1, &options);
	sim_process_create(sim, "target", 1, &served);
	if (!first) {
		sim_process_create(sim, "hogs", 1, &hog);
		sim_run_until(sim, tenths * tenth, NULL, NULL);
	}
	sim_process_create(sim, "host", 1, &hosts);
	if (first) {
		sim_run_until(sim, ++tenths * tenth, NULL, NULL);
		assert_true(host.done_ios > 0 && !host.finished);
		sim_process_create(sim, "hogs", 1, &hog);
	}
	while (!host.finished && tenths < 1000)
		sim_run_until(sim, ++tenths * tenth, NULL, NULL);
	assert_int_equal(host.failures + host.losses + host.wrong, 0);
	sim_destroy(sim);
	free(hogs);
	return tenths - began;
}

static uint64_t
work_beside(const char *spec, uint32_t large, const struct hogs *kind, uint32_t slot_bytes, struct said *said)
{
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = slot_bytes, .ios = IOS };

	return work(spec, large, kind, false, host, said);
}

/* They have all that may be had, and what they take comes to nothing: 13 KiB in a second, of 1 MiB. */
static void
who_takes_a_read_of_a_file_in_part_is_ended_when_others_wait(void **state)
{
	struct said said;

	(void)state;
	assert_in_range(work_beside("file:volume.img,size=64M", 256, &many, 64 * 1024, &said), 1, 160);
	assert_in_range(said.waited, 1, TASTERS);
}

/* What is kept for them is of a share of its own, which leaves something for everybody. */
static void
copies_for_who_takes_a_read_of_memory_in_part_keep_nothing_from_others(void **state)
{
	struct said said;

	(void)state;
	assert_in_range(work_beside("mem:64M", 256, &many, 64 * 1024, &said), 1, 15);
	assert_in_range(work_beside("mem:64M", 256, &many, 256 * 1024, &said), 1, 15);
}

static void
who_takes_reads_in_part_and_keeps_nobody_waiting_is_let_be(void **state)
{
	struct said said;

	(void)state;
	assert_in_range(work_beside("file:volume.img,size=64M", 256, &few, 64 * 1024, &said), 1, 15);
	assert_int_equal(said.waited + said.unkept, 0);
}

/* There is a place for a copy or two.  The blocks are what the host writes. */
static void
who_was_lent_blocks_that_others_wait_to_write_is_ended_at_once(void **state)
{
	struct said said;

	(void)state;
	assert_in_range(work_beside("mem:64M", 64, &many, 16 * 1024, &said), 1, 4);
	assert_in_range(said.unkept, 1, TASTERS);
	assert_in_range(work_beside("mem:64M", 64, &many, 256 * 1024, &said), 1, 4);
}

/* However many hosts he invents who asks: seven of them have what there is for a volume, and all of them stand before
 * it.  Once it has to wait, a second; then there is room. */
static void
who_brings_his_data_is_not_kept_waiting_by_strangers_who_do_not(void **state)
{
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = 64 * 1024, .ios = 100 * 1000 };
	uint64_t alone, beside;
	struct said said;

	(void)state;
	alone = work("mem:64M", 256, &nobody, true, host, &said);
	beside = work("mem:64M", 256, &debtors, true, host, &said);
	assert_in_range(alone, 10, 300);
	assert_in_range(beside - alone, 0, 20);
	assert_in_range(said.waited, 1, HOGS);
}

/* Eight of them have what there is for a volume.  What one host keeps leaves room for another one, which waits for
 * nothing; as many hosts as anybody invents keep others waiting once, a second. */
static void
who_takes_what_he_reads_is_not_kept_waiting_by_those_who_do_not(void **state)
{
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = 64 * 1024, .ios = 50 * 1000 };
	const char *spec = "file:volume.img,size=64M";
	uint64_t alone, beside;
	struct said said;

	(void)state;
	alone = work(spec, 256, &nobody, true, host, &said);
	beside = work(spec, 256, &one_host, true, host, &said);
	assert_in_range(beside, 10, alone + 3);
	beside = work(spec, 256, &invented, true, host, &said);
	assert_in_range(beside, 10, alone + 20);
	assert_in_range(said.waited, 1, HOGS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_a_read_of_a_file_in_part_is_ended_when_others_wait),
		cmocka_unit_test(copies_for_who_takes_a_read_of_memory_in_part_keep_nothing_from_others),
		cmocka_unit_test(who_takes_reads_in_part_and_keeps_nobody_waiting_is_let_be),
		cmocka_unit_test(who_was_lent_blocks_that_others_wait_to_write_is_ended_at_once),
		cmocka_unit_test(who_takes_what_he_reads_is_not_kept_waiting_by_those_who_do_not),
		cmocka_unit_test(who_brings_his_data_is_not_kept_waiting_by_strangers_who_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
