/*
 * fuzz_decode.c - any bytes as any page that libweir decodes: what comes out is in its range, texts end and can be
 * shown, and walks end.
 *
 * The first byte says which decoder; the others are the page, of exactly that size, or of 4096 bytes and 1024 where
 * a page always has them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weir/names.h>
#include <weir/weir.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "lib/discovery_log.h"

static void
shown(const char *text, size_t room)
{
	size_t left = strnlen(text, room);
	uint32_t code = 0;

	assert(left < room);
	for (unsigned length; left > 0; text += length, left -= length) {
		length = utf8_next((const uint8_t *)text, left, &code);
		assert(length > 0 && utf8_printable(code));
	}
}

#define SHOWN(text) shown(text, sizeof(text))

/* A part of the page. */
static void
within(const void *page, size_t bytes, const void *part, size_t length)
{
	const uint8_t *at = part, *begin = page;

	assert((part == NULL) == (length == 0));
	assert(length == 0 || (at >= begin && at + length <= begin + bytes));
}

static void
try_controller(const void *page, size_t bytes)
{
	struct weir_controller c;

	weir_controller_decode(page, (uint32_t)bytes, &c);
	SHOWN(c.serial);
	SHOWN(c.model);
	SHOWN(c.firmware);
	SHOWN(c.subnqn);
	assert(c.transfer_max == 0 || c.transfer_max >= 8192);
	assert(c.aborts > 0 && c.events > 0 && c.log_entries_max > 0);
	assert(c.awun > 0 && c.awun <= 65536 && c.awupf > 0 && c.acwu > 0);
	assert(c.weir_version != 0 || c.weir_capabilities == 0 || memcmp((const uint8_t *)page + 3072, "WEIR", 4) == 0);
}

static void
try_namespace(const void *page, size_t bytes)
{
	struct weir_namespace ns;

	weir_namespace_decode(page, (uint32_t)bytes, &ns);
	assert(ns.nsid == bytes && ns.formats >= 1 && ns.formats <= 64 && ns.format < 64);
	assert(ns.format < ns.formats || ns.block_size == 0);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t size = ns.lba_format[i].block_size;

		assert(size == 0 || (size >= 512 && (size & (size - 1)) == 0 && i < ns.formats));
		assert(ns.lba_format[i].performance <= 3);
	}
	assert(ns.block_size == ns.lba_format[ns.format].block_size);
	assert(ns.copy_ranges >= 1 && ns.atomic_blocks <= 65536);
}

static void
try_descriptors(const void *page, size_t bytes)
{
	struct weir_namespace ns = { .nguid = { (uint8_t)bytes } }, before = ns;

	weir_namespace_descriptors(page, &ns);
	assert(ns.nguid[0] == before.nguid[0] || before.nguid[0] == 0);
}

static void
try_smart(const void *page, size_t bytes)
{
	struct weir_smart smart;

	weir_smart_decode(page, bytes, &smart);
	assert(bytes >= 200 || smart.sensor_kelvin[0] == 0);
}

static void
try_errors(const void *page, size_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_error_entry entry;
	size_t count = 0;

	while (weir_error_next(page, bytes, &cursor, &entry)) {
		assert(entry.number != 0 && (entry.status & ~(WEIR_STATUS_DNR | 0x7ff)) == 0);
		assert(weir_status_text(entry.status) != NULL);
		count++;
	}
	assert(count <= bytes / 64);
}

static void
try_firmware(const void *page, size_t bytes)
{
	struct weir_firmware firmware;

	weir_firmware_decode(page, bytes, &firmware);
	assert(firmware.active <= 7 && firmware.next <= 7);
	for (unsigned i = 0; i < 7; i++)
		SHOWN(firmware.revision[i]);
}

static void
try_changed(const void *page, size_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	size_t count = 0;
	uint32_t nsid;

	while (weir_changed_next(page, bytes, &cursor, &nsid)) {
		assert(nsid != 0);
		count++;
	}
	assert(count <= bytes / 4 && count <= 1024);
}

static void
try_tables(const void *page, size_t bytes)
{
	for (unsigned i = 0; i < 256; i++) {
		assert(weir_effect_of(page, bytes, true, (uint8_t)i) == weir_supported_of(page, bytes, (uint8_t)i));
		assert(weir_effect_of(page, bytes, false, (uint8_t)i) == 0 || bytes >= 1024 + 4 * i + 4);
	}
}

static void
try_ana(const void *page, size_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_ana_group group;
	struct weir_ana_log log;
	uint64_t nsids = 0;
	uint32_t count = 0;

	weir_ana_decode(page, bytes, &log);
	while (weir_ana_next(page, bytes, &cursor, &group)) {
		assert(group.state <= 15 && weir_ana_name(group.state) != NULL);
		if (group.nsid_count > 0)
			within(page, bytes, group.nsids, group.nsid_count * 4);
		for (uint32_t i = 0; i < group.nsid_count; i++)
			nsids += weir_ana_nsid(&group, i) != 0;
		assert(weir_ana_nsid(&group, group.nsid_count) == 0);
		count++;
	}
	assert(count <= log.groups && nsids * 4 <= bytes);
}

static void
try_persistent(const void *page, size_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_persistent_event event;
	struct weir_persistent_log log;
	uint32_t count = 0;

	weir_persistent_decode(page, bytes, &log);
	SHOWN(log.serial);
	SHOWN(log.model);
	SHOWN(log.subnqn);
	while (weir_persistent_next(page, bytes, &cursor, &event)) {
		within(page, bytes, event.vendor, event.vendor_bytes);
		within(page, bytes, event.data, event.data_bytes);
		assert(event.timestamp_ms >> 48 == 0 && weir_persistent_name(event.type) != NULL);
		count++;
	}
	assert(count <= log.events && count <= bytes / 24);
}

static void
try_notice(const void *page, size_t bytes)
{
	struct weir_reservation_notice notice;

	weir_reservation_notice_decode(page, bytes, &notice);
	assert(bytes > 0 || notice.number == 0);
}

static void
try_discovery(const void *page, size_t bytes)
{
	struct discovery_header header;
	struct weir_discovered entry;
	struct weir_uri uri;
	char text[2048], cut[20];
	size_t length;

	discovery_header_decode(page, &header);
	discovery_entry_decode(page, &entry);
	SHOWN(entry.address);
	SHOWN(entry.service);
	SHOWN(entry.subnqn);
	length = weir_discovered_uri(&entry, text, sizeof(text));
	assert(length == strlen(text) && weir_discovered_uri(&entry, cut, sizeof(cut)) == length);
	assert(length == 0 || weir_uri_parse(text, &uri) == 0);
	assert(length == 0 || (uri.addresses == 1 && strcmp(uri.address[0].host, entry.address) == 0));
}

static const struct {
	void (*try)(const void *page, size_t bytes);
	size_t always; /* so many bytes it has; 0: any number */
} decoders[] = {
	{ try_controller, 4096 }, { try_namespace, 4096 }, { try_descriptors, 4096 }, { try_smart, 0 },
	{ try_errors, 0 }, { try_firmware, 0 }, { try_changed, 0 }, { try_tables, 0 }, { try_ana, 0 },
	{ try_persistent, 0 }, { try_notice, 0 }, { try_discovery, 1024 },
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t which, bytes;
	uint8_t *page;

	if (size == 0)
		return 0;
	which = data[0] % (sizeof(decoders) / sizeof(decoders[0]));
	bytes = decoders[which].always != 0 ? decoders[which].always : size - 1;
	page = malloc(bytes); /* of exactly that size: a sanitizer sees what is read behind it */
	if (page == NULL)
		return 0;
	if (bytes > 0)
		memset(page, 0, bytes);
	memcpy(page, data + 1, bytes < size - 1 ? bytes : size - 1);
	decoders[which].try(page, bytes);
	free(page);
	return 0;
}
