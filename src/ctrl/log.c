/*
 * log.c - Get Log Page (NVMe Base 2.0, 5.16).
 *
 * A page is made as it would be read from its first byte, and the part asked
 * for is kept; nothing but page 0Dh is remembered between reads.
 */
#include "ctrl/internal.h"

#include "wire/extension.h"
#include "wire/identify.h"
#include "wire/log.h"

void
window_put(const struct window *w, uint64_t at, const void *bytes, uint64_t count)
{
	uint64_t begin = at > w->from ? at : w->from;
	uint64_t end = at + count < w->from + w->room ? at + count : w->from + w->room;

	if (begin < end)
		memcpy(w->out + (begin - w->from), (const uint8_t *)bytes + (begin - at), end - begin);
}

static void
error_make(struct admin *cmd, const struct window *w)
{
	const struct ctrl *ctrl = cmd->ctrl;

	for (uint64_t i = 0; i < CTRL_ERROR_LOG && i < ctrl->error_lines; i++) {
		const struct ctrl_error *error = &ctrl->errors[(ctrl->error_lines - 1 - i) % CTRL_ERROR_LOG];
		bool transport = nvme_sc(nvme_status_get(le16_of(error->status))) == NVME_SC_TRANSIENT_TRANSPORT;
		struct nvme_log_error_entry entry = {
			.error_count = le64_of(error->count), .sqid = le16_of(error->sqid),
			.cid = le16_of(error->cid), .status = le16_of(error->status),
			.location = le16_of(error->location), .lba = le64_of(error->lba),
			.nsid = le32_of(error->nsid), .opcode = error->opcode, .version = NVME_ERROR_VERSION,
			.trtype = transport ? NVME_TRTYPE_TCP : 0, .command_specific = le64_of(error->specific),
		};

		window_put(w, i * sizeof(entry), &entry, sizeof(entry));
	}
}

static le128
count_of(uint64_t value)
{
	return (le128){ le64_of(value), le64_of(0) };
}

void
ctrl_smart(const struct ctrl_stats *stats, struct nvme_log_smart *smart)
{
	const struct eventlog_counts *c = &stats->counts;
	const struct ctrl_wear *wear = &stats->wear;

	*smart = (struct nvme_log_smart){
		.critical_warning = stats->degraded ? NVME_SMART_RELIABILITY : 0,
		.available_spare = wear->spare, .spare_threshold = wear->spare_threshold,
		.percentage_used = wear->used,
		.units_read = count_of(c->read_blocks512 / 1000 + (c->read_blocks512 % 1000 != 0)),
		.units_written = count_of(c->write_blocks512 / 1000 + (c->write_blocks512 % 1000 != 0)),
		.host_reads = count_of(c->reads), .host_writes = count_of(c->writes),
		.busy_minutes = count_of(c->busy_s / 60), .power_cycles = count_of(stats->power_cycles),
		.power_on_hours = count_of(stats->on_ms / 3600000),
		.unsafe_shutdowns = count_of(stats->unsafe_shutdowns),
		.media_errors = count_of(c->media_errors), .error_entries = count_of(c->errors),
	};
	put_le16(smart->temperature, CTRL_KELVIN);
	if (wear->spare < wear->spare_threshold)
		smart->critical_warning |= NVME_SMART_SPARE;
}

/* One page for the whole controller: there is none per namespace. */
static void
smart_make(struct admin *cmd, const struct window *w)
{
	const struct ctrl_features *f = &cmd->ctrl->features;
	uint32_t nsid = le32_get(cmd->sqe->nsid);
	struct nvme_log_smart smart;

	if (nsid != 0 && nsid != UINT32_MAX) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	ctrl_smart(cmd->given->stats, &smart);
	if (CTRL_KELVIN >= f->hot || CTRL_KELVIN <= f->cold)
		smart.critical_warning |= NVME_SMART_TEMPERATURE;
	window_put(w, 0, &smart, sizeof(smart));
}

static void
firmware_make(struct admin *cmd, const struct window *w)
{
	struct nvme_log_firmware page = { .afi = 1 };

	ctrl_pad(page.revision[0], sizeof(page.revision[0]), cmd->ctrl->subsys->firmware);
	window_put(w, 0, &page, sizeof(page));
}

/* There are no more namespaces than the page has room for, so each that changed is named. */
static void
changed_make(struct admin *cmd, const struct window *w)
{
	struct ctrl *ctrl = cmd->ctrl;
	uint32_t count = 0;

	static_assert(CTRL_NS_MAX * 4 <= NVME_NS_LIST_MAX * 4, "page 04h names every namespace");
	for (uint32_t nsid = 1; nsid <= CTRL_NS_MAX; nsid++) {
		le32 changed = le32_of(nsid);

		if (ctrl->changed[(nsid - 1) / 32] >> (nsid - 1) % 32 & 1)
			window_put(w, sizeof(changed) * count++, &changed, sizeof(changed));
	}
	if (!(le32_get(cmd->sqe->cdw10) & NVME_LOG_RAE))
		memset(ctrl->changed, 0, sizeof(ctrl->changed));
}

/* I/O commands reach the namespace that they name. */
static le32
io_effects(uint32_t effects)
{
	return le32_of(NVME_EFFECT_SUPPORTED | NVME_SCOPE_NS | effects);
}

static void
effects_make(struct admin *cmd, const struct window *w)
{
	struct nvme_log_effects page = { 0 };

	if (le32_get(cmd->sqe->cdw14) >> 24 != NVME_CSI_NVM) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	admin_effects(cmd->ctrl, page.admin);
	page.io[NVME_FLUSH] = page.io[NVME_READ] = page.io[NVME_COMPARE] = page.io[NVME_VERIFY] =
	    io_effects(0);
	page.io[NVME_WRITE] = page.io[NVME_WRITE_ZEROES] = page.io[NVME_DATASET_MGMT] = page.io[NVME_COPY] =
	    io_effects(NVME_EFFECT_CONTENT);
	if (subsys_marks_bad(cmd->ctrl->subsys))
		page.io[NVME_WRITE_UNCORRECTABLE] = io_effects(NVME_EFFECT_CONTENT);
	if (cmd->ctrl->subsys->reservations)
		page.io[NVME_RESV_REGISTER] = page.io[NVME_RESV_REPORT] = page.io[NVME_RESV_ACQUIRE] =
		    page.io[NVME_RESV_RELEASE] = io_effects(0);
	window_put(w, 0, &page, sizeof(page));
}

static void
feature_effects_make(struct admin *cmd, const struct window *w)
{
	le32 page[256] = { 0 };

	features_effects(cmd->ctrl, page);
	window_put(w, 0, page, sizeof(page));
}

/* Nobody manages the target by NVMe-MI: of its commands there is none, which the zeros say. */
static void
mi_effects_make(struct admin *cmd, const struct window *w)
{
}

static void pages_make(struct admin *cmd, const struct window *w);

static bool has_reservations(const struct subsys_info *subsys) { return subsys->reservations; }
static bool has_event_log(const struct subsys_info *subsys) { return subsys->event_log; }
static bool has_ana(const struct subsys_info *subsys) { return subsys->ana_count > 0; }

/*
 * Page 0Ch is as long as Identify lets a host expect, and zeros behind its last entry: hosts
 * read it in pieces to that length, and it may have become shorter between two of them.
 */
enum {
	ANA_BYTES_MAX = sizeof(struct nvme_log_ana) + CTRL_ANA_MAX * sizeof(struct nvme_log_ana_group) + CTRL_NS_MAX * 4
};

static const struct page {
	void (*make)(struct admin *cmd, const struct window *w);
	uint32_t bytes;
	uint64_t (*grown)(const struct admin *cmd);        /* instead of `bytes` */
	bool discovery;  /* of the discovery controller, and only of it */
	bool (*claimed)(const struct subsys_info *subsys); /* NULL: always there */
	uint32_t granted; /* enum weir_capability: only where the host was granted it */
} pages[256] = {
	[NVME_LOG_PAGES] =           { pages_make, .bytes = NVME_LOG_TABLE_LEN },
	[NVME_LOG_ERROR] =           { error_make, .bytes = CTRL_ERROR_LOG * sizeof(struct nvme_log_error_entry) },
	[NVME_LOG_SMART] =           { smart_make, .bytes = sizeof(struct nvme_log_smart) },
	[NVME_LOG_FIRMWARE] =        { firmware_make, .bytes = sizeof(struct nvme_log_firmware) },
	[NVME_LOG_CHANGED_NS] =      { changed_make, .bytes = 4 * NVME_NS_LIST_MAX },
	[NVME_LOG_EFFECTS] =         { effects_make, .bytes = sizeof(struct nvme_log_effects) },
	[NVME_LOG_ANA] =             { ana_make, .bytes = ANA_BYTES_MAX, .claimed = has_ana },
	[NVME_LOG_PERSISTENT] =      { persistent_make, .grown = persistent_bytes, .claimed = has_event_log },
	[NVME_LOG_FEATURE_EFFECTS] = { feature_effects_make, .bytes = NVME_LOG_TABLE_LEN },
	[NVME_LOG_MI_EFFECTS] =      { mi_effects_make, .bytes = NVME_LOG_MI_EFFECTS_LEN },
	[NVME_LOG_RESERVATION] =     { reservation_make, .bytes = sizeof(struct nvme_log_reservation),
	    .claimed = has_reservations },
	[WEIR_LOG_VIEW] =            { extension_view, .bytes = sizeof(struct weir_log_view), .granted = WEIR_VIEW },
	[NVME_LOG_DISCOVERY] =       { discovery_make, .grown = discovery_bytes, .discovery = true },
};

/* The page, or NULL where the controller has none of the number. */
static const struct page *
page_find(const struct ctrl *ctrl, uint8_t lid)
{
	const struct subsys_info *subsys = ctrl->subsys;
	const struct page *page = &pages[lid];

	if (page->make == NULL || page->discovery != subsys->discovery ||
	    (page->claimed != NULL && !page->claimed(subsys)) || page->granted & ~ctrl->features.extension)
		return NULL;
	return page;
}

static void
pages_make(struct admin *cmd, const struct window *w)
{
	for (uint32_t lid = 0; lid < 256; lid++) {
		le32 word = le32_of(NVME_EFFECT_SUPPORTED |
		    (lid == NVME_LOG_PERSISTENT ? NVME_PERSISTENT_HEADER_ALONE : 0));

		if (page_find(cmd->ctrl, (uint8_t)lid) != NULL)
			window_put(w, lid * sizeof(word), &word, sizeof(word));
	}
}

void
admin_get_log(struct admin *cmd)
{
	uint32_t cdw10 = le32_get(cmd->sqe->cdw10), cdw11 = le32_get(cmd->sqe->cdw11);
	uint64_t bytes = ((uint64_t)((cdw11 & 0xffff) << 16 | cdw10 >> 16) + 1) * 4;
	uint64_t from = le32_get(cmd->sqe->cdw12) | (uint64_t)le32_get(cmd->sqe->cdw13) << 32;
	const struct subsys_info *subsys = cmd->ctrl->subsys;
	const struct page *page = page_find(cmd->ctrl, (uint8_t)cdw10);
	struct window w = { .from = from };
	uint64_t end = page == NULL ? 0 : page->grown != NULL ? page->grown(cmd) : page->bytes;

	if (page == NULL) {
		admin_refuse(cmd, NVME_SC_LOG_PAGE);
	} else if (bytes > UINT64_C(4096) << subsys->mdts_shift || from % 4 != 0 ||
	    from > end || le32_get(cmd->sqe->cdw14) & NVME_LOG_OFFSET_TYPE) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	} else {
		w.out = admin_answer(cmd, (uint32_t)bytes);
		if (w.out == NULL)
			return;
		w.room = bytes < CTRL_PAGE_MAX ? (uint32_t)bytes : CTRL_PAGE_MAX;
		page->make(cmd, &w);
		if (!nvme_ok(cmd->reply->status))
			cmd->reply->data_len = 0;
		else if (!(cdw10 & NVME_LOG_RAE))
			events_page_read(cmd->ctrl, (uint8_t)cdw10);
	}
}

void
ctrl_answer_more(struct ctrl *ctrl, const struct nvme_sqe *sqe, uint32_t at, uint8_t *out)
{
	struct admin cmd = { .ctrl = ctrl, .sqe = sqe, .out = out };
	uint64_t from = le32_get(sqe->cdw12) | (uint64_t)le32_get(sqe->cdw13) << 32;
	struct window w = { .out = out, .from = from + at, .room = CTRL_PAGE_MAX };

	memset(out, 0, CTRL_PAGE_MAX);
	if (ctrl->subsys->discovery) /* the one page that may be longer */
		discovery_make(&cmd, &w);
}
