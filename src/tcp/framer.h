/*
 * framer.h - bytes of a connection into whole, verified PDUs.
 *
 * Knows the rules of headers, digests and padding, for either side; does not
 * know what a PDU means.  A PDU that lies whole in the bytes at hand is
 * answered where it lies; of any other the header is gathered here, and the
 * data goes straight to where the owner wants it.
 */
#ifndef WEIR_TCP_FRAMER_H
#define WEIR_TCP_FRAMER_H

#include <stddef.h>
#include <sys/uio.h>

#include "wire/pdu.h"

enum frame_state {
	FRAMER_HEADER, /* gathering a header; nothing of the data was seen */
	FRAMER_SINK,   /* the owner was shown a header and owes a place for the data */
	FRAMER_PAD,    /* bytes between header and data */
	FRAMER_DATA,
	FRAMER_DIGEST, /* the data digest */
};

struct framer {
	struct pdu_terms terms;
	enum frame_state state;
	struct pdu_shape shape; /* of the PDU at hand */
	bool is_known;          /* the shape is that of the common header `known` */
	uint64_t known;
	uint32_t have;          /* header bytes gathered in head[] */
	uint32_t pad_left, data_left;
	const struct iovec *sink; /* where the data goes; NULL: nowhere */
	uint32_t sink_count;
	size_t sink_at;         /* bytes of sink[0] already filled */
	uint32_t crc;
	uint8_t digest[PDU_DIGEST_LEN];
	uint32_t digest_have;
	uint8_t head[PDU_HLEN_MAX + PDU_DIGEST_LEN];
};

enum frame {
	FRAME_MORE,     /* all bytes were taken; more are needed */
	FRAME_PDU,      /* a header, and its data where that lies whole in the bytes */
	FRAME_DATA_END, /* the data of the last FRAME_PDU has arrived in the sink */
	FRAME_FAULT,    /* the peer broke a rule; the framer is of no more use */
};

struct frame_item {
	const uint8_t *header; /* hlen bytes (of a fault: header_len); valid until the next call */
	const uint8_t *data;   /* data_len bytes; NULL: there is none, or framer_sink() must follow */
	bool data_ok;          /* the data digest was right, or there is none */
	uint32_t header_len;   /* of a fault: how much of the header is there */
	struct pdu_fault fault;
};

void framer_init(struct framer *framer, enum pdu_side side, uint32_t data_max);

/* What the handshake agreed on, from the next PDU on. */
void framer_agree(struct framer *framer, bool hdgst, bool ddgst);

/* Takes bytes from *at (*left of them) up to the end of the next thing to say. */
enum frame framer_next(struct framer *framer, const uint8_t **at, size_t *left,
    struct frame_item *item);

/*
 * After a FRAME_PDU with data_len > 0 and no data: where the data goes, exactly
 * data_len bytes starting `skip` bytes into `iov`, which stays valid until
 * FRAME_DATA_END.  iov NULL throws it away.
 */
void framer_sink(struct framer *framer, const struct iovec *iov, uint32_t count, size_t skip);

/*
 * Where the next bytes of the stream may be read straight to: fills at most
 * `max` entries and answers how many; 0: nowhere, read to a buffer of your own.
 */
int framer_direct(const struct framer *framer, struct iovec *iov, int max);

/* `bytes` bytes were read to where framer_direct() said. */
void framer_landed(struct framer *framer, size_t bytes);

/* How many bytes complete what is being gathered: a reader that takes no more leaves none over. */
size_t framer_need(const struct framer *framer);

/* Inside a PDU: some of its bytes came and some did not. */
static inline bool framer_midway(const struct framer *f) { return f->state != FRAMER_HEADER || f->have > 0; }

#endif
