#include "conf/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/tree.h"

enum quantity { NUMBER, TIME, BYTES, SOLD, SHARE, BITS, RATE };

static const struct unit {
	const char *name;
	enum quantity quantity;
	uint64_t size; /* in the smallest of the quantity */
} units[] = {
	{ "", NUMBER, 1 },
	{ "ns", TIME, 1 }, { "us", TIME, 1000 }, { "ms", TIME, 1000000 }, { "s", TIME, 1000000000 },
	{ "bytes", BYTES, 1 }, { "KiB", BYTES, 1024 }, { "MiB", BYTES, 1024 * 1024 },
	{ "GiB", BYTES, 1024 * 1024 * 1024 },
	{ "MB", SOLD, 1 }, { "GB", SOLD, 1000 }, { "TB", SOLD, 1000000 },
	{ "ppm", SHARE, 1 }, { "permille", SHARE, 1000 }, { "%", SHARE, 10000 },
	{ "Mbit", BITS, 1 }, { "Gbit", BITS, 1000 },
	{ "MB/s", RATE, 1 }, { "GB/s", RATE, 1000 },
};

enum { BILLION = 1000000000 };

struct amount {
	uint64_t whole, billionths;
	const struct unit *unit; /* NULL: none was written */
};

static const struct unit *
unit_find(const char *name, size_t length)
{
	for (unsigned i = 0; i < COUNT_OF(units); i++)
		if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0)
			return &units[i];
	return NULL;
}

static struct wordlist
units_of(enum quantity quantity)
{
	const char *names[COUNT_OF(units)];
	unsigned count = 0;

	for (unsigned i = 0; i < COUNT_OF(units); i++)
		if (units[i].quantity == quantity)
			names[count++] = units[i].name;
	return wordlist(names, count);
}

static void
blanks_skip(const char **at)
{
	*at += strspn(*at, " ");
}

static bool
number_is_too_large(const char *text)
{
	uint64_t value;

	return *text >= '0' && *text <= '9' && !number_parse(&text, &value);
}

/* A number with decimals, of which those behind the ninth are zeros. */
static bool
decimal_take(const char **at, struct amount *amount)
{
	uint64_t worth = BILLION;

	amount->billionths = 0;
	if (!number_parse(at, &amount->whole))
		return false;
	if (**at != '.')
		return true;
	for (++*at; **at >= '0' && **at <= '9' && worth > 1; ++*at) {
		worth /= 10;
		amount->billionths += worth * (uint64_t)(**at - '0');
	}
	*at += strspn(*at, "0");
	return worth < BILLION;
}

/* A word behind a number; a minus ends it. */
static bool
unit_take(const char **at, const struct unit *own, struct amount *amount, char why[AMOUNT_WHY])
{
	size_t length;

	blanks_skip(at);
	length = strcspn(*at, " -");
	amount->unit = length > 0 ? unit_find(*at, length) : NULL;
	if (length > 0 && (amount->unit == NULL || amount->unit->quantity != own->quantity)) {
		if (own->quantity == NUMBER)
			snprintf(why, AMOUNT_WHY, "is a number without a unit");
		else
			snprintf(why, AMOUNT_WHY, "has one of the units %s", units_of(own->quantity).text);
		return false;
	}
	*at += length;
	blanks_skip(at);
	return true;
}

static bool
amount_take(const char **at, const struct unit *own, bool spans, struct amount *amount, char why[AMOUNT_WHY])
{
	const char *blank = own->name[0] == '\0' ? "" : " ";

	if (decimal_take(at, amount)) {
		if (**at < '0' || **at > '9')
			return unit_take(at, own, amount, why);
		snprintf(why, AMOUNT_WHY, "has nine decimals at most");
	} else if (number_is_too_large(*at)) {
		snprintf(why, AMOUNT_WHY, "is too large a number");
	} else if (spans) {
		snprintf(why, AMOUNT_WHY, "is an amount like `5%s%s`, or a span like `5-100%s%s`", blank, own->name,
		    blank, own->name);
	} else {
		snprintf(why, AMOUNT_WHY, "is an amount like `5%s%s`", blank, own->name);
	}
	return false;
}

/* Counted in `own`, where it is a whole number. */
static bool
amount_count(const struct amount *amount, const struct unit *own, uint64_t *count, char why[AMOUNT_WHY])
{
	uint64_t size = amount->unit != NULL ? amount->unit->size : 1;
	unsigned __int128 billionths = ((unsigned __int128)amount->whole * BILLION + amount->billionths) * size;
	unsigned __int128 one = (unsigned __int128)own->size * BILLION;

	if (amount->unit == NULL && own->quantity != NUMBER && billionths > 0)
		snprintf(why, AMOUNT_WHY, "needs a unit: %s", units_of(own->quantity).text);
	else if (billionths % one != 0)
		snprintf(why, AMOUNT_WHY, "is a whole number%s%s", own->name[0] == '\0' ? "" : " of ", own->name);
	else if (billionths / one > INT64_MAX)
		snprintf(why, AMOUNT_WHY, "is too large a number");
	else {
		*count = (uint64_t)(billionths / one);
		return true;
	}
	return false;
}

bool
amount_span(const char *text, const char *unit, struct span *span, char why[AMOUNT_WHY])
{
	const struct unit *own = unit_find(unit, strlen(unit));
	struct amount from, to;

	if (!amount_take(&text, own, true, &from, why))
		return false;
	to = from;
	if (*text == '-') {
		text++;
		blanks_skip(&text);
		if (!amount_take(&text, own, true, &to, why))
			return false;
		if (from.unit == NULL)
			from.unit = to.unit;
	}
	if (*text != '\0') {
		snprintf(why, AMOUNT_WHY, "ends with an amount");
		return false;
	}
	if (!amount_count(&from, own, &span->from, why) || !amount_count(&to, own, &span->to, why))
		return false;
	if (span->from <= span->to)
		return true;
	snprintf(why, AMOUNT_WHY, "goes from the smaller to the larger");
	return false;
}

bool
amount_read(const char *text, const char *unit, uint64_t *value, char why[AMOUNT_WHY])
{
	const struct unit *own = unit_find(unit, strlen(unit));
	struct amount amount;

	if (!amount_take(&text, own, false, &amount, why))
		return false;
	if (*text == '\0')
		return amount_count(&amount, own, value, why);
	snprintf(why, AMOUNT_WHY, "is one amount, with nothing behind it");
	return false;
}

void
amount_print(uint64_t value, const char *unit, char text[AMOUNT_TEXT])
{
	const struct unit *own = unit_find(unit, strlen(unit)), *best = own;
	unsigned __int128 thousandths = (unsigned __int128)value * own->size * 1000;
	uint64_t whole, rest;
	int digits = 3;

	for (const struct unit *u = units; u < units + COUNT_OF(units); u++)
		if (u->quantity == own->quantity && u->size > best->size && thousandths % u->size == 0 &&
		    thousandths / u->size >= 1000)
			best = u;
	thousandths /= best->size;
	whole = (uint64_t)(thousandths / 1000);
	rest = (uint64_t)(thousandths % 1000);
	for (; digits > 0 && rest % 10 == 0; digits--)
		rest /= 10;
	if (digits > 0)
		snprintf(text, AMOUNT_TEXT, "%" PRIu64 ".%0*" PRIu64 " %s", whole, digits, rest, best->name);
	else
		snprintf(text, AMOUNT_TEXT, "%" PRIu64 "%s%s", whole, best->name[0] == '\0' ? "" : " ", best->name);
}
