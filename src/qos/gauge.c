#include "qos/gauge.h"

#include <assert.h>

enum {
	MEDIAN = 500000, P99 = 990000,
	ENOUGH = 10,            /* I/Os of a load, to say something of it */
	LONGER = 100,           /* times its time, at most */
};

static const struct gauge_load *
load_of(const struct gauge *gauge, const struct gauge_io *io)
{
	return &gauge->task.loads[io->load];
}

/* At its end what is left may be less than an I/O: then some of it is moved twice. */
static uint64_t
place(struct gauge *gauge, uint32_t bytes)
{
	uint64_t last = (gauge->span - bytes) / QOS_SIZE_LEAST, at = gauge->next;

	if (!gauge->task.in_order)
		return rng_below(&gauge->rng, last + 1) * QOS_SIZE_LEAST;
	gauge->next += bytes;
	return at < last * QOS_SIZE_LEAST ? at : last * QOS_SIZE_LEAST;
}

/* Another I/O of its load, somewhere, may go. */
static void
arrive(struct gauge *gauge, struct gauge_io *io)
{
	const struct gauge_load *load = load_of(gauge, io);

	io->offset = place(gauge, load->bytes);
	if (!gauge->task.switched) {
		list_push(&gauge->idle, &io->idle);
		return;
	}
	qos_io_init(&io->io, load->kind == QOS_READ ? QOS_OP_READ : QOS_OP_WRITE, load->bytes, 0);
	qos_arrive(&gauge->qos, &gauge->tenants[io->tenant], &io->io);
}

/* A tenant with a load comes. */
static void
tenant_begin(struct gauge *gauge, unsigned tenant, unsigned load)
{
	uint32_t depth = gauge->task.loads[load].depth;

	assert(tenant < GAUGE_TENANTS && depth <= GAUGE_DEPTH);
	qos_tenant_init(&gauge->tenants[tenant], NULL, 1);
	for (uint32_t i = 0; i < depth; i++) {
		struct gauge_io *io = &gauge->ios[tenant][i];

		io->load = load;
		io->tenant = tenant;
		list_init(&io->idle);
		arrive(gauge, io);
	}
}

void
gauge_begin(struct gauge *gauge, const struct gauge_task *task, uint64_t span, uint64_t now_ns)
{
	unsigned tenant = 0;

	gauge->task = *task;
	gauge->span = span;
	gauge->from_ns = now_ns + task->settle_ns;
	gauge->until_ns = task->whole ? UINT64_MAX : gauge->from_ns + task->measure_ns;
	gauge->left = span;
	gauge->next = 0;
	gauge->inflight = 0;
	list_init(&gauge->idle);
	rng_seed(&gauge->rng, now_ns);
	if (task->switched)
		qos_init(&gauge->qos, &task->params);
	for (unsigned load = 0; load < task->load_count; load++) {
		assert(task->loads[load].bytes <= span);
		hist_init(&gauge->latency[load]);
		for (unsigned i = 0; i < task->loads[load].tenants; i++)
			tenant_begin(gauge, tenant++, load);
	}
}

/* It goes on where too little has ended, be it that the device is slow or that nobody could look. */
static void
extend(struct gauge *gauge, uint64_t now_ns)
{
	uint64_t limit_ns = gauge->from_ns + LONGER * gauge->task.measure_ns;
	bool few = false;

	for (unsigned load = 0; load < gauge->task.load_count; load++)
		few = few || gauge->latency[load].count < ENOUGH;
	if (few && !gauge->task.whole && now_ns >= gauge->until_ns && now_ns < limit_ns)
		gauge->until_ns = now_ns + gauge->task.measure_ns;
}

static struct gauge_io *
take(struct gauge *gauge, uint64_t now_ns)
{
	struct qos_io *io;
	struct list *first;

	if (gauge->task.switched) {
		io = qos_next(&gauge->qos, now_ns);
		return io != NULL ? container_of(io, struct gauge_io, io) : NULL;
	}
	if (list_empty(&gauge->idle))
		return NULL;
	first = gauge->idle.next;
	list_remove(first);
	return container_of(first, struct gauge_io, idle);
}

struct gauge_io *
gauge_next(struct gauge *gauge, uint64_t now_ns)
{
	struct gauge_io *io;

	extend(gauge, now_ns);
	io = now_ns < gauge->until_ns ? take(gauge, now_ns) : NULL;
	if (io == NULL)
		return NULL;
	io->begun_ns = now_ns;
	gauge->inflight++;
	if (gauge->task.whole) {
		uint32_t bytes = load_of(gauge, io)->bytes;

		gauge->left -= bytes < gauge->left ? bytes : gauge->left;
		gauge->until_ns = gauge->left == 0 ? now_ns : UINT64_MAX;
	}
	return io;
}

uint64_t
gauge_deadline(struct gauge *gauge, uint64_t now_ns)
{
	uint64_t wants_ns = UINT64_MAX;

	if (gauge->task.switched && now_ns < gauge->until_ns)
		wants_ns = qos_deadline(&gauge->qos, now_ns);
	return wants_ns < gauge->until_ns ? wants_ns : gauge->until_ns;
}

void
gauge_ended(struct gauge *gauge, struct gauge_io *io, uint64_t now_ns)
{
	uint64_t latency_ns = now_ns - io->begun_ns;

	gauge->inflight--;
	extend(gauge, now_ns);
	if (now_ns >= gauge->from_ns && now_ns < gauge->until_ns)
		hist_add(&gauge->latency[io->load], latency_ns);
	if (gauge->task.switched)
		qos_done(&gauge->qos, &io->io, latency_ns, true, now_ns);
	if (now_ns < gauge->until_ns)
		arrive(gauge, io);
}

bool
gauge_over(const struct gauge *gauge, uint64_t now_ns)
{
	return now_ns >= gauge->until_ns && gauge->inflight == 0;
}

void
gauge_hear(const struct gauge *gauge, struct gauge_heard heard[GAUGE_LOADS])
{
	for (unsigned l = 0; l < gauge->task.load_count; l++) {
		const struct hist *latency = &gauge->latency[l];
		uint64_t us = (gauge->until_ns - gauge->from_ns) / 1000 + 1;

		heard[l] = (struct gauge_heard){ 0 };
		if (latency->count == 0)
			continue;
		heard[l].rate = latency->count * gauge->task.loads[l].bytes * 1000 / us * 1000;
		heard[l].median_ns = hist_quantile(latency, MEDIAN);
		heard[l].mean_ns = latency->sum / latency->count;
		heard[l].p99_ns = hist_quantile(latency, P99);
	}
}
