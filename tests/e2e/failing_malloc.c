/*
 * failing_malloc.c - preloaded into `weir`: the allocation of which WEIR_FAIL_ALLOCATION tells the number fails.
 *
 * After the N-th SIGUSR2 they are counted anew, and the N-th one fails.
 * At its end the program's number of allocations is written to the file WEIR_ALLOCATIONS, if that is given.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static atomic_ulong made;
static atomic_ulong fails, asked;

static void
count_anew(int number)
{
	(void)number;
	atomic_store(&made, 0);
	atomic_store(&fails, atomic_fetch_add(&asked, 1) + 1);
}

static __attribute__((constructor)) void
begin(void)
{
	const char *number = getenv("WEIR_FAIL_ALLOCATION");

	atomic_store(&fails, number != NULL ? strtoul(number, NULL, 10) : 0);
	atomic_store(&made, 0);
	sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = count_anew, .sa_flags = SA_RESTART }, NULL);
}

static __attribute__((destructor)) void
end(void)
{
	const char *path = getenv("WEIR_ALLOCATIONS");
	unsigned long count = atomic_load(&made);
	FILE *file = path != NULL ? fopen(path, "w") : NULL;

	if (file == NULL)
		return;
	fprintf(file, "%lu\n", count);
	fclose(file);
}

static bool
due(void)
{
	if (atomic_fetch_add(&made, 1) + 1 != atomic_load(&fails))
		return false;
	errno = ENOMEM;
	return true;
}

void *
malloc(size_t bytes)
{
	return due() ? NULL : __libc_malloc(bytes);
}

void *
calloc(size_t count, size_t bytes)
{
	return due() ? NULL : __libc_calloc(count, bytes);
}

void *
realloc(void *old, size_t bytes)
{
	return due() ? NULL : __libc_realloc(old, bytes);
}

void *
aligned_alloc(size_t align, size_t bytes)
{
	return due() ? NULL : __libc_memalign(align, bytes);
}
