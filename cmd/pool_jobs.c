#include "pool_jobs.h"

#include <string.h>

void
pool_jobs_init(struct pool_jobs *jobs, struct reactor *reactor, unsigned out_max)
{
	*jobs = (struct pool_jobs){ .reactor = reactor, .out_max = out_max };
	list_init(&jobs->line);
	list_init(&jobs->out);
}

static struct pool_job *
job_of(struct list *node)
{
	return container_of(node, struct pool_job, node);
}

/* The one in this folder that is out, or NULL. */
static const struct pool_job *
out_in(const struct pool_jobs *jobs, const char *folder)
{
	list_for_each(&jobs->out, node)
		if (strcmp(job_of(node)->folder, folder) == 0)
			return job_of(node);
	return NULL;
}

static void
run(struct errand *errand)
{
	struct pool_job *job = container_of(errand, struct pool_job, errand);

	job->run(job);
}

static void go_on(struct pool_jobs *jobs);

static void
done(struct errand *errand)
{
	struct pool_job *job = container_of(errand, struct pool_job, errand);
	struct pool_jobs *jobs = job->jobs;

	list_remove(&job->node);
	jobs->out_count--;
	job->out = false;
	job->done(job);
	go_on(jobs);
}

static void
begin(struct pool_jobs *jobs, struct pool_job *job)
{
	list_remove(&job->node);
	list_push(&jobs->out, &job->node);
	jobs->out_count++;
	job->out = true;
	job->errand = (struct errand){ .run = run, .done = done, .owner = job, .apart = true };
	jobs->reactor->world->errand(jobs->reactor, &job->errand);
}

/* The first in line whose folder has nothing to do.  The world may be done with it from inside. */
static struct pool_job *
next_job(const struct pool_jobs *jobs)
{
	if (jobs->out_count == jobs->out_max)
		return NULL;
	list_for_each(&jobs->line, node)
		if (out_in(jobs, job_of(node)->folder) == NULL)
			return job_of(node);
	return NULL;
}

static void
go_on(struct pool_jobs *jobs)
{
	struct pool_job *job;

	while ((job = next_job(jobs)) != NULL)
		begin(jobs, job);
}

void
pool_jobs_give(struct pool_jobs *jobs, struct pool_job *job)
{
	job->jobs = jobs;
	job->out = job->late = false;
	list_push(&jobs->line, &job->node);
	go_on(jobs);
}

void
pool_job_late(struct pool_job *job)
{
	job->late = true;
}

bool
pool_job_take_back(struct pool_job *job)
{
	if (!job->out)
		list_remove(&job->node);
	return !job->out;
}

bool
pool_jobs_hang(const struct pool_jobs *jobs, const char *folder)
{
	const struct pool_job *job = out_in(jobs, folder);

	return job != NULL && job->late;
}

bool
pool_jobs_any(const struct pool_jobs *jobs)
{
	return jobs->out_count > 0 || !list_empty(&jobs->line);
}
