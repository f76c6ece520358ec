/*
 * server.c - the ceiling's server: bytes from memory to a socket and back.
 *
 * On an I/O queue it reads opcode, SLBA and CID at fixed offsets and nothing
 * else: every Read is of --io-size bytes and every Write of 4096 in the
 * capsule.  Digests and completions per read are variants of the same loop,
 * chosen when the queue connects.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "ceiling.h"

enum { OPCODE_AT = 8, CID_AT = 10, SLBA_AT = 48, HEADER = 24, COMMAND = 72 };

struct server {
	struct engine engine;
	const struct options *options;
	uint8_t *volume;
	uint64_t mask; /* keeps an SLBA within the volume */
	struct pdu_data read_header;
	struct pdu_capsule_resp response;
};

__attribute__((target("avx2"))) static void
copy_block_nt(void *to, const void *from)
{
	for (size_t i = 0; i < BLOCK; i += 32)
		_mm256_stream_si256((__m256i *)((uint8_t *)to + i),
		    _mm256_loadu_si256((const __m256i *)((const uint8_t *)from + i)));
	_mm_sfence();
}

__attribute__((always_inline)) static inline void
append_response(struct link *link, const struct server *server, uint16_t cid, bool hdgst)
{
	struct pdu_capsule_resp *resp = link_header(link, HEADER + (hdgst ? PDU_DIGEST_LEN : 0));

	*resp = server->response;
	resp->cqe.cid = le16_of(cid);
	if (link->flow_control) {
		link->sq_head = (uint16_t)(link->sq_head + 1 == link->sq_size ? 0 : link->sq_head + 1);
		resp->cqe.sqhd = le16_of(link->sq_head);
	}
	if (hdgst) {
		resp->ch.flags = PDU_HDGST;
		resp->ch.plen = le32_of(HEADER + PDU_DIGEST_LEN);
		put_le32(resp + 1, crc32c(0, resp, HEADER));
	}
}

__attribute__((always_inline)) static inline void
append_read(struct link *link, const struct server *server, uint16_t cid, const uint8_t *data,
    bool hdgst, bool ddgst)
{
	uint32_t digests = PDU_DIGEST_LEN * ((uint32_t)hdgst + (uint32_t)ddgst);
	struct pdu_data *header = link_header(link, HEADER + (hdgst ? PDU_DIGEST_LEN : 0));

	*header = server->read_header;
	header->cccid = le16_of(cid);
	if (link->flow_control)
		header->ch.flags = PDU_LAST;
	if (digests > 0) {
		header->ch.flags |= (uint8_t)((hdgst ? PDU_HDGST : 0) | (ddgst ? PDU_DDGST : 0));
		header->ch.pdo = (uint8_t)(HEADER + (hdgst ? PDU_DIGEST_LEN : 0));
		header->ch.plen = le32_of(le32_get(header->ch.plen) + digests);
	}
	if (hdgst)
		put_le32(header + 1, crc32c(0, header, HEADER));
	link_data(link, data, server->options->io_size);
	if (ddgst)
		put_le32(link_header(link, PDU_DIGEST_LEN), crc32c(0, data, server->options->io_size));
	if (link->flow_control)
		append_response(link, server, cid, hdgst);
}

/* Anything else, on any queue: the length is in the PDU.  Returns it, or 0 if not all of it has come. */
static int64_t
serve_other(struct link *link, struct server *server, const uint8_t *at, size_t left)
{
	uint32_t plen;

	if (left < PDU_CH_LEN)
		return 0;
	plen = get_le32(at + 4);
	if (plen < COMMAND || plen > CAPSULE_MAX)
		return -EPROTO;
	if (left < plen)
		return 0;
	if (admin_answer(link, server->options, at, plen) < 0)
		return -EPROTO;
	return plen;
}

/* The same for one PDU of an I/O queue.  Inlined, so that without digests nothing is left of them. */
__attribute__((always_inline)) static inline int64_t
serve_io(struct link *link, struct server *server, const uint8_t *at, size_t left, bool hdgst, bool ddgst)
{
	struct counters *counters = &server->engine.counters;
	const size_t command = COMMAND + (hdgst ? PDU_DIGEST_LEN : 0);
	const size_t write = command + BLOCK + (ddgst ? PDU_DIGEST_LEN : 0);
	uint8_t *place;

	if (left < command)
		return 0;
	place = server->volume + (get_le64(at + SLBA_AT) & server->mask) * BLOCK;
	if (at[OPCODE_AT] != NVME_READ && at[OPCODE_AT] != NVME_WRITE)
		return serve_other(link, server, at, left);
	if (hdgst && get_le32(at + COMMAND) != crc32c(0, at, COMMAND))
		return -EPROTO;
	if (at[OPCODE_AT] == NVME_READ) {
		append_read(link, server, get_le16(at + CID_AT), place, hdgst, ddgst);
		counters->reads++;
		return (int64_t)command;
	}
	if (left < write)
		return 0;
	if (ddgst && get_le32(at + command + BLOCK) != crc32c(0, at + command, BLOCK))
		return -EPROTO;
	if (server->options->copy == COPY_NT)
		copy_block_nt(place, at + command);
	else
		memcpy(place, at + command, BLOCK);
	append_response(link, server, get_le16(at + CID_AT), hdgst);
	counters->writes++;
	return (int64_t)write;
}

__attribute__((always_inline)) static inline int
serve_queue(struct link *link, bool hdgst, bool ddgst)
{
	struct server *server = link->owner;
	const uint8_t *at = link->rbuf, *end = link->rbuf + link->rlen;
	int64_t used = 1;

	while (used > 0 && link_has_room(link)) {
		used = serve_io(link, server, at, (size_t)(end - at), hdgst, ddgst);
		if (used < 0)
			return -EPROTO;
		at += used;
	}
	link->more = used > 0;
	link_consume(link, (uint32_t)(at - link->rbuf));
	return 0;
}

static int
serve_admin(struct link *link)
{
	int64_t used = serve_other(link, link->owner, link->rbuf, link->rlen);

	if (used < 0)
		return -EPROTO;
	link->more = used > 0;
	link_consume(link, (uint32_t)used);
	return 0;
}

static int
server_fill(struct link *link)
{
	if (!link->io)
		return serve_admin(link);
	if (!link->hdgst && !link->ddgst)
		return serve_queue(link, false, false);
	return serve_queue(link, link->hdgst, link->ddgst);
}

static int
server_take(struct link *link)
{
	return 0;
}

static void
server_gone(struct link *link)
{
}

static const struct link_ops server_ops = { server_take, server_fill, server_gone };

/* Given the listening socket, or by io_uring what was accepted already. */
static void
server_accepted(struct engine *engine, int fd)
{
	struct server *server = engine->owner;
	struct link *link;

	if (fd == engine->listening)
		fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	socket_prepare(fd, server->options);
	link = link_create(engine, fd, &server_ops, server);
	link->holds = true;
}

static int
open_listener(const struct options *options)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(options->port) };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, options->host, &at.sin_addr) != 1)
		die("'%s' is not an IPv4 address", options->host);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 1024) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &length) != 0)
		die("%s:%u: %s", options->host, options->port, strerror(errno));
	printf("ceiling: listening on %s:%u\n", options->host, ntohs(at.sin_port));
	return fd;
}

static uint8_t *
map_volume(uint64_t bytes)
{
	uint8_t *volume = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (volume == MAP_FAILED)
		die("a volume of %llu bytes: %s", (unsigned long long)bytes, strerror(errno));
	madvise(volume, bytes, MADV_HUGEPAGE);
	for (uint64_t at = 0; at < bytes; at += BLOCK)
		((volatile uint8_t *)volume)[at] = 0;
	return volume;
}

static void
report(const struct server *server, uint64_t since)
{
	report_begin("server", server->options, &server->engine.counters, clock_ns() - since, cpu_clock_ns());
	printf("}\n");
	fflush(stdout);
}

int
server_run(const struct options *options)
{
	static struct server server;
	uint64_t since = clock_ns();
	int listening;

	pin(options->cpu);
	server.options = options;
	/* A read that a wrong SLBA starts in the last block stays in memory of ours. */
	server.volume = map_volume(options->size + options->io_size);
	server.mask = options->size / BLOCK - 1;
	server.read_header = (struct pdu_data){
		.ch = { PDU_C2H_DATA, PDU_LAST | PDU_SUCCESS, HEADER, HEADER, le32_of(HEADER + options->io_size) },
		.length = le32_of(options->io_size),
	};
	server.response = (struct pdu_capsule_resp){
		.ch = { PDU_CAPSULE_RESP, 0, HEADER, 0, le32_of(HEADER) },
		.cqe.sqhd = le16_of(UINT16_MAX),
	};
	listening = open_listener(options);
	engine_init(&server.engine, options, listening, server_accepted);
	server.engine.owner = &server;
	printf("ceiling: ready\n");
	fflush(stdout);
	while (!stop_wanted()) {
		engine_turn(&server.engine);
		if (report_wanted())
			report(&server, since);
	}
	report(&server, since);
	return 0;
}
