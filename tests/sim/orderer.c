#include "orderer.h"

#include <assert.h>
#include <string.h>

#include "order/group.h"
#include "order/travel.h"
#include "wire/fabrics.h"
#include "wire/feature.h"
#include "wire/identify.h"
#include "wire/log.h"

enum { DW0 = 8, DW1 = 12, CID = 20, STATUS = 22, DATA_CID = 8 };

static const uint32_t left = 1000;

/* ---- its log ---- */

static void
put_entry(const struct orderer_entry *entry, struct weir_list_entry *to)
{
	const struct order_known known = {
		.entry = {
			.first = entry->attribute.first, .last = entry->attribute.last, .prev = entry->attribute.prev,
			.num = entry->attribute.num, .count = entry->attribute.count, .flags = entry->attribute.flags,
			.nsid = entry->nsid, .lba = entry->lba, .blocks = entry->blocks,
		},
		.role = ORDER_COUNTS, .valid = entry->done,
	};

	order_put_known(&known, to);
}

static void
put_list(struct orderer *o, const struct nvme_sqe *sqe, uint8_t *page)
{
	uint32_t from = le32_get(sqe->cdw11), bytes = (le32_get(sqe->cdw12) + 1) * 4;
	const struct weir_list_head head = {
		.log = { o->log }, .stream = le16_of((uint16_t)le32_get(sqe->cdw10)), .term = le16_of(o->term),
		.floor = le32_of(o->floor), .count = le32_of(o->entry_count), .guaranteed = le32_of(200),
		.flags = le32_of((o->stopped ? WEIR_LIST_STOPPED : 0) | (o->term == 0 ? WEIR_LIST_NEW : 0)),
	};

	memset(page, 0, bytes);
	memcpy(page, &head, sizeof(head));
	for (uint32_t at = sizeof(head); at + 40 <= bytes && from < o->entry_count; at += 40) {
		struct weir_list_entry entry;

		put_entry(&o->entries[from++], &entry);
		memcpy(page + at, &entry, sizeof(entry));
	}
}

/* What is not kept is left out. */
static void
keep(struct orderer *o, uint32_t floor, uint32_t cut)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < o->entry_count; i++)
		if (order_above(o->entries[i].attribute.first, floor) &&
		    !order_after(o->entries[i].attribute.last, cut))
			o->entries[kept++] = o->entries[i];
	o->entry_count = kept;
}

/* The newest one of that number by the path at hand. */
static const void *
queue_of(const struct orderer *o, uint16_t qid)
{
	for (unsigned i = o->queue_count; i > 0 && i + ORDERER_QUEUES > o->queue_count; i--)
		if (o->queues[(i - 1) % ORDERER_QUEUES].path == o->path &&
		    o->queues[(i - 1) % ORDERER_QUEUES].qid == qid)
			return o->queues[(i - 1) % ORDERER_QUEUES].pair;
	return NULL;
}

/* Answers the last group that is there. */
static uint32_t
do_cut(struct orderer *o, const struct nvme_sqe *sqe)
{
	static struct order_listed listed[ORDERER_ENTRIES];
	struct order_list list = { .floor = o->floor, .entries = listed };
	uint32_t cut = le32_get(sqe->cdw11), last;

	for (uint32_t i = 0; i < o->entry_count; i++)
		listed[list.count++] = (struct order_listed){
			.first = o->entries[i].attribute.first, .last = o->entries[i].attribute.last,
		};
	last = order_list_last(&list, cut);
	if ((le32_get(sqe->cdw12) & WEIR_CUT_GONE) != 0)
		o->floor = cut;
	keep(o, o->floor, cut);
	o->stream = (uint16_t)le32_get(sqe->cdw10);
	o->term++;
	o->stopped = false;
	o->goes_by = queue_of(o, (uint16_t)(le32_get(sqe->cdw10) >> 16));
	o->cuts++;
	order_gate_init(&o->gate, last, o->floor);
	return last;
}

static void
forget(struct orderer *o)
{
	assert(o->stopped);
	keep(o, o->floor, o->floor);
	assert(o->entry_count == 0);
	o->term = 0;
	o->floor = ORDER_NO_GROUP;
}

/* ---- what the host sends ---- */

static void
note(struct orderer *o, const struct nvme_sqe *sqe)
{
	o->asked[o->asked_count++ % ORDERER_ASKED] = (struct orderer_asked){ o->pair, *sqe, true };
}

/* Of an ordered write what a plain target understands. */
static void
strip(struct nvme_sqe *sqe)
{
	sqe->flags &= (uint8_t)~WEIR_ORDERED_MASK;
	sqe->cdw2 = sqe->cdw3 = sqe->cdw14 = sqe->cdw15 = le32_of(0);
	sqe->mptr = le64_of(0);
	sqe->cdw12 = le32_of(le32_get(sqe->cdw12) & ~(uint32_t)WEIR_ORDERED_FLAGS);
}

/* It is refused by a target that knows no namespace of that number. */
static void
refuse(struct orderer *o, struct nvme_sqe *sqe)
{
	sqe->nsid = le32_of(UINT32_MAX - 1);
	o->refused++;
}

static void
hear_write(struct orderer *o, struct nvme_sqe *sqe)
{
	struct orderer_entry *entry = &o->entries[o->entry_count];
	bool is_flush = sqe->opcode == NVME_FLUSH;
	uint16_t stream;
	bool right;

	assert(o->entry_count < ORDERER_ENTRIES);
	*entry = (struct orderer_entry){
		.pair = o->pair, .cid = le16_get(sqe->cid), .nsid = le32_get(sqe->nsid),
		.lba = le32_get(sqe->cdw10), .blocks = is_flush ? 0 : (le32_get(sqe->cdw12) & 0xffff) + 1,
	};
	right = order_get(sqe, &entry->attribute, &stream);
	strip(sqe);
	assert(right && stream == o->stream);
	if (o->stopped || o->goes_by != o->pair) {
		refuse(o, sqe);
		return;
	}
	right = order_gate_admit(&o->gate, &entry->attribute, &entry->piece) == NULL;
	assert(right);
	entry->piece.ready = true;
	right = order_gate_next(&o->gate) == &entry->piece;
	assert(right);
	o->floor = order_above(entry->attribute.floor, o->floor) ? entry->attribute.floor : o->floor;
	o->merged += entry->attribute.first != entry->attribute.last || entry->attribute.count > 1;
	o->writes++;
	if (o->fails > 0) {
		o->fails--;
		o->stopped = entry->fails = true;
		refuse(o, sqe);
	}
	o->entry_count++;
}

/* An admin command becomes one that a plain target answers with as many bytes. */
static void
hear_admin(struct orderer *o, struct nvme_sqe *sqe)
{
	uint32_t cdw10 = le32_get(sqe->cdw10), dwords = le32_get(sqe->cdw12);

	if (sqe->opcode == WEIR_ADMIN_LIST) {
		note(o, sqe);
		o->lists++;
		o->stopped = o->stopped || (cdw10 & WEIR_LIST_STOP) != 0;
		keep(o, o->floor, o->floor + INT32_MAX);
		sqe->opcode = NVME_ADMIN_GET_LOG_PAGE;
		sqe->nsid = le32_of(UINT32_MAX);
		sqe->cdw10 = le32_of(NVME_LOG_EFFECTS | dwords << 16);
		sqe->cdw11 = sqe->cdw12 = sqe->cdw13 = le32_of(0);
	} else if (sqe->opcode == WEIR_ADMIN_CUT || sqe->opcode == WEIR_ADMIN_FLOOR) {
		note(o, sqe);
		if (sqe->opcode == WEIR_ADMIN_FLOOR) {
			o->floor = le32_get(sqe->cdw11);
			o->floors++;
			if ((le32_get(sqe->cdw12) & WEIR_FLOOR_ENDS) != 0)
				forget(o);
		}
		sqe->opcode = NVME_ADMIN_KEEP_ALIVE;
		sqe->cdw10 = sqe->cdw11 = sqe->cdw12 = sqe->cdw13 = le32_of(0);
	} else if ((sqe->opcode == NVME_ADMIN_IDENTIFY && (cdw10 & 0xff) == NVME_CNS_CTRL) ||
	    (sqe->opcode == NVME_ADMIN_SET_FEATURES && (cdw10 & 0xff) == WEIR_FEATURE)) {
		note(o, sqe);
	}
}

static void
hear_connect(struct orderer *o, uint8_t *sqe)
{
	unsigned at = o->queue_count++ % ORDERER_QUEUES;

	o->queues[at].pair = o->pair;
	o->queues[at].path = o->path;
	o->queues[at].qid = get_le16(sqe + offsetof(struct nvme_connect_sqe, qid));
	if (o->kato_ms > 0)
		put_le32(sqe + offsetof(struct nvme_connect_sqe, kato), o->kato_ms);
}

static bool
hear(struct forger *f, uint8_t *pdu)
{
	struct orderer *o = f->owner;
	struct nvme_sqe sqe;

	o->pair = f->pair;
	o->path = f;
	if (pdu[0] != PDU_CAPSULE_CMD)
		return true;
	memcpy(&sqe, pdu + PDU_CH_LEN, sizeof(sqe));
	if (sqe.opcode == NVME_FABRICS && sqe.fctype == NVME_CONNECT)
		hear_connect(o, pdu + PDU_CH_LEN);
	if (sqe.opcode == NVME_FABRICS)
		return true;
	if (order_travels(&sqe))
		hear_write(o, &sqe);
	else
		hear_admin(o, &sqe);
	memcpy(pdu + PDU_CH_LEN, &sqe, sizeof(sqe));
	return true;
}

/* ---- what the target says ---- */

/* The newest one: another connection may have been where this one is. */
static struct orderer_asked *
asked_for(struct orderer *o, uint16_t cid)
{
	for (unsigned i = o->asked_count; i > 0 && i + ORDERER_ASKED > o->asked_count; i--) {
		struct orderer_asked *asked = &o->asked[(i - 1) % ORDERER_ASKED];

		if (asked->busy && asked->pair == o->pair && le16_get(asked->sqe.cid) == cid)
			return asked;
	}
	return NULL;
}

static void
say_data(struct orderer *o, const struct nvme_sqe *sqe, uint8_t *data)
{
	uint8_t *offers = data + offsetof(struct nvme_identify_ctrl, vendor) +
	    offsetof(struct weir_identify, capabilities);

	if (sqe->opcode == WEIR_ADMIN_LIST)
		put_list(o, sqe, data);
	else if (sqe->opcode == NVME_ADMIN_IDENTIFY && !o->withholds)
		offers[0] |= WEIR_ORDER;
}

static void
say_answer(struct orderer *o, const struct nvme_sqe *sqe, uint8_t *pdu)
{
	if (sqe->opcode == WEIR_ADMIN_CUT)
		put_le32(pdu + DW0, do_cut(o, sqe));
	else if (sqe->opcode == NVME_ADMIN_SET_FEATURES)
		pdu[DW0] = (uint8_t)((pdu[DW0] & ~(o->fenceless ? WEIR_FENCE : 0)) |
		    (o->withholds ? 0 : WEIR_ORDER));
}

static void
say_written(struct orderer *o, uint16_t cid, uint8_t *pdu)
{
	for (uint32_t i = 0; i < o->entry_count; i++) {
		struct orderer_entry *entry = &o->entries[i];

		if (entry->pair != o->pair || entry->cid != cid)
			continue;
		entry->pair = NULL;
		/* For a reason that passes: any other I/O would be sent again. */
		if (entry->fails)
			put_le16(pdu + STATUS, NVME_SC_INTERRUPTED << 1);
		entry->done = get_le16(pdu + STATUS) >> 1 == 0;
		put_le32(pdu + DW1, left << WEIR_ORDERED_LEFT_SHIFT);
		return;
	}
}

static bool
forge(struct forger *f, uint8_t *pdu, unsigned nth)
{
	struct orderer *o = f->owner;
	uint16_t cid = get_le16(pdu + (pdu[0] == PDU_C2H_DATA ? DATA_CID : CID));
	struct orderer_asked *asked;

	(void)nth;
	o->pair = f->pair;
	o->path = f;
	asked = asked_for(o, cid);
	if (pdu[0] == PDU_C2H_DATA && asked != NULL) {
		say_data(o, &asked->sqe, pdu + sizeof(struct pdu_data));
		asked->busy = (pdu[1] & PDU_SUCCESS) == 0;
	} else if (pdu[0] == PDU_CAPSULE_RESP && asked != NULL) {
		say_answer(o, &asked->sqe, pdu);
		asked->busy = false;
	} else if (pdu[0] == PDU_CAPSULE_RESP) {
		say_written(o, cid, pdu);
	}
	return true;
}

int
orderer_start(struct reactor *reactor, void *arg)
{
	struct forger *f = arg;

	f->hear = hear;
	f->forge = forge;
	return forger_start(reactor, f);
}
