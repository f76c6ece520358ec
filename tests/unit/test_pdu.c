#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/pdu.h"

static const uint8_t types[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9 };
static const uint8_t hlens[] = { 128, 128, 24, 24, 72, 24, 24, 24, 24 };

enum { TYPES = sizeof(types), DATA_MAX = 8192 };

static void
header(uint8_t ch[PDU_CH_LEN], uint8_t type, uint8_t flags, uint8_t hlen, uint8_t pdo, uint32_t plen)
{
	ch[0] = type;
	ch[1] = flags;
	ch[2] = hlen;
	ch[3] = pdo;
	put_le32(ch + 4, plen);
}

static struct pdu_terms
terms_for(uint8_t type, bool hdgst, bool ddgst, uint8_t pda)
{
	return (struct pdu_terms){ type & 1 ? PDU_TO_HOST : PDU_TO_TARGET, hdgst, ddgst, pda, DATA_MAX };
}

static void
expect(const uint8_t ch[PDU_CH_LEN], const struct pdu_terms *terms, uint16_t fes, uint32_t fei)
{
	struct pdu_shape shape = { .plen = 4711 };
	struct pdu_fault fault = pdu_check(ch, terms, &shape);

	assert_int_equal(fault.fes, fes);
	assert_int_equal(fault.fei, fei);
	if (fes != 0) {
		assert_non_null(fault.why);
		assert_int_equal(shape.plen, 4711);
	}
}

/* A header that is right under the terms: without data where there may be none. */
static void
right(uint8_t ch[PDU_CH_LEN], unsigned i, const struct pdu_terms *terms)
{
	uint8_t type = types[i], flags = 0, pdo = 0;
	uint32_t head = hlens[i], plen;
	bool data = type == PDU_H2C_DATA || type == PDU_C2H_DATA;

	if (terms->hdgst && type >= PDU_CAPSULE_CMD) {
		flags |= PDU_HDGST;
		head += PDU_DIGEST_LEN;
	}
	if (terms->ddgst && data)
		flags |= PDU_DDGST;
	plen = head;
	if (data) {
		pdo = (uint8_t)pdu_align(head, terms->pda);
		plen = pdo + 512u + (terms->ddgst ? PDU_DIGEST_LEN : 0u);
	}
	header(ch, type, flags, hlens[i], pdo, plen);
}

static void
each_type_is_taken_by_its_side_alone(void **state)
{
	uint8_t ch[PDU_CH_LEN];

	for (unsigned i = 0; i < TYPES; i++) {
		for (unsigned bits = 0; bits < 4; bits++) {
			struct pdu_terms terms = terms_for(types[i], bits & 1, bits & 2, 0);

			right(ch, i, &terms);
			expect(ch, &terms, PDU_FES_NONE, 0);
			terms.side = terms.side == PDU_TO_HOST ? PDU_TO_TARGET : PDU_TO_HOST;
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 0);
		}
	}
}

static void
reserved_types_are_refused(void **state)
{
	struct pdu_terms terms = terms_for(0, false, false, 0);
	uint8_t ch[PDU_CH_LEN];

	for (unsigned type = 0; type < 256; type++) {
		if (type < 8 || type == 9)
			continue;
		header(ch, (uint8_t)type, 0, 24, 0, 24);
		terms.side = PDU_TO_TARGET;
		expect(ch, &terms, PDU_FES_HEADER_FIELD, 0);
		terms.side = PDU_TO_HOST;
		expect(ch, &terms, PDU_FES_HEADER_FIELD, 0);
	}
}

static void
a_flag_the_type_has_not_is_refused(void **state)
{
	static const uint8_t legal[TYPES] = { 0, 0, 0, 0, 3, 1, 7, 15, 1 };
	uint8_t ch[PDU_CH_LEN];

	for (unsigned i = 0; i < TYPES; i++) {
		struct pdu_terms terms = terms_for(types[i], false, false, 0);

		for (unsigned bit = 0; bit < 8; bit++) {
			right(ch, i, &terms);
			ch[1] = (uint8_t)(1 << bit);
			if (!(legal[i] & 1 << bit))
				expect(ch, &terms, PDU_FES_HEADER_FIELD, 1);
		}
	}
}

static void
digest_flags_must_be_as_agreed(void **state)
{
	uint8_t ch[PDU_CH_LEN];

	for (unsigned i = 4; i < TYPES; i++) {
		for (unsigned bits = 0; bits < 4; bits++) {
			struct pdu_terms terms = terms_for(types[i], bits & 1, bits & 2, 0);

			right(ch, i, &terms);
			ch[1] ^= PDU_HDGST;
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 1);
		}
	}
	for (unsigned bits = 0; bits < 4; bits++) {
		struct pdu_terms terms = terms_for(PDU_H2C_DATA, bits & 1, bits & 2, 0);

		right(ch, 6, &terms);
		ch[1] ^= PDU_DDGST;
		expect(ch, &terms, PDU_FES_HEADER_FIELD, 1);
	}
}

static void
a_capsule_without_data_may_carry_the_data_digest_flag_or_not(void **state)
{
	struct pdu_terms terms = terms_for(PDU_CAPSULE_CMD, true, true, 0);
	struct pdu_shape shape;
	uint8_t ch[PDU_CH_LEN];

	for (unsigned flags = PDU_HDGST; flags <= (PDU_HDGST | PDU_DDGST); flags += PDU_DDGST) {
		header(ch, PDU_CAPSULE_CMD, (uint8_t)flags, 72, 0, 76);
		assert_int_equal(pdu_check(ch, &terms, &shape).fes, 0);
		assert_false(shape.ddgst);
		assert_int_equal(shape.data_len, 0);
	}
	header(ch, PDU_CAPSULE_CMD, PDU_HDGST, 72, 76, 76 + 512 + 4);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 1);
}

static void
success_needs_last_pdu(void **state)
{
	struct pdu_terms terms = terms_for(PDU_C2H_DATA, false, false, 0);
	uint8_t ch[PDU_CH_LEN];

	header(ch, PDU_C2H_DATA, PDU_SUCCESS, 24, 24, 536);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 1);
	header(ch, PDU_C2H_DATA, PDU_SUCCESS | PDU_LAST, 24, 24, 536);
	expect(ch, &terms, PDU_FES_NONE, 0);
}

static void
the_header_length_is_that_of_the_type(void **state)
{
	uint8_t ch[PDU_CH_LEN];

	for (unsigned i = 0; i < TYPES; i++) {
		struct pdu_terms terms = terms_for(types[i], false, false, 0);

		for (int off = -1; off <= 1; off += 2) {
			right(ch, i, &terms);
			ch[2] = (uint8_t)(hlens[i] + off);
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 2);
		}
	}
}

static void
data_lies_behind_the_header_and_aligned(void **state)
{
	struct pdu_terms terms = terms_for(PDU_H2C_DATA, true, false, 0);
	uint8_t ch[PDU_CH_LEN];

	for (unsigned pdo = 0; pdo < 256; pdo++) {
		header(ch, PDU_H2C_DATA, PDU_HDGST, 24, (uint8_t)pdo, 1024);
		if (pdo < 28 || pdo % 4 != 0)
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
		else
			expect(ch, &terms, PDU_FES_NONE, 0);
	}
	terms.pda = PDU_PDA_MAX;
	header(ch, PDU_H2C_DATA, PDU_HDGST, 24, 128, 1024);
	expect(ch, &terms, PDU_FES_NONE, 0);
	ch[3] = 132;
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
	terms.pda = 2; /* twelve bytes: not a power of two */
	ch[3] = 36;
	expect(ch, &terms, PDU_FES_NONE, 0);
	ch[3] = 32;
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
}

static void
an_offset_behind_the_pdu_or_without_data_is_refused(void **state)
{
	struct pdu_terms terms = terms_for(PDU_H2C_DATA, false, false, 0);
	uint8_t ch[PDU_CH_LEN];

	header(ch, PDU_H2C_DATA, 0, 24, 64, 60);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
	header(ch, PDU_CAPSULE_CMD, 0, 72, 0, 76); /* four bytes of what? */
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
	header(ch, PDU_CAPSULE_CMD, 0, 72, 40, 72);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
	header(ch, PDU_CAPSULE_CMD, 0, 72, 72, 72);
	expect(ch, &terms, PDU_FES_NONE, 0);
	header(ch, PDU_H2C_TERM, 0, 24, 24, 32);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
	terms.side = PDU_TO_HOST;
	header(ch, PDU_R2T, 0, 24, 24, 24);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
}

static void
a_length_that_cannot_be_is_refused(void **state)
{
	uint8_t ch[PDU_CH_LEN];

	for (unsigned i = 0; i < TYPES; i++) {
		struct pdu_terms terms = terms_for(types[i], false, false, 0);
		static const uint32_t lengths[] = { 0, 7, 8, UINT32_MAX };

		for (unsigned n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
			right(ch, i, &terms);
			put_le32(ch + 4, lengths[n]);
			if (types[i] == PDU_CAPSULE_CMD && lengths[n] == UINT32_MAX)
				ch[3] = 72;
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 4);
		}
		if (types[i] != PDU_CAPSULE_CMD && types[i] != PDU_H2C_DATA && types[i] != PDU_C2H_DATA &&
		    types[i] != PDU_H2C_TERM && types[i] != PDU_C2H_TERM) {
			right(ch, i, &terms);
			put_le32(ch + 4, get_le32(ch + 4) + 4);
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 4);
		}
	}
}

static void
the_most_data_of_one_pdu_is_a_limit(void **state)
{
	struct pdu_terms terms = terms_for(PDU_H2C_DATA, false, true, 0);
	struct pdu_shape shape;
	uint8_t ch[PDU_CH_LEN];

	header(ch, PDU_H2C_DATA, PDU_DDGST, 24, 24, 24 + DATA_MAX + 4);
	assert_int_equal(pdu_check(ch, &terms, &shape).fes, 0);
	assert_int_equal(shape.data_len, DATA_MAX);
	put_le32(ch + 4, 24 + DATA_MAX + 5);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 4);
	put_le32(ch + 4, 24 + 3); /* no room for the digest */
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 4);
}

static void
a_termreq_quotes_at_most_128_bytes(void **state)
{
	struct pdu_terms terms = terms_for(PDU_H2C_TERM, true, true, 0);
	struct pdu_shape shape;
	uint8_t ch[PDU_CH_LEN];

	for (uint32_t plen = 22; plen < 160; plen++) {
		header(ch, PDU_H2C_TERM, 0, 24, 0, plen);
		if (plen < 24 || plen > 152) {
			expect(ch, &terms, PDU_FES_HEADER_FIELD, 4);
			continue;
		}
		assert_int_equal(pdu_check(ch, &terms, &shape).fes, 0);
		assert_int_equal(shape.data_at, 24);
		assert_int_equal(shape.data_len, plen - 24);
		assert_false(shape.hdgst);
	}
}

static void
the_lowest_wrong_byte_is_reported(void **state)
{
	struct pdu_terms terms = terms_for(PDU_H2C_DATA, false, false, 0);
	uint8_t ch[PDU_CH_LEN];

	header(ch, PDU_H2C_DATA, 0, 24, 24, UINT32_MAX);
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 4);
	ch[3] = 1;
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 3);
	ch[2] = 1;
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 2);
	ch[1] = 0xf0;
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 1);
	ch[0] = 0xff;
	expect(ch, &terms, PDU_FES_HEADER_FIELD, 0);
}

static void
the_shape_says_where_the_parts_lie(void **state)
{
	struct pdu_terms terms = terms_for(PDU_C2H_DATA, true, true, PDU_PDA_MAX);
	struct pdu_shape shape;
	uint8_t ch[PDU_CH_LEN];

	header(ch, PDU_C2H_DATA, PDU_HDGST | PDU_DDGST | PDU_LAST, 24, 128, 128 + 4096 + 4);
	assert_int_equal(pdu_check(ch, &terms, &shape).fes, 0);
	assert_int_equal(shape.type, PDU_C2H_DATA);
	assert_int_equal(shape.hlen, 24);
	assert_int_equal(shape.data_at, 128);
	assert_int_equal(shape.data_len, 4096);
	assert_int_equal(shape.plen, 4228);
	assert_true(shape.hdgst && shape.ddgst);

	terms = terms_for(PDU_CAPSULE_RESP, true, true, 0);
	header(ch, PDU_CAPSULE_RESP, PDU_HDGST, 24, 0, 28);
	assert_int_equal(pdu_check(ch, &terms, &shape).fes, 0);
	assert_int_equal(shape.data_at, 28);
	assert_int_equal(shape.data_len, 0);
	assert_true(shape.hdgst && !shape.ddgst);
}

static void
connection_terms_are_checked_field_by_field(void **state)
{
	struct pdu_ic ic = { .ch = { .type = PDU_ICREQ }, .pda = PDU_PDA_MAX };

	assert_int_equal(pdu_check_ic(&ic).fes, 0);
	ic.pda = PDU_PDA_MAX + 1;
	assert_int_equal(pdu_check_ic(&ic).fei, 10);
	ic.pfv = le16_of(0x0100);
	assert_int_equal(pdu_check_ic(&ic).fei, 8);

	ic = (struct pdu_ic){ .ch = { .type = PDU_ICRESP }, .limit = le32_of(4096) };
	assert_int_equal(pdu_check_ic(&ic).fes, 0);
	for (uint32_t limit = 4092; limit <= 4098; limit += 6) {
		ic.limit = le32_of(limit);
		assert_int_equal(pdu_check_ic(&ic).fes, PDU_FES_HEADER_FIELD);
		assert_int_equal(pdu_check_ic(&ic).fei, 12);
	}
}

static void
a_termreq_quotes_the_header_that_was_wrong(void **state)
{
	uint8_t out[PDU_TERM_HLEN + PDU_TERM_DATA_MAX], bad[PDU_HLEN_MAX];
	struct pdu_fault fault = { PDU_FES_HEADER_DIGEST, 0x12345678, "" };
	struct pdu_terms terms = terms_for(PDU_C2H_TERM, false, false, 0);
	struct pdu_shape shape;

	for (unsigned i = 0; i < sizeof(bad); i++)
		bad[i] = (uint8_t)i;
	header(bad, PDU_CAPSULE_CMD, 0, 72, 0, 72);
	assert_int_equal(pdu_term_write(out, PDU_TO_HOST, fault, bad, 72), 96);
	assert_int_equal(out[0], PDU_C2H_TERM);
	assert_int_equal(get_le16(out + 8), PDU_FES_HEADER_DIGEST);
	assert_int_equal(get_le32(out + 10), 0x12345678);
	assert_memory_equal(out + 24, bad, 72);
	assert_int_equal(pdu_check(out, &terms, &shape).fes, 0);
	assert_int_equal(shape.data_len, 72);

	bad[2] = 3; /* a header length that is none */
	assert_int_equal(pdu_term_write(out, PDU_TO_TARGET, fault, bad, 72), 32);
	assert_int_equal(out[0], PDU_H2C_TERM);
	bad[2] = 200; /* longer than any, and than what there is */
	put_le32(bad + 4, 1000);
	assert_int_equal(pdu_term_write(out, PDU_TO_HOST, fault, bad, 128), 152);
	assert_int_equal(pdu_term_write(out, PDU_TO_HOST, fault, bad, 8), 32);
}

static void
alignment_counts_in_dwords(void **state)
{
	assert_int_equal(pdu_align(72, 0), 72);
	assert_int_equal(pdu_align(73, 0), 76);
	assert_int_equal(pdu_align(28, 31), 128);
	assert_int_equal(pdu_align(28, 2), 36);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_taken_by_its_side_alone),
		cmocka_unit_test(reserved_types_are_refused),
		cmocka_unit_test(a_flag_the_type_has_not_is_refused),
		cmocka_unit_test(digest_flags_must_be_as_agreed),
		cmocka_unit_test(a_capsule_without_data_may_carry_the_data_digest_flag_or_not),
		cmocka_unit_test(success_needs_last_pdu),
		cmocka_unit_test(the_header_length_is_that_of_the_type),
		cmocka_unit_test(data_lies_behind_the_header_and_aligned),
		cmocka_unit_test(an_offset_behind_the_pdu_or_without_data_is_refused),
		cmocka_unit_test(a_length_that_cannot_be_is_refused),
		cmocka_unit_test(the_most_data_of_one_pdu_is_a_limit),
		cmocka_unit_test(a_termreq_quotes_at_most_128_bytes),
		cmocka_unit_test(the_lowest_wrong_byte_is_reported),
		cmocka_unit_test(the_shape_says_where_the_parts_lie),
		cmocka_unit_test(connection_terms_are_checked_field_by_field),
		cmocka_unit_test(a_termreq_quotes_the_header_that_was_wrong),
		cmocka_unit_test(alignment_counts_in_dwords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
