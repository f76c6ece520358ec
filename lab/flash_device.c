/*
 * flash_device.c - modelled drives for experiments, without contents: `flash:PROFILE,SIZE[,state=STATE][,seed=N]`,
 * where STATE is sequential or fragmented; else the drive is new.
 *
 * A drive as its profile says, or with one of the profile's times changed.  One reactor uses it.  A state takes seconds
 * to make and no time enters into it, so each is made once in this process.
 */
#include "flash_device.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "flash/condition.h"
#include "flash/drive.h"
#include "world/reactor.h"

enum { OVERWRITE = 300 /* percent of the drive, where it is fragmented */ };

/* ---- what is asked for ---- */

struct asked {
	struct flash_profile profile;
	struct condition condition;
	uint64_t bytes;
};

static bool
read_option(const char *option, struct asked *asked)
{
	struct condition *c = &asked->condition;
	uint64_t seed;
	char rest;

	if (sscanf(option, "seed=%" SCNu64 "%c", &seed, &rest) == 1) {
		c->seed = seed;
		return true;
	}
	for (c->kind = CONDITION_SEQUENTIAL; c->kind < CONDITIONS; c->kind++)
		if (strncmp(option, "state=", 6) == 0 && strcmp(option + 6, condition_names[c->kind]) == 0)
			return true;
	return false;
}

/* 0; -ENOENT: it is no such drive; -EINVAL, with `why`. */
static int
read_asked(const char *spec, struct asked *asked, char why[LAB_WHY])
{
	char text[BLK_SPEC], *rest = text, *part;
	struct arena arena;
	bool good;

	*asked = (struct asked){ .condition = { .kind = CONDITION_FRESH, .seed = 1 } };
	snprintf(text, sizeof(text), "%s", spec);
	part = strsep(&rest, ":");
	if (rest == NULL || strcmp(part, "flash") != 0)
		return -ENOENT;
	arena_init(&arena, 0);
	good = flash_profile_find(&arena, strsep(&rest, ","), &asked->profile) == 0;
	arena_drop(&arena);
	part = strsep(&rest, ",");
	good = good && part != NULL && size_parse(part, &asked->bytes);
	while (good && (part = strsep(&rest, ",")) != NULL)
		good = read_option(part, asked);
	if (asked->condition.kind != CONDITION_FRAGMENTED)
		asked->condition.seed = 0;
	else
		asked->condition.overwrite_percent = OVERWRITE;
	if (!good)
		snprintf(why, LAB_WHY, "%.160s: no drive that experiments know", spec);
	return good ? 0 : -EINVAL;
}

/* ---- the device ---- */

struct device {
	struct blk blk;
	struct reactor *reactor;
	struct drive *drive;
	struct timer timer;      /* when the drive wants to be called */
	struct fifo idle;
};

struct command {
	struct fifo_node node;   /* while it is idle */
	struct drive_cmd cmd;
	uint32_t range;          /* of a trim: the next one */
};

static struct device *
device_of(struct blk *blk)
{
	return container_of(blk, struct device, blk);
}

static void
arm(struct device *d)
{
	uint64_t at_ns = drive_next(d->drive);

	if (at_ns == UINT64_MAX)
		timer_clear(&d->reactor->timers, &d->timer);
	else
		timer_set(&d->reactor->timers, &d->timer, at_ns > d->reactor->now_ns ? at_ns : d->reactor->now_ns + 1);
}

/* All of an I/O, or the next range of a trim. */
static void
send(struct device *d, struct command *c)
{
	static const enum drive_op ops[] = {
		[BLK_READ] = DRIVE_READ, [BLK_WRITE] = DRIVE_WRITE, [BLK_FLUSH] = DRIVE_FLUSH,
		[BLK_WRITE_ZEROES] = DRIVE_WRITE, [BLK_TRIM] = DRIVE_TRIM,
	};
	struct blk_io *io = c->cmd.owner;
	struct blk_range range = { io->lba, io->blocks };

	assert(io->op < sizeof(ops) / sizeof(ops[0]));
	if (io->op == BLK_TRIM)
		range = io->ranges[c->range++];
	else if (io->op == BLK_FLUSH)
		range = (struct blk_range){ 0, 0 };
	c->cmd = (struct drive_cmd){
		.op = (uint8_t)ops[io->op], .fua = (io->flags & BLK_FUA) != 0, .owner = io,
		.offset = range.lba * d->blk.block_size, .bytes = (uint64_t)range.blocks * d->blk.block_size,
	};
	drive_submit(d->drive, &c->cmd, d->reactor->now_ns);
}

static void
submit(struct blk_chan *chan, struct blk_io *io)
{
	struct device *d = device_of(chan->blk);
	struct fifo_node *node = fifo_pop(&d->idle);
	struct command *c = node != NULL ? container_of(node, struct command, node) :
	    arena_alloc(d->reactor->arena, sizeof(*c));

	if (c == NULL)
		abort();
	c->cmd.owner = io;
	c->range = 0;
	send(d, c);
	arm(d);
}

static void
answer(struct timer *timer)
{
	struct device *d = container_of(timer, struct device, timer);
	struct drive_cmd *cmd;

	while ((cmd = drive_run(d->drive, d->reactor->now_ns)) != NULL) {
		struct command *c = container_of(cmd, struct command, cmd);
		struct blk_io *io = cmd->owner;

		if (io->op == BLK_TRIM && c->range < io->range_count) {
			send(d, c);
		} else {
			fifo_push(&d->idle, &c->node);
			io->done(io, NVME_OK);
		}
	}
	arm(d);
}

static bool
cancel(struct blk_chan *chan, struct blk_io *io)
{
	(void)chan;
	(void)io;
	return false;
}

static int
open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	assert(reactor == device_of(blk)->reactor);
	*chan = arena_alloc(reactor->arena, sizeof(**chan));
	if (*chan == NULL)
		return -ENOMEM;
	**chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	return 0;
}

static void
close_chan(struct blk_chan *chan)
{
	arena_free(chan->reactor->arena, chan);
}

static void
destroy(struct blk *blk)
{
	struct device *d = device_of(blk);

	timer_clear(&d->reactor->timers, &d->timer);
	drive_destroy(d->drive);
	arena_free(blk->arena, d);
}

static const struct blk_ops device_ops = {
	.open_chan = open_chan, .submit = submit, .cancel = cancel, .close_chan = close_chan, .destroy = destroy,
};

/* ---- states ---- */

struct kept {
	struct kept *next;
	uint64_t hash, bytes;    /* of the profile as it is; of the drive */
	struct condition condition;
	size_t size;
	uint8_t state[];
};

static struct kept *all_kept;

static const struct kept *
find_kept(const struct asked *asked, uint64_t hash)
{
	const struct kept *kept = all_kept;

	while (kept != NULL && (kept->hash != hash || kept->bytes != asked->bytes ||
	    kept->condition.kind != asked->condition.kind || kept->condition.seed != asked->condition.seed))
		kept = kept->next;
	return kept;
}

static void
keep(const struct asked *asked, uint64_t hash, const struct ftl *ftl)
{
	size_t size = condition_bytes(ftl);
	struct kept *kept = malloc(sizeof(*kept) + size);

	if (kept == NULL)
		abort();
	*kept = (struct kept){ all_kept, hash, asked->bytes, asked->condition, size };
	condition_save(ftl, hash, &asked->condition, kept->state);
	all_kept = kept;
}

/* `hash`: of the profile as it is, as no time of it is part of a state. */
static void
prepare(const struct asked *asked, uint64_t hash, struct ftl *ftl)
{
	const struct kept *kept;
	struct condition condition;
	char why[FLASH_WHY];

	if (ftl == NULL || asked->condition.kind == CONDITION_FRESH)
		return;
	kept = find_kept(asked, hash);
	if (kept == NULL) {
		condition_make(ftl, &asked->condition);
		keep(asked, hash, ftl);
	} else if (condition_load(ftl, hash, kept->state, kept->size, &condition, why) != 0) {
		abort();
	}
}

/* ---- what varies ---- */

enum { PROFILES = 8, NUMBERS = 64, NAME = FLASH_NAME_MAX + 32 };

static bool
is_time_of(const struct flash_profile *profile, const struct flash_number *number)
{
	return number->time && flash_number_value(profile, number) > 0;
}

/* A name that stays: of the profile, and of the number. */
static const char *
constant_name(const struct flash_profile *profile, unsigned number)
{
	static char names[PROFILES][NUMBERS][NAME];
	unsigned which = 0;

	while (which < flash_profile_count && strcmp(flash_profile_texts[which].name, profile->name) != 0)
		which++;
	assert(which < PROFILES && number < NUMBERS);
	snprintf(names[which][number], NAME, "%s.%s", profile->name, flash_profile_number(number)->name);
	return names[which][number];
}

static const char *
device_constant(const struct lab_device *device, unsigned n)
{
	struct asked asked;
	char why[LAB_WHY];

	if (read_asked(device->spec, &asked, why) != 0)
		return NULL;
	for (unsigned i = 0; flash_profile_number(i) != NULL; i++)
		if (is_time_of(&asked.profile, flash_profile_number(i)) && n-- == 0)
			return constant_name(&asked.profile, i);
	return NULL;
}

static void
vary(struct flash_profile *profile, const struct lab_variation *variation)
{
	const struct flash_number *number = flash_number_find(strchr(variation->constant, '.') + 1);
	uint32_t *value = flash_number_of(profile, number);
	uint64_t varied = ((uint64_t)*value * (uint64_t)(100 + variation->percent) + 50) / 100;

	*value = varied < number->least ? number->least : varied > number->most ? number->most : (uint32_t)varied;
}

/* ---- the maker ---- */

static int
make(struct reactor *reactor, const struct lab_device *lab_device, const struct asked *asked, uint64_t hash,
    struct blk **blk, char why[LAB_WHY])
{
	struct drive_options options = { .profile = asked->profile, .seed = 1 };
	struct device *d;
	int error = flash_geometry_init(&options.geometry, &asked->profile, asked->bytes, why);

	if (error != 0)
		return error;
	d = arena_alloc(reactor->arena, sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	*d = (struct device){
		.reactor = reactor, .timer.fire = answer,
		.blk = { .ops = &device_ops, .arena = reactor->arena, .blocks = asked->bytes / lab_device->block_size,
			.block_size = lab_device->block_size, .volatile_cache =
			    asked->profile.power_loss_protection == 0 },
	};
	snprintf(d->blk.spec, sizeof(d->blk.spec), "%s", lab_device->spec);
	fifo_init(&d->idle);
	error = drive_create(reactor->arena, &options, &d->drive);
	if (error != 0) {
		arena_free(reactor->arena, d);
		return error;
	}
	prepare(asked, hash, drive_ftl(d->drive));
	*blk = &d->blk;
	return 0;
}

static int
device_open(struct reactor *reactor, const struct lab_device *device, const struct lab_variation *variation,
    struct blk **blk, char why[LAB_WHY])
{
	struct asked asked;
	uint64_t hash;
	int error = read_asked(device->spec, &asked, why);

	if (error == -ENOENT)
		return blk_open(reactor, device->spec, device->block_size, blk, why);
	if (error != 0)
		return error;
	hash = flash_profile_hash(&asked.profile);
	if (variation != NULL)
		vary(&asked.profile, variation);
	return make(reactor, device, &asked, hash, blk, why);
}

static void
count(struct lab_reading *reading, const char *name, uint64_t value)
{
	assert(reading->count < LAB_COUNTERS_MAX);
	reading->counters[reading->count++] = (struct lab_counter){ name, value };
}

static void
device_read(const struct blk *blk, struct lab_reading *reading)
{
	struct drive *drive;
	const struct ftl_counts *ftl;

	if (blk->ops != &device_ops)
		return;
	drive = container_of(blk, struct device, blk)->drive;
	count(reading, "bytes read", drive_counts(drive)->read_bytes);
	count(reading, "bytes written", drive_counts(drive)->write_bytes);
	count(reading, "units merged", drive_counts(drive)->merged_units);
	count(reading, "journal pages", drive_counts(drive)->journal_pages);
	if (drive_ftl(drive) == NULL)
		return;
	ftl = ftl_counts(drive_ftl(drive));
	count(reading, "units of hosts programmed", ftl->host_units);
	count(reading, "units collected", ftl->gc_units);
	count(reading, "units folded", ftl->fold_units);
	count(reading, "units padded", ftl->pad_units);
	count(reading, "erases", ftl->erases);
}

static void
device_profile(const struct lab_device *device, char text[LAB_PROFILE])
{
	struct asked asked;
	char why[LAB_WHY];

	if (read_asked(device->spec, &asked, why) == 0)
		snprintf(text, LAB_PROFILE, "%s %016" PRIx64, asked.profile.name, flash_profile_hash(&asked.profile));
}

const struct lab_maker lab_maker_flash = {
	.open = device_open, .constant = device_constant, .read = device_read, .profile = device_profile,
};
