/*
 * explain.c - what memory `weir serve` takes, in words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/size.h"
#include "blk/fair.h"
#include "blk/flash.h"
#include "serve.h"

/* ---- modelled drives ---- */

enum { BLOCK = 512 }; /* sizes are multiples of it, whatever else they are */

/* How large what a drive has its contents in is; 0: nobody can say yet. */
static uint64_t
bytes_below(const char *below)
{
	const char *inner = blk_spec_inner(below), *size = strstr(inner, ",size=");
	char path[BLK_SPEC];
	struct stat status;
	uint64_t bytes = 0;

	if (size == NULL && blk_spec_path(below, path))
		return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
	size = size != NULL ? size + strlen(",size=") : strchr(inner, ':') + 1;
	return size_parse(size, &bytes) ? bytes : 0;
}

static void
tell_drive(FILE *out, const char *spec, size_t bytes, const struct flash_plan *plan)
{
	char size[SIZE_TEXT];

	fprintf(out, "  %-42s %7zu KiB", spec, (bytes + 1023) / 1024);
	if (plan->bytes > 0 && plan->data) {
		size_print(plan->bytes, size);
		fprintf(out, "   and its %s, as it is written", size);
	}
	fputc('\n', out);
}

/* One drive; where it cannot be said what it takes, why not. */
static int
explain_drive(FILE *out, const char *spec, const char *drive, unsigned reactors, size_t *sum)
{
	struct flash_plan plan;
	const char *below;
	char why[BLK_WHY];
	size_t bytes = 0;
	int rc = flash_plan_read(NULL, drive, BLOCK, &plan, &below, why);

	if (rc == -ENOTSUP || (rc == 0 && below != NULL && bytes_below(below) == 0)) {
		fprintf(out, "  %-42s not counted: %s\n", spec, rc != 0 ? "its profile is in a file" :
		    "it is as large as what is behind the @");
		return 0;
	}
	if (rc != 0) {
		fprintf(stderr, "weir: %s\n", why);
		return rc;
	}
	rc = flash_bytes(&plan, below != NULL ? bytes_below(below) : 0, reactors, &bytes, why);
	if (rc != 0)
		fprintf(stderr, "weir: %s: %s\n", spec, why);
	else
		tell_drive(out, spec, bytes, &plan);
	*sum += bytes;
	return rc;
}

/* The drive in it, behind filters, or NULL. */
static const char *
drive_in(const char *spec)
{
	const char *at;

	while ((strncmp(spec, "fault:", 6) == 0 || strncmp(spec, "volatile:", 9) == 0) &&
	    (at = strchr(spec, '@')) != NULL)
		spec = at + 1;
	return strncmp(spec, FLASH_PREFIX, strlen(FLASH_PREFIX)) == 0 ? spec : NULL;
}

/* Into text, which is the caller's, so that nothing is said where one of them cannot be; "": there are none. */
static int
explain_drives(const struct explained *explained, char **text, size_t *sum)
{
	size_t length;
	FILE *out = open_memstream(text, &length);
	int rc = 0;

	*sum = 0;
	if (out == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < explained->spec_count && rc == 0; i++) {
		const char *drive = drive_in(explained->specs[i]);

		if (drive == NULL)
			continue;
		if (ftell(out) == 0)
			fprintf(out, "modelled drives, each beside what a volume takes, at most:\n");
		rc = explain_drive(out, explained->specs[i], drive, explained->reactors, sum);
	}
	if (ftell(out) > 0)
		fputc('\n', out);
	if (fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	return rc;
}

/* ---- all of it ---- */

int
explain_memory(const struct explained *explained)
{
	const unsigned reactors = explained->reactors;
	const uint32_t volumes = explained->volumes, connections = explained->connections;
	const double kib = 1024.0, mib = kib * kib;
	const unsigned entries = TARGET_QUEUE_ENTRIES;
	size_t connection = target_connection_bytes() + rt_stream_bytes(), slot = target_queue_bytes(1);
	size_t subsys = target_subsys_bytes(), readers = target_readers_bytes();
	size_t volume = blk_bytes(reactors) + target_volume_bytes() + rt_annex_bytes();
	size_t controller = target_controller_bytes();
	size_t reactor = REACTOR_SCRATCH + SERVE_SMALL_BUFS * BUFS_SMALL + SERVE_LARGE_BUFS * BUFS_LARGE +
	    target_reactor_bytes() + rt_files_bytes() + rt_mail_bytes(reactors);

	uint32_t slots = explained->order_slots > 0 ? explained->order_slots : STORE_SLOTS;
	size_t order = store_part_bytes(slots) + target_order_bytes(slots), drives;
	char *text = NULL;
	int rc = explain_drives(explained, &text, &drives);

	if (rc != 0) {
		free(text);
		return rc;
	}
	printf("Memory is reserved at start and taken from the machine when it is first used.\n\n"
	    "per reactor (%u):\n"
	    "  receive buffer            %8d KiB\n"
	    "  small data buffers        %8d KiB   %d x %d KiB\n"
	    "  large data buffers        %8d KiB   %d x %d KiB\n"
	    "  answers being sent        %8zu KiB   with the memory that long ones of admin queues share\n"
	    "  files                     %8zu KiB\n"
	    "  mail to the others        %8zu KiB   %zu KiB for each, itself included\n"
	    "per controller:             %8.1f KiB   with 8 KiB for the data of an admin command\n"
	    "per connection:             %8.1f KiB   with an 8 KiB reserve for one capsule\n"
	    "per queue:                  %8.1f KiB   of 128 entries, %zu bytes each, as they are used\n"
	    "per subsystem:              %8zu KiB   for its events; for hosts that read them %zu KiB in all, at most\n"
	    "per volume:                 %8zu KiB   at most; of a RAM volume also its size, as it is written;\n"
	    "                                         it may grow, and has address space for that, which takes none;\n"
	    "                                         filters (fault:, volatile:) are not counted\n"
	    "per volume that is shared:  %8zu KiB   beside that, and %.1f KiB for each host that has used it\n\n",
	    reactors, REACTOR_SCRATCH / 1024, SERVE_SMALL_BUFS * BUFS_SMALL / 1024, SERVE_SMALL_BUFS, BUFS_SMALL / 1024,
	    SERVE_LARGE_BUFS * BUFS_LARGE / 1024, SERVE_LARGE_BUFS, BUFS_LARGE / 1024, target_reactor_bytes() / 1024,
	    rt_files_bytes() / 1024, rt_mail_bytes(reactors) / 1024, (rt_mail_bytes(1) - rt_mail_bytes(0)) / 1024,
	    (double)controller / kib, (double)connection / kib, (double)target_queue_bytes(128) / kib, slot,
	    subsys / 1024, readers / 1024, volume / 1024, fair_bytes(reactors) / 1024,
	    (double)fair_tenant_bytes() / kib);
	if (explained->order_log)
		printf("log of ordered writes:      %8.1f MiB   per reactor, and %.1f KiB for each stream\n\n",
		    (double)order / mib, (double)target_stream_bytes() / kib);
	printf("%sat most: %u reactors x %.1f MiB + controllers x %.1f KiB + connections x %.1f KiB\n"
	    "    + queue entries x %zu bytes + subsystems x %zu KiB + %zu KiB + %u volumes x %zu KiB + RAM volumes\n",
	    text, reactors, (double)reactor / mib, (double)controller / kib, (double)connection / kib, slot,
	    subsys / 1024, readers / 1024, volumes, volume / 1024);
	if (explained->order_log)
		printf("    + %u parts of the log of ordered writes x %.1f MiB + %zu KiB + streams x %.1f KiB\n",
		    reactors, (double)order / mib, store_bytes() / 1024, (double)target_stream_bytes() / kib);
	if (explained->shared > 0)
		printf("    + %u that are shared x (%zu KiB + hosts x %.1f KiB)\n", explained->shared,
		    fair_bytes(reactors) / 1024, (double)fair_tenant_bytes() / kib);
	free(text);
	if (drives > 0)
		printf("    + %.1f MiB of modelled drives + their contents\n", (double)drives / mib);
	printf("with all %u connections that may be, each with a controller and %u entries filled once: %.1f GiB\n"
	    "not counted: the program, and what the kernel holds for sockets and for io_uring\n",
	    connections, entries, (double)connections * (double)(connection + controller + entries * slot) / kib / mib);
	return 0;
}
