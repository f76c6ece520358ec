/*
 * pr.c - pr DEVICE COMMAND [OLD-KEY] KEY [TYPE]: one persistent reservation command of the kernel's block layer.
 *
 * The guest's only program of ours.  What the kernel answered is printed in words, or as the status of
 * the device where this has none for it; exit status 0 where it was done.  It knows no NVMe but its status codes,
 * which Linux 6.1 passes on as they are; later ones have numbers of their own for some.
 *
 *   register OLD NEW   reserve KEY TYPE   release KEY TYPE   clear KEY
 *   preempt MINE THEIRS TYPE   preempt-abort MINE THEIRS TYPE
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { KEYS_MAX = 3, NVME_STATUS = 0x7ff, NVME_INVALID_FIELD = 0x002, NVME_CONFLICT = 0x083, SAM_CONFLICT = 0x18 };

/* What COMMAND is to the kernel, which of its words it wants; -1 with errno where it has none of that name. */
static int
ask(int fd, const char *command, const unsigned long long *word)
{
	struct pr_registration registration = {.old_key = word[0], .new_key = word[1]};
	struct pr_reservation reservation = {.key = word[0], .type = (__u32)word[1]};
	struct pr_preempt preempt = {.old_key = word[0], .new_key = word[1], .type = (__u32)word[2]};
	struct pr_clear clear = {.key = word[0]};

	if (strcmp(command, "register") == 0)
		return ioctl(fd, IOC_PR_REGISTER, &registration);
	if (strcmp(command, "reserve") == 0)
		return ioctl(fd, IOC_PR_RESERVE, &reservation);
	if (strcmp(command, "release") == 0)
		return ioctl(fd, IOC_PR_RELEASE, &reservation);
	if (strcmp(command, "preempt") == 0)
		return ioctl(fd, IOC_PR_PREEMPT, &preempt);
	if (strcmp(command, "preempt-abort") == 0)
		return ioctl(fd, IOC_PR_PREEMPT_ABORT, &preempt);
	if (strcmp(command, "clear") == 0)
		return ioctl(fd, IOC_PR_CLEAR, &clear);
	errno = ENOTTY;
	return -1;
}

int
main(int argc, char **argv)
{
	unsigned long long word[KEYS_MAX] = {0};
	int fd = argc > 2 ? open(argv[1], O_RDWR) : -1;
	int status;

	if (fd < 0) {
		fprintf(stderr, "pr: cannot open %s\n", argc > 2 ? argv[1] : "what is not named");
		return 2;
	}
	for (int i = 0; i < KEYS_MAX && i + 3 < argc; i++)
		word[i] = strtoull(argv[i + 3], NULL, 0);
	status = ask(fd, argv[2], word);
	if (status < 0 && errno == EINVAL)
		puts("invalid field");
	else if (status < 0)
		puts(strerror(errno));
	else if ((status & NVME_STATUS) == NVME_CONFLICT || status == SAM_CONFLICT)
		puts("conflict");
	else if ((status & NVME_STATUS) == NVME_INVALID_FIELD)
		puts("invalid field");
	else if (status > 0)
		printf("status 0x%x\n", (unsigned)status);
	else
		puts("done");
	close(fd);
	return status != 0;
}
