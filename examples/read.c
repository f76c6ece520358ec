/* read.c URI - writes the first MiB of a namespace to standard output. */
#include <err.h>
#include <unistd.h>
#include <weir/weir.h>

static char data[1 << 20];

int
main(int argc, char **argv)
{
	struct weir_volume *volume;

	if (argc != 2)
		errx(2, "which namespace?  nvme+tcp://HOST:PORT/SUBNQN?ns=N; without ?ns= it is the first");
	if (weir_volume_open(argv[1], NULL, &volume) < 0 || weir_volume_read(volume, data, sizeof(data), 0) < 0)
		errx(1, "%s", weir_error());
	if (write(STDOUT_FILENO, data, sizeof(data)) != sizeof(data))
		err(1, "standard output");
	weir_volume_close(volume);
}
