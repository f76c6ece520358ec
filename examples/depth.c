/* depth.c - writes the first MiB of a namespace to standard output; it is read by 16 requests in flight together.
 *     cc depth.c -o depth $(pkg-config --cflags --libs weir) && ./depth nvme+tcp://HOST:PORT/SUBNQN?ns=1 */
#include <err.h>
#include <unistd.h>
#include <weir/weir.h>

enum { READS = 16, BYTES = 65536 };

static void
read_done(void *arg, const struct weir_result *result)
{
	if (result->error < 0)
		errx(1, "%s", weir_result_text(result));
}

int
main(int argc, char **argv)
{
	static char data[READS][BYTES];
	struct iovec iov[READS];
	struct weir_uri uri;
	struct weir_host *host;
	struct weir_subsys *subsys;
	struct weir_namespace ns;
	struct weir_queue *queue;

	if (argc != 2)
		errx(2, "which namespace?  nvme+tcp://HOST:PORT/SUBNQN?ns=N; without ?ns= it is the first");
	if (weir_uri_parse(argv[1], &uri) < 0 || weir_host_create(NULL, &host) < 0 ||
	    weir_subsys_connect(host, argv[1], NULL, &subsys) < 0 ||
	    (uri.nsid == 0 && weir_subsys_namespaces(subsys, 1, &uri.nsid, 1) < 0) ||
	    weir_subsys_namespace(subsys, uri.nsid, &ns) < 0 || weir_queue_open(subsys, NULL, &queue) < 0)
		errx(1, "%s", weir_error());
	for (unsigned i = 0; i < READS; i++) {
		struct weir_io io = { .op = WEIR_OP_READ, .nsid = uri.nsid, .blocks = BYTES / ns.block_size,
			.lba = i * (BYTES / ns.block_size), .iov = &iov[i], .iov_count = 1, .done = read_done };

		iov[i] = (struct iovec){ data[i], BYTES };
		if (weir_queue_submit(queue, &io) < 0)
			errx(1, "%s", weir_error());
	}
	while (weir_queue_in_flight(queue) > 0)
		weir_queue_poll(queue, -1);
	if (write(STDOUT_FILENO, data, sizeof(data)) != sizeof(data))
		err(1, "standard output");
	weir_queue_close(queue);
	weir_subsys_disconnect(subsys);
	weir_host_destroy(host);
}
