/*
 * address.c - numeric addresses with ports, as text.
 *
 * Two texts of one address become one, so that addresses can be compared as
 * text.  Names are none: what they stand for is known only on the machine.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/internal.h"

enum { ZONE_MAX = 15 }; /* the name of an interface */

static bool
zone_parse(const char *zone)
{
	size_t length = strlen(zone);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)zone[i]) && strchr("-_.", zone[i]) == NULL)
			return false;
	return length >= 1 && length <= ZONE_MAX;
}

/* The shortest form of what is between the brackets, or stands without them. */
static bool
host_parse(char *text, bool v6, char host[64])
{
	char *zone = v6 ? strchr(text, '%') : NULL;
	uint8_t bytes[16];
	size_t used;

	if (zone != NULL)
		*zone++ = '\0';
	if (zone != NULL && !zone_parse(zone))
		return false;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes) != 1)
		return false;
	if (inet_ntop(v6 ? AF_INET6 : AF_INET, bytes, host, INET6_ADDRSTRLEN) == NULL)
		return false;
	used = strlen(host);
	if (zone != NULL)
		snprintf(host + used, 64 - used, "%%%s", zone);
	return true;
}

bool
conf_address_parse(const char *text, uint16_t port, struct conf_address *address)
{
	bool v6 = text[0] == '[';
	const char *start = text + v6, *end = start + strcspn(start, v6 ? "]" : ":"), *rest = end + v6;
	uint64_t number = port;
	char host[64];

	if ((v6 && *end != ']') || (size_t)(end - start) >= sizeof(host))
		return false;
	if (*rest == ':') {
		rest++;
		if (!number_parse(&rest, &number) || number > UINT16_MAX)
			return false;
	}
	if (*rest != '\0')
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	if (!host_parse(host, v6, address->host))
		return false;
	address->port = (uint16_t)number;
	return true;
}

void
address_read(struct reader *r, const struct node *node, uint16_t port, struct conf_address *value)
{
	const char *text = scalar_text(r, node, "address");

	if (text != NULL && !conf_address_parse(text, port, value))
		complain(r->errors, node->line,
		    "`address` is numeric, like 192.0.2.1:4420 or \"[2001:db8::1]:4420\", not %s", quote(text).text);
}

void
conf_address_text(const struct conf_address *address, char text[CONF_ADDRESS_TEXT])
{
	bool v6 = strchr(address->host, ':') != NULL;

	snprintf(text, CONF_ADDRESS_TEXT, v6 ? "[%s]:%u" : "%s:%u", address->host, address->port);
}

/* Whether a socket of one takes the other's address too. */
static bool
covers(const struct conf_address *one, const struct conf_address *other)
{
	return strcmp(one->host, other->host) == 0 || strcmp(one->host, "::") == 0 ||
	    (strcmp(one->host, "0.0.0.0") == 0 && strchr(other->host, ':') == NULL);
}

bool
conf_addresses_meet(const struct conf_address *a, const struct conf_address *b)
{
	return a->port == b->port && a->port != 0 && (covers(a, b) || covers(b, a));
}
