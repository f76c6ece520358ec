/*
 * io.c - the host's I/O commands, and the URIs that name what they go to.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host/host.h"
#include "host/internal.h"

/* ---- commands ---- */

static bool
submit(struct host *host, unsigned queue, struct hio *io, uint8_t opcode, uint64_t lba, uint32_t blocks,
    uint32_t flags)
{
	io->req.sqe = (struct nvme_sqe){
		.opcode = opcode,
		.nsid = le32_of(host_nsid(host)),
		.cdw10 = le32_of((uint32_t)lba),
		.cdw11 = le32_of((uint32_t)(lba >> 32)),
		.cdw12 = le32_of((blocks > 0 ? blocks - 1 : 0) | flags),
	};
	return qpair_submit(host_queue(host, queue), io);
}

static bool
transfer(struct host *host, unsigned queue, struct hio *io, enum hreq_data data, uint64_t lba,
    uint32_t blocks, const struct iovec *iov, uint32_t iov_count, uint32_t flags)
{
	io->req.data = data;
	io->req.length = blocks * host_namespace(host)->block_size;
	io->req.iov = iov;
	io->req.iov_count = iov_count;
	return submit(host, queue, io, data == HREQ_READ ? NVME_READ : NVME_WRITE, lba, blocks, flags);
}

bool
host_read(struct host *host, unsigned queue, struct hio *io, uint64_t lba, uint32_t blocks,
    const struct iovec *iov, uint32_t iov_count)
{
	return transfer(host, queue, io, HREQ_READ, lba, blocks, iov, iov_count, 0);
}

bool
host_write(struct host *host, unsigned queue, struct hio *io, uint64_t lba, uint32_t blocks,
    const struct iovec *iov, uint32_t iov_count, bool fua)
{
	return transfer(host, queue, io, HREQ_WRITE, lba, blocks, iov, iov_count, fua ? NVME_RW_FUA : 0);
}

bool
host_flush(struct host *host, unsigned queue, struct hio *io)
{
	io->req.data = HREQ_NONE;
	return submit(host, queue, io, NVME_FLUSH, 0, 0, 0);
}

/* ---- URIs ---- */

static bool
bad(char why[160], const char *text)
{
	snprintf(why, 160, "%s; a URI looks like nvme+tcp://HOST:PORT/SUBNQN?ns=1", text);
	return false;
}

static bool
number(const char *text, const char *end, unsigned long max, unsigned long *value)
{
	char *stop;

	if (text == end || *text < '0' || *text > '9')
		return false;
	*value = strtoul(text, &stop, 10);
	return stop == end && *value <= max;
}

/* HOST, HOST:PORT or [V6]:PORT, up to `end`. */
static bool
parse_authority(const char *at, const char *end, struct host_uri *uri, char why[160])
{
	const char *stop, *port = NULL;
	unsigned long value = 4420;

	if (*at == '[') {
		stop = memchr(at, ']', (size_t)(end - at));
		if (stop == NULL)
			return bad(why, "the address lacks its ']'");
		at++;
		if (stop + 1 < end)
			port = stop + 1;
	} else {
		stop = memchr(at, ':', (size_t)(end - at));
		if (stop != NULL)
			port = stop;
		else
			stop = end;
	}
	if (stop == at || (size_t)(stop - at) >= sizeof(uri->addr))
		return bad(why, "the host is missing or too long");
	if (port != NULL && (*port != ':' || !number(port + 1, end, 65535, &value) || value == 0))
		return bad(why, "the port is not a number from 1 to 65535");
	snprintf(uri->addr, sizeof(uri->addr), "%.*s", (int)(stop - at), at);
	uri->port = (uint16_t)value;
	return true;
}

bool
host_parse_uri(const char *text, struct host_uri *uri, char why[160])
{
	static const char scheme[] = "nvme+tcp://";
	const char *slash, *query;
	unsigned long nsid = 1;

	if (strncmp(text, scheme, sizeof(scheme) - 1) != 0)
		return bad(why, "it does not begin with nvme+tcp://");
	text += sizeof(scheme) - 1;
	slash = strchr(text, '/');
	if (slash == NULL)
		return bad(why, "the subsystem's NQN is missing");
	if (!parse_authority(text, slash, uri, why))
		return false;
	text = slash + 1;
	query = strchr(text, '?');
	if (query != NULL && (strncmp(query, "?ns=", 4) != 0 ||
	    !number(query + 4, query + strlen(query), 0xfffffffe, &nsid) || nsid == 0))
		return bad(why, "after the '?' only ns=N may follow, N from 1");
	if (query == NULL)
		query = text + strlen(text);
	if (query == text || query - text > NVME_NQN_MAX)
		return bad(why, "the subsystem's NQN is empty or longer than 223 bytes");
	memset(uri->subnqn, 0, sizeof(uri->subnqn));
	memcpy(uri->subnqn, text, (size_t)(query - text));
	uri->nsid = (uint32_t)nsid;
	return true;
}
