#include "sim_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "stop.h"
#include "sys/clock.h"

int
child_init(struct child *child)
{
	void *shared = mmap(NULL, sizeof(*child->outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*child = (struct child) { .outcome = shared == MAP_FAILED ? NULL : shared, .fd = -1 };
	return child->outcome == NULL ? -errno : 0;
}

void
child_fini(struct child *child)
{
	if (child->pid != 0)
		child_kill(child);
	if (child->outcome != NULL)
		munmap(child->outcome, sizeof(*child->outcome));
}

/* ---- the child ---- */

static _Noreturn void
play(struct outcome *outcome, const struct order *order, const struct plan *plan, int fd)
{
	const struct rlimit none = { 0, 0 };
	const struct trial_watch watch = { .max_events = order->max_events };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	dup2(fd, STDERR_FILENO);
	trial_run(plan, &watch, &outcome->result);
	outcome->end = outcome_end_of(&outcome->result);
	_exit(0);
}

int
child_begin(struct child *child, const struct order *order, const struct plan *plan)
{
	int fds[2], error;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*child->outcome = (struct outcome) { .end = OUTCOME_DIED };
	child->pid = fork();
	error = errno;
	if (child->pid == 0)
		play(child->outcome, order, plan, fds[1]);
	close(fds[1]);
	if (child->pid < 0) {
		child->pid = 0;
		close(fds[0]);
		return -error;
	}
	child->fd = fds[0];
	child->said_bytes = 0;
	child->late_ns = clock_now_ns() + order->patience_ms * 1000000;
	return 0;
}

/* ---- what became of it ---- */

/* The line that `found` is in, and what of the line says most; its end becomes one. */
static char *
line_of(char *said, char *found)
{
	char *end = strchr(found, '\n');

	if (end != NULL)
		*end = '\0';
	while (found > said && found[-1] != '\n')
		found--;
	return found;
}

/* What of its last words says most: an assertion, what a sanitizer found, or the last line. */
static char *
last_words(char *said)
{
	static const char *const marks[] = { ": Assertion `", "ERROR: ", "runtime error: " };

	for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		char *found = strstr(said, marks[i]);

		if (found != NULL)
			return line_of(said, found);
	}
	for (size_t end = strlen(said); end > 0 && said[end - 1] == '\n'; end--)
		said[end - 1] = '\0';
	return line_of(said, said + strlen(said));
}

/* `weir: ../src/tcp/tconn.c:123: tconn_enter: Assertion ...': tconn.c:123 */
static bool
place_of(const char *words, char *place, size_t room)
{
	const char *end = strstr(words, ": Assertion `"), *colon, *start;

	if (end == NULL)
		return false;
	do
		end--;
	while (end > words && *end != ':');
	colon = end;
	for (start = colon; start > words && start[-1] != '/' && start[-1] != ' ';)
		start--;
	snprintf(place, room, "%.*s", (int)(colon - start), start);
	return true;
}

static void
say_died(struct child *child, int status)
{
	struct trial_result *result = &child->outcome->result;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const char *words;

	child->said[child->said_bytes] = '\0';
	words = last_words(child->said);
	if (!place_of(words, result->oracle, sizeof(result->oracle)))
		snprintf(result->oracle, sizeof(result->oracle), "%s%s", sig != 0 ? "SIG" : "exit",
		    sig != 0 ? sigabbrev_np(sig) : "");
	if (words[0] == '\0')
		words = sig != 0 ? strsignal(sig) : "it ended without a word";
	utf8_show(words, result->why, sizeof(result->why));
}

static void
say_late(struct trial_result *result)
{
	snprintf(result->oracle, sizeof(result->oracle), "patience");
	snprintf(result->why, sizeof(result->why), "it was still at work when patience with one seed was over");
}

/* Takes what there is; true: that was all. */
static bool
hear(struct child *child)
{
	for (;;) {
		char more[1024];
		size_t room = sizeof(child->said) - 1 - child->said_bytes;
		ssize_t got = read(child->fd, more, sizeof(more));

		if (got <= 0)
			return got == 0 || (errno != EAGAIN && errno != EINTR);
		if ((size_t)got < room)
			room = (size_t)got;
		memcpy(child->said + child->said_bytes, more, room);
		child->said_bytes += room;
	}
}

/* Its status. */
static int
reap(struct child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(child->fd);
	child->pid = 0;
	return status;
}

void
child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	reap(child);
}

bool
child_ended(struct child *child)
{
	bool ended = hear(child);
	int status;

	if (!ended && clock_now_ns() < child->late_ns)
		return false;
	if (!ended)
		kill(child->pid, SIGKILL);
	status = reap(child);
	if (!ended) {
		child->outcome->end = OUTCOME_LATE;
		say_late(&child->outcome->result);
	} else if (child->outcome->end == OUTCOME_DIED) {
		say_died(child, status);
	}
	return true;
}

void
children_wait(const struct child *children, unsigned count, uint64_t until_ns)
{
	enum { LONGEST_NS = 1000000000 };
	struct pollfd fds[CHILDREN_MAX + 1];
	uint64_t now_ns = clock_now_ns();

	assert(count <= CHILDREN_MAX);
	if (until_ns > now_ns + LONGEST_NS)
		until_ns = now_ns + LONGEST_NS;
	for (unsigned i = 0; i < count; i++) {
		fds[i] = (struct pollfd) { children[i].pid != 0 ? children[i].fd : -1, POLLIN, 0 };
		if (children[i].pid != 0 && children[i].late_ns < until_ns)
			until_ns = children[i].late_ns;
	}
	fds[count] = (struct pollfd) { stop_fd(), POLLIN, 0 };
	(void)poll(fds, count + 1, until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000 + 1) : 0);
}
