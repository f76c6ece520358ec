/*
 * Of what is sent between simulated processes single bits change, where the
 * network is said to do that, and nowhere else.  Both ends of each connection
 * send zeros: what is found to be anything else was changed on its way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "toy.h"

enum { MS = 1000 * 1000, TOTAL = 300 * 1000, SPARED = 128, CLIENTS = 2, HALF = 50 };

/* One end of a connection, and the bits it found changed. */
struct end {
	struct stream *stream;
	uint64_t sent, received, wrong, first_wrong;
};

struct talk {
	struct sim *sim;
	struct sim_process *server, *clients[CLIENTS];
	struct listener listener;
	struct end served[CLIENTS], asked[CLIENTS];
	unsigned accepted;
	uint64_t flips, segments; /* as the trace has it */
	uint64_t others; /* flips in first halves */
	uint64_t written[2 * CLIENTS + 1][2]; /* by each link's sides */
};

static void
note(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	struct talk *talk = arg;

	(void)now_ns;
	(void)actor;
	if (kind == SIM_FLIP)
		assert_true(a < TOTAL && b < 16);
	talk->others += kind == SIM_FLIP && a / HALF % 2 == 0;
	talk->flips += kind == SIM_FLIP;
	talk->segments += kind == SIM_BYTES;
}

static void
take(struct end *end)
{
	uint8_t bytes[4096];
	struct iovec iov = { bytes, sizeof(bytes) };
	ssize_t n = end->stream->ops->readv(end->stream, &iov, 1);

	for (ssize_t i = 0; i < n; i++, end->received++)
		for (unsigned bit = 0; bit < 8; bit++) {
			if (!(bytes[i] >> bit & 1))
				continue;
			if (end->wrong++ == 0)
				end->first_wrong = end->received;
		}
}

static void
give(struct end *end)
{
	static const uint8_t zeros[4096];
	struct iovec iov = { (void *)(uintptr_t)zeros, sizeof(zeros) };
	ssize_t n;

	if (iov.iov_len > TOTAL - end->sent)
		iov.iov_len = TOTAL - end->sent;
	n = end->stream->ops->writev(end->stream, &iov, 1);
	if (n > 0)
		end->sent += (uint64_t)n;
}

static void
ready(struct stream *stream, unsigned events)
{
	struct end *end = stream->owner;

	if (events & STREAM_READABLE)
		take(end);
	if (events & STREAM_WRITABLE && end->sent < TOTAL)
		give(end);
	stream->ops->wants(stream, STREAM_READABLE | (end->sent < TOTAL ? STREAM_WRITABLE : 0u));
}

static void
end_begin(struct end *end, struct stream *stream)
{
	*end = (struct end){ .stream = stream };
	stream->owner = end;
	stream->ready = ready;
	stream->ops->wants(stream, STREAM_READABLE | STREAM_WRITABLE);
}

static void
accepted(struct listener *listener, struct stream *stream)
{
	struct talk *talk = listener->owner;

	end_begin(&talk->served[talk->accepted++ % CLIENTS], stream);
}

static int
server_start(struct reactor *reactor, void *arg)
{
	struct talk *talk = arg;

	talk->listener = (struct listener){
		.host = "10.0.0.1", .port = 4420, .owner = talk, .accepted = accepted,
	};
	return reactor->world->listen(reactor, &talk->listener);
}

static int
client_start(struct reactor *reactor, void *arg)
{
	struct stream *stream;
	int rc = reactor->world->connect(reactor, "10.0.0.1", 4420, &stream);

	if (rc == 0)
		end_begin(arg, stream);
	return rc;
}

static void
talk_begin(struct talk *talk, size_t (*alike)(void *, const struct sim_process *, uint64_t, unsigned, const uint8_t *,
    size_t, bool *))
{
	struct sim_options options = sim_options_default();

	options.trace = note;
	options.alike = alike;
	options.arg = talk;
	*talk = (struct talk){ .sim = sim_create(1, &options) };
	talk->server = toy_process(talk->sim, "server", 1, server_start, talk);
	sim_run_until(talk->sim, MS, NULL, NULL);
}

/* The next client comes, is done, and the server with it. */
static void
talk_on(struct talk *talk, unsigned client)
{
	struct end *served = &talk->served[talk->accepted % CLIENTS], *asked = &talk->asked[client];

	if (talk->clients[client] == NULL)
		talk->clients[client] = toy_process(talk->sim, "client", 1, client_start, asked);
	else
		sim_process_start(talk->clients[client]);
	assert_int_equal(sim_run_until(talk->sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(asked->received, TOTAL);
	assert_int_equal(served->received, TOTAL);
}

static uint64_t
wrong(const struct talk *talk)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < CLIENTS; i++)
		bits += talk->served[i].wrong + talk->asked[i].wrong;
	return bits;
}

static void
one_bit_of_a_segment_changes_and_the_trace_says_so(void **state)
{
	struct talk talk;

	talk_begin(&talk, NULL);
	sim_process_flips(talk.server, 300000, SPARED);
	talk_on(&talk, 0);
	assert_true(talk.served[0].wrong > 0 && talk.asked[0].wrong > 0);
	assert_int_equal(wrong(&talk), talk.flips);
	assert_in_range(talk.flips, talk.segments / 5, talk.segments * 2 / 5);
	assert_true(talk.served[0].first_wrong >= SPARED && talk.asked[0].first_wrong >= SPARED);
	sim_destroy(talk.sim);
}

/* All that is changed is what the last byte that is not spared can be. */
static void
the_first_bytes_of_a_connection_are_let_alone(void **state)
{
	struct talk talk;

	talk_begin(&talk, NULL);
	sim_process_flips(talk.server, 1000000, TOTAL - 1);
	talk_on(&talk, 0);
	assert_int_equal(wrong(&talk), 2);
	assert_int_equal(talk.served[0].first_wrong, TOTAL - 1);
	assert_int_equal(talk.asked[0].first_wrong, TOTAL - 1);
	sim_process_flips(talk.server, 1000000, TOTAL);
	talk_on(&talk, 1);
	assert_int_equal(wrong(&talk), 2);
	sim_destroy(talk.sim);
}

static void
only_who_is_meant_has_wrong_bytes_also_when_it_comes_again(void **state)
{
	struct talk talk;
	uint64_t before;

	talk_begin(&talk, NULL);
	talk_on(&talk, 0);
	sim_process_flips(talk.clients[0], 100000, SPARED);
	talk_on(&talk, 1);
	assert_int_equal(wrong(&talk), 0);
	sim_process_crash(talk.clients[0], 0);
	talk_on(&talk, 0);
	before = wrong(&talk);
	assert_true(before > 0);
	assert_int_equal(talk.asked[1].wrong, 0);
	sim_process_flips(talk.clients[0], 0, 0);
	sim_process_crash(talk.clients[0], 0);
	before = talk.flips;
	talk_on(&talk, 0);
	assert_int_equal(talk.flips, before);
	assert_int_equal(talk.asked[0].wrong, 0);
	sim_destroy(talk.sim);
}

/* Of each hundred bytes the second half may change. */
static size_t
by_halves(void *arg, const struct sim_process *connected, uint64_t link, unsigned side, const uint8_t *bytes,
    size_t count, bool *may)
{
	struct talk *talk = arg;
	uint64_t *at = &talk->written[link][side];
	size_t left = HALF - *at % HALF;

	assert_ptr_equal(connected, talk->clients[link - 1]);
	assert_int_equal(bytes[0] | bytes[count - 1], 0);
	*may = *at / HALF % 2 == 1;
	*at += count < left ? count : left;
	return count < left ? count : left;
}

static void
who_knows_the_bytes_says_which_may_change(void **state)
{
	struct talk talk;

	talk_begin(&talk, by_halves);
	sim_process_flips(talk.server, 1000000, 0);
	talk_on(&talk, 0);
	talk_on(&talk, 1);
	assert_int_equal(wrong(&talk), talk.flips);
	assert_true(talk.flips >= 4 * TOTAL / (2 * HALF)); /* one of each at least */
	assert_int_equal(talk.others, 0);
	sim_destroy(talk.sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_bit_of_a_segment_changes_and_the_trace_says_so),
		cmocka_unit_test(the_first_bytes_of_a_connection_are_let_alone),
		cmocka_unit_test(who_knows_the_bytes_says_which_may_change),
		cmocka_unit_test(only_who_is_meant_has_wrong_bytes_also_when_it_comes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
