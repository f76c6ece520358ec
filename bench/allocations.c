/*
 * allocations.c - preloaded into a program: how often was the allocator called, or memory mapped?
 *
 * At its end the program writes the number to the file that WEIR_ALLOCATIONS
 * names.  Two runs that differ in their number of I/Os alone say what one I/O
 * costs.  What the C library maps for its own heap is within a call of malloc().
 */
#undef _FILE_OFFSET_BITS /* with which mmap() is another name of mmap64(), and both are to be counted */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *block);

static atomic_ulong calls;

static void counted(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

void *
malloc(size_t bytes)
{
	counted();
	return __libc_malloc(bytes);
}

void *
calloc(size_t count, size_t bytes)
{
	counted();
	return __libc_calloc(count, bytes);
}

void *
realloc(void *old, size_t bytes)
{
	counted();
	return __libc_realloc(old, bytes);
}

void *
aligned_alloc(size_t align, size_t bytes)
{
	counted();
	return __libc_memalign(align, bytes);
}

void *
memalign(size_t align, size_t bytes)
{
	counted();
	return __libc_memalign(align, bytes);
}

int
posix_memalign(void **block, size_t align, size_t bytes)
{
	counted();
	*block = __libc_memalign(align, bytes);
	return *block != NULL ? 0 : ENOMEM;
}

void
free(void *block)
{
	counted();
	__libc_free(block);
}

void *
mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	counted();
	return (void *)syscall(SYS_mmap, where, bytes, protection, flags, fd, offset);
}

void *
mmap64(void *where, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
	return mmap(where, bytes, protection, flags, fd, offset);
}

__attribute__((destructor)) static void
say(void)
{
	const char *path = getenv("WEIR_ALLOCATIONS");
	char text[32];
	int length = snprintf(text, sizeof(text), "%lu\n", atomic_load(&calls));
	int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	if (write(fd, text, (size_t)length) != length)
		abort();
	close(fd);
}
