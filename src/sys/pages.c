#include "sys/pages.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_BYTES = 2 << 20 };

static void *
map(size_t bytes, int may, bool apart)
{
	void *pages = mmap(NULL, bytes, may, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	/* Huge pages where they are wanted and to be had; the volume works with and without. */
	if (bytes >= HUGE_BYTES)
		(void)madvise(pages, bytes, apart ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	return pages;
}

void *pages_map(size_t bytes, bool apart) { return map(bytes, PROT_READ | PROT_WRITE, apart); }

void *
pages_reserve(size_t bytes, size_t room)
{
	void *pages = map(room, PROT_NONE, false);

	if (pages == NULL || pages_use(pages, bytes) == 0)
		return pages;
	pages_unmap(pages, room);
	return NULL;
}

int
pages_use(void *pages, size_t bytes)
{
	return mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : -ENOMEM;
}

void
pages_unmap(void *pages, size_t bytes)
{
	int rc = munmap(pages, bytes);

	/* Short of memory for the kernel's own accounts, it leaves them where they are. */
	assert(rc == 0 || errno == ENOMEM);
}

void
pages_discard(void *pages, size_t bytes)
{
	/* Locked pages cannot be given back; zeros are what was promised. */
	if (madvise(pages, bytes, MADV_DONTNEED) != 0)
		memset(pages, 0, bytes);
}
