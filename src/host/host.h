/*
 * host.h - the initiator: a controller of a target, its namespaces and queues.
 *
 * Everything of one host lives on one reactor.  host_connect() brings the
 * controller up step by step and then calls `ready`; whenever a connection is
 * lost, every I/O in flight is done with an error first and `lost` is called,
 * once.
 */
#ifndef WEIR_HOST_HOST_H
#define WEIR_HOST_HOST_H

#include "host/qpair.h"

enum { HOST_QUEUES_MAX = 128 };

struct host;

struct host_options {
	char addr[64];
	uint16_t port;
	char subnqn[NVME_NQN_FIELD], hostnqn[NVME_NQN_FIELD];
	uint8_t hostid[16];
	uint32_t nsid;
	uint16_t cntlid;           /* a static controller, or any of them (NVME_CNTLID_STATIC); 0: a dynamic one */
	uint16_t queues, entries;  /* I/O queues, and commands each may hold */
	bool hdgst, ddgst, sq_flow;
	uint32_t kato_ms;          /* 0: no keep alive */
	uint32_t connect_ms;       /* until ready; 0: 10 s */
	void (*ready)(struct host *host);
	void (*lost)(struct host *host, int error, const char *why);
	void *owner;
};

/* What Identify said. */
struct host_ns {
	uint64_t blocks;
	uint32_t block_size;
	uint32_t transfer_max; /* bytes of one command */
	bool volatile_cache;
	uint16_t queues;       /* I/O queues there are: granted may be fewer than asked for */
};

struct host_uri {
	char addr[64];
	uint16_t port;
	char subnqn[NVME_NQN_FIELD];
	uint32_t nsid;
};

/* nvme+tcp://HOST[:PORT]/SUBNQN[?ns=N]; false: `why` says what is wrong. */
bool host_parse_uri(const char *text, struct host_uri *uri, char why[160]);

/* 0: ready() or lost() will be called; -ENOMEM or what connecting said. */
int host_connect(struct reactor *reactor, const struct host_options *options, struct host **host)
    __attribute__((warn_unused_result));

const struct host_ns *host_namespace(const struct host *host);
void *host_owner(const struct host *host);

/* Shuts the controller down in order, then calls `closed`; the host is gone.  While it is being lost,
 * nothing: `lost` follows. */
void host_disconnect(struct host *host, void (*closed)(void *owner));

/* Ends it at once; I/O in flight is done with Host Aborted. */
void host_destroy(struct host *host);

/*
 * I/O on queue 0 .. queues - 1; the buffers are the target's until io->done.
 * False: the queue is full, try again after a completion.
 */
bool host_read(struct host *host, unsigned queue, struct hio *io, uint64_t lba, uint32_t blocks,
    const struct iovec *iov, uint32_t iov_count);
bool host_write(struct host *host, unsigned queue, struct hio *io, uint64_t lba, uint32_t blocks,
    const struct iovec *iov, uint32_t iov_count, bool fua);
bool host_flush(struct host *host, unsigned queue, struct hio *io);

#endif
