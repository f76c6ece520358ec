/*
 * cmd/unpack: what gzip, xz and zstd packed comes out as it was, in any pieces, and what is damaged is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/rng.h"
#include "unpack.h"

enum { TEXT = 100000, PACKED = 2 * TEXT + 4096, GZIP, XZ, ZSTD, PLAIN, KINDS };

static const char *const names[KINDS] = { [GZIP] = "gzip", [XZ] = "xz", [ZSTD] = "zstd" };

/* Text that can be packed, and differs with the seed. */
static void
text_draw(uint8_t text[TEXT], uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < TEXT; i++)
		text[i] = (uint8_t)("0123456789,\n"[rng_below(&rng, 12)]);
}

static size_t
gzip_pack(const uint8_t *text, size_t length, uint8_t *packed, size_t room)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)text, .avail_in = (uInt)length, .next_out = packed,
		.avail_out = (uInt)room };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

/* How many bytes it has, packed so. */
static size_t
pack(int kind, const uint8_t *text, size_t length, uint8_t *packed, size_t room)
{
	size_t bytes = 0;

	switch (kind) {
	case GZIP:
		return gzip_pack(text, length, packed, room);
	case XZ:
		assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, text, length, packed, &bytes, room),
		    LZMA_OK);
		return bytes;
	case ZSTD:
		bytes = ZSTD_compress(packed, room, text, length, 1);
		assert_false(ZSTD_isError(bytes));
		return bytes;
	default:
		memcpy(packed, text, length);
		return length;
	}
}

/* Unpacks it in pieces that the seed says, 0: at once.  What came out; `why`, NULL: nothing is wrong. */
static size_t
unpacked(const uint8_t *packed, size_t length, uint64_t seed, uint8_t *text, size_t room, const char **why)
{
	struct unpack *unpack = unpack_create(packed, length);
	size_t done = 0, given = 0, made = 0;
	const uint8_t *at = packed;
	struct rng rng;

	assert_non_null(unpack);
	rng_seed(&rng, seed);
	do {
		bool end = given == length;
		size_t piece = seed == 0 ? length : rng_below(&rng, 5000), left = given - (size_t)(at - packed);
		size_t space = seed == 0 ? room - done : 1 + rng_below(&rng, 5000);

		if (left == 0 && !end) {
			piece = piece < length - given ? piece : length - given;
			given += piece;
			left = piece;
		}
		assert_true(space <= room - done);
		*why = unpack_some(unpack, &at, &left, end, text + done, space, &made);
		assert_ptr_equal(at + left, packed + given);
		done += made;
	} while (*why == NULL && (made > 0 || given < length || at < packed + length));
	if (*why == NULL) {
		*why = unpack_some(unpack, &at, &(size_t){ 0 }, true, text + done, 1, &made);
		assert_int_equal(made, 0);
	}
	unpack_destroy(unpack);
	return done;
}

static uint8_t text[TEXT], packed[2 * PACKED], out[3 * TEXT];

static void
what_was_packed_comes_out_in_any_pieces(void **state)
{
	const char *why;

	(void)state;
	text_draw(text, 1);
	for (int kind = GZIP; kind < KINDS; kind++) {
		size_t length = pack(kind, text, TEXT, packed, PACKED);

		for (uint64_t seed = 0; seed < 50; seed++) {
			assert_int_equal(unpacked(packed, length, seed, out, sizeof(out), &why), TEXT);
			assert_null(why);
			assert_memory_equal(out, text, TEXT);
		}
	}
}

static void
pieces_that_follow_one_another_are_one(void **state)
{
	const char *why;

	(void)state;
	text_draw(text, 2);
	for (int kind = GZIP; kind < KINDS; kind++) {
		size_t length = pack(kind, text, TEXT / 2, packed, PACKED);

		length += pack(kind, text + TEXT / 2, TEXT / 2, packed + length, PACKED);
		for (uint64_t seed = 0; seed < 50; seed++) {
			assert_int_equal(unpacked(packed, length, seed, out, sizeof(out), &why), TEXT);
			assert_null(why);
			assert_memory_equal(out, text, TEXT);
		}
	}
}

static void
nothing_is_packed_as_little(void **state)
{
	const char *why;

	(void)state;
	for (int kind = GZIP; kind < KINDS; kind++) {
		assert_int_equal(unpacked(packed, pack(kind, text, 0, packed, PACKED), 0, out, sizeof(out), &why), 0);
		assert_null(why);
	}
}

static void
what_packed_it_is_seen_by_how_it_begins(void **state)
{
	(void)state;
	text_draw(text, 3);
	for (int kind = GZIP; kind < KINDS; kind++) {
		struct unpack *unpack = unpack_create(packed, pack(kind, text, TEXT, packed, PACKED));

		assert_non_null(unpack);
		if (names[kind] == NULL)
			assert_null(unpack_packer(unpack));
		else
			assert_string_equal(unpack_packer(unpack), names[kind]);
		unpack_destroy(unpack);
	}
	unpack_destroy(NULL);
}

static void
what_is_cut_off_is_told_wherever_it_is(void **state)
{
	const char *why;

	(void)state;
	text_draw(text, 4);
	for (int kind = GZIP; kind < PLAIN; kind++) {
		size_t length = pack(kind, text, TEXT, packed, PACKED);

		for (size_t cut = UNPACK_BEGIN; cut < length; cut += cut < 100 || cut > length - 100 ? 1 : 997) {
			size_t made = unpacked(packed, cut, cut & 1, out, sizeof(out), &why);

			assert_non_null(why);
			assert_string_equal(why, "cut off");
			assert_memory_equal(out, text, made);
		}
	}
}

static void
what_is_damaged_is_told(void **state)
{
	const char *why;

	(void)state;
	text_draw(text, 5);
	for (int kind = GZIP; kind < PLAIN; kind++) {
		size_t length = pack(kind, text, TEXT, packed, PACKED);

		for (size_t at = length / 3; at < length / 3 + 50; at++) {
			packed[at] ^= 0x55;
			unpacked(packed, length, at & 1, out, sizeof(out), &why);
			packed[at] ^= 0x55;
			/* zstd has no sum of its text here, and a sign may be another. */
			if (kind != ZSTD)
				assert_non_null(why);
		}
	}
}

static void
what_follows_and_is_not_packed_is_told_and_zeros_behind_gzip_are_not(void **state)
{
	static const char *const words[KINDS] = { [GZIP] = "something else follows it", [XZ] = "damaged",
		[ZSTD] = "something else follows it" };
	const char *why;

	(void)state;
	for (int kind = GZIP; kind < PLAIN; kind++) {
		size_t length = pack(kind, text, TEXT, packed, PACKED);

		memcpy(packed + length, "more and more", 13);
		for (uint64_t seed = 0; seed < 10; seed++) {
			assert_int_equal(unpacked(packed, length + 13, seed, out, sizeof(out), &why), TEXT);
			assert_non_null(why);
			assert_string_equal(why, words[kind]);
		}
		memset(packed + length, 0, 12);
		unpacked(packed, length + 12, 1, out, sizeof(out), &why);
		assert_int_equal(why == NULL, kind != ZSTD);
	}
}

static void
what_takes_too_much_memory_is_refused(void **state)
{
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
	/* A frame of zstd with a window of 256 MiB, and an empty block (RFC 8878). */
	static const uint8_t wide[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x01, 0x00, 0x00 };
	const char *why;
	size_t length = 0;

	(void)state;
	assert_int_equal(lzma_lzma_preset(&options, 0), 0);
	options.dict_size = 160 << 20;
	options.mf = LZMA_MF_HC3;
	assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, text, 100, packed, &length, PACKED),
	    LZMA_OK);
	unpacked(packed, length, 0, out, sizeof(out), &why);
	assert_non_null(why);
	assert_string_equal(why, "it takes more than 128 MiB of memory to unpack");
	unpacked(wide, sizeof(wide), 0, out, sizeof(out), &why);
	assert_non_null(why);
	assert_string_equal(why, "it takes more than 128 MiB of memory to unpack");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_comes_out_in_any_pieces),
		cmocka_unit_test(pieces_that_follow_one_another_are_one),
		cmocka_unit_test(nothing_is_packed_as_little),
		cmocka_unit_test(what_packed_it_is_seen_by_how_it_begins),
		cmocka_unit_test(what_is_cut_off_is_told_wherever_it_is),
		cmocka_unit_test(what_is_damaged_is_told),
		cmocka_unit_test(what_follows_and_is_not_packed_is_told_and_zeros_behind_gzip_are_not),
		cmocka_unit_test(what_takes_too_much_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
