/*
 * sweep.h - many measurements that differ in two things: a figure's series, and what is drawn along its x axis.
 */
#ifndef WEIR_LAB_SWEEP_H
#define WEIR_LAB_SWEEP_H

#include "lab/experiment.h"

enum { SWEEP_SERIES_MAX = 16, SWEEP_POINTS_MAX = 32, SWEEP_DRAWINGS_MAX = 8 };

/* A figure of the sweep: one metric, of the phase that is drawn. */
struct sweep_drawing {
	const char *name, *title;
	const char *axis, *unit;        /* of y; NULL: the metric's */
	enum result_scale scale;        /* of y */
	int job, op;                    /* or LAB_ALL_JOBS, LAB_ALL_OPS */
	enum lab_metric metric;
	double (*value)(const struct lab_outcome *outcome); /* what is drawn in place of a metric, or NULL */
	bool spread;                    /* of latency: bars from the median to the 99th percentile */
};

struct sweep {
	struct result_axis x;
	const char *const *series;      /* names */
	unsigned series_count;
	const double *points;           /* along x */
	unsigned point_count;
	/* Says what is measured; the setup was begun by lab_setup_init(). */
	void (*make)(unsigned series, double point, struct lab_setup *setup, const void *arg);
	const void *arg;
	enum lab_rig rig;
	unsigned phase;                 /* that is told of */
	const struct sweep_drawing *drawings;
	unsigned drawing_count;
	const char *caption;
};

/* What was drawn. */
struct swept {
	double values[SWEEP_DRAWINGS_MAX][SWEEP_SERIES_MAX][SWEEP_POINTS_MAX];
	struct result_figure *figures[SWEEP_DRAWINGS_MAX];
};

/*
 * Runs it: a table `measured` with all metrics of each job and operation, one `counted` by how much those counters of
 * the devices grew that did, the figures, and a check that no I/O failed.
 * False: the lab says why not.  `swept` may be NULL.
 */
bool sweep_run(const struct sweep *sweep, struct lab *lab, struct result *result, struct swept *swept)
    __attribute__((warn_unused_result));

#endif
