/*
 * weir/uri.h - the names of namespaces, subsystems and discovery services.
 *
 *     nvme+tcp://HOST[:PORT][,HOST[:PORT]...]/SUBNQN[?ns=N][&hostnqn=NQN]
 *     nvme+tcp://HOST[:PORT][?hostnqn=NQN]             a discovery service
 *
 * HOST is a name, an IPv4 address or an [IPv6 address]; several are several
 * paths to the same subsystem.  PORT is 4420, of a discovery service 8009,
 * where it is not said.  Bytes that a URI cannot have are written %XX; so is
 * the % before an IPv6 address's zone: [fe80::1%25eth0].  Options come in any
 * order, each once.  The NQN of all discovery services,
 * nqn.2014-08.org.nvmexpress.discovery, is the same as none.  A name that is not
 * an NQN, as `testnqn`, which Linux's target takes, is taken too where it has no
 * space nor control character.
 */
#ifndef WEIR_URI_H
#define WEIR_URI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR_PATHS_MAX = 8, WEIR_NQN_MAX = 223 };

struct weir_address {
	char host[256];               /* without brackets */
	uint16_t port;
};

struct weir_uri {
	struct weir_address address[WEIR_PATHS_MAX];
	unsigned addresses;           /* at least one */
	char subnqn[WEIR_NQN_MAX + 1]; /* "": a discovery service */
	char hostnqn[WEIR_NQN_MAX + 1]; /* "": the host's own */
	uint32_t nsid;                /* 1 to 0xfffffffe; 0: none was named */
};

/* 0, or -EINVAL: weir_error() says what is wrong and where, and *uri is untouched.  No name is looked up.  Two URIs
 * that mean the same are the same to the last byte.  Any thread. */
int weir_uri_parse(const char *text, struct weir_uri *uri);

/* Writes it as weir_uri_parse() reads it, with the ports, cut after `bytes` as snprintf() does; how long it is. */
size_t weir_uri_format(const struct weir_uri *uri, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
