#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "order_host_bench.h"

struct seq_bench *
seq_begin(unsigned servers, unsigned drives, bool keeps, uint32_t stripe)
{
	struct seq_bench *bench = calloc(1, sizeof(*bench));
	unsigned count = 0;

	for (unsigned drive = 0; drive < drives; drive++)
		for (unsigned server = 0; server < servers; server++)
			bench->members[count++] = (struct order_member){ server, drive + 1, 8, keeps };
	bench->layout = (struct order_layout){
		.members = bench->members, .count = count, .servers = servers, .block_length = 1, .stripe = stripe,
		.blocks = 128,
	};
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, ORDER_NO_GROUP);
	for (unsigned server = 0; server < servers; server++) {
		struct order_there none = { 0 };
		uint32_t cut;

		assert_null(order_sequencer_next(&bench->sequencer, server));
		assert_true(order_sequencer_cut(&bench->sequencer, server, &none, &cut));
		assert_int_equal(cut, ORDER_NO_GROUP);
		order_sequencer_up(&bench->sequencer, server, ORDER_NO_GROUP, GUARANTEED);
	}
	return bench;
}

uint32_t
seq_submit(struct seq_bench *bench, uint64_t lba, uint32_t blocks, unsigned flags)
{
	uint32_t group = ORDER_NO_GROUP;

	assert_int_equal(order_sequencer_submit(&bench->sequencer, lba, blocks, bench->data + lba, flags, &group),
	    ORDER_TAKEN);
	return group;
}

struct order_item *
seq_next(struct seq_bench *bench, unsigned server)
{
	return order_sequencer_next(&bench->sequencer, server);
}

void
seq_answered(struct seq_bench *bench, struct order_item *item)
{
	assert_true(order_sequencer_answered(&bench->sequencer, item, PLENTY));
}

/* What goes to a server next. */
struct order_item *
seq_assert_next(struct seq_bench *bench, unsigned server, uint32_t first, uint32_t last, uint32_t prev, unsigned num,
    unsigned count, unsigned flags)
{
	struct order_item *item = seq_next(bench, server);
	const struct order_attribute *attribute;

	assert_non_null(item);
	attribute = &item->attribute;
	assert_int_equal(item->member->server, server);
	assert_int_equal(attribute->first, first);
	assert_int_equal(attribute->last, last);
	assert_int_equal(attribute->prev, prev);
	assert_int_equal(attribute->num, num);
	assert_int_equal(attribute->count, count);
	assert_int_equal(attribute->flags, flags);
	return item;
}

void
seq_assert_groups(struct seq_bench *bench, uint32_t complete, uint32_t durable)
{
	assert_int_equal(bench->sequencer.complete, complete);
	assert_int_equal(bench->sequencer.durable, durable);
}

void
seq_answer_all(struct seq_bench *bench)
{
	for (unsigned server = 0; server < bench->layout.servers; server++)
		for (struct order_item *item; (item = seq_next(bench, server)) != NULL;)
			seq_answered(bench, item);
}
