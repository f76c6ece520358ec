#include "kept_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the target: one subsystem with a medium that has a bad block ---- */

static void
drained(void *owner)
{
	((struct served *)owner)->drained = true;
}

static void
drain(struct timer *timer)
{
	struct served *served = container_of(timer, struct served, drain);

	target_drain(served->target, drained, served);
}

static void
was_applied(struct target_applied *applied, int rc, const char *why)
{
	struct served *served = container_of(applied, struct served, applied);

	(void)why;
	assert_int_equal(rc, 0);
	served->under_way = false;
	served->present = !served->present;
	served->changed++;
	served->change.fire(&served->change); /* at once: its log is still being kept */
}

static void
unused(struct target_applied *applied, struct blk *volume)
{
	(void)applied;
	(void)volume;
}

static void
change(struct timer *timer)
{
	struct served *served = container_of(timer, struct served, change);
	struct reactor *reactor = served->reactor;
	struct target_listen listen = { .host = "10.0.0.1", .port = PORT };
	struct target_subsys subsys = { .nqn = NQN, .identity = { 7 }, .listeners = 1 };
	struct target_config config = {
		.listen = &listen, .listen_count = 1, .subsys = &subsys, .subsys_count = !served->present,
	};
	char why[256];
	int rc;

	if (served->changed == served->changes || served->under_way)
		return;
	rc = target_apply(served->target, &config, &served->applied, why);
	assert_true(rc == 0 || (rc == -EBUSY && !served->present));
	served->under_way = rc == 0;
	served->busy += rc != 0;
	timer_set(&reactor->timers, timer, reactor->now_ns + 100 * 1000);
}

static int
target_begin(struct reactor *reactor, void *arg)
{
	struct served *served = arg;
	char why[256];
	int rc;

	if (served->fail_at > 0 && reactor->index == served->fail_reactor)
		reactor->arena->fail_at = served->fail_at;
	if (served->started++ % served->reactors == 0) {
		struct target_listen listen = { .host = "10.0.0.1", .port = PORT };
		struct target_ns ns = { .nsid = 3, .id = { 1 } };
		struct target_subsys subsys = {
			.nqn = NQN, .identity = { 7 }, .listeners = 1, .ns = &ns, .ns_count = 1,
		};
		struct target_config config = {
			.listen = &listen, .listen_count = 1, .subsys = &subsys, .subsys_count = 1,
			.state_dir = served->in_memory ? NULL : "/state",
		};

		rc = blk_open(reactor, "fault:read-error=7@mem:1M", 4096, &ns.volume, why);
		if (rc == 0)
			rc = target_create(reactor->arena, &config, &served->target, why);
		if (rc != 0)
			return rc;
	}
	rc = target_start(served->target, reactor, why);
	if (rc == 0 && reactor->index == 0 && served->changes > 0) {
		served->reactor = reactor;
		served->present = true;
		served->change.fire = change;
		served->applied = (struct target_applied){ was_applied, unused };
		timer_set(&reactor->timers, &served->change, 2 * second);
	}
	if (rc == 0 && reactor->index == 0 && served->drain_ns > 0) {
		served->drain.fire = drain;
		timer_set(&reactor->timers, &served->drain, served->drain_ns);
	}
	return rc;
}

/* ---- a host that does what is to be told ---- */

static void
submit(struct doer *d, struct qpair *qp, const struct nvme_sqe *sqe, enum hreq_data data, uint32_t bytes)
{
	d->iov = (struct iovec){ d->data, bytes };
	d->command.req = (struct hreq){
		.sqe = *sqe, .data = data, .length = bytes, .iov = &d->iov, .iov_count = bytes > 0 ? 1 : 0,
	};
	d->busy = qpair_submit(qp, &d->command);
}

static void
enable(struct doer *d, bool on)
{
	uint32_t cc = NVME_CC_ENTRIES | (on ? NVME_CC_EN : 0);
	struct nvme_sqe sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, cc);

	submit(d, &d->admin, &sqe, HREQ_NONE, 0);
}

static void
page(struct doer *d, uint32_t lsp)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(NVME_LOG_PERSISTENT | lsp << 8 | (512 / 4 - 1) << 16),
	};

	submit(d, &d->admin, &sqe, HREQ_READ, 512);
}

static void
timestamp(struct doer *d)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_TIMESTAMP) };

	put_le64(d->data, (d->number + 1) << 24);
	submit(d, &d->admin, &sqe, HREQ_WRITE, 8);
}

static void
read_block(struct doer *d, uint64_t lba)
{
	struct nvme_sqe sqe = { .opcode = NVME_READ, .nsid = le32_of(3), .cdw10 = le32_of((uint32_t)lba) };

	submit(d, &d->io, &sqe, HREQ_READ, 4096);
}

static void
done(struct hio *io)
{
	struct doer *d = io->owner;
	bool ok = nvme_ok(io->req.status);

	d->busy = false;
	if (io->req.status.sct == NVME_SCT_PATH)
		return; /* the connection went, and this with it */
	switch (d->doing) {
	case READS:
	case BAD_READS:
		assert_int_equal(ok, d->doing == READS);
		*(ok ? &d->reads : &d->bad_reads) += 1;
		return;
	case TIMESTAMPS:
		assert_true(ok);
		d->numbers_ns[++d->number] = d->reactor->now_ns;
		return;
	case CONTEXTS:
		if (d->reading || ok) {
			assert_true(ok);
			d->reading = !d->reading;
		} else {
			assert_int_equal(nvme_sc(io->req.status), NVME_SC_INTERNAL);
		}
		d->contexts += ok;
		d->refused += !ok;
		return;
	case LOOKS: /* until it has lost its context */
		if (!ok)
			assert_int_equal(nvme_sc(io->req.status), NVME_SC_SEQUENCE);
		d->reading = ok;
		d->contexts += ok;
		d->refused += !ok;
		return;
	default: /* RESETS, enabling: it is not possible before a reset is over */
		d->reading = d->reading && d->enabled;
		d->enabled = ok ? !d->enabled : d->enabled;
	}
}

static void io_begin(struct doer *d);

/* The next of what it does. */
static void
act(struct doer *d)
{
	if (!d->enabled) {
		d->doing = 0;
		enable(d, true);
		return;
	}
	do
		d->doing = 1u << d->turn++ % KINDS;
	while (!(d->does & d->doing));
	if (d->doing & (READS | BAD_READS) && !d->io_up)
		io_begin(d);
	else if (d->doing & (READS | BAD_READS))
		read_block(d, d->doing == READS ? 0 : BAD_LBA);
	else if (d->doing == TIMESTAMPS)
		timestamp(d);
	else if (d->doing == CONTEXTS)
		page(d, d->reading ? NVME_PERSISTENT_RELEASE : NVME_PERSISTENT_ESTABLISH);
	else if (d->doing == LOOKS)
		page(d, d->reading ? NVME_PERSISTENT_READ : NVME_PERSISTENT_ESTABLISH);
	else
		enable(d, false);
}

static void
up(struct qpair *qp)
{
	struct doer *d = qp->owner;

	if (qp == &d->admin)
		d->admin_up = true;
	else
		d->io_up = true;
}

static void
down(struct qpair *qp, int error)
{
	struct doer *d = qp->owner;

	(void)error;
	if (qp == &d->admin)
		d->admin_up = false;
	else
		d->io_up = false;
}

static void
dial(struct doer *d, struct qpair *qp, uint16_t qid)
{
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = PORT, .entries = 8, .hostid = { 1 }, .incapsule_max = 8192, .qid = qid,
		.cntlid = qid == 0 ? NVME_CNTLID_DYNAMIC : d->admin.cntlid, .subnqn = NQN,
		.hostnqn = "nqn.2026-11.local.weir:doer",
	};

	if (qp->reactor != NULL)
		qpair_close(qp);
	*qp = (struct qpair){ .owner = d, .up = up, .down = down };
	if (qpair_open(qp, d->reactor, &d->gather, &options) != 0)
		qp->reactor = NULL;
}

static void
io_begin(struct doer *d)
{
	if (d->io.reactor == NULL || d->io.state == QPAIR_DOWN)
		dial(d, &d->io, 1);
}

static void
tick(struct timer *timer)
{
	struct doer *d = container_of(timer, struct doer, tick);

	timer_set(&d->reactor->timers, timer,
	    d->reactor->now_ns + (d->enabled || d->every_ns < second ? d->every_ns : second));
	if (d->busy || d->number + 1 == NUMBERS)
		return;
	if (d->admin.reactor == NULL || d->admin.state == QPAIR_DOWN) {
		d->enabled = d->reading = false;
		dial(d, &d->admin, 0);
	} else if (d->admin_up && d->reactor->now_ns < d->until_ns) {
		act(d);
	}
}

static int
doer_begin(struct reactor *reactor, void *arg)
{
	struct doer *d = arg;

	d->reactor = reactor;
	d->command.owner = d;
	d->command.done = done;
	d->tick.fire = tick;
	tick(&d->tick);
	return 0;
}

/* ---- a history, and what is kept of it ---- */

static void
on_log(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	struct history *h = arg;

	(void)process;
	(void)reactor;
	(void)level;
	h->complaints += strstr(text, "cannot be kept") != NULL || strstr(text, "damaged") != NULL;
}

static int64_t
file_fault(void *arg, const char *path, const struct file_io *io)
{
	struct history *h = arg;

	if (h->fault_one_in == 0 || strcmp(path, PATH) != 0 || io->op != FILE_WRITE)
		return 0;
	return rng_below(&h->rng, h->fault_one_in) == 0 ? h->fault : 0;
}

void
history_begin(struct history *h, uint64_t seed, uint32_t does, uint64_t every_ns, uint64_t until_ns)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options target = { .reactor = { 256, 32 }, .start = target_begin, .arg = &h->served };
	struct sim_process_options host = { .start = doer_begin };

	options.log = on_log;
	options.file_fault = file_fault;
	options.arg = h;
	options.max_events = 100 * 1000 * 1000;
	options.max_ns = UINT64_MAX;
	rng_seed(&h->rng, seed);
	h->sim = sim_create(seed, &options);
	h->log = calloc(1, sizeof(*h->log));
	h->doer = calloc(1, sizeof(*h->doer));
	assert_true(h->log != NULL && h->doer != NULL);
	h->served.reactors = h->served.reactors > 0 ? h->served.reactors : 1 + (unsigned)(seed % 3);
	h->doer->does = does;
	h->doer->every_ns = every_ns;
	h->doer->until_ns = until_ns;
	h->target = sim_process_create(h->sim, "target", h->served.reactors, &target);
	host.arg = h->doer;
	sim_process_create(h->sim, "host", 1, &host);
}

void
history_end(struct history *h)
{
	sim_destroy(h->sim);
	free(h->doer);
	free(h->log);
}

void
history_run(struct history *h, uint64_t at_ns)
{
	sim_run_until(h->sim, at_ns, NULL, NULL);
}

/* What a target that starts now would find. */
enum eventlog_found
history_look(struct history *h, bool durable)
{
	static const uint8_t identity[16] = { 7 };
	struct sim_file *file = sim_file_find(h->sim, PATH);
	uint8_t *slots = calloc(EVENTLOG_SLOTS, EVENTLOG_SLOT_LEN);
	enum eventlog_found found;
	uint64_t sequence;

	assert_true(file != NULL && slots != NULL);
	sim_file_peek(file, 0, slots, EVENTLOG_SLOTS * EVENTLOG_SLOT_LEN, durable);
	found = eventlog_decode(slots, identity, h->log, &sequence);
	free(slots);
	return found;
}

/* The data of the n-th event of the type and, if it has one, the code; NULL: there are not so many. */
const uint8_t *
kept_event(const struct eventlog *log, uint8_t type, int code, unsigned n)
{
	for (const uint8_t *at = log->bytes; at < log->bytes + log->used; at += 24 + get_le16(at + 22))
		if (at[0] == type && (code < 0 || get_le16(at + 24) == code) && n-- == 0)
			return at + 24;
	return NULL;
}

unsigned
kept_events(const struct eventlog *log, uint8_t type, int code)
{
	unsigned n = 0;

	while (kept_event(log, type, code, n) != NULL)
		n++;
	return n;
}
