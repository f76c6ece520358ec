#include "script_client.h"

#include <errno.h>
#include <string.h>

#include "base/crc32c.h"

void
client_leave(struct client *client, bool abort)
{
	if (client->stream != NULL)
		client->stream->ops->close(client->stream, abort);
	client->stream = NULL;
	client->out_from = client->out_to = 0;
}

void
client_push(struct client *client)
{
	while (client->stream != NULL && !client->holding && client->out_from < client->out_to) {
		struct iovec iov = { client->out + client->out_from, client->out_to - client->out_from };
		ssize_t sent = client->stream->ops->writev(client->stream, &iov, 1);

		if (sent == -EAGAIN)
			return;
		if (sent < 0) {
			client_leave(client, true);
			return;
		}
		client->out_from += (size_t)sent;
	}
	if (client->out_from == client->out_to)
		client->out_from = client->out_to = 0;
}

void
client_listen(struct client *client)
{
	if (client->stream != NULL)
		client->stream->ops->wants(client->stream,
		    STREAM_WRITABLE | (client->deaf ? 0u : STREAM_READABLE));
}

/* Of what the target says two things matter: which controller it made, and what data it asks for. */
static void
listen_for(struct client *client, const uint8_t *at, ssize_t got)
{
	const ssize_t step = (ssize_t)sizeof(struct pdu_data) + (client->hdgst ? PDU_DIGEST_LEN : 0);

	for (; got >= step && (at[0] == PDU_CAPSULE_RESP || at[0] == PDU_R2T); got -= step, at += step) {
		if (at[0] == PDU_R2T)
			memcpy(&client->asked[client->asked_count++ % CLIENT_ASKED_MAX], at, sizeof(client->asked[0]));
		else if (client->connecting)
			client->cntlid = get_le16(at + 8);
		client->connecting = false;
	}
}

void
client_ready(struct stream *stream, unsigned events)
{
	struct client *client = stream->owner;
	struct iovec iov = { client->reactor->scratch, REACTOR_SCRATCH };
	ssize_t got = 1;

	while (events & STREAM_READABLE && !client->deaf && got > 0) {
		got = stream->ops->readv(stream, &iov, 1);
		listen_for(client, iov.iov_base, got);
	}
	if (got == 0 || (got < 0 && got != -EAGAIN))
		client_leave(client, true);
	else
		client_push(client);
}

void
client_put(struct client *client, const void *bytes, size_t count)
{
	/* Of no data there may be no address either. */
	if (client->stream == NULL || count == 0 || CLIENT_OUT_BYTES - client->out_to < count)
		return;
	memcpy(client->out + client->out_to, bytes, count);
	client->out_to += count;
}

void
client_put_part(struct client *client, void *header, uint8_t hlen, const void *data, uint32_t len, uint32_t there)
{
	static const uint8_t padding[UINT8_MAX];
	struct pdu_ch *ch = header;
	uint8_t digest[PDU_DIGEST_LEN];
	uint32_t hdgst = client->hdgst ? PDU_DIGEST_LEN : 0, ddgst = client->ddgst && len > 0 ? PDU_DIGEST_LEN : 0;
	uint32_t pad = len > 0 ? client->pad : 0, head = hlen + hdgst + pad;

	ch->flags |= (uint8_t)((hdgst ? PDU_HDGST : 0) | (ddgst ? PDU_DDGST : 0));
	ch->hlen = hlen;
	ch->pdo = (uint8_t)(len > 0 ? head : 0);
	ch->plen = le32_of(head + len + ddgst);
	if (client->stream == NULL || CLIENT_OUT_BYTES - client->out_to < head + there + ddgst)
		return;
	client_put(client, header, hlen);
	put_le32(digest, crc32c(0, header, hlen));
	client_put(client, digest, hdgst);
	client_put(client, padding, pad);
	client_put(client, data, there);
	if (there < len)
		return;
	put_le32(digest, crc32c(0, data, len));
	client_put(client, digest, ddgst);
}

void
client_put_pdu(struct client *client, void *header, uint8_t hlen, const void *data, uint32_t len)
{
	client_put_part(client, header, hlen, data, len, len);
}

void
client_put_command(struct client *client, struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	struct pdu_capsule_cmd pdu = { .ch = { .type = PDU_CAPSULE_CMD } };

	sqe->flags |= NVME_PSDT_SGL;
	sqe->cid = le16_of(client->cid++);
	if (len > 0)
		sqe->sgl1 = (struct nvme_sgl){ .length = le32_of(len), .id = NVME_SGL_OFFSET };
	pdu.sqe = *sqe;
	client_put_pdu(client, &pdu, sizeof(pdu), data, len);
}
