/* Hosts: who they are, their options, what fails and what it says. */
#include "lib_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/internal.h"

static void
a_host_says_who_it_is(void **state)
{
	struct weir_host_options options = WEIR_OPTIONS(weir_host_options);
	static const uint8_t id[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4c, 0xde, 0x8f, 0x01, 0x23, 0x45, 0x67,
		0x89, 0xab, 0xcd };
	struct weir_host *host;
	uint8_t got[16];

	options.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:01234567-89ab-4cde-8f01-23456789abcd";
	must(weir_host_create(&options, &host));
	assert_string_equal(weir_host_nqn(host), options.hostnqn);
	weir_host_id(host, got);
	assert_memory_equal(got, id, 16);
	weir_host_destroy(host);
	options.hostnqn = SERVED_HOST;
	options.hostid = "01234567-89AB-4cde-8f01-23456789abcd";
	must(weir_host_create(&options, &host));
	weir_host_id(host, got);
	assert_memory_equal(got, id, 16);
	weir_host_destroy(host);
	assert_string_equal(weir_version(), PROJECT_VERSION);
}

static void
two_hosts_of_a_process_are_the_same_where_nothing_else_is_said(void **state)
{
	struct weir_host *one, *other;
	uint8_t id[2][16];

	must(weir_host_create(NULL, &one));
	must(weir_host_create(NULL, &other));
	assert_string_equal(weir_host_nqn(one), weir_host_nqn(other));
	weir_host_id(one, id[0]);
	weir_host_id(other, id[1]);
	assert_memory_equal(id[0], id[1], 16);
	weir_host_destroy(one);
	weir_host_destroy(other);
	weir_host_destroy(NULL);
}

static void
write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
a_host_is_who_the_administrator_says(void **state)
{
	const char *etc = served_file("etc");
	char nqn[NVME_NQN_FIELD], made[NVME_NQN_FIELD], nvme[160];
	uint8_t id[16], made_id[16];

	assert_int_equal(mkdir(etc, 0700), 0);
	snprintf(nvme, sizeof(nvme), "%s/nvme", etc);
	assert_int_equal(mkdir(nvme, 0700), 0);
	write_file(etc, "machine-id", "0123456789abcdef0123456789abcdef\n");
	must(identity_find(etc, NULL, NULL, made, made_id));
	must(identity_find(etc, NULL, NULL, nqn, id));
	assert_string_equal(nqn, made);
	assert_memory_equal(id, made_id, 16);
	assert_int_equal(strncmp(nqn, "nqn.2014-08.org.nvmexpress:uuid:", 32), 0);
	write_file(etc, "nvme/hostnqn", "  nqn.2026-11.local.weir:admin \n");
	must(identity_find(etc, NULL, NULL, nqn, id));
	assert_string_equal(nqn, "nqn.2026-11.local.weir:admin");
	write_file(etc, "nvme/hostid", "00000000-0000-4000-8000-000000000001\n");
	must(identity_find(etc, NULL, NULL, nqn, id));
	assert_int_equal(id[15], 1);
	must(identity_find(etc, SERVED_HOST, NULL, nqn, id));
	assert_int_not_equal(id[6] << 8 | id[15], 0x4001);
	write_file(etc, "nvme/hostid", "me\n");
	must_fail(identity_find(etc, NULL, NULL, nqn, id), -EINVAL);
	must_say("/etc/nvme/hostid: 'me' is not a UUID");
}

static void
wrong_options_are_refused_in_words(void **state)
{
	struct weir_host_options options = WEIR_OPTIONS(weir_host_options);
	struct {
		struct weir_host_options options;
		uint32_t later;
	} newer = { { .size = sizeof(newer) }, 0 };
	struct weir_host *host;

	options.queues_max = 128;
	must_fail(weir_host_create(&options, &host), -EINVAL);
	must_say("queues_max is 128; it is 127 at most");
	options.queues_max = 0;
	options.hostnqn = "you and me";
	must_fail(weir_host_create(&options, &host), -EINVAL);
	must_say("hostnqn: 'you and me' is no name: 1 to 223 bytes without a space");
	options.size = 0;
	must_fail(weir_host_create(&options, &host), -EINVAL);
	must_say("options: its size is not set");
	must(weir_host_create(&newer.options, &host));
	weir_host_destroy(host);
	newer.later = 1;
	must_fail(weir_host_create(&newer.options, &host), -EINVAL);
	must_say("does not know all that is set");
}

static void
an_older_caller_has_the_defaults_of_what_it_lacks(void **state)
{
	struct weir_host_options options = { .size = offsetof(struct weir_host_options, hostnqn), .queues_max = 3 };
	struct weir_host *host;

	options.hostnqn = "me"; /* behind what it knows */
	must(weir_host_create(&options, &host));
	weir_host_destroy(host);
}

static void
what_cannot_be_reached_is_said(void **state)
{
	struct weir_host *host = bench_host();
	struct weir_subsys *subsys;

	must_fail(weir_subsys_connect(host, "nvme+tcp://127.0.0.1:1/" SERVED_NQN, NULL, &subsys), -ECONNREFUSED);
	must_say("127.0.0.1");
	must_say("refused");
	must_fail(weir_subsys_connect(host, "nvme+tcp://no-such-host.invalid/" SERVED_NQN, NULL, &subsys),
	    -EHOSTUNREACH);
	must_say("no-such-host.invalid: ");
	must_fail(weir_subsys_connect(host, "http://127.0.0.1/", NULL, &subsys), -EINVAL);
	must_fail(weir_subsys_connect(host, "nvme+tcp://127.0.0.1", NULL, &subsys), -EINVAL);
	must_say("it names no subsystem");
	weir_host_destroy(host);
}

static int
clean(void **state)
{
	served_clean();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_says_who_it_is),
		cmocka_unit_test(two_hosts_of_a_process_are_the_same_where_nothing_else_is_said),
		cmocka_unit_test(a_host_is_who_the_administrator_says),
		cmocka_unit_test(wrong_options_are_refused_in_words),
		cmocka_unit_test(an_older_caller_has_the_defaults_of_what_it_lacks),
		cmocka_unit_test(what_cannot_be_reached_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, clean);
}
