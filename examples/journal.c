/* journal.c - writes each line of standard input to a journal, a block for each, and says how many are durable; none is
 * ever there without all before it.  The target must have ordered writes, and the namespace nothing that is needed.
 *     cc journal.c -o journal $(pkg-config --cflags --libs weir) && ./journal nvme+tcp://HOST:PORT/SUBNQN?ns=1 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <weir/weir.h>

enum { LINES = 64, BLOCK_MAX = 65536 };

static void
durable(void *arg, uint64_t group)
{
	printf("%" PRIu64 " lines are durable\n", group);
}

int
main(int argc, char **argv)
{
	static char lines[LINES][BLOCK_MAX];
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);
	struct weir_ordered *journal;
	struct weir_host *host;
	struct weir_member member;
	struct weir_uri uri;
	uint64_t count = 0;
	uint32_t block;

	options.durable = durable;
	if (argc != 2)
		errx(2, "which namespace?  nvme+tcp://HOST:PORT/SUBNQN?ns=N");
	if (weir_uri_parse(argv[1], &uri) < 0 || weir_host_create(NULL, &host) < 0 ||
	    weir_subsys_connect(host, argv[1], NULL, &member.subsys) < 0)
		errx(1, "%s", weir_error());
	member.nsid = uri.nsid != 0 ? uri.nsid : 1;
	if (weir_ordered_open(&member, 1, &options, &journal) < 0)
		errx(1, "%s", weir_error());
	block = weir_ordered_block_size(journal);
	/* A line's block is written over only when it is durable. */
	for (; fgets(lines[count % LINES], (int)block, stdin) != NULL; count++) {
		if (weir_ordered_write(journal, lines[count % LINES], block, count * block, WEIR_GROUP_END, NULL) < 0 ||
		    weir_ordered_poll(journal, 0) < 0 ||
		    (count + 1 >= LINES && weir_ordered_wait(journal, count + 2 - LINES, -1) < 0))
			errx(1, "%s", weir_error());
	}
	if (weir_ordered_wait(journal, 0, -1) < 0)
		errx(1, "%s", weir_error());
	weir_ordered_close(journal);
	weir_subsys_disconnect(member.subsys);
	weir_host_destroy(host);
}
