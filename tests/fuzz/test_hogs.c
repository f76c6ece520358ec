/*
 * test_hogs.c - connections that anybody may have take nothing from those that
 * have work to do, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster.h"
#include "script_client.h"
#include "wire/fabrics.h"
#include "wire/feature.h"
#include "wire/log.h"

enum {
	HOGS = 24, BLOCK = 4096, MS = 1000 * 1000, STEP_MS = 10, SIP_MS = 300, SIP = 64 * 1024, COMMANDS = 100,
	RUDE_STEP = 100, LONG = 1024 * 1024,
};

static const uint64_t second = 1000 * MS;

enum kind {
	DEAF,    /* asks for long answers and takes none */
	SLOW,    /* and takes some of it, now and then */
	OWING,   /* says it has data for admin commands, and sends none when asked */
	HALF,    /* sends half of its Connect */
	WRITER,  /* has an I/O queue, asks for long reads and takes none, and writes */
	RUDE,    /* sends what is no PDU, again and again on connections that are new each time */
	READER,  /* asks for one long answer and takes it */
};

struct hog {
	enum kind kind;
	struct client client, io; /* io: a WRITER's other one */
	struct timer timer;
	unsigned step;
	uint64_t got; /* bytes */
};

struct hogs {
	unsigned count, asks; /* how many, and of how many commands each */
	struct hog hog[HOGS];
};

static void
dial(struct hog *hog, struct client *client)
{
	struct pdu_ic ic = { .ch = { .type = PDU_ICREQ } };

	assert_int_equal(client->reactor->world->connect(client->reactor, "10.0.0.1", CLUSTER_PORT, &client->stream),
	    0);
	client->stream->owner = client;
	client->stream->ready = client_ready;
	client->deaf = hog->kind == DEAF || hog->kind == SLOW || client == &hog->io;
	client_listen(client);
	client_put_pdu(client, &ic, sizeof(ic), NULL, 0);
}

static void
connect_queue(struct hog *hog, struct client *client)
{
	bool io = client == &hog->io;
	struct nvme_connect_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_CONNECT, .sqsize = le16_of(127), .cattr = NVME_CATTR_NO_SQ_FLOW,
		.qid = le16_of(io),
	};
	struct nvme_connect_data data = {
		.hostid = { 9 }, .cntlid = le16_of(io ? hog->client.cntlid : NVME_CNTLID_DYNAMIC),
		.hostnqn = "nqn.2026-11.local.weir:hog",
	};
	struct nvme_sqe plain;

	snprintf(data.subnqn, sizeof(data.subnqn), "%s", hog->kind == WRITER ? CLUSTER_NQN : NVME_DISCOVERY_NQN);
	memcpy(&plain, &sqe, sizeof(plain));
	client->connecting = !io;
	client_put_command(client, &plain, &data, sizeof(data));
	if (hog->kind == HALF)
		hog->client.out_to -= sizeof(data) / 2;
}

static void
enable(struct hog *hog)
{
	struct nvme_sqe sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES);

	client_put_command(&hog->client, &sqe, NULL, 0);
}

static void
ask(struct hog *hog)
{
	uint32_t dwords = LONG / 4 - 1;
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_GET_LOG_PAGE,
		.cdw10 = le32_of(NVME_LOG_DISCOVERY | (dwords & 0xffff) << 16), .cdw11 = le32_of(dwords >> 16),
		.sgl1 = { .length = le32_of(LONG), .id = NVME_SGL_TRANSPORT },
	};

	if (hog->kind == OWING)
		sqe = (struct nvme_sqe){
			.opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_TIMESTAMP),
			.sgl1 = { .length = le32_of(8192), .id = NVME_SGL_TRANSPORT },
		};
	client_put_command(&hog->client, &sqe, NULL, 0);
}

/* First reads, until nothing more fits into the socket, then writes, whose answers do not. */
static void
read_or_write(struct hog *hog)
{
	static const uint8_t data[2 * BLOCK];
	bool write = hog->step > 6;
	struct nvme_sqe sqe = {
		.opcode = write ? NVME_WRITE : NVME_READ, .nsid = le32_of(1), .cdw10 = le32_of(3000),
		.cdw12 = le32_of(write ? 1 : 15), .sgl1 = { .length = le32_of(16 * BLOCK), .id = NVME_SGL_TRANSPORT },
	};

	for (unsigned i = 0; i < (write ? 10 : 40); i++)
		client_put_command(&hog->io, &sqe, data, write ? sizeof(data) : 0);
	client_push(&hog->io);
}

static void
sip(struct hog *hog)
{
	struct iovec iov = { hog->client.reactor->scratch, SIP };
	ssize_t got = hog->client.stream != NULL ? hog->client.stream->ops->readv(hog->client.stream, &iov, 1) : 0;

	if (got == 0)
		client_leave(&hog->client, true);
	else if (got > 0)
		hog->got += (uint64_t)got;
}

/* The connection, ended or not, is left for a new one, and what is sent there is no PDU. */
static void
be_rude(struct hog *hog)
{
	static const uint8_t nonsense[8] = { 0xff, 0, 8, 0, 8 };

	client_leave(&hog->client, true);
	dial(hog, &hog->client);
	client_put(&hog->client, nonsense, sizeof(nonsense));
	hog->got++;
}

/* Of a reader: what comes is counted. */
static void
count(struct stream *stream, unsigned events)
{
	struct client *client = stream->owner;
	struct hog *hog = container_of(client, struct hog, client);
	struct iovec iov = { client->reactor->scratch, REACTOR_SCRATCH };
	ssize_t got;

	(void)events;
	while ((got = stream->ops->readv(stream, &iov, 1)) > 0)
		hog->got += (uint64_t)got;
}

static void
next(struct timer *timer)
{
	struct hog *hog = container_of(timer, struct hog, timer);
	struct hogs *hogs = hog->client.reactor->owner;
	uint64_t wait = STEP_MS;

	switch (hog->kind == RUDE ? RUDE_STEP : hog->step++) {
	case RUDE_STEP:
		be_rude(hog);
		if (hog->got == hogs->asks)
			return;
		wait = hog->got == hogs->asks / 2 ? 70 * 1000 : 50;
		break;
	case 0:
		dial(hog, &hog->client);
		break;
	case 1:
		connect_queue(hog, &hog->client);
		break;
	case 2:
		if (hog->kind == HALF)
			return;
		enable(hog);
		break;
	case 3:
		if (hog->kind == WRITER) {
			dial(hog, &hog->io);
			client_push(&hog->io);
			break;
		}
		if (hog->kind == READER)
			hog->client.stream->ready = count;
		for (unsigned i = 0; i < (hog->kind == READER ? 1 : hogs->asks); i++)
			ask(hog);
		break;
	case 4:
		if (hog->kind == WRITER) {
			connect_queue(hog, &hog->io);
			client_push(&hog->io);
			break;
		}
		__attribute__((fallthrough));
	default:
		if (hog->kind == WRITER && hog->step < 12)
			read_or_write(hog);
		else if (hog->kind == SLOW)
			sip(hog);
		else
			return;
		wait = SIP_MS;
	}
	client_push(&hog->client);
	timer_set(&hog->client.reactor->timers, timer, hog->client.reactor->now_ns + wait * MS);
}

static int
hogs_start(struct reactor *reactor, void *arg)
{
	struct hogs *hogs = arg;

	reactor->owner = hogs;
	for (unsigned i = 0; i < hogs->count; i++) {
		hogs->hog[i].client.reactor = hogs->hog[i].io.reactor = reactor;
		hogs->hog[i].timer.fire = next;
		next(&hogs->hog[i].timer);
	}
	return 0;
}

static unsigned
connected(const struct hogs *hogs)
{
	unsigned count = 0;

	for (unsigned i = 0; i < hogs->count; i++)
		count += hogs->hog[i].client.stream != NULL &&
		    (hogs->hog[i].kind != WRITER || hogs->hog[i].io.stream != NULL);
	return count;
}

/* A target of one reactor, with the fewest buffers there may be, and hogs that have been at it for a while. */
struct scene {
	struct cluster_target target;
	struct hogs *hogs;
	struct sim *sim;
	uint64_t said, left_out; /* lines of the target's log, and those that it says there were more */
};

static void
count_line(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	struct scene *scene = arg;

	(void)process;
	(void)reactor;
	(void)level;
	if (strstr(text, " more lines about peers were left out") != NULL)
		scene->left_out += strtoull(text, NULL, 10);
	else
		scene->said++;
}

static void
begin(struct scene *scene, uint64_t seed, unsigned count, unsigned asks, enum kind kind)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options served = {
		.reactor = { 16, 16 }, .start = cluster_target_start, .arg = &scene->target, .address = "10.0.0.1",
	};
	struct sim_process_options hogs = { .start = hogs_start };

	*scene = (struct scene){
		.target = { .host = "10.0.0.1", .spec = "file:volume.img,size=16M", .reactors = 1,
			.stall_timeout_ms = 1000 * 1000 },
		.hogs = calloc(1, sizeof(*scene->hogs)),
	};
	assert_non_null(scene->hogs);
	scene->hogs->count = count;
	scene->hogs->asks = asks;
	for (unsigned i = 0; i < count; i++)
		scene->hogs->hog[i].kind = kind;
	hogs.arg = scene->hogs;
	options.reset_ppm = 0;
	options.log = count_line;
	options.arg = scene;
	scene->sim = sim_create(seed, &options);
	sim_process_create(scene->sim, "target", 1, &served);
	sim_process_create(scene->sim, "hogs", 1, &hogs);
}

static void
end(struct scene *scene)
{
	sim_destroy(scene->sim);
	free(scene->hogs);
}

static bool
finished(void *arg)
{
	return ((struct cluster_host *)arg)->finished;
}

/* A host does all its work beside them, long before any of them is ended, in transfers of either kind of buffer. */
static void
work_beside(enum kind kind, unsigned count)
{
	static const uint32_t slots[] = { 64 * 1024, 16 * 1024 };

	for (unsigned i = 0; i < 2; i++) {
		struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = slots[i], .ios = 200 };
		struct sim_process_options options = { .start = cluster_host_start, .arg = &host };
		struct scene scene;

		begin(&scene, i, count, COMMANDS, kind);
		sim_run_until(scene.sim, 2 * second, NULL, NULL);
		sim_process_create(scene.sim, "host", 1, &options);
		sim_run_until(scene.sim, 4 * second, finished, &host);
		assert_true(host.finished && host.done_ios >= 200);
		assert_int_equal(host.failures + host.losses + host.wrong, 0);
		assert_int_equal(connected(scene.hogs), count);
		end(&scene);
	}
}

static void
admin_answers_that_nobody_takes_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(DEAF, HOGS);
}

static void
admin_answers_that_are_taken_slowly_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(SLOW, HOGS);
}

static void
data_that_admin_commands_lack_keeps_nothing_from_io(void **state)
{
	(void)state;
	work_beside(OWING, HOGS);
}

static void
connects_that_do_not_end_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(HALF, HOGS);
}

static void
the_data_of_a_write_is_not_kept_until_its_answer_is_taken(void **state)
{
	(void)state;
	work_beside(WRITER, 4);
}

static void
who_leaves_a_long_answer_lying_stays_until_others_wait_for_the_memory(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1, 2, 1, DEAF);
	sim_run_until(scene.sim, 60 * second, NULL, NULL);
	assert_int_equal(connected(scene.hogs), 2);
	end(&scene);

	begin(&scene, 1, 5, 1, DEAF);
	scene.hogs->hog[4].kind = READER;
	sim_run_until(scene.sim, 2 * second, NULL, NULL);
	assert_int_equal(connected(scene.hogs), 5);
	assert_true(scene.hogs->hog[4].got < LONG);
	sim_run_until(scene.sim, 60 * second, NULL, NULL);
	assert_true(scene.hogs->hog[4].got >= LONG);
	end(&scene);
}

/* Each gets all that it asked for, one long answer after the other. */
static void
who_reads_slowly_is_let_be_where_there_is_memory_for_all(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1, 2, 3, SLOW);
	sim_run_until(scene.sim, 60 * second, NULL, NULL);
	assert_int_equal(connected(scene.hogs), 2);
	assert_true(scene.hogs->hog[0].got > 3 * LONG && scene.hogs->hog[1].got > 3 * LONG);
	end(&scene);
}

/* Of 500 connections in 25 s each has a line, and after more than a minute so have 500 others. */
static void
rude_peers_do_not_fill_the_log(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1, 1, 1000, RUDE);
	sim_run_until(scene.sim, 59 * second, NULL, NULL);
	assert_int_equal(scene.hogs->hog[0].got, 500);
	assert_int_equal(scene.said, 20);
	assert_int_equal(scene.left_out, 0);
	sim_run_until(scene.sim, 90 * second, NULL, NULL);
	assert_int_equal(scene.said, 20);
	assert_int_equal(scene.left_out, 480);
	sim_run_until(scene.sim, 200 * second, NULL, NULL);
	assert_int_equal(scene.hogs->hog[0].got, 1000);
	assert_int_equal(scene.said, 40);
	assert_int_equal(scene.left_out, 960);
	end(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admin_answers_that_nobody_takes_keep_nothing_from_io),
		cmocka_unit_test(admin_answers_that_are_taken_slowly_keep_nothing_from_io),
		cmocka_unit_test(data_that_admin_commands_lack_keeps_nothing_from_io),
		cmocka_unit_test(connects_that_do_not_end_keep_nothing_from_io),
		cmocka_unit_test(the_data_of_a_write_is_not_kept_until_its_answer_is_taken),
		cmocka_unit_test(who_leaves_a_long_answer_lying_stays_until_others_wait_for_the_memory),
		cmocka_unit_test(who_reads_slowly_is_let_be_where_there_is_memory_for_all),
		cmocka_unit_test(rude_peers_do_not_fill_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
