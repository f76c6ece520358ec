/*
 * script_client.h - a connection of a script: well-formed PDUs out, and what
 * little is understood of those that come in.  It does not know what it is told
 * to say, nor when.
 */
#ifndef TESTS_SCRIPT_CLIENT_H
#define TESTS_SCRIPT_CLIENT_H

#include "wire/pdu.h"
#include "world/reactor.h"

enum { CLIENT_OUT_BYTES = 128 * 1024, CLIENT_ASKED_MAX = 8 };

struct client {
	struct reactor *reactor;
	struct stream *stream;
	bool deaf, holding;  /* does not read; sends nothing until told */
	bool hdgst, ddgst;
	uint8_t pad;         /* bytes between header and data of what it sends, a multiple of 4 */
	bool connecting;     /* the answer to its Connect as an admin queue is to come */
	uint16_t cntlid;     /* what that said */
	struct pdu_data asked[CLIENT_ASKED_MAX]; /* the latest R2Ts */
	unsigned asked_count;
	uint16_t cid;
	size_t out_from, out_to;
	uint8_t out[CLIENT_OUT_BYTES];
};

/* Closes it, if it is open. */
void client_leave(struct client *client, bool abort);

/* Sends what is to be sent; says what it waits for; and both when something has come. */
void client_push(struct client *client);
void client_listen(struct client *client);
void client_ready(struct stream *stream, unsigned events);

/* What is to be sent: bytes; a PDU with its padding and digests, `header` being without them, of whose data only the
 * first bytes are `there`, or all; a command. */
void client_put(struct client *client, const void *bytes, size_t count);
void client_put_part(struct client *client, void *header, uint8_t hlen, const void *data, uint32_t len, uint32_t there);
void client_put_pdu(struct client *client, void *header, uint8_t hlen, const void *data, uint32_t len);
void client_put_command(struct client *client, struct nvme_sqe *sqe, const void *data, uint32_t len);

#endif
