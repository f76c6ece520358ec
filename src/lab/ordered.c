#include "lab/ordered.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "lab/ordered_inside.h"

#define NQN "nqn.2026-11.local.weir:lab"

enum {
	PORT = 4420,
	START_NS = 1000 * 1000, /* of the host, when targets listen */
	BEGIN_NS = 200 * 1000 * 1000,
	SMALL_BUFS = 8192, LARGE_BUFS = 2048,
	OPEN_LANES = 0x100, /* mail */
	BESIDE = 8,         /* commands of a lane beside those that are under way */
};

const char *const lab_ways[LAB_WAYS] = {
	[LAB_ORDERLESS] = "orderless", [LAB_ORDERED] = "ordered", [LAB_HORAE] = "Horae", [LAB_SYNC] = "wait and flush",
};

void
lab_ordered_init(struct lab_ordered *ordered, enum lab_way way, const char *drive)
{
	struct lab_setup setup;

	lab_setup_init(&setup, LAB_FABRIC);
	*ordered = (struct lab_ordered){
		.way = way, .world = setup.world, .drives = 1, .targets = 1, .streams = 1, .depth = 64, .bytes = 4096,
		.batch = 1, .slots = STORE_SLOTS, .pieces = STORE_SLOTS, .pmr_mb_s = 3200, .settle_ns = 20 * LAB_MS,
		.measure_ns = LAB_S,
	};
	ordered->drive = *lab_setup_device(&setup, "%s", drive);
}

struct lab_world
lab_ordered_world(const struct lab *lab, const struct lab_ordered *ordered)
{
	const struct lab_setup setup = { .world = ordered->world };

	return lab_world_varied(lab, &setup);
}

/* ---- targets ---- */

static void
host_of(unsigned target, char *host, size_t room)
{
	snprintf(host, room, "10.0.0.%u", 10 + target);
}

/* The log, and behind it room for control messages. */
static int
make_region(struct ordered_server_side *side, struct reactor *reactor)
{
	const struct lab_ordered *told = side->rig->told;
	const struct order_head head = { .parts = 1, .slots = told->slots };
	uint32_t log = ((uint32_t)order_log_bytes(&head) + PMR_LINE - 1) / PMR_LINE * PMR_LINE;
	struct pmr_options options = {
		.bytes = log + ORDERED_PMR_SPARE, .link_mb_s = told->pmr_mb_s, .seed = side->rig->lab->seed,
	};

	options.memory = arena_alloc(reactor->arena, options.bytes);
	if (options.memory == NULL || pmr_create(reactor->arena, &options, &side->region.pmr) != 0)
		return -ENOMEM;
	side->log = (struct store_spec){
		.kind = STORE_REGION, .path = "pmr", .region = &side->region, .slots = told->slots,
	};
	if (told->way != LAB_HORAE)
		return 0;
	side->control = control_open(reactor, &side->region, log, ORDERED_PMR_SPARE);
	return side->control != NULL ? 0 : -ENOMEM;
}

static int
make_volumes(struct ordered_server_side *side, struct reactor *reactor, struct target_ns *ns, uint32_t *count)
{
	unsigned d;

	for (d = 0; d < side->drives; d++) {
		int error = lab_open(side->rig->lab, reactor, &side->rig->told->drive, &side->volumes[d]);

		if (error != 0)
			return error;
		ns[d] = (struct target_ns){ .nsid = d + 1, .id = { (uint8_t)(d + 1) }, .volume = side->volumes[d] };
	}
	*count = side->drives;
	if (side->control != NULL)
		ns[(*count)++] = (struct target_ns){
			.nsid = d + 1, .id = { (uint8_t)(d + 1) }, .volume = side->control,
		};
	return 0;
}

static int
make_target(struct ordered_server_side *side, struct reactor *reactor, char why[256])
{
	struct target_listen listen = { .port = PORT };
	struct target_ns ns[LAB_DEVICES_MAX + 1];
	struct target_subsys subsys = { .nqn = NQN, .listeners = 1, .ns = ns };
	struct target_config config = { .listen = &listen, .listen_count = 1, .subsys = &subsys, .subsys_count = 1 };
	int error = make_region(side, reactor);

	memset(ns, 0, sizeof(ns));
	host_of(side->index, listen.host, sizeof(listen.host));
	if (error == 0)
		error = make_volumes(side, reactor, ns, &subsys.ns_count);
	if (error == 0)
		error = store_open(reactor, &side->log, &config.order, why);
	return error != 0 ? error : target_create(reactor->arena, &config, &side->target, why);
}

static int
target_process_start(struct reactor *reactor, void *arg)
{
	struct ordered_server_side *side = arg;
	char why[256] = "";
	int error = make_target(side, reactor, why);

	if (error == 0)
		error = target_start(side->target, reactor, why);
	if (error != 0)
		lab_refuse(side->rig->lab, "a target does not start: %s", why);
	return error;
}

/* ---- the host ---- */

static void
lane_ready(struct lane *lane, int error, const char *why)
{
	struct writer *w = lane_owner(lane);

	if (error != 0)
		lab_refuse(w->rig->lab, "stream %u has no queue: %s", w->index, why);
	else if (++w->lanes_up == w->rig->told->targets && writer_open(w) != 0)
		lab_refuse(w->rig->lab, "stream %u has no memory", w->index);
}

static void
open_lanes(struct writer *w)
{
	const struct lane_options options = {
		.depth = w->rig->told->depth + BESIDE, .ready = lane_ready, .owner = w,
	};

	for (unsigned t = 0; t < w->rig->told->targets; t++)
		if (lane_open(w->reactor, w->rig->subsys[t], &options, &w->lanes[t]) != 0)
			lab_refuse(w->rig->lab, "stream %u has no memory for queues", w->index);
}

static void
on_mail(struct reactor *reactor, const struct mail *mail)
{
	struct ordered_rig *rig = reactor->owner;

	if (mail->kind == OPEN_LANES)
		open_lanes(&rig->writers[reactor->index]);
	else
		host_on_mail(reactor, mail);
}

/* All drives are known: the volume is laid over them. */
static void
lay_out(struct ordered_rig *rig, const struct subsys_ns *ns)
{
	const struct lab_ordered *told = rig->told;
	uint32_t stripe = told->bytes / told->drive.block_size * told->batch;
	uint64_t span = told->span / told->drive.block_size, blocks = span > 0 && span < ns->blocks ? span : ns->blocks;

	rig->layout = (struct order_layout){
		.members = rig->members, .count = told->drives, .servers = told->targets,
		.block_length = told->drive.block_size, .stripe = stripe, .blocks = blocks - blocks % stripe,
	};
}

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct ordered_rig *rig = find->owner;
	unsigned t = 0;

	(void)error;
	if (ns == NULL) {
		lab_refuse(rig->lab, "the host does not find a drive: %s", why);
		return;
	}
	while (find < rig->finds[t] || find > rig->finds[t] + LAB_DEVICES_MAX)
		t++;
	if (ns->nsid <= rig->targets[t].drives) {
		rig->nsids[t][ns->nsid - 1] = ns->nsid;
		rig->members[(ns->nsid - 1) * rig->told->targets + t] = (struct order_member){
			.server = t, .nsid = ns->nsid, .most = ns->transfer_max / ns->block_size,
			.keeps = !ns->volatile_cache,
		};
		lay_out(rig, ns);
	}
	if (++rig->found < rig->to_find)
		return;
	for (unsigned s = 1; s < rig->told->streams; s++)
		rig->writers[0].reactor->world->post(rig->writers[0].reactor, s, &(struct mail){ .kind = OPEN_LANES });
	open_lanes(&rig->writers[0]);
}

static void
subsys_ready(struct subsys *subsys, int error, const char *why)
{
	struct ordered_rig *rig = subsys_owner(subsys);
	unsigned t = subsys == rig->subsys[0] ? 0 : 1, count;

	if (error != 0) {
		lab_refuse(rig->lab, "the host does not come to target %u: %s", t, why);
		return;
	}
	count = rig->targets[t].drives + (rig->told->way == LAB_HORAE);
	for (unsigned i = 0; i < count; i++) {
		rig->finds[t][i] = (struct subsys_find){ .nsid = i + 1, .found = found, .owner = rig };
		subsys_find(subsys, &rig->finds[t][i]);
	}
}

static int
host_start(struct reactor *reactor, void *arg)
{
	struct ordered_rig *rig = arg;
	struct subsys_options options = {
		.subnqn = NQN, .hostnqn = "nqn.2026-11.local.weir:host", .hostid = { 1 },
		.queues = (uint16_t)rig->told->streams, .kato_ms = 10000, .connect_ms = 5000, .io_timeout_ms = 600000,
		.reconnect_ms = 10, .reconnect_max_ms = 1000, .loss_ms = UINT32_MAX, .ready = subsys_ready,
		.owner = rig,
	};
	int error = 0;

	reactor->owner = rig;
	reactor->on_mail = on_mail;
	rig->writers[reactor->index].reactor = reactor;
	for (unsigned t = 0; t < rig->told->targets && reactor->index == 0 && error == 0; t++) {
		struct subsys_address address = { .port = PORT };

		host_of(t, address.host, sizeof(address.host));
		error = subsys_open(reactor, &options, &address, 1, &rig->subsys[t]);
	}
	return error;
}

/* ---- all of it ---- */

static bool
come_to_work(struct ordered_rig *rig, struct sim *sim)
{
	struct sim_process_options host = { .start = host_start, .arg = rig };
	struct sim_process *targets[LAB_TARGETS_MAX];

	for (unsigned t = 0; t < rig->told->targets; t++) {
		struct sim_process_options target = {
			.reactor = { SMALL_BUFS, LARGE_BUFS }, .start = target_process_start, .arg = &rig->targets[t],
		};

		targets[t] = sim_process_create(sim, "target", 1, &target);
	}
	sim_run_until(sim, START_NS, NULL, NULL);
	for (unsigned t = 0; t < rig->told->targets; t++)
		if (!sim_process_running(targets[t])) {
			lab_refuse(rig->lab, "a target does not start: %s",
			    strerrordesc_np(-sim_process_error(targets[t])));
			return false;
		}
	sim_process_create(sim, "host", rig->told->streams, &host);
	sim_run_until(sim, BEGIN_NS - 1, NULL, NULL);
	for (unsigned s = 0; s < rig->told->streams; s++)
		if (!writer_is_ready(&rig->writers[s])) {
			lab_refuse(rig->lab, "stream %u has not come to work", s);
			return false;
		}
	return true;
}

static double
flushes(const struct ordered_rig *rig)
{
	uint64_t count = 0;

	for (unsigned t = 0; t < rig->told->targets; t++)
		for (unsigned d = 0; d < rig->targets[t].drives; d++) {
			struct lab_reading reading = { .count = 0 };

			if (rig->lab->maker->read != NULL)
				rig->lab->maker->read(rig->targets[t].volumes[d], &reading);
			for (unsigned i = 0; i < reading.count; i++)
				if (strcmp(reading.counters[i].name, "flushes") == 0)
					count += reading.counters[i].value;
		}
	return (double)count;
}

static uint64_t
sent(const struct ordered_rig *rig)
{
	uint64_t commands = 0;

	for (unsigned s = 0; s < rig->told->streams; s++)
		commands += rig->writers[s].ordered != NULL ? ordered_sent(rig->writers[s].ordered) : 0;
	return commands;
}

static void
gather(struct ordered_rig *rig, const struct ordered_wire *before, uint64_t commands, struct lab_ordered_ran *ran)
{
	const struct ordered_wire *wire = &rig->wire;
	struct hist *latency = &rig->writers[0].latency;
	uint64_t writes = 0, begun = 0;

	for (unsigned s = 0; s < rig->told->streams; s++) {
		const struct writer *w = &rig->writers[s];

		writes += w->writes;
		begun += w->sent;
		commands += w->commands;
		ran->failed += w->failed;
		if (s > 0)
			hist_merge(latency, &w->latency);
	}
	ran->writes = (double)writes / ((double)rig->told->measure_ns / 1e9);
	ran->mean_us = latency->count > 0 ? (double)latency->sum / (double)latency->count / 1e3 : NAN;
	ran->p99_us = latency->count > 0 ? (double)hist_quantile(latency, 990000) / 1e3 : NAN;
	ran->commands = (double)commands / (double)begun;
	ran->sent_messages = (double)(wire->messages[0] - before->messages[0]) / (double)begun;
	ran->sent_bytes = (double)(wire->bytes[0] - before->bytes[0]) / (double)begun;
	ran->received_messages = (double)(wire->messages[1] - before->messages[1]) / (double)begun;
	ran->received_bytes = (double)(wire->bytes[1] - before->bytes[1]) / (double)begun;
}

static void
measure(struct ordered_rig *rig, struct sim *sim, struct lab_ordered_ran *ran)
{
	const struct lab_ordered *told = rig->told;
	struct ordered_wire before;
	double flushed;
	uint64_t commands;

	sim_run_until(sim, BEGIN_NS + told->settle_ns, NULL, NULL);
	before = rig->wire;
	commands = sent(rig);
	flushed = flushes(rig);
	rig->measuring = true;
	sim_run_until(sim, BEGIN_NS + told->settle_ns + told->measure_ns, NULL, NULL);
	*ran = (struct lab_ordered_ran){
		.flushes = (flushes(rig) - flushed) / ((double)told->measure_ns / 1e9),
	};
	gather(rig, &before, sent(rig) - commands, ran);
}

static struct ordered_rig *
rig_make(struct lab *lab, const struct lab_ordered *told)
{
	struct ordered_rig *rig = lab_alloc(lab, sizeof(*rig));

	rig->lab = lab;
	rig->told = told;
	rig->begin_ns = BEGIN_NS;
	lab_setup_init(&rig->setup, LAB_FABRIC);
	rig->setup.world = told->world;
	for (unsigned d = 0; d < told->drives; d++)
		rig->setup.devices[rig->setup.device_count++] = told->drive;
	for (unsigned s = 0; s < told->streams; s++)
		rig->writers[s] = (struct writer){ .rig = rig, .index = s };
	for (unsigned t = 0; t < told->targets; t++) {
		struct ordered_server_side *side = &rig->targets[t];

		side->rig = rig;
		side->index = t;
		side->drives = (told->drives + told->targets - 1 - t) / told->targets;
		rig->to_find += side->drives + (told->way == LAB_HORAE);
	}
	return rig;
}

bool
lab_ordered_run(struct lab *lab, const struct lab_ordered *told, struct lab_ordered_ran *ran)
{
	struct ordered_rig *rig = rig_make(lab, told);
	struct lab_world world = lab_world_varied(lab, &rig->setup);
	struct sim_options options = lab_sim_options(lab, &world);
	struct sim *sim;
	bool works;

	assert(told->streams <= LAB_ORDERED_STREAMS_MAX && told->targets <= LAB_TARGETS_MAX &&
	    told->drives <= LAB_DEVICES_MAX && told->drives >= told->targets);
	options.alike = ordered_wire_see;
	options.arg = rig;
	lab_note(lab, &rig->setup);
	sim = sim_create(lab->seed, &options);
	works = come_to_work(rig, sim);
	if (works)
		measure(rig, sim, ran);
	lab_ran(lab, sim_hash(sim), sim_events(sim), told->settle_ns + told->measure_ns);
	sim_destroy(sim);
	return works && lab->why[0] == '\0';
}
