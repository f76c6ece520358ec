#include "text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void
text_put(void *file, const char *text, size_t bytes)
{
	fwrite(text, 1, bytes, file);
}

/* A write that finds no memory is told by the stream alone; one at the end, by fclose(). */
int
text_end(FILE *memory, char **text)
{
	bool whole;

	if (memory == NULL) {
		*text = NULL;
		return -ENOMEM;
	}
	whole = ferror(memory) == 0;
	whole = fclose(memory) == 0 && whole && *text != NULL;
	if (whole)
		return 0;
	free(*text);
	*text = NULL;
	return -ENOMEM;
}
