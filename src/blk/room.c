#include "blk/room.h"

#include <errno.h>
#include <string.h>

#include "world/reactor.h"

enum {
	PAGE = 4096,
	DISCARD_MIN = 64 * 1024, /* zeroing less is cheaper than faulting the pages in again */
};

static uint64_t
whole(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static uint64_t
wished(uint64_t bytes)
{
	uint64_t ahead = bytes < ROOM_AHEAD / (ROOM_TIMES - 1) ? bytes * (ROOM_TIMES - 1) : ROOM_AHEAD;

	return bytes + ahead;
}

int
room_init(struct room *room, struct reactor *reactor, uint64_t bytes)
{
	uint64_t first = whole(bytes), ahead = wished(first) - first;

	*room = (struct room){ .reactor = reactor, .bytes = first, .reserved = first + ahead };
	room->at = reactor->world->pages_reserve(reactor, first, room->reserved);
	/* A process may be allowed less address space: the volume works with what it has, and grows less. */
	while (room->at == NULL && ahead > 0) {
		ahead = ahead / 2 & ~(uint64_t)(PAGE - 1);
		room->reserved = first + ahead;
		room->at = reactor->world->pages_reserve(reactor, first, room->reserved);
	}
	return room->at != NULL ? 0 : -ENOMEM;
}

void
room_fini(struct room *room)
{
	if (room->at != NULL)
		room->reactor->world->pages_unmap(room->reactor, room->at, room->reserved);
	room->at = NULL;
}

int
room_grow(struct room *room, uint64_t bytes)
{
	int error;

	if (bytes > room->reserved)
		return -EFBIG;
	bytes = whole(bytes);
	if (bytes <= room->bytes)
		return 0;
	error = room->reactor->world->pages_use(room->reactor, (char *)room->at + room->bytes, bytes - room->bytes);
	if (error == 0)
		room->bytes = bytes;
	return error;
}

/* Page by page, for one that is only read takes nothing, where the kernel has a page of zeros for all of them. */
static void
zero_here(uint8_t *at, uint64_t bytes)
{
	while (bytes > 0) {
		uint64_t step = PAGE - (uintptr_t)at % PAGE;

		if (step > bytes)
			step = bytes;
		if (at[0] != 0 || memcmp(at, at + 1, step - 1) != 0)
			memset(at, 0, step);
		at += step;
		bytes -= step;
	}
}

void
room_zero(struct reactor *reactor, uint8_t *at, uint64_t bytes)
{
	uint64_t head = -(uintptr_t)at % PAGE, inside = bytes > head ? (bytes - head) / PAGE * PAGE : 0;

	if (bytes < DISCARD_MIN) {
		zero_here(at, bytes);
		return;
	}
	zero_here(at, head);
	reactor->world->pages_discard(reactor, at + head, inside);
	zero_here(at + head + inside, bytes - head - inside);
}
