#include "trace/rates.h"

#include <assert.h>
#include <math.h>

static const double second_ns = 1e9, day_ns = 86400e9;

void
rates_init(struct rates *rates, uint64_t window_ns)
{
	assert(window_ns > 0);
	*rates = (struct rates) { .window_ns = window_ns };
}

static uint64_t
requests(const struct rates *rates)
{
	return rates->reads + rates->writes;
}

/* That window is the newest now. */
static void
advance(struct rates *rates, uint64_t window)
{
	uint64_t passed = window - rates->newest;

	for (uint64_t i = 1; i <= passed && i <= RATES_KEPT; i++) {
		uint64_t *oldest = &rates->kept[(rates->newest + i) % RATES_KEPT];

		rates->peak = *oldest > rates->peak ? *oldest : rates->peak;
		*oldest = 0;
	}
	rates->newest = window;
}

static void
count_window(struct rates *rates, uint64_t time_ns)
{
	uint64_t window = time_ns > rates->first_ns ? (time_ns - rates->first_ns) / rates->window_ns : 0;

	if (window > rates->newest)
		advance(rates, window);
	if (window + RATES_KEPT <= rates->newest) {
		rates->misplaced++;
		window = rates->newest + 1 - RATES_KEPT;
	}
	rates->kept[window % RATES_KEPT]++;
}

void
rates_add(struct rates *rates, const struct trace_request *request)
{
	uint64_t time_ns = request->time_ns;

	if (requests(rates) == 0)
		rates->first_ns = rates->earliest_ns = rates->latest_ns = time_ns;
	rates->backwards += time_ns < rates->latest_ns;
	rates->earliest_ns = time_ns < rates->earliest_ns ? time_ns : rates->earliest_ns;
	rates->latest_ns = time_ns > rates->latest_ns ? time_ns : rates->latest_ns;
	count_window(rates, time_ns);
	if (request->is_write) {
		rates->writes++;
		rates->written_bytes += request->bytes;
	} else {
		rates->reads++;
		rates->read_bytes += request->bytes;
	}
}

uint64_t
rates_duration_ns(const struct rates *rates)
{
	return rates->latest_ns - rates->earliest_ns;
}

double
rates_peak_iops(const struct rates *rates)
{
	uint64_t duration_ns = rates_duration_ns(rates), peak = rates->peak;

	if (duration_ns < RATES_LEAST_NS)
		return NAN;
	if (duration_ns < rates->window_ns)
		return (double)requests(rates) * second_ns / (double)duration_ns;
	for (unsigned i = 0; i < RATES_KEPT; i++)
		peak = rates->kept[i] > peak ? rates->kept[i] : peak;
	return (double)peak * second_ns / (double)rates->window_ns;
}

double
rates_write_gb_day(const struct rates *rates)
{
	uint64_t duration_ns = rates_duration_ns(rates);

	if (duration_ns < RATES_LEAST_NS)
		return NAN;
	return (double)rates->written_bytes / 1e9 * day_ns / (double)duration_ns;
}

double
rates_write_ratio(const struct rates *rates)
{
	return requests(rates) > 0 ? (double)rates->writes / (double)requests(rates) : NAN;
}
