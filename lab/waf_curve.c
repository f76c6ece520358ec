#include "waf_curve.h"

#include <math.h>
#include <stdio.h>

#include "lab/crew.h"
#include "untimed.h"

enum { RUN = 256 /* units: 1 MiB */, MEASURED = 3, LONG_MEASURED = 20 };

const unsigned waf_curve_shares[WAF_CURVE_SHARES] = {
	0, 10, 20, 30, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100,
};

static const double MOVES = 1.1;

struct streams {
	uint64_t part;                     /* units that each of them goes round */
	uint64_t at[WAF_CURVE_STREAMS];    /* within its own */
};

/* Whose turn it is, is chance: streams that take turns keep step, and leave whole blocks empty, or never do. */
static void
write_run(struct untimed *u, struct streams *streams)
{
	uint64_t which = rng_below(&u->rng, WAF_CURVE_STREAMS), *at = &streams->at[which];

	for (unsigned i = 0; i < RUN; i++, *at = (*at + 1) % streams->part)
		ftl_write(u->ftl, (uint32_t)(which * streams->part + *at));
}

static void
write_mixed(struct untimed *u, struct streams *streams, unsigned share, uint64_t drive_writes)
{
	for (uint64_t done = 0; done < drive_writes * u->units; done += RUN)
		if (rng_below(&u->rng, 100) < share)
			write_run(u, streams);
		else
			untimed_random(u, RUN, 0, u->units);
}

struct point {
	double spare, amplification;
};

/* One share of one spare. */
static bool
measure(struct lab *lab, const void *arg, unsigned i, void *found)
{
	const unsigned *spares = arg, share = waf_curve_shares[i % WAF_CURVE_SHARES];
	bool is_long = share >= WAF_CURVE_LONG_FROM;
	struct streams streams;
	struct untimed u;

	if (!untimed_open(&u, lab, "tlc-plp", WAF_CURVE_DIES, spares[i / WAF_CURVE_SHARES], FLASH_GREEDY))
		return false;
	streams.part = u.units / WAF_CURVE_STREAMS;
	for (unsigned s = 0; s < WAF_CURVE_STREAMS; s++)
		streams.at[s] = rng_below(&u.rng, streams.part);
	write_mixed(&u, &streams, share, is_long ? WAF_CURVE_LONG_WARM_UP : WAF_CURVE_WARM_UP);
	untimed_mark(&u);
	write_mixed(&u, &streams, share, is_long ? LONG_MEASURED : MEASURED);
	*(struct point *)found = (struct point){ untimed_spare(&u), untimed_amplification(&u) };
	untimed_close(&u);
	return true;
}

/* Where hardly anything is moved any more there is nothing to fit: amplification is 1. */
static bool
fit(struct waf_curve *curve)
{
	unsigned count = WAF_CURVE_SHARES;

	while (count > 0 && curve->amplification[count - 1] < MOVES)
		count--;
	return stats_turning(curve->share, curve->amplification, count, &curve->fit);
}

bool
waf_curves_measure(struct lab *lab, const unsigned *spares, unsigned count, struct waf_curve *curves)
{
	struct point *points = lab_alloc(lab, (size_t)count * WAF_CURVE_SHARES * sizeof(*points));

	if (!lab_each(lab, count * WAF_CURVE_SHARES, measure, spares, points, sizeof(*points)))
		return false;
	for (unsigned s = 0; s < count; s++) {
		struct waf_curve *curve = &curves[s];

		*curve = (struct waf_curve){ .spare = points[s * WAF_CURVE_SHARES].spare };
		for (unsigned i = 0; i < WAF_CURVE_SHARES; i++) {
			curve->share[i] = waf_curve_shares[i] / 100.0;
			curve->amplification[i] = points[s * WAF_CURVE_SHARES + i].amplification;
			curve->most = fmax(curve->most, curve->amplification[i]);
		}
		snprintf(curve->name, sizeof(curve->name), "spare %.1f %%", curve->spare * 100);
		if (!fit(curve))
			lab_refuse(lab, "%s: nothing can be fitted", curve->name);
	}
	return lab->why[0] == '\0';
}
