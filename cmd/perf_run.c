/*
 * perf_run.c - from a plan to threads, and back to numbers.
 *
 * The calling thread connects, opens queues, hands them to a job's threads,
 * says how far they are, and closes all when they have ended.
 */
#include "perf_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "perf_host.h"
#include "perf_streams.h"
#include "perf_thread.h"
#include "stop.h"

#define NS_PER_S UINT64_C(1000000000)
/* SIGUSR1 gets a thread out of a poll that has nothing to wait for but I/O; one that comes too early is sent again. */
enum { SHOWS_PER_INTERVAL = 20, WAKE_MS = 50, WAKE_SIGNAL = SIGUSR1 };
/* Streams belong to the host, not to us: these are those that a program is least likely to have. */
enum { STREAM_LAST = 65535 };

struct running {
	const struct perf_job *job;
	struct perf_run *run;
	struct weir_subsys *subsys[PERF_URIS_MAX];
	struct weir_namespace ns[PERF_URIS_MAX];
	struct perf_thread *threads;    /* NULL: it has none */
	unsigned thread_count;          /* that are made */
	unsigned started, ended;        /* ended: under run->lock */
	bool over;
};

struct perf_run {
	const struct perf_plan *plan;
	struct perf_outcome *outcomes;
	struct weir_host *host;
	struct running *running;        /* of each job */
	pthread_mutex_t lock;
	int changed_fd;                 /* can be read when a thread has ended */
	unsigned threads_made;          /* of all jobs: they are pinned in turn */
	unsigned streams_made;          /* the same: each has a number of its own */
	uint64_t begun_ns, tick_ns;
	struct perf_result before;      /* both sides, as of the last tick */
	struct perf_result gone;        /* of jobs that are over */
	bool failed, stopping;
};

static void
complain(const struct perf_run *run, const char *what, const char *why)
{
	perf_complain(run->plan, what, why);
}

/* ---- a job begins ---- */

static int
connect_uri(struct perf_run *run, struct running *running, unsigned index)
{
	const struct perf_job *job = running->job;
	struct weir_subsys_options options = run->plan->host.subsys;
	const char *text = job->uris[index];
	struct weir_uri uri;
	int rc;

	options.hdgst |= job->hdgst;
	options.ddgst |= job->ddgst;
	options.sq_flow |= job->sq_flow;
	options.queues = (uint16_t)perf_job_lines(job);
	rc = weir_uri_parse(text, &uri);
	if (rc == 0)
		rc = weir_subsys_connect(run->host, text, &options, &running->subsys[index]);
	if (rc == 0)
		rc = weir_subsys_namespace(running->subsys[index], uri.nsid != 0 ? uri.nsid : 1, &running->ns[index]);
	if (rc == -ENOENT && run->plan->congestion != NULL)
		complain(run, run->plan->congestion, "the kernel knows no such congestion control");
	else if (rc != 0)
		complain(run, weir_error(), "");
	return rc;
}

static int
open_queue(struct perf_run *run, struct running *running, unsigned uri, struct perf_thread *thread)
{
	const struct weir_queue_options options = {
		.size = sizeof(options), .depth = running->job->qd,
		.with = thread->queue_count > 0 ? thread->queues[0] : NULL,
	};
	int rc = weir_queue_open(running->subsys[uri], &options, &thread->queues[thread->queue_count]);

	if (rc != 0)
		complain(run, running->job->uris[uri], weir_error());
	else
		thread->queue_count++;
	return rc;
}

/* What part of the lines of a URI is a thread's: lines `part`, `part` + threads ... */
static unsigned
lines_of(const struct perf_job *job, unsigned part)
{
	unsigned lines = perf_job_lines(job);

	return part < lines ? (lines - part - 1) / job->threads + 1 : 0;
}

static int
open_streams(struct perf_run *run, struct running *running, unsigned uri, struct perf_thread *thread, unsigned count,
    char why[PERF_WHY])
{
	const struct weir_member member = { running->subsys[uri], running->ns[uri].nsid };
	unsigned number = STREAM_LAST - run->streams_made;
	struct load *load = &thread->loads[thread->load_count - 1];
	int rc;

	run->streams_made += count;
	rc = perf_streams_open(load, &member, count, number, thread->queues[0], why);
	if (rc == 0 && thread->queues[0] == NULL)
		thread->queues[0] = perf_streams_queue(load);
	return rc;
}

/* The queues, or streams, of one URI that are this thread's, and the load on them. */
static int
give_load(struct perf_run *run, struct running *running, unsigned uri, unsigned index)
{
	const struct perf_job *job = running->job;
	struct perf_thread *thread = &running->threads[index];
	unsigned first = thread->queue_count, lines = perf_job_lines(job);
	unsigned parts = lines < job->threads ? lines : job->threads;
	/* Threads take them in turn, those of the next URI from where the last one's ended. */
	unsigned part = (index + job->threads - uri * lines % job->threads) % job->threads;
	struct load_share share = { .part = part, .parts = parts, .index = uri * parts + part };
	unsigned count = lines_of(job, part);
	char why[PERF_WHY] = "";
	int rc;

	if (count == 0)
		return 0;
	/* Streams have queues of their own. */
	for (unsigned i = 0; i < count && !job->ordered; i++)
		if ((rc = open_queue(run, running, uri, thread)) != 0)
			return rc;
	share.ios = job->ios / (parts * job->uri_count) + (share.index < job->ios % (parts * job->uri_count));
	rc = perf_load_make(&thread->loads[thread->load_count], job, &running->ns[uri], share, &thread->clock,
	    &thread->queues[first], count, why);
	thread->load_uri[thread->load_count] = uri;
	thread->loads[thread->load_count].pace = pace_make(job->rate_iops, job->rate_bytes, job->bs, count,
	    lines * job->uri_count);
	thread->load_count++;
	if (rc == 0 && job->ordered)
		rc = open_streams(run, running, uri, thread, count, why);
	if (rc != 0)
		complain(run, job->uris[uri], why);
	return rc;
}

static void
thread_ended(void *arg)
{
	struct running *running = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&running->run->lock);
	running->ended++;
	pthread_mutex_unlock(&running->run->lock);
	(void)!write(running->run->changed_fd, &one, sizeof(one)); /* it never has so many that this fails */
}

static int
prepare(struct perf_run *run, struct running *running)
{
	const struct perf_job *job = running->job;
	const struct perf_plan *plan = run->plan;
	uint64_t interval_ns = plan->interval_ns > 0 ? plan->interval_ns : plan->progress ? NS_PER_S : 0;
	int rc = 0;

	for (unsigned uri = 0; uri < job->uri_count && rc == 0; uri++)
		rc = connect_uri(run, running, uri);
	running->threads = calloc(job->threads, sizeof(*running->threads));
	if (running->threads == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < job->threads && rc == 0; i++) {
		struct perf_thread *thread = &running->threads[running->thread_count++];

		*thread = (struct perf_thread){
			.cpu = plan->cpu_count > 0 ? plan->cpus[run->threads_made++ % plan->cpu_count] : -1,
			.show_ns = interval_ns / SHOWS_PER_INTERVAL, .ended = thread_ended, .ended_arg = running,
		};
		pthread_mutex_init(&thread->lock, NULL);
		perf_result_init(&thread->shown);
		for (unsigned uri = 0; uri < job->uri_count && rc == 0; uri++)
			rc = give_load(run, running, uri, i);
	}
	return rc;
}

static int
start_threads(struct perf_run *run, struct running *running)
{
	sigset_t all, before;
	int rc = 0;

	sigfillset(&all);
	sigdelset(&all, WAKE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < running->thread_count && rc == 0; i++) {
		rc = pthread_create(&running->threads[i].thread, NULL, perf_thread_run, &running->threads[i]);
		running->started += rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		complain(run, "a thread cannot be made", strerror(rc));
	return -rc;
}

/* ---- a job ends ---- */

static void
collect(struct perf_run *run, struct running *running)
{
	struct perf_outcome *outcome = &run->outcomes[running - run->running];

	for (unsigned i = 0; i < running->started; i++)
		for (unsigned j = 0; j < running->threads[i].load_count; j++)
			perf_result_add(&outcome->uris[running->threads[i].load_uri[j]],
			    &running->threads[i].loads[j].result);
	for (unsigned uri = 0; uri < running->job->uri_count; uri++) {
		struct weir_path_info paths[WEIR_PATHS_MAX];
		unsigned count = weir_subsys_paths(running->subsys[uri], paths, WEIR_PATHS_MAX);

		for (unsigned i = 0; i < count; i++)
			outcome->uris[uri].losses += paths[i].losses;
	}
	outcome->ran = true;
}

static void
end_job(struct perf_run *run, struct running *running)
{
	for (unsigned i = 0; i < running->started; i++)
		pthread_join(running->threads[i].thread, NULL);
	if (running->started > 0)
		collect(run, running);
	for (unsigned i = 0; i < running->thread_count; i++) {
		struct perf_thread *thread = &running->threads[i];

		for (unsigned j = thread->queue_count; j-- > 0;)
			weir_queue_close(thread->queues[j]);
		for (unsigned j = 0; j < thread->load_count; j++)
			perf_load_free(&thread->loads[j]);
		if (thread->show_ns > 0)
			perf_result_add(&run->gone, &thread->shown);
		pthread_mutex_destroy(&thread->lock);
	}
	free(running->threads);
	running->threads = NULL;
	running->thread_count = 0;
	for (unsigned uri = 0; uri < running->job->uri_count; uri++)
		weir_subsys_disconnect(running->subsys[uri]);
	running->over = true;
}

static void
begin_job(struct perf_run *run, struct running *running)
{
	int rc = prepare(run, running);

	if (rc == -ENOMEM)
		complain(run, running->job->name, "out of memory");
	if (rc == 0)
		rc = start_threads(run, running);
	if (rc == 0)
		return;
	run->failed = true;
	if (running->started == 0)
		end_job(run, running);
}

/* ---- what is said meanwhile ---- */

static void
tick(struct perf_run *run, uint64_t now_ns)
{
	static struct perf_result all, since; /* large */
	const struct perf_plan *plan = run->plan;

	all = run->gone;
	for (unsigned i = 0; i < plan->job_count; i++)
		for (unsigned j = 0; j < run->running[i].started && run->running[i].threads != NULL; j++) {
			struct perf_thread *thread = &run->running[i].threads[j];

			pthread_mutex_lock(&thread->lock);
			perf_result_add(&all, &thread->shown);
			pthread_mutex_unlock(&thread->lock);
		}
	since = all;
	perf_result_take(&since, &run->before);
	since.begun_ns = run->tick_ns;
	since.ended_ns = now_ns;
	run->before = all;
	run->tick_ns = now_ns;
	if (plan->interval_ns > 0)
		plan->interval(plan->interval_arg, (double)(now_ns - run->begun_ns) / 1e9, &since);
	else
		fprintf(stderr, "\r\033[K%3" PRIu64 " s: %.0f IOPS", (now_ns - run->begun_ns + NS_PER_S / 2) / NS_PER_S,
		    (double)(since.read.hist.count + since.write.hist.count) / perf_result_seconds(&since));
}

/* Until a thread has ended, it is time for a line, or all is to stop. */
static void
wait_for_change(const struct perf_run *run, uint64_t next_ns)
{
	struct pollfd fds[2] = { { run->changed_fd, POLLIN, 0 }, { stop_fd(), POLLIN, 0 } };
	uint64_t now_ns = clock_now_ns(), ended;
	int ms = -1;

	if (next_ns != UINT64_MAX)
		ms = next_ns > now_ns ? (int)((next_ns - now_ns) / 1000000) + 1 : 0;
	if (run->stopping && (ms < 0 || ms > WAKE_MS))
		ms = WAKE_MS;
	(void)poll(fds, 2, ms);
	(void)!read(run->changed_fd, &ended, sizeof(ended)); /* how many is looked up */
}

static void
on_wake(int sig)
{
	(void)sig;
}

static void
stop_threads(const struct perf_run *run)
{
	for (unsigned i = 0; i < run->plan->job_count; i++)
		for (unsigned j = 0; j < run->running[i].started && run->running[i].threads != NULL; j++) {
			struct perf_thread *thread = &run->running[i].threads[j];

			pthread_mutex_lock(&thread->lock);
			thread->stop = true;
			pthread_mutex_unlock(&thread->lock);
			(void)pthread_kill(thread->thread, WAKE_SIGNAL);
		}
}

/* ---- all jobs ---- */

/* Ends those jobs of which all threads have ended. */
static void
end_those_that_have(struct perf_run *run)
{
	for (unsigned i = 0; i < run->plan->job_count; i++) {
		struct running *running = &run->running[i];
		unsigned ended;

		pthread_mutex_lock(&run->lock);
		ended = running->ended;
		pthread_mutex_unlock(&run->lock);
		if (!running->over && running->started > 0 && ended == running->started)
			end_job(run, running);
	}
}

/* Begins those jobs that can; true: one is over at once, since it cannot, and others may have waited for it. */
static bool
begin_those_that_can(struct perf_run *run)
{
	const struct perf_plan *plan = run->plan;
	bool over = false;

	for (unsigned i = 0; i < plan->job_count; i++) {
		struct running *running = &run->running[i];
		const struct running *before = plan->after[i] >= 0 ? &run->running[plan->after[i]] : NULL;

		if (running->over || running->started > 0 || (before != NULL && !before->over))
			continue;
		run->failed |= run->stopping;
		if (run->stopping || (before != NULL && !run->outcomes[plan->after[i]].ran))
			running->over = true;
		else
			begin_job(run, running);
		over |= running->over;
	}
	return over;
}

/* Whether something goes on. */
static bool
attend(struct perf_run *run)
{
	bool left = false;

	end_those_that_have(run);
	while (begin_those_that_can(run))
		;
	for (unsigned i = 0; i < run->plan->job_count; i++)
		left |= !run->running[i].over;
	return left;
}

static void
run_all(struct perf_run *run)
{
	const struct perf_plan *plan = run->plan;
	uint64_t every_ns = plan->interval_ns > 0 ? plan->interval_ns : plan->progress ? NS_PER_S : 0, next_ns;
	const struct sigaction wake = { .sa_handler = on_wake };
	bool more;

	sigaction(WAKE_SIGNAL, &wake, NULL);
	more = attend(run);
	run->begun_ns = run->tick_ns = clock_now_ns();
	next_ns = every_ns > 0 ? run->begun_ns + every_ns : UINT64_MAX;
	stop_catch_signals();
	while (more) {
		wait_for_change(run, next_ns);
		if (clock_now_ns() >= next_ns) {
			tick(run, clock_now_ns());
			next_ns += every_ns;
		}
		run->stopping = stop_asked();
		if (run->stopping)
			stop_threads(run);
		more = attend(run);
	}
	if (plan->progress)
		fprintf(stderr, "\r\033[K");
}

static bool
make_outcomes(struct perf_run *run)
{
	run->running = calloc(run->plan->job_count, sizeof(*run->running));
	for (unsigned i = 0; run->running != NULL && i < run->plan->job_count; i++) {
		const struct perf_job *job = &run->plan->jobs[i];

		run->running[i].job = job;
		run->running[i].run = run;
		run->outcomes[i].uris = calloc(job->uri_count, sizeof(*run->outcomes[i].uris));
		if (run->outcomes[i].uris == NULL)
			return false;
		for (unsigned uri = 0; uri < job->uri_count; uri++)
			perf_result_init(&run->outcomes[i].uris[uri]);
	}
	return run->running != NULL;
}

int
perf_run(const struct perf_plan *plan, struct perf_outcome *outcomes)
{
	struct perf_run *run = calloc(1, sizeof(*run)); /* two results: large */
	bool failed;

	if (run == NULL)
		return -1;
	run->plan = plan;
	run->outcomes = outcomes;
	pthread_mutex_init(&run->lock, NULL);
	run->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	perf_result_init(&run->before);
	perf_result_init(&run->gone);
	if (run->changed_fd < 0) {
		complain(run, "cannot start", strerror(errno));
		run->failed = true;
	} else if (!make_outcomes(run)) {
		complain(run, "cannot start", "out of memory");
		run->failed = true;
	} else if (perf_host_start(plan, &run->host) != 0) {
		run->failed = true;
	} else {
		run_all(run);
		weir_host_destroy(run->host);
	}
	if (run->changed_fd >= 0)
		close(run->changed_fd);
	pthread_mutex_destroy(&run->lock);
	failed = run->failed;
	free(run->running);
	free(run);
	return failed ? -1 : 0;
}

void
perf_outcomes_free(struct perf_outcome *outcomes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(outcomes[i].uris);
}
