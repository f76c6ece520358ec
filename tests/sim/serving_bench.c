#include "serving_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "wire/extension.h"
#include "wire/feature.h"
#include "wire/log.h"

struct bench_disk bench_disk;

int
fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	if (!S_ISDIR(st.st_mode))
		return 0;
	bench_disk.folders++;
	if (bench_disk.fail_folders == 0)
		return 0;
	bench_disk.fail_folders--;
	errno = EIO;
	return -1;
}

/* ---- the target ---- */

static struct configured *
configure(const struct bench *b, const char *text)
{
	struct configured *configured = configured_make();
	struct conf_errors errors;
	char whole[4096];
	int length = snprintf(whole, sizeof(whole),
	    "state_dir: %s\nlisteners:\n  - {name: a, address: \"10.0.0.1:%d\"}\nsubsystems:\n%s",
	    b->folder, PORT, text);

	assert_non_null(configured);
	assert_in_range(length, 1, sizeof(whole) - 1);
	if (conf_parse(&configured->arena, whole, (size_t)length, &configured->conf, &errors) != 0)
		fail_msg("line %u: %s", errors.list[0].line, errors.list[0].text);
	return configured;
}

static void
wished(struct target_keeper *keeper, struct target_wish *wish)
{
	struct bench *b = container_of(keeper, struct bench, serving.hosted.keeper);

	b->came++;
	if (!b->holding) {
		b->wish(keeper, wish);
		return;
	}
	b->held_count++;
	fifo_push(&b->held, &wish->node);
}

void
bench_let_go(struct bench *b)
{
	b->holding = false;
	b->held_count = 0;
	while (!fifo_empty(&b->held))
		b->wish(&b->serving.hosted.keeper, container_of(fifo_pop(&b->held), struct target_wish, node));
}

static void
look(struct timer *timer)
{
	struct bench *b = container_of(timer, struct bench, tick);
	void (*act)(struct bench *) = b->act;

	if (act != NULL && (b->moment == NULL || b->moment(b))) {
		b->act = NULL;
		b->met++;
		act(b);
	}
	timer_set(&b->reactor->timers, timer, b->reactor->now_ns + (b->act != NULL && b->moment != NULL ? us : ms));
}

/* What the keeper makes in a pool is real, and what a volume has in it is not: that is as long as the real file. */
static int
open_as_long(struct reactor *reactor, const char *path, uint64_t size, uint32_t block, struct file **out)
{
	const struct bench_world *world = container_of(reactor->world, struct bench_world, ops);
	struct stat st;

	return world->as_is->file_open(reactor, path, stat(path, &st) == 0 ? (uint64_t)st.st_size : size, block, out);
}

static int
target_begin(struct reactor *reactor, void *arg)
{
	struct bench *b = arg;
	char why[256];

	if (b->started++ == 0) {
		b->reactor = sim_process_reactor(b->process, 0);
		b->world = (struct bench_world){ .ops = *b->reactor->world, .as_is = b->reactor->world };
		b->world.ops.file_open = open_as_long;
		b->reactor->world = &b->world.ops;
		if (serving_make(&b->serving, b->reactor, b->reactor->arena, configure(b, b->text), why) != 0)
			fail_msg("%s", why);
		b->wish = b->serving.hosted.keeper.wish;
		b->serving.hosted.keeper.wish = wished;
	}
	if (reactor == b->reactor) {
		serving_started(&b->serving, true);
		b->tick.fire = look;
		timer_set(&reactor->timers, &b->tick, reactor->now_ns + ms);
	}
	return target_start(b->serving.target, reactor, why);
}

static bool
has_acted(void *arg)
{
	const struct bench *b = arg;

	return b->act == NULL;
}

void
bench_meet(struct bench *b, bool (*moment)(const struct bench *), void (*act)(struct bench *), uint64_t for_ns)
{
	b->moment = moment;
	b->act = act;
	assert_int_equal(sim_run_until(b->sim, sim_now(b->sim) + for_ns, has_acted, b), SIM_END_MET);
}

static void
told(void *owner, int rc, const char *why)
{
	struct bench *b = owner;

	b->told++;
	b->told_rc = rc;
	b->told_after = b->answers;
	if (rc != 0)
		print_message("# %s\n", why);
}

int
bench_apply(struct bench *b, const char *text)
{
	char why[256];

	return serving_apply(&b->serving, configure(b, text), told, b, why);
}

/* ---- hosts ---- */

static void
fill_create(uint8_t data[4096])
{
	memset(data, 0, 4096);
	put_le64(data, 256);
	put_le64(data + 8, 256);
	data[26] = 1; /* of 4 KiB */
	data[30] = 1; /* shared */
}

/* All there are: the target gives ids in ascending order. */
static void
fill_list(const struct bench *b, uint8_t data[4096])
{
	memset(data, 0, 4096);
	put_le16(data, (uint16_t)b->asker_count);
	for (unsigned i = 0; i < b->asker_count; i++)
		put_le16(data + 2 + 2 * i, b->askers[i].admin.cntlid);
}

static struct nvme_sqe
feature(uint32_t fid, uint32_t nsid, uint32_t value)
{
	return (struct nvme_sqe){ .opcode = NVME_ADMIN_SET_FEATURES, .nsid = le32_of(nsid), .cdw10 = le32_of(fid),
		.cdw11 = le32_of(value) };
}

static struct nvme_sqe
log_page(uint32_t lid, uint32_t lsp, uint32_t bytes)
{
	return (struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(lid | lsp << 8 | (bytes / 4 - 1) << 16) };
}

static void
make(struct asker *a, struct ask *ask)
{
	struct hreq *req = &ask->io.req;

	*req = (struct hreq){ .data = HREQ_NONE, .iov = &ask->iov };
	switch (a->asks) {
	case ASK_PROTECT:
		req->sqe = feature(NVME_FEATURE_PROTECTION, 1, a->protection);
		return;
	case ASK_TIME:
		memset(a->data, 0, sizeof(a->data));
		req->sqe = feature(NVME_FEATURE_TIMESTAMP, 0, 0);
		break;
	case ASK_EXTENSION:
		req->sqe = feature(WEIR_FEATURE, 0, WEIR_FENCE);
		return;
	case ASK_FENCE:
		req->sqe = (struct nvme_sqe){ .opcode = WEIR_ADMIN_FENCE, .cdw10 = le32_of(WEIR_FENCE_OLDER) };
		return;
	case ASK_CREATE:
		fill_create(a->data);
		req->sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_NS_MANAGEMENT };
		break;
	case ASK_DELETE:
		req->sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_NS_MANAGEMENT, .nsid = le32_of(2),
			.cdw10 = le32_of(1) };
		return;
	case ASK_ATTACH:
		fill_list(a->bench, a->data);
		req->sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_NS_ATTACHMENT, .nsid = le32_of(2) };
		break;
	case ASK_GROUPS:
		req->sqe = log_page(NVME_LOG_ANA, 0, PAGE_BYTES);
		break;
	case ASK_EVENTS:
		req->sqe = log_page(NVME_LOG_PERSISTENT, NVME_PERSISTENT_ESTABLISH, PAGE_BYTES);
		break;
	}
	req->data = a->asks >= ASK_GROUPS ? HREQ_READ : HREQ_WRITE;
	if (req->data == HREQ_READ)
		ask->iov = (struct iovec){ a->page, PAGE_BYTES };
	else
		ask->iov = (struct iovec){ a->data, a->asks == ASK_TIME ? 8 : sizeof(a->data) };
	req->length = (uint32_t)ask->iov.iov_len;
	req->iov_count = 1;
}

static void
submit(struct asker *a, struct ask *ask)
{
	make(a, ask);
	assert_true(qpair_submit(&a->admin, &ask->io));
	ask->busy = true;
	a->asked++;
}

static void
answered(struct hio *io)
{
	struct asker *a = io->owner;
	struct ask *ask = container_of(io, struct ask, io);

	if (a->admin.state != QPAIR_UP)
		return;
	ask->busy = false;
	a->answered++;
	a->place = a->bench->answers++;
	a->last = nvme_sc(io->req.status);
	a->ok += nvme_ok(io->req.status);
	a->interrupted += a->last == NVME_SC_INTERRUPTED && !io->req.status.dnr;
}

static void
tick(struct timer *timer)
{
	struct asker *a = container_of(timer, struct asker, tick);

	if (a->leaves) {
		qpair_close(&a->admin);
		return;
	}
	for (unsigned i = 0; i < ASKS && a->left > 0 && a->enabled; i++) {
		if (a->ask[i].busy)
			continue;
		a->left--;
		submit(a, &a->ask[i]);
	}
	timer_set(&a->reactor->timers, timer, a->reactor->now_ns + ms);
}

static void
enabled(struct hio *io)
{
	struct asker *a = io->owner;

	assert_true(nvme_ok(io->req.status));
	a->enabled = true;
	io->done = answered;
}

static void
up(struct qpair *qp)
{
	struct asker *a = qp->owner;
	const struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_PROPERTY_SET, .ofst = le32_of(NVME_CC),
		.value = le64_of(NVME_CC_EN | 6u << 16 | 4u << 20),
	};

	memcpy(&a->ask[0].io.req.sqe, &sqe, sizeof(sqe));
	a->ask[0].io.done = enabled;
	assert_true(qpair_submit(qp, &a->ask[0].io));
}

static void
down(struct qpair *qp, int error)
{
	struct asker *a = qp->owner;

	(void)error;
	if (!a->may_be_lost)
		fail_msg("a connection was lost: %s", qp->why);
	a->lost = true;
}

static int
host_begin(struct reactor *reactor, void *arg)
{
	struct asker *a = arg;
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = PORT, .entries = a->entries, .hostid = { a->number }, .incapsule_max = 8192,
		.cntlid = NVME_CNTLID_DYNAMIC, .subnqn = a->nqn, .hostnqn = a->name,
	};

	snprintf(a->name, sizeof(a->name), "nqn.2026-11.local.weir:host-%u", a->number);
	a->reactor = reactor;
	a->admin.owner = a;
	a->admin.up = up;
	a->admin.down = down;
	for (unsigned i = 0; i < ASKS; i++) {
		a->ask[i].io.owner = a;
		a->ask[i].io.done = answered;
	}
	a->tick.fire = tick;
	timer_set(&reactor->timers, &a->tick, reactor->now_ns + ms);
	return qpair_open(&a->admin, reactor, &a->gather, &options);
}

static bool
is_enabled(void *arg)
{
	return ((struct asker *)arg)->enabled;
}

static struct asker *
add(struct bench *b, const struct asker *like)
{
	struct asker *a = &b->askers[b->asker_count++];
	struct sim_process_options options = { .start = host_begin, .arg = a };

	assert_in_range(b->asker_count, 1, ASKERS);
	*a = (struct asker){ .bench = b, .nqn = like->nqn, .entries = like->entries };
	a->number = like->number != 0 ? like->number : (uint8_t)b->asker_count;
	sim_process_create(b->sim, "host", 1, &options);
	return a;
}

struct asker *
bench_again(const struct asker *asker)
{
	return add(asker->bench, asker);
}

void
bench_leave(struct asker *asker)
{
	asker->leaves = true;
}

struct asker *
bench_host(struct bench *b, const char *nqn, uint16_t entries)
{
	struct asker *a = add(b, &(struct asker){ .nqn = nqn, .entries = entries });

	assert_int_equal(sim_run_until(b->sim, sim_now(b->sim) + second, is_enabled, a), SIM_END_MET);
	return a;
}

void
bench_ask(struct asker *a, enum asks asks, unsigned count)
{
	a->asks = asks;
	a->left = count;
}

static bool
all_answered(void *arg)
{
	const struct asker *a = arg;

	return a->left == 0 && a->answered == a->asked;
}

void
bench_asked(struct asker *a, enum asks asks, unsigned count)
{
	bench_ask(a, asks, count);
	assert_int_equal(sim_run_until(a->bench->sim, sim_now(a->bench->sim) + second, all_answered, a), SIM_END_MET);
}

/* ---- the whole ---- */

void
bench_begin(struct bench *b, uint64_t seed, unsigned reactors, const char *text, const struct sim_options *options)
{
	const struct sim_options usual = sim_options_default();
	struct sim_process_options served = { .reactor = { 256, 32 }, .start = target_begin, .arg = b };

	*b = (struct bench){ .text = text, .askers = calloc(ASKERS, sizeof(*b->askers)) };
	bench_disk = (struct bench_disk){ 0 };
	fifo_init(&b->held);
	snprintf(b->folder, sizeof(b->folder), P_tmpdir "/test_serving.XXXXXX");
	assert_true(b->askers != NULL && mkdtemp(b->folder) != NULL);
	b->sim = sim_create(seed, options != NULL ? options : &usual);
	b->process = sim_process_create(b->sim, "target", reactors, &served);
	bench_run(b, 5 * ms);
}

void
bench_run(struct bench *b, uint64_t for_ns)
{
	sim_run_until(b->sim, sim_now(b->sim) + for_ns, NULL, NULL);
}

/* Volumes go with the process's memory. */
void
bench_end(struct bench *b)
{
	char path[sizeof(b->folder) + 20];

	hosted_end(&b->serving.hosted);
	configured_drop(b->serving.now);
	configured_drop(b->serving.next);
	configured_drop(b->serving.parked);
	sim_destroy(b->sim);
	free(b->askers);
	snprintf(path, sizeof(path), "%s/namespaces", b->folder);
	unlink(path);
	strcat(path, ".new");
	unlink(path);
	rmdir(b->folder);
}
