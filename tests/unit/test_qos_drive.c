/* test_qos_drive.c - the switch in front of a modelled SSD: equal tenants get equal parts of what each had alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/condition.h"
#include "flash/drive.h"
#include "qos/qos.h"

enum { TENANTS = 16, DEPTH = 32, KIB = 1024, MS = 1000 * 1000 };

enum { SETTLE_MS = 150, MEASURE_MS = 350 };

struct load {
	enum qos_op op;
	uint32_t bytes, depth;
};

struct request {
	struct qos_io io;
	struct drive_cmd cmd;
	int tenant;
	uint64_t begun_ns;
};

struct bench {
	struct arena arena;
	struct drive *drive;
	uint64_t bytes; /* of the drive */
	struct qos_params params;
	struct qos qos;
	bool switched;
	struct qos_tenant tenants[TENANTS];
	struct load loads[TENANTS];
	struct request requests[TENANTS][DEPTH];
	uint64_t went[TENANTS];
	struct rng rng;
	uint64_t now_ns;
};

/* The paper's drive, written all over. */
static void
begin(struct bench *b)
{
	struct drive_options options = { .seed = 1 };
	struct condition fragmented = condition_of(CONDITION_FRAGMENTED, 1);
	char why[FLASH_WHY];

	*b = (struct bench){ 0 };
	arena_init(&b->arena, 0);
	assert_int_equal(flash_profile_find(&b->arena, "tlc-plp", &options.profile), 0);
	assert_int_equal(flash_geometry_init(&options.geometry, &options.profile, UINT64_C(1) << 30, why), 0);
	assert_int_equal(drive_create(&b->arena, &options, &b->drive), 0);
	condition_make(drive_ftl(b->drive), &fragmented);
	b->bytes = options.geometry.units * options.geometry.unit_bytes;
	rng_seed(&b->rng, 1);
}

static void
finish(struct bench *b)
{
	drive_destroy(b->drive);
	arena_drop(&b->arena);
}

static void
submit(struct bench *b, struct request *request)
{
	request->begun_ns = b->now_ns;
	drive_submit(b->drive, &request->cmd, b->now_ns);
}

/* Another one of its tenant's, anywhere. */
static void
arrive(struct bench *b, struct request *request)
{
	const struct load *load = &b->loads[request->tenant];
	uint64_t places = (b->bytes - load->bytes) / (4 * KIB) + 1;

	request->cmd = (struct drive_cmd){
		.op = load->op == QOS_OP_READ ? DRIVE_READ : DRIVE_WRITE, .bytes = load->bytes, .owner = request,
		.offset = rng_below(&b->rng, places) * 4 * KIB,
	};
	if (!b->switched) {
		submit(b, request);
		return;
	}
	qos_io_init(&request->io, load->op, load->bytes, 0);
	qos_arrive(&b->qos, &b->tenants[request->tenant], &request->io);
}

/* What may go goes, and the first one that ends ends; nothing after `until_ns`. */
static void
step(struct bench *b, uint64_t until_ns)
{
	uint64_t next_ns = until_ns;
	struct drive_cmd *cmd;
	struct request *request;
	struct qos_io *io;

	if (b->switched) {
		while ((io = qos_next(&b->qos, b->now_ns)) != NULL)
			submit(b, container_of(io, struct request, io));
		next_ns = qos_deadline(&b->qos, b->now_ns);
		next_ns = next_ns < until_ns ? next_ns : until_ns;
	}
	cmd = drive_run(b->drive, next_ns);
	if (cmd == NULL) {
		b->now_ns = next_ns;
		return;
	}
	request = cmd->owner;
	b->now_ns = cmd->end_ns;
	b->went[request->tenant] += cmd->bytes;
	if (b->switched)
		qos_done(&b->qos, &request->io, b->now_ns - request->begun_ns, true, b->now_ns);
	arrive(b, request);
}

/* So many tenants, one half with either load; how many bytes each has moved in a while. */
static void
run(struct bench *b, int tenants, const struct load loads[2])
{
	if (b->switched)
		qos_init(&b->qos, &b->params);
	for (int t = 0; t < tenants; t++) {
		b->loads[t] = loads[t * 2 / tenants];
		qos_tenant_init(&b->tenants[t], NULL, 1);
		for (uint32_t i = 0; i < b->loads[t].depth; i++) {
			b->requests[t][i].tenant = t;
			arrive(b, &b->requests[t][i]);
		}
	}
	while (b->now_ns < (uint64_t)SETTLE_MS * MS)
		step(b, (uint64_t)SETTLE_MS * MS);
	for (int t = 0; t < tenants; t++)
		b->went[t] = 0;
	while (b->now_ns < (uint64_t)(SETTLE_MS + MEASURE_MS) * MS)
		step(b, (uint64_t)(SETTLE_MS + MEASURE_MS) * MS);
}

/* What a tenant moves that has the drive for itself, without the switch; measured once. */
static uint64_t
alone(const struct load *load)
{
	static struct {
		struct load load;
		uint64_t went;
	} known[8];
	const struct load loads[2] = { *load, *load };
	struct bench b;
	int n = 0;

	while (known[n].went > 0 && (known[n].load.op != load->op || known[n].load.bytes != load->bytes))
		n++;
	assert_in_range(n, 0, 7);
	if (known[n].went == 0) {
		begin(&b);
		run(&b, 1, loads);
		known[n].load = *load;
		known[n].went = b.went[0];
		finish(&b);
	}
	return known[n].went;
}

static const struct load small_reads = { QOS_OP_READ, 4 * KIB, 32 }, large_reads = { QOS_OP_READ, 128 * KIB, 8 };
static const struct load small_writes = { QOS_OP_WRITE, 4 * KIB, 32 }, large_writes = { QOS_OP_WRITE, 128 * KIB, 8 };

/* Of what tenants have beside others and had alone, in hundredths: the most over the least. */
static uint64_t
spread(int tenants, const struct load loads[2], bool switched)
{
	uint64_t most = 0, least = UINT64_MAX;
	struct bench b;

	begin(&b);
	b.switched = switched;
	qos_params_default(&b.params);
	b.params.write_cost_worst = (uint32_t)(alone(&large_reads) * QOS_COST_ONE / alone(&large_writes));
	b.params.size_cost[QOS_READ][0] = (uint32_t)(alone(&large_reads) * QOS_COST_ONE / alone(&small_reads));
	assert_null(qos_params_wrong(&b.params));
	run(&b, tenants, loads);
	for (int t = 0; t < tenants; t++) {
		uint64_t part = b.went[t] * 10000 / alone(&loads[t * 2 / tenants]);

		most = part > most ? part : most;
		least = part < least ? part : least;
	}
	finish(&b);
	return most * 100 / least;
}

static void
sizes_have_equal_parts(void **state)
{
	const struct load loads[2] = { small_reads, large_reads };

	(void)state;
	for (int tenants = 2; tenants <= TENANTS; tenants *= tenants)
		assert_in_range(spread(tenants, loads, true), 100, 125);
	assert_true(spread(2, loads, false) > 160);
}

static void
readers_and_writers_have_equal_parts(void **state)
{
	const struct load loads[2] = { small_reads, small_writes };

	(void)state;
	for (int tenants = 2; tenants <= TENANTS; tenants *= tenants)
		assert_in_range(spread(tenants, loads, true), 100, 135);
}

/* The published code took a count for the latency of writes, so that what they cost only ever fell; and told a cost
 * that was not the one that it used. */
static void
writes_go_on_costing_what_they_do(void **state)
{
	const struct load loads[2] = { small_writes, small_writes };
	struct bench b;

	(void)state;
	begin(&b);
	b.switched = true;
	qos_params_default(&b.params);
	b.params.write_cost_ns = 10 * MS;
	run(&b, 4, loads);
	assert_int_equal(b.qos.cost.write, b.params.write_cost_worst);
	assert_int_equal(b.requests[0][0].io.weight, 4 * KIB * b.params.write_cost_worst / QOS_COST_ONE);
	finish(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_equal_parts),
		cmocka_unit_test(readers_and_writers_have_equal_parts),
		cmocka_unit_test(writes_go_on_costing_what_they_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
