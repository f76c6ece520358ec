/*
 * drive_oracle.h - what may be read of a drive, and be left of it when the power goes? (drive_bench.h)
 *
 * It is told of writes and trims, when they were sent and answered, and looks at bytes; it does not know the drive, nor
 * who sends what.
 */
#ifndef WEIR_TESTS_DRIVE_ORACLE_H
#define WEIR_TESTS_DRIVE_ORACLE_H

#include "drive_bench.h"

/* What a write of that number puts into a sector. */
void oracle_write(const struct drive_bench *bench, uint8_t *to, uint32_t number, uint64_t sector);

/* What units are is known: nothing has been written since. */
void oracle_begin(struct drive_bench *bench);

/* Each unit from sector `first` to before `end` can remember one more event, and not too many are on their way, so that
 * few orders are possible. */
bool oracle_has_room(const struct drive_bench *bench, uint64_t first, uint64_t end);

/* A write or trim was sent, for which there is room; and was answered. */
void oracle_begun(struct drive_bench *bench, const struct bench_event *event);
void oracle_answered(struct drive_bench *bench, struct bench_event *event);

/* A read was answered: it fails where it cannot have read that. */
void oracle_read(struct drive_bench *bench, const struct bench_cmd *cmd);

/* The power has gone: it fails where the unit cannot have been left so. */
void oracle_left(struct drive_bench *bench, uint32_t unit);

/* The unit is as these bytes are, when a history begins. */
void oracle_take(struct drive_bench *bench, uint32_t unit, const uint8_t *from);

#endif
