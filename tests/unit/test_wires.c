/*
 * Of what a host sends and receives those bytes may change that a digest is of, however the stream is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "trial/internal.h"
#include "wire/pdu.h"

enum { STREAM = 2048 };

/* What one side sends, and which of it may change. */
struct sent {
	uint8_t bytes[STREAM];
	bool may[STREAM];
	size_t count;
	bool hdgst, ddgst;
};

static void
part(struct sent *sent, size_t bytes, bool may)
{
	memset(sent->may + sent->count, may, bytes);
	sent->count += bytes;
}

/* A PDU with so many bytes of data, behind some padding. */
static void
pdu(struct sent *sent, uint8_t type, uint8_t hlen, size_t pad, size_t data)
{
	size_t begun = sent->count, head = hlen + (sent->hdgst ? PDU_DIGEST_LEN : 0u);
	bool digests = type >= PDU_CAPSULE_CMD;
	uint8_t *ch = sent->bytes + begun;

	if (!digests) {
		part(sent, hlen, false);
	} else {
		part(sent, head, sent->hdgst);
		part(sent, pad, false);
		part(sent, data > 0 ? data + (sent->ddgst ? PDU_DIGEST_LEN : 0u) : 0, sent->ddgst);
	}
	ch[0] = type;
	ch[2] = hlen;
	ch[3] = (uint8_t)(data > 0 ? head + pad : 0);
	put_le32(ch + 4, (uint32_t)(sent->count - begun));
}

/* In pieces of `step` bytes; but of a header that is cut its first bytes may be let alone. */
static void
check(struct trial *trial, uint64_t link, const struct sent *sent, size_t step)
{
	size_t at = 0, end, n;

	while (at < sent->count)
		for (end = at + step < sent->count ? at + step : sent->count; at < end; at += n) {
			bool may = false;

			n = wires_alike(trial, trial->users[0].process, link, 1, sent->bytes + at, end - at, &may);
			assert_in_range(n, 1, end - at);
			for (size_t i = at; i < at + n; i++)
				assert_true(may == sent->may[i] || (!may && step < sent->count));
		}
}

static void
what_has_a_digest_may_change_and_nothing_else(void **state)
{
	static uint8_t process;

	for (unsigned digests = 0; digests < 4; digests++) {
		static struct plan plan;
		struct user user = {
			.hdgst = digests & 1, .ddgst = digests & 2, .process = (struct sim_process *)(void *)&process,
		};
		struct trial trial = { .plan = &plan, .users = &user };
		struct sent sent = { .hdgst = user.hdgst, .ddgst = user.ddgst };
		uint64_t link = 0;

		plan.knobs[KNOB_HOSTS] = 1;
		arena_init(&trial.arena, 0);
		pdu(&sent, PDU_ICREQ, 128, 0, 0);
		pdu(&sent, PDU_CAPSULE_CMD, 72, 0, 0);
		pdu(&sent, PDU_CAPSULE_CMD, 72, 8, 512);
		pdu(&sent, PDU_H2C_DATA, 24, 4, 100);
		pdu(&sent, PDU_CAPSULE_RESP, 24, 0, 0);
		pdu(&sent, PDU_H2C_TERM, 24, 0, 0);
		for (size_t step = 1; step <= STREAM; step++)
			check(&trial, ++link, &sent, step);
		arena_drop(&trial.arena);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_a_digest_may_change_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
