#include "trial/amount.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/tree.h"

enum quantity { NUMBER, TIME, BYTES, SHARE, RATE };

static const struct unit {
	const char *name;
	enum quantity quantity;
	uint64_t size; /* in the smallest of the quantity */
} units[] = {
	{ "", NUMBER, 1 },
	{ "ns", TIME, 1 }, { "us", TIME, 1000 }, { "ms", TIME, 1000000 }, { "s", TIME, 1000000000 },
	{ "bytes", BYTES, 1 }, { "KiB", BYTES, 1024 }, { "MiB", BYTES, 1024 * 1024 },
	{ "ppm", SHARE, 1 }, { "%", SHARE, 10000 },
	{ "Mbit", RATE, 1 }, { "Gbit", RATE, 1000 },
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

/* A number with as many as nine decimals. */
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
amount_take(const char **at, const struct unit *own, struct amount *amount, char why[AMOUNT_WHY])
{
	if (decimal_take(at, amount))
		return unit_take(at, own, amount, why);
	snprintf(why, AMOUNT_WHY, "is an amount like `5%s%s`, or a span like `5-100%s%s`", own->name[0] == '\0' ? "" :
	    " ", own->name, own->name[0] == '\0' ? "" : " ", own->name);
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

	if (!amount_take(&text, own, &from, why))
		return false;
	to = from;
	if (*text == '-') {
		text++;
		blanks_skip(&text);
		if (!amount_take(&text, own, &to, why))
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
