/* Subsystems: paths, namespaces, admin commands, and an end while things are open. */
#include "lib_bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weir/log.h>

struct bench {
	struct served served;
	struct weir_host *host;
	struct weir_subsys *subsys;
};

static int
set_up(void **state)
{
	static struct bench bench;

	served_start(&bench.served, "--listen", "127.0.0.1:0", "--ns", "mem:64M", "--ns", "mem:1M",
	    "--block-size", "512", NULL);
	bench.host = bench_host();
	bench.subsys = bench_subsys(bench.host, &bench.served, NULL);
	*state = &bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	weir_subsys_disconnect(bench->subsys);
	weir_host_destroy(bench->host);
	served_stop(&bench->served);
	return 0;
}

static void
its_paths_are_told(void **state)
{
	struct bench *bench = *state;
	struct weir_path_info paths[2];

	assert_string_equal(weir_subsys_nqn(bench->subsys), SERVED_NQN);
	assert_int_equal(weir_subsys_paths(bench->subsys, NULL, 0), 1);
	assert_int_equal(weir_subsys_paths(bench->subsys, paths, 2), 1);
	assert_int_equal(paths[0].state, WEIR_PATH_LIVE);
	assert_string_equal(paths[0].address.host, "127.0.0.1");
	assert_int_equal(paths[0].address.port, bench->served.port);
	assert_int_equal(paths[0].associations, 1);
	assert_int_equal(paths[0].losses, 0);
	assert_true(paths[0].fences);
	assert_true(paths[0].queues > 0);
	assert_string_equal(paths[0].why, "");
}

static void
its_namespaces_are_told(void **state)
{
	struct bench *bench = *state;
	uint32_t nsids[4];
	struct weir_namespace ns;

	assert_int_equal(weir_subsys_namespaces(bench->subsys, 0, nsids, 4), 2);
	assert_int_equal(nsids[0], 1);
	assert_int_equal(nsids[1], 2);
	assert_int_equal(weir_subsys_namespaces(bench->subsys, 2, nsids, 4), 1);
	assert_int_equal(nsids[0], 2);
	assert_int_equal(weir_subsys_namespaces(bench->subsys, 0, nsids, 1), 1);
	assert_int_equal(weir_subsys_namespaces(bench->subsys, 3, nsids, 4), 0);
	must(weir_subsys_namespace(bench->subsys, 2, &ns));
	assert_int_equal(ns.nsid, 2);
	assert_int_equal(ns.block_size, 512);
	assert_int_equal(ns.blocks, 1024 * 1024 / 512);
	assert_int_equal(ns.transfer_max, 1024 * 1024);
	assert_true(ns.compare_write_blocks > 0);
	must_fail(weir_subsys_namespace(bench->subsys, 3, &ns), -ENODEV);
	must_say("no namespace 3; there are 1, 2");
	must_fail(weir_subsys_namespace(bench->subsys, 0, &ns), -EINVAL);
}

static void
a_namespace_that_is_missing_is_said_at_once(void **state)
{
	struct bench *bench = *state;
	const char *uri = served_uri(&bench->served, "?ns=7");
	struct weir_subsys *subsys;

	must_fail(weir_subsys_connect(bench->host, uri, NULL, &subsys), -ENODEV);
	must_say(uri);
	must_say(": no namespace 7; there are 1, 2");
}

static void
its_controller_identifies_itself(void **state)
{
	struct bench *bench = *state;
	static uint8_t page[4096];
	struct weir_controller controller;

	must(weir_subsys_identify(bench->subsys, 0, 1, 0, 0, page));
	weir_controller_decode(page, 0x20000, &controller);
	assert_string_equal(controller.subnqn, SERVED_NQN);
	assert_int_equal(controller.namespaces >= 2, 1);
	must_fail(weir_subsys_identify(bench->subsys, 1, 1, 0, 0, page), -EINVAL);
	must_say("there is no path 1");
	must_fail(weir_subsys_identify(bench->subsys, -1, 0xee, 0, 0, page), -EINVAL);
}

static void
log_pages_come_in_one_piece(void **state)
{
	struct bench *bench = *state;
	uint8_t head[512], *whole = malloc(2 * 1024 * 1024), *part = malloc(4096);

	must(weir_subsys_log(bench->subsys, -1, 0x02, 0, 0xffffffff, 0, head, sizeof(head)));
	/* More than one command can have: the target gives zeros behind its entries. */
	must(weir_subsys_log(bench->subsys, 0, 0x01, 0, 0xffffffff, 0, whole, 64));
	must(weir_subsys_log(bench->subsys, -1, 0x05, 0, 0, 0, whole, 4096));
	must(weir_subsys_log(bench->subsys, -1, 0x05, 0, 0, 1024, part, 1024));
	assert_memory_equal(part, whole + 1024, 1024);
	must_fail(weir_subsys_log(bench->subsys, -1, 0x05, 0, 0, 0, whole, 6), -EINVAL);
	free(whole);
	free(part);
}

static void
any_admin_command_can_be_given(void **state)
{
	struct bench *bench = *state;
	struct weir_admin admin = { .opcode = 0x0a, .cdw10 = 0x07 }; /* Get Features, number of queues */
	struct weir_result result;

	must(weir_subsys_admin(bench->subsys, -1, &admin, &result));
	assert_int_equal(result.status, 0);
	assert_true((result.dw0 & 0xffff) > 0);
	admin.cdw10 = 0xdd;
	must_fail(weir_subsys_admin(bench->subsys, -1, &admin, &result), -EINVAL);
	assert_int_equal(result.status, 0x002 | WEIR_STATUS_DNR);
	assert_int_equal(result.error, -EINVAL);
	admin = (struct weir_admin){ .opcode = 0x7f };
	must_fail(weir_subsys_admin(bench->subsys, -1, &admin, NULL), -EINVAL);
	must_say("the library's own");
}

static void
wrong_options_are_refused_in_words(void **state)
{
	struct bench *bench = *state;
	const char *uri = served_uri(&bench->served, "");
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct weir_subsys *subsys;

	options.queues = 128;
	must_fail(weir_subsys_connect(bench->host, uri, &options, &subsys), -EINVAL);
	options.queues = 0;
	options.cntlid = 0xffff;
	must_fail(weir_subsys_connect(bench->host, uri, &options, &subsys), -EINVAL);
	options.cntlid = 0;
	options.policy = (enum weir_policy)2;
	must_fail(weir_subsys_connect(bench->host, uri, &options, &subsys), -EINVAL);
	must_say("policy");
}

/* ---- events ---- */

struct ear {
	pthread_mutex_t lock;
	pthread_cond_t heard;
	unsigned count[WEIR_EVENT_HEALTH + 1];
	struct weir_subsys **subsys;
	unsigned paths;
};

static struct ear ear = { .lock = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER };

static void
hear(void *arg, const struct weir_event *event)
{
	struct weir_namespace ns;

	assert_ptr_equal(arg, &ear);
	pthread_mutex_lock(&ear.lock);
	ear.count[event->kind]++;
	/* What may be called from here, and what may not. */
	if (ear.subsys != NULL) {
		ear.paths = weir_subsys_paths(*ear.subsys, NULL, 0);
		must_fail(weir_subsys_namespace(*ear.subsys, 1, &ns), -EDEADLK);
	}
	pthread_cond_broadcast(&ear.heard);
	pthread_mutex_unlock(&ear.lock);
}

static void
wait_for(enum weir_event_kind kind, unsigned count)
{
	pthread_mutex_lock(&ear.lock);
	while (ear.count[kind] < count)
		pthread_cond_wait(&ear.heard, &ear.lock);
	pthread_mutex_unlock(&ear.lock);
}

static void
a_path_can_be_added(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct weir_subsys *subsys;
	struct weir_path_info paths[2];

	options.event = hear;
	options.event_arg = &ear;
	subsys = bench_subsys(bench->host, &bench->served, &options);
	wait_for(WEIR_EVENT_PATH_UP, 1);
	pthread_mutex_lock(&ear.lock);
	ear.subsys = &subsys;
	pthread_mutex_unlock(&ear.lock);
	must_fail(weir_subsys_add_path(subsys, "127.0.0.1", bench->served.port), -EEXIST);
	must_fail(weir_subsys_add_path(subsys, "127.0.0.1", 0), -EINVAL);
	must_fail(weir_subsys_add_path(subsys, "no-such-host.invalid", 4420), -EHOSTUNREACH);
	must(weir_subsys_add_path(subsys, "localhost", bench->served.second));
	wait_for(WEIR_EVENT_PATH_UP, 2);
	assert_int_equal(ear.paths, 2);
	assert_int_equal(weir_subsys_paths(subsys, paths, 2), 2);
	assert_int_equal(paths[1].state, WEIR_PATH_LIVE);
	assert_int_equal(paths[1].address.port, bench->served.second);
	pthread_mutex_lock(&ear.lock);
	ear.subsys = NULL;
	pthread_mutex_unlock(&ear.lock);
	weir_subsys_disconnect(subsys);
}

static void
a_path_that_cannot_be_made_is_no_more_than_that(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys *subsys;
	struct weir_path_info paths[2];
	static uint8_t page[4096];
	char uri[256];

	snprintf(uri, sizeof(uri), "nvme+tcp://127.0.0.1:1,127.0.0.1:%u/" SERVED_NQN "?ns=1", bench->served.port);
	must(weir_subsys_connect(bench->host, uri, NULL, &subsys));
	assert_int_equal(weir_subsys_paths(subsys, paths, 2), 2);
	assert_int_not_equal(paths[0].state, WEIR_PATH_LIVE);
	assert_string_not_equal(paths[0].why, "");
	assert_int_equal(paths[1].state, WEIR_PATH_LIVE);
	must_fail(weir_subsys_identify(subsys, 0, 1, 0, 0, page), -ENOTCONN);
	must_say("path 0 is not live");
	must(weir_subsys_identify(subsys, 1, 1, 0, 0, page));
	must(weir_subsys_identify(subsys, -1, 1, 0, 0, page));
	weir_subsys_disconnect(subsys);
}

static void
a_host_may_have_any_name_in_the_uri(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys *subsys;

	must(weir_subsys_connect(bench->host, served_uri(&bench->served, "?hostnqn=nqn.2026-11.local.weir:other"), NULL,
	    &subsys));
	weir_subsys_disconnect(subsys);
}

/* ---- threads ---- */

static void *
ask_often(void *arg)
{
	struct bench *bench = arg;
	uint8_t page[4096];
	struct weir_namespace ns;

	for (unsigned i = 0; i < 100; i++) {
		must(weir_subsys_identify(bench->subsys, -1, 1, 0, 0, page));
		must(weir_subsys_namespace(bench->subsys, i % 2 + 1, &ns));
		assert_int_equal(weir_subsys_paths(bench->subsys, NULL, 0), 1);
	}
	return NULL;
}

static void
any_thread_may_ask(void **state)
{
	pthread_t threads[6];

	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, *state), 0);
	for (unsigned i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

static void
a_host_ends_with_all_that_is_open(void **state)
{
	struct bench *bench = *state;
	struct weir_host *host = bench_host();
	struct weir_subsys *subsys = bench_subsys(host, &bench->served, NULL);

	bench_subsys(host, &bench->served, NULL);
	bench_queue(subsys, 4);
	bench_queue(subsys, 4);
	weir_host_destroy(host);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_paths_are_told),
		cmocka_unit_test(its_namespaces_are_told),
		cmocka_unit_test(a_namespace_that_is_missing_is_said_at_once),
		cmocka_unit_test(its_controller_identifies_itself),
		cmocka_unit_test(log_pages_come_in_one_piece),
		cmocka_unit_test(any_admin_command_can_be_given),
		cmocka_unit_test(wrong_options_are_refused_in_words),
		cmocka_unit_test(a_path_can_be_added),
		cmocka_unit_test(a_path_that_cannot_be_made_is_no_more_than_that),
		cmocka_unit_test(a_host_may_have_any_name_in_the_uri),
		cmocka_unit_test(any_thread_may_ask),
		cmocka_unit_test(a_host_ends_with_all_that_is_open),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
