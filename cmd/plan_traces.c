/*
 * plan_traces.c - workloads from traces of them: what each is like becomes what is to be placed.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmd.h"
#include "plan.h"
#include "trace_tell.h"

/* NULL, or why a trace does not say what a planner must know. */
static const char *
take(struct workload *w, const struct trace_stat *stat)
{
	if (isnan(stat->write_gb_day) || isnan(stat->peak_iops) || isnan(stat->write_ratio))
		return "it is too short to say how much is written a day";
	w->write_gb_per_day = stat->write_gb_day;
	w->seq_ratio = isnan(stat->seq_ratio) ? 0 : stat->seq_ratio; /* nothing is written */
	w->peak_iops = stat->peak_iops;
	w->write_ratio = stat->write_ratio;
	w->working_set_gb = stat->working_set_gb;
	return workload_wrong(w);
}

/* Traces have names that differ; one of the file that workloads are in may be the same. */
static bool
is_called_so(const struct planned *p, const char *name)
{
	for (uint32_t i = 0; i < p->workloads.count; i++)
		if (strcmp(p->workloads.list[i].name, name) == 0)
			return true;
	return false;
}

static int
add(struct planned *p, const struct trace_row *row)
{
	const char *file = config_shown(row->path), *why;
	struct workload w = { .name = arena_strdup(&p->arena, row->name) };

	if (w.name == NULL)
		return -ENOMEM;
	why = take(&w, &row->stat);
	if (why == NULL && !is_called_so(p, w.name)) {
		p->workloads.list[p->workloads.count++] = w;
		return 0;
	}
	if (why != NULL)
		fprintf(stderr, "weir plan: %s: %s\n", file, why);
	else
		fprintf(stderr, "weir plan: %s: the file of workloads has one that is called %s\n", file, w.name);
	return -EINVAL;
}

static int
add_rows(struct planned *p, const struct trace_rows *rows)
{
	int error = 0;

	for (size_t i = 0; i < rows->count; i++) {
		int failed = add(p, &rows->rows[i]);

		error = failed != 0 ? failed : error;
	}
	return error;
}

/* Behind those of a file, if there are any. */
static int
make_room(struct planned *p, size_t more)
{
	struct workloads *all = &p->workloads;
	struct workload *list = arena_alloc(&p->arena, (all->count + more) * sizeof(*list));

	if (list == NULL)
		return -ENOMEM;
	if (all->count > 0)
		memcpy(list, all->list, all->count * sizeof(*list));
	all->list = list;
	return 0;
}

int
plan_traces(struct planned *p)
{
	struct trace_tell *tell = trace_tell_create(p->given->trace_count);
	int error = tell == NULL ? -ENOMEM : 0;

	if (tell != NULL) {
		tell->paths = p->given->traces;
		tell->count = p->given->trace_count;
	}
	for (unsigned i = 0; error == 0 && i < p->given->trace_count; i++)
		error = trace_tell_file(tell, i);
	if (error == 0)
		error = make_room(p, tell->rows.count);
	if (error == 0)
		error = add_rows(p, &tell->rows);
	if (error == -ENOMEM)
		fprintf(stderr, "weir plan: out of memory\n");
	p->lines_left = tell != NULL && tell->left;
	trace_tell_destroy(tell);
	return error;
}
