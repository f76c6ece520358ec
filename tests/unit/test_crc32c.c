#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/rng.h"

/* The definition: one bit at a time. */
static uint32_t
bitwise(uint32_t crc, const uint8_t *p, size_t bytes)
{
	crc = ~crc;
	for (; bytes > 0; bytes--, p++) {
		crc ^= *p;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
	}
	return ~crc;
}

static void
fill(struct rng *rng, uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)rng_next(rng);
}

static void
the_published_vectors_hold(void **state)
{
	static const uint8_t r2t[] = {
		0x09, 0x01, 0x18, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	static const uint8_t resp[] = {
		0x05, 0x01, 0x18, 0x00, 0x1c, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x03, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
	};
	static const uint8_t zeros[4096];
	uint8_t ones[32], up[32], down[32];
	const struct {
		const void *data;
		size_t bytes;
		uint32_t crc;
	} vectors[] = {
		{ "123456789", 9, 0xe3069283 }, { zeros, 32, 0x8a9136aa }, { ones, 32, 0x62a8ab43 },
		{ up, 32, 0x46dd794e }, { down, 32, 0x113fdb5c }, { zeros, 4096, 0x98f94189 },
		{ "", 0, 0 }, { r2t, sizeof(r2t), 0x6d9e11d0 }, { resp, sizeof(resp), 0x4b472d38 },
	};

	memset(ones, 0xff, sizeof(ones));
	for (uint8_t i = 0; i < 32; i++) {
		up[i] = i;
		down[i] = (uint8_t)(31 - i);
	}
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		assert_int_equal(crc32c(0, vectors[i].data, vectors[i].bytes), vectors[i].crc);
		assert_int_equal(crc32c_portable(0, vectors[i].data, vectors[i].bytes), vectors[i].crc);
	}
}

static void
every_short_length_agrees_with_the_definition(void **state)
{
	struct rng rng;
	uint8_t data[700];

	rng_seed(&rng, 1);
	fill(&rng, data, sizeof(data));
	for (size_t bytes = 0; bytes <= sizeof(data); bytes++) {
		uint32_t want = bitwise(7, data, bytes);

		assert_int_equal(crc32c(7, data, bytes), want);
		assert_int_equal(crc32c_portable(7, data, bytes), want);
	}
}

static void
long_blocks_at_any_address_agree_with_the_table(void **state)
{
	static uint8_t data[40000];
	struct rng rng;

	rng_seed(&rng, 2);
	fill(&rng, data, sizeof(data));
	for (int i = 0; i < 500; i++) {
		size_t at = rng_below(&rng, 64), bytes = rng_below(&rng, sizeof(data) - 64);
		uint32_t start = (uint32_t)rng_next(&rng);

		assert_int_equal(crc32c(start, data + at, bytes), crc32c_portable(start, data + at, bytes));
	}
}

static void
a_digest_in_pieces_is_the_digest_of_the_whole(void **state)
{
	static uint8_t data[9000];
	struct rng rng;
	uint32_t whole;

	rng_seed(&rng, 3);
	fill(&rng, data, sizeof(data));
	whole = crc32c(0, data, sizeof(data));
	for (int i = 0; i < 200; i++) {
		uint32_t crc = 0;

		for (size_t at = 0, step; at < sizeof(data); at += step) {
			step = 1 + rng_below(&rng, 5000);
			if (step > sizeof(data) - at)
				step = sizeof(data) - at;
			crc = crc32c(crc, data + at, step);
		}
		assert_int_equal(crc, whole);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_vectors_hold),
		cmocka_unit_test(every_short_length_agrees_with_the_definition),
		cmocka_unit_test(long_blocks_at_any_address_agree_with_the_table),
		cmocka_unit_test(a_digest_in_pieces_is_the_digest_of_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
