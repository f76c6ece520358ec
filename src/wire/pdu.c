#include "wire/pdu.h"

/* What a PDU of the type carries behind its header. */
enum carries {
	NOTHING,
	MAYBE,  /* a command has data in the capsule or it has not */
	DATA,
	QUOTED, /* a TermReq: the header of the PDU that was wrong, right behind its own */
};

enum { HD = PDU_HDGST, DD = PDU_DDGST, LP = PDU_LAST, SU = PDU_SUCCESS };

/* NVMe/TCP Transport 1.0, 3.6.2; a row of hlen 0 is a type that does not exist. */
static const struct rule {
	uint8_t hlen;
	uint8_t flags; /* the bits that may be set */
	uint8_t side;  /* who may receive it */
	uint8_t carries;
} rules[] = {
	/*                    hlen  flags              side           carries */
	[PDU_ICREQ] =        { 128, 0,                 PDU_TO_TARGET, NOTHING },
	[PDU_ICRESP] =       { 128, 0,                 PDU_TO_HOST,   NOTHING },
	[PDU_H2C_TERM] =     {  24, 0,                 PDU_TO_TARGET, QUOTED },
	[PDU_C2H_TERM] =     {  24, 0,                 PDU_TO_HOST,   QUOTED },
	[PDU_CAPSULE_CMD] =  {  72, HD | DD,           PDU_TO_TARGET, MAYBE },
	[PDU_CAPSULE_RESP] = {  24, HD,                PDU_TO_HOST,   NOTHING },
	[PDU_H2C_DATA] =     {  24, HD | DD | LP,      PDU_TO_TARGET, DATA },
	[PDU_C2H_DATA] =     {  24, HD | DD | LP | SU, PDU_TO_HOST,   DATA },
	[PDU_R2T] =          {  24, HD,                PDU_TO_HOST,   NOTHING },
};

enum { RULES = sizeof(rules) / sizeof(rules[0]) };

static struct pdu_fault
bad_field(uint32_t offset, const char *why)
{
	return (struct pdu_fault){ PDU_FES_HEADER_FIELD, offset, why };
}

struct pdu_fault
pdu_check(const uint8_t ch[PDU_CH_LEN], const struct pdu_terms *terms, struct pdu_shape *shape)
{
	uint8_t type = ch[0], flags = ch[1], hlen = ch[2], pdo = ch[3];
	uint32_t plen = get_le32(ch + 4), head, tail, data_at;
	const struct rule *rule;
	uint8_t agreed;
	bool data;

	/* Byte 0, TYPE. */
	if (type >= RULES || rules[type].hlen == 0)
		return bad_field(0, "no such PDU type");
	rule = &rules[type];
	if (rule->side != terms->side)
		return bad_field(0, "PDU type of the other direction");

	agreed = (uint8_t)(((terms->hdgst ? HD : 0) | (terms->ddgst ? DD : 0)) & rule->flags);
	head = rule->hlen + (agreed & HD ? PDU_DIGEST_LEN : 0u);
	data = rule->carries == DATA || (rule->carries == MAYBE && plen > head);
	tail = data && agreed & DD ? PDU_DIGEST_LEN : 0;

	/* Byte 1, FLAGS.  Hosts differ in DDGSTF of a capsule without data, where it means nothing. */
	if (flags & ~rule->flags)
		return bad_field(1, "flag that the PDU type has not");
	if ((flags ^ agreed) & (rule->carries == MAYBE && !data ? HD : HD | DD))
		return bad_field(1, "digest flag is not as agreed");
	if ((flags & (SU | LP)) == SU)
		return bad_field(1, "SUCCESS without LAST_PDU");

	/* Byte 2, HLEN. */
	if (hlen != rule->hlen)
		return bad_field(2, "HLEN is not that of the PDU type");

	/* Byte 3, PDO.  A capsule without data may say where its data would be. */
	data_at = data ? pdo : head;
	if (data || (rule->carries == MAYBE && pdo != 0)) {
		if (pdo < head)
			return bad_field(3, "PDO lies in the header");
		if (terms->pda == 0 ? pdo % 4 != 0 : pdo != pdu_align(pdo, terms->pda))
			return bad_field(3, "PDO is not aligned");
		if (pdo > plen && plen >= head)
			return bad_field(3, "PDO lies behind the PDU");
	} else if (pdo != 0) {
		return bad_field(3, "PDO of a PDU without data");
	}

	/* Bytes 4-7, PLEN. */
	if (plen < data_at + tail + data) /* what carries data carries some */
		return bad_field(4, "PLEN is too small");
	if (rule->carries == NOTHING && plen != head)
		return bad_field(4, "PLEN is not that of the PDU type");
	if (rule->carries == QUOTED && plen - head > PDU_TERM_DATA_MAX)
		return bad_field(4, "PLEN of a TermReq is too large");
	if (data && plen - data_at - tail > terms->data_max)
		return bad_field(4, "PLEN is larger than any such PDU");

	*shape = (struct pdu_shape){
		.type = type, .flags = flags, .hlen = hlen, .data_at = data_at,
		.data_len = plen - data_at - tail, .plen = plen,
		.hdgst = (agreed & HD) != 0, .ddgst = tail != 0,
	};
	return (struct pdu_fault){ 0 };
}

struct pdu_fault
pdu_check_ic(const struct pdu_ic *ic)
{
	uint32_t limit = le32_get(ic->limit);

	if (le16_get(ic->pfv) != 0)
		return bad_field(offsetof(struct pdu_ic, pfv), "unknown PDU format version");
	if (ic->pda > PDU_PDA_MAX)
		return bad_field(offsetof(struct pdu_ic, pda), "data alignment above 128 bytes");
	if (ic->ch.type == PDU_ICRESP && (limit < PDU_MAXH2CDATA_MIN || limit % 4 != 0))
		return bad_field(offsetof(struct pdu_ic, limit), "MAXH2CDATA below 4096 or odd");
	return (struct pdu_fault){ 0 };
}

uint32_t
pdu_term_write(uint8_t out[PDU_TERM_HLEN + PDU_TERM_DATA_MAX], enum pdu_side to,
    struct pdu_fault fault, const uint8_t *header, uint32_t header_len)
{
	struct pdu_term term = {
		.ch = { .type = to == PDU_TO_HOST ? PDU_C2H_TERM : PDU_H2C_TERM, .hlen = PDU_TERM_HLEN },
		.fes = le16_of(fault.fes),
	};
	uint32_t quote = header[2], plen = get_le32(header + 4);

	assert(header_len >= PDU_CH_LEN && fault.fes != PDU_FES_NONE);
	if (quote < PDU_CH_LEN || quote > plen)
		quote = PDU_CH_LEN;
	if (quote > PDU_TERM_DATA_MAX)
		quote = PDU_TERM_DATA_MAX;
	if (quote > header_len)
		quote = header_len;
	put_le32(term.fei, fault.fei);
	term.ch.plen = le32_of(PDU_TERM_HLEN + quote);
	memcpy(out, &term, sizeof(term));
	memcpy(out + sizeof(term), header, quote);
	return PDU_TERM_HLEN + quote;
}
