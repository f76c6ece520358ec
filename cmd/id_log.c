#include "id_log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ana.h"
#include "host_options.h"

enum { PAGE_MAX = 1 << 20, KELVIN = 273 };

/* ---- what each is ---- */

static void
temperature(struct report *report, const char *key, const char *label, uint16_t kelvin)
{
	if (report->json)
		report_number(report, key, label, kelvin, "K");
	else if (kelvin != 0)
		printf("  %-28s %d \u00b0C\n", label, kelvin - KELVIN);
}

/* 512,000 bytes each: so many of them there never will be that this is more than 64 bits. */
static void
units(struct report *report, const char *key, const char *label, uint64_t count)
{
	report_bytes(report, key, label, count > UINT64_MAX / 512000 ? UINT64_MAX : count * 512000);
}

static void
report_smart(struct report *report, const uint8_t *page, uint32_t bytes)
{
	const char *warnings[8];
	struct weir_smart smart;

	for (unsigned i = 0; i < 8; i++)
		warnings[i] = weir_warning_name(i);
	weir_smart_decode(page, bytes, &smart);
	report_open(report, "smart", "SMART and health");
	report_bits(report, "critical_warnings", "Critical warnings", smart.critical_warning, warnings, 8);
	temperature(report, "kelvin", "Temperature", smart.kelvin);
	report_number(report, "spare_percent", "Spare", smart.spare_percent, "%");
	report_number(report, "spare_threshold_percent", "Spare, warned of below", smart.spare_threshold_percent, "%");
	report_number(report, "used_percent", "Worn", smart.used_percent, "%");
	units(report, "read_bytes", "Read", smart.read_units);
	units(report, "written_bytes", "Written", smart.written_units);
	report_number(report, "reads", "Reads", smart.reads, "");
	report_number(report, "writes", "Writes", smart.writes, "");
	report_number(report, "busy_minutes", "Busy", smart.busy_minutes, "minutes");
	report_number(report, "power_cycles", "Power cycles", smart.power_cycles, "");
	report_number(report, "power_on_hours", "Power on", smart.power_on_hours, "hours");
	report_number(report, "unsafe_shutdowns", "Unsafe shutdowns", smart.unsafe_shutdowns, "");
	report_number(report, "media_errors", "Media errors", smart.media_errors, "");
	report_number(report, "error_entries", "Errors logged", smart.error_entries, "");
	report_number(report, "warning_minutes", "Too warm for", smart.warning_minutes, "minutes");
	report_number(report, "critical_minutes", "Far too warm for", smart.critical_minutes, "minutes");
	report_close(report);
}

static void
report_error(struct report *report, const struct weir_error_entry *entry)
{
	char status[128];

	snprintf(status, sizeof(status), "%s (0x%03x)", weir_status_text(entry->status), entry->status & 0x7ff);
	report_open(report, NULL, "Error %" PRIu64, entry->number);
	report_number(report, "number", NULL, entry->number, "");
	report_number(report, "queue", "Queue", entry->sqid, "");
	report_number(report, "command", "Command", entry->cid, "");
	if (entry->version >= 1)
		report_hex(report, "opcode", "Opcode", entry->opcode, 2);
	report_number(report, "status", NULL, entry->status, "");
	report_text(report, "status_text", "Status", status);
	if (entry->location != 0xffff) {
		report_number(report, "byte", "At byte of the command", entry->location & 0xff, "");
		report_number(report, "bit", "At bit", entry->location >> 8, "");
	}
	report_number(report, "lba", "LBA", entry->lba, "");
	report_number(report, "nsid", "Namespace", entry->nsid, "");
	report_close(report);
}

static void
report_errors(struct report *report, const uint8_t *page, uint32_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_error_entry entry;
	unsigned count = 0;

	report_list(report, "errors");
	for (; weir_error_next(page, bytes, &cursor, &entry); count++)
		report_error(report, &entry);
	report_close(report);
	if (count == 0 && !report->json)
		puts("No errors are logged.");
}

static void
report_firmware(struct report *report, const uint8_t *page, uint32_t bytes)
{
	struct weir_firmware firmware;
	char label[32];

	weir_firmware_decode(page, bytes, &firmware);
	report_open(report, "firmware", "Firmware slots");
	report_number(report, "active", "Active", firmware.active, "");
	report_number(report, "next", "After the next reset", firmware.next > 0 ? firmware.next : firmware.active, "");
	report_list(report, "slots");
	for (unsigned i = 0; i < 7; i++) {
		if (firmware.revision[i][0] == '\0')
			continue;
		report_open(report, NULL, NULL);
		snprintf(label, sizeof(label), "Slot %u", i + 1);
		report_number(report, "slot", NULL, i + 1, "");
		report_text(report, "revision", label, firmware.revision[i]);
		report_close(report);
	}
	report_close(report);
	report_close(report);
}

static void
report_ana_group(struct report *report, const struct weir_ana_group *group)
{
	report_open(report, NULL, "ANA group %" PRIu32, group->group);
	report_number(report, "group", NULL, group->group, "");
	report_text(report, "state", "State", weir_ana_name(group->state));
	report_number(report, "change_count", "Changes", group->change_count, "");
	report_list(report, "namespaces");
	for (uint32_t i = 0; i < group->nsid_count; i++) {
		if (report->json)
			report_value(report, weir_ana_nsid(group, i));
		else
			report_number(report, NULL, i == 0 ? "Namespaces" : "", weir_ana_nsid(group, i), "");
	}
	report_close(report);
	report_close(report);
}

static void
report_ana(struct report *report, const uint8_t *page, uint32_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_ana_group group;
	struct weir_ana_log log;

	weir_ana_decode(page, bytes, &log);
	report_open(report, "ana", "Asymmetric namespace access");
	report_number(report, "change_count", "Changes", log.change_count, "");
	report_list(report, "groups");
	while (weir_ana_next(page, bytes, &cursor, &group))
		report_ana_group(report, &group);
	report_close(report);
	report_close(report);
}

static void
report_changed(struct report *report, const uint8_t *page, uint32_t bytes)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	unsigned count = 0;
	uint32_t nsid;

	report_list(report, "changed_namespaces");
	for (; weir_changed_next(page, bytes, &cursor, &nsid); count++) {
		if (report->json)
			report_value(report, nsid);
		else if (nsid == UINT32_MAX)
			puts("More namespaces have changed than the page has room for.");
		else
			printf("Namespace %" PRIu32 " has changed.\n", nsid);
	}
	report_close(report);
	if (count == 0 && !report->json)
		puts("No namespace has changed since this was read last.");
}

static void
report_effect(struct report *report, bool admin, unsigned opcode, uint32_t effects)
{
	static const char *const names[] = {
		NULL, "changes blocks", "changes namespaces", "changes the inventory", "changes controllers",
	};
	const char *name = weir_opcode_name(admin, (uint8_t)opcode);
	char label[64];

	snprintf(label, sizeof(label), "%s 0x%02x %s", admin ? "Admin" : "I/O", opcode, name);
	report_open(report, NULL, NULL);
	report_text(report, "queue", NULL, admin ? "admin" : "io");
	report_number(report, "opcode", NULL, opcode, "");
	report_text(report, "name", NULL, name);
	report_number(report, "value", NULL, effects, "");
	report_bits(report, "effects", label, effects, names, 5);
	report_close(report);
}

static void
report_effects(struct report *report, const uint8_t *page, uint32_t bytes)
{
	report_heading(report, "Commands supported, and their effects");
	report_list(report, "commands");
	for (unsigned i = 0; i < 512; i++) {
		uint32_t effects = weir_effect_of(page, bytes, i < 256, (uint8_t)i);

		if (effects != 0)
			report_effect(report, i < 256, i & 0xff, effects);
	}
	report_close(report);
}

static void
report_pages(struct report *report, const uint8_t *page, uint32_t bytes)
{
	char label[16];

	report_heading(report, "Log pages");
	report_list(report, "log_pages");
	for (unsigned i = 0; i < 256; i++) {
		if ((weir_supported_of(page, bytes, (uint8_t)i) & 1) == 0)
			continue;
		snprintf(label, sizeof(label), "0x%02x", i);
		report_open(report, NULL, NULL);
		report_number(report, "id", NULL, i, "");
		report_text(report, "name", label, weir_lid_name((uint8_t)i));
		report_close(report);
	}
	report_close(report);
}

/* ---- which there are ---- */

static const struct log_page {
	const char *name;
	uint8_t lid;
	uint32_t bytes;
	void (*report)(struct report *report, const uint8_t *page, uint32_t bytes);
} pages[] = {
	{ "smart", WEIR_LID_SMART, 512, report_smart },
	{ "error", WEIR_LID_ERROR, 0, report_errors },
	{ "firmware", WEIR_LID_FIRMWARE, 512, report_firmware },
	{ "ana", WEIR_LID_ANA, 0, report_ana },
	{ "changed", WEIR_LID_CHANGED_NAMESPACES, 4096, report_changed },
	{ "effects", WEIR_LID_EFFECTS, 4096, report_effects },
	{ "pages", WEIR_LID_SUPPORTED, 1024, report_pages },
};

enum { PAGES = sizeof(pages) / sizeof(pages[0]) };

int
id_log_number(const char *text)
{
	char *end;
	unsigned long number;

	for (size_t i = 0; i < PAGES; i++)
		if (strcmp(text, pages[i].name) == 0)
			return pages[i].lid;
	if (text[0] < '0' || text[0] > '9')
		return -1;
	number = strtoul(text, &end, 0);
	return *end == '\0' && number <= 255 ? (int)number : -1;
}

static void
hexdump(struct report *report, uint8_t lid, const uint8_t *page, uint32_t bytes)
{
	if (report->json) {
		report_number(report, "log_page", NULL, lid, "");
		report_hexdump(report, "bytes", page, bytes);
		return;
	}
	for (uint32_t at = 0; at < bytes; at += 16) {
		printf("%04x:", at);
		for (uint32_t i = at; i < at + 16 && i < bytes; i++)
			printf(" %02x", page[i]);
		putchar('\n');
	}
}

/* What has no size of its own has one by what the controller says of itself. */
static uint32_t
size_of(const struct log_page *page, const struct weir_controller *controller)
{
	uint64_t bytes = 512;

	if (page != NULL && page->bytes > 0)
		bytes = page->bytes;
	else if (page != NULL && page->lid == WEIR_LID_ERROR)
		bytes = (uint64_t)controller->log_entries_max * 64;
	return bytes > PAGE_MAX ? PAGE_MAX : (uint32_t)bytes;
}

static const struct log_page *
page_of(uint8_t lid)
{
	for (size_t i = 0; i < PAGES; i++)
		if (pages[i].lid == lid)
			return &pages[i];
	return NULL;
}

/* LSP.  Persistent events are read in a context, which ends with our controller: 1 begins one. */
static uint8_t
action_of(uint8_t lid)
{
	return lid == WEIR_LID_PERSISTENT ? 1 : 0;
}

static int
read_page(struct weir_subsys *subsys, int path, uint8_t lid, uint8_t **page, uint32_t *bytes)
{
	struct weir_controller controller;
	struct ana_page ana;
	uint8_t id[4096];
	int rc = weir_subsys_identify(subsys, path, 0x01, 0, 0, id);

	if (rc < 0)
		return rc;
	weir_controller_decode(id, 0, &controller);
	if (lid == WEIR_LID_ANA) {
		rc = ana_read(subsys, path, &controller, &ana);
		*page = ana.page;
		*bytes = ana.bytes;
		return rc;
	}
	*bytes = size_of(page_of(lid), &controller);
	*page = calloc(1, *bytes);
	if (*page == NULL)
		return -ENOMEM;
	return weir_subsys_log(subsys, path, lid, action_of(lid), UINT32_MAX, 0, *page, *bytes);
}

int
id_log(struct weir_subsys *subsys, int path, uint8_t lid, bool raw, struct report *report)
{
	const struct log_page *known = page_of(lid);
	uint8_t *page = NULL;
	uint32_t bytes = 0;
	char what[48];
	int rc = read_page(subsys, path, lid, &page, &bytes);

	if (rc < 0) {
		snprintf(what, sizeof(what), "log page 0x%02x", lid);
		host_complain(what, rc);
	} else if (raw) {
		fwrite(page, 1, bytes, stdout);
	} else if (known != NULL) {
		known->report(report, page, bytes);
	} else {
		hexdump(report, lid, page, bytes);
	}
	free(page);
	return rc < 0 ? -1 : 0;
}
