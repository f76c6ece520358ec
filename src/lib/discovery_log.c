#include "lib/discovery_log.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/decode.h"
#include "lib/error.h"
#include "wire/log.h"

static_assert(sizeof(struct nvme_log_discovery) == DISCOVERY_HEADER_LEN, "header of the discovery log");
static_assert(sizeof(struct nvme_log_discovery_entry) == DISCOVERY_ENTRY_LEN, "entry of the discovery log");

void
discovery_header_decode(const void *page, struct discovery_header *header)
{
	struct nvme_log_discovery log;

	memcpy(&log, page, sizeof(log));
	*header = (struct discovery_header){ le64_get(log.genctr), le64_get(log.numrec), le16_get(log.recfmt) };
}

void
discovery_entry_decode(const void *raw, struct weir_discovered *entry)
{
	struct nvme_log_discovery_entry log;

	memcpy(&log, raw, sizeof(log));
	*entry = (struct weir_discovered){
		.transport = log.trtype, .adrfam = log.adrfam, .subtype = log.subtype, .treq = log.treq,
		.sectype = log.trtype == WEIR_TRANSPORT_TCP ? log.tsas[0] : 0,
		.eflags = le16_get(log.eflags), .portid = le16_get(log.portid), .cntlid = le16_get(log.cntlid),
		.admin_max = le16_get(log.asqsz),
	};
	lib_text(entry->address, sizeof(entry->address), log.traddr, sizeof(log.traddr));
	lib_text(entry->service, sizeof(entry->service), log.trsvcid, sizeof(log.trsvcid));
	lib_text(entry->subnqn, sizeof(entry->subnqn), log.subnqn, sizeof(log.subnqn));
}

/* Of TCP the service is a port. */
static uint16_t
port_of(const struct weir_discovered *entry)
{
	size_t digits = strspn(entry->service, "0123456789");

	if (digits == 0 || digits > 5 || entry->service[digits] != '\0' || atoi(entry->service) > UINT16_MAX)
		return 0;
	return (uint16_t)atoi(entry->service);
}

static int
uri_of(const struct weir_discovered *entry, struct weir_uri *uri)
{
	bool nvm = entry->subtype == WEIR_SUBTYPE_NVM;
	size_t length = strlen(entry->address);

	*uri = (struct weir_uri){ .addresses = 1, .address[0].port = port_of(entry) };
	if (entry->transport != WEIR_TRANSPORT_TCP || uri->address[0].port == 0)
		return lib_fail(-EINVAL, "there is no URI for transport %u and service \"%s\": TCP and a port have one",
		    entry->transport, entry->service);
	if (length >= sizeof(uri->address[0].host) || (nvm && entry->subnqn[0] == '\0'))
		return lib_fail(-EINVAL, "there is no URI for an entry %s",
		    nvm && entry->subnqn[0] == '\0' ? "without a name" : "with an address of 256 bytes");
	memcpy(uri->address[0].host, entry->address, length);
	if (nvm)
		memcpy(uri->subnqn, entry->subnqn, sizeof(uri->subnqn));
	return 0;
}

/* Whether it can be read again is asked of who reads it, who says what is wrong otherwise. */
size_t
weir_discovered_uri(const struct weir_discovered *entry, char *text, size_t bytes)
{
	struct weir_uri uri;
	char whole[2048];
	int error = uri_of(entry, &uri);

	if (bytes > 0)
		*text = '\0';
	if (error < 0)
		return 0;
	weir_uri_format(&uri, whole, sizeof(whole));
	return weir_uri_parse(whole, &uri) < 0 ? 0 : weir_uri_format(&uri, text, bytes);
}
