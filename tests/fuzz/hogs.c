#include "hogs.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "cluster.h"
#include "wire/fabrics.h"
#include "wire/feature.h"
#include "wire/log.h"

enum {
	BLOCK = 4096, MS = 1000 * 1000, STEP_MS = 10, IO_STEP_MS = 100, SIP_MS = 300, SIP = 64 * 1024, TASTE = 4096,
	RUDE_STEP = INT32_MAX, LONG = 1024 * 1024, KATO_MS = 5000, SEND_MS = 20, WAIT_MS = 1000, BLOCKS = 16 * 1024,
	HELD = 3000,
};

static bool
has_io(const struct hog *hog)
{
	return hog->kind == WRITER || hog->kind == LEAVER || hog->kind == VERIFIER ||
	    hog->kind == TRIMMER || hog->kind == WAITER || hog->kind == STALLER || hog->kind == SENDER ||
	    hog->kind == DEBTOR || hog->kind == STUCK || hog->kind == PAUSED || hog->kind == TASTER;
}

/* Of a sender: it writes, the next time when the last one is answered, 64 KiB each, where no other one does. */
static void
write_again(struct hog *hog)
{
	const struct hogs *hogs = hog->client.reactor->owner;
	struct nvme_sqe sqe = {
		.opcode = NVME_WRITE, .nsid = le32_of(1), .cdw10 = le32_of(HELD + 16 * (uint32_t)(hog - hogs->hog)),
		.cdw12 = le32_of(15), .sgl1 = { .length = le32_of(16 * BLOCK), .id = NVME_SGL_TRANSPORT },
	};

	client_put_command(&hog->io, &sqe, NULL, 0);
	client_push(&hog->io);
}

static void
hear(struct stream *stream, unsigned events)
{
	struct client *client = stream->owner;
	struct hog *hog = container_of(client, struct hog, io);

	(void)events;
	client_push(client);
	while (client->stream != NULL) {
		bool skips = hog->skip > 0;
		struct iovec iov = {
			skips ? client->reactor->scratch : (uint8_t *)&hog->heard + hog->heard_bytes,
			skips ? hog->skip : sizeof(hog->heard) - hog->heard_bytes,
		};
		ssize_t got = stream->ops->readv(stream, &iov, 1);

		if (got <= 0)
			return;
		hog->skip -= skips ? (size_t)got : 0;
		hog->heard_bytes = (hog->heard_bytes + (skips ? 0 : (size_t)got)) % sizeof(hog->heard);
		if (skips || hog->heard_bytes > 0)
			continue;
		if (hog->heard.ch.type == PDU_R2T)
			client->asked[client->asked_count++] = hog->heard;
		else
			write_again(hog);
	}
}

static void
send_asked(struct hog *hog)
{
	static const uint8_t data[16 * BLOCK];

	while (hog->io.asked_count > 0) {
		struct pdu_data pdu = hog->io.asked[--hog->io.asked_count];

		pdu.ch = (struct pdu_ch){ .type = PDU_H2C_DATA, .flags = PDU_LAST };
		client_put_pdu(&hog->io, &pdu, sizeof(pdu), data, le32_get(pdu.length));
		client_push(&hog->io);
	}
}

static void
dial(struct hog *hog, struct client *client)
{
	struct pdu_ic ic = { .ch = { .type = PDU_ICREQ } };

	int rc = client->reactor->world->connect(client->reactor, "10.0.0.1", CLUSTER_PORT, &client->stream);

	assert(rc == 0);
	client->stream->owner = client;
	client->stream->ready = client_ready;
	client->deaf = hog->kind == DEAF || hog->kind == FULL || hog->kind == SLOW || client == &hog->io;
	if (client == &hog->io && hog->kind == SENDER) {
		client->stream->ready = hear;
		client->deaf = false;
		hog->skip = sizeof(ic);
	}
	client_listen(client);
	client_put_pdu(client, &ic, sizeof(ic), NULL, 0);
}

static void
connect_queue(struct hog *hog, struct client *client)
{
	const struct hogs *hogs = client->reactor->owner;
	unsigned whose = hogs->strangers ? (unsigned)(hog - hogs->hog) : 0;
	bool io = client == &hog->io;
	struct nvme_connect_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_CONNECT, .sqsize = le16_of(127), .cattr = NVME_CATTR_NO_SQ_FLOW,
		.qid = le16_of(io), .kato = le32_of(hog->kind == WAITER && !io ? KATO_MS : 0),
	};
	struct nvme_connect_data data = {
		.hostid = { 9, (uint8_t)whose }, .cntlid = le16_of(io ? hog->client.cntlid : NVME_CNTLID_DYNAMIC),
	};
	struct nvme_sqe plain;

	snprintf(data.hostnqn, sizeof(data.hostnqn), "nqn.2026-11.local.weir:hog%u", whose);
	snprintf(data.subnqn, sizeof(data.subnqn), "%s", has_io(hog) || hog->kind == WISHER ?
	    CLUSTER_NQN : NVME_DISCOVERY_NQN);
	memcpy(&plain, &sqe, sizeof(plain));
	client->connecting = !io;
	client_put_command(client, &plain, &data, sizeof(data));
	if (hog->kind == HALF)
		hog->client.out_to -= sizeof(data) / 2;
}

static void
enable(struct hog *hog)
{
	struct nvme_sqe sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES);

	client_put_command(&hog->client, &sqe, NULL, 0);
}

/* Where buffers are so few a capsule never comes whole, and what is in it needs one. */
static const uint8_t capsule_data[TARGET_INCAPSULE];

static void
ask(struct hog *hog)
{
	uint32_t dwords = LONG / 4 - 1;
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_GET_LOG_PAGE,
		.cdw10 = le32_of(NVME_LOG_DISCOVERY | (dwords & 0xffff) << 16), .cdw11 = le32_of(dwords >> 16),
		.sgl1 = { .length = le32_of(LONG), .id = NVME_SGL_TRANSPORT },
	};

	if (hog->kind == EVENTS) {
		sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ASYNC_EVENT };
		client_put_command(&hog->client, &sqe, capsule_data, sizeof(capsule_data));
		return;
	}
	if (hog->kind == WISHER) {
		struct nvme_ctrl_ids ids = { .count = le16_of(1), .cntlid = { le16_of(hog->client.cntlid) } };

		sqe = (struct nvme_sqe){
			.opcode = NVME_ADMIN_NS_ATTACHMENT, .nsid = le32_of(1), .cdw10 = le32_of(NVME_NS_DETACH),
		};
		client_put_command(&hog->client, &sqe, &ids, sizeof(ids));
		return;
	}
	if (hog->kind == OWING)
		sqe = (struct nvme_sqe){
			.opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_TIMESTAMP),
			.sgl1 = { .length = le32_of(8192), .id = NVME_SGL_TRANSPORT },
		};
	client_put_command(&hog->client, &sqe, NULL, 0);
}

static void
fill_socket(struct hog *hog)
{
	struct nvme_sqe sqe = nvme_property_command(NVME_PROPERTY_GET, NVME_CC, 0);

	for (unsigned i = 0; i < 100; i++)
		client_put_command(&hog->client, &sqe, NULL, 0);
}

/* First reads, until nothing more fits into the socket, then writes, whose answers do not. */
static void
read_or_write(struct hog *hog)
{
	static const uint8_t data[2 * BLOCK];
	bool write = hog->step > 6;
	struct nvme_sqe sqe = {
		.opcode = write ? NVME_WRITE : NVME_READ, .nsid = le32_of(1), .cdw10 = le32_of(3000),
		.cdw12 = le32_of(write ? 1 : 15), .sgl1 = { .length = le32_of(16 * BLOCK), .id = NVME_SGL_TRANSPORT },
	};

	for (unsigned i = 0; i < (write ? 10 : 40); i++)
		client_put_command(&hog->io, &sqe, data, write ? sizeof(data) : 0);
	client_push(&hog->io);
}

/* Commands that come with data and take none.  The write, whose data is asked for and does not come, is one that a
 * Disconnect has to wait for. */
static void
bring_data(struct hog *hog)
{
	struct nvme_sqe leave = { .opcode = NVME_FABRICS, .fctype = NVME_DISCONNECT };
	struct nvme_sqe verify = { .opcode = NVME_VERIFY, .nsid = le32_of(1), .cdw12 = le32_of(BLOCKS - 1) };
	struct nvme_sqe write = {
		.opcode = NVME_WRITE, .nsid = le32_of(1), .cdw10 = le32_of(3000),
		.sgl1 = { .length = le32_of(BLOCK), .id = NVME_SGL_TRANSPORT },
	};
	struct nvme_sqe *sqe = hog->kind == LEAVER ? &leave : &verify;

	if (hog->kind == LEAVER)
		client_put_command(&hog->io, &write, NULL, 0);
	for (unsigned i = 0; i < 15; i++)
		client_put_command(&hog->io, sqe, capsule_data, sizeof(capsule_data));
	client_push(&hog->io);
}

static void
owe(struct hog *hog, unsigned commands)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_WRITE, .nsid = le32_of(1), .cdw10 = le32_of(3000),
		.cdw12 = le32_of(LONG / BLOCK / commands - 1),
		.sgl1 = { .length = le32_of(LONG / commands), .id = NVME_SGL_TRANSPORT },
	};

	for (unsigned i = 0; i < commands; i++)
		client_put_command(&hog->io, &sqe, NULL, 0);
	client_push(&hog->io);
}

/* Nothing that touches the first block of the second volume is answered. */
static void
stick(struct hog *hog, unsigned way)
{
	struct nvme_copy_range ranges[4] = { 0 };
	struct nvme_sqe read = {
		.opcode = NVME_READ, .nsid = le32_of(2), .cdw12 = le32_of(LONG / BLOCK - 1),
		.sgl1 = { .length = le32_of(LONG), .id = NVME_SGL_TRANSPORT },
	};
	struct nvme_sqe write = { .opcode = NVME_WRITE, .nsid = le32_of(2) };
	struct nvme_sqe copy = { .opcode = NVME_COPY, .nsid = le32_of(2), .cdw10 = le32_of(100), .cdw12 = le32_of(3) };

	for (unsigned i = 0; i < 15; i++) {
		if (way == 0)
			client_put_command(&hog->io, &read, NULL, 0);
		else if (way == 1)
			client_put_command(&hog->io, &write, capsule_data, BLOCK);
		else
			client_put_command(&hog->io, &copy, ranges, sizeof(ranges));
	}
	client_push(&hog->io);
}

/* As many as there is room for; behind all blocks that a host of the cluster uses. */
static void
trim(struct hog *hog)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_DATASET_MGMT, .nsid = le32_of(1), .cdw10 = le32_of(255), .cdw11 = le32_of(NVME_DSM_AD),
	};
	struct nvme_dsm_range ranges[256];

	for (unsigned i = 0; i < 256; i++)
		ranges[i] = (struct nvme_dsm_range){ .blocks = le32_of(1), .slba = le64_of(BLOCKS / 2 + i) };
	for (unsigned i = 0; i < CLIENT_OUT_BYTES / sizeof(ranges); i++)
		client_put_command(&hog->io, &sqe, ranges, sizeof(ranges));
	client_push(&hog->io);
}

/* What does not end has all buffers and the reserve: of the flushes, which come where the writes are not counted, none
 * is read. */
static void
wait_for_writes(struct hog *hog, unsigned count)
{
	struct nvme_sqe write = {
		.opcode = NVME_WRITE, .nsid = le32_of(1), .cdw10 = le32_of(HELD), .cdw12 = le32_of(1),
	};
	struct nvme_sqe flush = { .opcode = NVME_FLUSH, .nsid = le32_of(1) };

	if (hog->kind == STALLER && hog->step == 6) {
		write.sgl1 = (struct nvme_sgl){ .length = le32_of(2 * BLOCK), .id = NVME_SGL_TRANSPORT };
		client_put_command(&hog->io, &write, NULL, 0);
	}
	for (unsigned i = 0; hog->step < 8 && i < CLIENT_OUT_BYTES / sizeof(capsule_data); i++)
		if (count == 0 || hog->got++ < count)
			client_put_command(&hog->io, &write, capsule_data, sizeof(capsule_data));
	if (count == 0)
		client_put_command(&hog->io, &flush, NULL, 0);
	client_push(&hog->io);
}

static void
sip(struct hog *hog)
{
	struct iovec iov = { hog->client.reactor->scratch, SIP };
	ssize_t got = hog->client.stream != NULL ? hog->client.stream->ops->readv(hog->client.stream, &iov, 1) : 0;

	if (got == 0)
		client_leave(&hog->client, true);
	else if (got > 0)
		hog->got += (uint64_t)got;
}

static void
taste(struct hog *hog, unsigned commands)
{
	struct iovec iov = { hog->io.reactor->scratch, TASTE };
	ssize_t got = -EAGAIN;
	struct nvme_sqe sqe = {
		.opcode = NVME_READ, .nsid = le32_of(1), .cdw12 = le32_of(LONG / BLOCK - 1),
		.sgl1 = { .length = le32_of(LONG), .id = NVME_SGL_TRANSPORT },
	};

	for (unsigned i = 0; hog->step == 6 && i < commands; i++)
		client_put_command(&hog->io, &sqe, NULL, 0);
	client_push(&hog->io);
	if (hog->io.stream != NULL)
		got = hog->io.stream->ops->readv(hog->io.stream, &iov, 1);
	if (got <= 0 && got != -EAGAIN)
		client_leave(&hog->io, true);
}

/* The connection, ended or not, is left for a new one, and what is sent there is no PDU. */
static void
be_rude(struct hog *hog)
{
	static const uint8_t nonsense[8] = { 0xff, 0, 8, 0, 8 };

	client_leave(&hog->client, true);
	dial(hog, &hog->client);
	client_put(&hog->client, nonsense, sizeof(nonsense));
	hog->got++;
}

/* Of a reader: what comes is counted. */
static void
count(struct stream *stream, unsigned events)
{
	struct client *client = stream->owner;
	struct hog *hog = container_of(client, struct hog, client);
	struct iovec iov = { client->reactor->scratch, REACTOR_SCRATCH };
	ssize_t got;

	(void)events;
	while ((got = stream->ops->readv(stream, &iov, 1)) > 0)
		hog->got += (uint64_t)got;
}

/* What it does where it is connected; false: nothing any more. */
static bool
act(struct hog *hog, const struct hogs *hogs)
{
	if (hog->kind == WRITER && hog->step < 12)
		read_or_write(hog);
	else if (hog->kind == DEBTOR && hog->step == 6)
		owe(hog, hogs->asks);
	else if (hog->kind == TRIMMER && hog->step == 6)
		trim(hog);
	else if (hog->kind == PAUSED && hog->step == 6)
		owe(hog, hogs->asks);
	else if ((hog->kind == PAUSED || hog->kind == STUCK) && hog->step < 12)
		stick(hog, hog->kind == PAUSED ? 1 : (unsigned)(hog - hogs->hog) % 3);
	else if (hog->kind == SENDER)
		send_asked(hog);
	else if (hog->kind == TASTER)
		taste(hog, hogs->asks);
	else if ((hog->kind == WAITER || hog->kind == STALLER) && hog->step < 16)
		wait_for_writes(hog, hogs->asks);
	else if ((hog->kind == LEAVER || hog->kind == VERIFIER) && hog->step < 12)
		bring_data(hog);
	else if (hog->kind == FULL && hog->step == 5)
		ask(hog);
	else if (hog->kind == SLOW)
		sip(hog);
	else
		return false;
	return true;
}

/* Senders do so one after the other, and never all at once. */
static uint64_t
pace_ms(const struct hog *hog, const struct hogs *hogs)
{
	uint64_t index = (uint64_t)(hog - hogs->hog);

	if (hog->kind == SENDER)
		return hog->step == 6 ? SEND_MS + SEND_MS * index / hogs->count : SEND_MS;
	return hog->kind == WAITER || hog->kind == STALLER ? WAIT_MS : SIP_MS;
}

static void
next(struct timer *timer)
{
	struct hog *hog = container_of(timer, struct hog, timer);
	struct hogs *hogs = hog->client.reactor->owner;
	uint64_t wait = has_io(hog) ? IO_STEP_MS : STEP_MS;

	switch (hog->kind == RUDE ? RUDE_STEP : hog->step++) {
	case RUDE_STEP:
		be_rude(hog);
		if (hog->got == hogs->asks)
			return;
		wait = hog->got == hogs->asks / 2 ? 70 * 1000 : 50;
		break;
	case 0:
		dial(hog, &hog->client);
		break;
	case 1:
		connect_queue(hog, &hog->client);
		break;
	case 2:
		if (hog->kind == HALF)
			return;
		enable(hog);
		break;
	case 3:
		if (has_io(hog)) {
			dial(hog, &hog->io);
			client_push(&hog->io);
			break;
		}
		if (hog->kind == READER)
			hog->client.stream->ready = count;
		if (hog->kind == FULL) {
			fill_socket(hog);
			break;
		}
		for (unsigned i = 0; i < (hog->kind == READER ? 1 : hogs->asks); i++)
			ask(hog);
		break;
	case 4:
		if (has_io(hog)) {
			connect_queue(hog, &hog->io);
			client_push(&hog->io);
			break;
		}
		__attribute__((fallthrough));
	default:
		if (!act(hog, hogs))
			return;
		wait = pace_ms(hog, hogs);
	}
	client_push(&hog->client);
	timer_set(&hog->client.reactor->timers, timer, hog->client.reactor->now_ns + wait * MS);
}

int
hogs_start(struct reactor *reactor, void *arg)
{
	struct hogs *hogs = arg;

	reactor->owner = hogs;
	for (unsigned i = 0; i < hogs->count; i++) {
		hogs->hog[i].client.reactor = hogs->hog[i].io.reactor = reactor;
		hogs->hog[i].timer.fire = next;
		next(&hogs->hog[i].timer);
	}
	return 0;
}

unsigned
hogs_connected(const struct hogs *hogs)
{
	unsigned count = 0;

	for (unsigned i = 0; i < hogs->count; i++)
		count += hogs->hog[i].client.stream != NULL &&
		    (hogs->hog[i].kind != WRITER || hogs->hog[i].io.stream != NULL);
	return count;
}
