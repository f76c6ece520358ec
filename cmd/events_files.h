/*
 * events_files.h - files of events of subsystems that the configuration does not have any more.
 *
 * One that comes back finds its events; but not for ever, or each subsystem that there ever was would have its file.
 */
#ifndef WEIR_CMD_EVENTS_FILES_H
#define WEIR_CMD_EVENTS_FILES_H

#include "conf/conf.h"

enum { EVENTS_FILES_GONE = 256 };

/* Removes those that were written to the longest ago, but for so many.  At a start: it takes the disk's time. */
void events_files_clean(const struct conf *conf);

#endif
