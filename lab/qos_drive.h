/*
 * qos_drive.h - the drives of the experiments with the switch: what each gives one tenant, and what measuring it says.
 */
#ifndef WEIR_LAB_QOS_DRIVE_H
#define WEIR_LAB_QOS_DRIVE_H

#include "lab/crew.h"
#include "lab/result.h"

enum qos_drive {
	QOS_DRIVE_TLC, QOS_DRIVE_TLC_FRAGMENTED, QOS_DRIVE_OPTANE, QOS_DRIVE_QLC, QOS_DRIVE_QLC_FRAGMENTED,
	QOS_MATRIX_DRIVES,
	/* those beyond are not of the matrix */
	QOS_DRIVE_CONSUMER = QOS_MATRIX_DRIVES, QOS_DRIVE_CONSUMER_FRAGMENTED, QOS_DRIVES,
};

struct qos_drive_row {
	const char *name, *profile, *spec;
	bool fragmented;
};

extern const struct qos_drive_row qos_drives[QOS_DRIVES];

/* What one tenant does. */
struct qos_load {
	const char *name;
	uint32_t read_percent, bytes, depth;
};

/* As fast as it goes, by tenants whose name is that and `index`. */
struct lab_job *qos_load_job(struct lab_setup *setup, const struct qos_load *load, unsigned index);

/* Times of the drive's profile are so many percent of what they are. */
struct lab_device *qos_drive_device(struct lab_setup *setup, enum qos_drive drive, uint32_t times_percent);

/* Such a device is opened once, so that its state is there for those that are opened in other processes later. */
bool qos_drive_ready(struct lab *lab, enum qos_drive drive) __attribute__((warn_unused_result));

/* What a load alone has of the drive, with nothing before that. */
struct qos_alone {
	double bytes;                      /* a second */
	double mean_ns, p99_ns, p999_ns;
};

bool qos_drive_alone(struct lab *lab, enum qos_drive drive, uint32_t times_percent, const struct qos_load *load,
    uint64_t settle_ns, uint64_t measure_ns, struct qos_alone *alone) __attribute__((warn_unused_result));

/* Measures the drive as `weir calibrate` does, and says what policies are to be told of it. */
bool qos_drive_terms(struct lab *lab, enum qos_drive drive, uint32_t times_percent, struct policy_terms *terms)
    __attribute__((warn_unused_result));

/* A table of them, a row for each drive. */
void qos_drive_tell(struct result *result, const enum qos_drive *drives, const struct policy_terms *terms,
    unsigned count);

#endif
