/*
 * home.h - a device that one reactor has, its home, and all reactors of the process use (home_open() of devices.h).
 *
 * A modelled drive, a scheduler, a hardware queue: what keeps a state of its own that is no matter of single blocks
 * cannot be used by all reactors at once, as memory and files are.  Such a device has one channel, on its home, and
 * need know of no other reactor.  What comes to it elsewhere is mailed there, all of a turn together, and what came of
 * it is mailed back; done() comes on the reactor of the channel.  On its home nothing stands in between.
 *
 * The I/Os of one channel come to the device in their order.  Whatever is on its way counts in the `busy` of its
 * channel, so a channel that is closed, and a device that is destroyed, has no mail any more; but where the reactors
 * have stopped mail may be left, which nobody will read.
 */
#ifndef WEIR_BLK_HOME_H
#define WEIR_BLK_HOME_H

#include "blk/devices.h"

enum {
	HOME_REQUESTS = 512,    /* of one channel, at the device or lent; others wait for theirs to end */
	HOME_LINES = 64,        /* of tenants, by their numbers */
	HOME_LOOK_NS = 1000000, /* so often it is seen whether anybody waits for what is lent to other reactors */
};

enum home_mail {
	HOME_GO = BLK_MAIL, /* to the home; words: the channel, the first of its notes */
	HOME_BACK,          /* and back to the channel; the same words, perhaps other notes */
};

/* In blk_io.flags, of an I/O that is not of the home: */
enum {
	HOME_WAITS = 0x0100, /* for a request to be free */
	HOME_AWAY = 0x0200,  /* it has one: number `at` */
};

/* What is said of a request.  Each is on its way, or at the other end, once at a time; all come back but the last. */
enum home_word {
	HOME_SUBMIT,  /* and back: it is over */
	HOME_CANCEL,  /* and back: it was asked to end */
	HOME_RELEASE, /* and back: it is lent no more */
	HOME_WANTED,  /* from the home: somebody waits for what it was lent */
	HOME_WORDS,
};

struct home_note {
	struct fifo_node node;
	enum home_word word;
	struct home_req *req;
};

/* One I/O of another reactor.  Its memory is the channel's; but what a note says belongs to who has the note. */
struct home_req {
	struct blk_io io;             /* the device below has it */
	struct home_note notes[HOME_WORDS];
	/* of the channel */
	struct home_chan *chan;
	struct home_req *next_free;
	uint8_t line;                 /* of whoever has it, or had it last */
	struct blk_io *outer;         /* for whom, until it is over and lent no more; NULL: nobody */
	bool cancelling;              /* CANCEL is not back */
	bool wanted;
	/* of the home */
	struct list lent;             /* in home->lent */
	bool begun;                   /* at the device, and not over */
};

/* A channel of a reactor that is not the home. */
struct home_chan {
	struct blk_chan chan;
	struct home *home;
	struct home_req *free;
	uint32_t free_count;
	struct home_line {            /* a tenant has no more requests than are free, */
		struct list waiting;  /* and then its I/Os wait: with HOME_WAITS */
		uint32_t taken;
	} lines[HOME_LINES];
	uint64_t waiting;             /* bit n: in line n somebody does */
	unsigned turn;                /* the line that is asked first */
	struct fifo going;            /* notes */
	struct task go;
	struct fifo finished;
	struct task collect;
	/* of the home */
	struct fifo back;             /* notes */
	struct task reply;
	struct home_req reqs[HOME_REQUESTS];
};

struct home {
	struct blk blk;
	struct blk *inner;
	unsigned index;
	/* of that reactor */
	struct reactor *reactor;
	struct blk_chan *chan;        /* open while it has a channel of its own, or anything is under way */
	uint32_t locals;              /* its own channels */
	uint32_t under_way;           /* of others: at the device, or lent */
	struct list lent;             /* to others; who was told already is not in it any more */
	struct timer look;
};

static inline struct home *
home_of(const struct blk *blk)
{
	return container_of(blk, struct home, blk);
}

/* What `blk` is, at its home; NULL: it has none. */
const struct blk *home_inner(const struct blk *blk);

/* The device's own channel, on its home; NULL: the channel is another reactor's. */
struct blk_chan *home_chan_here(struct blk_chan *chan);

/* The most that a home takes, with channels of so many reactors. */
size_t home_bytes(unsigned reactors);

/* The first of notes that go together, in a mail of the other reactor. */
static inline void
home_post(struct reactor *reactor, unsigned to, enum home_mail kind, const struct home_chan *hc,
    const struct fifo *notes)
{
	const struct mail mail = {
		.kind = (uint16_t)kind, .words = { (uintptr_t)hc, (uintptr_t)notes->head },
	};

	reactor->world->post(reactor, to, &mail);
}

static inline struct home_note *
home_next(struct home_note *note)
{
	return note->node.next != NULL ? container_of(note->node.next, struct home_note, node) : NULL;
}

/* home_inner.c, of the home's reactor: notes have come; a task that answers; and for who opens and closes channels: */
void home_notes(struct home_note *first, struct reactor *reactor);
void home_reply(struct task *task);
void home_look(struct timer *timer);
int home_open_inner(struct home *home, struct reactor *reactor) __attribute__((warn_unused_result));
void home_close_inner(struct home *home);
void home_rest(struct home *home);
void home_let_go(struct home *home, struct home_req *req);

#endif
