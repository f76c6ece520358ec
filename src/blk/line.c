#include "blk/line.h"

static struct blk_io *
io_of(struct fifo_node *node)
{
	return container_of(node, struct blk_io, node);
}

void
line_init(struct line *line, struct range *range, uint32_t piece_max, uint32_t small_max)
{
	*line = (struct line){ .range = range, .piece_max = piece_max, .small_max = small_max };
	fifo_init(&line->waiting);
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

/* Whether the later of the two may not overtake; a TRIM, with its many ranges, nobody overtakes. */
static bool
ordered(const struct blk_io *a, const struct blk_io *b)
{
	if (a->op == BLK_FLUSH || b->op == BLK_FLUSH)
		return false;
	if (a->op == BLK_READ && b->op == BLK_READ)
		return false;
	if (a->op == BLK_TRIM || b->op == BLK_TRIM)
		return true;
	return a->lba < b->lba + b->blocks && b->lba < a->lba + a->blocks;
}

/* Whether one that stands in line before `end` (NULL: any) keeps `io` from going. */
static bool
held_up(const struct line *line, const struct fifo_node *end, const struct blk_io *io)
{
	for (struct fifo_node *node = line->waiting.head; node != end; node = node->next)
		if (ordered(io_of(node), io))
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

void
line_join(struct line *line, struct blk_io *io)
{
	io->flags |= LINE_WAITING;
	fifo_push(&line->waiting, &io->node);
	line->count++;
}

bool
line_enter(struct line *line, struct blk_io *io)
{
	if (line->count < LINE_WINDOW && !held_up(line, NULL, io) && take(line, io))
		return true;
	line_join(line, io);
	return false;
}

static void
unlink_at(struct line *line, struct fifo_node **link)
{
	struct blk_io *io = io_of(*link);

	*link = io->node.next;
	if (*link == NULL)
		line->waiting.tail = link;
	io->flags &= ~(uint32_t)LINE_WAITING;
	line->count--;
}

static void
link_at(struct line *line, struct fifo_node **link, struct blk_io *io)
{
	io->node.next = *link;
	*link = &io->node;
	if (io->node.next == NULL)
		line->waiting.tail = &io->node.next;
	io->flags |= LINE_WAITING;
	line->count++;
}

void
line_retry(struct line *line, unsigned starts, bool (*start)(void *owner, struct blk_io *io), void *owner)
{
	struct fifo_node **link = &line->waiting.head;

	for (unsigned i = 0; i < LINE_WINDOW && starts > 0 && *link != NULL; i++) {
		struct blk_io *io = io_of(*link);

		if (held_up(line, *link, io) || !take(line, io)) {
			link = &io->node.next;
			continue;
		}
		unlink_at(line, link);
		starts--;
		if (!start(owner, io)) {
			link_at(line, link, io);
			link = &io->node.next;
		}
	}
}

bool
line_leave(struct line *line, struct blk_io *io)
{
	struct fifo_node **link = &line->waiting.head;

	if ((io->flags & LINE_WAITING) == 0)
		return false;
	while (*link != &io->node)
		link = &(*link)->next;
	unlink_at(line, link);
	if ((io->flags & LINE_MARKED) != 0) {
		struct blk_range piece = line_piece(line, io);

		range_unwait(line->range, piece.lba, piece.blocks);
		io->flags &= ~(uint32_t)LINE_MARKED;
	}
	return true;
}
