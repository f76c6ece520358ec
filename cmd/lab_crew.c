/*
 * lab_crew.c - what does not depend on one another, side by side, each in a process of its own (lab/crew.h).
 *
 * What was made before, like the states of drives, goes with the fork; what comes back lies in memory that both see.
 * A pipe whose other end is the child's says when it has ended.  It does not outlive us.
 */
#include "lab_crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"

enum { LOOK_MS = 200 };

struct worker {
	pid_t pid; /* 0: none */
	int fd;    /* ends when it does */
};

static void *
crew_share(struct lab_crew *crew, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)crew;
	return memory != MAP_FAILED ? memory : NULL;
}

static void
crew_unshare(struct lab_crew *crew, void *memory, size_t bytes)
{
	(void)crew;
	munmap(memory, bytes);
}

/* 0, or a negative errno. */
static int
begin(struct worker *worker, bool (*work)(void *arg, unsigned i), void *arg, unsigned i)
{
	int fds[2], error;
	pid_t parent = getpid();

	fflush(NULL); /* what is not written yet is ours */
	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	worker->pid = fork();
	error = errno;
	if (worker->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == parent && work(arg, i) ? 0 : 1);
	}
	close(fds[1]);
	worker->fd = fds[0];
	if (worker->pid > 0)
		return 0;
	worker->pid = 0;
	close(fds[0]);
	return -error;
}

/* Its work is done; false: it was not, and where nobody else knows `why`. */
static bool
end(struct worker *worker, char why[LAB_WHY])
{
	int status = 0;

	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(worker->fd);
	worker->pid = 0;
	if (WIFSIGNALED(status))
		snprintf(why, LAB_WHY, "a process of it ended before it was done: %s", strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Until one has ended, or it is time to look; how many are there. */
static unsigned
wait_for(struct worker *workers, unsigned jobs, bool *good, char why[LAB_WHY])
{
	struct pollfd fds[LAB_CREW_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < jobs; i++)
		fds[i] = (struct pollfd){ workers[i].pid != 0 ? workers[i].fd : -1, POLLIN, 0 };
	if (poll(fds, jobs, LOOK_MS) < 0)
		return jobs;
	for (unsigned i = 0; i < jobs; i++) {
		if (workers[i].pid != 0 && fds[i].revents != 0)
			*good &= end(&workers[i], why);
		count += workers[i].pid != 0;
	}
	return count;
}

static bool
crew_work(struct lab_crew *lab, unsigned count, bool (*work)(void *arg, unsigned i), void (*look)(void *arg), void *arg,
    char why[LAB_WHY])
{
	unsigned jobs = container_of(lab, struct crew, lab)->jobs, next = 0, left;
	struct worker workers[LAB_CREW_MAX] = { 0 };
	bool good = true;

	do {
		for (unsigned i = 0; i < jobs && good && next < count; i++) {
			int error = workers[i].pid == 0 ? begin(&workers[i], work, arg, next) : 1;

			if (error < 0)
				snprintf(why, LAB_WHY, "there is no process for it: %s", strerrordesc_np(-error));
			good &= error >= 0;
			next += error == 0;
		}
		left = wait_for(workers, jobs, &good, why);
		look(arg);
	} while (left > 0 || (good && next < count));
	return good;
}

void
crew_init(struct crew *crew, unsigned jobs)
{
	*crew = (struct crew){
		.lab = { .share = crew_share, .unshare = crew_unshare, .work = crew_work }, .jobs = jobs,
	};
}
