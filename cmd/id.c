/*
 * id.c - `weir id`: what a controller and its namespaces say of themselves.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ana.h"
#include "cmd.h"
#include "host_options.h"
#include "id_log.h"
#include "report.h"

enum { NSIDS_EACH = 64 };

struct id_options {
	struct host_options host;
	const char *uri_text;
	struct weir_uri uri;
	bool all, raw, json;
	int log, path; /* -1: none, any */
};

enum key { KEY_ALL = 1000, KEY_RAW, KEY_LOG, KEY_PATH, KEY_JSON };

static const struct argp_option list[] = {
	{ "all", KEY_ALL, NULL, 0, "its namespaces too, all of them", 0 },
	{ "log", KEY_LOG, "PAGE", 0, "a log page: " ID_LOG_NAMES, 0 },
	{ "path", KEY_PATH, "N", 0, "ask by this path; the first address of the URI is 0", 0 },
	{ "raw", KEY_RAW, NULL, 0, "the bytes as they come, to standard output", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object", 0 },
	{ 0 },
};

static void
check(const struct id_options *options, struct argp_state *state)
{
	if (options->uri_text == NULL)
		argp_error(state, "of whom? nvme+tcp://HOST:PORT/SUBNQN, with ?ns=1 of a namespace too");
	if (options->raw && options->json)
		argp_error(state, "--raw or --json, not both");
	if (options->raw && options->all)
		argp_error(state, "--raw is of one page: the namespace in the URI, or the controller");
	if (options->raw && isatty(STDOUT_FILENO))
		argp_error(state, "--raw: the output is a terminal; redirect it");
	if (options->path >= (int)options->uri.addresses)
		argp_error(state, "--path %d: the URI has %u address%s, and the first is 0", options->path,
		    options->uri.addresses, options->uri.addresses == 1 ? "" : "es");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct id_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case KEY_ALL: options->all = true; return 0;
	case KEY_RAW: options->raw = true; return 0;
	case KEY_LOG:
		options->log = id_log_number(arg);
		if (options->log < 0)
			argp_error(state, "--log '%s': %s", arg, ID_LOG_NAMES);
		return 0;
	case KEY_PATH:
		options->path = (int)option_number_of(state, "--path", arg, 0, WEIR_PATHS_MAX - 1);
		return 0;
	case KEY_JSON: options->json = true; return 0;
	case ARGP_KEY_ARG:
		if (options->uri_text != NULL)
			argp_error(state, "one URI, please; what is '%s'?", arg);
		options->uri_text = arg;
		option_subsys_of(state, arg, &options->uri);
		return 0;
	case ARGP_KEY_END: check(options, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	list, parse, "URI",
	"Says what the controller of a subsystem, nvme+tcp://HOST:PORT/SUBNQN, says of itself, and of a namespace "
	    "where "
	"?ns=N names one.", host_options_child, NULL, NULL,
};

/* ---- the controller ---- */

static void
report_limits(struct report *report, const struct weir_controller *controller)
{
	if (controller->transfer_max > 0)
		report_bytes(report, "transfer_max", "Largest transfer", controller->transfer_max);
	else
		report_text(report, NULL, "Largest transfer", "no limit");
	report_number(report, "namespaces_max", "Namespaces at most", controller->namespaces, "");
	report_number(report, "commands_max", "Commands in flight at most", controller->commands_max, "");
	report_bytes(report, "capsule_data", "Data in a command at most",
	    controller->ioccsz > 64 ? controller->ioccsz - 64 : 0);
	report_number(report, "keep_alive_ms", "Keep alive in steps of", controller->kas_ms, "ms");
	report_number(report, "aborts_max", "Aborts at a time", controller->aborts, "");
	report_number(report, "events_max", "Events waited for at a time", controller->events, "");
	report_number(report, "error_log_entries", "Errors remembered", controller->log_entries_max, "");
	report_number(report, "atomic_blocks", "Atomic write", controller->awun, "blocks");
	report_number(report, "atomic_power_fail_blocks", "Atomic when power fails", controller->awupf, "blocks");
	if (controller->capacity > 0) {
		report_bytes(report, "capacity", "Capacity", controller->capacity);
		report_bytes(report, "unallocated", "Not allocated", controller->unallocated);
	}
}

static void
report_abilities(struct report *report, const struct weir_controller *controller)
{
	static const char *const io[] = {
		"compare", "write uncorrectable", "deallocate", "write zeroes", "saved features", "reservations",
		    "timestamp",
		"verify", "copy",
	};
	static const char *const admin[] = {
		"security", "format", "firmware", "namespace management", "self-test", "directives", NULL,
		    "virtualization",
		"doorbell buffers", "LBA status", "lockdown",
	};
	static const char *const fused[] = { "compare and write" };
	static const char *const events[] = { [8] = "namespaces", "firmware", NULL, "ANA", [31] = "discovery" };

	report_bits(report, "io_commands", "I/O commands", controller->oncs, io, 9);
	report_bits(report, "fused", "Fused", controller->fuses, fused, 1);
	report_bits(report, "admin_commands", "Admin commands", controller->oacs, admin, 11);
	report_bits(report, "events", "Events", controller->oaes, events, 32);
	report_bool(report, "volatile_cache", "Volatile write cache", controller->vwc & 1);
	report_bool(report, "multi_controller", "More controllers", controller->multi_controller);
	report_bool(report, "ana", "ANA", controller->ana);
	if (controller->ana) {
		report_number(report, "ana_groups", "ANA groups", controller->ana_groups, "");
		report_number(report, "ana_transition_s", "ANA transition at most", controller->anatt_s, "s");
	}
	if (controller->weir_version > 0) {
		report_number(report, "weir_extension", "Weir's extension, version", controller->weir_version, "");
		report_hex(report, "weir_capabilities", "... what it can", controller->weir_capabilities, 8);
	}
}

static void
report_controller(struct report *report, const struct weir_controller *controller)
{
	char version[32];

	snprintf(version, sizeof(version), "%u.%u.%u", controller->version >> 16, controller->version >> 8 & 0xff,
	    controller->version & 0xff);
	report_open(report, "controller", "Controller %u of %s", controller->cntlid, controller->subnqn);
	report_text(report, "subnqn", NULL, controller->subnqn);
	report_number(report, "cntlid", NULL, controller->cntlid, "");
	report_text(report, "model", "Model", controller->model);
	report_text(report, "serial", "Serial number", controller->serial);
	report_text(report, "firmware", "Firmware", controller->firmware);
	report_text(report, "nvme_version", "NVMe", version);
	report_hex(report, "vid", "PCI vendor", controller->vid, 4);
	report_text(report, "type", "Kind", controller->type != 0 ? weir_controller_type_name(controller->type) : "not "
	    "said");
	report_limits(report, controller);
	report_abilities(report, controller);
	report_close(report);
}

/* ---- a namespace ---- */

static void
report_formats(struct report *report, const struct weir_namespace *ns)
{
	char label[32];

	report_list(report, "formats");
	for (unsigned i = 0; i < ns->formats; i++) {
		const struct weir_lba_format *format = &ns->lba_format[i];

		if (format->block_size == 0)
			continue;
		snprintf(label, sizeof(label), "Format %u%s", i, i == ns->format ? ", in use" : "");
		report_open(report, NULL, NULL);
		report_number(report, "number", NULL, i, "");
		report_bool(report, "in_use", NULL, i == ns->format);
		report_number(report, "block_size", label, format->block_size, "bytes per block");
		report_number(report, "metadata", format->metadata > 0 ? "... with metadata" : NULL, format->metadata,
		    "bytes per block");
		report_close(report);
	}
	report_close(report);
}

static void
report_namespace(struct report *report, const struct weir_namespace *ns)
{
	static const char *const zeros[8] = { "not said", "zeros", "FFh" };

	report_open(report, NULL, "Namespace %" PRIu32, ns->nsid);
	report_number(report, "nsid", NULL, ns->nsid, "");
	report_bytes(report, "bytes", "Size", ns->blocks * ns->block_size);
	report_number(report, "blocks", "... in blocks", ns->blocks, "");
	report_bytes(report, "capacity_bytes", "Capacity", ns->capacity_blocks * ns->block_size);
	report_bytes(report, "used_bytes", "Used", ns->used_blocks * ns->block_size);
	report_number(report, "block_size", "Block", ns->block_size, "bytes");
	report_uuid(report, "uuid", "UUID", ns->uuid);
	report_id(report, "nguid", "NGUID", ns->nguid, sizeof(ns->nguid));
	report_id(report, "eui64", "EUI-64", ns->eui64, sizeof(ns->eui64));
	report_bool(report, "thin", "Thin", ns->thin);
	report_bool(report, "shared", "For several controllers", ns->shared);
	report_bool(report, "write_protected", "Write protected", ns->protected_now);
	report_text(report, "deallocated_reads_as", "Deallocated blocks read as",
	    zeros[ns->dlfeat & 7] != NULL ? zeros[ns->dlfeat & 7] : "unknown");
	report_number(report, "ana_group", "ANA group", ns->ana_group, "");
	report_hex(report, "cache_life", ns->cache_life != 0 ? "Cache life" : NULL, ns->cache_life, 16);
	report_bool(report, "reservations", "Reservations", ns->rescap != 0);
	report_number(report, "atomic_blocks", ns->atomic_blocks > 0 ? "Atomic write" : NULL, ns->atomic_blocks,
	    "blocks");
	report_number(report, "optimal_blocks", ns->optimal_blocks > 0 ? "Best I/O" : NULL, ns->optimal_blocks,
	    "blocks");
	report_number(report, "copy_max_blocks", ns->copy_max > 0 ? "One range of a copy" : NULL, ns->copy_max,
	    "blocks");
	report_number(report, "copy_total_blocks", ns->copy_total > 0 ? "One copy" : NULL, ns->copy_total, "blocks");
	report_formats(report, ns);
	report_close(report);
}

/* ---- asking ---- */

struct asking {
	const struct id_options *options;
	struct weir_subsys *subsys;
	struct report report;
};

static int
identify(const struct asking *asking, uint8_t cns, uint32_t nsid, uint8_t page[4096])
{
	int rc = weir_subsys_identify(asking->subsys, asking->options->path, cns, nsid, 0, page);

	if (rc < 0)
		host_complain("", rc);
	return rc;
}

static int
ask_namespace(struct asking *asking, uint32_t nsid)
{
	struct weir_namespace ns;
	uint8_t page[4096];

	if (identify(asking, 0x00, nsid, page) < 0)
		return -1;
	weir_namespace_decode(page, nsid, &ns);
	if (ns.blocks == 0) {
		fprintf(stderr, "weir: there is no namespace %" PRIu32 " for this host\n", nsid);
		return -1;
	}
	if (weir_subsys_identify(asking->subsys, asking->options->path, 0x03, nsid, 0, page) == 0)
		weir_namespace_descriptors(page, &ns); /* older targets have none */
	report_namespace(&asking->report, &ns);
	return 0;
}

static int
ask_all_namespaces(struct asking *asking)
{
	uint32_t nsids[NSIDS_EACH], first = 1;
	int count;

	do {
		count = weir_subsys_namespaces(asking->subsys, first, nsids, NSIDS_EACH);
		if (count < 0) {
			host_complain("", count);
			return -1;
		}
		for (int i = 0; i < count; i++)
			if (ask_namespace(asking, nsids[i]) < 0)
				return -1;
		first = count > 0 ? nsids[count - 1] + 1 : 0;
	} while (count == NSIDS_EACH && first != 0);
	return 0;
}

static int
ask_controller(struct asking *asking)
{
	struct weir_controller controller;
	uint8_t page[4096];

	if (identify(asking, 0x01, 0, page) < 0)
		return -1;
	weir_controller_decode(page, 0, &controller);
	report_controller(&asking->report, &controller);
	return 0;
}

static int
dump(struct asking *asking)
{
	uint32_t nsid = asking->options->uri.nsid;
	uint8_t page[4096];

	if (identify(asking, nsid != 0 ? 0x00 : 0x01, nsid, page) < 0)
		return -1;
	fwrite(page, 1, sizeof(page), stdout);
	return 0;
}

static int
ask(struct asking *asking)
{
	const struct id_options *options = asking->options;
	int rc = 0;

	if (options->log >= 0)
		return id_log(asking->subsys, options->path, (uint8_t)options->log, options->raw, &asking->report);
	if (options->raw)
		return dump(asking);
	rc = ask_controller(asking);
	if (rc < 0 || (!options->all && options->uri.nsid == 0))
		return rc;
	report_list(&asking->report, "namespaces");
	rc = options->all ? ask_all_namespaces(asking) : ask_namespace(asking, options->uri.nsid);
	report_close(&asking->report);
	return rc;
}

int
cmd_id(int argc, char **argv)
{
	struct id_options options = { .log = -1, .path = -1 };
	struct asking asking = { .options = &options };
	struct weir_host *host;
	int rc = -1;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	host = host_start(&options.host);
	if (host == NULL)
		return EXIT_FAILED;
	report_init(&asking.report, options.json);
	asking.subsys = host_reach(host, &options.host, &options.uri);
	if (asking.subsys != NULL) {
		rc = ask(&asking);
		weir_subsys_disconnect(asking.subsys);
	}
	report_end(&asking.report, rc == 0 && !options.raw);
	weir_host_destroy(host);
	return rc == 0 ? EXIT_OK : EXIT_FAILED;
}
