#include "refuse.h"

#include <stdarg.h>
#include <stdio.h>

int
refuse(char why[256], int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, 256, format, args);
	va_end(args);
	return rc;
}
