#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MARK_NS = 2000000000, BAR_MAX = 40, BAR_MIN = 10 };
#define SECOND_NS UINT64_C(1000000000)

void
progress_init(struct progress *progress, uint64_t total, uint64_t now_ns)
{
	*progress = (struct progress) { .total = total, .began_ns = now_ns, .now_ns = now_ns };
	progress->mark.ns = progress->next_mark.ns = now_ns;
}

void
progress_at(struct progress *progress, uint64_t done, uint64_t now_ns)
{
	progress->done = done;
	progress->now_ns = now_ns;
	if (now_ns - progress->next_mark.ns < MARK_NS)
		return;
	progress->mark = progress->next_mark;
	progress->next_mark.ns = now_ns;
	progress->next_mark.done = done;
}

static uint64_t
rate(uint64_t bytes, uint64_t ns)
{
	return ns == 0 ? 0 : (uint64_t)((double)bytes * 1e9 / (double)ns);
}

uint64_t
progress_rate(const struct progress *progress)
{
	return rate(progress->done - progress->mark.done, progress->now_ns - progress->mark.ns);
}

uint64_t
progress_mean(const struct progress *progress)
{
	return rate(progress->done, progress->now_ns - progress->began_ns);
}

void
progress_size(uint64_t bytes, char text[PROGRESS_WORD])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = 0;
	uint64_t scale = 1024;

	if (bytes < 1024) {
		snprintf(text, PROGRESS_WORD, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
		return;
	}
	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes / scale >= 1024) {
		unit++;
		scale *= 1024;
	}
	if (bytes % scale == 0)
		snprintf(text, PROGRESS_WORD, "%" PRIu64 " %s", bytes / scale, units[unit]);
	else
		snprintf(text, PROGRESS_WORD, "%.1f %s", (double)bytes / (double)scale, units[unit]);
}

void
progress_time(uint64_t seconds, char text[PROGRESS_WORD])
{
	if (seconds < 60)
		snprintf(text, PROGRESS_WORD, "%" PRIu64 " s", seconds);
	else if (seconds < 3600)
		snprintf(text, PROGRESS_WORD, "%" PRIu64 ":%02" PRIu64, seconds / 60, seconds % 60);
	else
		snprintf(text, PROGRESS_WORD, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
		    seconds / 60 % 60, seconds % 60);
}

/* Never 100 before it is done. */
static unsigned
percent(const struct progress *progress)
{
	if (progress->done >= progress->total)
		return 100;
	return (unsigned)((double)progress->done * 100 / (double)progress->total);
}

static void
add_bar(char *text, size_t room, unsigned width, unsigned part)
{
	char bar[BAR_MAX + 1];

	memset(bar, '.', width);
	memset(bar, '#', width * part / 100);
	bar[width] = '\0';
	snprintf(text, room, "[%s] ", bar);
}

static void
words(const struct progress *progress, char *text, size_t room)
{
	char done[PROGRESS_WORD], total[PROGRESS_WORD], time[PROGRESS_WORD];
	uint64_t speed = progress_rate(progress);

	progress_size(progress->done, done);
	if (progress->total == PROGRESS_UNKNOWN) {
		progress_time((progress->now_ns - progress->began_ns) / SECOND_NS, time);
		snprintf(text, room, "%s, %" PRIu64 " MB/s, %s", done, speed / 1000000, time);
		return;
	}
	progress_size(progress->total, total);
	if (speed == 0)
		snprintf(time, sizeof(time), "stalled");
	else
		progress_time((progress->total - progress->done + speed - 1) / speed, time);
	snprintf(text, room, "%3u %%  %s of %s, %" PRIu64 " MB/s, %s%s", percent(progress), done, total,
	    speed / 1000000, time, speed == 0 ? "" : " left");
}

void
progress_line(const struct progress *progress, const char *what, unsigned columns, char text[PROGRESS_TEXT])
{
	char said[PROGRESS_TEXT - 64], bar[BAR_MAX + 4] = "";
	size_t taken;

	words(progress, said, sizeof(said));
	taken = strlen(what) + 2 + strlen(said) + 3;
	if (progress->total != PROGRESS_UNKNOWN && taken + BAR_MIN <= columns) {
		unsigned room = columns - (unsigned)taken;

		add_bar(bar, sizeof(bar), room < BAR_MAX ? room : BAR_MAX, percent(progress));
	}
	snprintf(text, PROGRESS_TEXT, "%s: %s%s", what, bar, said);
	if (columns < strlen(text))
		text[columns] = '\0';
}
