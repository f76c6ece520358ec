/*
 * amount.h - amounts as people write them, with a unit and exactly: 12.5 ms, 64 KiB, 30 %, and spans like 5-100 us.
 *
 * Units of one quantity become each other: ns, us, ms, s; bytes, KiB, MiB, GiB; MB, GB, TB, as drives are sold; ppm,
 * permille, %; Mbit, Gbit; MB/s, GB/s.  A number of things has the unit "".  Pure.
 */
#ifndef WEIR_CONF_AMOUNT_H
#define WEIR_CONF_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { AMOUNT_WHY = 200, AMOUNT_TEXT = 48 };

struct span {
	uint64_t from, to;
};

/*
 * Reads a span, or one amount, which is the span from it to itself; where the
 * first of two has no unit it has that of the second, and 0 needs none.  What
 * comes out is counted in `unit`.  False: `why` says what is wrong, as words
 * that follow what the amount is of ("needs a unit: ...").
 */
bool amount_span(const char *text, const char *unit, struct span *span, char why[AMOUNT_WHY]);

/* The same of one amount alone. */
bool amount_read(const char *text, const char *unit, uint64_t *value, char why[AMOUNT_WHY]);

/*
 * The amount, exactly, with the largest unit in which it is not below 1 and has three decimals at most: amount_read()
 * reads it back.
 */
void amount_print(uint64_t value, const char *unit, char text[AMOUNT_TEXT]);

#endif
