#include "lib/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include <weir/status.h>

/* The one thing in Weir that is a thread's: who calls the library has no place of ours to keep it. */
static _Thread_local char last[512];

int
lib_fail(int error, const char *format, ...)
{
	char text[sizeof(last)]; /* what is printed may be the last one */
	va_list args;
	int length;

	assert(error < 0);
	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(last, sizeof(last), "%s", length < 0 ? "" : text);
	return error;
}

const char *
weir_error(void)
{
	return last;
}
