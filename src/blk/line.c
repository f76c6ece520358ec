#include "blk/line.h"

static struct blk_io *
io_of(struct fifo_node *node)
{
	return container_of(node, struct blk_io, node);
}

void
line_init(struct line *line, struct range *range, uint32_t piece_max, uint32_t small_max, uint32_t long_max)
{
	*line = (struct line){
		.range = range, .piece_max = piece_max, .small_max = small_max, .long_max = long_max,
	};
	fifo_init(&line->waiting);
	fifo_init(&line->aside);
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

/* Whether one that stands in line before `end` (NULL: any) keeps `io` from going. */
static bool
held_up(const struct line *line, const struct fifo_node *end, const struct blk_io *io)
{
	for (struct fifo_node *node = line->waiting.head; node != end; node = node->next)
		if (ordered(line, io_of(node), io))
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
	fifo_push(&line->waiting, &io->node);
	line->count++;
}

void
line_over(struct line *line, struct blk_io *io)
{
	struct fifo_node *node;

	if ((io->flags & LINE_LONG) == 0)
		return;
	io->flags &= ~(uint32_t)LINE_LONG;
	node = fifo_pop(&line->aside);
	if (node == NULL) {
		line->long_count--;
		return;
	}
	io_of(node)->flags ^= LINE_ASIDE | LINE_LONG;
	join(line, io_of(node));
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
	} else if (fifo_empty(&line->aside)) {
		return true;
	}
	line_over(line, io);
	io->flags |= LINE_ASIDE;
	fifo_push(&line->aside, &io->node);
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
	if (line->count < LINE_WINDOW && !held_up(line, NULL, io) && take(line, io))
		return true;
	join(line, io);
	return false;
}

/* Takes out what *link, in `fifo`, points to. */
static struct blk_io *
unlink_at(struct fifo *fifo, struct fifo_node **link)
{
	struct blk_io *io = io_of(*link);

	*link = io->node.next;
	if (*link == NULL)
		fifo->tail = link;
	return io;
}

static struct blk_io *
leave_at(struct line *line, struct fifo_node **link)
{
	struct blk_io *io = unlink_at(&line->waiting, link);

	io->flags &= ~(uint32_t)LINE_WAITING;
	line->count--;
	return io;
}

void
line_retry(struct line *line, unsigned starts, bool (*start)(void *owner, struct blk_io *io), void *owner)
{
	struct fifo_node **link = &line->waiting.head, *node;
	struct fifo again;

	fifo_init(&again);
	for (unsigned i = 0; i < LINE_WINDOW && starts > 0 && *link != NULL; i++) {
		struct blk_io *io = io_of(*link);

		if (held_up(line, *link, io) || !take(line, io)) {
			link = &io->node.next;
			continue;
		}
		leave_at(line, link);
		starts--;
		if (!start(owner, io))
			fifo_push(&again, &io->node);
	}
	while ((node = fifo_pop(&again)) != NULL)
		line_join(line, io_of(node));
}

static struct fifo_node **
link_to(struct fifo *fifo, const struct blk_io *io)
{
	struct fifo_node **link = &fifo->head;

	while (*link != &io->node)
		link = &(*link)->next;
	return link;
}

bool
line_leave(struct line *line, struct blk_io *io)
{
	if ((io->flags & LINE_ASIDE) != 0) {
		unlink_at(&line->aside, link_to(&line->aside, io));
		io->flags &= ~(uint32_t)LINE_ASIDE;
		return true;
	}
	if ((io->flags & LINE_WAITING) == 0)
		return false;
	leave_at(line, link_to(&line->waiting, io));
	if ((io->flags & LINE_MARKED) != 0) {
		struct blk_range piece = line_piece(line, io);

		range_unwait(line->range, piece.lba, piece.blocks);
		io->flags &= ~(uint32_t)LINE_MARKED;
	}
	line_over(line, io);
	return true;
}
