/*
 * test_kept_events.c - the persistent events of a target and what its SMART log
 * counts, in virtual time: how often, how soon they are kept, and what is found
 * of them after a crash at any moment.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "host/qpair.h"
#include "sim/sim.h"
#include "target/target.h"

#define NQN "nqn.2026-11.local.weir:events"
#define PATH "/state/events/07000000-0000-0000-0000-000000000000"

enum { PORT = 4420, BAD_LBA = 7, NUMBERS = 1 << 16 };

static const uint64_t ms = 1000 * 1000, second = 1000 * 1000 * 1000;

/* ---- the target: one subsystem with a medium that has a bad block ---- */

struct served {
	unsigned reactors, started;
	bool in_memory;
	unsigned fail_reactor;
	uint64_t fail_at;     /* the allocation that fails; 0: none */
	bool drained;
	struct target *target;
	struct reactor *reactor; /* 0 */
	struct timer drain;
	uint64_t drain_ns;    /* 0: never */
	/* The subsystem goes and comes again so often, without its namespace. */
	unsigned changes, changed, busy;
	bool present, under_way;
	struct timer change;
	struct target_applied applied;
};

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

enum does { READS = 1, BAD_READS = 2, TIMESTAMPS = 4, RESETS = 8, CONTEXTS = 16, LOOKS = 32, KINDS = 6 };

struct doer {
	uint32_t does;
	uint64_t every_ns, until_ns;
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin, io;
	bool admin_up, io_up, busy, enabled;
	struct hio command;
	struct iovec iov;
	uint8_t data[4096];
	struct timer tick;
	unsigned turn;
	uint32_t doing;       /* one of what it does; 0: enabling */
	bool reading;         /* it has a context */
	/* what it did: */
	uint64_t reads, bad_reads, contexts, refused;
	uint64_t number;                 /* of the last Timestamp that was answered */
	uint64_t numbers_ns[NUMBERS];    /* when each was */
};

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
	struct nvme_property_sqe set = {
		.opcode = NVME_FABRICS, .fctype = NVME_PROPERTY_SET, .ofst = le32_of(NVME_CC),
		.value = le64_of((on ? NVME_CC_EN : 0) | 6u << 16 | 4u << 20),
	};
	struct nvme_sqe sqe;

	memcpy(&sqe, &set, sizeof(sqe));
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

struct history {
	struct sim *sim;
	struct served served;
	struct doer *doer;
	struct sim_process *target;
	struct eventlog *log;
	unsigned complaints;
	int64_t fault;
	unsigned fault_one_in;
	struct rng rng;
};

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

static void
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

static void
history_end(struct history *h)
{
	sim_destroy(h->sim);
	free(h->doer);
	free(h->log);
}

static void
run_to(struct history *h, uint64_t at_ns)
{
	sim_run_until(h->sim, at_ns, NULL, NULL);
}

/* What a target that starts now would find. */
static enum eventlog_found
look(struct history *h, bool durable)
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
static const uint8_t *
event(const struct eventlog *log, uint8_t type, int code, unsigned n)
{
	for (const uint8_t *at = log->bytes; at < log->bytes + log->used; at += 24 + get_le16(at + 22))
		if (at[0] == type && (code < 0 || get_le16(at + 24) == code) && n-- == 0)
			return at + 24;
	return NULL;
}

static unsigned
events(const struct eventlog *log, uint8_t type, int code)
{
	unsigned n = 0;

	while (event(log, type, code, n) != NULL)
		n++;
	return n;
}

static void
a_medium_that_fails_all_the_time_is_told_every_ten_minutes(void **state)
{
	struct history h = { 0 };

	(void)state;
	history_begin(&h, 1, BAD_READS, 20 * ms, 25 * 60 * second);
	run_to(&h, 26 * 60 * second + second);
	assert_int_equal(look(&h, true), EVENTLOG_FOUND);
	assert_true(h.doer->bad_reads > 40 * 1000);
	assert_int_equal(events(h.log, NVME_PERSISTENT_HARDWARE, NVME_HARDWARE_MEDIA), 3);
	assert_int_equal(get_le32(event(h.log, NVME_PERSISTENT_HARDWARE, NVME_HARDWARE_MEDIA, 2) + 4), 3);
	assert_int_equal(h.log->now.media_errors, h.doer->bad_reads);
	assert_int_equal(h.log->now.errors, h.doer->bad_reads);
	assert_int_equal(h.complaints, 0);
	history_end(&h);
}

/* So much a crash may cost: what is counted is kept each minute, and where nothing is, the hours each hour. */
/* Two minutes; as often as it reads it has another two. */
static void
who_does_not_read_for_long_has_no_context(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct history h = { 0 };

		history_begin(&h, seed, LOOKS, 110 * second, UINT64_MAX);
		run_to(&h, 40 * 110 * second);
		assert_true(h.doer->contexts > 35 && h.doer->refused == 0);
		history_end(&h);
		h = (struct history){ 0 };
		history_begin(&h, seed, LOOKS, 130 * second, UINT64_MAX);
		run_to(&h, 40 * 130 * second);
		assert_true(h.doer->contexts >= 18 && h.doer->refused >= 17); /* each is given back: there are two */
		history_end(&h);
	}
}

static void
what_is_counted_is_kept_each_minute(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 2; kept++) {
		struct history h = { 0 };
		const struct eventlog_counts *now;

		history_begin(&h, kept, READS, ms, 30 * second);
		run_to(&h, kept ? 62 * second : 58 * second);
		sim_process_crash(h.target, 0);
		assert_int_equal(look(&h, true), EVENTLOG_FOUND);
		now = &h.log->now;
		assert_true(h.doer->reads > 10 * 1000);
		assert_int_equal(now->reads, kept ? h.doer->reads : 0);
		assert_int_equal(now->read_blocks512, now->reads * 8);
		assert_false(h.log->clean);
		sim_process_start(h.target);
		run_to(&h, 70 * second);
		assert_int_equal(look(&h, true), EVENTLOG_FOUND);
		assert_int_equal(h.log->power_cycles, 2);
		assert_int_equal(h.log->unsafe_shutdowns, 1);
		assert_int_equal(events(h.log, NVME_PERSISTENT_HARDWARE, NVME_HARDWARE_UNSAFE_SHUTDOWN), 1);
		assert_int_equal(now->reads, kept ? h.doer->reads : 0);
		run_to(&h, (70 + 3700) * second); /* nothing happens */
		sim_process_crash(h.target, 0);
		assert_int_equal(look(&h, true), EVENTLOG_FOUND);
		assert_in_range(h.log->on_ms, 3600 * 1000, 3800 * 1000);
		history_end(&h);
	}
}

static void
a_target_that_is_drained_has_kept_everything(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct history h = { .served = { .drain_ns = second, .in_memory = seed % 5 == 4 } };
		const uint8_t *smart;

		history_begin(&h, seed, READS | TIMESTAMPS | RESETS | CONTEXTS, 2 * ms, 3 * second);
		run_to(&h, 4 * second);
		assert_true(h.served.drained);
		if (h.served.in_memory) {
			assert_null(sim_file_find(h.sim, PATH));
		} else {
			assert_int_equal(look(&h, true), EVENTLOG_FOUND);
			assert_true(h.log->clean);
			smart = event(h.log, NVME_PERSISTENT_SMART, -1, 0);
			assert_non_null(smart);
			assert_ptr_equal(smart + 512, h.log->bytes + h.log->used);
			assert_in_range(get_le64(smart + 64), h.doer->reads, h.doer->reads + 1);
			assert_in_range(events(h.log, NVME_PERSISTENT_TIMESTAMP, -1), h.doer->number, h.doer->number + 1);
			assert_true(events(h.log, NVME_PERSISTENT_RESET, -1) > 10);
		}
		history_end(&h);
	}
}

/*
 * In order, nothing that was there before has gone, and what was answered until
 * some time before is there.  An event tells of the number that was set before;
 * the first one of a controller of none.
 */
static uint64_t
check_order(const struct eventlog *log, const struct doer *d, unsigned *count, uint64_t start_ns,
    uint64_t kept_before_ns)
{
	uint64_t newest = 0;
	unsigned n = 0;

	for (const uint8_t *at; (at = event(log, NVME_PERSISTENT_TIMESTAMP, -1, n)) != NULL; n++) {
		uint64_t number = get_le64(at) >> 24;

		assert_true(number == 0 || (number >= newest && number <= d->number));
		newest = (number == 0 ? newest : number) + 1;
	}
	assert_true(n >= *count);
	*count = n;
	if (newest < d->number && d->numbers_ns[newest + 1] >= start_ns) /* else it was lost before */
		assert_true(d->numbers_ns[newest + 1] > kept_before_ns);
	return newest;
}

static void
a_crash_at_any_moment_leaves_a_log_that_is_whole(void **state)
{
	uint64_t crashes = 0, torn = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct history h = { .fault = seed % 2 == 0 ? -EIO : 4096 };
		uint64_t start_ns = 0;
		unsigned count = 0;

		history_begin(&h, seed, TIMESTAMPS, 20 * ms + seed * ms / 10, UINT64_MAX);
		for (unsigned i = 1; i <= 12; i++) {
			uint64_t at_ns;

			run_to(&h, sim_now(h.sim) + ms + sim_below(h.sim, 700 * ms));
			at_ns = sim_now(h.sim);
			sim_process_crash(h.target, (unsigned)sim_below(h.sim, 4));
			crashes++;
			assert_int_equal(look(&h, false), EVENTLOG_FOUND);
			torn += check_order(h.log, h.doer, &count, start_ns, at_ns > 200 * ms ? at_ns - 200 * ms : 0) < h.doer->number;
			start_ns = at_ns;
			sim_process_start(h.target);
			run_to(&h, sim_now(h.sim) + 20 * ms);
			assert_int_equal(look(&h, true), EVENTLOG_FOUND);
			assert_int_equal(h.log->power_cycles, i + 1);
			assert_in_range(h.log->unsafe_shutdowns, 1, i);
		}
		assert_int_equal(h.complaints, 0);
		history_end(&h);
	}
	print_message("# %u crashes, after %u of which events were missing\n", (unsigned)crashes, (unsigned)torn);
	assert_true(torn > crashes / 20); /* it can be seen */
}

/* Writes that fail, or move a part: that is said, and in the end all is there. */
static void
what_could_not_be_written_is_written_later(void **state)
{
	unsigned complaints = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct history h = { .fault = seed % 2 == 0 ? -EIO : 4096, .fault_one_in = seed % 4 < 2 ? 1 : 3 };

		history_begin(&h, seed, TIMESTAMPS, 3 * ms, second);
		run_to(&h, 2 * second);
		if (h.fault_one_in == 1) {
			assert_int_equal(look(&h, false) == EVENTLOG_FOUND, seed % 2 != 0); /* a part may be all */
			assert_int_equal(h.complaints, 1);
		}
		h.fault_one_in = 0;
		run_to(&h, 62 * second);
		assert_int_equal(look(&h, true), EVENTLOG_FOUND);
		assert_int_equal(events(h.log, NVME_PERSISTENT_TIMESTAMP, -1), h.doer->number);
		complaints += h.complaints;
		history_end(&h);
	}
	assert_true(complaints > 15);
}

/* Its log goes with it, and it finds it again; numbers are used again meanwhile, and what they counted is not. */
static void
a_subsystem_that_goes_and_comes_goes_on(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct history h = { .served = { .changes = 2 * 150 } };

		history_begin(&h, seed, READS, ms, second);
		run_to(&h, 70 * second);
		assert_int_equal(h.served.changed, 2 * 150);
		assert_true(h.served.busy > 100);
		run_to(&h, 140 * second);
		assert_int_equal(look(&h, true), EVENTLOG_FOUND);
		assert_int_equal(h.log->power_cycles, 151);
		assert_int_equal(h.log->unsafe_shutdowns, 0);
		assert_true(h.doer->reads > 100);
		assert_int_equal(h.log->now.reads, h.doer->reads);
		history_end(&h);
	}
}

/* Each allocation fails once: the start says so, or a host is told to try again, and nothing is left over. */
static void
memory_that_is_not_there_costs_one_answer(void **state)
{
	unsigned starts = 0, refused = 0;
	size_t left[2];

	(void)state;
	for (unsigned reactor = 0; reactor < 2; reactor++) {
		bool failed = true;

		for (uint64_t at = 0; failed; at++) { /* 0: none */
			struct history h = {
				.served = { .reactors = 2, .fail_reactor = reactor, .fail_at = at, .drain_ns = 600 * ms },
			};

			assert_true(at < 300);
			history_begin(&h, 1, TIMESTAMPS | CONTEXTS | RESETS | READS, 5 * ms, second);
			run_to(&h, 500 * ms);
			if (sim_process_running(h.target)) {
				failed = sim_process_reactor(h.target, reactor)->arena->fail_at == 0;
				run_to(&h, 4 * second);
				assert_true(h.served.drained);
				for (unsigned i = 0; i < 2; i++) {
					size_t bytes = sim_process_reactor(h.target, i)->arena->bytes;

					left[i] = at == 0 ? bytes : left[i];
					assert_int_equal(bytes, left[i]);
				}
				assert_true(h.doer->number > 5 && h.doer->contexts > 5);
				refused += (unsigned)h.doer->refused;
			} else {
				assert_int_equal(sim_process_error(h.target), -ENOMEM);
				starts++;
			}
			history_end(&h);
		}
	}
	print_message("# %u starts failed, %u contexts\n", starts, refused);
	assert_true(starts > 10 && refused > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_medium_that_fails_all_the_time_is_told_every_ten_minutes),
		cmocka_unit_test(who_does_not_read_for_long_has_no_context),
		cmocka_unit_test(what_is_counted_is_kept_each_minute),
		cmocka_unit_test(a_target_that_is_drained_has_kept_everything),
		cmocka_unit_test(a_crash_at_any_moment_leaves_a_log_that_is_whole),
		cmocka_unit_test(what_could_not_be_written_is_written_later),
		cmocka_unit_test(a_subsystem_that_goes_and_comes_goes_on),
		cmocka_unit_test(memory_that_is_not_there_costs_one_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
