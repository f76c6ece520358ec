/*
 * flash_list.c - `weir flash list`: the drives that are built in.
 */
#include <argp.h>
#include <stdio.h>

#include "cmd.h"
#include "flash.h"
#include "report.h"
#include "table.h"

enum { KEY_JSON = 1000 };

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "print them as one JSON object", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	switch (key) {
	case KEY_JSON: *json = true; return 0;
	case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "", "Says which modelled drives are built in.", NULL, NULL, NULL,
};

static int
tell(void)
{
	static const char *const heads[] = { "PROFILE", "HASH", "WHAT IT IS" };
	struct flash_profile profile;
	struct table table;
	bool all = true;

	table_init(&table, heads, 3);
	for (unsigned i = 0; i < flash_profile_count && all; i++) {
		char hash[FLASH_HASH_TEXT];

		all = flash_named(flash_profile_texts[i].name, &profile) == 0;
		flash_hash_text(&profile, hash);
		table_add(&table, "%s", profile.name);
		table_add(&table, "%s", hash);
		table_add(&table, "%s", profile.says);
	}
	return table_end(&table, stdout) == 0 && all ? EXIT_OK : EXIT_FAILED;
}

static int
tell_json(void)
{
	struct flash_profile profile;
	struct report report;
	bool all = true;

	report_init(&report, true);
	report_list(&report, "profiles");
	for (unsigned i = 0; i < flash_profile_count && all; i++) {
		char hash[FLASH_HASH_TEXT];

		all = flash_named(flash_profile_texts[i].name, &profile) == 0;
		flash_hash_text(&profile, hash);
		report_open(&report, NULL, NULL);
		report_text(&report, "profile", NULL, profile.name);
		report_text(&report, "hash", NULL, hash);
		report_text(&report, "says", NULL, profile.says);
		report_close(&report);
	}
	report_close(&report);
	report_end(&report, all);
	return all ? EXIT_OK : EXIT_FAILED;
}

int
flash_list(int argc, char **argv)
{
	bool json = false;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &json))
		return EXIT_USAGE;
	return json ? tell_json() : tell();
}
