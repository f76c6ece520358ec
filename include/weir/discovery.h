/*
 * weir/discovery.h - which subsystems there are, asked of a discovery service.
 *
 * NVMe Base 2.0, 5.16.1.23 (log page 70h) and NVMe over Fabrics.
 *
 * All functions may be called by any thread; those that block, not from a
 * callback of the service thread (weir/host.h).
 */
#ifndef WEIR_DISCOVERY_H
#define WEIR_DISCOVERY_H

#include <weir/subsys.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weir_subtype { WEIR_SUBTYPE_REFERRAL = 1, WEIR_SUBTYPE_NVM = 2, WEIR_SUBTYPE_CURRENT_DISCOVERY = 3 };
enum weir_transport { WEIR_TRANSPORT_RDMA = 1, WEIR_TRANSPORT_FC = 2, WEIR_TRANSPORT_TCP = 3 };

struct weir_discovered {
	uint8_t transport, adrfam; /* adrfam 1: IPv4, 2: IPv6 */
	uint8_t subtype;           /* enum weir_subtype */
	uint8_t treq, sectype;     /* of TCP: 0 plain, 1 TLS 1.2, 2 TLS 1.3 */
	uint16_t eflags;
	uint16_t portid;
	uint16_t cntlid;           /* 0xffff: dynamic, 0xfffe: static */
	uint16_t admin_max;        /* entries of the admin queue */
	char address[257], service[33]; /* TRADDR and TRSVCID; in texts a '?' stands for what cannot be shown */
	char subnqn[WEIR_NQN_MAX + 1];
	unsigned level;            /* 0: from the service that was asked; 1: from one it refers to, ... */
};

struct weir_discovery {
	uint64_t generation;       /* of the service that was asked */
	unsigned count;
	struct weir_discovered *entries; /* malloc()ed: weir_discovery_free() */
};

struct weir_discovery_options {
	uint32_t size;
	uint32_t connect_ms;       /* of each service, and as long again to read its log; 0: 10000 */
	unsigned referrals;        /* how deep referrals are followed, 16 at most; each service is asked once, and no
	                            * more than 64 are; 0: not at all */
	bool hdgst, ddgst;
};

/* Asks the discovery service of a URI without a subsystem.  Blocks.  A referral that does not answer is left out and
 * said in the host's log.  Errors as of weir_subsys_connect(). */
int weir_discover(struct weir_host *host, const char *uri, const struct weir_discovery_options *options,
    struct weir_discovery *discovery);

/* Frees the entries, not the struct. */
void weir_discovery_free(struct weir_discovery *discovery);

/* A URI for weir_subsys_connect() and the tools, cut as by snprintf(), and how long it is; of a discovery service one
 * for weir_discover().  0 and "" where there is none, which weir_error() explains: another transport, an address or a
 * name that is none. */
size_t weir_discovered_uri(const struct weir_discovered *entry, char *text, size_t bytes);

/* ---- being told of changes ---- */

struct weir_discovery_watch;

/*
 * Stays connected (KATO; persistent discovery controller) and calls `changed` from the service thread, after the
 * first reading and whenever the log has changed or the service is back; the discovery is valid during the call,
 * which must not block.  It comes back by itself when it is lost.  Does not wait for the first connection: that the
 * service cannot be reached, and that it answers again, the host's log says once each.  Referrals are entries and are
 * not followed.  0, -EINVAL, -ENOMEM, or -EHOSTUNREACH (there is no such name).
 */
int weir_discovery_watch(struct weir_host *host, const char *uri, const struct weir_discovery_options *options,
    void (*changed)(void *arg, const struct weir_discovery *discovery), void *arg,
    struct weir_discovery_watch **watch);

/* `changed` is not called any more.  Blocks, for as long as taking leave takes.  NULL is ignored. */
void weir_discovery_unwatch(struct weir_discovery_watch *watch);

#ifdef __cplusplus
}
#endif

#endif
