/*
 * conform_fake.c - the world of memory (fakeworld.h) as conform.h has it.
 */
#include "blk_bench.h"
#include "conform_fake.h"

static void
begin(unsigned reactors)
{
	fakeworld_init(&fw, reactors);
	for (unsigned i = 0; i < reactors; i++)
		fw.reactors[i].on_mail = blk_mail;
}

static void
end(void)
{
	fakeworld_fini(&fw);
}

static struct reactor *
reactor_at(unsigned index)
{
	return &fw.reactors[index];
}

static void
wake(struct reactor *reactor)
{
	(void)reactor; /* all have a turn each time */
}

static void
turn(void)
{
	fake_turn(&fw);
}

const struct conform_world conform_fake = {
	.begin = begin, .end = end, .reactor = reactor_at, .wake = wake, .turn = turn,
};
