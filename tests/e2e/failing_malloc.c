/*
 * failing_malloc.c - preloaded into `weir`: the allocation of which WEIR_FAIL_ALLOCATION tells the number fails.
 *
 * After the N-th SIGUSR2 they are counted anew, and the N-th one fails. WEIR_ALLOCATIONS is a file, in which the
 * program writes at its end: how many it made (since they are counted), how many failed, and how many blocks it has
 * not given back.  SIGWINCH, which it knows nothing of, writes the same at any moment, to that path and ".now".
 * WEIR_PLACES is a file that gets a line for each allocation: what calls it, as addresses.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *block);

static atomic_ulong made, struck;
static atomic_ulong fails, asked;
static atomic_long kept;
static int places = -1;
static char path[4096], path_now[sizeof(path) + 16];

static void
count_anew(int number)
{
	(void)number;
	atomic_store(&made, 0);
	atomic_store(&fails, atomic_fetch_add(&asked, 1) + 1);
}

/* As a whole or not at all; also from a signal. */
static void
say(const char *to)
{
	char text[80];
	int length = snprintf(text, sizeof(text), "%lu %lu %ld\n", atomic_load(&made), atomic_load(&struck),
	    atomic_load(&kept));
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		return;
	if (write(fd, text, (size_t)length) != length)
		abort();
	close(fd);
}

static void
say_now(int number)
{
	int before = errno;

	(void)number;
	say(path_now);
	errno = before;
}

/* Of one run: in another the program lies elsewhere. */
static void
tell_place(void)
{
	void *stack[24];
	char line[sizeof(stack) / sizeof(stack[0]) * 18 + 2];
	int depth = backtrace(stack, sizeof(stack) / sizeof(stack[0])), length = 0;

	for (int i = 2; i < depth; i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length, "%lx ", (unsigned long)stack[i]);
	line[length++] = '\n';
	if (write(places, line, (size_t)length) != length)
		abort();
}

static __attribute__((constructor)) void
begin(void)
{
	const char *told = getenv("WEIR_PLACES");
	void *none[1];

	const char *number = getenv("WEIR_FAIL_ALLOCATION"), *to = getenv("WEIR_ALLOCATIONS");

	snprintf(path, sizeof(path), "%s", to != NULL ? to : "");
	snprintf(path_now, sizeof(path_now), "%s.now", path);
	atomic_store(&fails, number != NULL ? strtoul(number, NULL, 10) : 0);
	(void)backtrace(none, 1); /* which allocates when it is first called */
	places = told != NULL ? open(told, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600) : -1;
	atomic_store(&made, 0);
	sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = count_anew, .sa_flags = SA_RESTART }, NULL);
	if (path[0] != '\0')
		sigaction(SIGWINCH, &(struct sigaction){ .sa_handler = say_now, .sa_flags = SA_RESTART }, NULL);
}

static __attribute__((destructor)) void
end(void)
{
	if (path[0] != '\0')
		say(path);
}

static bool
due(void)
{
	unsigned long number = atomic_fetch_add(&made, 1) + 1;

	if (places >= 0)
		tell_place();
	if (number != atomic_load(&fails))
		return false;
	atomic_fetch_add(&struck, 1);
	errno = ENOMEM;
	return true;
}

static void *
counted(void *block)
{
	if (block != NULL)
		atomic_fetch_add(&kept, 1);
	return block;
}

void *
malloc(size_t bytes)
{
	return due() ? NULL : counted(__libc_malloc(bytes));
}

void *
calloc(size_t count, size_t bytes)
{
	return due() ? NULL : counted(__libc_calloc(count, bytes));
}

void *
realloc(void *old, size_t bytes)
{
	void *new = due() ? NULL : __libc_realloc(old, bytes);

	return old == NULL ? counted(new) : new;
}

void *
aligned_alloc(size_t align, size_t bytes)
{
	return due() ? NULL : counted(__libc_memalign(align, bytes));
}

void
free(void *block)
{
	if (block == NULL)
		return;
	atomic_fetch_sub(&kept, 1);
	__libc_free(block);
}
