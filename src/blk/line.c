#include "blk/line.h"

static struct blk_io *
io_of(struct list *place)
{
	return container_of(place, struct blk_io, place);
}

void
line_init(struct line *line, struct range *range, uint32_t piece_max, uint32_t small_max, uint32_t long_max)
{
	*line = (struct line){
		.range = range, .piece_max = piece_max, .small_max = small_max, .long_max = long_max,
	};
	for (unsigned i = 0; i < LINE_ZONES; i++)
		list_init(&line->zones[i].waiting);
	list_init(&line->behind.waiting);
	list_init(&line->aside);
}

/* io->at of a TRIM: the index of the range << 32, and the blocks done of it. */
static bool
trim_skip_empty(struct blk_io *io)
{
	uint64_t i = io->at >> 32;

	while (i < io->range_count && io->ranges[i].blocks == (uint32_t)io->at)
		io->at = ++i << 32;
	return i < io->range_count;
}

bool
line_begin(struct blk_io *io)
{
	io->at = 0;
	io->flags &= ~(uint32_t)BLK_DEVICE;
	if (io->op == BLK_TRIM)
		return trim_skip_empty(io);
	return io->op != BLK_FLUSH && io->blocks > 0;
}

static struct blk_range
piece_of(uint64_t lba, uint32_t blocks, uint32_t done, uint32_t max)
{
	return (struct blk_range){ lba + done, blocks - done < max ? blocks - done : max };
}

struct blk_range
line_piece(const struct line *line, const struct blk_io *io)
{
	uint32_t max = io->flags & LINE_SMALL ? line->small_max : line->piece_max;
	const struct blk_range *range;

	switch (io->op) {
	case BLK_TRIM:
		range = &io->ranges[io->at >> 32];
		return piece_of(range->lba, range->blocks, (uint32_t)io->at, max);
	case BLK_WRITE_ZEROES:
		return piece_of(io->lba, io->blocks, (uint32_t)io->at, max);
	case BLK_READ:
	case BLK_WRITE:
	case BLK_COMPARE_WRITE:
	case BLK_MARK_BAD:
		return (struct blk_range){ io->lba, io->blocks };
	case BLK_FLUSH:
		break;
	}
	return (struct blk_range){ 0, 0 };
}

/* Whether others may be at the same blocks. */
static bool
shares(const struct line *line, const struct blk_io *io)
{
	return io->op == BLK_READ || (line->whole && io->op != BLK_COMPARE_WRITE);
}

void
line_drop(struct line *line, struct blk_io *io)
{
	struct blk_range piece = line_piece(line, io);

	if (io->op == BLK_FLUSH)
		return;
	if (shares(line, io))
		range_unshare(line->range, piece.lba, piece.blocks);
	else
		range_disown(line->range, piece.lba, piece.blocks);
}

/* Whether io->at stands before a piece, of what is done in pieces. */
static bool
has_piece(struct blk_io *io)
{
	switch (io->op) {
	case BLK_TRIM:
		return trim_skip_empty(io);
	case BLK_WRITE_ZEROES:
		return io->at < io->blocks;
	case BLK_READ:
	case BLK_WRITE:
	case BLK_COMPARE_WRITE:
	case BLK_MARK_BAD:
	case BLK_FLUSH:
		break;
	}
	return false;
}

bool
line_next(struct line *line, struct blk_io *io)
{
	uint32_t done = line_piece(line, io).blocks;

	line_drop(line, io);
	io->at += done;
	return has_piece(io);
}

/* Whether another piece follows the one that io->at stands before. */
static bool
has_next(const struct line *line, const struct blk_io *io)
{
	struct blk_io next = *io;

	next.at += line_piece(line, io).blocks;
	return has_piece(&next);
}

bool
line_stop(struct line *line, struct blk_io *io)
{
	struct blk_io now = *io;

	if (!has_piece(&now))
		return false;
	io->flags |= LINE_STOPPED;
	return has_next(line, io);
}

/* ---- zones ---- */

static struct line_hull
hull_of(const struct line *line, const struct blk_io *io)
{
	struct blk_range piece = line_piece(line, io);

	return piece.blocks > 0 ? (struct line_hull){ piece.lba, piece.lba + piece.blocks - 1 } :
	    (struct line_hull){ UINT64_MAX, 0 };
}

static void
hull_add(struct line_hull *hull, struct line_hull more)
{
	hull->first = more.first < hull->first ? more.first : hull->first;
	hull->last = more.last > hull->last ? more.last : hull->last;
}

static bool
touches(const struct line_zone *zone, struct line_hull hull)
{
	return zone->hull.first <= hull.last && hull.first <= zone->hull.last;
}

/*
 * Who is not the first of a zone may not be waited for: the table knows stripes, and others, by their number modulo its
 * size, so one who goes before it would be turned away because of it.
 */
static void
unmark(struct line *line, struct blk_io *io)
{
	struct blk_range piece = line_piece(line, io);

	if ((io->flags & LINE_MARKED) == 0)
		return;
	range_unwait(line->range, piece.lba, piece.blocks);
	io->flags &= ~(uint32_t)LINE_MARKED;
}

/* Nobody stands in it, whatever it was. */
static bool
is_free(const struct line_zone *zone)
{
	return list_empty(&zone->waiting) || (zone->waiting.next == &zone->mark && zone->waiting.prev == &zone->mark);
}

/* Whether one that waits may touch these blocks. */
static bool
held_up(const struct line *line, struct line_hull hull)
{
	if (!list_empty(&line->behind.waiting) && touches(&line->behind, hull))
		return true;
	for (unsigned i = 0; i < LINE_ZONES; i++)
		if (!is_free(&line->zones[i]) && touches(&line->zones[i], hull))
			return true;
	return false;
}

/* Puts all of `from` in front of `before`, which is a node or, for the end, a head. */
static void
splice(struct list *before, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = before->prev;
	before->prev->next = from->next;
	from->prev->next = before;
	before->prev = from->prev;
	list_init(from);
}

/* The zone that touches these blocks, of several made one; else one where nobody stands, or NULL.  Those of two zones
 * touch nothing in common, so it does not matter who of them comes first. */
static struct line_zone *
zone_for(struct line *line, struct line_hull hull)
{
	struct line_zone *found = NULL, *unused = NULL;

	for (unsigned i = 0; i < LINE_ZONES; i++) {
		struct line_zone *zone = &line->zones[i];

		if (is_free(zone)) {
			unused = zone;
		} else if (touches(zone, hull)) {
			if (found == NULL) {
				found = zone;
				continue;
			}
			list_remove(&zone->mark);
			unmark(line, io_of(zone->waiting.next));
			splice(&found->waiting, &zone->waiting);
			hull_add(&found->hull, zone->hull);
		}
	}
	if (found == NULL && unused != NULL) {
		unused->hull = hull;
		list_init(&unused->waiting);
		list_push(&unused->waiting, &unused->mark);
		found = unused;
	}
	return found;
}

/* False: there is no zone for it now.  `looked`: it is one of those who look for zones, and are counted among those who
 * stood there when it began, until somebody else comes. */
static bool
stand(struct line *line, struct list *place, bool looked)
{
	struct line_hull hull = hull_of(line, io_of(place));
	struct line_zone *zone = zone_for(line, hull);

	if (zone == NULL)
		return false;
	hull_add(&zone->hull, hull);
	if (!is_free(zone))
		unmark(line, io_of(place));
	if (zone->waiting.prev == &zone->mark && (looked || zone->waiting.next == &zone->mark))
		list_push(&zone->mark, place);
	else
		list_push(&zone->waiting, place);
	return true;
}

/* Gives zones to those in front of them who have none. */
static void
stand_all(struct line *line)
{
	for (unsigned i = 0; i < LINE_STANDS; i++) {
		struct list *place = list_pop(&line->behind.waiting);

		if (place == NULL)
			return;
		if (!stand(line, place, true)) {
			list_push(line->behind.waiting.next, place);
			return;
		}
	}
}

/*
 * All who stood there when the zone began are gone: those who are left may touch few of its blocks, and find zones
 * anew.  Only while nobody else has none, so they are looked at once for each time that they are passed.
 */
static bool
dissolve(struct line *line, struct line_zone *zone)
{
	if (is_free(zone) || zone->waiting.next != &zone->mark || !list_empty(&line->behind.waiting))
		return false;
	list_remove(&zone->mark);
	line->behind.hull = zone->hull;
	splice(&line->behind.waiting, &zone->waiting);
	stand_all(line);
	return true;
}

static bool
take(struct line *line, struct blk_io *io)
{
	struct blk_range piece = line_piece(line, io);
	bool marked = (io->flags & LINE_MARKED) != 0;

	if (io->op == BLK_FLUSH)
		return true;
	if (shares(line, io))
		return range_share_noted(line->range, piece.lba, piece.blocks);
	if (range_own(line->range, piece.lba, piece.blocks, marked)) {
		io->flags &= ~(uint32_t)LINE_MARKED;
		return true;
	}
	if (!marked) {
		range_wait(line->range, piece.lba, piece.blocks);
		io->flags |= LINE_MARKED;
	}
	return false;
}

/* ---- those of several pieces ---- */

static void
join(struct line *line, struct blk_io *io)
{
	io->flags |= LINE_WAITING;
	line->count++;
	line->moves++;
	if (list_empty(&line->behind.waiting)) {
		if (stand(line, &io->place, false))
			return;
		line->behind.hull = (struct line_hull){ UINT64_MAX, 0 };
	}
	unmark(line, io);
	hull_add(&line->behind.hull, hull_of(line, io));
	list_push(&line->behind.waiting, &io->place);
}

void
line_over(struct line *line, struct blk_io *io)
{
	struct list *place;

	if ((io->flags & LINE_LONG) == 0)
		return;
	io->flags &= ~(uint32_t)LINE_LONG;
	place = list_pop(&line->aside);
	if (place == NULL) {
		line->long_count--;
		return;
	}
	io_of(place)->flags ^= LINE_ASIDE | LINE_LONG;
	join(line, io_of(place));
}

/* False: it stands aside now, before its first piece or, where others do, before the next one: they take turns. */
static bool
admit(struct line *line, struct blk_io *io)
{
	if ((io->flags & LINE_LONG) == 0) {
		if (!has_next(line, io))
			return true;
		if (line->long_count < line->long_max) {
			io->flags |= LINE_LONG;
			line->long_count++;
			return true;
		}
	} else if (list_empty(&line->aside)) {
		return true;
	}
	line_over(line, io);
	io->flags |= LINE_ASIDE;
	list_push(&line->aside, &io->place);
	return false;
}

/* ---- standing in line ---- */

void
line_join(struct line *line, struct blk_io *io)
{
	if (admit(line, io))
		join(line, io);
}

bool
line_enter(struct line *line, struct blk_io *io)
{
	if (!admit(line, io))
		return false;
	if ((line->count == 0 || !held_up(line, hull_of(line, io))) && take(line, io))
		return true;
	join(line, io);
	return false;
}

static void
leave(struct line *line, struct blk_io *io)
{
	list_remove(&io->place);
	io->flags &= ~(uint32_t)LINE_WAITING;
	line->count--;
	line->moves++;
}

static struct blk_io *
first_of(const struct line_zone *zone)
{
	struct list *place = zone->waiting.next;

	if (is_free(zone))
		return NULL;
	return io_of(place != &zone->mark ? place : place->next);
}

void
line_retry(struct line *line, unsigned starts, bool (*start)(void *owner, struct blk_io *io), void *owner)
{
	struct fifo_node *node;
	struct fifo again;

	fifo_init(&again);
	stand_all(line);
	for (unsigned failed = 0; failed < LINE_ZONES && starts > 0; line->turn = (line->turn + 1) % LINE_ZONES) {
		struct line_zone *zone = &line->zones[line->turn];
		struct blk_io *io;

		if (dissolve(line, zone))
			failed = 0;
		io = first_of(zone);
		if (io == NULL || !take(line, io)) {
			failed++;
			continue;
		}
		failed = 0;
		leave(line, io);
		starts--;
		if (!start(owner, io))
			fifo_push(&again, &io->node);
	}
	while ((node = fifo_pop(&again)) != NULL)
		line_join(line, container_of(node, struct blk_io, node));
}

bool
line_leave(struct line *line, struct blk_io *io)
{
	if ((io->flags & LINE_ASIDE) != 0) {
		list_remove(&io->place);
		io->flags &= ~(uint32_t)LINE_ASIDE;
		return true;
	}
	if ((io->flags & LINE_WAITING) == 0)
		return false;
	leave(line, io);
	unmark(line, io);
	line_over(line, io);
	return true;
}
