/* rt: files through io_uring and through threads, and where io_uring is forbidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt_files_bench.h"
#include "sandbox.h"

enum { FILE_BYTES = 8 << 20, PIECE = 16384, MANY = 1500 };

static void
write_punch_zero_and_read(enum rt_files files, const char *engine)
{
	struct rt *rt = files_open_rt(1, files);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint8_t *out = files_random_bytes(1 << 20, 1), *in = files_random_bytes(1 << 20, 2);
	struct stat before, after;
	struct file *file;

	MUST(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file) == 0);
	MUST(strcmp(rt_files_engine(reactor), engine) == 0);
	MUST(file->size == FILE_BYTES);
	MUST(files_move(file, FILE_READ, in, FILE_BYTES - (1 << 20), 1 << 20) == 1 << 20);
	MUST(files_is_zero(in, 1 << 20));
	MUST(files_move(file, FILE_WRITE, out, 1 << 20, 1 << 20) == 1 << 20);
	MUST(files_perform(file, (struct file_io){ .op = FILE_SYNC }) == 0);
	MUST(files_move(file, FILE_READ, in, 1 << 20, 1 << 20) == 1 << 20);
	MUST(memcmp(in, out, 1 << 20) == 0);
	MUST(stat(files_path, &before) == 0);
	MUST(files_perform(file, (struct file_io){
		.op = FILE_PUNCH, .offset = 1 << 20, .bytes = 256 << 10 }) == 256 << 10);
	MUST(files_perform(file, (struct file_io){
		.op = FILE_ZERO, .offset = (1 << 20) + (512 << 10), .bytes = 128 << 10 }) == 128 << 10);
	MUST(stat(files_path, &after) == 0);
	MUST(after.st_size == before.st_size);
	memset(out, 0, 256 << 10);
	memset(out + (512 << 10), 0, 128 << 10);
	MUST(files_move(file, FILE_READ, in, 1 << 20, 1 << 20) == 1 << 20);
	MUST(memcmp(in, out, 1 << 20) == 0);
	reactor->world->file_close(file);
	rt_destroy(rt);
	free(out);
	free(in);
}

static void
what_was_written_is_read_and_holes_are_zeros_with_io_uring(void **state)
{
	if (!sandbox_has_io_uring())
		return; /* not by skip(): what cmocka says of that is a failure in TAP */
	write_punch_zero_and_read(RT_FILES_URING, "io_uring");
}

static void
what_was_written_is_read_and_holes_are_zeros_with_threads(void **state)
{
	write_punch_zero_and_read(RT_FILES_THREADS, "threads");
}

static void
a_durable_write_is_one_request(void **state)
{
	static const enum rt_files both[] = { RT_FILES_URING, RT_FILES_THREADS };
	uint8_t *out = files_random_bytes(PIECE, 3);
	struct iovec iov = { out, PIECE };

	for (int i = sandbox_has_io_uring() ? 0 : 1; i < 2; i++) {
		struct rt *rt = files_open_rt(1, both[i]);
		struct reactor *reactor = rt_reactor(rt, 0);
		struct file *file;

		assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
		assert_int_equal(files_perform(file, (struct file_io){
			.op = FILE_WRITE, .durable = true, .iov = &iov, .iov_count = 1 }), PIECE);
		reactor->world->file_close(file);
		rt_destroy(rt);
	}
	free(out);
}

/* Though it may not be written, and somebody serves it. */
static void
what_is_only_to_be_known_is_loaded(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	const struct world_ops *world = reactor->world;
	int fd = open(files_path, O_WRONLY | O_TRUNC);
	struct arena arena;
	struct file *file;
	void *bytes;

	arena_init(&arena, 0);
	assert_int_equal(world->file_load(reactor, files_path, &arena, 10, &bytes), 0);
	assert_int_equal(write(fd, "what it is", 10), 10);
	close(fd);
	assert_int_equal(world->file_open(reactor, files_path, 0, 4096, &file), 0);
	assert_int_equal(chmod(files_path, 0400), 0);
	assert_int_equal(world->file_load(reactor, files_path, &arena, 10, &bytes), 10);
	assert_memory_equal(bytes, "what it is", 10);
	assert_int_equal(world->file_load(reactor, files_path, &arena, 9, &bytes), -EFBIG);
	assert_int_equal(chmod(files_path, 0600), 0);
	world->file_close(file);
	assert_int_equal(world->file_load(reactor, "/no/such/file", &arena, 9, &bytes), -ENOENT);
	assert_int_equal(world->file_load(reactor, "/dev", &arena, 9, &bytes), -EISDIR);
	assert_int_equal(world->file_load(reactor, "/dev/zero", &arena, 9, &bytes), -EINVAL);
	arena_drop(&arena);
	rt_destroy(rt);
}

static void
what_lies_in_a_file_is_fetched_before_anything_runs(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint8_t *out = files_random_bytes(3 * 4096, 1), *in = files_random_bytes(2 * 4096, 2);
	int fd = open(files_path, O_WRONLY);
	struct file *file;

	assert_int_equal(write(fd, out, 3 * 4096), 3 * 4096);
	close(fd);
	assert_int_equal(reactor->world->file_open(reactor, files_path, 0, 4096, &file), 0);
	assert_int_equal(reactor->world->file_fetch(file, 4096, in, 2 * 4096), 2 * 4096);
	assert_memory_equal(in, out + 4096, 2 * 4096);
	assert_int_equal(reactor->world->file_fetch(file, 2 * 4096, in, 2 * 4096), 4096);
	reactor->world->file_close(file);
	rt_destroy(rt);
	free(out);
	free(in);
}

static void
of_more_pieces_than_one_call_takes_those_that_fit_are_moved(void **state)
{
	static struct iovec iov[MANY];
	uint8_t *out = files_random_bytes((size_t)MANY * 4096, 6), *in = files_random_bytes((size_t)MANY * 4096, 7);
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file;

	assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
	for (int i = 0; i < MANY; i++)
		iov[i] = (struct iovec){ out + (size_t)i * 4096, 4096 };
	assert_int_equal(files_perform(file, (struct file_io){
		.op = FILE_WRITE, .iov = iov, .iov_count = MANY }), IOV_MAX * 4096);
	assert_int_equal(files_move(file, FILE_READ, in, 0, (size_t)IOV_MAX * 4096), IOV_MAX * 4096);
	assert_memory_equal(in, out, (size_t)IOV_MAX * 4096);
	reactor->world->file_close(file);
	rt_destroy(rt);
	free(out);
	free(in);
}

/* ---- many at once, from two reactors ---- */

struct many {
	struct reactor *reactor;
	struct file *file;
	uint8_t *bytes;
	unsigned done, writes;
	bool *finished; /* the other's */
	struct { struct file_io io; struct iovec iov; } all[MANY];
};

static void many_start(struct many *many, enum file_op op);

static void
many_done(struct file_io *io)
{
	struct many *many = io->owner;

	MUST(io->result == PIECE);
	if (++many->done < MANY)
		return;
	many->done = 0;
	if (io->op == FILE_WRITE) {
		memset(many->bytes, 0, (size_t)PIECE * MANY);
		many_start(many, FILE_READ);
	} else {
		many->reactor->world->post(many->reactor, 0, &(struct mail){ .kind = 1 });
	}
}

/* Places of the file repeat; what lies at one depends on the place alone.  Memory does not: two may be under way. */
static void
many_start(struct many *many, enum file_op op)
{
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t place = i % 256;
		struct file_io *io = &many->all[i].io;

		many->all[i].iov = (struct iovec){ many->bytes + (size_t)i * PIECE, PIECE };
		if (op == FILE_WRITE)
			memset(many->all[i].iov.iov_base, (int)place + 1, PIECE);
		*io = (struct file_io){
			.op = op, .offset = (many->reactor->index * 256 + place) * PIECE,
			.iov = &many->all[i].iov, .iov_count = 1, .done = many_done, .owner = many,
		};
		many->reactor->world->file_submit(many->file, io);
	}
}

static void
count_finished(struct reactor *reactor, const struct mail *mail)
{
	unsigned *finished = reactor->owner;

	if (++*finished == 2)
		rt_stop(rt_of(reactor));
}

static void
more_than_may_be_in_flight_wait_for_their_turn(void **state)
{
	static const enum rt_files both[] = { RT_FILES_URING, RT_FILES_THREADS };

	for (int k = sandbox_has_io_uring() ? 0 : 1; k < 2; k++) {
		struct rt *rt = files_open_rt(2, both[k]);
		struct many *many = calloc(2, sizeof(*many));
		unsigned finished = 0;

		assert_non_null(many);
		rt_reactor(rt, 0)->owner = &finished;
		rt_reactor(rt, 0)->on_mail = count_finished;
		for (unsigned i = 0; i < 2; i++) {
			struct reactor *reactor = many[i].reactor = rt_reactor(rt, i);

			many[i].bytes = files_random_bytes((size_t)PIECE * MANY, i);
			assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096,
			    &many[i].file), 0);
			many_start(&many[i], FILE_WRITE);
		}
		assert_int_equal(rt_run(rt), 0);
		assert_int_equal(finished, 2);
		for (unsigned i = 0; i < 2; i++) {
			for (unsigned p = 0; p < MANY; p++)
				for (unsigned b = 0; b < PIECE; b += 511)
					assert_int_equal(many[i].bytes[p * PIECE + b], (p % 256 + 1) & 0xff);
			rt_reactor(rt, i)->world->file_close(many[i].file);
			free(many[i].bytes);
		}
		free(many);
		rt_destroy(rt);
	}
}

/* ---- what goes wrong ---- */

static void
what_a_file_that_became_shorter_has_is_what_is_read(void **state)
{
	static const enum rt_files both[] = { RT_FILES_URING, RT_FILES_THREADS };
	uint8_t *in = files_random_bytes(1 << 20, 4);

	for (int i = sandbox_has_io_uring() ? 0 : 1; i < 2; i++) {
		struct rt *rt = files_open_rt(1, both[i]);
		struct reactor *reactor = rt_reactor(rt, 0);
		struct file *file;

		assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
		assert_int_equal(truncate(files_path, 64 << 10), 0);
		assert_int_equal(files_move(file, FILE_READ, in, 0, 1 << 20), 64 << 10);
		assert_int_equal(files_move(file, FILE_READ, in, 64 << 10, 64 << 10), 0);
		assert_int_equal(files_move(file, FILE_READ, in, 0, 64 << 10), 64 << 10);
		reactor->world->file_close(file);
		rt_destroy(rt);
	}
	free(in);
}

/* Direct I/O is in multiples of some hundred bytes everywhere. */
static void
blocks_too_small_for_direct_io_go_through_the_page_cache(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint8_t out[3] = "ab", in[3] = "";
	struct iovec from = { out, sizeof(out) }, to = { in, sizeof(in) };
	struct file *file;

	assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 1, &file), 0);
	assert_false(file->direct);
	assert_int_equal(file->align, 1);
	assert_int_equal(files_perform(file, (struct file_io){
	    .op = FILE_WRITE, .durable = true, .offset = 7, .iov = &from, .iov_count = 1 }), 3);
	assert_int_equal(files_perform(file, (struct file_io){
	    .op = FILE_READ, .offset = 7, .iov = &to, .iov_count = 1 }), 3);
	assert_string_equal((char *)in, "ab");
	reactor->world->file_close(file);
	rt_destroy(rt);
}

static void
find_it_busy(void)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file;

	MUST(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file) == -EBUSY);
	rt_destroy(rt);
}

static void
a_second_process_is_kept_out_and_a_second_reactor_is_not(void **state)
{
	struct rt *rt = files_open_rt(2, RT_FILES_AUTO);
	struct reactor *first = rt_reactor(rt, 0), *second = rt_reactor(rt, 1);
	struct file *a, *b;

	assert_int_equal(first->world->file_open(first, files_path, FILE_BYTES, 4096, &a), 0);
	assert_int_equal(second->world->file_open(second, files_path, 2 * FILE_BYTES, 4096, &b), 0);
	assert_int_equal(b->size, 2 * FILE_BYTES);
	first->world->file_close(a);
	sandbox_run(find_it_busy);
	second->world->file_close(b);
	assert_int_equal(first->world->file_open(first, files_path, FILE_BYTES, 4096, &a), 0);
	first->world->file_close(a);
	rt_destroy(rt);
}

static void
serve_without_io_uring(void)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	sandbox_forbid(SYS_io_uring_setup, EPERM);
	options.files = RT_FILES_URING;
	MUST(rt_create(&rt, &options) == -EPERM);
	write_punch_zero_and_read(RT_FILES_AUTO, "threads");
}

static void
without_io_uring_files_are_served_by_threads_unless_it_was_asked_for(void **state)
{
	sandbox_run(serve_without_io_uring);
}

/* More handles than a ring knows by heart, each used; and again after they were closed. */
static void
use_many_handles(void)
{
	enum { HANDLES = 70 };
	struct rt *rt = files_open_rt(1, RT_FILES_URING);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint8_t *out = files_random_bytes(8192, 6), *in = files_random_bytes(8192, 7);
	struct file *files[HANDLES];

	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < HANDLES; i++)
			MUST(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &files[i]) == 0);
		for (uint64_t i = 0; i < HANDLES; i++) {
			out[0] = (uint8_t)(i + (uint64_t)round);
			MUST(files_move(files[i], FILE_WRITE, out, i * 8192, 8192) == 8192);
			MUST(files_move(files[HANDLES - 1 - i], FILE_READ, in, i * 8192, 8192) == 8192);
			MUST(memcmp(in, out, 8192) == 0);
		}
		for (int i = 0; i < HANDLES; i++)
			reactor->world->file_close(files[i]);
	}
	rt_destroy(rt);
	free(out);
	free(in);
}

static void
any_number_of_handles_is_served_by_a_ring(void **state)
{
	if (sandbox_has_io_uring())
		use_many_handles();
}

static void
use_a_ring_that_keeps_nothing(void)
{
	sandbox_forbid(SYS_io_uring_register, EPERM);
	use_many_handles();
	write_punch_zero_and_read(RT_FILES_URING, "io_uring");
}

static void
where_files_cannot_be_registered_a_ring_serves_them_all_the_same(void **state)
{
	if (sandbox_has_io_uring())
		sandbox_run(use_a_ring_that_keeps_nothing);
}

static void
a_closed_file_is_free_for_others(void **state)
{
	struct rt *rt, *other;
	struct reactor *reactor;
	struct file *file;

	if (!sandbox_has_io_uring())
		return;
	rt = files_open_rt(1, RT_FILES_URING);
	other = files_open_rt(1, RT_FILES_URING);
	for (int i = 0; i < 3; i++) {
		reactor = rt_reactor(i % 2 == 0 ? rt : other, 0);
		assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
		reactor->world->file_close(file);
	}
	rt_destroy(rt);
	rt_destroy(other);
}

/* As often as it is asked, before and after others were written. */
static void
ask_for_too_many_zeros(void)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct file *file;

	MUST(rt_reactor(rt, 0)->world->file_open(rt_reactor(rt, 0), files_path, FILE_BYTES, 4096, &file) == 0);
	for (int i = 0; i < 4; i++) {
		struct file_io io = { .op = i % 2 ? FILE_ZERO : FILE_PUNCH, .bytes = FILE_ZEROS_MAX + 4096 };

		MUST(files_perform(file, io) == -E2BIG);
		io.bytes -= 4096;
		MUST(files_perform(file, io) == FILE_ZEROS_MAX);
	}
	rt_reactor(rt, 0)->world->file_close(file);
	rt_destroy(rt);
}

static void
serve_without_fallocate(void)
{
	sandbox_forbid(SYS_fallocate, EOPNOTSUPP);
	write_punch_zero_and_read(RT_FILES_THREADS, "threads");
	ask_for_too_many_zeros();
}

static void
where_holes_cannot_be_made_zeros_are_written(void **state)
{
	sandbox_run(serve_without_fallocate);
}

/* ---- the end ---- */

static void
never(struct file_io *io)
{
	abort();
}

static void
what_is_in_flight_at_the_end_is_waited_for(void **state)
{
	static const enum rt_files both[] = { RT_FILES_URING, RT_FILES_THREADS };

	for (int k = sandbox_has_io_uring() ? 0 : 1; k < 2; k++) {
		struct rt *rt = files_open_rt(1, both[k]);
		struct reactor *reactor = rt_reactor(rt, 0);
		uint8_t *out = files_random_bytes(PIECE, 5);
		struct iovec iov = { out, PIECE };
		struct file_io io[40];
		struct file *file;

		assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
		for (uint64_t i = 0; i < 40; i++) {
			io[i] = (struct file_io){
				.op = FILE_WRITE, .offset = i * PIECE, .iov = &iov, .iov_count = 1, .done = never,
			};
			reactor->world->file_submit(file, &io[i]);
		}
		rt_destroy(rt);
		free(out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(what_was_written_is_read_and_holes_are_zeros_with_io_uring),
		with_file(what_was_written_is_read_and_holes_are_zeros_with_threads),
		with_file(a_durable_write_is_one_request),
		with_file(what_is_only_to_be_known_is_loaded),
		with_file(what_lies_in_a_file_is_fetched_before_anything_runs),
		with_file(of_more_pieces_than_one_call_takes_those_that_fit_are_moved),
		with_file(more_than_may_be_in_flight_wait_for_their_turn),
		with_file(what_a_file_that_became_shorter_has_is_what_is_read),
		with_file(blocks_too_small_for_direct_io_go_through_the_page_cache),
		with_file(a_second_process_is_kept_out_and_a_second_reactor_is_not),
		with_file(without_io_uring_files_are_served_by_threads_unless_it_was_asked_for),
		with_file(where_holes_cannot_be_made_zeros_are_written),
		with_file(what_is_in_flight_at_the_end_is_waited_for),
		with_file(any_number_of_handles_is_served_by_a_ring),
		with_file(where_files_cannot_be_registered_a_ring_serves_them_all_the_same),
		with_file(a_closed_file_is_free_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
