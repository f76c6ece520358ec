/*
 * weir/uri.h - the names of namespaces, subsystems and discovery services.
 *
 *     nvme+tcp://HOST[:PORT][,HOST[:PORT]...]/SUBNQN[?ns=N][&hostnqn=NQN]
 *     nvme+tcp://HOST[:PORT]                           a discovery service
 *
 * HOST is a name, an IPv4 address or an [IPv6 address]; several are several
 * paths to the same subsystem.  PORT is 4420, of a discovery service 8009,
 * where it is not said.  Bytes that a URI cannot have are written %XX.
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
	char host[256];
	uint16_t port;
};

struct weir_uri {
	struct weir_address address[WEIR_PATHS_MAX];
	unsigned addresses;           /* at least one */
	char subnqn[WEIR_NQN_MAX + 1]; /* "": a discovery service */
	char hostnqn[WEIR_NQN_MAX + 1]; /* "": the host's own */
	uint32_t nsid;                /* 0: none was named */
};

/* 0, or -EINVAL: weir_error() says what is wrong and where. */
int weir_uri_parse(const char *text, struct weir_uri *uri);

/* Writes it as weir_uri_parse() reads it, cut after `bytes` as snprintf() does; how long it is. */
size_t weir_uri_format(const struct weir_uri *uri, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
