/*
 * weir/ordered.h - writes that are there in their order after any crash, without waiting for one another.
 *
 *     weir_ordered_write(log, record, 8192, at, 0, NULL);
 *     weir_ordered_write(log, commit, 4096, at + 8192, WEIR_GROUP_END | WEIR_GROUP_DURABLE, &group);
 *     weir_ordered_wait(log, group, -1);
 *
 * An ordered volume lies in stripes over namespaces of one or several targets, which must have a log of ordered writes
 * (doc/ordered-writes.md).  What is written to it is a *stream* of groups: writes of a group have no order among
 * themselves, groups have.  All of them are sent at once.  After whatever crash of this program, of its machine, of
 * targets or of the network there is a last group: it and all before are there whole, and nothing of any after it is:
 * blocks that those wrote are deallocated.  It is never before one that was told durable.  (Rio: EuroSys 2023)
 *
 *     complete  all of the group, and of all groups before it, was answered
 *     durable   and no loss of power takes it away: the last group is not before it
 *
 * What a group writes is to be free before, as a log's end is: taking it back leaves nothing there.  A write to what
 * is not free is marked WEIR_IN_PLACE: it is not taken back but reported.  Blocks that are freed and written again
 * need a durable group between the two.  Whether writes overlap nobody checks.
 *
 * A stream has a number, and belongs to the host, by its name and identifier, not to a process: who opens it takes it
 * over, and whoever had it is told so (-ESTALE).  A server that is lost, or was started anew, is gone on with by
 * itself, and sent again what it lacks; until then nothing becomes complete that it has a part of.
 *
 * All of it is used by one thread at a time, as queues are (weir/queue.h), and a queue of each target is its own.
 * Offsets and lengths are bytes, multiples of the block size.
 */
#ifndef WEIR_ORDERED_H
#define WEIR_ORDERED_H

#include <weir/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_ordered;

enum { WEIR_MEMBERS_MAX = 64 };

/* A part of the volume.  Those of one target are to be given by the same `subsys`. */
struct weir_member {
	struct weir_subsys *subsys; /* all of one host; they stay connected meanwhile */
	uint32_t nsid;
};

/* A write in place, of a group after the last one: it may have been done, or in part, or not. */
struct weir_left {
	struct weir_subsys *subsys;
	uint32_t nsid;
	uint64_t lba;               /* in the namespace */
	uint32_t blocks;
};

struct weir_ordered_options {
	uint32_t size;
	uint16_t stream;            /* its number, among all of this host */
	uint8_t priority;           /* 0, served most, to 3, where hosts share a volume by turns */
	bool force;                 /* goes on with a stream of which a target has lost entries: then nothing is
	                             * promised of what was written before */
	uint32_t stripe;            /* bytes on one member, then on the next; 0: 64 KiB.  Not looked at where there is
	                             * one member */
	uint32_t pieces;            /* of writes that are kept until they are durable, 8 for each target to 65536;
	                             * 0: 1024.  A group has less than half of them.  A drive with a volatile cache
	                             * is flushed whenever a quarter of them were sent: the slower that is, the more
	                             * of them keep it busy meanwhile */
	uint32_t depth;             /* commands in flight to each target, 1 to 512; 0: 128 */
	uint32_t timeout_ms;        /* how long opening may take, and how long forgetting; 0: 60000 */
	struct weir_queue *with;    /* as of struct weir_queue_options */
	/*
	 * From weir_ordered_poll() and those who poll with it: all groups up to this one are complete; are durable.
	 * They may write, end and flush, nothing else.  NULL: nobody wants to know.
	 */
	void (*complete)(void *arg, uint64_t group);
	void (*durable)(void *arg, uint64_t group);
	/* From weir_ordered_open(), weir_ordered_recover() and weir_ordered_forget(), of each. */
	void (*left)(void *arg, const struct weir_left *left);
	void *arg;
};

/*
 * Recovers the stream, whatever has become of who had it before, and goes on behind its last group.  Blocks until each
 * target of the members has been asked, and has taken back what came after that.  0, or:
 *   -EINVAL      the members cannot be right: blocks of two sizes, two subsystems of one target, other hosts ...
 *   -EOPNOTSUPP  a target has no ordered writes
 *   -EIO         a target has lost entries of the stream (see `force`)
 *   -ETIMEDOUT   a target is not there: which groups are complete only all of them together know, so nothing has
 *                changed, or is done when it is opened again
 *   and those of weir_queue_open(), weir_subsys_namespace() and weir/status.h.
 * `members` are copied.  Which they are, in what order, and the stripe are to be the same each time: nobody checks.
 */
int weir_ordered_open(const struct weir_member *members, unsigned count, const struct weir_ordered_options *options,
    struct weir_ordered **ordered);

/* What is not durable may be gone; buffers are the caller's again.  Waits for admin commands that are under way, as
 * long as io_timeout_ms.  Not from a callback.  NULL is ignored. */
void weir_ordered_close(struct weir_ordered *ordered);

uint64_t weir_ordered_size(const struct weir_ordered *ordered);       /* bytes */
uint32_t weir_ordered_block_size(const struct weir_ordered *ordered); /* bytes */

/* ---- writing ---- */

enum weir_group_flags {
	WEIR_GROUP_END = 1,     /* it is the last write of its group */
	WEIR_GROUP_DURABLE = 2, /* and the group is to become durable by itself; only with WEIR_GROUP_END */
	WEIR_IN_PLACE = 4,      /* it writes over what is not free */
};

/*
 * Takes on a write, behind all that was taken on before; what lies behind one another is sent as one.  `data` stays as
 * it is until its group is durable: what a target loses is sent again.  Groups are numbered 1, 2, 3 ... since the
 * stream was opened; *group, which may be NULL, is the one it is of.  0, or:
 *   -EAGAIN    as many pieces are kept as may be: poll first, until some group is durable
 *   -E2BIG     its group would have more pieces than may be kept, or than targets guarantee
 *   -EINVAL    not whole blocks, or nothing; -ERANGE: beyond the end
 *   or why the stream has failed, see weir_ordered_poll().
 * Never blocks, never calls back.  Sent by the next poll.
 */
int weir_ordered_write(struct weir_ordered *ordered, const void *data, size_t bytes, uint64_t offset, unsigned flags,
    uint64_t *group);

/* Ends the group that has begun, if one has, with what it has; of `flags` only WEIR_GROUP_DURABLE says anything.  0,
 * or why the stream has failed. */
int weir_ordered_end(struct weir_ordered *ordered, unsigned flags);

/*
 * All that was written is to become durable; the group that has begun, when it ends.  *group, which may be NULL, is the
 * last one of that.  0; -EAGAIN: poll first; or why the stream has failed.  Groups become durable by themselves, but no
 * sooner than they have to: so that somebody who waits does not wait for long, he asks for it.
 */
int weir_ordered_flush(struct weir_ordered *ordered, uint64_t *group);

/*
 * Sends what was written, takes what has come, calls back.  `timeout_us` as of weir_queue_poll(): it waits until a
 * group is complete or durable.  1: some is, 0: none; -EDEADLK: it was called from a callback; or why the stream has
 * failed, which it does for good, and says each time from then on:
 *   -ESTALE    somebody else has opened it
 *   -EIO       a target has lost what was durable; or cannot write, which other errors may say more closely
 *   -ECONNRESET, -EPROTO ...  a target is there again and again, and not for long enough or not as agreed
 * A target that is away is no failure, however long that takes.  After a failure it is closed; what is there then says
 * who opens it again.
 */
int weir_ordered_poll(struct weir_ordered *ordered, int64_t timeout_us);

/* As weir_queue_fd(). */
int weir_ordered_fd(const struct weir_ordered *ordered);

/*
 * Its queue of the first member's target, for `with` of other queues and streams of this thread, and for
 * weir_queue_stats().  It goes with the stream.  Nothing else is to be submitted to it.
 */
struct weir_queue *weir_ordered_queue(const struct weir_ordered *ordered);

/*
 * Polls until that group, which has ended, is durable, and asks for it; 0: all that was written, and the group that has
 * begun ends.  0; -EINVAL: it has not ended, or there is no such group; -EBUSY: another one has begun, which is to end
 * first; -ETIMEDOUT: not in `timeout_us` (-1: for ever); or as weir_ordered_poll().  Signals do not end it.
 */
int weir_ordered_wait(struct weir_ordered *ordered, uint64_t group, int64_t timeout_us);

/*
 * Ends the stream, which nobody needs any more: waits until all that was written is durable, and all targets have
 * forgotten the stream; what it wrote stays.  A stream that is only closed its targets keep, for who opens it next, and
 * a host may have 64 at each.  (Of one that was forgotten a log has something until it was written twice round, at
 * most: until then it is one of those, unless the next one has its number; and a target that is started anew knows it
 * again.)
 * From the call on nothing can be written: -ESHUTDOWN.  0: it is over, and is to be closed; -ETIMEDOUT: not in
 * `timeout_us` (-1: for ever), and it may be called again; or it is closed, and who opens or recovers the stream finds
 * all of it; or as weir_ordered_poll().
 */
int weir_ordered_finish(struct weir_ordered *ordered, int64_t timeout_us);

struct weir_ordered_state {
	uint64_t written;          /* groups that have ended */
	uint64_t complete, durable; /* up to these */
	uint32_t last;             /* when it was opened: the last group that was there, as its targets count them */
	uint32_t pieces;           /* that are kept now */
	uint32_t targets, away;    /* how many there are; and with how many the stream does not go on now */
	uint64_t commands;         /* that were sent */
};

void weir_ordered_state(const struct weir_ordered *ordered, struct weir_ordered_state *state);

/* Blocks; others' callbacks come meanwhile.  What was complete before is read, of other writes anything.  0, or a
 * negative errno, as of weir_volume_read(); -EDEADLK: from a callback. */
int weir_ordered_read(struct weir_ordered *ordered, void *data, size_t bytes, uint64_t offset);

/* ---- for people ---- */

/* Does what opening does, and no more: *last is the last group that is there.  All targets that the stream was written
 * to, each once.  Of the options size, stream, force, timeout_ms, left and arg are looked at. */
int weir_ordered_recover(struct weir_subsys *const *targets, unsigned count, const struct weir_ordered_options *options,
    uint32_t *last);

/* It does that, and then has all of them forget the stream; -ETIMEDOUT may be of either.  Where only some have
 * forgotten it, later those that have not are to be named alone. */
int weir_ordered_forget(struct weir_subsys *const *targets, unsigned count, const struct weir_ordered_options *options,
    uint32_t *last);

/* The numbers of this host's streams that the target's log has anything of, but for those that it was to forget, in no
 * order, at most `max`.  How many, or a negative errno.  Blocks. */
int weir_ordered_streams(struct weir_subsys *target, uint16_t *streams, unsigned max);

#ifdef __cplusplus
}
#endif

#endif
