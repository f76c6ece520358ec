#include "place/workloads_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { NAME_MAX_BYTES = 200 };

enum column { NAME, RATE, SEQ_PCT, SEQ, PEAK, WRITES_PCT, WRITES, ROOM, ARRIVAL, TOLD };

/* Those behind ARRIVAL `weir trace stat --csv` writes for other readers. */
static const char *const columns[] = {
	[NAME] = "name", [RATE] = "write_rate_gb_day", [SEQ_PCT] = "seq_ratio_pct", [SEQ] = "seq_ratio",
	[PEAK] = "peak_iops", [WRITES_PCT] = "write_ratio_pct", [WRITES] = "write_ratio", [ROOM] = "working_set_gb",
	[ARRIVAL] = "arrival_days",
	[TOLD] = "working_set_error_pct", "duration_s", "reads", "writes", "read_gb", "written_gb",
	"sequential_streams", "sequential_writes", "sequential_bytes", "written_bytes", "writes_inside",
	"writes_at_end", "writes_in_gap", "writes_elsewhere", "backwards", "misplaced",
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

struct reading {
	struct csv csv;
	struct arena *arena;
	struct workloads *workloads;
	double seq_most, writes_most; /* as the file has them: percent or shares */
	bool no_memory;
};

static bool
heading_good(struct csv *csv)
{
	bool good = csv_needs(csv, NAME);

	good &= csv_needs(csv, RATE);
	good &= csv_needs_either(csv, SEQ_PCT, SEQ);
	good &= csv_needs(csv, PEAK);
	good &= csv_needs_either(csv, WRITES_PCT, WRITES);
	good &= csv_needs(csv, ROOM);
	return good;
}

static bool
is_given(const struct csv *csv, enum column column)
{
	return csv_text(csv, column)[0] != '\0';
}

/* A number that must be there, from 0 to `most`. */
static bool
amount(struct csv *csv, enum column column, double most, const char *unit, double *value)
{
	enum csv_cell cell = most < INFINITY ? csv_within(csv, column, 0, most, unit, value) :
	    csv_number(csv, column, value);

	if (cell == CSV_EMPTY)
		csv_wrong(csv, "%s: it is empty", columns[column]);
	else if (cell == CSV_GOOD && *value < 0)
		csv_wrong(csv, "%s: %g is less than 0", columns[column], *value);
	return cell == CSV_GOOD && *value >= 0;
}

/* A share, by whichever of the two columns the file has. */
static bool
share(struct csv *csv, enum column pct, enum column ratio, double *value, double *most)
{
	bool in_pct = csv_has(csv, pct), good;
	double number = 0;

	good = amount(csv, in_pct ? pct : ratio, in_pct ? 100 : 1, in_pct ? "%" : "(in percent that column has a name "
	    "that ends in _pct)", &number);
	if (!good)
		return false;
	*most = fmax(*most, number);
	*value = in_pct ? number / 100 : number;
	return true;
}

static void
take_row(struct reading *r)
{
	struct csv *csv = &r->csv;
	struct workloads *all = r->workloads;
	struct workload w = { .name = csv_text(csv, NAME) };
	const char *why;
	bool good = true;

	if (w.name[0] == '\0' || strlen(w.name) > NAME_MAX_BYTES) {
		csv_wrong(csv, "name: %s", w.name[0] == '\0' ? "it is empty" :
		    "it is longer than 200 bytes");
		good = false;
	}
	good &= amount(csv, RATE, INFINITY, "", &w.write_gb_per_day);
	if (w.write_gb_per_day > 0 || is_given(csv, SEQ_PCT) || is_given(csv, SEQ)) /* else there is nothing to be so */
		good &= share(csv, SEQ_PCT, SEQ, &w.seq_ratio, &r->seq_most);
	good &= amount(csv, PEAK, INFINITY, "", &w.peak_iops);
	good &= share(csv, WRITES_PCT, WRITES, &w.write_ratio, &r->writes_most);
	good &= amount(csv, ROOM, INFINITY, "", &w.working_set_gb);
	if (is_given(csv, ARRIVAL))
		good &= amount(csv, ARRIVAL, INFINITY, "", &w.arrival_days);
	if (!good)
		return;
	why = workload_wrong(&w);
	if (why != NULL) {
		csv_wrong(csv, "%.*s: %s", csv_cut(w.name), w.name, why);
		return;
	}
	why = workload_odd(&w);
	if (why != NULL)
		csv_odd(csv, "%.*s: %s", csv_cut(w.name), w.name, why);
	w.name = arena_strdup(r->arena, w.name);
	r->no_memory = w.name == NULL;
	all->line[all->count] = csv->line;
	all->list[all->count++] = w;
}

/* ---- what is seen of all rows alone ---- */

struct named {
	const char *name;
	uint32_t line;
};

static int
by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static int
names_differ(const struct reading *r)
{
	const struct workloads *all = r->workloads;
	struct named *names = arena_alloc(r->arena, all->count * sizeof(*names));

	if (names == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->count; i++)
		names[i] = (struct named){ all->list[i].name, all->line[i] };
	qsort(names, all->count, sizeof(*names), by_name);
	for (uint32_t i = 1; i < all->count; i++)
		if (strcmp(names[i].name, names[i - 1].name) == 0)
			csv_remark(&r->csv.said->wrong, names[i].line, "name: '%.*s' is on line %u too",
			    csv_cut(names[i].name), names[i].name, names[i - 1].line);
	arena_free(r->arena, names);
	return 0;
}

/* Of one workload a hundredth of a percent may be meant; of all of them hardly. */
static void
percent_meant(const struct reading *r, enum column pct, double most)
{
	if (csv_has(&r->csv, pct) && r->workloads->count >= 3 && most > 0 && most <= 1)
		csv_remark(&r->csv.said->odd, 0, "%s: none is more than 1 %%: are these shares from 0 to 1? Then the "
		    "column is called '%s'", columns[pct], columns[pct + 1]);
}

int
workloads_read(struct workloads *workloads, struct arena *arena, const char *text, size_t bytes, struct csv_said *said)
{
	struct reading r = { .arena = arena, .workloads = workloads };
	size_t lines = csv_lines(text, bytes);
	int error;

	*workloads = (struct workloads){
		.list = arena_alloc(arena, lines * sizeof(*workloads->list)),
		.line = arena_alloc(arena, lines * sizeof(*workloads->line)),
	};
	if (workloads->list == NULL || workloads->line == NULL)
		return -ENOMEM;
	if (!csv_begin(&r.csv, text, bytes, columns, COLUMNS, said) || !heading_good(&r.csv))
		return -EINVAL;
	while (!r.no_memory && csv_next(&r.csv))
		take_row(&r);
	error = r.no_memory ? -ENOMEM : names_differ(&r);
	if (error != 0)
		return error;
	percent_meant(&r, SEQ_PCT, r.seq_most);
	percent_meant(&r, WRITES_PCT, r.writes_most);
	if (workloads->count == 0 && said->wrong.count == 0)
		csv_remark(&said->wrong, 0, "there are no workloads below the heading");
	return said->wrong.count == 0 ? 0 : -EINVAL;
}
