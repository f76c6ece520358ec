/*
 * history_brute.h - whether any order explains a script (history_script.h) that is short.
 *
 * Durability is judged in two ways: exactly, by the order in which things took
 * effect, and by the rule of doc/oracles.md, which knows only what ended before
 * something else began.
 */
#ifndef TESTS_HISTORY_BRUTE_H
#define TESTS_HISTORY_BRUTE_H

#include <stdbool.h>

/* Takes the script as it is now. */
void brute_learn(void);

bool brute_explains(bool exactly);

#endif
