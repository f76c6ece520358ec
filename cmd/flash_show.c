/*
 * flash_show.c - `weir flash show`: what a drive is made of, and what is left of it at a smaller capacity.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "flash.h"
#include "host_options.h"
#include "report.h"

enum { KEY_SIZE = 1000, KEY_JSON };

static const struct argp_option options[] = {
	{ "size", KEY_SIZE, "SIZE", 0, "at this capacity (default: 8G, or as near as there is)", 0 },
	{ "json", KEY_JSON, NULL, 0, "print it as one JSON object", 0 },
	{ 0 },
};

struct wish {
	const char *name;
	uint64_t bytes; /* 0: nothing was said */
	bool json;
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct wish *wish = state->input;

	switch (key) {
	case KEY_SIZE: wish->bytes = option_size_of(state, "--size", arg, 1); return 0;
	case KEY_JSON: wish->json = true; return 0;
	case ARGP_KEY_ARG: flash_name_take(state, arg, &wish->name); return 0;
	case ARGP_KEY_END: flash_name_needed(state, wish->name); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "PROFILE", "Says what a modelled drive, built in or in a file as weir-profile(5) has it, is "
	"made of, and what is left of it at a smaller capacity.", NULL, NULL, NULL,
};

/* ---- the drive as it is sold ---- */

static void
tell_number(struct report *report, const struct flash_profile *profile, const struct flash_number *number)
{
	uint32_t value = flash_number_value(profile, number);
	char text[AMOUNT_TEXT];

	flash_number_text(profile, number, text);
	if (number->words == NULL)
		report_number(report, number->field, NULL, value, "");
	else if (strcmp(number->words[1], "yes") == 0)
		report_bool(report, number->field, NULL, value != 0);
	else
		report_text(report, number->field, NULL, text);
	/* People need not be told of what it does not have. */
	if (value > 0 || number->needed != 0)
		report_text(report, NULL, number->name, text);
}

static void
tell_profile(struct report *report, const struct flash_profile *profile)
{
	const struct flash_number *number;
	char hash[FLASH_HASH_TEXT];

	flash_hash_text(profile, hash);
	report_text(report, "profile", NULL, profile->name);
	report_text(report, "says", NULL, profile->says);
	report_text(report, "hash", NULL, hash);
	report_open(report, "numbers", "%s%s%s", profile->name, profile->says[0] != '\0' ? ": " : "", profile->says);
	for (unsigned i = 0; (number = flash_profile_number(i)) != NULL; i++)
		if (number->of & 1 << profile->media)
			tell_number(report, profile, number);
	report_text(report, NULL, "hash", hash);
	report_close(report);
}

/* ---- what is left of it ---- */

static void
tell_blocks(struct report *report, const struct flash_geometry *g, const struct flash_profile *profile)
{
	char erase[AMOUNT_TEXT];

	amount_print(g->erase_ns, "ns", erase);
	report_bytes(report, "raw_bytes", "raw", (uint64_t)g->dies * g->blocks * g->block_units * g->unit_bytes);
	report_number(report, "spare_permille", NULL, g->spare_permille, "");
	report_number(report, "blocks", "blocks of a die", g->blocks, "");
	report_bytes(report, "block_bytes", "block", (uint64_t)g->block_units * g->unit_bytes);
	report_number(report, "block_pages", "pages of it on a plane", (uint64_t)g->block_rows * profile->bits, "");
	report_number(report, "block_rows", "rows of it", g->block_rows, "");
	report_number(report, "row_units", "units of a row", g->row_units, "");
	report_number(report, "erase_ns", NULL, g->erase_ns, "");
	report_text(report, NULL, "erase", erase);
	report_number(report, "slc_blocks", g->slc_blocks > 0 ? "blocks in SLC mode" : NULL, g->slc_blocks, "");
	report_number(report, "slc_fixed_blocks", g->slc_blocks > 0 ? "of them always" : NULL, g->slc_fixed_blocks, "");
}

static void
tell_geometry(struct report *report, const struct flash_geometry *g, const struct flash_profile *profile)
{
	char spare[AMOUNT_TEXT];

	amount_print(g->spare_permille, "permille", spare);
	report_open(report, "geometry", "as it is modelled");
	report_bytes(report, "smallest_bytes", "smallest there is", flash_geometry_smallest(profile));
	report_bytes(report, "bytes", "this one", g->units * g->unit_bytes);
	report_number(report, "units", "units", g->units, "");
	report_bytes(report, "unit_bytes", "unit", g->unit_bytes);
	if (profile->media == FLASH_NAND) {
		report_text(report, NULL, "spare without reserve", spare);
		tell_blocks(report, g, profile);
	}
	report_close(report);
}

int
flash_show(int argc, char **argv)
{
	struct wish wish = { .name = NULL };
	struct flash_geometry geometry;
	struct flash_profile profile;
	struct report report;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &wish))
		return EXIT_USAGE;
	if (flash_named(wish.name, &profile) != 0 || flash_sized(&profile, wish.bytes, &geometry) != 0)
		return EXIT_FAILED;
	report_init(&report, wish.json);
	tell_profile(&report, &profile);
	tell_geometry(&report, &geometry, &profile);
	report_end(&report, true);
	return EXIT_OK;
}
