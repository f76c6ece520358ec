/*
 * disk.c - sparse bytes in pages of 4 KiB, each as written and as safe.
 *
 * A page is dirty from the first write after it was safe; then it holds both
 * versions.  Whether one was stored to in a map is found by comparison.  Knows
 * nothing of time, handles or requests.
 */
#include "sim/disk.h"

#include <errno.h>
#include <string.h>

/* A page's memory, recycled; the contents are what was there before. */
static uint8_t *
memory_take(struct sim *sim)
{
	struct fifo_node *node = fifo_pop(&sim->spare_pages);

	return node != NULL ? (uint8_t *)node : sim_alloc(sim, DISK_PAGE);
}

static void
memory_give(struct sim *sim, uint8_t *memory)
{
	if (memory != NULL)
		fifo_push(&sim->spare_pages, (struct fifo_node *)(void *)memory);
}

static struct sim_page *
page_find(const struct sim_file *file, uint64_t index)
{
	uint64_t chunk = index / DISK_CHUNK_PAGES;

	if (chunk >= file->chunk_count || file->chunks[chunk] == NULL)
		return NULL;
	return &file->chunks[chunk][index % DISK_CHUNK_PAGES];
}

static void
chunks_grow(struct sim_file *file, uint64_t chunk)
{
	size_t count = file->chunk_count * 2 > chunk ? file->chunk_count * 2 : (size_t)chunk + 1;
	struct sim_page **chunks = sim_alloc(file->sim, count * sizeof(*chunks));

	if (file->chunk_count > 0)
		memcpy(chunks, file->chunks, file->chunk_count * sizeof(*chunks));
	arena_free(&file->sim->arena, file->chunks);
	file->chunks = chunks;
	file->chunk_count = count;
}

static struct sim_page *
page_make(struct sim_file *file, uint64_t index)
{
	uint64_t chunk = index / DISK_CHUNK_PAGES;

	if (chunk >= file->chunk_count)
		chunks_grow(file, chunk);
	if (file->chunks[chunk] == NULL) {
		struct sim_page *pages = sim_alloc(file->sim, DISK_CHUNK_PAGES * sizeof(*pages));

		for (int i = 0; i < DISK_CHUNK_PAGES; i++)
			list_init(&pages[i].dirty_node);
		file->chunks[chunk] = pages;
	}
	return &file->chunks[chunk][index % DISK_CHUNK_PAGES];
}

/* Writes into one of the two versions. */
static void
version_put(struct sim *sim, uint8_t **version, size_t at, const uint8_t *data, size_t bytes)
{
	if (data == NULL && (*version == NULL || bytes == DISK_PAGE)) {
		memory_give(sim, *version);
		*version = NULL;
		return;
	}
	if (*version == NULL) {
		*version = memory_take(sim);
		memset(*version, 0, DISK_PAGE);
	}
	if (data != NULL)
		memcpy(*version + at, data, bytes);
	else
		memset(*version + at, 0, bytes);
}

static void
page_dirty(struct sim_file *file, struct sim_page *page)
{
	bool lost = page->lost;

	if (page->dirty && !lost)
		return;
	if (lost)
		list_remove(&page->dirty_node);
	page->dirty = true;
	page->lost = false;
	page->dirty_since = file->writes;
	list_push(&file->dirty, &page->dirty_node);
	if (lost) /* it has both versions */
		return;
	page->safe = page->now;
	if (page->now == NULL)
		return;
	page->now = memory_take(file->sim);
	memcpy(page->now, page->safe, DISK_PAGE);
}

/* The two versions become one. */
static void
page_settle(struct sim_file *file, struct sim_page *page, bool as_written)
{
	if (!page->dirty)
		return;
	memory_give(file->sim, as_written ? page->safe : page->now);
	if (!as_written)
		page->now = page->safe;
	page->safe = NULL;
	page->dirty = page->lost = false;
	list_remove(&page->dirty_node);
}

static void
page_put(struct sim_file *file, struct sim_page *page, size_t at, const uint8_t *data,
    size_t bytes, bool durable)
{
	if (!durable)
		page_dirty(file, page);
	else if (page->dirty)
		version_put(file->sim, &page->safe, at, data, bytes);
	version_put(file->sim, &page->now, at, data, bytes);
}

/* Where the map has the page; NULL: nowhere. */
static uint8_t *
map_page(const struct sim_file *file, uint64_t index)
{
	return index * DISK_PAGE < file->map_bytes ? file->map + index * DISK_PAGE : NULL;
}

static void
pages_put(struct sim_file *file, uint64_t offset, const void *data, size_t bytes, bool durable)
{
	const uint8_t *from = data;

	file->writes++;
	while (bytes > 0) {
		size_t at = (size_t)(offset % DISK_PAGE);
		size_t part = bytes < DISK_PAGE - at ? bytes : DISK_PAGE - at;

		page_put(file, page_make(file, offset / DISK_PAGE), at, from, part, durable);
		offset += part;
		bytes -= part;
		from = from != NULL ? from + part : NULL;
	}
}

void
sim_disk_put(struct sim_file *file, uint64_t offset, const void *data, size_t bytes, bool durable)
{
	uint64_t room = (file->map_bytes + DISK_PAGE - 1) / DISK_PAGE * DISK_PAGE;
	size_t mapped = offset >= room ? 0 : bytes < room - offset ? bytes : (size_t)(room - offset);

	pages_put(file, offset, data, bytes, durable);
	if (mapped > 0 && data != NULL)
		memcpy(file->map + offset, data, mapped);
	else if (mapped > 0)
		memset(file->map + offset, 0, mapped);
}

void
sim_disk_get(const struct sim_file *file, uint64_t offset, void *out, size_t bytes, bool safe)
{
	uint8_t *to = out;

	while (bytes > 0) {
		size_t at = (size_t)(offset % DISK_PAGE);
		size_t part = bytes < DISK_PAGE - at ? bytes : DISK_PAGE - at;
		const struct sim_page *page = page_find(file, offset / DISK_PAGE);
		const uint8_t *version = safe ? NULL : map_page(file, offset / DISK_PAGE);

		if (version == NULL && page != NULL)
			version = safe && page->dirty ? page->safe : page->now;
		if (version != NULL)
			memcpy(to, version + at, part);
		else
			memset(to, 0, part);
		offset += part;
		to += part;
		bytes -= part;
	}
}

uint64_t
sim_disk_data(const struct sim_file *file, uint64_t offset)
{
	uint64_t end = file->chunk_count * DISK_CHUNK_PAGES;

	for (uint64_t i = offset / DISK_PAGE; i < end; i++) {
		const struct sim_page *page = page_find(file, i);

		if (page == NULL)
			i |= DISK_CHUNK_PAGES - 1; /* none of the chunk is there */
		else if (page->now != NULL)
			return i * DISK_PAGE > offset ? i * DISK_PAGE : offset;
	}
	return UINT64_MAX;
}

/* ---- a map ---- */

int
sim_disk_map(struct sim_file *file)
{
	uint64_t room = (file->size + DISK_PAGE - 1) / DISK_PAGE * DISK_PAGE;
	uint8_t *map;

	if (file->maps == 0) {
		map = arena_alloc_aligned(&file->sim->arena, (size_t)room, DISK_PAGE);
		if (map == NULL)
			return -ENOMEM;
		sim_disk_get(file, 0, map, (size_t)file->size, false);
		file->map = map;
		file->map_bytes = file->size;
	}
	assert(file->map_bytes == file->size);
	file->maps++;
	return 0;
}

void
sim_disk_unmap(struct sim_file *file)
{
	assert(file->maps > 0);
	if (--file->maps > 0)
		return;
	sim_disk_stored(file);
	arena_free(&file->sim->arena, file->map);
	file->map = NULL;
	file->map_bytes = 0;
}

void
sim_disk_stored(struct sim_file *file)
{
	static const uint8_t zeros[DISK_PAGE];

	for (uint64_t at = 0; at < file->map_bytes; at += DISK_PAGE) {
		size_t part = file->map_bytes - at < DISK_PAGE ? (size_t)(file->map_bytes - at) : DISK_PAGE;
		const struct sim_page *page = page_find(file, at / DISK_PAGE);
		const uint8_t *written = page != NULL && page->now != NULL ? page->now : zeros;

		if (memcmp(written, file->map + at, part) == 0)
			continue;
		pages_put(file, at, file->map + at, part, false);
		sim_disk_writeback(file, at, part);
	}
}

void
sim_disk_keep(struct sim_file *file, uint64_t offset, uint64_t bytes)
{
	assert(offset <= file->map_bytes && bytes <= file->map_bytes - offset);
	pages_put(file, offset, file->map + offset, (size_t)bytes, true);
}

/* ---- syncs and crashes ---- */

void
sim_disk_sync(struct sim_file *file, uint64_t writes)
{
	list_for_each(&file->dirty, node) {
		struct sim_page *page = container_of(node, struct sim_page, dirty_node);

		if (page->dirty_since > writes)
			break;
		page_settle(file, page, true);
	}
}

/* Where a page of the file lies. */
static uint64_t
page_offset(const struct sim_file *file, const struct sim_page *page)
{
	size_t chunk = 0;

	while (file->chunks[chunk] == NULL || page < file->chunks[chunk] ||
	    page >= file->chunks[chunk] + DISK_CHUNK_PAGES)
		chunk++;
	return (chunk * DISK_CHUNK_PAGES + (size_t)(page - file->chunks[chunk])) * DISK_PAGE;
}

void
sim_disk_lose(struct sim_file *file, uint64_t writes)
{
	const struct sim_options *options = &file->sim->options;

	list_for_each(&file->dirty, node) {
		struct sim_page *page = container_of(node, struct sim_page, dirty_node);

		if (page->dirty_since > writes)
			break;
		page->lost = true;
		list_remove(&page->dirty_node);
		list_push(&file->lost_pages, &page->dirty_node);
		if (options->file_lost != NULL)
			options->file_lost(options->arg, file->path, page_offset(file, page));
	}
}

void
sim_disk_writeback(struct sim_file *file, uint64_t offset, uint64_t bytes)
{
	struct sim *sim = file->sim;

	if (bytes == 0)
		return;
	for (uint64_t i = offset / DISK_PAGE; i <= (offset + bytes - 1) / DISK_PAGE; i++) {
		struct sim_page *page = page_find(file, i);

		if (page != NULL && page->dirty && !page->lost && sim_chance(sim, sim->options.writeback_ppm))
			page_settle(file, page, true);
	}
}

/* Each sector by itself keeps what was written, or is as it was when it was safe. */
static void
page_crash(struct sim_file *file, struct sim_page *page, uint32_t kept_ppm)
{
	struct sim *sim = file->sim;
	uint32_t sector = sim->options.file_sector;

	if (sector == 0 || sector > DISK_PAGE)
		sector = DISK_PAGE;
	for (size_t at = 0, part = sector; at < DISK_PAGE; at += part) {
		if (part > DISK_PAGE - at)
			part = DISK_PAGE - at;
		if (!sim_chance(sim, kept_ppm))
			version_put(sim, &page->now, at, page->safe != NULL ? page->safe + at : NULL, part);
	}
	page_settle(file, page, true);
}

void
sim_disk_crash(struct sim_file *file)
{
	static const uint32_t kept_ppm[] = { 0, 500000, 1000000 };
	struct sim *sim = file->sim;
	uint32_t ppm = kept_ppm[rng_below(&sim->rng, 3)];

	assert(file->maps == 0);
	list_for_each(&file->dirty, node)
		page_crash(file, container_of(node, struct sim_page, dirty_node), ppm);
	list_for_each(&file->lost_pages, node)
		page_settle(file, container_of(node, struct sim_page, dirty_node), false);
}
