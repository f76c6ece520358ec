/*
 * listen.c - where `weir serve` listens: by which numbers, at which sockets that it was handed, and for whom.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "serve.h"
#include "sys/inherit.h"
#include "sys/line.h"
#include "sys/sock.h"

int
listen_resolve(struct target_listen *listen, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *why = sock_numeric(listen[i].host, sizeof(listen[i].host));

		if (why != NULL) {
			fprintf(stderr, "weir: --listen %s: %s\n", listen[i].host, why);
			return -EADDRNOTAVAIL;
		}
	}
	return 0;
}

static_assert((int)INHERIT_MAX <= (int)RT_INHERITED_MAX, "all that we are handed can be kept");

static bool
listens(const struct target_listen *listen, uint32_t count, const struct target_listen *at)
{
	for (uint32_t i = 0; i < count; i++)
		if (listen[i].port == at->port && strcmp(listen[i].host, at->host) == 0)
			return true;
	return false;
}

/* Of two sockets with one address only one would be accepted from. */
static bool
handed_before(const struct target_listen *at, int count)
{
	for (int i = 0; i < count; i++) {
		struct target_listen other = { 0 };

		if (sock_address(INHERIT_FIRST + i, false, other.host, sizeof(other.host), &other.port) == 0 &&
		    other.port == at->port && strcmp(other.host, at->host) == 0) {
			fprintf(stderr, "weir: LISTEN_FDS hands over %s:%u twice\n", at->host, at->port);
			return true;
		}
	}
	return false;
}

/* The sockets that whoever started us has opened already are served too. */
int
listen_inherit(struct target_listen *listen, uint32_t *count, struct rt_options *options)
{
	int handed = inherit_listeners();

	if (handed < 0) {
		fprintf(stderr, handed == -EINVAL ? "weir: LISTEN_FDS is no number of descriptors, or too high\n" :
		    "weir: what LISTEN_FDS hands over are not listening TCP sockets: %s\n", strerror(-handed));
		return handed;
	}
	for (int i = 0; i < handed; i++) {
		struct target_listen at = { 0 };
		int rc = sock_address(INHERIT_FIRST + i, false, at.host, sizeof(at.host), &at.port);

		if (rc != 0) {
			fprintf(stderr, "weir: descriptor %d of LISTEN_FDS: %s\n", INHERIT_FIRST + i, strerror(-rc));
			return rc;
		}
		if (listens(listen, *count, &at)) {
			if (i > 0 && handed_before(&at, i))
				return -EADDRINUSE;
			continue;
		}
		if (*count == TARGET_LISTENERS_MAX) {
			fprintf(stderr, "weir: more than %d addresses to listen on\n", TARGET_LISTENERS_MAX);
			return -E2BIG;
		}
		listen[(*count)++] = at;
	}
	options->inherited_first = INHERIT_FIRST;
	options->inherited_count = (unsigned)handed;
	return 0;
}

void
listen_by_default(struct target_listen *listen, uint32_t *count)
{
	if (*count > 0)
		return;
	snprintf(listen[0].host, sizeof(listen[0].host), "127.0.0.1");
	listen[0].port = DEFAULT_PORT;
	*count = 1;
}

int
listen_inherit_conf(const struct conf *conf, struct rt_options *options)
{
	struct target_listen listen[TARGET_LISTENERS_MAX];
	uint32_t count = conf->listener_count;
	int rc;

	for (uint32_t i = 0; i < count; i++) {
		memcpy(listen[i].host, conf->listeners[i].address.host, sizeof(listen[i].host));
		listen[i].port = conf->listeners[i].address.port;
	}
	rc = listen_inherit(listen, &count, options);
	for (uint32_t i = conf->listener_count; rc == 0 && i < count; i++)
		fprintf(stderr, "weir: warning: LISTEN_FDS hands over %s:%u, where the configuration does not listen\n",
		    listen[i].host, listen[i].port);
	return rc;
}

/* ---- who reaches it ---- */

static bool
is_open(const struct conf *conf, uint32_t listener)
{
	const char *host = conf->listeners[listener].address.host;

	if (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0)
		return false;
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		if (conf->subsys[i].any_host && conf->subsys[i].listeners & UINT32_C(1) << listener)
			return true;
	return false;
}

static bool
was_open(const struct conf *conf, const struct conf_address *at)
{
	for (uint32_t i = 0; i < conf->listener_count; i++) {
		const struct conf_address *address = &conf->listeners[i].address;

		if (address->port == at->port && strcmp(address->host, at->host) == 0 && is_open(conf, i))
			return true;
	}
	return false;
}

uint32_t
listen_opened(const struct conf *before, const struct conf *conf)
{
	uint32_t opened = 0;

	for (uint32_t i = 0; i < conf->listener_count; i++)
		if (is_open(conf, i) && (before == NULL || !was_open(before, &conf->listeners[i].address)))
			opened |= UINT32_C(1) << i;
	return opened;
}

void
listen_warn(const struct conf *conf, uint32_t opened)
{
	for (uint32_t i = 0; i < conf->listener_count; i++)
		if (opened >> i & 1)
			line_say("weir: warning: %s is reachable from the network, and every host is allowed\n",
			    conf->listeners[i].address.host);
}
