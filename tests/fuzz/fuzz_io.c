/*
 * fuzz_io.c - any I/O commands of a host that keeps to the transport's rules,
 * on two queues of a whole target: what was not addressed never changes, what
 * was refused changed nothing, and a block is always of one writing.
 *
 * The input: a byte that says in which scene it plays, then COMMAND bytes for
 * each command: which, how, where, how many blocks, what data, three for the
 * ranges of Copy and Dataset Management, and two that put any byte anywhere
 * into the SQE, opcode and data pointer excepted.
 */
#include <assert.h>
#include <string.h>

#include "cluster.h"
#include "fuzz.h"
#include "wire/reservation.h"

enum {
	COMMAND = 10, COMMANDS_MAX = 200, WORKS = 8, QUEUES = 2, ENTRIES = 16, BLOCK = 4096,
	BLOCKS = 48,         /* that are looked at */
	VOLUME = 256,        /* blocks */
	NLB_MAX = 16, BYTES_MAX = NLB_MAX * BLOCK, WRITE_UNCORRECTABLE = 4,
};
enum scene { SCENE_FILE = 1, SCENE_MORE_BUFS = 2, SCENE_DIGESTS = 4, SCENE_SQ_FLOW = 8, SCENE_ONE_CORE = 16 };
enum how { HOW_FUSE = 3, HOW_QUEUE = 4, HOW_LENGTH = 8, HOW_ALL_NS = 16, HOW_NO_NS = 32, HOW_FUA = 64, HOW_BITS = 128 };

/* One command under way. */
struct work {
	struct hio io;
	struct player *player;
	bool busy;
	bool same;              /* its data is what its blocks held at first */
	uint64_t changes;       /* bit n: it addresses block n to change it */
	uint64_t looks;         /* a plain Compare or Read of these */
	struct iovec iov;
	uint8_t *data;
};

struct player {
	const uint8_t *at, *end;
	unsigned scene;
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin, io[QUEUES];
	unsigned opened, count;
	struct hio enable;
	struct task next;
	struct work works[WORKS], whole;
	/* Blocks that may be another: by a command alone; by the second half of a pair, or of more than one. */
	uint64_t maybe, paired, paired_again;
	uint64_t changed, spoilt;       /* that are another; that may not be readable */
	unsigned closed, looked_at;     /* queues that have had their last command; blocks, at the end */
	bool filled, over;
};

/* Not from inside the call that ends a command. */
static void
go_on(struct player *p)
{
	reactor_run_in(p->reactor, PHASE_SUBMIT, &p->next);
}

/* ---- what lies in a block: a byte that says which writing, all over; at first its number ---- */

static uint8_t
at_first(uint64_t lba)
{
	return (uint8_t)(lba + 1);
}

/* At the end, one block after the other. */
static void
block_read(struct player *p, enum nvme_sc sc)
{
	unsigned i = p->looked_at++;

	if (sc != 0) {
		assert(sc == NVME_SC_READ_ERROR && p->spoilt >> i & 1);
		return;
	}
	assert(memcmp(p->whole.data, p->whole.data + 1, BLOCK - 1) == 0);
	assert(p->whole.data[0] == at_first(i) || p->changed >> i & 1);
}

/* ---- the end of a command ---- */

/* What it looked at was as at first all the while. */
static void
check_looked(const struct work *w, enum nvme_sc sc)
{
	const struct nvme_sqe *sqe = &w->io.req.sqe;

	if (sqe->flags & HOW_FUSE) { /* the pair may be broken, or too long */
		assert(sc != (w->same ? NVME_SC_COMPARE : 0));
	} else if (sqe->opcode == NVME_COMPARE) {
		assert(sc == (w->same ? 0 : NVME_SC_COMPARE));
	} else {
		assert(sc == 0);
		for (uint32_t i = 0; i < w->io.req.length; i++)
			assert(w->data[i] == at_first(nvme_slba(sqe) + i / BLOCK));
	}
}

/* Nothing but, of a pair, its own second half was asked to change what it looks at. */
static bool
is_undisturbed(const struct player *p, const struct work *w)
{
	bool first = w->io.req.sqe.flags & HOW_FUSE;

	return w->looks != 0 && !(w->looks & (p->maybe | (first ? p->paired_again : p->paired)));
}

static void
done(struct hio *io)
{
	struct work *w = io->owner;
	struct player *p = w->player;
	enum nvme_sc sc = nvme_sc(io->req.status);

	w->busy = false;
	assert(sc != NVME_SC_INTERNAL && sc != NVME_SC_HOST_ABORTED);
	if (w == &p->whole) {
		if (p->filled)
			block_read(p, sc);
		p->filled = true;
	} else {
		if (sc == 0 || sc == NVME_SC_READ_ERROR || sc == NVME_SC_WRITE_FAULT)
			p->changed |= w->changes;
		if (is_undisturbed(p, w))
			check_looked(w, sc);
		p->count--;
	}
	go_on(p);
}

/* ---- a command ---- */

static uint64_t
blocks_of(uint64_t lba, uint64_t count)
{
	uint64_t bits = 0;

	for (uint64_t i = 0; i < count && lba < BLOCKS && lba + i < BLOCKS; i++)
		bits |= UINT64_C(1) << (lba + i);
	return bits;
}

/* What the command addresses to change it, as the specification reads. */
static uint64_t
changes_of(const struct work *w)
{
	const struct nvme_sqe *sqe = &w->io.req.sqe;
	uint64_t lba = nvme_slba(sqe), bits = 0, count = 0;

	if (le32_get(sqe->nsid) != 1)
		return 0;
	switch (sqe->opcode) {
	case NVME_WRITE:
	case NVME_WRITE_ZEROES:
	case WRITE_UNCORRECTABLE:
		return blocks_of(lba, nvme_blocks(sqe));
	case NVME_COPY:
		for (unsigned i = 0; i < nvme_copy_ranges(sqe); i++)
			count += le16_get(((const struct nvme_copy_range *)(const void *)w->data)[i].nlb) + 1u;
		return blocks_of(lba, count);
	case NVME_DATASET_MGMT:
		for (unsigned i = 0; i <= (le32_get(sqe->cdw10) & 255); i++) {
			const struct nvme_dsm_range *range = (const void *)(w->data + i * sizeof(*range));

			bits |= blocks_of(le64_get(range->slba), le32_get(range->blocks));
		}
		return bits;
	default:
		return 0;
	}
}

static const uint8_t opcodes[16] = {
	NVME_READ, NVME_WRITE, NVME_WRITE_ZEROES, NVME_FLUSH, NVME_COMPARE, NVME_VERIFY, NVME_DATASET_MGMT, NVME_COPY,
	NVME_RESV_REGISTER, NVME_RESV_REPORT, NVME_RESV_ACQUIRE, NVME_RESV_RELEASE, NVME_WRITE, NVME_COMPARE,
	WRITE_UNCORRECTABLE, 0xff /* any */,
};

static void
fill_ranges(struct work *w, const uint8_t *in)
{
	struct nvme_sqe *sqe = &w->io.req.sqe;
	unsigned count = in[5] % 8 + 1u;

	memset(w->data, 0, BLOCK);
	for (unsigned i = 0; i < count; i++) {
		uint64_t lba = (in[6] + i * 5u) % 64;

		if (sqe->opcode == NVME_COPY)
			((struct nvme_copy_range *)(void *)w->data)[i] =
			    (struct nvme_copy_range){ .slba = le64_of(lba), .nlb = le16_of(in[7] % 8) };
		else
			((struct nvme_dsm_range *)(void *)w->data)[i] =
			    (struct nvme_dsm_range){ .slba = le64_of(lba), .blocks = le32_of(in[7] % 8) };
	}
	if (sqe->opcode == NVME_COPY) {
		sqe->cdw12 = le32_of(count - 1);
		w->io.req.length = count * (uint32_t)sizeof(struct nvme_copy_range);
	} else {
		sqe->cdw10 = le32_of(count - 1);
		sqe->cdw11 = le32_of(in[4] & 1 ? NVME_DSM_AD : in[4]);
		w->io.req.length = count * (uint32_t)sizeof(struct nvme_dsm_range);
	}
}

static void
fill_reservation(struct work *w, const uint8_t *in)
{
	struct nvme_sqe *sqe = &w->io.req.sqe;

	sqe->cdw10 = le32_of(in[2] | (uint32_t)(in[3] & 7) << 8 | (uint32_t)(in[3] >> 6) << 30);
	memset(w->data, 0, BLOCK);
	w->data[0] = in[4] & 3;
	w->data[8] = in[4] >> 2 & 3;
	w->io.req.length = sqe->opcode == NVME_RESV_RELEASE ? 8 : 16;
	if (sqe->opcode == NVME_RESV_REPORT) {
		sqe->cdw10 = le32_of(in[3]);
		sqe->cdw11 = le32_of(NVME_RESV_REPORT_EDS);
		w->io.req.length = (uint32_t)nvme_resv_report_bytes(sqe);
	}
}

/* The command that these bytes mean. */
static void
fill(struct work *w, const uint8_t *in)
{
	static const uint64_t far[] = { VOLUME - 2, VOLUME, UINT32_MAX, UINT64_MAX - 3 };
	struct nvme_sqe *sqe = &w->io.req.sqe;
	uint64_t lba = in[2] < 252 ? in[2] % 64 : far[in[2] - 252];
	uint32_t count = in[3] % NLB_MAX + 1u;
	uint8_t opcode = opcodes[in[0] & 15] != 0xff ? opcodes[in[0] & 15] : in[0] | in[4];

	*sqe = (struct nvme_sqe){
		.opcode = opcode, .flags = in[1] & HOW_FUSE, .cdw10 = le32_of((uint32_t)lba),
		.nsid = le32_of(in[1] & HOW_ALL_NS ? UINT32_MAX : in[1] & HOW_NO_NS ? 2 : 1),
		.cdw11 = le32_of((uint32_t)(lba >> 32)),
		.cdw12 = le32_of((count - 1) | (in[1] & HOW_FUA ? NVME_RW_FUA : 0)),
	};
	if (in[1] & HOW_BITS)
		((uint8_t *)&sqe->cdw12)[3] |= in[5];
	/* The direction is in the opcode. */
	w->io.req.data = (opcode & 3) == 1 ? HREQ_WRITE : (opcode & 3) == 2 ? HREQ_READ : HREQ_NONE;
	w->io.req.length = count * BLOCK;
	for (uint32_t i = 0; i < count; i++)
		memset(w->data + (size_t)i * BLOCK, in[4] % 3 == 0 ? at_first(lba + i) : 128 + in[4] / 2, BLOCK);
	if (opcode == NVME_COPY || opcode == NVME_DATASET_MGMT)
		fill_ranges(w, in);
	if (opcode >= NVME_RESV_REGISTER && opcode <= NVME_RESV_RELEASE)
		fill_reservation(w, in);
	if (in[1] & HOW_LENGTH && w->io.req.length > in[7])
		w->io.req.length -= in[7];
	if ((in[8] % 64 > 0 && in[8] % 64 < 24) || in[8] % 64 >= 40)
		((uint8_t *)sqe)[in[8] % 64] ^= in[9];
	sqe->flags &= HOW_FUSE;
	if (w->io.req.data == HREQ_NONE)
		w->io.req.length = 0;
	w->iov = (struct iovec){ w->data, w->io.req.length };
	w->io.req.iov = &w->iov;
	w->io.req.iov_count = w->io.req.data != HREQ_NONE;
}

/* Of a plain command it is known what comes of it, where nothing was asked to change its blocks. */
static uint64_t
looks_of(const struct work *w)
{
	const struct nvme_sqe *sqe = &w->io.req.sqe;
	uint64_t lba = nvme_slba(sqe);
	uint32_t count = nvme_blocks(sqe);
	bool first = sqe->flags == NVME_FUSE_FIRST && sqe->opcode == NVME_COMPARE;
	bool plain = (sqe->flags == 0 || first) && le32_get(sqe->nsid) == 1 && le32_get(sqe->cdw12) >> 16 == 0;

	if ((sqe->opcode != NVME_READ && sqe->opcode != NVME_COMPARE) || !plain || w->io.req.length != count * BLOCK ||
	    lba >= BLOCKS || lba + count > BLOCKS)
		return 0;
	return blocks_of(lba, count);
}

static bool
submit(struct player *p, const uint8_t *in)
{
	struct work *w = NULL;

	for (unsigned i = 0; i < WORKS && w == NULL; i++)
		if (!p->works[i].busy)
			w = &p->works[i];
	if (w == NULL)
		return false;
	fill(w, in);
	w->changes = changes_of(w);
	if (w->io.req.sqe.flags == NVME_FUSE_SECOND) {
		p->paired_again |= p->paired & w->changes;
		p->paired |= w->changes;
	} else {
		p->maybe |= w->changes;
	}
	if (w->io.req.sqe.opcode == WRITE_UNCORRECTABLE)
		p->spoilt |= w->changes;
	w->looks = looks_of(w);
	w->same = w->looks != 0;
	for (uint32_t i = 0; i < w->io.req.length && w->same; i += BLOCK)
		w->same = w->data[i] == at_first(nvme_slba(&w->io.req.sqe) + i / BLOCK);
	w->busy = qpair_submit(&p->io[in[1] & HOW_QUEUE ? 1 : 0], &w->io);
	p->count += w->busy;
	return w->busy;
}

/* The first half of a pair waits for what comes next. */
static void
submit_last(struct player *p)
{
	static const uint8_t flush[QUEUES][COMMAND] = { { 3 }, { 3, HOW_QUEUE } };

	while (p->closed < QUEUES && submit(p, flush[p->closed]))
		p->closed++;
}

static void
submit_whole(struct player *p, uint8_t opcode, unsigned lba, unsigned count)
{
	struct work *w = &p->whole;

	w->io.req.sqe = (struct nvme_sqe){
		.opcode = opcode, .nsid = le32_of(1), .cdw10 = le32_of(lba), .cdw12 = le32_of(count - 1),
	};
	w->io.req.data = opcode == NVME_READ ? HREQ_READ : HREQ_WRITE;
	w->io.req.length = count * BLOCK;
	w->iov = (struct iovec){ w->data, w->io.req.length };
	w->io.req.iov = &w->iov;
	w->io.req.iov_count = 1;
	for (unsigned i = 0; i < count; i++)
		memset(w->data + (size_t)i * BLOCK, at_first(lba + i), BLOCK);
	w->busy = qpair_submit(&p->io[0], &w->io);
	assert(w->busy);
}

static void
leave(struct player *p)
{
	for (unsigned i = 0; i < QUEUES; i++)
		qpair_close(&p->io[i]);
	qpair_close(&p->admin);
	p->over = true;
}

static void
next(struct task *task)
{
	struct player *p = container_of(task, struct player, next);

	if (p->whole.busy || p->over)
		return;
	if (!p->filled) {
		submit_whole(p, NVME_WRITE, 0, BLOCKS);
		return;
	}
	while (p->end - p->at >= COMMAND && submit(p, p->at))
		p->at += COMMAND;
	if (p->end - p->at < COMMAND)
		submit_last(p);
	if (p->closed < QUEUES || p->count > 0)
		return;
	if (p->looked_at < BLOCKS)
		submit_whole(p, NVME_READ, p->looked_at, 1);
	else
		leave(p);
}

/* ---- coming ---- */

static void
down(struct qpair *qp, int error)
{
	(void)error;
	assert(((struct player *)qp->owner)->over); /* nothing that it says breaks a rule of the transport */
}

static void
open_queue(struct player *p, struct qpair *qp, uint16_t qid, void (*up)(struct qpair *))
{
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = CLUSTER_PORT, .qid = qid, .entries = ENTRIES,
		.cntlid = qid == 0 ? NVME_CNTLID_DYNAMIC : p->admin.cntlid, .incapsule_max = 8192,
		.hdgst = p->scene & SCENE_DIGESTS, .ddgst = p->scene & SCENE_DIGESTS,
		.sq_flow = p->scene & SCENE_SQ_FLOW, .hostid = { 0xfe },
		.subnqn = CLUSTER_NQN, .hostnqn = "nqn.2026-11.local.weir:player",
	};
	int rc;

	qp->owner = p;
	qp->up = up;
	qp->down = down;
	rc = qpair_open(qp, p->reactor, &p->gather, &options);
	assert(rc == 0);
}

static void
queue_up(struct qpair *qp)
{
	struct player *p = qp->owner;

	if (++p->opened < QUEUES)
		open_queue(p, &p->io[p->opened], (uint16_t)(p->opened + 1), queue_up);
	else
		go_on(p);
}

static void
enabled(struct hio *io)
{
	struct player *p = io->owner;

	assert(nvme_ok(io->req.status));
	open_queue(p, &p->io[0], 1, queue_up);
}

static void
admin_up(struct qpair *qp)
{
	struct player *p = qp->owner;

	p->enable.req.sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES);
	p->enable.owner = p;
	p->enable.done = enabled;
	assert(qpair_submit(qp, &p->enable));
}

static void
work_init(struct player *p, struct work *w, size_t bytes)
{
	w->player = p;
	w->io.owner = w;
	w->io.done = done;
	w->data = arena_alloc_aligned(p->reactor->arena, bytes, BLOCK);
	assert(w->data != NULL);
}

static int
player_start(struct reactor *reactor, void *arg)
{
	struct player *p = arg;

	p->reactor = reactor;
	task_init(&p->next, next);
	for (unsigned i = 0; i < WORKS; i++)
		work_init(p, &p->works[i], BYTES_MAX);
	work_init(p, &p->whole, BLOCKS * BLOCK);
	open_queue(p, &p->admin, 0, admin_up);
	return 0;
}

static bool
is_over(void *arg)
{
	return ((struct player *)arg)->over;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct player player;
	const uint64_t second = 1000 * 1000 * 1000;
	const unsigned scene = size > 0 ? data[0] : 0;
	size_t count = size > 0 ? (size - 1) / COMMAND : 0;
	struct cluster_target target = {
		.host = "10.0.0.1", .spec = scene & SCENE_FILE ? "file:volume.img,size=1M" : "mem:1M",
		.reactors = scene & SCENE_ONE_CORE ? 1 : 2,
	};
	struct sim_process_options served = {
		.reactor = { scene & SCENE_MORE_BUFS ? 64 : 16, 16 }, .start = cluster_target_start, .arg = &target,
		.address = "10.0.0.1",
	};
	struct sim_process_options plays = { .start = player_start, .arg = &player };
	struct sim_options options = sim_options_default();
	struct sim_process *process;
	struct sim *sim;

	if (count > COMMANDS_MAX)
		count = COMMANDS_MAX;
	options.socket_bytes_max = 32 * 1024; /* little to be zeroed for each input */
	player = (struct player){ .scene = scene, .at = data + 1, .end = data + 1 + count * COMMAND };
	sim = sim_create(1, &options);
	process = sim_process_create(sim, "target", target.reactors, &served);
	sim_run_until(sim, second / 1000, NULL, NULL);
	sim_process_create(sim, "player", 1, &plays);
	assert(sim_run_until(sim, 100 * second, is_over, &player) == SIM_END_MET);
	sim_run_until(sim, sim_now(sim) + second, NULL, NULL);
	assert(cluster_target_idle(&target, process));
	sim_destroy(sim);
	return 0;
}
