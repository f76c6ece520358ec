#include "blk/copy.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

void
copy_in(void *to, const struct iovec *iov, uint32_t iov_count)
{
	uint8_t *at = to;

	for (uint32_t i = 0; i < iov_count; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
}

#ifdef __SSE2__

enum { LINE_BYTES = 64 };

/* Whole cache lines by non-temporal stores, the ragged ends as ever. */
static void
stream(uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t head = -(uintptr_t)to & (LINE_BYTES - 1);

	if (head > bytes)
		head = bytes;
	memcpy(to, from, head);
	to += head;
	from += head;
	bytes -= head;
	for (; bytes >= LINE_BYTES; bytes -= LINE_BYTES, to += LINE_BYTES, from += LINE_BYTES) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
		__m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
		__m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));

		_mm_stream_si128((__m128i *)(void *)to, a);
		_mm_stream_si128((__m128i *)(void *)(to + 16), b);
		_mm_stream_si128((__m128i *)(void *)(to + 32), c);
		_mm_stream_si128((__m128i *)(void *)(to + 48), d);
	}
	memcpy(to, from, bytes);
}

void
copy_in_cold(void *to, const struct iovec *iov, uint32_t iov_count, bool shared)
{
	uint8_t *at = to;

	for (uint32_t i = 0; i < iov_count; i++) {
		stream(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	/* The streamed stores come before whatever tells others of them: a release does not order these. */
	if (shared)
		_mm_sfence();
}

#else

void
copy_in_cold(void *to, const struct iovec *iov, uint32_t iov_count, bool shared)
{
	copy_in(to, iov, iov_count);
}

#endif

void
copy_out(const struct iovec *iov, uint32_t iov_count, const void *from)
{
	const uint8_t *at = from;

	for (uint32_t i = 0; i < iov_count; i++) {
		memcpy(iov[i].iov_base, at, iov[i].iov_len);
		at += iov[i].iov_len;
	}
}

bool
copy_equals(const struct iovec *iov, uint32_t iov_count, const void *from)
{
	const uint8_t *at = from;

	for (uint32_t i = 0; i < iov_count; i++) {
		if (memcmp(iov[i].iov_base, at, iov[i].iov_len) != 0)
			return false;
		at += iov[i].iov_len;
	}
	return true;
}

void
copy_zeros(const struct iovec *iov, uint32_t iov_count)
{
	for (uint32_t i = 0; i < iov_count; i++)
		memset(iov[i].iov_base, 0, iov[i].iov_len);
}
