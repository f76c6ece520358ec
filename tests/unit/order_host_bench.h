/* order_host_bench.h - a stream at its host, and servers that are what a test says. */
#ifndef WEIR_TESTS_ORDER_HOST_BENCH_H
#define WEIR_TESTS_ORDER_HOST_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "order/entry.h"
#include "order/group.h"
#include "order/sequencer.h"

enum {
	LAST = ORDER_ENTRY_LAST, SPLIT = ORDER_ENTRY_SPLIT, MERGED = ORDER_ENTRY_MERGED, FLUSH = ORDER_ENTRY_FLUSH,
	IN_PLACE = ORDER_ENTRY_IN_PLACE,
};
enum { ITEMS = 64, GUARANTEED = 24, PLENTY = 1000 };

struct seq_bench {
	struct order_member members[4];
	struct order_layout layout;
	struct order_sequencer sequencer;
	struct order_item items[ITEMS];
	char data[1024];
};

struct seq_bench *seq_begin(unsigned servers, unsigned drives, bool keeps, uint32_t stripe);

uint32_t seq_submit(struct seq_bench *bench, uint64_t lba, uint32_t blocks, unsigned flags);

struct order_item *seq_next(struct seq_bench *bench, unsigned server);

void seq_answered(struct seq_bench *bench, struct order_item *item);

/* What goes to a server next. */
struct order_item *seq_assert_next(struct seq_bench *bench, unsigned server, uint32_t first, uint32_t last,
    uint32_t prev, unsigned num, unsigned count, unsigned flags);

void seq_assert_groups(struct seq_bench *bench, uint32_t complete, uint32_t durable);

void seq_answer_all(struct seq_bench *bench);

#endif
