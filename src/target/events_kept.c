/*
 * events_kept.c - where the persistent events of a subsystem lie, with what its
 * SMART log counts.
 *
 * A file per subsystem, named by its identity; made when the subsystem is first
 * served, by whoever asks for that or else here, and not removed when that is over:
 * how many of those stay is the owner's affair.
 * doc/formats/events.md says what is in it.  Whatever changes is written soon and
 * durably, in the background: nobody waits for it, and what changes meanwhile goes
 * with the next image.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "target/events_log.h"

enum {
	FILE_LEN = TARGET_EVENTS_BYTES, PATH_LEN = TARGET_EVENTS_PATH,
	PAUSE_NS = 100 * 1000 * 1000, /* from one image to the next, whatever hosts do */
};

static_assert(FILE_LEN == EVENTLOG_SLOTS * EVENTLOG_SLOT_LEN, "both slots");
static_assert(PATH_LEN >= sizeof(((struct target *)NULL)->state_dir) + sizeof("/events/") + 36, "the longest");

void
target_events_path(const char *state_dir, const uint8_t identity[16], char path[TARGET_EVENTS_PATH])
{
	const uint8_t *u = identity;

	snprintf(path, PATH_LEN, "%s/events/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
	    state_dir, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
	    u[15]);
}

static void
path_of(const struct events_log *log, char path[PATH_LEN])
{
	target_events_path(log->core->target->state_dir, log->identity, path);
}

/* ---- writing ---- */

static void
complain(const struct events_log *log, int error)
{
	char path[PATH_LEN];

	path_of(log, path);
	core_log_storage(log->core, "the events of %s cannot be kept in %s: %s", log->nqn, path,
	    strerrordesc_np(error));
}

static void
written(struct file_io *io)
{
	struct events_log *log = io->owner;
	bool again = log->failed; /* it was tried twice */

	log->writing = false;
	log->failed = io->result != (int64_t)log->iov.iov_len;
	if (!log->failed)
		log->sequence++;
	else
		log->dirty = true;
	if (log->failed && !again)
		complain(log, io->result < 0 ? (int)-io->result : EIO);
	if (log->last && (!log->failed || again))
		events_ended(log);
	else if (log->dirty && (!log->failed || !again || log->log.clean))
		events_kept_changed(log);
}

static void
write_now(struct timer *timer)
{
	struct events_log *log = container_of(timer, struct events_log, timer);
	uint64_t sequence = log->sequence + 1;

	log->dirty = false;
	log->writing = true;
	log->last = log->ending && log->log.clean;
	log->written_ns = log->core->reactor->now_ns;
	log->kept_ms = events_uptime_ms(log);
	log->log.on_ms = log->log.on_ms_before + log->kept_ms;
	log->kept = log->log.now;
	log->iov = (struct iovec){ log->image, eventlog_encode(&log->log, log->identity, sequence, log->image) };
	log->io = (struct file_io){
		.op = FILE_WRITE, .durable = true, .offset = eventlog_slot(sequence), .iov = &log->iov, .iov_count = 1,
		.done = written, .owner = log,
	};
	log->core->reactor->world->file_submit(log->place->file, &log->io);
}

void
events_kept_changed(struct events_log *log)
{
	uint64_t now_ns = log->core->reactor->now_ns, due_ns = log->written_ns + PAUSE_NS;

	if (log->place == NULL)
		return;
	log->dirty = true;
	if (log->written_ns == 0 || due_ns < now_ns || log->ending)
		due_ns = now_ns;
	if (!log->writing && (!log->timer.armed || log->ending))
		timer_set(&log->core->reactor->timers, &log->timer, due_ns);
}

void
events_kept_again(struct events_log *log)
{
	if (log->dirty)
		events_kept_changed(log);
}

/* ---- reading ---- */

static int
decode(struct events_log *log, const uint8_t *slots, const char *path, char why[256])
{
	switch (eventlog_decode(slots, log->identity, &log->log, &log->sequence)) {
	case EVENTLOG_FRESH:
	case EVENTLOG_FOUND:
		return 0;
	case EVENTLOG_DAMAGED:
		log->damaged = true;
		return 0;
	case EVENTLOG_FOREIGN:
		snprintf(why, 256, "%.150s: events of another subsystem, or of a later version", path);
		return -EINVAL;
	}
	return -EINVAL;
}

static int
read_slots(struct events_log *log, const char *path, char why[256])
{
	uint8_t *slots = NULL;
	int64_t got = state_file_read(log->place, FILE_LEN, EVENTLOG_IMAGE_ALIGN, &slots);
	int rc = got < 0 ? (int)got : got < FILE_LEN ? -EIO : 0;

	if (rc != 0)
		snprintf(why, 256, "the events kept in %.150s cannot be read: %s", path, strerrordesc_np(-rc));
	else
		rc = decode(log, slots, path, why);
	if (got >= 0)
		state_file_read_end(log->place, slots);
	return rc;
}

int
events_kept_load(struct events_log *log, char why[256])
{
	char path[PATH_LEN];
	int rc;

	path_of(log, path);
	rc = state_file_open(log->place, path, FILE_LEN, EVENTLOG_IMAGE_ALIGN);
	if (rc == 0)
		return read_slots(log, path, why);
	snprintf(why, 256, "events cannot be kept in %.150s: %s", path, strerrordesc_np(-rc));
	return rc;
}

int
events_kept_loaded(struct events_log *log)
{
	char path[PATH_LEN];

	path_of(log, path);
	if (log->damaged)
		core_log(log->core, 0, "the events of %s in %s are damaged: they are lost, and begin anew", log->nqn,
		    path);
	return state_file_use(log->place);
}

/* ---- life ---- */

int
events_kept_make(struct events_log *log)
{
	struct target *target = log->core->target;

	if (target->state_dir[0] == '\0')
		return 0;
	log->timer.fire = write_now;
	log->image = arena_alloc_aligned(log->core->reactor->arena, EVENTLOG_SLOT_LEN, EVENTLOG_IMAGE_ALIGN);
	log->place = state_file_make(target);
	if (log->image == NULL || log->place == NULL)
		return -ENOMEM;
	log->next_new = target->events.fresh;
	target->events.fresh = log;
	return 0;
}

void
events_kept_close(struct events_log *log)
{
	timer_clear(&log->core->reactor->timers, &log->timer);
	if (log->place != NULL)
		state_file_close(log->place);
	arena_free(log->core->reactor->arena, log->image);
}
