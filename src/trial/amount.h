/*
 * amount.h - amounts as people write them, with a unit and exactly: 12.5 ms, 64 KiB, 30 %, and spans like 5-100 us.
 *
 * Units of one quantity become each other: ns, us, ms, s; bytes, KiB, MiB; ppm,
 * %; Mbit, Gbit.  A number of things has the unit "".  Pure.
 */
#ifndef WEIR_TRIAL_AMOUNT_H
#define WEIR_TRIAL_AMOUNT_H

#include <stdbool.h>

#include "trial/plan.h"

enum { AMOUNT_WHY = 200 };

/*
 * Reads a span, or one amount, which is the span from it to itself; where the
 * first of two has no unit it has that of the second, and 0 needs none.  What
 * comes out is counted in `unit`.  False: `why` says what is wrong, as words
 * that follow what the amount is of ("needs a unit: ...").
 */
bool amount_span(const char *text, const char *unit, struct span *span, char why[AMOUNT_WHY]);

#endif
