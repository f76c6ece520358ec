#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "order_serve_bench.h"

void
serve_cut(struct serve_bench *bench, struct order_served *stream, uint32_t after, uint32_t last)
{
	struct order_commit commit;

	assert_true(order_serve_is_still(stream));
	assert_true(order_serve_cut(&bench->serve, stream, after, last, false));
	assert_false(order_serve_is_cut(&bench->serve, stream));
	assert_true(order_log_take(&bench->serve.log, &commit));
	order_serve_durable(&bench->serve);
	assert_true(order_serve_is_cut(&bench->serve, stream));
	order_serve_go_on(stream, last);
}

int
serve_set_up(void **state)
{
	struct serve_bench *bench = calloc(1, sizeof(*bench));

	order_log_init(&bench->serve.log, bench->slots, SLOTS, SEED, bench->states, bench->is, bench->words);
	order_serve_init(&bench->serve);
	order_track_init(&bench->serve.log, &bench->stream.track, OWNER, 1);
	order_track_init(&bench->serve.log, &bench->other.track, OWNER, 2);
	order_serve_stream(&bench->stream);
	order_serve_stream(&bench->other);
	serve_cut(bench, &bench->stream, ORDER_NO_GROUP, ORDER_NO_GROUP);
	serve_cut(bench, &bench->other, ORDER_NO_GROUP, ORDER_NO_GROUP);
	*state = bench;
	return 0;
}

int
serve_tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Of group `group`, whole, behind the group before. */
struct order_write *
serve_come(struct serve_bench *bench, struct order_served *stream, uint32_t group, int flags, uint32_t nsid)
{
	struct order_write *write = &bench->writes[bench->count++];

	*write = (struct order_write){
		.attribute = { group, group, group - 1, ORDER_NO_GROUP, 1, 1, (uint16_t)(flags | LAST) },
		.lba = 8 * group, .blocks = nsid != 0 ? 8 : 0, .nsid = nsid, .keeps = nsid == KEEPS,
	};
	assert_null(order_serve_arrive(&bench->serve, stream, write));
	return write;
}

struct order_write *
serve_come_whole(struct serve_bench *bench, struct order_served *stream, uint32_t group, int flags, uint32_t nsid)
{
	struct order_write *write = serve_come(bench, stream, group, flags, nsid);

	if (!stream->stopped)
		order_serve_ready(&bench->serve, write);
	return write;
}

bool
serve_commit(struct serve_bench *bench)
{
	struct order_commit taken;

	order_serve_append(&bench->serve);
	if (!order_log_take(&bench->serve.log, &taken))
		return false;
	order_serve_durable(&bench->serve);
	return true;
}

void
serve_assert_goes(struct serve_bench *bench, const struct order_write *write)
{
	assert_ptr_equal(order_serve_go(&bench->serve), write);
}

void
serve_assert_answered(struct serve_bench *bench, const struct order_write *write, enum order_outcome outcome)
{
	assert_ptr_equal(order_serve_answer(&bench->serve), write);
	if (write != NULL)
		assert_int_equal(write->outcome, outcome);
}

bool
serve_persists(const struct serve_bench *bench, const struct order_write *write)
{
	struct order_entry entry;
	bool persists;

	assert_true(order_entry_read(&bench->slots[write->place % SLOTS], SEED, &entry, &persists));
	return persists;
}

/* All of them have gone and ended. */
void
serve_do_all(struct serve_bench *bench)
{
	struct order_write *write;

	while ((write = order_serve_go(&bench->serve)) != NULL)
		order_serve_ended(&bench->serve, write, true);
}
