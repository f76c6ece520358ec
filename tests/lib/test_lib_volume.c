/* Volumes: bytes of any length, many threads, and a size that changes. */
#include "lib_bench.h"
#include "narrow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { MIB = 1024 * 1024, SIZE = 64 * MIB };

struct bench {
	struct served served;
	struct weir_volume *volume;
};

static struct weir_volume *
open_volume(const char *uri, unsigned queues)
{
	struct weir_volume_options options = WEIR_OPTIONS(weir_volume_options);
	struct weir_volume *volume;

	options.queues = queues;
	must(weir_volume_open(uri, &options, &volume));
	return volume;
}

static int
set_up(void **state)
{
	static struct bench bench;

	served_start(&bench.served, "--ns", "mem:64M", NULL);
	bench.volume = open_volume(served_uri(&bench.served, ""), 0);
	*state = &bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	weir_volume_close(bench->volume);
	served_stop(&bench->served);
	served_clean();
	return 0;
}

static void
a_volume_says_what_it_is(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(weir_volume_size(bench->volume), SIZE);
	assert_int_equal(weir_volume_block_size(bench->volume), 4096);
	assert_int_equal(weir_volume_nsid(bench->volume), 1);
	assert_string_equal(weir_subsys_nqn(weir_volume_subsys(bench->volume)), SERVED_NQN);
}

static void
any_length_is_read_and_written(void **state)
{
	struct bench *bench = *state;
	static const size_t lengths[] = { 4096, 8192, MIB - 4096, MIB, MIB + 4096, 5 * MIB, 40 * MIB };
	uint8_t *data = malloc(40 * MIB);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t offset = i % 2 * 12288;

		bench_fill(data, lengths[i], offset, (uint32_t)i);
		if (i % 2 == 0)
			must(weir_volume_write(bench->volume, data, lengths[i], offset));
		else
			must(weir_volume_write_fua(bench->volume, data, lengths[i], offset));
		must(weir_volume_flush(bench->volume));
		memset(data, 0, lengths[i]);
		must(weir_volume_read(bench->volume, data, lengths[i], offset));
		bench_check(data, lengths[i], offset, (uint32_t)i);
	}
	must(weir_volume_read(bench->volume, NULL, 0, SIZE));
	free(data);
}

static void
what_is_no_range_of_it_is_refused(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[8192];

	must_fail(weir_volume_read(bench->volume, data, 100, 0), -EINVAL);
	must_say("read of 100 bytes at 0: not whole blocks of 4096 bytes");
	must_fail(weir_volume_write(bench->volume, data, 4096, 512), -EINVAL);
	must_fail(weir_volume_write(bench->volume, data, 8192, SIZE - 4096), -ERANGE);
	must_say("the volume has 67108864");
	must_fail(weir_volume_read(bench->volume, data, 4096, UINT64_MAX - 4095), -ERANGE);
	must_fail(weir_volume_copy(bench->volume, 0, 8192, 4096), -EINVAL);
	must_say("they overlap");
}

static void
zeros_and_copies_are_made_over_there(void **state)
{
	struct bench *bench = *state;
	uint8_t *data = malloc(20 * MIB), *zeros = calloc(1, 20 * MIB);

	bench_fill(data, 20 * MIB, 0, 9);
	must(weir_volume_write(bench->volume, data, 20 * MIB, 0));
	must(weir_volume_copy(bench->volume, 0, 20 * MIB, 30 * MIB));
	memset(data, 0, 20 * MIB);
	must(weir_volume_read(bench->volume, data, 20 * MIB, 30 * MIB));
	bench_check(data, 20 * MIB, 0, 9);
	must(weir_volume_zero(bench->volume, 10 * MIB, 30 * MIB, false));
	must(weir_volume_zero(bench->volume, 5 * MIB, 40 * MIB, true));
	must(weir_volume_trim(bench->volume, 5 * MIB, 45 * MIB));
	must(weir_volume_read(bench->volume, data, 20 * MIB, 30 * MIB));
	assert_memory_equal(data, zeros, 20 * MIB);
	must(weir_volume_read(bench->volume, data, 20 * MIB, 0));
	bench_check(data, 20 * MIB, 0, 9);
	free(data);
	free(zeros);
}

/* ---- threads ---- */

enum { THREADS = 16, PIECE = 128 * 1024 };

struct worker {
	struct weir_volume *volume;
	pthread_t thread;
	unsigned number;
};

static void *
work(void *arg)
{
	struct worker *worker = arg;
	uint64_t offset = worker->number * UINT64_C(2) * MIB;
	uint8_t *data = malloc(PIECE);

	for (uint32_t round = 1; round <= 60; round++) {
		size_t bytes = round % 4 == 0 ? PIECE : 4096;

		bench_fill(data, bytes, offset, round);
		must(weir_volume_write(worker->volume, data, bytes, offset));
		memset(data, 0, bytes);
		must(weir_volume_read(worker->volume, data, bytes, offset));
		bench_check(data, bytes, offset, round);
	}
	free(data);
	return NULL;
}

static void
use_from_threads(struct weir_volume *volume)
{
	struct worker workers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .volume = volume, .number = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

static void
more_threads_than_queues_take_turns(void **state)
{
	struct bench *bench = *state;
	struct weir_volume *volume = open_volume(served_uri(&bench->served, "?ns=1"), 3);

	use_from_threads(volume);
	weir_volume_close(volume);
	use_from_threads(bench->volume);
}

static void
fewer_queues_than_asked_for_will_do(void **state)
{
	struct bench *bench = *state;
	struct weir_host *host = bench_host();
	struct weir_subsys_options of_subsys = WEIR_OPTIONS(weir_subsys_options);
	struct weir_volume_options options = WEIR_OPTIONS(weir_volume_options);
	struct weir_volume *volume;

	of_subsys.queues = 2;
	options.subsys = &of_subsys;
	options.host = host;
	must(weir_volume_open(served_uri(&bench->served, "?ns=1"), &options, &volume));
	use_from_threads(volume);
	weir_volume_close(volume);
	weir_host_destroy(host);
}

static void
what_cannot_be_opened_says_why(void **state)
{
	struct bench *bench = *state;
	struct weir_volume_options options = WEIR_OPTIONS(weir_volume_options);
	struct weir_volume *volume;

	must_fail(weir_volume_open(served_uri(&bench->served, "?ns=2"), NULL, &volume), -ENODEV);
	must_say("no namespace 2; there is 1");
	must_fail(weir_volume_open("volume.img", NULL, &volume), -EINVAL);
	options.queues = 128;
	must_fail(weir_volume_open(served_uri(&bench->served, ""), &options, &volume), -EINVAL);
}

/* ---- a size that changes ---- */

static void
write_config(const char *path, const char *image, const char *size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "listeners:\n  - address: 127.0.0.1:0\nsubsystems:\n  - nqn: %s\n    namespaces:\n"
	    "      - nsid: 1\n        volume: file:%s\n        size: %s\n", SERVED_NQN, image, size);
	fclose(file);
}

static void
a_size_follows_changes(void **state)
{
	const char *config = served_file("weir.yaml"), *image = served_file("volume.img");
	static uint8_t data[4096];
	struct served served;
	struct weir_volume *volume;

	write_config(config, image, "16M");
	served_start(&served, "--config", config, "--control", "none", NULL);
	volume = open_volume(served_uri(&served, "?ns=1"), 0);
	assert_int_equal(weir_volume_size(volume), 16 * MIB);
	must_fail(weir_volume_write(volume, data, 4096, 16 * MIB), -ERANGE);
	write_config(config, image, "32M");
	served_signal(&served, SIGHUP);
	while (weir_volume_size(volume) != 32 * MIB)
		(void)weir_volume_read(volume, data, 4096, 0);
	must(weir_volume_write(volume, data, 4096, 16 * MIB));
	weir_volume_close(volume);
	served_stop(&served);
}

/* What one command may be is asked for each, and not when the volume is opened. */
static void
a_path_that_takes_less_at_once_may_come_later(void **state)
{
	struct bench *bench = *state;
	struct weir_volume *volume = open_volume(served_uri(&bench->served, ""), 1);
	struct weir_subsys *subsys = weir_volume_subsys(volume);
	struct weir_path_info paths[2] = { 0 };
	struct weir_namespace ns;
	uint8_t *data = malloc(5 * MIB);
	static struct narrow narrow; /* its threads may end a little later */

	narrow_start(&narrow, bench->served.port);
	must(weir_subsys_add_path(subsys, "127.0.0.1", narrow.port));
	do
		weir_subsys_paths(subsys, paths, 2);
	while (paths[1].state != WEIR_PATH_LIVE);
	must(weir_subsys_namespace(subsys, 1, &ns));
	assert_int_equal(ns.transfer_max, NARROW_BYTES);
	for (uint32_t i = 1; i <= 5; i++) {
		bench_fill(data, 5 * MIB, 0, i);
		must(weir_volume_write(volume, data, 5 * MIB, 0));
		memset(data, 0, 5 * MIB);
		must(weir_volume_read(volume, data, 5 * MIB, 0));
		bench_check(data, 5 * MIB, 0, i);
	}
	assert_int_equal(atomic_load(&narrow.large), 0);
	free(data);
	weir_volume_close(volume);
	narrow_stop(&narrow);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_volume_says_what_it_is),
		cmocka_unit_test(any_length_is_read_and_written),
		cmocka_unit_test(what_is_no_range_of_it_is_refused),
		cmocka_unit_test(zeros_and_copies_are_made_over_there),
		cmocka_unit_test(more_threads_than_queues_take_turns),
		cmocka_unit_test(fewer_queues_than_asked_for_will_do),
		cmocka_unit_test(what_cannot_be_opened_says_why),
		cmocka_unit_test(a_size_follows_changes),
		cmocka_unit_test(a_path_that_takes_less_at_once_may_come_later),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
