/*
 * device.c - the parameters of a device: what each is called, and how it is written.
 *
 * Costs are written as decimals with three places at most, and kept in 1024ths: of two such texts each has its own, so
 * that what was read is printed as it was.  Which numbers can be is for qos/params to say.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "conf/internal.h"

enum how { NUMBER, COST, MICROSECONDS, SIZE };

static const struct row {
	const char *key;
	enum how how;
	unsigned count;   /* more than one: a list of them */
	size_t bytes;     /* of each */
	size_t offset;
	bool measured;
} rows[] = {
#define ROW(key, how, member, measured) { key, how, 1, sizeof(((struct qos_params *)NULL)->member), \
	offsetof(struct qos_params, member), measured }
#define LIST(key, how, member) { key, how, QOS_SIZES, sizeof(((struct qos_params *)NULL)->member[0]), \
	offsetof(struct qos_params, member), true }
	LIST("read_cost", COST, size_cost[QOS_READ]),
	LIST("write_cost", COST, size_cost[QOS_WRITE]),
	ROW("write_cost_worst", COST, write_cost_worst, true),
	LIST("read_rate", SIZE, size_rate[QOS_READ]),
	LIST("write_rate", SIZE, size_rate[QOS_WRITE]),
	LIST("read_extra_us", MICROSECONDS, size_ns[QOS_READ]),
	LIST("write_extra_us", MICROSECONDS, size_ns[QOS_WRITE]),
	ROW("latency_min_us", MICROSECONDS, thresh_min_ns, true),
	ROW("latency_max_us", MICROSECONDS, thresh_max_ns, true),
	ROW("slots", NUMBER, slots, true),
	ROW("slots_least", NUMBER, slots_least, true),
	ROW("inflight", SIZE, inflight_bytes, true),
	ROW("rate_first", SIZE, rate_first, true),
	ROW("rate_least", SIZE, rate_least, true),
	ROW("rate_most", SIZE, rate_most, true),
	ROW("ewma_shift", NUMBER, ewma_shift, false),
	ROW("thresh_shift", NUMBER, thresh_shift, false),
	ROW("beta", NUMBER, beta, false),
	ROW("bucket", SIZE, bucket_bytes, false),
	ROW("quantum", SIZE, quantum_bytes, false),
	ROW("write_cost_steps", NUMBER, write_cost_steps, false),
	ROW("write_cost_us", MICROSECONDS, write_cost_ns, false),
	ROW("linger_us", MICROSECONDS, linger_ns, false),
	ROW("stall_us", MICROSECONDS, stall_ns, false),
};

static const char *const forms[] = {
	[NUMBER] = "a number", [COST] = "a number with three decimals at most, like 1.25",
	[MICROSECONDS] = "a number of microseconds with three decimals at most, like 12.5",
	[SIZE] = "a number with K, M, G or T, like 256K",
};

/* ---- values ---- */

static uint64_t
value_get(const struct qos_params *params, const struct row *row, unsigned index)
{
	const void *at = (const char *)params + row->offset + index * row->bytes;

	return row->bytes == sizeof(uint64_t) ? *(const uint64_t *)at : *(const uint32_t *)at;
}

static void
value_set(struct qos_params *params, const struct row *row, unsigned index, uint64_t value)
{
	void *at = (char *)params + row->offset + index * row->bytes;

	if (row->bytes == sizeof(uint64_t))
		*(uint64_t *)at = value;
	else
		*(uint32_t *)at = (uint32_t)value;
}

/* A number below 2^32 with up to three decimals, in thousandths. */
static bool
thousandths_parse(const char *text, uint64_t *value)
{
	uint64_t worth = 1000, whole;

	if (!number_parse(&text, &whole) || whole > UINT32_MAX)
		return false;
	*value = whole * 1000;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && worth > 1; text++) {
			worth /= 10;
			*value += worth * (uint64_t)(*text - '0');
		}
	return *text == '\0' && text[-1] != '.';
}

static bool
value_parse(const struct row *row, const char *text, uint64_t *value)
{
	bool right = false;

	switch (row->how) {
	case NUMBER:
		right = number_parse(&text, value) && *text == '\0';
		break;
	case SIZE:
		right = size_parse(text, value);
		break;
	case MICROSECONDS:
		right = thousandths_parse(text, value);
		break;
	case COST:
		right = thousandths_parse(text, value);
		*value = right ? (*value * QOS_COST_ONE + 500) / 1000 : 0;
		break;
	}
	return right && (row->bytes == sizeof(*value) || *value <= UINT32_MAX);
}

static int
thousandths_print(char *text, size_t room, uint64_t value)
{
	uint64_t rest = value % 1000;
	int digits = 3;

	for (; digits > 0 && rest % 10 == 0; digits--)
		rest /= 10;
	if (digits == 0)
		return snprintf(text, room, "%" PRIu64, value / 1000);
	return snprintf(text, room, "%" PRIu64 ".%0*" PRIu64, value / 1000, digits, rest);
}

static int
value_print(enum how how, uint64_t value, char *text, size_t room)
{
	char size[SIZE_TEXT];

	switch (how) {
	case NUMBER:
		break;
	case COST:
		return thousandths_print(text, room, (value * 1000 + QOS_COST_ONE / 2) / QOS_COST_ONE);
	case MICROSECONDS:
		return thousandths_print(text, room, value);
	case SIZE:
		size_print(value, size);
		return snprintf(text, room, "%s", size);
	}
	return snprintf(text, room, "%" PRIu64, value);
}

/* ---- what is read ---- */

static void
value_read(struct reader *r, const struct row *row, const struct node *node, unsigned index, struct qos_params *params)
{
	const char *text = scalar_text(r, node, row->key);
	uint64_t value;

	if (text == NULL)
		return;
	if (value_parse(row, text, &value))
		value_set(params, row, index, value);
	else
		complain(r->errors, node->line, "`%s` is %s, not %s", row->key, forms[row->how], quote(text).text);
}

static void
row_read(struct reader *r, const struct row *row, const struct node *node, struct qos_params *params)
{
	unsigned index = 0;

	if (node != NULL && row->count == 1)
		value_read(r, row, node, 0, params);
	else if (node != NULL && list_check(r, node, row->key, row->count, row->count))
		for (node = node->first; node != NULL; node = node->next)
			value_read(r, row, node, index++, params);
}

/* The line without which it could be so, or would be wrong otherwise; where it begins, if there is no such line. */
static uint32_t
line_of(const struct node *node, const struct node *const values[], const struct qos_params *params, const char *wrong)
{
	struct qos_params usual;

	qos_params_default(&usual);
	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		const struct row *row = &rows[i];
		struct qos_params without = *params;

		memcpy((char *)&without + row->offset, (char *)&usual + row->offset, row->count * row->bytes);
		if (values[i] != NULL && qos_params_wrong(&without) != wrong)
			return values[i]->line;
	}
	return node->line;
}

void
device_read(struct reader *r, const struct node *node, struct conf_device *device)
{
	const char *keys[1 + COUNT_OF(rows)] = { "name" }, *wrong;
	const struct node *values[COUNT_OF(keys)];
	uint32_t complaints = r->errors->count;

	qos_params_default(&device->params);
	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		keys[1 + i] = rows[i].key;
	if (!map_read(r, node, "a device", keys, COUNT_OF(keys), 1, values))
		return;
	label_read(r, values[0], "name", device->name, sizeof(device->name));
	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		row_read(r, &rows[i], values[1 + i], &device->params);
	wrong = qos_params_wrong(&device->params);
	if (wrong != NULL && r->errors->count == complaints)
		complain(r->errors, line_of(node, values + 1, &device->params, wrong), "the device %s cannot be so: %s",
		    quote(device->name).text, wrong);
}

/* ---- what is printed ---- */

unsigned
device_keys(void)
{
	return COUNT_OF(rows);
}

const char *
device_key(unsigned key)
{
	return rows[key].key;
}

bool
device_measured(unsigned key)
{
	return rows[key].measured;
}

void
device_value(const struct conf_device *device, unsigned key, char text[DEVICE_VALUE])
{
	const struct row *row = &rows[key];
	size_t used = 0;

	for (unsigned i = 0; i < row->count; i++) {
		if (row->count > 1)
			used += (size_t)snprintf(text + used, DEVICE_VALUE - used, i == 0 ? "[" : ", ");
		used += (size_t)value_print(row->how, value_get(&device->params, row, i), text + used,
		    DEVICE_VALUE - used);
	}
	if (row->count > 1)
		used += (size_t)snprintf(text + used, DEVICE_VALUE - used, "]");
	assert(used < DEVICE_VALUE);
}
