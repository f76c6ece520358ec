/*
 * each_op.c - sends each operation that libweir knows once, and says what becomes of it.
 *
 *     weir-each-op URI
 *
 * Lines `NAME: ok` or `NAME: ERRNO: WHY`, in the words of libweir.  Writes over the namespace's first blocks.
 * Exit status 1: nothing could be begun.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

static const char *const names[WEIR_OP_COUNT] = {
	"read", "write", "flush", "write zeroes", "deallocate", "compare", "compare and write", "verify", "copy",
	"write uncorrectable",
};

static void
must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, weir_error());
	exit(1);
}

/* Of one block, which a Copy and a Deallocate find behind the first eight. */
static void
try(struct weir_queue *queue, uint32_t nsid, uint32_t block_size, uint8_t op)
{
	static uint8_t data[2][65536];
	struct iovec iov = { data, op == WEIR_OP_COMPARE_AND_WRITE ? 2 * block_size : block_size };
	struct weir_range range = { 8, 1 };
	struct weir_io io = { .op = op, .nsid = nsid, .blocks = 1, .iov = &iov, .ranges = &range };
	struct weir_result result = { 0 };
	int rc;

	io.iov_count = op == WEIR_OP_READ || op == WEIR_OP_WRITE || op == WEIR_OP_COMPARE ||
	    op == WEIR_OP_COMPARE_AND_WRITE;
	io.range_count = op == WEIR_OP_DEALLOCATE || op == WEIR_OP_COPY;
	rc = weir_queue_run(queue, &io, &result);
	if (rc == 0)
		printf("%s: ok\n", names[op]);
	else
		printf("%s: %s: %s\n", names[op], strerrorname_np(-rc),
		    result.status != 0 ? weir_status_text(result.status) : weir_error());
}

int
main(int argc, char **argv)
{
	struct weir_namespace ns;
	struct weir_subsys *subsys;
	struct weir_queue *queue;
	struct weir_host *host;
	struct weir_uri uri;

	if (argc != 2)
		return 2;
	must(weir_uri_parse(argv[1], &uri), "the URI");
	must(weir_host_create(NULL, &host), "the host");
	must(weir_subsys_connect(host, argv[1], NULL, &subsys), "connecting");
	must(weir_subsys_namespace(subsys, uri.nsid, &ns), "the namespace");
	must(weir_queue_open(subsys, NULL, &queue), "a queue");
	for (uint8_t op = 0; op < WEIR_OP_COUNT; op++)
		try(queue, ns.nsid, ns.block_size, op);
	weir_queue_close(queue);
	weir_subsys_disconnect(subsys);
	weir_host_destroy(host);
	return 0;
}
