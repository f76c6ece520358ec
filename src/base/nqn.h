/*
 * nqn.h - what an NVMe Qualified Name may be (NVMe Base 2.0, 4.5).
 *
 * Of peers, and of the configuration: the same.  It does not know whose name it is.
 */
#ifndef WEIR_BASE_NQN_H
#define WEIR_BASE_NQN_H

#include <stdbool.h>
#include <stddef.h>

#define NQN_DISCOVERY "nqn.2014-08.org.nvmexpress.discovery"

enum { NQN_MAX = 223 };

/*
 * Begins with nqn., a date as 2026-11 and a full stop, goes on, has 223 bytes at most, and all of it are characters
 * that can be seen.  That what follows is a domain, or a UUID where the name says so, is not asked: some hosts are
 * lax, and nothing here rests on it.
 */
bool nqn_valid(const char *text, size_t bytes);

/*
 * What a host takes for the name of a subsystem or of itself: 1 to 223 bytes of characters that can be seen, and no
 * space.  Linux's target takes any name, and people call theirs `testnqn`.
 */
bool nqn_usable(const char *text, size_t bytes);

#endif
