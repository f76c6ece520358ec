/*
 * fuzz_pdu.c - eight bytes of header, under any terms: a shape that holds
 * together, or a fault whose TermReq the other end understands.
 */
#include "wire/pdu.h"

#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[PDU_TERM_HLEN + PDU_TERM_DATA_MAX];
	struct pdu_terms terms, theirs = { .data_max = 0 };
	struct pdu_shape shape = { 0 };
	struct pdu_fault fault;
	uint32_t head;

	if (size < PDU_CH_LEN + 4)
		return 0;
	terms = (struct pdu_terms){ data[0] & 1 ? PDU_TO_HOST : PDU_TO_TARGET, data[0] & 2, data[0] & 4,
		data[1] % 32, get_le16(data + 2) * 16u };
	data += 4;
	fault = pdu_check(data, &terms, &shape);
	if (fault.fes != PDU_FES_NONE) {
		assert(fault.fes == PDU_FES_HEADER_FIELD && fault.fei <= 4 && shape.plen == 0);
		theirs.side = terms.side == PDU_TO_HOST ? PDU_TO_TARGET : PDU_TO_HOST;
		pdu_term_write(out, theirs.side, fault, data, (uint32_t)size - 4);
		assert(pdu_check(out, &theirs, &shape).fes == PDU_FES_NONE);
		return 0;
	}
	head = shape.hlen + (shape.hdgst ? PDU_DIGEST_LEN : 0u);
	assert((shape.type & 1) == (terms.side == PDU_TO_HOST) && shape.type == data[0]);
	assert(shape.hlen == data[2] && shape.plen == get_le32(data + 4));
	assert(shape.data_at >= head && shape.data_at <= shape.plen && shape.data_at % 4 == 0);
	assert((uint64_t)shape.data_at + shape.data_len + (shape.ddgst ? 4 : 0) == shape.plen);
	assert(shape.data_len <= (shape.type <= PDU_C2H_TERM ? PDU_TERM_DATA_MAX : terms.data_max));
	return 0;
}
