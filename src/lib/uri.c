/*
 * uri.c - the names of namespaces, subsystems and discovery services, read and written (weir/uri.h).
 *
 * A URI in the sense of RFC 3986, of which each part has rules of its own.  It does not know whether what is named
 * is there: no name is looked up.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/uri.h>

#include "base/nqn.h"
#include "base/utf8.h"
#include "lib/error.h"

enum { PORT_SUBSYSTEM = 4420, PORT_DISCOVERY = 8009 };

static const char scheme[] = "nvme+tcp://";
static const char digits[] = "0123456789";
static const char hex_digits[] = "0123456789abcdefABCDEF";
static const char alnum[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Bytes of the text; `at` NULL: there is no such part. */
struct part {
	const char *at;
	size_t bytes;
};

/* The part, as much of it as people read, and what is wrong with it. */
static int
wrong(struct part part, const char *why)
{
	char text[101], shown[4 * sizeof(text)];
	size_t bytes = part.bytes < sizeof(text) ? part.bytes : sizeof(text) - 1;

	memcpy(text, part.at, bytes);
	text[bytes] = '\0';
	utf8_show(text, shown, sizeof(shown));
	return lib_fail(-EINVAL, "in the URI, \"%s%s\" %s", shown, bytes < part.bytes ? "..." : "", why);
}

static struct part
part_until(const char *at, const char *ends)
{
	return (struct part){ at, strcspn(at, ends) };
}

/* Splits off what is before the first `mark`, or all of it, and leaves what is behind. */
static struct part
part_take(struct part *rest, char mark)
{
	const char *stop = rest->bytes > 0 ? memchr(rest->at, mark, rest->bytes) : NULL;
	struct part first = *rest;

	if (stop != NULL)
		first.bytes = (size_t)(stop - first.at);
	*rest = stop != NULL ? (struct part){ stop + 1, rest->bytes - first.bytes - 1 } : (struct part){ NULL, 0 };
	return first;
}

static bool
part_of(struct part part, const char *set, const char *more)
{
	for (size_t i = 0; i < part.bytes; i++)
		if (part.at[i] == '\0' || (strchr(set, part.at[i]) == NULL && strchr(more, part.at[i]) == NULL))
			return false;
	return true;
}

static bool
part_begins(struct part part, const char *with)
{
	return part.bytes >= strlen(with) && memcmp(part.at, with, strlen(with)) == 0;
}

/* ---- bytes that are written %XX ---- */

static unsigned
hex_value(char digit)
{
	return (unsigned)(strchr(hex_digits, digit) - hex_digits) - (digit >= 'A' && digit <= 'F' ? 6 : 0);
}

/* All of the text are bytes that a URI can have, and a % has its digits. */
static int
check_bytes(const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		uint8_t byte = (uint8_t)*at;

		if (byte <= 0x20 || byte >= 0x7f || strchr("\"#<>\\^`{|}", byte) != NULL)
			return wrong((struct part){ at, 1 }, "is a byte that a URI cannot have: it is written %XX");
		if (byte == '%' && (strspn(at + 1, hex_digits) == 0 || strspn(at + 2, hex_digits) == 0))
			return wrong((struct part){ at, strnlen(at, 3) },
			    "is not a byte: two hexadecimal digits follow a %");
	}
	return 0;
}

/* As a text of `room` bytes; how long it is, or SIZE_MAX where it does not fit. */
static size_t
decode(struct part part, char *out, size_t room)
{
	size_t length = 0;

	for (size_t i = 0; i < part.bytes; i++, length++) {
		if (length + 1 >= room)
			return SIZE_MAX;
		if (part.at[i] == '%') {
			out[length] = (char)(hex_value(part.at[i + 1]) << 4 | hex_value(part.at[i + 2]));
			i += 2;
		} else {
			out[length] = part.at[i];
		}
	}
	out[length] = '\0';
	return length;
}

/* ---- reading ---- */

static bool
number(struct part part, uint32_t max, uint32_t *value)
{
	uint64_t sum = 0;

	if (part.bytes == 0 || part.bytes > 10 || !part_of(part, digits, ""))
		return false;
	for (size_t i = 0; i < part.bytes; i++)
		sum = 10 * sum + (unsigned)(part.at[i] - '0');
	*value = (uint32_t)sum;
	return sum > 0 && sum <= max;
}

/* That it is an address, getaddrinfo() has to find; here it must look as one, and a zone as a name of an interface. */
static bool
is_ipv6(struct part part)
{
	struct part zone = part, address = part_take(&zone, '%'), behind = address;

	part_take(&behind, ':');
	part_take(&behind, ':');
	return behind.at != NULL && part_of(address, hex_digits, ":.") &&
	    (zone.at == NULL || (zone.bytes > 0 && part_of(zone, alnum, "-._~")));
}

static bool
is_name(struct part part)
{
	return part.bytes > 0 && part_of(part, alnum, "-._");
}

/* HOST[:PORT] as its parts, the host without its brackets; `port` may not be there. */
static int
split_address(struct part text, struct part *host, struct part *port)
{
	*port = text;
	if (text.bytes == 0 || *text.at != '[') {
		*host = part_take(port, ':');
		if (port->bytes > 0 && memchr(port->at, ':', port->bytes) != NULL)
			return wrong(text, "has more than one colon: an IPv6 address is written in [brackets]");
		return 0;
	}
	part_take(port, '[');
	*host = part_take(port, ']');
	if (port->at == NULL)
		return wrong(text, "lacks the ] behind its address");
	if (port->bytes > 0 && *port->at != ':')
		return wrong(text, "goes on behind its ] with something else than :PORT");
	part_take(port, ':');
	return 0;
}

/* A port that is not said is 0. */
static int
parse_address(struct part text, struct weir_address *address)
{
	struct part host, port, decoded = { address->host, 0 };
	uint32_t value = 0;
	int error = split_address(text, &host, &port);

	if (error < 0)
		return error;
	decoded.bytes = decode(host, address->host, sizeof(address->host));
	if (decoded.bytes == SIZE_MAX)
		return wrong(host, "is too long for a host: 255 bytes are the most");
	if (*text.at == '[' && !is_ipv6(decoded))
		return wrong(host, "is not an IPv6 address");
	if (*text.at != '[' && !is_name(decoded))
		return wrong(host, "is not a host: a name, an IPv4 address or an [IPv6 address]");
	if (port.at != NULL && !number(port, UINT16_MAX, &value))
		return wrong(port, "is not a port: a number from 1 to 65535");
	address->port = (uint16_t)value;
	return 0;
}

static int
parse_addresses(struct part rest, struct weir_uri *uri)
{
	int error = 0;

	while (error == 0 && rest.at != NULL) {
		struct part one = part_take(&rest, ',');

		if (uri->addresses == WEIR_PATHS_MAX)
			return wrong(one, "is one host too many: 8 are the most");
		error = parse_address(one, &uri->address[uri->addresses++]);
	}
	return error;
}

static int
parse_nqn(struct part text, char nqn[WEIR_NQN_MAX + 1])
{
	size_t length = decode(text, nqn, WEIR_NQN_MAX + 1);

	if (length == SIZE_MAX || !nqn_usable(nqn, length))
		return wrong(text, "is not a name: 1 to 223 bytes, of characters that can be seen");
	return 0;
}

static int
parse_option(struct part option, struct weir_uri *uri)
{
	struct part value = option;

	part_take(&value, '=');
	if (part_begins(option, "ns=")) {
		if (uri->subnqn[0] == '\0')
			return wrong(option, "needs a subsystem: nvme+tcp://HOST[:PORT]/SUBNQN?ns=N");
		if (uri->nsid != 0)
			return wrong(option, "names a namespace once more");
		if (!number(value, UINT32_MAX - 1, &uri->nsid))
			return wrong(option, "does not name a namespace: a number from 1 to 4294967294 follows");
		return 0;
	}
	if (part_begins(option, "hostnqn=")) {
		if (uri->hostnqn[0] != '\0')
			return wrong(option, "names the host once more");
		return parse_nqn(value, uri->hostnqn);
	}
	return wrong(option, "is not an option: there are ns=N and hostnqn=NQN");
}

static int
parse_options(struct part rest, struct weir_uri *uri)
{
	int error = 0;

	while (error == 0 && rest.at != NULL)
		error = parse_option(part_take(&rest, '&'), uri);
	return error;
}

/* What is between the hosts and the options; the name of all discovery services is as good as none. */
static int
parse_path(struct part path, struct weir_uri *uri)
{
	int error = path.bytes > 0 ? parse_nqn(path, uri->subnqn) : 0;

	if (error < 0)
		return error;
	if (strcmp(uri->subnqn, NQN_DISCOVERY) == 0)
		memset(uri->subnqn, 0, sizeof(uri->subnqn));
	if (uri->subnqn[0] == '\0' && uri->addresses > 1)
		return lib_fail(-EINVAL, "in the URI, there are several hosts and no subsystem: "
		    "a discovery service has one");
	for (unsigned i = 0; i < uri->addresses; i++)
		if (uri->address[i].port == 0)
			uri->address[i].port = uri->subnqn[0] != '\0' ? PORT_SUBSYSTEM : PORT_DISCOVERY;
	return 0;
}

int
weir_uri_parse(const char *text, struct weir_uri *uri)
{
	struct part hosts, path = { "", 0 };
	struct weir_uri found;
	const char *at;
	int error;

	memset(&found, 0, sizeof(found)); /* to the last byte: URIs can be compared */
	if (strncasecmp(text, scheme, sizeof(scheme) - 1) != 0)
		return wrong((struct part){ text, strlen(text) }, "does not begin with nvme+tcp://");
	error = check_bytes(text);
	if (error < 0)
		return error;
	hosts = part_until(text + sizeof(scheme) - 1, "/?");
	at = hosts.at + hosts.bytes;
	if (*at == '/')
		path = part_until(at + 1, "?");
	if (*at == '/')
		at = path.at + path.bytes;
	error = parse_addresses(hosts, &found);
	if (error == 0)
		error = parse_path(path, &found);
	if (error == 0 && *at == '?')
		error = parse_options((struct part){ at + 1, strlen(at + 1) }, &found);
	if (error == 0)
		*uri = found;
	return error;
}

/* ---- writing ---- */

struct out {
	char *text;
	size_t room, length; /* length: of all, also of what did not fit */
};

static void
put(struct out *out, char byte)
{
	if (out->length + 1 < out->room)
		out->text[out->length] = byte;
	out->length++;
}

static void
put_text(struct out *out, const char *text)
{
	for (; *text != '\0'; text++)
		put(out, *text);
}

/* Letters, digits and `plain` as they are, all others %XX. */
static void
put_coded(struct out *out, const char *text, const char *plain)
{
	for (; *text != '\0'; text++) {
		if (strchr(alnum, *text) != NULL || strchr(plain, *text) != NULL) {
			put(out, *text);
			continue;
		}
		put(out, '%');
		put(out, "0123456789ABCDEF"[(uint8_t)*text >> 4]);
		put(out, "0123456789ABCDEF"[(uint8_t)*text & 15]);
	}
}

static void
put_number(struct out *out, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	put_text(out, text);
}

static void
put_address(struct out *out, const struct weir_address *address)
{
	bool ipv6 = strchr(address->host, ':') != NULL;

	if (ipv6)
		put(out, '[');
	put_coded(out, address->host, ipv6 ? ":-._~" : "-._~");
	if (ipv6)
		put(out, ']');
	put(out, ':');
	put_number(out, address->port);
}

size_t
weir_uri_format(const struct weir_uri *uri, char *text, size_t bytes)
{
	static const char plain[] = "-._~:/@";
	struct out out = { text, bytes, 0 };
	char mark = '?';

	assert(uri->addresses >= 1 && uri->addresses <= WEIR_PATHS_MAX);
	put_text(&out, scheme);
	for (unsigned i = 0; i < uri->addresses; i++) {
		if (i > 0)
			put(&out, ',');
		put_address(&out, &uri->address[i]);
	}
	if (uri->subnqn[0] != '\0')
		put(&out, '/');
	put_coded(&out, uri->subnqn, plain);
	if (uri->nsid != 0) {
		put_text(&out, "?ns=");
		put_number(&out, uri->nsid);
		mark = '&';
	}
	if (uri->hostnqn[0] != '\0') {
		put(&out, mark);
		put_text(&out, "hostnqn=");
		put_coded(&out, uri->hostnqn, plain);
	}
	if (bytes > 0)
		text[out.length < bytes ? out.length : bytes - 1] = '\0';
	return out.length;
}
