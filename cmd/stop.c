#include "stop.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { ONCE_MS = 500 };

static int fd = -1;
static bool asked;
static sigset_t before;
static struct timespec asked_at;

void
stop_catch_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd >= 0)
		sigprocmask(SIG_BLOCK, &signals, &before);
}

/* timeout(1) sends its signal to us and to our group: that is one. */
static void
again(int sig)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - asked_at.tv_sec) * 1000 + (now.tv_nsec - asked_at.tv_nsec) / 1000000 < ONCE_MS)
		return;
	signal(sig, SIG_DFL);
	raise(sig);
}

bool
stop_asked(void)
{
	const struct sigaction action = { .sa_handler = again, .sa_flags = SA_RESTART };
	struct signalfd_siginfo info;

	if (asked || fd < 0 || read(fd, &info, sizeof(info)) < (ssize_t)sizeof(info))
		return asked;
	asked = true;
	close(fd);
	fd = -1;
	clock_gettime(CLOCK_MONOTONIC, &asked_at);
	sigaction((int)info.ssi_signo, &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return true;
}

int
stop_fd(void)
{
	return fd;
}

bool
stop_wait(int other, int ms)
{
	struct pollfd both[2] = { { other, POLLIN, 0 }, { fd, POLLIN, 0 } };

	if (stop_asked())
		return false;
	(void)poll(both, 2, ms);
	return !stop_asked() && both[0].revents != 0;
}
