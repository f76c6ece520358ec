#include "sys/sigs.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TRIES = 3 };

int
sigs_open(void)
{
	sigset_t ours;
	int fd;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGUSR1);
	fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	pthread_sigmask(SIG_BLOCK, &ours, NULL);
	return fd;
}

int
sigs_take(int fd)
{
	struct signalfd_siginfo info;

	/* There is no second edge for a signal that was not taken. */
	for (int tries = 0; tries < TRIES; tries++) {
		ssize_t got = read(fd, &info, sizeof(info));

		if (got == (ssize_t)sizeof(info))
			return (int)info.ssi_signo;
		if (got < 0 && errno == EAGAIN)
			break;
	}
	return 0;
}
