/*
 * traced.c - preloaded into `weir`: strace looks at it from main() on, so that what the loader calls counts for
 * nothing.
 *
 * WEIR_STRACE is what strace is told, words with a line feed between them.  It says on its standard error that it has
 * come, which is waited for by readv(), a call that no test makes fail.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64 };

static void
run_strace(char *told, pid_t pid, int says, const int go[2])
{
	char *words[WORDS_MAX + 5] = { "strace", "-p" }, number[16], nothing;
	size_t count = 3;
	int null = open("/dev/null", O_RDWR);

	close(go[1]);
	while (read(go[0], &nothing, 1) > 0) /* until what is tested waits for no child any more */
		continue;
	snprintf(number, sizeof(number), "%d", (int)pid);
	words[2] = number;
	for (char *word = strtok(told, "\n"); word != NULL && count < WORDS_MAX; word = strtok(NULL, "\n"))
		words[count++] = word;
	dup2(null, STDIN_FILENO); /* its end, not strace's, is what is waited for */
	dup2(null, STDOUT_FILENO);
	dup2(says, STDERR_FILENO);
	unsetenv("LD_PRELOAD");
	execvp(words[0], words);
	_exit(127);
}

static __attribute__((constructor)) void
begin(void)
{
	char *told = getenv("WEIR_STRACE");
	pid_t pid = getpid(), child;
	char text[256] = "";
	struct iovec iov = { text, sizeof(text) };
	int says[2], go[2];

	if (told == NULL)
		return;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	child = pipe2(says, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0 ? fork() : -1;
	if (child == 0) {
		if (fork() == 0) /* no child of what is tested */
			run_strace(told, pid, says[1], go);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(go[0]);
	close(go[1]);
	close(says[1]);
	/* The other end stays open: strace has more to say, of each thread. */
	if (child < 0 || readv(says[0], &iov, 1) <= 0 || memmem(text, sizeof(text), "attached", 8) == NULL) {
		fprintf(stderr, "strace does not come\n");
		_exit(126);
	}
}
