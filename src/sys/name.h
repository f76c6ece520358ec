/*
 * name.h - which address is a name's?
 */
#ifndef WEIR_SYS_NAME_H
#define WEIR_SYS_NAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * The address, in numbers, of a name or of an address in any form.  Of a name that stands for several it is the
 * first that takes a connection at `port` within `ms` in all, else the first.  Blocks.  0; -EHOSTUNREACH or
 * -ENOMEM, and *why says what is wrong: a text that is not to be kept.
 */
int name_numeric(const char *name, uint16_t port, uint32_t ms, char *host, size_t bytes, const char **why)
    __attribute__((warn_unused_result));

#endif
