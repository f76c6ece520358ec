/*
 * bringup.c - a controller and its I/O queues, as any host opens them.
 *
 * Blocking sockets and one command at a time: admin queue, enable, number of
 * queues, namespace 1, then the I/O queues.  It does not know what they are for.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "ceiling.h"

enum { POLLS_MAX = 10000 };

/* A queue being opened: one command at a time. */
struct queue {
	int fd;
	bool hdgst, ddgst;
	uint8_t data[BLOCK]; /* what the command before this read */
};

static void
send_all(int fd, const void *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			die("sending a command: %s", strerror(errno));
		if (n > 0) {
			data = (const uint8_t *)data + n;
			bytes -= (size_t)n;
		}
	}
}

static void
recv_all(int fd, void *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = recv(fd, data, bytes, 0);

		if (n == 0)
			die("the server closed the connection");
		if (n < 0 && errno != EINTR)
			die("waiting for an answer: %s", strerror(errno));
		if (n > 0) {
			data = (uint8_t *)data + n;
			bytes -= (size_t)n;
		}
	}
}

static void
recv_digest(int fd, const void *data, size_t bytes, const char *what)
{
	uint8_t digest[PDU_DIGEST_LEN];

	recv_all(fd, digest, sizeof(digest));
	if (get_le32(digest) != crc32c(0, data, bytes))
		die("wrong %s digest from the server", what);
}

static void
send_command(struct queue *queue, const void *sqe, const void *data, size_t bytes)
{
	uint8_t pdu[CAPSULE_MAX];
	struct pdu_ch *ch = (struct pdu_ch *)pdu;
	uint32_t at = sizeof(struct pdu_capsule_cmd);

	memset(pdu, 0, sizeof(*ch));
	memcpy(pdu + sizeof(*ch), sqe, sizeof(struct nvme_sqe));
	*ch = (struct pdu_ch){ .type = PDU_CAPSULE_CMD, .hlen = sizeof(struct pdu_capsule_cmd) };
	if (queue->hdgst) {
		ch->flags |= PDU_HDGST;
		at += PDU_DIGEST_LEN;
	}
	if (bytes > 0) {
		ch->pdo = (uint8_t)at;
		memcpy(pdu + at, data, bytes);
		at += (uint32_t)bytes;
		if (queue->ddgst) {
			ch->flags |= PDU_DDGST;
			put_le32(pdu + at, crc32c(0, data, bytes));
			at += PDU_DIGEST_LEN;
		}
	}
	ch->plen = le32_of(at);
	if (queue->hdgst)
		put_le32(pdu + sizeof(struct pdu_capsule_cmd), crc32c(0, pdu, sizeof(struct pdu_capsule_cmd)));
	send_all(queue->fd, pdu, at);
}

static void
recv_data(struct queue *queue, const struct pdu_data *header)
{
	uint32_t offset = le32_get(header->offset), length = le32_get(header->length);

	if (offset > sizeof(queue->data) || length > sizeof(queue->data) - offset)
		die("the server sent more than was asked for");
	recv_all(queue->fd, queue->data + offset, length);
	if (header->ch.flags & PDU_DDGST)
		recv_digest(queue->fd, queue->data + offset, length, "data");
}

/* One command to its end; returns DW0 (and DW1) of the completion. */
static uint64_t
command(struct queue *queue, const char *name, const void *sqe, const void *data, size_t bytes)
{
	union {
		struct pdu_ch ch;
		struct pdu_data data;
		struct pdu_capsule_resp resp;
	} pdu;

	send_command(queue, sqe, data, bytes);
	for (;;) {
		recv_all(queue->fd, &pdu, sizeof(pdu));
		if (pdu.ch.type == PDU_C2H_TERM)
			die("%s: the server ended the connection, FES %u", name, get_le16((uint8_t *)&pdu + 8));
		if (queue->hdgst)
			recv_digest(queue->fd, &pdu, sizeof(pdu), "header");
		if (pdu.ch.type == PDU_C2H_DATA) {
			recv_data(queue, &pdu.data);
			if (pdu.ch.flags & PDU_SUCCESS)
				return 0;
			continue;
		}
		if (pdu.ch.type != PDU_CAPSULE_RESP)
			die("%s: PDU type %02x", name, pdu.ch.type);
		if (le16_get(pdu.resp.cqe.status) >> 1 != 0)
			die("%s: status %x:%02x", name, le16_get(pdu.resp.cqe.status) >> 9 & 7,
			    le16_get(pdu.resp.cqe.status) >> 1 & 0xff);
		return le32_get(pdu.resp.cqe.dw0) | (uint64_t)le32_get(pdu.resp.cqe.dw1) << 32;
	}
}

static void
initialize(struct queue *queue, const struct options *options)
{
	struct pdu_ic ic = {
		.ch = { .type = PDU_ICREQ, .hlen = sizeof(ic), .plen = le32_of(sizeof(ic)) },
		.dgst = (uint8_t)(options->hdgst | options->ddgst << 1),
	};
	uint8_t asked = ic.dgst;

	send_all(queue->fd, &ic, sizeof(ic));
	recv_all(queue->fd, &ic, sizeof(ic));
	if (ic.ch.type != PDU_ICRESP)
		die("no ICResp but PDU type %02x", ic.ch.type);
	if (ic.dgst != asked)
		die("the server did not agree to the digests");
	queue->hdgst = options->hdgst;
	queue->ddgst = options->ddgst;
}

static void
open_socket(struct queue *queue, const struct options *options)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(options->port) };

	if (inet_pton(AF_INET, options->host, &to.sin_addr) != 1)
		die("'%s' is not an IPv4 address", options->host);
	queue->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (queue->fd < 0)
		die("socket: %s", strerror(errno));
	socket_prepare(queue->fd, options);
	if (connect(queue->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		die("%s:%u: %s", options->host, options->port, strerror(errno));
}

/* Opens one queue; returns the controller's id. */
static uint16_t
queue_open(struct queue *queue, const struct options *options, uint16_t cntlid, uint16_t qid, uint16_t sqsize)
{
	struct nvme_connect_data data = { .cntlid = le16_of(cntlid) };
	struct nvme_connect_sqe sqe = {
		.opcode = NVME_FABRICS, .flags = NVME_PSDT_SGL, .fctype = NVME_CONNECT,
		.sgl1 = { .length = le32_of(sizeof(data)), .id = NVME_SGL_OFFSET },
		.qid = le16_of(qid), .sqsize = le16_of(sqsize),
		.cattr = qid > 0 && !options->flow_control ? NVME_CATTR_NO_SQ_FLOW : 0,
	};

	open_socket(queue, options);
	initialize(queue, options);
	memset(data.hostid, 0xce, sizeof(data.hostid));
	strncpy(data.subnqn, options->subnqn, NVME_NQN_MAX);
	strcpy(data.hostnqn, "nqn.2014-08.org.nvmexpress:uuid:cececece-cece-cece-cece-cececececece");
	return (uint16_t)command(queue, "Connect", &sqe, &data, sizeof(data));
}

static void
enable(struct queue *admin)
{
	struct nvme_property_sqe set = {
		.opcode = NVME_FABRICS, .flags = NVME_PSDT_SGL, .fctype = NVME_PROPERTY_SET,
		.ofst = le32_of(NVME_CC), .value = le64_of(NVME_CC_EN | 6 << 16 | 4 << 20),
	};
	struct nvme_property_sqe get = {
		.opcode = NVME_FABRICS, .flags = NVME_PSDT_SGL, .fctype = NVME_PROPERTY_GET,
		.ofst = le32_of(NVME_CSTS),
	};

	command(admin, "Property Set CC", &set, NULL, 0);
	for (int i = 0; i < POLLS_MAX; i++) {
		if (command(admin, "Property Get CSTS", &get, NULL, 0) & NVME_CSTS_RDY)
			return;
		usleep(1000);
	}
	die("the controller does not get ready");
}

static void
ask_queues(struct queue *admin, unsigned count)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_SET_FEATURES, .flags = NVME_PSDT_SGL,
		.sgl1.id = NVME_SGL_TRANSPORT,
		.cdw10 = le32_of(7), .cdw11 = le32_of((count - 1) | (count - 1) << 16),
	};
	uint64_t granted = command(admin, "Set Features 07h", &sqe, NULL, 0);

	if ((granted & 0xffff) + 1 < count)
		die("%u I/O queues asked for, %u granted", count, (unsigned)(granted & 0xffff) + 1);
}

static void
identify(struct queue *admin, struct volume *volume)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_IDENTIFY, .flags = NVME_PSDT_SGL, .nsid = le32_of(1),
		.sgl1 = { .length = le32_of(BLOCK), .id = NVME_SGL_TRANSPORT },
	};
	unsigned format;

	command(admin, "Identify namespace", &sqe, NULL, 0);
	format = admin->data[26] & 15;
	volume->lba_bytes = UINT32_C(1) << (admin->data[128 + 4 * format + 2] & 31);
	volume->bytes = get_le64(admin->data) * volume->lba_bytes;
	if (volume->lba_bytes < 512 || volume->lba_bytes > BLOCK || volume->bytes == 0)
		die("namespace 1 has %u-byte blocks and %llu bytes", volume->lba_bytes,
		    (unsigned long long)volume->bytes);
}

int
controller_open(const struct options *options, unsigned count, int fds[], struct volume *volume)
{
	static const uint16_t admin_sqsize = 31;
	struct queue admin, io;
	uint16_t cntlid;

	cntlid = queue_open(&admin, options, NVME_CNTLID_DYNAMIC, 0, admin_sqsize);
	enable(&admin);
	ask_queues(&admin, count);
	identify(&admin, volume);
	for (unsigned i = 0; i < count; i++) {
		queue_open(&io, options, cntlid, (uint16_t)(i + 1), (uint16_t)(options->queue_size - 1));
		fds[i] = io.fd;
	}
	return admin.fd;
}
