#include "served.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_bench.h"

enum { PATIENCE_MS = 120 * 1000 };

static char folder[64];

/* The next line that it prints, without its end; it must come. */
static void
next_line(const struct served *served, char *line, size_t bytes)
{
	size_t at = 0;

	for (;;) {
		struct pollfd fd = { served->out, POLLIN, 0 };
		char c;

		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		assert_int_equal(read(served->out, &c, 1), 1);
		if (c == '\n')
			break;
		assert_true(at + 1 < bytes);
		line[at++] = c;
	}
	line[at] = '\0';
}

static void
wait_ready(struct served *served)
{
	char line[256];
	unsigned port, listeners = 0;

	for (;;) {
		next_line(served, line, sizeof(line));
		if (strcmp(line, "weir: ready") == 0)
			return;
		if (sscanf(line, "weir: listening on 127.0.0.1:%u", &port) != 1)
			continue;
		if (listeners++ == 0)
			served->port = (uint16_t)port;
		else
			served->second = (uint16_t)port;
	}
}

static void
run(struct served *served)
{
	const char *program = getenv("WEIR_PROGRAM");
	char *argv[SERVED_ARGS + 3] = { "weir", "serve" };
	int ends[2];

	assert_non_null(program);
	for (unsigned i = 0; i < served->count; i++)
		argv[2 + i] = served->args[i];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	served->pid = fork();
	assert_true(served->pid >= 0);
	if (served->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		execv(program, argv);
		_exit(127);
	}
	close(ends[1]);
	served->out = ends[0];
	wait_ready(served);
}

static void
add(struct served *served, const char *arg)
{
	assert_true(served->count < SERVED_ARGS);
	snprintf(served->args[served->count++], sizeof(served->args[0]), "%s", arg);
}

void
served_start(struct served *served, const char *arg, ...)
{
	va_list more;

	memset(served, 0, sizeof(*served));
	va_start(more, arg);
	if (arg == NULL || strcmp(arg, "--config") != 0) {
		add(served, "--listen");
		add(served, "127.0.0.1:0");
	}
	for (; arg != NULL; arg = va_arg(more, const char *))
		add(served, arg);
	va_end(more);
	run(served);
}

void
served_again(struct served *served)
{
	uint16_t ports[2] = { served->port, served->second };
	unsigned listener = 0;

	for (unsigned i = 0; i + 1 < served->count; i++)
		if (strcmp(served->args[i], "--listen") == 0)
			snprintf(served->args[i + 1], sizeof(served->args[0]), "127.0.0.1:%u", ports[listener++]);
	run(served);
}

static void
reap(struct served *served)
{
	int status;

	assert_int_equal(waitpid(served->pid, &status, 0), served->pid);
	close(served->out);
	served->pid = 0;
}

void
served_kill(struct served *served)
{
	kill(served->pid, SIGKILL);
	reap(served);
}

void
served_stop(struct served *served)
{
	kill(served->pid, SIGTERM);
	reap(served);
}

void
served_signal(const struct served *served, int signal)
{
	kill(served->pid, signal);
}

const char *
served_uri(const struct served *served, const char *more)
{
	static char texts[8][512];
	static unsigned next;
	char *text = texts[next++ % 8];

	snprintf(text, sizeof(texts[0]), "nvme+tcp://127.0.0.1:%u/%s%s", served->port, SERVED_NQN, more);
	return text;
}

const char *
served_file(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	if (folder[0] == '\0') {
		snprintf(folder, sizeof(folder), "/tmp/weir-lib-XXXXXX");
		assert_non_null(mkdtemp(folder));
	}
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

void
served_clean(void)
{
	char command[128];

	if (folder[0] == '\0')
		return;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	folder[0] = '\0';
}
