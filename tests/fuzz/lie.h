/*
 * lie.h - the PDUs of a target that may lie, and what the host has to say to each.
 *
 * A step of four bytes says which command a PDU is about and which of its fields are wrong.  That the host must refuse
 * it, and how, is told here by rules written down a second time; how PDUs reach the host is not known here.
 */
#ifndef TESTS_FUZZ_LIE_H
#define TESTS_FUZZ_LIE_H

#include "host_play.h"

enum { LIE_WIRE = 64 * 1024 };

/* What the host has to say: to the bytes gathered so far, and what no byte after them changes. */
enum verdict { FINE, FAULT, TOLD, ANYTHING };

struct lie {
	struct play play;
	bool again;            /* a command that is done is submitted again */
	bool direct;           /* data is read straight to its place where the framer wants that */
	size_t cut;            /* bytes that arrive at once */
	size_t between;        /* bytes that are sent while the data of a PDU comes in; 0: none */
	bool up, closing;
	enum verdict verdict;
	bool fine;             /* all was, before the PDU at hand */
	uint16_t fes;
	uint32_t fei;
	uint16_t ttag;
	uint8_t stray_at, stray_by; /* a byte of the next PDU is changed */
	uint8_t wire[LIE_WIRE];
	size_t have;           /* bytes on it */
	unsigned pdus;         /* which are so many PDUs */
	uint8_t offender[PDU_HLEN_MAX]; /* of the first wrong PDU */
};

/* The PDU at hand is a fault that the host must name so. */
void lie_judged(struct lie *l, uint16_t fes, uint32_t fei);

/* Each puts a PDU on the wire, as the step says, and judges it where all was fine before. */
void lie_c2hdata(struct lie *l, const uint8_t *step);
void lie_r2t(struct lie *l, const uint8_t *step);
void lie_response(struct lie *l, const uint8_t *step);
/* A TermReq: the end; or ICResp once more, which is wrong. */
void lie_term(struct lie *l, const uint8_t *step);

/* ICResp as agreed with the host; whoever changes it judges it. */
struct pdu_ic lie_icresp(const struct lie *l);
void lie_put_icresp(struct lie *l, const struct pdu_ic *resp);

#endif
