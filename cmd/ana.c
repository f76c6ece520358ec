#include "ana.h"

#include <errno.h>
#include <stdlib.h>

enum { HEADER = 16, GROUP = 32, BYTES_MAX = 4 << 20 };

int
ana_read(struct weir_subsys *subsys, int path, const struct weir_controller *controller, struct ana_page *ana)
{
	uint64_t bytes = HEADER + (uint64_t)controller->ana_groups * GROUP + (uint64_t)controller->namespaces * 4;
	int rc;

	*ana = (struct ana_page) { 0 };
	if (!controller->ana)
		return -EOPNOTSUPP;
	ana->bytes = bytes < BYTES_MAX ? (uint32_t)bytes : BYTES_MAX;
	ana->page = calloc(1, ana->bytes);
	if (ana->page == NULL)
		return -ENOMEM;
	rc = weir_subsys_log(subsys, path, WEIR_LID_ANA, 0, 0xffffffff, 0, ana->page, ana->bytes);
	if (rc < 0) {
		free(ana->page);
		*ana = (struct ana_page) { 0 };
	}
	return rc;
}

const char *
ana_of_group(const struct ana_page *ana, uint32_t group)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_ana_group found;

	while (ana->page != NULL && weir_ana_next(ana->page, ana->bytes, &cursor, &found))
		if (found.group == group)
			return weir_ana_name(found.state);
	return "-";
}
