/*
 * id_log.h - log pages, for `weir id --log`.
 */
#ifndef WEIR_CMD_ID_LOG_H
#define WEIR_CMD_ID_LOG_H

#include <weir/weir.h>

#include "report.h"

/* 0 to 255, or a name; -1: there is none. */
int id_log_number(const char *text);

/* The names, for people. */
#define ID_LOG_NAMES "smart, error, firmware, ana, changed, effects or pages; or a number like 0x0d"

/* Reads the page and reports it, or writes its bytes to standard output.  0, or -1 after having said why not. */
int id_log(struct weir_subsys *subsys, int path, uint8_t lid, bool raw, struct report *report)
    __attribute__((warn_unused_result));

#endif
