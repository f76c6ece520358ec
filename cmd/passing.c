#include "passing.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { COLUMNS = 80 }; /* a line that is longer cannot be written over */

void
passing(const char *format, ...)
{
	char text[COLUMNS] = "";
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	if (format != NULL) {
		va_start(args, format);
		vsnprintf(text, sizeof(text), format, args);
		va_end(args);
	}
	fprintf(stderr, "\r%s\033[K", text);
}
