#include "rio_cell.h"

#include <stdio.h>

enum {
	CARD_MBIT = 200 * 1000, /* as Rio's testbed has; so it is the drive that bounds, and not the network */
	SPAN_GIB = 32,          /* that is written to: twenty times what is written, and maps that are soon touched */
	LINE_ALONE_MB_S = 107,  /* 64 bytes in 600 ns */
	KIB = 1024,
};

/* A smaller one of flash has smaller blocks, of which one in SLC mode is full, and folded wherever a die is idle,
 * within the second that is measured. */
const struct rio_drive_row rio_drives[RIO_DRIVES] = {
	[RIO_FLASH] = { "tlc-consumer", "flash:tlc-consumer,512G,data=no", "flash:tlc-consumer,64G,data=no" },
	[RIO_OPTANE] = { "optane", "flash:optane,349G,data=no", "flash:optane,64G,data=no" },
};

void
rio_cell_name(const struct rio_cell *cell, char name[RIO_CELL_NAME])
{
	static const struct {
		const char *before, *after;
		uint32_t unit; /* of the number between them; 0: there is none */
	} rows[RIO_AXES] = {
		[RIO_NOTHING] = { "barred", "", 0 }, [RIO_STREAMS] = { "", " streams", 1 },
		[RIO_TARGETS] = { "", " targets", 1 }, [RIO_SSDS] = { "", " drives", 1 },
		[RIO_BYTES] = { "", " KiB", KIB }, [RIO_BATCH] = { "groups of ", "", 1 },
		[RIO_RTT] = { "", " us", 1 }, [RIO_BARRIERS] = { "600 ns a line", "", 0 },
		[RIO_FLUSHES] = { "flushes in any case", "", 0 },
		[RIO_WINDOW] = { "groups that are not told", "", 0 }, [RIO_PIECES] = { "", " pieces", 1 },
	};
	char number[16] = "", times[24] = "";

	if (rows[cell->axis].unit > 0)
		snprintf(number, sizeof(number), "%u", cell->value / rows[cell->axis].unit);
	if (cell->times_percent != 100)
		snprintf(times, sizeof(times), ", times %u %%", cell->times_percent);
	snprintf(name, RIO_CELL_NAME, "%s%s%s%s", rows[cell->axis].before, number, rows[cell->axis].after, times);
}

void
rio_cell_told(const struct rio_cell *cell, enum lab_way way, struct lab_ordered *told)
{
	const struct rio_drive_row *drive = &rio_drives[cell->drive];

	lab_ordered_init(told, way, cell->quick ? drive->small : drive->spec);
	told->world.mbit = CARD_MBIT;
	told->span = (uint64_t)SPAN_GIB << 30;
	told->drive.times_percent = cell->times_percent == 100 ? 0 : cell->times_percent;
	told->settle_ns = cell->settle_ns;
	told->measure_ns = cell->measure_ns;
	switch (cell->axis) {
	case RIO_STREAMS: told->streams = cell->value; break;
	case RIO_TARGETS: told->targets = told->drives = cell->value; break;
	case RIO_SSDS: told->drives = cell->value; break;
	case RIO_BYTES: told->bytes = cell->value; break;
	case RIO_BATCH: told->batch = cell->value; break;
	case RIO_RTT: told->world.latency_ns = cell->value * 500; break;
	case RIO_BARRIERS: told->pmr_mb_s = LINE_ALONE_MB_S; break;
	case RIO_FLUSHES: told->flushes = true; break;
	case RIO_WINDOW: told->in_order = true; break;
	case RIO_PIECES: told->pieces = cell->value; break;
	case RIO_NOTHING: case RIO_AXES: break;
	}
}
