#include "sys/boot.h"

#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "sys/clock.h"

uint64_t
boot_number(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char text[UUID_TEXT + 1] = "";
	uint64_t halves[2];
	uint8_t id[UUID_BYTES];

	if (file != NULL) {
		if (fgets(text, sizeof(text), file) == NULL)
			text[0] = '\0';
		fclose(file);
	}
	if (!uuid_parse(text, id))
		return clock_random() | 1;
	memcpy(halves, id, sizeof(halves));
	return halves[0] != halves[1] ? halves[0] ^ halves[1] : 1; /* 0 says that it is not told */
}
