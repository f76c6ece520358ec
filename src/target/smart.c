/*
 * smart.c - what the SMART log (page 02h) is made of: what every core has done
 * for the controller's subsystem, how worn its volumes are, and what is kept
 * of the starts before.
 *
 * Asked for when a host asks.  One asker of a controller after the other.
 */
#include "target/assoc.h"

enum { USED_MAX = 255 }; /* percent: of more the page has no more */

static void
start(struct assoc *assoc)
{
	struct target_mail mail = {
		.kind = MAIL_STATS_ASK, .key = assoc->key,
		.events = assoc->subsys != NULL ? assoc->subsys->events : EVENTS_LOGS,
	};

	assoc->stats = (struct ctrl_stats){ .wear = CTRL_UNWORN };
	assoc->stats_busy_s = 0;
	assoc->stats_left = assoc->core->reactor->count + 1;
	for (unsigned i = 0; i < assoc->core->reactor->count; i++)
		core_post(assoc->core, i, &mail);
}

/* The command waits for what the cores say. */
void
smart_ask(struct request *req)
{
	struct assoc *assoc = req->conn->assoc;
	bool first = fifo_empty(&assoc->askers);

	req->stage = STAGE_MAIL;
	fifo_push(&assoc->askers, &req->xfer.tx_node);
	if (first)
		start(assoc);
}

/* ---- on every core ---- */

static void
add_volume(const struct core *core, uint64_t volume, struct ctrl_wear *worst)
{
	const struct blk_chan *chan = core->chans[volume_slot(volume)];
	struct blk_health health;

	if (chan == NULL || chan->blk->number != volume || !blk_health(chan, &health))
		return;
	ctrl_wear_add(worst, (struct ctrl_wear){
		.used = (uint8_t)(health.used_percent < USED_MAX ? health.used_percent : USED_MAX),
		.spare = (uint8_t)health.spare_percent, .spare_threshold = (uint8_t)health.spare_threshold_percent });
}

/* Of the subsystem's volumes each that wears is known to one core. */
static struct ctrl_wear
worst_here(const struct core *core, uint16_t events)
{
	struct ctrl_wear worst = CTRL_UNWORN;

	for (uint32_t i = 0; i < core->view->subsys_count; i++) {
		const struct view_subsys *subsys = &core->view->subsys[i];

		for (uint32_t nsid = 1; subsys->events == events && nsid <= subsys->ns_limit; nsid++)
			if (subsys->ns[nsid - 1].info != NULL)
				add_volume(core, subsys->ns[nsid - 1].volume, &worst);
	}
	return worst;
}

static void
tell(struct core *core, const struct target_mail *ask)
{
	static const struct events_served nothing;
	const struct events_served *served = ask->events < EVENTS_LOGS ? &core->served[ask->events] : &nothing;
	const struct target_stats *stats = &served->stats;
	struct target_mail mail = {
		.kind = MAIL_STATS, .key = ask->key,
		.stats = {
			stats->reads, stats->writes, stats->read_blocks512, stats->write_blocks512, stats->media_errors,
		},
	};

	core_post(core, ask->from, &mail);
	mail = (struct target_mail){
		.kind = MAIL_STATS_MORE, .key = ask->key,
		.stats_more = {
			.errors = served->errors,
			.busy_s = (core->reactor->busy_ns - served->busy_from_ns) / UINT64_C(1000000000),
			.wear = worst_here(core, ask->events),
		},
	};
	core_post(core, ask->from, &mail);
	if (core->reactor->index == 0 && ask->key != 0)
		events_stats_kept(core, ask);
}

/* ---- on the controller's ---- */

static void
add(struct eventlog_counts *counts, const struct target_mail *mail)
{
	counts->reads += mail->stats.reads;
	counts->writes += mail->stats.writes;
	counts->read_blocks512 += mail->stats.read_blocks512;
	counts->write_blocks512 += mail->stats.write_blocks512;
	counts->media_errors += mail->stats.media_errors;
}

static void
answer(struct assoc *assoc)
{
	struct ctrl_stats stats = assoc->stats;
	struct ctrl_given given = { .stats = &stats };
	struct request *req = container_of(fifo_pop(&assoc->askers), struct request, xfer.tx_node);

	stats.counts.busy_s += assoc->stats_busy_s;
	if (!fifo_empty(&assoc->askers))
		start(assoc);
	if (req->dropped)
		request_let_go(req);
	else
		admin_run(req, NULL, 0, &given);
}

static void
told(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);
	struct ctrl_stats *stats;

	if (assoc == NULL || assoc->stats_left == 0)
		return;
	stats = &assoc->stats;
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_STATS:
		stats->degraded = stats->degraded || mail->stats.media_errors > 0;
		add(&stats->counts, mail);
		return;
	case MAIL_STATS_BEFORE:
		add(&stats->counts, mail);
		return;
	case MAIL_STATS_KEPT:
		stats->counts.busy_s += mail->stats_more.busy_s;
		stats->power_cycles = mail->stats_more.power_cycles;
		stats->unsafe_shutdowns = mail->stats_more.unsafe_shutdowns;
		stats->on_ms = mail->stats_more.on_ms;
		break;
	default: /* MORE */
		if (assoc->stats_busy_s < mail->stats_more.busy_s) /* time, not work: no more of it than there was */
			assoc->stats_busy_s = mail->stats_more.busy_s;
		ctrl_wear_add(&stats->wear, mail->stats_more.wear);
		break;
	}
	stats->counts.errors += mail->stats_more.errors;
	if (--assoc->stats_left == 0 && !fifo_empty(&assoc->askers))
		answer(assoc);
}

/* With the id of no controller core 0 asks for itself. */
void
smart_mail(struct core *core, const struct target_mail *mail)
{
	if (mail->kind == MAIL_STATS_ASK)
		tell(core, mail);
	else if (mail->key == 0)
		events_mail(core, mail);
	else
		told(core, mail);
}
