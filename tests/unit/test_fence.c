/*
 * target/fence: how many fences of one controller core 0 is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/assoc.h"

enum { RESETS = 1000, UNANSWERED = 8 };

/* A controller whose connection listens to no answer, and core 0, which gives none yet. */
struct bench {
	struct arena arena;
	struct reactor reactor;
	struct core core;
	struct assoc assoc;
	struct conn conn;
	struct request req;
	unsigned posted;
};

static void
post(struct reactor *reactor, unsigned to, const struct mail *mail)
{
	(void)to, (void)mail;
	container_of(reactor, struct bench, reactor)->posted++;
}

static const struct world_ops posts = { .post = post };

static void
begin_fence(struct bench *b)
{
	b->req.conn = &b->conn;
	b->conn.request_count = 1;
	fence_begin(&b->assoc, &b->req, 1);
}

static void
resets_do_not_pile_up_fences(void **state)
{
	struct target_mail fenced = { .kind = MAIL_FENCED };
	struct bench b = { 0 };

	(void)state;
	b.reactor = (struct reactor){ .world = &posts, .count = 1 };
	b.core.reactor = &b.reactor;
	b.assoc.core = &b.core;
	b.conn = (struct conn){ .core = &b.core, .phase = CONN_TERMINATED, .held = 1 };
	fifo_init(&b.conn.free);
	fifo_init(&b.assoc.fencers);
	list_init(&b.core.assocs);
	list_push(&b.core.assocs, &b.assoc.node);
	list_init(assoc_keys(&b.core, b.assoc.key));
	list_push(assoc_keys(&b.core, b.assoc.key), &b.assoc.key_node);
	for (unsigned n = 0; n < RESETS; n++) {
		begin_fence(&b);
		fence_drop(&b.assoc);
		assert_int_equal(b.conn.request_count, 0);
		assert_int_equal(b.posted, n < UNANSWERED ? n + 1 : UNANSWERED);
	}
	fence_done(&b.core, &fenced);
	begin_fence(&b);
	assert_int_equal(b.posted, UNANSWERED + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resets_do_not_pile_up_fences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
