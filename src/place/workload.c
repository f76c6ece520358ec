#include "place/workload.h"

#include <math.h>
#include <stddef.h>

/* What is more than any one workload does: then it is most likely a thousand times too much. */
static const double RATE_ODD_GB_PER_DAY = 500e3, IOPS_ODD = 10e6, ROOM_ODD_GB = 1e6, ARRIVAL_ODD_DAYS = 36525;

/* What nothing in the world does. */
static const double RATE_MAX_GB_PER_DAY = 1e9, IOPS_MAX = 1e12, ROOM_MAX_GB = 1e10, ARRIVAL_MAX_DAYS = 1e6;

/* Of one write, by its rate and its peak: what is hardly meant, and what cannot be. */
static const double WRITE_ODD_BYTES = 4e6, WRITE_MAX_BYTES = 100e6;

/* How large its writes are at least: if it were at its peak all day. */
static double
write_bytes(const struct workload *w)
{
	return w->write_gb_per_day > 0 ? w->write_gb_per_day * 1e9 / 86400 / (w->peak_iops * w->write_ratio) : 0;
}

static int
is_amount(double value, double most)
{
	return value >= 0 && value <= most;
}

const char *
workload_wrong(const struct workload *w)
{
	if (!is_amount(w->write_gb_per_day, RATE_MAX_GB_PER_DAY))
		return "its write rate is not a number of GB per day from 0 up to a billion";
	if (w->write_gb_per_day > 0 && w->write_gb_per_day < WORKLOAD_RATE_MIN)
		return "its write rate is less than a kilobyte a day, and not 0";
	if (!(w->seq_ratio >= 0 && w->seq_ratio <= 1))
		return "its sequential share is not from 0 to 1 (0 to 100 %)";
	if (!is_amount(w->peak_iops, IOPS_MAX))
		return "its peak is not a number of I/Os per second from 0 up to a million million";
	if (!(w->write_ratio >= 0 && w->write_ratio <= 1))
		return "its share of writes is not from 0 to 1 (0 to 100 %)";
	if (!is_amount(w->working_set_gb, ROOM_MAX_GB))
		return "its working set is not a number of GB from 0 up to ten billion";
	if (!is_amount(w->arrival_days, ARRIVAL_MAX_DAYS))
		return "its arrival is not a number of days from 0 up to a million";
	if (w->write_gb_per_day > 0 && w->write_ratio == 0)
		return "it writes, and none of its I/Os are writes";
	if (w->write_gb_per_day > 0 && w->peak_iops == 0)
		return "it writes, and its peak is 0 I/Os per second";
	if (w->write_gb_per_day > 0 && w->working_set_gb == 0)
		return "it writes, and its working set is 0";
	if (write_bytes(w) > WRITE_MAX_BYTES)
		return "for what it writes a day its peak is too low: each write would be more than 100 MB";
	return NULL;
}

const char *
workload_odd(const struct workload *w)
{
	if (w->write_gb_per_day > RATE_ODD_GB_PER_DAY)
		return "its write rate is more than 500 TB a day: is it in MB?";
	if (w->peak_iops > IOPS_ODD)
		return "its peak is more than ten million I/Os per second";
	if (w->peak_iops > 0 && w->peak_iops < 0.5)
		return "its peak is less than one I/O in two seconds: is it in thousands?";
	if (w->working_set_gb > ROOM_ODD_GB)
		return "its working set is more than 1000 TB: is it in MB?";
	if (w->arrival_days > ARRIVAL_ODD_DAYS)
		return "it arrives after more than a hundred years: is that in seconds?";
	if (write_bytes(w) > WRITE_ODD_BYTES)
		return "for what it writes a day its peak is low: each write would be more than 4 MB";
	return NULL;
}
