/*
 * resolve.c - which address is a path's, and how is it written?
 *
 * Names are looked up in the thread that asked, since that may take long; paths
 * know addresses only.
 */
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "sys/name.h"

int
resolve(const struct weir_address *address, uint32_t ms, struct subsys_address *numeric)
{
	const char *why;
	int rc = name_numeric(address->host, address->port, ms, numeric->host, sizeof(numeric->host), &why);

	numeric->port = address->port;
	return rc != 0 ? lib_fail(rc, "%s: %s", address->host, why) : 0;
}

static bool
is_among(const struct subsys_address *list, int count, const struct subsys_address *one)
{
	for (int i = 0; i < count; i++)
		if (list[i].port == one->port && strcmp(list[i].host, one->host) == 0)
			return true;
	return false;
}

int
resolve_all(struct weir_host *host, const struct weir_uri *uri, uint32_t ms,
    struct subsys_address numeric[WEIR_PATHS_MAX])
{
	int count = 0, rc = 0;

	for (unsigned i = 0; i < uri->addresses; i++) {
		/* A name that is not known is one path fewer, as is an address that does not answer. */
		int error = resolve(&uri->address[i], ms, &numeric[count]);

		if (error == 0 && !is_among(numeric, count, &numeric[count]))
			count++;
		else if (error != 0 && uri->addresses > 1)
			host_log(host, WEIR_LOG_WARNING, "%s: there is no path by that name", weir_error());
		rc = error != 0 ? error : rc;
	}
	return count > 0 ? count : rc;
}

struct address_text
address_text(const char *host, uint16_t port)
{
	bool colons = strchr(host, ':') != NULL;
	struct address_text out;

	snprintf(out.text, sizeof(out.text), "%s%.64s%s:%u", colons ? "[" : "", host, colons ? "]" : "", port);
	return out;
}
