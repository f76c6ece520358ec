/*
 * reserve_kept.c - where reservations lie that survive a loss of power.
 *
 * A file per namespace, named by its UUID; it is made when there is first
 * something to keep, read when the volume becomes part of the target, both in
 * errands (state_file.h), and never removed.  doc/formats/reservations.md says what is in it and in which order
 * it is written.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "target/reserve.h"

enum { FILE_LEN = RESV_SLOTS * RESV_SLOT_LEN };

static void
path_of(const struct target *target, uint32_t slot, char path[RESERVE_PATH])
{
	const uint8_t *u = target->volumes[slot].uuid;

	snprintf(path, RESERVE_PATH,
	    "%s/reservations/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", target->state_dir,
	    u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

/* ---- whose state is whose ---- */

/* The first other volume whose state would lie in the same file, or TARGET_VOLUMES_MAX. */
static uint32_t
same_file(const struct target *target, uint32_t slot)
{
	const struct target_volume *volume = &target->volumes[slot];

	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++) {
		const struct target_volume *other = &target->volumes[i];

		if (i != slot && other->blk != NULL && other->keeps && memcmp(other->uuid, volume->uuid, 16) == 0)
			return i;
	}
	return TARGET_VOLUMES_MAX;
}

bool
target_keeps(const struct target *target, const struct blk *blk, uint8_t uuid[16])
{
	const struct target_volume *volume = &target->volumes[volume_slot(blk->number)];
	bool keeps = volume->blk == blk && volume->keeps;

	if (keeps)
		memcpy(uuid, volume->uuid, sizeof(volume->uuid));
	return keeps;
}

/* Whoever has the file, and has not closed it. */
static int
refuse_file(const struct target *target, uint32_t slot, uint32_t other, char why[256])
{
	bool leaving = target->volumes[other].left > 0;

	snprintf(why, 256, "%.120s has the UUID of another namespace%s", target->volumes[slot].blk->spec,
	    leaving ? ", which is being given up: try again" : "");
	return leaving ? -EBUSY : -EINVAL;
}

static int
name_volume(struct target *target, const struct view_ns *ns, char why[256])
{
	struct target_volume *volume = &target->volumes[volume_slot(ns->volume)];
	bool keeps = ns->info->rescap & NVME_RESCAP_PTPL;
	uint32_t other;

	if (volume->named && (keeps != volume->keeps || (keeps && memcmp(volume->uuid, ns->info->uuid, 16) != 0))) {
		snprintf(why, 256, "%.160s: its UUID cannot change while it is served: reservations are kept by it",
		    volume->blk->spec);
		return -EINVAL;
	}
	if (volume->named)
		return 0;
	volume->named = true;
	volume->keeps = keeps;
	memcpy(volume->uuid, ns->info->uuid, sizeof(volume->uuid));
	other = keeps ? same_file(target, volume_slot(ns->volume)) : TARGET_VOLUMES_MAX;
	return other != TARGET_VOLUMES_MAX ? refuse_file(target, volume_slot(ns->volume), other, why) : 0;
}

int
reserve_names(struct target *target, const struct view *view, char why[256])
{
	for (uint32_t i = 0; i < view->subsys_count; i++) {
		for (uint32_t k = 0; k < view->subsys[i].ns_limit; k++) {
			const struct view_ns *ns = &view->subsys[i].ns[k];
			int rc = ns->info != NULL ? name_volume(target, ns, why) : 0;

			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

/* ---- reading ---- */

static int
decode(struct reserve *reserve, const uint8_t (*slots)[RESV_SLOT_LEN], const char *path, char why[256])
{
	const struct target_volume *volume = &reserve->core->target->volumes[reserve->slot];

	switch (resv_decode(slots, volume->uuid, &reserve->copies[0], &reserve->sequence)) {
	case RESV_FRESH:
	case RESV_FOUND:
		return 0;
	case RESV_DAMAGED:
		snprintf(why, 256, "the reservations kept in %.150s are damaged; without the file there are none",
		    path);
		return -EUCLEAN;
	case RESV_FOREIGN:
		snprintf(why, 256, "%.150s: reservations of another namespace, or of a later version", path);
		return -EINVAL;
	}
	return -EINVAL;
}

/* A file that was made and not yet extended is as good as none; a shorter one was not made by us. */
static int
read_slots(struct reserve *reserve, const char *path, char why[256])
{
	uint8_t *slots = NULL;
	int64_t got = state_file_read(reserve->place, FILE_LEN, 4096, &slots);
	int rc = got < 0 ? (int)got : got < FILE_LEN ? -EUCLEAN : 0;

	if (rc != 0)
		snprintf(why, 256, "the reservations kept in %.120s cannot be read: %s", path,
		    got < 0 ? strerrordesc_np((int)-got) : "the file is too short");
	else
		rc = decode(reserve, (const void *)slots, path, why);
	if (got >= 0)
		state_file_read_end(reserve->place, slots);
	return rc;
}

int
reserve_load_begin(struct core *core, uint16_t slot, bool *reads)
{
	struct target_volume *volume = &core->target->volumes[slot];

	if (!volume->keeps)
		return 0;
	*reads = true;
	volume->reserve = reserve_make(core, slot);
	return volume->reserve != NULL ? 0 : -ENOMEM;
}

int
reserve_load(struct target *target, uint16_t slot, char why[256])
{
	struct reserve *reserve = target->volumes[slot].reserve;
	int rc;

	if (reserve == NULL)
		return 0;
	path_of(target, slot, reserve->path);
	rc = state_file_open(reserve->place, reserve->path, 0, RESV_SLOT_LEN);
	if (rc == 0)
		return reserve->place->held->size > 0 ? read_slots(reserve, reserve->path, why) : 0;
	if (rc == -ENOENT)
		return 0;
	snprintf(why, 256, "the reservations kept in %.120s cannot be read: %s", reserve->path, strerrordesc_np(-rc));
	return rc;
}

/* Of most there is nothing. */
int
reserve_loaded(struct target *target, uint16_t slot)
{
	struct reserve *reserve = target->volumes[slot].reserve;

	if (reserve == NULL)
		return 0;
	if (reserve->place->held != NULL && reserve->place->held->size > 0)
		return state_file_use(reserve->place);
	reserve_forget(target, slot);
	return 0;
}

/* ---- writing ---- */

static void
complain(const struct reserve *reserve, int error)
{
	char path[RESERVE_PATH];

	path_of(reserve->core->target, reserve->slot, path);
	core_log_storage(reserve->core, "reservations cannot be kept in %s: %s", path, strerrordesc_np(error));
}

static void written(struct file_io *io);

/* The next write: of those that format, and then of the state. */
static void
write_next(struct reserve *reserve)
{
	const struct target_volume *volume = &reserve->core->target->volumes[reserve->slot];
	uint64_t sequence = reserve->sequence + 1;
	struct resv empty;

	resv_init(&empty, true);
	resv_encode(sequence <= RESV_SEQUENCE_FORMATTED ? &empty : &reserve->copies[!reserve->current], volume->uuid,
	    sequence, reserve->image);
	reserve->iov = (struct iovec){ reserve->image, RESV_SLOT_LEN };
	reserve->io = (struct file_io){
		.op = FILE_WRITE, .durable = true, .offset = (uint64_t)resv_slot(sequence) * RESV_SLOT_LEN,
		.iov = &reserve->iov, .iov_count = 1, .done = written, .owner = reserve,
	};
	reserve->core->reactor->world->file_submit(reserve->place->file, &reserve->io);
}

static void
written(struct file_io *io)
{
	struct reserve *reserve = io->owner;
	bool failed = io->result != RESV_SLOT_LEN;

	if (reserve->sequence >= RESV_SEQUENCE_FORMATTED) /* those that format say nothing yet */
		reserve->doubt = failed;
	if (failed) {
		complain(reserve, io->result < 0 ? (int)-io->result : EIO);
		reserve_kept(reserve, false);
		return;
	}
	if (++reserve->sequence <= RESV_SEQUENCE_FORMATTED)
		write_next(reserve);
	else
		reserve_kept(reserve, true);
}

/* Its name and its length have to be durable before anything is written. */
static void
make(struct errand *errand)
{
	struct reserve *reserve = errand->owner;

	reserve->error = state_file_open(reserve->place, reserve->path, FILE_LEN, RESV_SLOT_LEN);
}

static void
made(struct errand *errand)
{
	struct reserve *reserve = errand->owner;

	if (reserve->error == 0)
		reserve->error = state_file_use(reserve->place);
	if (reserve->error == 0) {
		write_next(reserve);
		return;
	}
	complain(reserve, -reserve->error);
	reserve_kept(reserve, false);
}

void
reserve_keep(struct reserve *reserve)
{
	struct core *core = reserve->core;

	if (reserve->place->file != NULL) {
		write_next(reserve);
		return;
	}
	path_of(core->target, reserve->slot, reserve->path);
	reserve->errand = (struct errand){ .run = make, .done = made, .owner = reserve };
	core->reactor->world->errand(core->reactor, &reserve->errand);
}
