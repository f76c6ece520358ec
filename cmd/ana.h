/*
 * ana.h - what each path of a subsystem is worth, by ANA group.
 */
#ifndef WEIR_CMD_ANA_H
#define WEIR_CMD_ANA_H

#include <weir/weir.h>

struct ana_page {
	void *page;   /* malloc()ed: free(); NULL: the controller keeps none, or it could not be read */
	uint32_t bytes;
};

/* Reads log page 0Ch by a path; how large it can be is in what the controller says of itself.  0, or a negative
 * errno, and there is no page. */
int ana_read(struct weir_subsys *subsys, int path, const struct weir_controller *controller, struct ana_page *ana)
    __attribute__((warn_unused_result));

/* The state of a group in the page, in words; "-": nothing is known of it. */
const char *ana_of_group(const struct ana_page *ana, uint32_t group);

#endif
