/*
 * rio_cell.h - the barred cell of the experiments with ordered writes, what differs from it in each other one, and how
 * many writes a second there must be by what the drive, the network and the processors take.
 */
#ifndef WEIR_LAB_RIO_CELL_H
#define WEIR_LAB_RIO_CELL_H

#include "lab/ordered.h"

enum rio_drive { RIO_FLASH, RIO_OPTANE, RIO_DRIVES };

/* What is another one than in the barred cell. */
enum rio_axis {
	RIO_NOTHING,
	RIO_STREAMS,
	RIO_TARGETS,  /* with one drive each */
	RIO_SSDS,     /* of one target */
	RIO_BYTES,
	RIO_BATCH,
	RIO_RTT,      /* us, there and back */
	RIO_BARRIERS, /* each entry leaves for the persistent memory as if it had a barrier of its own */
	RIO_FLUSHES,  /* a flush follows each write that is waited for, though the drive keeps what it answered */
	RIO_WINDOW,   /* the stream waits for groups to be told complete, not for commands to be answered */
	RIO_PIECES,   /* so many are held until they are durable, as by libweir where nothing is said */
	RIO_AXES,
};

struct rio_cell {
	enum rio_drive drive;
	enum rio_axis axis;
	uint32_t value;
	uint32_t times_percent;
	uint64_t settle_ns, measure_ns;
	bool quick;
};

struct rio_drive_row {
	const char *name, *spec, *small; /* a tenth of a second long nothing of a small one is folded either */
};
extern const struct rio_drive_row rio_drives[RIO_DRIVES];

enum { RIO_CELL_NAME = 64 };
void rio_cell_name(const struct rio_cell *cell, char name[RIO_CELL_NAME]);

/* What is run of it. */
void rio_cell_told(const struct rio_cell *cell, enum lab_way way, struct lab_ordered *told);

/* rio_form.c: writes a second, of what is told and the drive's profile alone; doc/lab-rio.md derives it.  NAN: of what
 * there is no form. */
double rio_form(const struct lab *lab, const struct rio_cell *cell, enum lab_way way);

#endif
