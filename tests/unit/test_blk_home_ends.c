/*
 * test_blk_home_ends.c - of a device with a home: what goes together, and how it ends, in order and cut short.
 */
#include "blk/devices.h"
#include "blk_bench.h"
#include "lone.h"

enum { AWAY, HOME }; /* reactors, and their channels */

static struct blk *lone;

static void
begin(void)
{
	fakeworld_init(&fw, CHANS);
	for (unsigned i = 0; i < CHANS; i++)
		fw.reactors[i].on_mail = blk_mail;
	assert_int_equal(lone_open(&fw.reactors[0], HOME, BS, &lone), 0);
	assert_int_equal(home_open(&fw.reactors[0], HOME, lone, &blk), 0);
	blk_open_chans();
}

static void
close_chan(unsigned chan)
{
	blk->ops->close_chan(chans[chan]);
}

static void
end(void)
{
	blk->ops->destroy(blk);
	fakeworld_fini(&fw);
}

static void
what_comes_in_one_turn_is_one_mail(void **state)
{
	struct test_io *w[100];

	begin();
	for (unsigned i = 0; i < 100; i++)
		w[i] = write_start(AWAY, 0, i, 1, 'a');
	assert_int_equal(fw.mail_count[HOME], 0);
	reactor_turn(&fw.reactors[AWAY], fw.now_ns);
	assert_int_equal(fw.mail_count[HOME], 1);
	for (unsigned i = 0; i < 100; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	assert_block(99, 'a');
	w[0] = write_start(HOME, 0, 5, 1, 'b');
	reactor_turn(&fw.reactors[HOME], fw.now_ns);
	assert_int_equal(fw.mail_count[AWAY] + fw.mail_count[HOME], 0);
	io_ended(w[0], NVME_SC_SUCCESS);
	close_chan(AWAY);
	close_chan(HOME);
	end();
}

/* Reactors close their channels when they have nothing under way, in any order; some mail may be on its way then. */
static void
what_comes_when_the_home_has_closed_its_own_is_done_and_nothing_stays(void **state)
{
	struct test_io *w, *r;

	begin();
	w = write_start(AWAY, BLK_TRANSIENT, 7, 3, 'a');
	close_chan(HOME);
	assert_false(lone_is_open(lone));
	io_ended(w, NVME_SC_SUCCESS);
	turns(5);
	assert_false(lone_is_open(lone));
	r = io_start(AWAY, BLK_READ, BLK_MAY_LEND, 7, 3);
	turns(100);
	assert_bytes(r->iov[0].iov_base, 3 * BS, 'a');
	assert_true(lone_is_open(lone));
	io_release(r);
	assert_int_equal(chans[AWAY]->busy, 1);
	io_ended(r, NVME_SC_SUCCESS);
	turns(3);
	assert_int_equal(chans[AWAY]->busy, 0);
	assert_false(lone_is_open(lone));
	assert_int_equal(reactor_next(&fw.reactors[HOME]), UINT64_MAX);
	close_chan(AWAY);
	end();
}

static void
what_comes_when_the_home_has_no_memory_for_a_channel_fails(void **state)
{
	struct test_io *w;

	begin();
	close_chan(HOME);
	w = write_start(AWAY, 0, 7, 1, 'a');
	fw.arena.fail_at = 1;
	turns(3);
	assert_int_equal(fw.arena.fail_at, 0);
	io_ended(w, NVME_SC_INTERNAL);
	io_ended(write_start(AWAY, 0, 7, 1, 'b'), NVME_SC_SUCCESS);
	assert_block(7, 'b');
	close_chan(AWAY);
	end();
}

/* As a write says that would wait for it, without any mail. */
static void
assert_nothing_lent(uint64_t lba)
{
	struct test_io *w = write_start(HOME, 0, lba, 1, 'x');

	for (unsigned i = 0; w->done == 0 && i < 100; i++) {
		fw.now_ns += FAKE_TURN_NS;
		reactor_turn(&fw.reactors[HOME], fw.now_ns);
	}
	io_end(w);
}

/* After so many turns the reactors stop, and one caller closes all, in any order; mail is not delivered any more. */
static void
what_was_on_its_way_when_the_reactors_stopped_is_let_go(void **state)
{
	for (unsigned order = 0; order < 2; order++) {
		for (unsigned last = 0; last < 5; last++) {
			struct test_io *r, *w;

			begin();
			r = io_start(AWAY, BLK_READ, BLK_MAY_LEND, 7, 1);
			turns(100);
			w = write_start(AWAY, 0, 70, 1, 'a');
			turns(2);
			(void)blk->ops->cancel(chans[AWAY], &w->io);
			io_release(r);
			io_ended(r, NVME_SC_SUCCESS);
			while (w->done == 0)
				turns(1);
			io_end(w);
			r = io_start(AWAY, BLK_READ, BLK_MAY_LEND, 7, 1);
			turns(100);
			io_release(r);
			io_ended(r, NVME_SC_SUCCESS);
			turns(last);
			close_chan(order == 0 ? AWAY : HOME);
			if (order == 0)
				assert_nothing_lent(7);
			close_chan(order == 0 ? HOME : AWAY);
			assert_int_equal(reactor_next(&fw.reactors[AWAY]), UINT64_MAX);
			end();
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_in_one_turn_is_one_mail),
		cmocka_unit_test(what_comes_when_the_home_has_closed_its_own_is_done_and_nothing_stays),
		cmocka_unit_test(what_comes_when_the_home_has_no_memory_for_a_channel_fails),
		cmocka_unit_test(what_was_on_its_way_when_the_reactors_stopped_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
