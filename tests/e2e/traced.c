/*
 * traced.c - preloaded into `weir`: strace looks at it from main() on, so that what the loader calls counts for
 * nothing.
 *
 * WEIR_STRACE is what strace is told, words with a line feed between them.  It is waited for by calls that no test
 * makes fail: openat2(), readv() and clock_nanosleep().
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 64, LOOKS = 20000, LOOK_NS = 500 * 1000 };

static bool
is_traced(void)
{
	char text[4096];
	struct iovec iov = { text, sizeof(text) - 1 };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/proc/self/status", &(struct open_how){ .flags = O_RDONLY },
	    sizeof(struct open_how));
	ssize_t got = fd >= 0 ? readv(fd, &iov, 1) : -1;
	const char *line;

	close(fd);
	text[got > 0 ? got : 0] = '\0';
	line = strstr(text, "TracerPid:");
	return line != NULL && strtol(line + strlen("TracerPid:"), NULL, 10) != 0;
}

static void
run_strace(char *told, pid_t pid)
{
	char *words[WORDS_MAX + 5] = { "strace", "-p" }, number[16];
	size_t count = 3;
	int null = open("/dev/null", O_RDWR);

	snprintf(number, sizeof(number), "%d", (int)pid);
	words[2] = number;
	for (char *word = strtok(told, "\n"); word != NULL && count < WORDS_MAX; word = strtok(NULL, "\n"))
		words[count++] = word;
	for (int fd = 0; fd < 3; fd++) /* its end, not strace's, is what is waited for */
		dup2(null, fd);
	unsetenv("LD_PRELOAD");
	execvp(words[0], words);
	_exit(127);
}

static __attribute__((constructor)) void
begin(void)
{
	char *told = getenv("WEIR_STRACE");
	pid_t pid = getpid(), child;

	if (told == NULL)
		return;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	child = fork();
	if (child == 0) {
		if (fork() == 0) /* no child of what is tested */
			run_strace(told, pid);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (int i = 0; !is_traced(); i++) {
		if (i == LOOKS) {
			fprintf(stderr, "strace does not come\n");
			_exit(126);
		}
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
}
