/*
 * drive_data.c - what is in the units, where that is anybody's business.
 *
 * The store has what is there after the power was gone.  With power-loss protection that is what was placed in the
 * buffer; without it slots have contents of their own, which reach the store when they are programmed.
 */
#include "flash/drive_parts.h"

#include <string.h>

#include "base/iov.h"

enum { LINE = 64, AHEAD = 8 * LINE /* the processor sees by itself what follows */ };

static uint8_t *
store_of(const struct drive *d, uint32_t unit)
{
	return d->store + (uint64_t)unit * d->geometry.unit_bytes;
}

/* NULL: zeros, as of what nobody keeps. */
static const uint8_t *
content_of(const struct drive *d, uint32_t unit, uint32_t slot)
{
	if (d->store == NULL)
		return NULL;
	if (slot == BUFFER_NONE)
		return d->map != NULL && d->map[unit] == FTL_NOWHERE ? NULL : store_of(d, unit);
	if (d->buffer.slots[slot].state == BUFFER_TRIMMED)
		return NULL;
	return d->buffer.data != NULL ? buffer_data(&d->buffer, slot) : store_of(d, unit);
}

/* Where in the command the unit's part begins. */
static uint64_t
skip_of(const struct drive *d, const struct drive_cmd *cmd, uint32_t unit, struct drive_part part)
{
	return (uint64_t)unit * d->geometry.unit_bytes + part.from - cmd->offset;
}

void
drive_copy_out(const struct drive *d, const struct drive_cmd *cmd, uint32_t unit)
{
	struct drive_part part = drive_part_of(d, cmd, unit);
	const uint8_t *from = content_of(d, unit, d->map != NULL ? buffer_find(&d->buffer, unit) : BUFFER_NONE);
	uint64_t skip = skip_of(d, cmd, unit, part);
	const struct iovec *iov = iov_seek(cmd->iov, &skip);

	for (uint32_t done = 0; done < part.bytes; iov++, skip = 0) {
		uint64_t room = iov->iov_len - skip, step = part.bytes - done < room ? part.bytes - done : room;
		uint8_t *to = (uint8_t *)iov->iov_base + skip;

		if (from != NULL)
			memcpy(to, from + part.from + done, step);
		else
			memset(to, 0, step);
		done += (uint32_t)step;
	}
}

void
drive_copy_soon(const struct drive *d, const struct drive_cmd *cmd, uint32_t unit)
{
	const uint8_t *from;
	struct drive_part part;

	if (d->store == NULL || cmd->iov == NULL)
		return;
	part = drive_part_of(d, cmd, unit);
	from = store_of(d, unit) + part.from;
	for (uint32_t at = 0; at < part.bytes && at < AHEAD; at += LINE)
		__builtin_prefetch(from + at);
}

/* In the store, or in a slot's contents. */
static void
put_zeros(const struct drive *d, uint8_t *to, uint64_t bytes)
{
	if (d->buffer.data == NULL && d->zero != NULL)
		d->zero(d->owner, (uint64_t)(to - d->store), bytes);
	else
		memset(to, 0, bytes);
}

static void
write_part(const struct drive *d, const struct drive_cmd *cmd, uint32_t unit, struct drive_part part, uint8_t *to)
{
	uint64_t skip = skip_of(d, cmd, unit, part);
	const struct iovec *iov;

	if (cmd->iov == NULL) {
		put_zeros(d, to, part.bytes);
		return;
	}
	iov = iov_seek(cmd->iov, &skip);
	for (uint32_t done = 0; done < part.bytes; iov++, skip = 0) {
		uint64_t room = iov->iov_len - skip, step = part.bytes - done < room ? part.bytes - done : room;

		memcpy(to + done, (const uint8_t *)iov->iov_base + skip, step);
		done += (uint32_t)step;
	}
}

/* Of a unit that is written in part: the rest of it, as it was before this slot was there, or nothing, where the slot
 * stood for a trim. */
static void
fill_rest(const struct drive *d, uint32_t unit, uint32_t slot, uint8_t *to)
{
	uint32_t before = d->buffer.slots[slot].older;
	const uint8_t *from;

	if (d->buffer.slots[slot].state == BUFFER_TRIMMED)
		before = slot;
	while (before != BUFFER_NONE && d->buffer.slots[before].unit != unit)
		before = d->buffer.slots[before].older;
	from = content_of(d, unit, before);
	if (from == NULL)
		put_zeros(d, to, d->geometry.unit_bytes);
	else if (from != to)
		memcpy(to, from, d->geometry.unit_bytes);
}

void
drive_copy_in(struct drive *d, const struct drive_cmd *cmd, uint32_t unit, uint32_t slot, bool fresh)
{
	struct drive_part part = drive_part_of(d, cmd, unit);
	uint8_t *to;

	drive_forgotten(d);
	if (d->store == NULL)
		return;
	to = d->buffer.data != NULL ? buffer_data(&d->buffer, slot) : store_of(d, unit);
	if (fresh && part.bytes < d->geometry.unit_bytes)
		fill_rest(d, unit, slot, to);
	write_part(d, cmd, unit, part, to + part.from);
}

void
drive_keep(struct drive *d, uint32_t slot)
{
	uint32_t unit = d->buffer.slots[slot].unit;

	if (d->buffer.data != NULL)
		memcpy(store_of(d, unit), buffer_data(&d->buffer, slot), d->geometry.unit_bytes);
}

void
drive_forget(struct drive *d, uint32_t unit)
{
	if (unit != d->gone_end || d->gone == d->gone_end) {
		drive_forgotten(d);
		d->gone = unit;
	}
	d->gone_end = unit + 1;
}

void
drive_forgotten(struct drive *d)
{
	uint64_t bytes = (uint64_t)(d->gone_end - d->gone) * d->geometry.unit_bytes;

	if (bytes > 0 && d->zero != NULL)
		d->zero(d->owner, (uint64_t)d->gone * d->geometry.unit_bytes, bytes);
	else if (bytes > 0 && d->store != NULL)
		memset(store_of(d, d->gone), 0, bytes);
	d->gone = d->gone_end;
}
