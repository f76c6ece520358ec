/*
 * qos.c - the program weir-qos-bench: what does the switch cost?
 *
 *   weir-qos-bench [--tenants N] [--ios N] [--batch N] [--equal] [--seed N]
 *
 * Tenants that always have I/Os waiting, on a device that has as much to do as it can: of each I/O its arrival, its
 * turn and its end, which a second of this processor does so many times.  As a reactor does, in turns: so many I/Os end
 * in each (one, where --batch says nothing else), their tenants ask again, and then whoever may go goes.  With more
 * than one tenant weights are from 1 to 100, and sizes from 1 to 128 KiB and writes, a third, are with one too; with
 * --equal all weights are 1, and all I/Os reads of 4 KiB.  What comes next is drawn, so that no processor knows it by
 * heart: of one tenant it would, were the same 64 I/Os to come again and again.  Prints what it took, as one JSON
 * object; an eighth of the I/Os before that are not counted.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "cpu.h"
#include "qos/qos.h"

enum {
	TENANTS_MAX = 100000,
	DEPTH = 64,                /* I/Os of each tenant */
	FLYING_MAX = 4096,
	DEVICE_NS = 80 * 1000,     /* what each takes, beside its bytes */
	DEVICE_BYTES_PER_US = 3000,
	DRAWN = 64 * 1024,         /* I/Os, until they come again */
};

struct request {
	struct qos_io io;
	struct qos_tenant *tenant;
	uint64_t end_ns;
};

struct drawn {
	uint8_t op;                /* enum qos_op */
	uint8_t kib_shift;
};

struct bench {
	struct qos_params params;
	struct qos qos;
	struct qos_tenant *tenants;
	struct request *requests;
	struct request *flying[FLYING_MAX]; /* in the order in which they end */
	uint32_t first, last;
	struct drawn drawn[DRAWN];
	uint32_t arrived;
	uint32_t tenant_count;
	bool equal;
	uint32_t batch;            /* I/Os that end in a turn */
	uint64_t turns;
	uint64_t now_ns, busy_ns, bytes;
};

static void
arrive(struct bench *bench, struct request *request)
{
	const struct drawn *drawn = &bench->drawn[bench->arrived++ % DRAWN];

	qos_io_init(&request->io, (enum qos_op)drawn->op, UINT64_C(1024) << drawn->kib_shift, 0);
	qos_arrive(&bench->qos, request->tenant, &request->io);
}

static void
draw(struct bench *bench, struct rng *rng)
{
	for (uint32_t i = 0; i < DRAWN; i++) {
		bench->drawn[i] = (struct drawn){ .op = QOS_OP_READ, .kib_shift = 2 };
		if (bench->equal)
			continue;
		bench->drawn[i].kib_shift = (uint8_t)rng_below(rng, 8);
		if (rng_below(rng, 3) == 0)
			bench->drawn[i].op = QOS_OP_WRITE;
	}
}

static void
make_requests(struct bench *bench, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	draw(bench, &rng);
	for (uint32_t t = 0; t < bench->tenant_count; t++) {
		bool alone = bench->tenant_count == 1 || bench->equal;

		qos_tenant_init(&bench->tenants[t], NULL, alone ? 1 : 1 + (uint32_t)rng_below(&rng, 100));
		for (uint32_t i = 0; i < DEPTH; i++) {
			struct request *request = &bench->requests[t * DEPTH + i];

			request->tenant = &bench->tenants[t];
			arrive(bench, request);
		}
	}
}

/* One after the other, as fast as it can move their bytes. */
static void
begin(struct bench *bench, struct qos_io *io)
{
	struct request *request = container_of(io, struct request, io);

	if (bench->busy_ns < bench->now_ns)
		bench->busy_ns = bench->now_ns;
	bench->busy_ns += (uint64_t)io->bytes * 1000 / DEVICE_BYTES_PER_US;
	request->end_ns = bench->busy_ns + DEVICE_NS;
	bench->flying[bench->last++ % FLYING_MAX] = request;
}

/* The first so many end in this turn, and their tenants ask again. */
static void
end_some(struct bench *bench, uint32_t count)
{
	uint32_t last = bench->first + count;

	for (uint32_t i = bench->first; i != last; i++) {
		struct request *request = bench->flying[i % FLYING_MAX];

		bench->bytes += request->io.bytes;
		qos_done(&bench->qos, &request->io, bench->now_ns - request->io.begun_ns, true, bench->now_ns);
	}
	for (; bench->first != last; bench->first++)
		arrive(bench, bench->flying[bench->first % FLYING_MAX]);
}

/* A turn comes when a batch has ended; where fewer are flying, when all of them have, or the switch wants to be asked.
 * How many have ended; none, and it is no later than before: nothing will ever happen. */
static uint32_t
wait(struct bench *bench)
{
	uint64_t ready_ns = qos_deadline(&bench->qos, bench->now_ns);
	uint32_t count = bench->last - bench->first;

	if (count >= bench->batch)
		count = bench->batch;
	else
		while (count > 0 && bench->flying[(bench->first + count - 1) % FLYING_MAX]->end_ns > ready_ns)
			count--;
	if (count > 0)
		bench->now_ns = bench->flying[(bench->first + count - 1) % FLYING_MAX]->end_ns;
	else if (ready_ns != UINT64_MAX)
		bench->now_ns = ready_ns;
	return count;
}

static bool
run(struct bench *bench, uint64_t ios)
{
	while (ios > 0) {
		uint64_t before_ns = bench->now_ns;
		struct qos_io *io;
		uint32_t count;

		while ((io = qos_next(&bench->qos, bench->now_ns)) != NULL)
			begin(bench, io);
		count = wait(bench);
		if (bench->now_ns == before_ns)
			return false;
		end_some(bench, count);
		bench->turns++;
		ios -= count < ios ? count : ios;
	}
	return true;
}

static bool
read_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	*number = strtoull(text, &end, 10);
	return *end == '\0' && end != text && *number >= 1 && *number <= most;
}

static bool
read_options(int argc, char **argv, struct bench *bench, uint64_t *ios, uint64_t *seed)
{
	static const struct option options[] = {
		{ "tenants", required_argument, NULL, 't' }, { "ios", required_argument, NULL, 'i' },
		{ "batch", required_argument, NULL, 'b' },
		{ "seed", required_argument, NULL, 's' }, { "equal", no_argument, NULL, 'e' }, { 0 },
	};
	uint64_t tenants = 1, batch = 1;
	bool right = true;
	int c;

	while (right && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 't':
			right = read_number(optarg, TENANTS_MAX, &tenants);
			break;
		case 'i':
			right = read_number(optarg, UINT64_C(1) << 40, ios);
			break;
		case 'b':
			right = read_number(optarg, 1024, &batch);
			break;
		case 's':
			right = read_number(optarg, UINT64_MAX, seed);
			break;
		case 'e':
			bench->equal = true;
			break;
		default:
			right = false;
		}
	bench->tenant_count = (uint32_t)tenants;
	bench->batch = (uint32_t)batch;
	return right && optind == argc;
}

int
main(int argc, char **argv)
{
	static struct bench bench = { .now_ns = 1000000000 };
	uint64_t ios = 1000000, seed = 1, began_ns, virtual_ns;

	if (!read_options(argc, argv, &bench, &ios, &seed)) {
		fprintf(stderr, "usage: weir-qos-bench [--tenants N] [--ios N] [--batch N] [--equal] [--seed N]\n");
		return 2;
	}
	qos_params_default(&bench.params);
	qos_init(&bench.qos, &bench.params);
	bench.tenants = calloc(bench.tenant_count, sizeof(*bench.tenants));
	bench.requests = calloc((size_t)bench.tenant_count * DEPTH, sizeof(*bench.requests));
	if (bench.tenants == NULL || bench.requests == NULL) {
		fprintf(stderr, "weir-qos-bench: there is no memory for that\n");
		return 1;
	}
	make_requests(&bench, seed);
	if (!run(&bench, ios / 8))
		return 1;
	bench.bytes = bench.turns = 0;
	virtual_ns = bench.now_ns;
	began_ns = cpu_ns();
	if (!run(&bench, ios))
		return 1;
	printf("{\"ios\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"virtual_ns\": %" PRIu64
	    ", \"turns\": %" PRIu64 "}\n", ios, cpu_ns() - began_ns, bench.bytes, bench.now_ns - virtual_ns,
	    bench.turns);
	free(bench.tenants);
	free(bench.requests);
	return 0;
}
