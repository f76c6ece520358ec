/*
 * wires.c - which bytes of a host's connections may change on their way: those that a digest is of, which must notice.
 *
 * Follows each direction of each connection from PDU to PDU. What begins a connection, and what ends it (TermReq), has
 * no digest, nor has padding.
 */
#include <string.h>

#include "base/bytes.h"
#include "trial/internal.h"
#include "wire/pdu.h"

enum { WIRES_FIRST = 64 };

struct wire {
	bool hdgst, ddgst;
	struct way {
		uint32_t at; /* in a PDU */
		uint8_t ch[PDU_CH_LEN];
	} ways[2];
};

static struct wire *
wire_of(struct trial *trial, uint64_t link)
{
	size_t count = trial->wire_count > 0 ? trial->wire_count : WIRES_FIRST;
	struct wire *wires;

	while (count <= link)
		count *= 2;
	if (count > trial->wire_count) {
		wires = arena_alloc(&trial->arena, count * sizeof(*wires));
		if (trial->wire_count > 0)
			memcpy(wires, trial->wires, trial->wire_count * sizeof(*wires));
		arena_free(&trial->arena, trial->wires);
		trial->wires = wires;
		trial->wire_count = count;
	}
	return &trial->wires[link];
}

static void
note_digests(const struct trial *trial, const struct sim_process *host, struct wire *wire)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		if (trial->users[i].process == host) {
			wire->hdgst = trial->users[i].hdgst;
			wire->ddgst = trial->users[i].ddgst;
		}
}

/* Where the part of the PDU ends that stands at `at`, and whether a digest is of it. */
static uint32_t
part_end(const struct wire *wire, const struct way *way, bool *may)
{
	const struct pdu_ch *ch = (const void *)way->ch;
	uint32_t plen = get_le32(way->ch + 4), head = ch->hlen + (wire->hdgst ? PDU_DIGEST_LEN : 0u);

	if (ch->type < PDU_CAPSULE_CMD)
		return plen;
	if (way->at < head) {
		*may = wire->hdgst;
		return head;
	}
	if (way->at < ch->pdo)
		return ch->pdo;
	*may = wire->ddgst;
	return plen;
}

size_t
wires_alike(void *arg, const struct sim_process *host, uint64_t link, unsigned side, const uint8_t *bytes,
    size_t count, bool *may)
{
	struct trial *trial = arg;
	struct wire *wire = wire_of(trial, link);
	struct way *way = &wire->ways[side];
	size_t lacks = PDU_CH_LEN - way->at;
	uint32_t end;

	if (way->at == 0)
		note_digests(trial, host, wire);
	/* One that begins here whole is looked at; else it is let alone until it is known. */
	if (way->at < PDU_CH_LEN && count < lacks) {
		memcpy(way->ch + way->at, bytes, count);
		way->at += (uint32_t)count;
		return count;
	}
	if (way->at > 0 && way->at < PDU_CH_LEN) {
		memcpy(way->ch + way->at, bytes, lacks);
		way->at = PDU_CH_LEN;
		return lacks;
	}
	if (way->at == 0)
		memcpy(way->ch, bytes, PDU_CH_LEN);
	end = part_end(wire, way, may);
	if (count > end - way->at)
		count = end - way->at;
	way->at += (uint32_t)count;
	if (way->at == get_le32(way->ch + 4))
		way->at = 0;
	return count;
}
