#include "bar.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { EACH_NS = 100000000, COLUMNS = 80 };

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
bar_begin(struct bar *bar, const char *doing, uint64_t total, bool wanted)
{
	bar->doing = doing;
	bar->shown = wanted && isatty(STDERR_FILENO);
	progress_init(&bar->progress, total, now_ns());
}

void
bar_at(struct bar *bar, uint64_t done)
{
	uint64_t now = bar->shown ? now_ns() : 0;
	char text[PROGRESS_TEXT];
	struct winsize size;

	if (!bar->shown || now - bar->progress.now_ns < EACH_NS)
		return;
	progress_at(&bar->progress, done, now);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		size.ws_col = COLUMNS;
	progress_line(&bar->progress, bar->doing, size.ws_col - 1u, text);
	fprintf(stderr, "\r%s\033[K", text);
}

void
bar_end(struct bar *bar)
{
	if (bar->shown)
		fprintf(stderr, "\r\033[K");
}
