#include "qos_bench.h"

#include <string.h>

void
bench_begin(struct bench *b, int tenants)
{
	memset(b, 0, sizeof(*b));
	b->now = S;
	if (b->params.slots == 0)
		qos_params_default(&b->params);
	qos_init(&b->qos, &b->params);
	assert_null(qos_next(&b->qos, b->now));
	for (int t = 0; t < tenants; t++)
		qos_tenant_init(&b->tenants[t], NULL, 1);
}

void
bench_arrive(struct bench *b, int t, int i, enum qos_op op, uint64_t bytes)
{
	assert_int_equal(b->where[t][i], OUT);
	b->where[t][i] = WAITS;
	qos_io_init(&b->ios[t][i], op, bytes, 0);
	qos_arrive(&b->qos, &b->tenants[t], &b->ios[t][i]);
}

static enum where *
where_of(struct bench *b, const struct qos_io *io)
{
	int t = (int)(io->tenant - b->tenants);

	return &b->where[t][io - b->ios[t]];
}

struct qos_io *
bench_go(struct bench *b)
{
	struct qos_io *io = qos_next(&b->qos, b->now);

	if (io == NULL)
		return NULL;
	assert_int_equal(*where_of(b, io), WAITS);
	*where_of(b, io) = FLIES;
	b->went[io->tenant - b->tenants] += io->bytes;
	return io;
}

void
bench_end(struct bench *b, struct qos_io *io, uint64_t latency_ns)
{
	assert_int_equal(*where_of(b, io), FLIES);
	*where_of(b, io) = OUT;
	qos_done(&b->qos, io, latency_ns, true, b->now);
}
