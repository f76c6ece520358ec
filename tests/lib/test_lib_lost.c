/*
 * What a user of the library sees of lost connections: nothing but time.
 *
 * The target is killed and started again under load; each I/O ends once and
 * well, and what was acknowledged is there.
 */
#include "lib_bench.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 4096, JOBS = 32, KILLS = 4 };

struct bench {
	struct served served;
	struct weir_host *host;
};

static int
set_up(void **state)
{
	static struct bench bench;
	char spec[256];

	snprintf(spec, sizeof(spec), "file:%s,size=64M", served_file("volume.img"));
	served_start(&bench.served, "--listen", "127.0.0.1:0", "--ns", spec, NULL);
	bench.host = bench_host();
	*state = &bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	weir_host_destroy(bench->host);
	served_stop(&bench->served);
	served_clean();
	return 0;
}

/* ---- a load that knows what must be where ---- */

struct load {
	struct weir_queue *queue;
	bool ending;
	unsigned long done;
	struct job {
		struct load *load;
		struct weir_io io;
		struct iovec iov;
		unsigned in_flight; /* 1, or 0 */
		uint32_t version;
		uint8_t data[BLOCK];
	} jobs[JOBS];
};

static void
submit(struct job *job)
{
	assert_int_equal(job->in_flight++, 0);
	must(weir_queue_submit(job->load->queue, &job->io));
}

static void
write_next(struct job *job)
{
	job->io.op = WEIR_OP_WRITE;
	bench_fill(job->data, BLOCK, job->io.lba * BLOCK, ++job->version);
	submit(job);
}

static void
job_done(void *arg, const struct weir_result *result)
{
	struct job *job = arg;
	struct load *load = job->load;

	assert_int_equal(result->error, 0);
	assert_int_equal(--job->in_flight, 0);
	load->done++;
	if (job->io.op == WEIR_OP_WRITE) {
		job->io.op = WEIR_OP_READ;
		memset(job->data, 0, BLOCK);
		submit(job);
		return;
	}
	bench_check(job->data, BLOCK, job->io.lba * BLOCK, job->version);
	if (!load->ending)
		write_next(job);
}

static void
load_start(struct load *load, struct weir_queue *queue)
{
	memset(load, 0, sizeof(*load));
	load->queue = queue;
	for (unsigned i = 0; i < JOBS; i++) {
		struct job *job = &load->jobs[i];

		job->load = load;
		job->iov = (struct iovec){ job->data, BLOCK };
		job->io = (struct weir_io){ .nsid = 1, .lba = i * 7, .blocks = 1, .iov = &job->iov, .iov_count = 1,
			.done = job_done, .arg = job };
		write_next(job);
	}
}

static void
load_until(struct load *load, unsigned long done)
{
	while (load->done < done)
		assert_true(weir_queue_poll(load->queue, -1) >= 0);
}

static void
load_end(struct load *load)
{
	load->ending = true;
	bench_drain(load->queue);
	for (unsigned i = 0; i < JOBS; i++)
		assert_int_equal(load->jobs[i].in_flight, 0);
}

static struct load load;

static unsigned
losses(const struct weir_subsys *subsys)
{
	struct weir_path_info paths[WEIR_PATHS_MAX];
	unsigned count = weir_subsys_paths(subsys, paths, WEIR_PATHS_MAX), sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += paths[i].losses;
	return sum;
}

/* Kills the target again and again under load. */
static void
kill_under_load(struct bench *bench, const char *uri, const struct weir_subsys_options *options)
{
	struct weir_subsys *subsys;
	struct weir_queue *queue;
	struct weir_queue_stats stats;

	must(weir_subsys_connect(bench->host, uri, options, &subsys));
	queue = bench_queue(subsys, JOBS);

	load_start(&load, queue);
	for (unsigned kill = 1; kill <= KILLS; kill++) {
		load_until(&load, load.done + 500);
		served_kill(&bench->served);
		served_again(&bench->served);
		load_until(&load, load.done + 500);
		assert_true(losses(subsys) >= kill);
	}
	load_end(&load);
	weir_queue_stats(queue, &stats);
	assert_true(stats.resent > 0);
	weir_queue_close(queue);
	weir_subsys_disconnect(subsys);
}

static void
a_target_that_is_killed_and_comes_back_is_not_noticed(void **state)
{
	struct bench *bench = *state;

	kill_under_load(bench, served_uri(&bench->served, "?ns=1"), NULL);
}

static void
nor_is_one_that_knows_no_fence(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);

	options.plain = true;
	options.kato_ms = 200;
	options.fence_margin_ms = 50;
	kill_under_load(bench, served_uri(&bench->served, "?ns=1"), &options);
}

static void
nor_is_one_with_two_paths(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	char uri[256];

	snprintf(uri, sizeof(uri), "nvme+tcp://127.0.0.1:%u,127.0.0.1:%u/%s?ns=1", bench->served.port,
	    bench->served.second, SERVED_NQN);
	kill_under_load(bench, uri, NULL);
	options.policy = WEIR_QUEUE_DEPTH;
	options.hdgst = options.ddgst = true;
	kill_under_load(bench, uri, &options);
}

/* It has all connections that are open now, does nothing, and ends with us at the latest. */
static pid_t
idle_child(void)
{
	pid_t parent = getpid(), child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return child;
}

static void
a_child_that_has_our_connections_changes_nothing(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys *subsys = bench_subsys(bench->host, &bench->served, NULL);
	struct weir_queue *queue = bench_queue(subsys, JOBS);
	pid_t child;

	load_start(&load, queue);
	load_until(&load, load.done + 500);
	child = idle_child();
	served_kill(&bench->served);
	served_again(&bench->served);
	load_until(&load, load.done + 500);
	load_end(&load);
	weir_queue_close(queue);
	weir_subsys_disconnect(subsys);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- queues that nobody looks at ---- */

struct two {
	struct weir_volume *volume;
	pthread_barrier_t both;
};

/* Reads while the other does, so that there are two queues. */
static void *
read_beside(void *arg)
{
	struct two *two = arg;
	uint8_t *data = malloc(8 * 1024 * 1024);

	for (unsigned i = 0; i < 8; i++) {
		pthread_barrier_wait(&two->both);
		must(weir_volume_read(two->volume, data, 8 * 1024 * 1024, 0));
	}
	free(data);
	return NULL;
}

struct writer {
	struct weir_volume *volume;
	pthread_mutex_t lock;
	bool ending;
	unsigned written;
};

static bool
note_written(struct writer *writer)
{
	bool ending;

	pthread_mutex_lock(&writer->lock);
	writer->written++;
	ending = writer->ending;
	pthread_mutex_unlock(&writer->lock);
	return !ending;
}

static unsigned
written(struct writer *writer)
{
	unsigned count;

	pthread_mutex_lock(&writer->lock);
	count = writer->written;
	pthread_mutex_unlock(&writer->lock);
	return count;
}

static void *
write_on(void *arg)
{
	struct writer *writer = arg;
	uint8_t *data = malloc(1024 * 1024);

	memset(data, 1, 1024 * 1024);
	do
		must(weir_volume_write(writer->volume, data, 1024 * 1024, 0));
	while (note_written(writer));
	free(data);
	return NULL;
}

/* As with a target that knows no FENCE: what was being written waits until all queues have let go of the connection. */
static void
a_volume_looks_after_queues_that_nobody_uses(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options of_subsys = WEIR_OPTIONS(weir_subsys_options);
	struct weir_volume_options options = WEIR_OPTIONS(weir_volume_options);
	struct two two;
	struct writer writer = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;
	struct weir_path_info path;

	of_subsys.plain = true;
	of_subsys.kato_ms = 200;
	of_subsys.fence_margin_ms = 50;
	of_subsys.loss_ms = 20000;
	options.host = bench->host;
	options.subsys = &of_subsys;
	must(weir_volume_open(served_uri(&bench->served, "?ns=1"), &options, &two.volume));
	pthread_barrier_init(&two.both, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, read_beside, &two), 0);
	read_beside(&two);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&two.both);

	writer.volume = two.volume;
	assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
	while (written(&writer) < 20)
		;
	served_kill(&bench->served);
	served_again(&bench->served);
	do
		weir_subsys_paths(weir_volume_subsys(two.volume), &path, 1);
	while (path.associations < 2);
	pthread_mutex_lock(&writer.lock);
	writer.ending = true;
	pthread_mutex_unlock(&writer.lock);
	pthread_join(thread, NULL);
	weir_volume_close(two.volume);
}

static void
a_target_that_stays_away_is_given_up(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct weir_subsys *subsys;
	struct weir_queue *queue;
	static uint8_t data[BLOCK];
	const struct iovec iov = { data, BLOCK };
	const struct weir_io io = { .op = WEIR_OP_READ, .nsid = 1, .blocks = 1, .iov = &iov, .iov_count = 1 };
	struct weir_result result;

	options.loss_ms = 300;
	subsys = bench_subsys(bench->host, &bench->served, &options);
	queue = bench_queue(subsys, 1);
	must(weir_queue_run(queue, &io, NULL));
	served_kill(&bench->served);
	must_fail(weir_queue_run(queue, &io, &result), -ETIMEDOUT);
	assert_int_equal(result.status, 0);
	served_again(&bench->served);
	while (weir_queue_run(queue, &io, NULL) != 0)
		; /* until it is back */
	weir_queue_close(queue);
	weir_subsys_disconnect(subsys);
}

/* The target is stopped, so that the command is under way until keep alive is not answered. */
static void
an_admin_command_that_is_lost_says_so(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	const struct weir_admin admin = { .opcode = 0x0a, .cdw10 = 0x07 };
	struct weir_subsys *subsys;
	struct weir_result result;
	struct weir_path_info path;

	options.kato_ms = 1000;
	subsys = bench_subsys(bench->host, &bench->served, &options);
	served_signal(&bench->served, SIGSTOP);
	must_fail(weir_subsys_admin(subsys, -1, &admin, &result), -ECONNRESET);
	assert_int_equal(result.error, -ECONNRESET);
	must_say("lost before the command was answered");
	served_signal(&bench->served, SIGCONT);
	do
		weir_subsys_paths(subsys, &path, 1);
	while (path.state != WEIR_PATH_LIVE);
	must(weir_subsys_admin(subsys, -1, &admin, &result));
	weir_subsys_disconnect(subsys);
}

/* Keep alive would not notice it for long. */
static void
an_admin_command_that_is_not_answered_is_given_up(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	const struct weir_admin admin = { .opcode = 0x0a, .cdw10 = 0x07, .timeout_ms = 300 };
	struct weir_subsys *subsys;
	struct weir_result result;
	struct weir_path_info path;
	uint8_t page[4096];

	options.kato_ms = 60000;
	options.io_timeout_ms = 400;
	subsys = bench_subsys(bench->host, &bench->served, &options);
	served_signal(&bench->served, SIGSTOP);
	must_fail(weir_subsys_admin(subsys, -1, &admin, &result), -ETIMEDOUT);
	assert_int_equal(result.error, -ETIMEDOUT);
	must_say("get features was not answered within 300 ms");
	served_signal(&bench->served, SIGCONT);
	do
		weir_subsys_paths(subsys, &path, 1);
	while (path.state != WEIR_PATH_LIVE);
	served_signal(&bench->served, SIGSTOP);
	must_fail(weir_subsys_identify(subsys, -1, 1, 0, 0, page), -ETIMEDOUT);
	must_say("identify was not answered within 400 ms");
	served_signal(&bench->served, SIGCONT);
	weir_subsys_disconnect(subsys);
}

static void
all_can_be_ended_while_the_target_is_away(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys *subsys = bench_subsys(bench->host, &bench->served, NULL);
	struct weir_queue *queue = bench_queue(subsys, 1);
	struct weir_path_info path;
	uint8_t page[4096];

	served_kill(&bench->served);
	do {
		(void)weir_queue_poll(queue, 1000);
		weir_subsys_paths(subsys, &path, 1);
	} while (path.state == WEIR_PATH_LIVE);
	must_fail(weir_subsys_identify(subsys, 0, 1, 0, 0, page), -ENOTCONN);
	must_say("path 0 is not live");
	must_fail(weir_subsys_identify(subsys, -1, 1, 0, 0, page), -ENOTCONN);
	must_say("no path is live");
	weir_queue_close(queue);
	weir_subsys_disconnect(subsys);
	served_again(&bench->served);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_is_killed_and_comes_back_is_not_noticed),
		cmocka_unit_test(nor_is_one_that_knows_no_fence),
		cmocka_unit_test(nor_is_one_with_two_paths),
		cmocka_unit_test(a_child_that_has_our_connections_changes_nothing),
		cmocka_unit_test(a_volume_looks_after_queues_that_nobody_uses),
		cmocka_unit_test(a_target_that_stays_away_is_given_up),
		cmocka_unit_test(an_admin_command_that_is_lost_says_so),
		cmocka_unit_test(an_admin_command_that_is_not_answered_is_given_up),
		cmocka_unit_test(all_can_be_ended_while_the_target_is_away),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
