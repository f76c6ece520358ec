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
	list_init(&line->waiting);
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

static uint32_t
piece_max(const struct line *line, const struct blk_io *io)
{
	return io->flags & LINE_SMALL ? line->small_max : line->piece_max;
}

struct blk_range
line_piece(const struct line *line, const struct blk_io *io)
{
	uint32_t max = piece_max(line, io);
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

void
line_drop(struct line *line, struct blk_io *io)
{
	struct blk_range piece = line_piece(line, io);

	if (io->op == BLK_READ)
		range_unshare(line->range, piece.lba, piece.blocks);
	else if (io->op != BLK_FLUSH)
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

bool
line_stop(struct line *line, struct blk_io *io)
{
	struct blk_io next = *io;

	if (!has_piece(&next))
		return false;
	io->flags |= LINE_STOPPED;
	next.at += line_piece(line, io).blocks;
	return has_piece(&next);
}

/* Whether the later of the two, each with its current piece, may not overtake. */
static bool
ordered(const struct line *line, const struct blk_io *a, const struct blk_io *b)
{
	struct blk_range x, y;

	if (a->op == BLK_FLUSH || b->op == BLK_FLUSH)
		return false;
	if (a->op == BLK_READ && b->op == BLK_READ)
		return false;
	x = line_piece(line, a);
	y = line_piece(line, b);
	return x.lba < y.lba + y.blocks && y.lba < x.lba + x.blocks;
}

/* Whether one that stands in line before `end` keeps `io` from going. */
static bool
held_up(const struct line *line, const struct list *end, const struct blk_io *io)
{
	for (struct list *place = line->waiting.next; place != end; place = place->next)
		if (ordered(line, io_of(place), io))
			return true;
	return false;
}

static bool
take(struct line *line, struct blk_io *io)
{
	struct blk_range piece = line_piece(line, io);
	bool marked = (io->flags & LINE_MARKED) != 0;

	if (io->op == BLK_FLUSH)
		return true;
	if (io->op == BLK_READ)
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

static bool
is_long(const struct line *line, const struct blk_io *io)
{
	switch (io->op) {
	case BLK_TRIM:
		return io->range_count - (io->at >> 32) > 1 ||
		    io->ranges[io->at >> 32].blocks - (uint32_t)io->at > piece_max(line, io);
	case BLK_WRITE_ZEROES:
		return io->blocks - io->at > piece_max(line, io);
	case BLK_READ:
	case BLK_WRITE:
	case BLK_COMPARE_WRITE:
	case BLK_MARK_BAD:
	case BLK_FLUSH:
		break;
	}
	return false;
}

static void
join(struct line *line, struct blk_io *io)
{
	io->flags |= LINE_WAITING;
	list_push(&line->waiting, &io->place);
	line->count++;
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
		if (!is_long(line, io))
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
	if (line->count < LINE_WINDOW && !held_up(line, &line->waiting, io) && take(line, io))
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
}

void
line_retry(struct line *line, unsigned starts, bool (*start)(void *owner, struct blk_io *io), void *owner)
{
	struct list *place = line->waiting.next, *next;
	struct fifo_node *node;
	struct fifo again;

	fifo_init(&again);
	for (unsigned i = 0; i < LINE_WINDOW && starts > 0 && place != &line->waiting; i++, place = next) {
		struct blk_io *io = io_of(place);

		next = place->next;
		if (held_up(line, place, io) || !take(line, io))
			continue;
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
	if ((io->flags & LINE_MARKED) != 0) {
		struct blk_range piece = line_piece(line, io);

		range_unwait(line->range, piece.lba, piece.blocks);
		io->flags &= ~(uint32_t)LINE_MARKED;
	}
	line_over(line, io);
	return true;
}
