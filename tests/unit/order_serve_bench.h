/* order_serve_bench.h - two streams at a server, of which the drives and the log's place are what a test says. */
#ifndef WEIR_TESTS_ORDER_SERVE_BENCH_H
#define WEIR_TESTS_ORDER_SERVE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "order/group.h"
#include "order/serve.h"

enum { LAST = ORDER_ENTRY_LAST, FLUSH = ORDER_ENTRY_FLUSH, IN_PLACE = ORDER_ENTRY_IN_PLACE };
enum { SLOTS = ORDER_SLOTS_LEAST, SEED = 0x5eed, WRITES = 2 * SLOTS, KEEPS = 1, CACHED = 2, CACHED_TOO = 3, OWNER = 4 };

struct serve_bench {
	struct order_serve serve;
	struct order_image slots[SLOTS];
	struct order_slot states[SLOTS];
	uint8_t is[SLOTS];
	uint32_t words[SLOTS];
	struct order_served stream, other;
	struct order_write writes[WRITES];
	unsigned count;
};

void serve_cut(struct serve_bench *bench, struct order_served *stream, uint32_t after, uint32_t last);

int serve_set_up(void **state);

int serve_tear_down(void **state);

/* Of group `group`, whole, behind the group before. */
struct order_write *serve_come(struct serve_bench *bench, struct order_served *stream, uint32_t group, int flags,
    uint32_t nsid);

/* And all of its data is there. */
struct order_write *serve_come_whole(struct serve_bench *bench, struct order_served *stream, uint32_t group,
    int flags, uint32_t nsid);

bool serve_commit(struct serve_bench *bench);

void serve_assert_goes(struct serve_bench *bench, const struct order_write *write);

void serve_assert_answered(struct serve_bench *bench, const struct order_write *write, enum order_outcome outcome);

bool serve_persists(const struct serve_bench *bench, const struct order_write *write);

/* All of them have gone and ended. */
void serve_do_all(struct serve_bench *bench);

#endif
