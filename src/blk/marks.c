#include "blk/marks.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"

enum {
	VERSION = 1,
	IMAGE_PAGES = BLK_MARK_MAX / BAD_PAGE_BLOCKS + 1, /* a change has marks in so many pages at most */
	FETCH_BYTES = 64 * 1024,
};
#define TOLD_NS (60 * UINT64_C(1000000000)) /* how often it is said that it fails */

/* The first page of the file; the rest of it is zero, and so is all of it until the first mark is kept. */
struct marks_header {
	uint8_t magic[8];
	le32 version, block_size;
};

static const uint8_t magic[8] = "WEIRBAD";

/* ---- reading ---- */

static bool
all_zeros(const uint8_t *bytes, size_t count)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* A page of marks that was read. */
struct marks_page {
	struct fifo_node node;
	uint64_t page;
	uint8_t bits[BAD_PAGE];
};

static int
keep_page(struct marks *marks, uint64_t page, const uint8_t *bits)
{
	struct marks_page *kept;

	if (all_zeros(bits, BAD_PAGE))
		return 0;
	kept = arena_alloc(marks->bad.reactor->arena, sizeof(*kept));
	if (kept == NULL)
		return -ENOMEM;
	kept->page = page;
	memcpy(kept->bits, bits, BAD_PAGE);
	fifo_push(&marks->pages, &kept->node);
	return 0;
}

/* Nobody else uses these blocks yet.  Or, if not `known`, they are to be read anew. */
static void
take_pages(struct marks *marks, bool known)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&marks->pages)) != NULL) {
		struct marks_page *kept = container_of(node, struct marks_page, node);

		for (uint32_t i = 0; i < BAD_PAGE_BLOCKS && known; i++)
			if (kept->bits[i / 8] >> i % 8 & 1)
				bad_set(&marks->bad, kept->page * BAD_PAGE_BLOCKS + i, 1, true);
		arena_free(marks->bad.reactor->arena, kept);
	}
	if (known)
		marks->known = marks->read;
	else
		marks->read = marks->known;
}

static int
check_header(const struct marks *marks, const uint8_t *page, char why[BLK_WHY])
{
	struct marks_header header;

	memcpy(&header, page, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || le32_get(header.version) != VERSION) {
		snprintf(why, BLK_WHY, "its .bad file is not a list of bad blocks");
		return -EINVAL;
	}
	if (le32_get(header.block_size) != marks->block_size) {
		snprintf(why, BLK_WHY, "its .bad file lists blocks of %u bytes, not of %u",
		    le32_get(header.block_size), marks->block_size);
		return -EINVAL;
	}
	return 0;
}

/* The marks that were not read yet, but for what lies in holes, up to page `pages`; `buffer` has FETCH_BYTES. */
static int
fetch(struct marks *marks, struct file *file, uint64_t pages, uint8_t *buffer, bool *begun, char why[BLK_WHY])
{
	const struct world_ops *world = marks->bad.reactor->world;
	uint64_t page = marks->read / BAD_PAGE_BLOCKS;
	int64_t got = world->file_fetch(file, 0, buffer, BAD_PAGE);
	int error;

	/* It was made, and then not extended, or nothing was written yet. */
	if (got == 0 || (got == BAD_PAGE && all_zeros(buffer, BAD_PAGE)))
		return 0;
	*begun = true;
	error = got < 0 ? (int)got : got < BAD_PAGE ? -EUCLEAN : check_header(marks, buffer, why);
	while (error == 0 && page < pages) {
		uint64_t at = world->file_data(file, (page + 1) * BAD_PAGE);

		page = at / BAD_PAGE - 1;
		if (at == UINT64_MAX || page >= pages)
			return 0;
		got = world->file_fetch(file, (page + 1) * BAD_PAGE, buffer, FETCH_BYTES);
		if (got <= 0 || got % BAD_PAGE != 0)
			return got < 0 ? (int)got : got > 0 ? -EUCLEAN : 0;
		for (int64_t i = 0; i < got / BAD_PAGE && page < pages && error == 0; i++)
			error = keep_page(marks, page++, buffer + i * BAD_PAGE);
	}
	return error;
}

static int
load(struct marks *marks, uint64_t blocks, bool *begun, bool *absent, char why[BLK_WHY])
{
	uint64_t pages = (blocks + BAD_PAGE_BLOCKS - 1) / BAD_PAGE_BLOCKS;
	struct reactor *reactor = marks->bad.reactor;
	uint8_t *buffer = arena_alloc_aligned(reactor->arena, FETCH_BYTES, BAD_PAGE);
	struct file *file = NULL;
	int error = -ENOMEM;

	if (buffer != NULL)
		error = reactor->world->file_open(reactor, marks->path, 0, BAD_PAGE, &file);
	if (error == 0) {
		error = fetch(marks, file, pages, buffer, begun, why);
		reactor->world->file_close(file);
	} else if (error == -ENOENT) {
		*absent = true;
		error = 0;
	}
	if (error == 0)
		marks->read = pages * BAD_PAGE_BLOCKS;
	else if (why[0] == '\0')
		snprintf(why, BLK_WHY, "its .bad file cannot be read: %s", strerrordesc_np(-error));
	arena_free(reactor->arena, buffer);
	return error;
}

int
marks_open(struct marks *marks, struct reactor *reactor, struct range *range, const struct file *file,
    const char *path, uint64_t blocks, uint32_t block_size, char why[BLK_WHY])
{
	size_t length = strlen(path);
	int error;

	marks->disk = file->id[0];
	marks->block_size = block_size;
	fifo_init(&marks->pages);
	error = bad_init(&marks->bad, reactor, range, blocks);
	if (error == 0)
		error = bad_init(&marks->doubt, reactor, range, blocks);
	if (error == 0)
		error = range_init(&marks->lock, reactor->arena, 1, block_size, reactor->count);
	if (error != 0)
		return error;
	marks->path = arena_alloc(reactor->arena, length + sizeof(BLK_BAD_SUFFIX));
	if (marks->path == NULL)
		return -ENOMEM;
	memcpy(marks->path, path, length);
	memcpy(marks->path + length, BLK_BAD_SUFFIX, sizeof(BLK_BAD_SUFFIX));
	error = load(marks, blocks, &marks->begun, &marks->absent, why);
	take_pages(marks, error == 0);
	return error;
}

size_t
marks_bytes(unsigned reactors)
{
	return BLK_SPEC + sizeof(BLK_BAD_SUFFIX) + sizeof(uint64_t) + reactors * (size_t)(IMAGE_PAGES * BAD_PAGE);
}

int
marks_read(struct marks *marks, uint64_t blocks, char why[BLK_WHY])
{
	why[0] = '\0';
	take_pages(marks, false); /* of a change that came to nothing */
	return blocks > marks->known ? load(marks, blocks, &(bool){ false }, &(bool){ false }, why) : 0;
}

/* What is listed of blocks that were not there is listed still: the file may have been longer once. */
int
marks_grow(struct marks *marks, uint64_t blocks)
{
	int error = bad_grow(&marks->bad, blocks);

	assert(blocks <= marks->read);
	if (error == 0)
		error = bad_grow(&marks->doubt, blocks);
	if (error == 0)
		take_pages(marks, true);
	return error;
}

void
marks_close(struct marks *marks)
{
	struct reactor *reactor = marks->bad.reactor;

	if (reactor == NULL)
		return;
	take_pages(marks, false);
	if (marks->file != NULL)
		marks->annex->world->file_close(marks->file);
	if (marks->annex != NULL)
		marks->annex->world->annex_close(marks->annex);
	arena_free(reactor->arena, marks->path);
	range_fini(&marks->lock, reactor->arena);
	bad_fini(&marks->doubt);
	bad_fini(&marks->bad);
}

/* ---- changing ---- */

static void
complain(struct marks_chan *mc, int error)
{
	char text[512];

	if (mc->told && mc->reactor->now_ns - mc->told_ns < TOLD_NS)
		return;
	mc->told = true;
	mc->told_ns = mc->reactor->now_ns;
	snprintf(text, sizeof(text), "%.300s: which blocks are bad cannot be kept there: %s", mc->marks->path,
	    strerrordesc_np(-error));
	mc->reactor->world->log(mc->reactor, 0, text);
}

/* The change is made, or cannot be. */
static void
end(struct marks_chan *mc, int error)
{
	struct marks_change *change = mc->now;

	mc->now = NULL;
	if (error != 0)
		complain(mc, error);
	else if (change->kind != MARKS_AGAIN)
		bad_set(&mc->marks->bad, change->lba, change->blocks, change->kind == MARKS_BAD);
	range_disown(&mc->marks->lock, 0, 1);
	if (!fifo_empty(&mc->waiting))
		reactor_run_in(mc->reactor, PHASE_COLLECT, &mc->work);
	change->done(change, error);
}

static void
write_image(struct marks_chan *mc, uint64_t offset, size_t bytes, void (*done)(struct file_io *io))
{
	mc->iov = (struct iovec){ mc->image, bytes };
	mc->io = (struct file_io){
		.op = FILE_WRITE, .durable = true, .offset = offset, .iov = &mc->iov, .iov_count = 1, .done = done,
		.owner = mc,
	};
	mc->reactor->world->file_submit(mc->file, &mc->io);
}

static int
error_of(const struct marks_chan *mc)
{
	if (mc->io.result < 0)
		return (int)mc->io.result;
	return (size_t)mc->io.result == mc->iov.iov_len ? 0 : -EIO;
}

static void
pages_written(struct file_io *io)
{
	struct marks_chan *mc = io->owner;
	const struct marks_change *change = mc->now;
	struct bad *doubt = &mc->marks->doubt;
	int error = error_of(mc);

	/* Of its own blocks alone: of the others in these pages the old ones said the same as the new ones. */
	if (error != 0 || bad_any(doubt, change->lba, change->blocks, &(uint64_t){ 0 }))
		bad_set(doubt, change->lba, change->blocks, error != 0);
	end(mc, error);
}

/* The pages as they will be, from the bits as they are: nobody changes any while we own the lock. */
static void
write_pages(struct marks_chan *mc)
{
	const struct marks_change *change = mc->now;
	uint64_t first = change->lba / BAD_PAGE_BLOCKS, last = (change->lba + change->blocks - 1) / BAD_PAGE_BLOCKS;

	assert(change->blocks > 0 && last - first < IMAGE_PAGES);
	for (uint64_t page = first; page <= last; page++)
		memcpy(mc->image + (page - first) * BAD_PAGE, bad_page(&mc->marks->bad, page), BAD_PAGE);
	if (change->kind != MARKS_AGAIN)
		bad_put_bits(mc->image, change->lba - first * BAD_PAGE_BLOCKS, change->blocks,
		    change->kind == MARKS_BAD);
	write_image(mc, (first + 1) * BAD_PAGE, (last - first + 1) * BAD_PAGE, pages_written);
}

static void
header_written(struct file_io *io)
{
	struct marks_chan *mc = io->owner;
	int error = error_of(mc);

	mc->marks->begun = error == 0;
	if (error == 0)
		write_pages(mc);
	else
		end(mc, error);
}

static void
write_header(struct marks_chan *mc)
{
	struct marks_header header = { .version = le32_of(VERSION), .block_size = le32_of(mc->marks->block_size) };

	memcpy(header.magic, magic, sizeof(magic));
	memset(mc->image, 0, BAD_PAGE);
	memcpy(mc->image, &header, sizeof(header));
	write_image(mc, 0, BAD_PAGE, header_written);
}

static void
begin(struct marks_chan *mc, int error)
{
	if (error != 0)
		end(mc, error);
	else if (mc->marks->begun)
		write_pages(mc);
	else
		write_header(mc);
}

/* As long as it is now; before it was perhaps shorter. */
static int
share(struct marks_chan *mc)
{
	const struct world_ops *world = mc->reactor->world;
	int error;

	if (mc->file != NULL)
		world->file_close(mc->file);
	error = world->file_share(mc->marks->file, mc->reactor, &mc->file);
	if (error != 0)
		mc->file = NULL;
	return error;
}

/* One that was not there may be the file of another volume now, by whatever names: nothing of ours is written to it. */
static int
open_file(struct marks *marks, uint64_t bytes)
{
	const struct world_ops *world = marks->annex->world;
	int error = world->file_open(marks->annex, marks->path, bytes, BAD_PAGE, &marks->file);

	if (error != 0 || !marks->absent || marks->file->was < 0)
		return error;
	world->file_close(marks->file);
	marks->file = NULL;
	return -EEXIST;
}

/* Beside the reactor: it may take as long as the disk likes. */
static void
make_file(struct errand *errand)
{
	struct marks_chan *mc = errand->owner;
	struct marks *marks = mc->marks;

	if (marks->annex == NULL)
		marks->annex = mc->reactor->world->annex_open(mc->reactor);
	if (marks->annex == NULL)
		mc->made = -ENOMEM;
	else if (marks->file != NULL)
		mc->made = marks->annex->world->file_extend(marks->file, mc->bytes);
	else
		mc->made = open_file(marks, mc->bytes);
}

static void
file_made(struct errand *errand)
{
	struct marks_chan *mc = errand->owner;

	begin(mc, mc->made == 0 ? share(mc) : mc->made);
}

/* Has what a change needs, memory, and the file as long as it must be, and begins it. */
static void
prepare(struct marks_chan *mc)
{
	struct reactor *reactor = mc->reactor;

	if (mc->image == NULL)
		mc->image = arena_alloc_aligned(reactor->arena, IMAGE_PAGES * BAD_PAGE, BAD_PAGE);
	mc->bytes = BAD_PAGE + bad_room(&mc->marks->bad, mc->now->lba + mc->now->blocks - 1) / 8;
	if (mc->image == NULL) {
		begin(mc, -ENOMEM);
	} else if (mc->file != NULL && mc->file->size >= mc->bytes) {
		begin(mc, 0);
	} else if (mc->marks->file != NULL && mc->marks->file->size >= mc->bytes) {
		begin(mc, share(mc));
	} else {
		mc->errand = (struct errand){
			.run = make_file, .done = file_made, .owner = mc, .apart = true, .disk = mc->marks->disk,
		};
		reactor->world->errand(reactor, &mc->errand);
	}
}

static bool
lock(struct marks_chan *mc)
{
	struct range *range = &mc->marks->lock;

	if (range_own(range, 0, 1, mc->waits)) {
		mc->waits = false;
		return true;
	}
	if (!mc->waits) {
		range_wait(range, 0, 1);
		mc->waited++;
	}
	mc->waits = true;
	return false;
}

/* Begins the next change, if none is under way. */
static void
work(struct marks_chan *mc)
{
	if (mc->now != NULL || fifo_empty(&mc->waiting))
		return;
	if (!lock(mc)) {
		retry_wait(&mc->retry, mc->waited, mc->reactor);
		return;
	}
	mc->now = container_of(fifo_pop(&mc->waiting), struct marks_change, node);
	prepare(mc);
}

static void
work_task(struct task *task)
{
	work(container_of(task, struct marks_chan, work));
}

static void
retry_fire(struct timer *timer)
{
	work(container_of(timer, struct marks_chan, retry.timer));
}

void
marks_change(struct marks_chan *mc, struct marks_change *change)
{
	fifo_push(&mc->waiting, &change->node);
	reactor_run_in(mc->reactor, PHASE_COLLECT, &mc->work);
}

void
marks_chan_init(struct marks_chan *mc, struct marks *marks, struct reactor *reactor)
{
	*mc = (struct marks_chan){ .marks = marks, .reactor = reactor };
	fifo_init(&mc->waiting);
	task_init(&mc->work, work_task);
	mc->retry.timer.fire = retry_fire;
}

void
marks_chan_fini(struct marks_chan *mc)
{
	assert(mc->now == NULL && fifo_empty(&mc->waiting) && !mc->waits);
	task_cancel(&mc->work);
	timer_clear(&mc->reactor->timers, &mc->retry.timer);
	if (mc->file != NULL)
		mc->reactor->world->file_close(mc->file);
	arena_free(mc->reactor->arena, mc->image);
}
