/* Discovery: the log, referrals, and being told of changes. */
#include "lib_bench.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct bench {
	struct weir_host *host;
};

static int
set_up(void **state)
{
	static struct bench bench;

	bench.host = bench_host();
	*state = &bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	weir_host_destroy(bench->host);
	served_clean();
	return 0;
}

static const char *
service_of(const struct served *served)
{
	static char texts[4][64];
	static unsigned next;
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "nvme+tcp://127.0.0.1:%u", served->port);
	return text;
}

/* A target with subsystems called nqn.2026-11.local.weir:NAME0 ..., on listeners each, and referrals to ports. */
static const char *
config_with(const char *name, unsigned listeners, unsigned subsystems, const uint16_t *ports, unsigned count)
{
	char file[64];
	const char *path;
	FILE *out;

	snprintf(file, sizeof(file), "%s.yaml", name);
	path = served_file(file);
	out = fopen(path, "w");
	assert_non_null(out);
	fprintf(out, "listeners:\n");
	for (unsigned i = 0; i < listeners; i++)
		fprintf(out, "  - {name: number%u, address: 127.0.0.1:0}\n", i);
	fprintf(out, "subsystems:\n");
	for (unsigned i = 0; i < subsystems; i++)
		fprintf(out, "  - nqn: nqn.2026-11.local.weir:%s%u\n    namespaces:\n"
		    "      - {nsid: 1, volume: mem, size: 1M}\n", name, i);
	if (count > 0)
		fprintf(out, "referrals:\n");
	for (unsigned i = 0; i < count; i++)
		fprintf(out, "  - address: 127.0.0.1:%u\n", ports[i]);
	fclose(out);
	return path;
}

static const char *
config_of(const char *name, unsigned subsystems, const uint16_t *ports, unsigned count)
{
	return config_with(name, 1, subsystems, ports, count);
}

static unsigned
count_of(const struct weir_discovery *discovery, const char *nqn, unsigned level)
{
	unsigned count = 0;

	for (unsigned i = 0; i < discovery->count; i++)
		count += discovery->entries[i].subtype == WEIR_SUBTYPE_NVM && discovery->entries[i].level == level &&
		    strcmp(discovery->entries[i].subnqn, nqn) == 0;
	return count;
}

static void
a_service_tells_what_there_is(void **state)
{
	struct bench *bench = *state;
	struct weir_discovery discovery;
	struct weir_subsys *subsys;
	struct served served;
	char uri[512];

	served_start(&served, "--ns", "mem:1M", NULL);
	must(weir_discover(bench->host, service_of(&served), NULL, &discovery));
	assert_int_equal(count_of(&discovery, SERVED_NQN, 0), 1);
	for (unsigned i = 0; i < discovery.count; i++) {
		if (discovery.entries[i].subtype != WEIR_SUBTYPE_NVM)
			continue;
		assert_true(weir_discovered_uri(&discovery.entries[i], uri, sizeof(uri)) < sizeof(uri));
		must(weir_subsys_connect(bench->host, uri, NULL, &subsys));
		weir_subsys_disconnect(subsys);
	}
	weir_discovery_free(&discovery);
	assert_int_equal(discovery.count, 0);
	served_stop(&served);
}

/* It is larger than one command can be. */
static void
a_log_of_many_entries_is_read_whole(void **state)
{
	enum { LISTENERS = 16, SUBSYSTEMS = 64 };
	struct bench *bench = *state;
	struct weir_discovery discovery;
	struct served served;
	char nqn[64];

	served_start(&served, "--config", config_with("many", LISTENERS, SUBSYSTEMS, NULL, 0), "--control", "none",
	    NULL);
	must(weir_discover(bench->host, service_of(&served), NULL, &discovery));
	assert_true(discovery.count > LISTENERS * SUBSYSTEMS);
	for (unsigned i = 0; i < SUBSYSTEMS; i++) {
		snprintf(nqn, sizeof(nqn), "nqn.2026-11.local.weir:many%u", i);
		assert_int_equal(count_of(&discovery, nqn, 0), LISTENERS);
	}
	weir_discovery_free(&discovery);
	served_stop(&served);
}

/* Rewrites the configuration of one that runs, and has it read. */
static void
refer(struct served *served, const char *name, const uint16_t *ports, unsigned count)
{
	config_of(name, 1, ports, count);
	served_signal(served, SIGHUP);
}

static unsigned
referrals_of(struct weir_host *host, const struct served *served)
{
	struct weir_discovery discovery;
	unsigned count = 0;

	must(weir_discover(host, service_of(served), NULL, &discovery));
	for (unsigned i = 0; i < discovery.count; i++)
		count += discovery.entries[i].subtype == WEIR_SUBTYPE_REFERRAL;
	weir_discovery_free(&discovery);
	return count;
}

static void
referrals_are_followed_once_and_so_deep(void **state)
{
	struct bench *bench = *state;
	struct weir_discovery_options options = WEIR_OPTIONS(weir_discovery_options);
	struct weir_discovery discovery;
	struct served a, b, c;
	uint16_t back;

	served_start(&a, "--config", config_of("a", 1, NULL, 0), "--control", "none", NULL);
	served_start(&c, "--config", config_of("c", 1, &a.port, 1), "--control", "none", NULL);
	/* b leads to c, c to a, and a to b and to nobody. */
	served_start(&b, "--config", config_of("b", 1, &c.port, 1), "--control", "none", NULL);
	back = b.port;
	refer(&a, "a", (const uint16_t[]){ back, 1 }, 2);
	while (referrals_of(bench->host, &a) != 2)
		;
	must(weir_discover(bench->host, service_of(&a), NULL, &discovery));
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:a0", 0), 1);
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:b0", 1), 0);
	weir_discovery_free(&discovery);
	options.referrals = 1;
	must(weir_discover(bench->host, service_of(&a), &options, &discovery));
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:b0", 1), 1);
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:c0", 2), 0);
	weir_discovery_free(&discovery);
	options.referrals = 16;
	must(weir_discover(bench->host, service_of(&a), &options, &discovery));
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:a0", 0), 1);
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:b0", 1), 1);
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:c0", 2), 1);
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:a0", 3), 0);
	weir_discovery_free(&discovery);
	served_stop(&a);
	served_stop(&b);
	served_stop(&c);
}

/* Whoever is told of changes. */
struct ear {
	pthread_mutex_t lock;
	pthread_cond_t heard;
	unsigned times, entries;
};

static void
hear(void *arg, const struct weir_discovery *discovery)
{
	struct ear *ear = arg;

	pthread_mutex_lock(&ear->lock);
	ear->times++;
	ear->entries = 0;
	for (unsigned i = 0; i < discovery->count; i++)
		ear->entries += discovery->entries[i].subtype == WEIR_SUBTYPE_NVM;
	pthread_cond_broadcast(&ear->heard);
	pthread_mutex_unlock(&ear->lock);
}

static void
wait_for(struct ear *ear, unsigned times, unsigned entries)
{
	pthread_mutex_lock(&ear->lock);
	while (ear->times < times || ear->entries != entries)
		pthread_cond_wait(&ear->heard, &ear->lock);
	pthread_mutex_unlock(&ear->lock);
}

/* What a service tells depends on who asks: the host, or whom the URI names. */
static void
a_service_is_asked_by_whom_the_uri_names(void **state)
{
	struct bench *bench = *state;
	const char *guest = "nqn.2026-11.local.weir:guest", *path = served_file("guest.yaml");
	struct ear ear = { .lock = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER };
	struct weir_discovery_watch *watch;
	struct weir_discovery discovery;
	struct served served;
	char uri[256];
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fprintf(out, "listeners:\n  - {name: only, address: 127.0.0.1:0}\nsubsystems:\n"
	    "  - nqn: nqn.2026-11.local.weir:private\n    hosts: [\"%s\"]\n    namespaces:\n"
	    "      - {nsid: 1, volume: mem, size: 1M}\n", guest);
	fclose(out);
	served_start(&served, "--config", path, "--control", "none", NULL);
	must(weir_discover(bench->host, service_of(&served), NULL, &discovery));
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:private", 0), 0);
	weir_discovery_free(&discovery);
	snprintf(uri, sizeof(uri), "%s?hostnqn=%s", service_of(&served), guest);
	must(weir_discover(bench->host, uri, NULL, &discovery));
	assert_int_equal(count_of(&discovery, "nqn.2026-11.local.weir:private", 0), 1);
	weir_discovery_free(&discovery);
	must(weir_discovery_watch(bench->host, uri, NULL, hear, &ear, &watch));
	wait_for(&ear, 1, 1);
	weir_discovery_unwatch(watch);
	served_stop(&served);
}

static void
what_is_no_service_is_said(void **state)
{
	struct bench *bench = *state;
	struct weir_discovery discovery;

	must_fail(weir_discover(bench->host, "nvme+tcp://127.0.0.1:1", NULL, &discovery), -ECONNREFUSED);
	must_say("127.0.0.1");
	must_fail(weir_discover(bench->host, "nvme+tcp://127.0.0.1:1/" SERVED_NQN, NULL, &discovery), -EINVAL);
	must_say("names a subsystem");
}

static void
changes_are_told_and_a_service_that_is_back(void **state)
{
	struct bench *bench = *state;
	struct ear ear = { .lock = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER };
	struct weir_discovery_watch *watch;
	struct served served;
	unsigned times;

	served_start(&served, "--config", config_of("watched", 1, NULL, 0), "--control", "none", NULL);
	must(weir_discovery_watch(bench->host, service_of(&served), NULL, hear, &ear, &watch));
	wait_for(&ear, 1, 1);
	config_of("watched", 3, NULL, 0);
	served_signal(&served, SIGHUP);
	wait_for(&ear, 2, 3);
	times = ear.times;
	served_kill(&served);
	snprintf(served.args[0], sizeof(served.args[0]), "--listen");
	snprintf(served.args[1], sizeof(served.args[0]), "127.0.0.1:0");
	snprintf(served.args[2], sizeof(served.args[0]), "--ns");
	snprintf(served.args[3], sizeof(served.args[0]), "mem:1M");
	served.count = 4;
	served_again(&served);
	wait_for(&ear, times + 1, 1);
	weir_discovery_unwatch(watch);
	must(weir_discovery_watch(bench->host, service_of(&served), NULL, hear, &ear, &watch));
	must(weir_discovery_watch(bench->host, "nvme+tcp://127.0.0.1:1", NULL, hear, &ear, &watch));
	served_stop(&served);
	/* Both end with the host. */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_tells_what_there_is),
		cmocka_unit_test(a_log_of_many_entries_is_read_whole),
		cmocka_unit_test(referrals_are_followed_once_and_so_deep),
		cmocka_unit_test(a_service_is_asked_by_whom_the_uri_names),
		cmocka_unit_test(what_is_no_service_is_said),
		cmocka_unit_test(changes_are_told_and_a_service_that_is_back),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
