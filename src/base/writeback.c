#include "base/writeback.h"

#include <assert.h>
#include <stdint.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

enum { LINE = 64 };

/* Asked of the processor itself: __builtin_cpu_supports() of older compilers does not know them. */
enum writeback
writeback_best(void)
{
	const unsigned clflush = 1u << 19, clflushopt = 1u << 23, clwb = 1u << 24;
	unsigned a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (clflushopt | clwb)) != 0)
		return (b & clwb) != 0 ? WRITEBACK_CLWB : WRITEBACK_CLFLUSHOPT;
	return __get_cpuid(1, &a, &b, &c, &d) != 0 && (d & clflush) != 0 ? WRITEBACK_CLFLUSH : WRITEBACK_NONE;
}

static const uint8_t *line_of(const void *at) { return (const uint8_t *)at - (uintptr_t)at % LINE; }

__attribute__((target("clwb"))) static void
lines_clwb(const uint8_t *line, const uint8_t *end)
{
	for (; line < end; line += LINE)
		_mm_clwb((void *)(uintptr_t)line);
}

__attribute__((target("clflushopt"))) static void
lines_clflushopt(const uint8_t *line, const uint8_t *end)
{
	for (; line < end; line += LINE)
		_mm_clflushopt((void *)(uintptr_t)line);
}

static void
lines_clflush(const uint8_t *line, const uint8_t *end)
{
	for (; line < end; line += LINE)
		_mm_clflush(line);
}

void
writeback_lines(enum writeback way, const void *at, size_t bytes)
{
	const uint8_t *line = line_of(at), *end = (const uint8_t *)at + bytes;

	assert(way != WRITEBACK_NONE);
	switch (way) {
	case WRITEBACK_NONE:
		break;
	case WRITEBACK_CLFLUSH:
		lines_clflush(line, end);
		break;
	case WRITEBACK_CLFLUSHOPT:
		lines_clflushopt(line, end);
		break;
	case WRITEBACK_CLWB:
		lines_clwb(line, end);
		break;
	}
}

void writeback_fence(void) { _mm_sfence(); }

#else

enum writeback writeback_best(void) { return WRITEBACK_NONE; }

void
writeback_lines(enum writeback way, const void *at, size_t bytes)
{
	assert(way != WRITEBACK_NONE); /* there is no other */
}

void writeback_fence(void) { }

#endif
