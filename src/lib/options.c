/*
 * options.c - structs of options of callers that are older or newer than this library.
 */
#include <errno.h>
#include <string.h>

#include "lib/internal.h"

int
options_take(void *ours, uint32_t bytes, const void *theirs, const char *what)
{
	uint32_t size;

	memset(ours, 0, bytes);
	if (theirs == NULL)
		return 0;
	memcpy(&size, theirs, sizeof(size));
	if (size < sizeof(size))
		return lib_fail(-EINVAL, "%s: its size is not set: see WEIR_OPTIONS()", what);
	for (uint32_t at = bytes; at < size; at++)
		if (((const uint8_t *)theirs)[at] != 0)
			return lib_fail(-EINVAL, "%s: this version of the library does not know all that is set", what);
	memcpy(ours, theirs, size < bytes ? size : bytes);
	return 0;
}
