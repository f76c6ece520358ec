/* Queues: each kind of I/O, buffers in pieces, limits, callbacks, one's own loop, many threads. */
#include "lib_bench.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

enum { BLOCK = 4096, BLOCKS = 64 * 1024 * 1024 / BLOCK };

struct bench {
	struct served served;
	struct weir_host *host;
	struct weir_subsys *subsys;
	struct weir_queue *queue;
};

static int
set_up(void **state)
{
	static struct bench bench;

	served_start(&bench.served, "--ns", "mem:64M", "--ns", "mem:1M", NULL);
	bench.host = bench_host();
	bench.subsys = bench_subsys(bench.host, &bench.served, NULL);
	bench.queue = bench_queue(bench.subsys, 0);
	*state = &bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	weir_queue_close(bench->queue);
	weir_subsys_disconnect(bench->subsys);
	weir_host_destroy(bench->host);
	served_stop(&bench->served);
	return 0;
}

static struct weir_io
io_of(enum weir_op op, uint64_t lba, uint32_t blocks, const struct iovec *iov, unsigned count)
{
	return (struct weir_io){ .op = (uint8_t)op, .nsid = 1, .lba = lba, .blocks = blocks, .iov = iov,
		.iov_count = (uint16_t)count };
}

/* One I/O of one buffer. */
static int
run(struct bench *bench, enum weir_op op, uint64_t lba, uint32_t blocks, void *data, size_t bytes)
{
	const struct iovec iov = { data, bytes };
	const struct weir_io io = io_of(op, lba, blocks, &iov, data != NULL);

	return weir_queue_run(bench->queue, &io, NULL);
}

static void
each_kind_does_what_it_says(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[8 * BLOCK], back[8 * BLOCK], zeros[8 * BLOCK];
	struct weir_range ranges[2] = { { 0, 2 }, { 4, 2 } };
	struct weir_io io;

	bench_fill(data, sizeof(data), 0, 1);
	must(run(bench, WEIR_OP_WRITE, 0, 8, data, sizeof(data)));
	must(run(bench, WEIR_OP_FLUSH, 0, 0, NULL, 0));
	must(run(bench, WEIR_OP_READ, 0, 8, back, sizeof(back)));
	assert_memory_equal(back, data, sizeof(data));
	must(run(bench, WEIR_OP_VERIFY, 0, 8, NULL, 0));
	must(run(bench, WEIR_OP_COMPARE, 0, 8, data, sizeof(data)));

	io = io_of(WEIR_OP_COPY, 100, 0, NULL, 0);
	io.ranges = ranges;
	io.range_count = 2;
	must(weir_queue_run(bench->queue, &io, NULL));
	must(run(bench, WEIR_OP_READ, 100, 4, back, 4 * BLOCK));
	assert_memory_equal(back, data, 2 * BLOCK);
	assert_memory_equal(back + 2 * BLOCK, data + 4 * BLOCK, 2 * BLOCK);

	must(run(bench, WEIR_OP_WRITE_ZEROES, 2, 2, NULL, 0));
	must(run(bench, WEIR_OP_READ, 0, 4, back, 4 * BLOCK));
	assert_memory_equal(back, data, 2 * BLOCK);
	assert_memory_equal(back + 2 * BLOCK, zeros, 2 * BLOCK);

	io = io_of(WEIR_OP_DEALLOCATE, 0, 0, NULL, 0);
	io.ranges = ranges;
	io.range_count = 2;
	must(weir_queue_run(bench->queue, &io, NULL));
	must(run(bench, WEIR_OP_READ, 0, 8, back, sizeof(back)));
	assert_memory_equal(back, zeros, 6 * BLOCK);
	assert_memory_equal(back + 6 * BLOCK, data + 6 * BLOCK, 2 * BLOCK);
}

static void
a_compare_that_differs_says_so(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[2 * BLOCK], back[BLOCK];
	struct iovec iov = { data, sizeof(data) };
	struct weir_io io = io_of(WEIR_OP_COMPARE_AND_WRITE, 200, 1, &iov, 1);
	struct weir_result result;

	bench_fill(data, BLOCK, 0, 1);
	bench_fill(data + BLOCK, BLOCK, 0, 2);
	must_fail(run(bench, WEIR_OP_COMPARE, 200, 1, data, BLOCK), -EILSEQ);
	must_fail(weir_queue_run(bench->queue, &io, &result), -EILSEQ);
	assert_int_equal(result.error, -EILSEQ);
	must(run(bench, WEIR_OP_WRITE, 200, 1, data, BLOCK));
	must(weir_queue_run(bench->queue, &io, &result));
	must(run(bench, WEIR_OP_READ, 200, 1, back, BLOCK));
	bench_check(back, BLOCK, 0, 2);
}

static void
buffers_may_be_of_any_pieces(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[16 * BLOCK], apart[16 * BLOCK + 200 * 3];
	struct iovec iov[200];
	size_t left = sizeof(data), at = 0;
	unsigned count = 0;
	struct weir_io io;

	for (; left > 0; count++) {
		size_t bytes = 40u * (count % 17 + 1) + count % 5;

		if (count == 199 || bytes > left)
			bytes = left;
		iov[count] = (struct iovec){ apart + at, bytes };
		at += bytes + count % 3;
		left -= bytes;
	}
	bench_fill(data, sizeof(data), 300 * BLOCK, 7);
	for (size_t i = 0, from = 0; i < count; from += iov[i++].iov_len)
		memcpy(iov[i].iov_base, data + from, iov[i].iov_len);
	io = io_of(WEIR_OP_WRITE, 300, 16, iov, count);
	must(weir_queue_run(bench->queue, &io, NULL));
	memset(data, 0, sizeof(data));
	must(run(bench, WEIR_OP_READ, 300, 16, data, sizeof(data)));
	bench_check(data, sizeof(data), 300 * BLOCK, 7);
	memset(apart, 0, sizeof(apart));
	io.op = WEIR_OP_READ;
	must(weir_queue_run(bench->queue, &io, NULL));
	for (size_t i = 0, from = 0; i < count; from += iov[i++].iov_len)
		assert_memory_equal(iov[i].iov_base, data + from, iov[i].iov_len);
}

static void
what_cannot_be_right_is_not_taken_on(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[2 * BLOCK];
	struct iovec iov = { data, BLOCK }, wrapping[] = { { data, SIZE_MAX - BLOCK + 1 }, { data, 2 * BLOCK } };
	struct weir_io io = io_of(WEIR_OP_READ, 0, 2, &iov, 1);
	struct weir_result result;

	must_fail(weir_queue_run(bench->queue, &io, NULL), -EINVAL);
	must_say("cannot be right");
	io = io_of(WEIR_OP_READ, 0, 1, wrapping, 2);
	must_fail(weir_queue_run(bench->queue, &io, NULL), -EINVAL);
	io = io_of(WEIR_OP_READ, 0, 1, &iov, 1);
	io.nsid = 2;
	must_fail(weir_queue_run(bench->queue, &io, NULL), -EINVAL);
	io = io_of(WEIR_OP_COUNT, 0, 1, &iov, 1);
	must_fail(weir_queue_run(bench->queue, &io, NULL), -EINVAL);
	io = io_of(WEIR_OP_READ, 0, 1, &iov, WEIR_IOV_MAX + 1);
	must_fail(weir_queue_run(bench->queue, &io, NULL), -EINVAL);
	io = io_of(WEIR_OP_READ, BLOCKS, 1, &iov, 1);
	must_fail(weir_queue_run(bench->queue, &io, &result), -ERANGE);
	assert_int_equal(weir_queue_in_flight(bench->queue), 0);
}

/* There is no room for both of its commands, and none comes. */
static void
a_queue_of_one_takes_no_compare_and_write(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[2 * BLOCK];
	struct iovec iov = { data, sizeof(data) };
	struct weir_io io = io_of(WEIR_OP_COMPARE_AND_WRITE, 0, 1, &iov, 1);
	struct weir_queue *queue = bench_queue(bench->subsys, 1);

	must_fail(weir_queue_run(queue, &io, NULL), -EINVAL);
	must_say("two I/Os");
	iov.iov_len = BLOCK;
	io = io_of(WEIR_OP_READ, 0, 1, &iov, 1);
	must(weir_queue_run(queue, &io, NULL));
	weir_queue_close(queue);
}

static void
a_queue_is_waited_for_however_long_that_may_take(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct weir_subsys *subsys;

	options.connect_ms = UINT32_C(1) << 31;
	subsys = bench_subsys(bench->host, &bench->served, &options);
	weir_queue_close(bench_queue(subsys, 0));
	weir_subsys_disconnect(subsys);
}

static void
a_namespace_may_become_known_after_the_queue_was_opened(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[BLOCK];
	const struct iovec iov = { data, BLOCK };
	struct weir_io io = io_of(WEIR_OP_READ, 0, 1, &iov, 1);
	struct weir_namespace ns;

	io.nsid = 2;
	must_fail(weir_queue_run(bench->queue, &io, NULL), -EINVAL);
	must(weir_subsys_namespace(bench->subsys, 2, &ns));
	must(weir_queue_run(bench->queue, &io, NULL));
}

struct count {
	struct weir_queue *queue;
	struct weir_io io;
	unsigned done, again;
	int last;
};

static void
count_done(void *arg, const struct weir_result *result)
{
	struct count *count = arg;

	count->done++;
	count->last = result->error;
	if (count->again == 0)
		return;
	count->again--;
	must(weir_queue_submit(count->queue, &count->io));
	must_fail(weir_queue_poll(count->queue, 0), -EDEADLK);
	must_fail(weir_queue_run(count->queue, &count->io, NULL), -EDEADLK);
}

static void
callbacks_may_submit_and_not_poll(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[BLOCK];
	const struct iovec iov = { data, BLOCK };
	struct count count = { .queue = bench->queue, .io = io_of(WEIR_OP_READ, 1, 1, &iov, 1), .again = 100 };

	count.io.done = count_done;
	count.io.arg = &count;
	must(weir_queue_submit(bench->queue, &count.io));
	assert_int_equal(count.done, 0);
	bench_drain(bench->queue);
	assert_int_equal(count.done, 101);
	assert_int_equal(count.last, 0);
}

static void
a_queue_holds_as_many_as_it_says(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[4][BLOCK];
	struct weir_queue *queue = bench_queue(bench->subsys, 4);
	struct count count = { .queue = queue };
	struct weir_queue_stats stats;

	for (unsigned i = 0; i < 5; i++) {
		const struct iovec iov = { data[i % 4], BLOCK };
		static struct iovec kept[5];

		kept[i] = iov;
		count.io = io_of(WEIR_OP_READ, i, 1, &kept[i], 1);
		count.io.done = count_done;
		count.io.arg = &count;
		must_be(weir_queue_submit(queue, &count.io), i < 4 ? 0 : -EAGAIN, "submit", __FILE__, __LINE__);
	}
	assert_int_equal(weir_queue_in_flight(queue), 4);
	bench_drain(queue);
	assert_int_equal(count.done, 4);
	weir_queue_stats(queue, &stats);
	assert_int_equal(stats.ios, 4);
	assert_int_equal(stats.resent, 0);
	assert_true(stats.turns > 0 && stats.syscalls > 0);
	weir_queue_close(queue);
}

static void
what_is_in_flight_when_a_queue_closes_ends_then(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[8][BLOCK];
	static struct iovec iov[8];
	struct weir_queue *queue = bench_queue(bench->subsys, 8);
	struct count count = { .queue = queue };

	for (unsigned i = 0; i < 8; i++) {
		iov[i] = (struct iovec){ data[i], BLOCK };
		count.io = io_of(WEIR_OP_READ, i, 1, &iov[i], 1);
		count.io.done = count_done;
		count.io.arg = &count;
		must(weir_queue_submit(queue, &count.io));
	}
	weir_queue_close(queue);
	assert_int_equal(count.done, 8);
	assert_int_equal(count.last, -ESHUTDOWN);
}

static void
a_time_is_waited_for_and_no_longer(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(weir_queue_poll(bench->queue, 0), 0);
	assert_int_equal(weir_queue_poll(bench->queue, 1000), 0);
	assert_int_equal(weir_queue_poll(bench->queue, -1), 0);
}

/* Another loop than the library's: it sleeps until the descriptor says that there is something to do. */
static void
a_loop_of_ones_own_needs_the_descriptor_only(void **state)
{
	struct bench *bench = *state;
	static uint8_t data[BLOCK];
	const struct iovec iov = { data, BLOCK };
	struct count count = { .queue = bench->queue, .io = io_of(WEIR_OP_READ, 3, 1, &iov, 1) };

	count.io.done = count_done;
	count.io.arg = &count;
	for (unsigned round = 1; round <= 50; round++) {
		struct pollfd fd = { weir_queue_fd(bench->queue), POLLIN, 0 };

		must(weir_queue_submit(bench->queue, &count.io));
		while (count.done < round) {
			if (weir_queue_poll(bench->queue, 0) > 0)
				continue;
			assert_int_equal(poll(&fd, 1, 60 * 1000), 1);
		}
	}
	assert_int_equal(count.last, 0);
}

/* ---- threads ---- */

enum { THREADS = 8, DEPTH = 16, ROUNDS = 200 };

struct worker {
	struct bench *bench;
	struct weir_queue *queue;
	pthread_t thread;
	unsigned number, left, done, errors;
	struct job {
		struct worker *worker;
		struct iovec iov;
		uint64_t lba;
		uint32_t version;
		bool written;
		uint8_t data[BLOCK];
	} jobs[DEPTH];
};

static void next_job(struct job *job);

static void
job_done(void *arg, const struct weir_result *result)
{
	struct job *job = arg;
	struct worker *worker = job->worker;

	worker->done++;
	worker->errors += result->error != 0;
	if (!job->written)
		bench_check(job->data, BLOCK, job->lba * BLOCK, job->version);
	next_job(job);
}

/* Writes its block and reads it back, again and again. */
static void
next_job(struct job *job)
{
	struct worker *worker = job->worker;
	struct weir_io io;

	if (worker->left == 0)
		return;
	worker->left--;
	job->written = !job->written;
	if (job->written)
		bench_fill(job->data, BLOCK, job->lba * BLOCK, ++job->version);
	else
		memset(job->data, 0, BLOCK);
	io = io_of(job->written ? WEIR_OP_WRITE : WEIR_OP_READ, job->lba, 1, &job->iov, 1);
	io.done = job_done;
	io.arg = job;
	must(weir_queue_submit(worker->queue, &io));
}

static void *
work(void *arg)
{
	struct worker *worker = arg;

	worker->queue = bench_queue(worker->bench->subsys, DEPTH);
	worker->left = DEPTH * ROUNDS;
	for (unsigned i = 0; i < DEPTH; i++) {
		struct job *job = &worker->jobs[i];

		*job = (struct job){ .worker = worker, .lba = 1000 + worker->number * DEPTH + i };
		job->iov = (struct iovec){ job->data, BLOCK };
		next_job(job);
	}
	bench_drain(worker->queue);
	weir_queue_close(worker->queue);
	return NULL;
}

static void
each_thread_has_its_queue(void **state)
{
	static struct worker workers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .bench = *state, .number = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].done, DEPTH * ROUNDS);
		assert_int_equal(workers[i].errors, 0);
	}
}

static void
there_are_as_many_queues_as_the_host_may_have(void **state)
{
	struct bench *bench = *state;
	struct weir_host_options options = WEIR_OPTIONS(weir_host_options);
	struct weir_queue_options of_queue = WEIR_OPTIONS(weir_queue_options);
	struct weir_host *host;
	struct weir_subsys *subsys;
	struct weir_queue *queues[2], *third;

	options.queues_max = 2;
	must(weir_host_create(&options, &host));
	subsys = bench_subsys(host, &bench->served, NULL);
	queues[0] = bench_queue(subsys, 1);
	queues[1] = bench_queue(subsys, 1);
	must_fail(weir_queue_open(subsys, NULL, &third), -EAGAIN);
	must_say("2 queues are open");
	weir_queue_close(queues[0]);
	must(weir_queue_open(subsys, NULL, &third));
	of_queue.depth = 1025;
	must_fail(weir_queue_open(subsys, &of_queue, &queues[0]), -EINVAL);
	must_say("1024 at most");
	weir_host_destroy(host); /* with all that is open */
}

static void
there_are_as_many_queues_as_the_controller_grants(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct weir_subsys *subsys;
	struct weir_queue *queue, *second;

	options.queues = 1;
	subsys = bench_subsys(bench->host, &bench->served, &options);
	queue = bench_queue(subsys, 0);
	must_fail(weir_queue_open(subsys, NULL, &second), -EUSERS);
	weir_queue_close(queue);
	must(weir_queue_open(subsys, NULL, &second));
	weir_queue_close(second);
	weir_subsys_disconnect(subsys);
}

static void
digests_are_checked_on_the_way(void **state)
{
	struct bench *bench = *state;
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct bench other = *bench;
	static uint8_t data[64 * BLOCK];

	options.hdgst = options.ddgst = options.sq_flow = true;
	other.subsys = bench_subsys(bench->host, &bench->served, &options);
	other.queue = bench_queue(other.subsys, 0);
	bench_fill(data, sizeof(data), 2000 * BLOCK, 3);
	must(run(&other, WEIR_OP_WRITE, 2000, 64, data, sizeof(data)));
	memset(data, 0, sizeof(data));
	must(run(&other, WEIR_OP_READ, 2000, 64, data, sizeof(data)));
	bench_check(data, sizeof(data), 2000 * BLOCK, 3);
	weir_queue_close(other.queue);
	weir_subsys_disconnect(other.subsys);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_does_what_it_says),
		cmocka_unit_test(a_compare_that_differs_says_so),
		cmocka_unit_test(buffers_may_be_of_any_pieces),
		cmocka_unit_test(what_cannot_be_right_is_not_taken_on),
		cmocka_unit_test(a_queue_of_one_takes_no_compare_and_write),
		cmocka_unit_test(a_queue_is_waited_for_however_long_that_may_take),
		cmocka_unit_test(a_namespace_may_become_known_after_the_queue_was_opened),
		cmocka_unit_test(callbacks_may_submit_and_not_poll),
		cmocka_unit_test(a_queue_holds_as_many_as_it_says),
		cmocka_unit_test(what_is_in_flight_when_a_queue_closes_ends_then),
		cmocka_unit_test(a_time_is_waited_for_and_no_longer),
		cmocka_unit_test(a_loop_of_ones_own_needs_the_descriptor_only),
		cmocka_unit_test(each_thread_has_its_queue),
		cmocka_unit_test(there_are_as_many_queues_as_the_host_may_have),
		cmocka_unit_test(there_are_as_many_queues_as_the_controller_grants),
		cmocka_unit_test(digests_are_checked_on_the_way),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
