/* rt: a device with a home, used by threads; destroyed by another one while they run, or when they have stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "blk/devices.h"
#include "lone.h"
#include "rt_files_bench.h"

enum { REACTORS = 3, HOME = 1, BS = 512, SLOTS = 24, STEPS = 4000, COUNTER = 4000 };
enum { MAIL_DONE = 1, MAIL_CLOSE, MAIL_CLOSED };
enum { CLOSE_AGAIN_NS = 100 * 1000 };

/* One I/O at a time: of a block of its own, or of the counter that all share. */
struct slot {
	struct user *user;
	struct blk_io io;
	struct iovec iov[2], expected;
	_Alignas(4096) uint8_t buffer[BS], want[BS], old[BS];
	bool under_way;
	uint64_t lba, value, seen; /* in its block; and of the counter */
};

struct user {
	struct play *play;
	struct reactor *reactor;
	struct blk_chan *chan;
	struct timer begin, close;
	struct rng rng;
	struct slot slots[SLOTS];
	unsigned left, idle;
	uint64_t won;
};

struct play {
	struct rt *rt;
	struct reactor *annex;
	struct blk *blk;
	struct errand destroy;
	bool stops;                /* where they are, when the last has done its work */
	unsigned done, closed;     /* of reactor 0, */
	uint64_t won;              /* and what the counter must be */
	bool destroyed;
	struct user users[REACTORS];
};

static void next(struct slot *slot);

static void
fill(uint8_t bytes[BS], uint64_t value)
{
	for (size_t i = 0; i < BS; i += sizeof(value))
		memcpy(bytes + i, &value, sizeof(value));
}

static uint64_t
value_of(const uint8_t bytes[BS])
{
	uint64_t value, other;

	memcpy(&value, bytes, sizeof(value));
	for (size_t i = 0; i < BS; i += sizeof(other)) {
		memcpy(&other, bytes + i, sizeof(other));
		MUST(other == value);
	}
	return value;
}

static void
tell(struct user *user, unsigned to, uint16_t kind)
{
	user->reactor->world->post(user->reactor, to, &(struct mail){ .kind = kind, .words = { user->won } });
}

static void
done(struct blk_io *io, struct nvme_status status)
{
	struct slot *slot = io->owner;
	struct user *user = slot->user;
	enum nvme_sc sc = nvme_sc(status);
	uint64_t read;

	switch (io->op) {
	case BLK_READ:
		if (sc == NVME_SC_ABORT_REQUESTED)
			break;
		MUST(sc == NVME_SC_SUCCESS);
		read = value_of(io->iov[0].iov_base);
		MUST(io->lba == COUNTER ? read >= slot->seen : read == slot->value);
		if (io->lba == COUNTER)
			slot->seen = read;
		break;
	case BLK_WRITE:
		MUST(sc == NVME_SC_SUCCESS || sc == NVME_SC_ABORT_REQUESTED);
		if (sc == NVME_SC_SUCCESS)
			slot->value++;
		break;
	default:
		MUST(sc == NVME_SC_SUCCESS || sc == NVME_SC_COMPARE || sc == NVME_SC_ABORT_REQUESTED);
		if (sc == NVME_SC_SUCCESS)
			user->won++;
		break;
	}
	if ((io->flags & BLK_LENT) != 0)
		user->chan->blk->ops->release(user->chan, io);
	user->chan->busy--;
	slot->under_way = false;
	next(slot);
}

static void
next(struct slot *slot)
{
	struct user *user = slot->user;
	unsigned dice = (unsigned)rng_below(&user->rng, 100);
	struct blk_io *io = &slot->io;

	if (user->left == 0) {
		if (++user->idle == SLOTS)
			tell(user, 0, MAIL_DONE);
		return;
	}
	user->left--;
	*io = (struct blk_io){
		.blocks = 1, .lba = dice % 2 == 0 ? COUNTER : slot->lba, .iov = slot->iov, .iov_count = 1, .done = done,
		.owner = slot,
	};
	slot->iov[0] = (struct iovec){ slot->buffer, BS };
	if (dice < 50) {
		io->op = BLK_READ;
		io->flags = dice < 40 ? BLK_MAY_LEND : 0;
	} else if (io->lba != COUNTER) {
		io->op = BLK_WRITE;
		fill(slot->buffer, slot->value + 1);
	} else {
		io->op = BLK_COMPARE_WRITE;
		fill(slot->want, slot->seen);
		fill(slot->buffer, slot->seen + 1);
		slot->expected = (struct iovec){ slot->want, BS };
		io->expected = &slot->expected;
		io->expected_count = 1;
		io->old = slot->old;
	}
	user->chan->busy++;
	slot->under_way = true;
	blk_submit(user->chan, io);
	slot = &user->slots[rng_below(&user->rng, SLOTS)]; /* at any time of its way */
	if (dice > 80 && slot->under_way)
		(void)user->chan->blk->ops->cancel(user->chan, &slot->io);
}

static void
begin(struct timer *timer)
{
	struct user *user = container_of(timer, struct user, begin);

	for (unsigned i = 0; i < SLOTS; i++)
		next(&user->slots[i]);
}

/* As a target does: each reactor when it has nothing under way. */
static void
close_chan(struct timer *timer)
{
	struct user *user = container_of(timer, struct user, close);

	if (user->chan->busy > 0) {
		timer_set(&user->reactor->timers, timer, user->reactor->now_ns + CLOSE_AGAIN_NS);
		return;
	}
	user->chan->blk->ops->close_chan(user->chan);
	tell(user, 0, MAIL_CLOSED);
}

/* Each who was told that he made the counter one more did, and nobody else. */
static void
counted(struct blk_io *io, struct nvme_status status)
{
	struct slot *slot = io->owner;
	struct user *user = slot->user;
	struct play *play = user->play;

	MUST(nvme_sc(status) == NVME_SC_SUCCESS && value_of(slot->buffer) == play->won);
	user->chan->busy--;
	if (play->stops)
		rt_stop(play->rt);
	for (unsigned i = 0; !play->stops && i < REACTORS; i++)
		tell(user, i, MAIL_CLOSE);
}

static void
count(struct slot *slot)
{
	slot->io = (struct blk_io){
		.op = BLK_READ, .blocks = 1, .lba = COUNTER, .iov = slot->iov, .iov_count = 1, .done = counted,
		.owner = slot,
	};
	slot->iov[0] = (struct iovec){ slot->buffer, BS };
	slot->user->chan->busy++;
	blk_submit(slot->user->chan, &slot->io);
}

static void
destroy(struct errand *errand)
{
	struct play *play = errand->owner;

	play->blk->ops->destroy(play->blk);
	play->annex->world->annex_close(play->annex);
}

static void
destroyed(struct errand *errand)
{
	struct play *play = errand->owner;

	play->destroyed = true;
	rt_stop(play->rt);
}

static void
on_mail(struct reactor *reactor, const struct mail *mail)
{
	struct user *user = reactor->owner;
	struct play *play = user->play;

	if (mail->kind >= BLK_MAIL) {
		blk_mail(reactor, mail);
	} else if (mail->kind == MAIL_CLOSE) {
		close_chan(&user->close);
	} else if (mail->kind == MAIL_CLOSED) {
		if (++play->closed == REACTORS)
			reactor->world->errand(reactor, &play->destroy);
	} else {
		play->won += mail->words[0];
		if (++play->done == REACTORS)
			count(&user->slots[0]);
	}
}

static void
user_init(struct play *play, unsigned index)
{
	struct user *user = &play->users[index];
	struct reactor *reactor = rt_reactor(play->rt, index);

	*user = (struct user){
		.play = play, .reactor = reactor, .left = STEPS, .begin = { .fire = begin },
		.close = { .fire = close_chan },
	};
	rng_seed(&user->rng, index);
	for (unsigned i = 0; i < SLOTS; i++) {
		user->slots[i].user = user;
		user->slots[i].lba = (uint64_t)index * SLOTS + i;
	}
	reactor->owner = user;
	reactor->on_mail = on_mail;
	MUST(play->blk->ops->open_chan(play->blk, reactor, &user->chan) == 0);
	timer_set(&reactor->timers, &user->begin, 0);
}

static void
run(struct play *play, bool stops)
{
	struct rt_options options = rt_options_default();
	struct blk *lone;

	alarm(100);
	options.reactors = REACTORS;
	options.reactor = (struct reactor_options){ 16, 16 };
	MUST(rt_create(&play->rt, &options) == 0);
	play->annex = rt_reactor(play->rt, 0)->world->annex_open(rt_reactor(play->rt, 0));
	MUST(play->annex != NULL);
	MUST(lone_open(play->annex, HOME, BS, &lone) == 0);
	MUST(home_open(play->annex, HOME, lone, &play->blk) == 0);
	play->destroy = (struct errand){ .run = destroy, .done = destroyed, .owner = play };
	play->stops = stops;
	for (unsigned i = 0; i < REACTORS; i++)
		user_init(play, i);
	assert_int_equal(rt_run(play->rt), 0);
	assert_int_equal(play->done, REACTORS);
	assert_true(play->won > 0);
}

static struct play play;

static void
threads_use_it_and_another_one_destroys_it_while_they_run(void **state)
{
	memset(&play, 0, sizeof(play));
	run(&play, false);
	assert_true(play.destroyed);
	rt_destroy(play.rt);
}

static void
when_threads_have_stopped_one_caller_closes_it(void **state)
{
	memset(&play, 0, sizeof(play));
	run(&play, true);
	for (unsigned i = 0; i < REACTORS; i++)
		play.blk->ops->close_chan(play.users[i].chan);
	destroy(&play.destroy);
	rt_destroy(play.rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_use_it_and_another_one_destroys_it_while_they_run),
		cmocka_unit_test(when_threads_have_stopped_one_caller_closes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
