/*
 * Each allocation of the library fails in turn, and each descriptor is missing: what it was asked for fails and says
 * so, or goes well all the same, and nothing is left behind.
 */
#include "lib_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCK = 4096, AT_MOST = 5000 };

/* ---- allocations that fail; a sanitizer has its own ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HAS_SANITIZER 0
#endif

static atomic_long made, fails, kept;

#if !HAS_SANITIZER
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *block);

/* This one is the one. */
static bool
strikes(void)
{
	if (atomic_fetch_add(&made, 1) + 1 != atomic_load(&fails))
		return false;
	errno = ENOMEM;
	return true;
}

static void *
keep(void *block)
{
	if (block != NULL)
		atomic_fetch_add(&kept, 1);
	return block;
}

void *malloc(size_t bytes) { return strikes() ? NULL : keep(__libc_malloc(bytes)); }

void *calloc(size_t count, size_t bytes) { return strikes() ? NULL : keep(__libc_calloc(count, bytes)); }

void *aligned_alloc(size_t align, size_t bytes) { return strikes() ? NULL : keep(__libc_memalign(align, bytes)); }

void *
realloc(void *old, size_t bytes)
{
	if (strikes())
		return NULL;
	return old != NULL ? __libc_realloc(old, bytes) : keep(__libc_realloc(NULL, bytes));
}

void
free(void *block)
{
	if (block != NULL)
		atomic_fetch_sub(&kept, 1);
	__libc_free(block);
}
#endif

/* ---- all that is asked for ---- */

/* It went well, or failed and said why. */
static bool
well(int rc)
{
	if (rc < 0)
		assert_string_not_equal(weir_error(), "");
	return rc >= 0;
}

static void
use_queue(struct weir_subsys *subsys)
{
	static uint8_t data[BLOCK];
	const struct iovec iov = { data, BLOCK };
	struct weir_io io = { .op = WEIR_OP_WRITE, .nsid = 1, .lba = 3, .blocks = 1, .iov = &iov, .iov_count = 1 };
	struct weir_queue_options options = WEIR_OPTIONS(weir_queue_options);
	struct weir_queue *queue;

	options.depth = 4;
	if (!well(weir_queue_open(subsys, &options, &queue)))
		return;
	bench_fill(data, BLOCK, 3 * BLOCK, 5);
	if (well(weir_queue_run(queue, &io, NULL))) {
		io.op = WEIR_OP_READ;
		if (well(weir_queue_run(queue, &io, NULL)))
			bench_check(data, BLOCK, 3 * BLOCK, 5);
	}
	weir_queue_close(queue);
}

static void
use_volume(struct weir_host *host, const char *uri)
{
	static uint8_t data[BLOCK];
	struct weir_volume_options options = WEIR_OPTIONS(weir_volume_options);
	struct weir_volume *volume;

	options.host = host;
	options.queues = 2;
	if (!well(weir_volume_open(uri, &options, &volume)))
		return;
	(void)well(weir_volume_read(volume, data, BLOCK, 0));
	weir_volume_close(volume);
}

static void
told(void *arg, const struct weir_discovery *discovery)
{
	(void)arg;
	(void)discovery;
}

static void
use_discovery(struct weir_host *host, const char *service)
{
	struct weir_discovery discovery;
	struct weir_discovery_watch *watch;

	if (well(weir_discover(host, service, NULL, &discovery)))
		weir_discovery_free(&discovery);
	if (well(weir_discovery_watch(host, service, NULL, told, NULL, &watch)))
		weir_discovery_unwatch(watch);
}

static void
use_all(const struct served *served)
{
	struct weir_host_options options = WEIR_OPTIONS(weir_host_options);
	struct weir_subsys_options of_subsys = WEIR_OPTIONS(weir_subsys_options);
	const char *uri = served_uri(served, "?ns=1");
	uint32_t nsids[4];
	struct weir_host *host;
	struct weir_subsys *subsys;
	char service[64];

	options.hostnqn = SERVED_HOST;
	options.queues_max = 4;
	of_subsys.connect_ms = 2000;
	of_subsys.loss_ms = 2000;
	snprintf(service, sizeof(service), "nvme+tcp://127.0.0.1:%u", served->port);
	if (!well(weir_host_create(&options, &host)))
		return;
	if (well(weir_subsys_connect(host, uri, &of_subsys, &subsys))) {
		(void)well(weir_subsys_namespaces(subsys, 0, nsids, 4));
		use_queue(subsys);
		weir_subsys_disconnect(subsys);
	}
	use_volume(host, uri);
	use_discovery(host, service);
	weir_host_destroy(host);
}

static void
each_allocation_may_fail(void **state)
{
	const struct served *served = *state;
	long before, number = 0;

	if (HAS_SANITIZER)
		return; /* the allocations are its own; and cmocka's word for "skipped" is a failure in TAP */
	use_all(served); /* what is made once and kept for ever */
	before = atomic_load(&kept);
	do {
		atomic_store(&made, 0);
		atomic_store(&fails, ++number);
		use_all(served);
		atomic_store(&fails, 0);
		if (atomic_load(&kept) != before)
			fail_msg("allocation %ld failed, and then %ld more blocks were kept than before", number,
			    atomic_load(&kept) - before);
		assert_true(number < AT_MOST);
	} while (atomic_load(&made) >= number);
	assert_true(number > 50);
}

static unsigned
descriptors(unsigned most)
{
	unsigned count = 0;

	for (unsigned fd = 0; fd < most; fd++)
		count += fcntl((int)fd, F_GETFD) >= 0;
	return count;
}

static void
each_descriptor_may_be_missing(void **state)
{
	enum { ALL = 256 };
	const struct served *served = *state;
	unsigned before = descriptors(ALL);
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (unsigned left = 0; left < 40; left++) {
		const struct rlimit less = { before + left, limit.rlim_max };

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
		use_all(served);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(descriptors(ALL), before);
	}
}

static int
set_up(void **state)
{
	static struct served served;

	served_start(&served, "--ns", "mem:1M", NULL);
	*state = &served;
	return 0;
}

static int
tear_down(void **state)
{
	served_stop(*state);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_may_fail),
		cmocka_unit_test(each_descriptor_may_be_missing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
