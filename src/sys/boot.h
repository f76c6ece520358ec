/*
 * boot.h - which start of the machine this is.
 */
#ifndef WEIR_SYS_BOOT_H
#define WEIR_SYS_BOOT_H

#include <stdint.h>

/* Of the kernel's boot id: the same for all processes until the machine starts anew, then another one; never 0.  Where
 * the kernel does not tell it is another one at each call: rather once too often than once too little. */
uint64_t boot_number(void);

#endif
