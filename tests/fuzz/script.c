#include "script.h"

#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "script_client.h"
#include "wire/feature.h"
#include "wire/identify.h"
#include "wire/fabrics.h"
#include "wire/reservation.h"

enum {
	CLIENTS = 6, STEPS_MAX = 600, BURST_MAX = 64,
	STEP_NS = 2000, WAIT_SHIFT_MAX = 29, /* half a second: as long as a stall may last */
	BLOCK = 4096, DATA_MAX = 16 * BLOCK, HONEST_IOS = 20,
	PAD_STEP = 24, /* seven times this is the most that has room in front of a capsule's data */
};

struct script {
	const uint8_t *at, *end;
	unsigned steps;
	struct reactor *reactor;
	struct timer timer;
	bool over, statics;
	struct client clients[CLIENTS];
};

/* The next byte of the script; zeros behind its end. */
static uint8_t
take(struct script *script)
{
	return script->at < script->end ? *script->at++ : 0;
}

/* ---- the steps ---- */

static void
step_open(struct script *script, struct client *client)
{
	struct pdu_ic ic = { .ch = { .type = PDU_ICREQ } };
	uint8_t how = take(script);

	client_leave(client, true);
	client->deaf = client->holding = client->hdgst = client->ddgst = false;
	client->cid = 0;
	client->pad = 0;
	if (script->reactor->world->connect(script->reactor, "10.0.0.1", CLUSTER_PORT, &client->stream) != 0) {
		client->stream = NULL;
		return;
	}
	client->stream->owner = client;
	client->stream->ready = client_ready;
	client_listen(client);
	ic.dgst = how & 3;
	ic.pda = how >> 2 & 7;
	client_put_pdu(client, &ic, sizeof(ic), NULL, 0);
	client->hdgst = how & 1;
	client->ddgst = how & 2;
	client->pad = (uint8_t)((how >> 5) * PAD_STEP);
}

static void
step_connect(struct script *script, struct client *client)
{
	uint8_t how = take(script);
	struct nvme_connect_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_CONNECT, .qid = le16_of(how & 3),
		.sqsize = le16_of((uint16_t)(take(script) + 1)), .cattr = how & 4 ? NVME_CATTR_NO_SQ_FLOW : 0,
		.kato = le32_of(how & 8 ? 100 : 0),
	};
	unsigned whose = (how >> 4) % CLIENTS;
	uint16_t any = script->statics ? NVME_CNTLID_STATIC : NVME_CNTLID_DYNAMIC;
	uint16_t cntlid = (how & 3) != 0 ? script->clients[whose].cntlid : script->statics && whose > 0 ?
	    (uint16_t)(whose + 1) : any;
	struct nvme_connect_data data = {
		.hostid = { 0xfe }, .cntlid = le16_of(cntlid), .hostnqn = "nqn.2026-11.local.weir:rude",
	};
	struct nvme_sqe plain;

	snprintf(data.subnqn, sizeof(data.subnqn), "%s", how & 128 ? NVME_DISCOVERY_NQN : CLUSTER_NQN);
	memcpy(&plain, &sqe, sizeof(plain));
	client->connecting = (how & 3) == 0;
	client_put_command(client, &plain, &data, sizeof(data));
}

static void
step_property(struct script *script, struct client *client)
{
	static const uint32_t values[] = {
		NVME_CC_EN | NVME_CC_ENTRIES, 0, 1u << 14 | NVME_CC_EN, 2u << 14, UINT32_MAX,
	};
	uint8_t how = take(script);
	struct nvme_sqe sqe = nvme_property_command(how & 1 ? NVME_PROPERTY_GET : NVME_PROPERTY_SET,
	    how & 2 ? how : NVME_CC, values[(how >> 2) % 5]);

	client_put_command(client, &sqe, NULL, 0);
}

/* Any command of reservations; all hosts of a script are one registrant, so that the honest one is never kept out. */
static void
step_reserve(struct client *client, uint8_t what, uint8_t where, uint8_t how)
{
	static const uint8_t opcodes[] = { NVME_RESV_REGISTER, NVME_RESV_REPORT, NVME_RESV_ACQUIRE, NVME_RESV_RELEASE };
	struct nvme_resv_register_data data = { le64_of(how & 1), le64_of(how >> 1 & 3) };
	struct nvme_sqe sqe = {
		.opcode = opcodes[where & 3], .nsid = le32_of(what & 16 ? 2 : 1),
		.cdw10 = le32_of((uint32_t)(where >> 2 & 15) | (uint32_t)(how >> 3 & 7) << 8 |
		    (uint32_t)(how >> 6) << 30),
		.sgl1 = { .length = le32_of(sizeof(data)), .id = NVME_SGL_TRANSPORT },
	};

	if (sqe.opcode == NVME_RESV_REPORT) {
		sqe.cdw10 = le32_of(how * 64u);
		sqe.cdw11 = le32_of(where >> 2 & NVME_RESV_REPORT_EDS);
		sqe.sgl1.length = le32_of((uint32_t)nvme_resv_report_bytes(&sqe));
	}
	client_put_command(client, &sqe, &data, sqe.opcode != NVME_RESV_REPORT && what & 64 ? sizeof(data) : 0);
}

/* Read, Write by R2T, and others; somewhere behind the honest host's blocks, or beyond the end. */
static void
step_io(struct script *script, struct client *client)
{
	static const uint8_t opcodes[16] = {
		NVME_READ, NVME_WRITE, NVME_WRITE_ZEROES, NVME_FLUSH, NVME_COMPARE, NVME_DATASET_MGMT,
		NVME_READ, NVME_WRITE, NVME_WRITE_ZEROES, NVME_FLUSH, NVME_COMPARE, NVME_DATASET_MGMT,
		NVME_VERIFY, NVME_COPY, NVME_COPY, NVME_WRITE_UNCORRECTABLE,
	};
	uint8_t what = take(script), where = take(script), blocks = take(script);
	struct nvme_sqe sqe = {
		.opcode = opcodes[what & 15], .nsid = le32_of(what & 16 ? 2 : what & 32 ? UINT32_MAX : 1),
		.cdw10 = le32_of(1024u + where * 12u), .cdw12 = le32_of(blocks | (what & 64 ? NVME_RW_FUA : 0)),
		.sgl1 = { .length = le32_of((blocks + 1u) * BLOCK), .id = NVME_SGL_TRANSPORT },
	};

	if (sqe.opcode == NVME_WRITE_UNCORRECTABLE && what & 32) {
		step_reserve(client, what, where, blocks);
		return;
	}
	if (sqe.opcode == NVME_DATASET_MGMT) {
		sqe.cdw10 = le32_of(where);
		sqe.cdw11 = le32_of(NVME_DSM_AD);
		sqe.sgl1.length = le32_of((where + 1u) * 16);
	} else if (sqe.opcode == NVME_COPY) {
		sqe.cdw12 = le32_of(where & 127);
		sqe.sgl1.length = le32_of(((where & 127) + 1u) * sizeof(struct nvme_copy_range));
	}
	if (what & 128)
		sqe.flags = sqe.opcode == NVME_COMPARE ? NVME_FUSE_FIRST : NVME_FUSE_SECOND;
	client_put_command(client, &sqe, NULL, 0);
}

static void
step_write(struct script *script, struct client *client)
{
	static const uint8_t data[2 * BLOCK];
	uint8_t where = take(script);
	bool two = where & 1, trim = where & 2;
	struct nvme_sqe sqe = {
		.opcode = trim ? NVME_DATASET_MGMT : NVME_WRITE, .nsid = le32_of(1),
		.cdw10 = le32_of(trim ? where : 1024u + where * 12u), .cdw11 = le32_of(trim ? NVME_DSM_AD : 0),
		.cdw12 = le32_of(two),
	};

	if (where & 16 && !trim) {
		sqe.opcode = where & 8 ? NVME_COMPARE : NVME_WRITE;
		sqe.flags = where & 8 ? NVME_FUSE_FIRST : NVME_FUSE_SECOND;
		sqe.cdw10 = le32_of(1024);
	} else if (where & 8 && trim) {
		sqe.opcode = NVME_COPY;
		sqe.cdw10 = le32_of(2048);
		sqe.cdw12 = le32_of(where & 7);
		client_put_command(client, &sqe, data, ((where & 7) + 1u) * sizeof(struct nvme_copy_range));
		return;
	}
	client_put_command(client, &sqe, data, trim ? (where + 1u) * 16 : two ? 2 * BLOCK : BLOCK);
}

/* What was asked for, as much as fits, or the first bytes of a PDU that is all of it; or something else. */
static void
step_data(struct script *script, struct client *client)
{
	static const uint8_t data[DATA_MAX];
	uint8_t what = take(script), from = take(script);
	uint32_t len = ((what >> 4) + 1u) * BLOCK, there = len;
	struct pdu_data pdu = {
		.ch = { .type = PDU_H2C_DATA, .flags = what & 8 ? PDU_LAST : 0 },
		.cccid = le16_of(from & 15), .ttag = le16_of(what & 7),
		.offset = le32_of((from >> 4) * (uint32_t)BLOCK), .length = le32_of(len),
	};

	if (what & 4 && client->asked_count > 0) {
		pdu = client->asked[from % CLIENT_ASKED_MAX];
		there = le32_get(pdu.length) < DATA_MAX ? le32_get(pdu.length) : DATA_MAX;
		len = what & 2 ? le32_get(pdu.length) : there;
		pdu.ch = (struct pdu_ch){ .type = PDU_H2C_DATA };
		pdu.ch.flags = len == le32_get(pdu.length) ? PDU_LAST : 0;
		pdu.length = le32_of(len);
		if (len == 0)
			return;
	}
	client_put_part(client, &pdu, sizeof(pdu), data, len, there);
}

/* The ids of some of the controllers, ascending, each once. */
static void
put_ids(const struct script *script, unsigned which, struct nvme_ctrl_ids *list)
{
	uint32_t count = 0, last = 0;

	for (unsigned n = 0; n < CLIENTS; n++) {
		uint32_t least = UINT32_MAX;

		for (unsigned i = 0; i < CLIENTS; i++)
			if (which >> i & 1 && script->clients[i].cntlid > last && script->clients[i].cntlid < least)
				least = script->clients[i].cntlid;
		if (least == UINT32_MAX)
			break;
		list->cntlid[count++] = le16_of((uint16_t)least);
		last = least;
	}
	list->count = le16_of((uint16_t)count);
}

/* Namespaces: created, deleted, attached, detached, protected; data in the capsule or by R2T. */
static void
step_manage(struct script *script, struct client *client, uint8_t what, uint8_t dw10, uint8_t dw11)
{
	union {
		struct nvme_identify_ns ns;
		struct nvme_ctrl_ids ids;
	} data = { .ns = { .nmic = what >> 3 & 1, .flbas = what >> 4 & 1 } };
	struct nvme_sqe sqe = {
		.opcode = what & 64 ? NVME_ADMIN_NS_ATTACHMENT : NVME_ADMIN_NS_MANAGEMENT,
		.nsid = le32_of(dw11 & 128 ? UINT32_MAX : dw11 & 15), .cdw10 = le32_of(dw10 & 1),
		.sgl1 = { .length = le32_of(sizeof(data)), .id = NVME_SGL_TRANSPORT },
	};

	if (what & 64)
		put_ids(script, dw10 >> 1, &data.ids);
	else
		data.ns.nsze = data.ns.ncap = le64_of(1u + dw11);
	if (dw10 == 255) {
		sqe.opcode = NVME_ADMIN_SET_FEATURES;
		sqe.cdw10 = le32_of(NVME_FEATURE_PROTECTION);
		sqe.cdw11 = le32_of(dw11 >> 4 & 3);
	}
	client_put_command(client, &sqe, &data, what & 128 ? sizeof(data) : 0);
}

static void
step_admin(struct script *script, struct client *client)
{
	static const uint8_t opcodes[] = {
		NVME_ADMIN_IDENTIFY, NVME_ADMIN_GET_LOG_PAGE, NVME_ADMIN_SET_FEATURES, NVME_ADMIN_GET_FEATURES,
		NVME_ADMIN_ASYNC_EVENT, NVME_ADMIN_ABORT, NVME_ADMIN_KEEP_ALIVE, 0,
	};
	uint8_t what = take(script), dw10 = take(script), dw11 = take(script);
	struct nvme_sqe sqe = {
		.opcode = opcodes[what & 7], .nsid = le32_of(what & 8 ? 1 : what & 16 ? UINT32_MAX : 0),
		.cdw10 = le32_of(dw10 | (what & 32 ? 0x03ffu << 16 : what & 64 ? 1u << 16 : 0u)),
		.cdw11 = le32_of(dw11), .sgl1 = { .length = le32_of(4096), .id = NVME_SGL_TRANSPORT },
	};

	if ((what & 7) == 7)
		step_manage(script, client, what, dw10, dw11);
	else
		client_put_command(client, &sqe, NULL, 0);
}

static void
step_disconnect(struct script *script, struct client *client)
{
	struct nvme_sqe sqe = { .opcode = NVME_FABRICS, .fctype = NVME_DISCONNECT };

	(void)script;
	client_put_command(client, &sqe, NULL, 0);
}

/* The same read again and again. */
static void
step_burst(struct script *script, struct client *client)
{
	uint8_t how = take(script);
	struct nvme_sqe sqe = {
		.opcode = NVME_READ, .nsid = le32_of(1), .cdw10 = le32_of(1024u + how),
		.cdw12 = le32_of(how >> 2),
		.sgl1 = { .length = le32_of(((how >> 2) + 1u) * BLOCK), .id = NVME_SGL_TRANSPORT },
	};

	for (unsigned i = take(script) % BURST_MAX; i > 0; i--)
		client_put_command(client, &sqe, NULL, 0);
}

static void
step_raw(struct script *script, struct client *client)
{
	for (unsigned i = take(script); i > 0 && script->at < script->end; i--)
		client_put(client, &(uint8_t){ take(script) }, 1);
}

static void
step_deaf(struct script *script, struct client *client)
{
	client->deaf = take(script) & 1;
	client_listen(client);
}

static void
step_hold(struct script *script, struct client *client)
{
	client->holding = take(script) & 1;
}

/* All that waits but its last bytes: the target is left in the middle of something. */
static void
step_halt(struct script *script, struct client *client)
{
	size_t waits = client->out_to - client->out_from, last = take(script);

	client->holding = false;
	client->out_to -= last < waits ? last : waits;
	client_push(client);
	client->holding = true;
}

static void
step_leave(struct script *script, struct client *client)
{
	client_leave(client, take(script) & 1);
}

static void (*const steps[])(struct script *, struct client *) = {
	step_open, step_connect, step_property, step_io, step_write, step_data, step_admin, step_disconnect,
	step_burst, step_raw, step_deaf, step_hold, step_halt, step_leave, step_io, NULL, /* wait */
};

/* One step a turn, and at the end all leave. */
static void
next(struct timer *timer)
{
	struct script *script = container_of(timer, struct script, timer);
	uint8_t what = take(script);
	struct client *client = &script->clients[(what >> 4) % CLIENTS];
	uint64_t wait = STEP_NS;

	if (script->at == script->end || script->steps++ == STEPS_MAX) {
		for (unsigned i = 0; i < CLIENTS; i++)
			client_leave(&script->clients[i], what & 1);
		script->over = true;
		return;
	}
	if (steps[what & 15] != NULL)
		steps[what & 15](script, client);
	else
		wait = UINT64_C(1) << (take(script) % (WAIT_SHIFT_MAX + 1));
	client_push(client);
	timer_set(&script->reactor->timers, timer, script->reactor->now_ns + wait);
}

static int
script_start(struct reactor *reactor, void *arg)
{
	struct script *script = arg;

	script->reactor = reactor;
	script->timer.fire = next;
	for (unsigned i = 0; i < CLIENTS; i++)
		script->clients[i].reactor = reactor;
	timer_set(&reactor->timers, &script->timer, reactor->now_ns + STEP_NS);
	return 0;
}

/* ---- the whole ---- */

struct play {
	struct script script;
	struct cluster_host honest;
};

static bool
is_over(void *arg)
{
	const struct play *play = arg;

	return play->script.over && play->honest.finished;
}

/* Bits of a script's first byte. */
enum {
	SCENE_MORE_BUFS = 1, /* so many that connections are read together, until they are short */
	SCENE_R2T = 2,       /* honest writes are too long for a capsule, and more in all than may be asked for */
	SCENE_FILE = 4,      /* a volume that lends nothing: reads lie in buffers */
	SCENE_STATIC = 8,    /* static controllers: hosts ask for any or for a certain one */
};

struct script_end
script_play(const uint8_t *bytes, size_t count)
{
	return script_play_failing(bytes, count, 0, 0);
}

struct script_end
script_play_failing(const uint8_t *bytes, size_t count, unsigned reactor, uint64_t fail_at)
{
	const uint64_t second = 1000 * 1000 * 1000;
	const unsigned scene = count > 0 ? bytes[0] : 0, first = count > 0;
	static struct play play;
	static struct wisher wisher;
	struct cluster_target target = {
		.host = "10.0.0.1", .spec = scene & SCENE_FILE ? "file:volume.img,size=16M" : "mem:16M",
		.reactors = 2, .stall_timeout_ms = 200, .wisher = &wisher,
	};
	struct sim_process_options served = {
		.reactor = { scene & SCENE_MORE_BUFS ? 64 : 16, 16 }, .start = cluster_target_start, .arg = &target,
		.address = "10.0.0.1",
	};
	struct sim_process_options rude = { .start = script_start, .arg = &play.script };
	struct sim_process_options polite = { .start = cluster_host_start, .arg = &play.honest };
	struct sim_options options = sim_options_default();
	struct sim_process *process;
	struct script_end end;
	struct sim *sim;

	options.reset_ppm = 0;
	options.max_ns = 10000 * second;
	options.max_events = 1u << 30;
	play = (struct play){
		.script = { .at = bytes + first, .end = bytes + count, .statics = scene & SCENE_STATIC },
		.honest = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = 2 * BLOCK, .ios = HONEST_IOS },
	};
	if (scene & SCENE_STATIC) {
		target.statics = STEPS_MAX; /* a script cannot take all */
		play.honest.cntlid = NVME_CNTLID_STATIC;
	}
	if (scene & SCENE_R2T) {
		play.honest.queues = 1;
		play.honest.slot_bytes = 16 * BLOCK;
		play.honest.ios = 3 * HONEST_IOS;
	}
	sim = sim_create(1, &options);
	process = sim_process_create(sim, "target", target.reactors, &served);
	sim_process_create(sim, "honest", 1, &polite);
	sim_process_create(sim, "rude", 1, &rude);
	if (fail_at > 0) {
		sim_run_until(sim, second / 1000, NULL, NULL);
		sim_process_reactor(process, reactor)->arena->fail_at = fail_at;
	}
	sim_run_until(sim, 1000 * second, is_over, &play);
	end.served = play.honest.finished && play.honest.failures == 0 && play.honest.losses == 0;
	/* A controller that was never enabled is given two minutes. */
	sim_run_until(sim, sim_now(sim) + 150 * second, NULL, NULL);
	end.nothing_left = play.script.over && cluster_target_idle(&target, process);
	end.wishes = wisher.done;
	end.refused = wisher.refused + wisher.failed;
	sim_destroy(sim);
	wisher_end(&wisher);
	return end;
}
