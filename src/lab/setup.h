/*
 * setup.h - what one measurement is made of: devices, hosts, jobs on them, phases, and a world that takes its time.
 *
 * A declaration, filled by an experiment and run by a rig (rig.h).  Times are
 * virtual, sizes are in bytes.
 */
#ifndef WEIR_LAB_SETUP_H
#define WEIR_LAB_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "blk/blk.h"
#include "lab/policy.h"

enum {
	LAB_DEVICES_MAX = 8,
	LAB_JOBS_MAX = 64,
	LAB_HOSTS_MAX = 64,
	LAB_REACTORS_MAX = 16,
	LAB_PHASES_MAX = 8,
	LAB_DEPTH_MAX = 1000,
	LAB_BYTES_MAX = 1024 * 1024, /* of one I/O */
	LAB_STREAMS_MAX = 64,
	LAB_BINS_MAX = 1000 * 1000,
	LAB_MAX_NAME = 48,
};

#define LAB_US UINT64_C(1000)
#define LAB_MS UINT64_C(1000000)
#define LAB_S UINT64_C(1000000000)

enum lab_op { LAB_READ, LAB_WRITE, LAB_FLUSH, LAB_TRIM, LAB_OPS };

/* One tenant's load on one device; zeros are good where nothing else is said. */
struct lab_job {
	char name[LAB_MAX_NAME];
	unsigned device;
	unsigned host;                /* of the fabric rig; each job has a queue of its own on it */
	uint32_t percent[LAB_OPS];    /* of I/Os; 100 together */
	uint32_t bytes;               /* of each; whole blocks, LAB_BYTES_MAX at most */
	uint32_t depth;               /* I/Os in flight, 1 to LAB_DEPTH_MAX.  With a rate: at most so many */
	uint64_t rate;                /* so many I/Os arrive in a second, at random (a Poisson process); what waits
				       * for one of `depth` waits since it arrived.  0: the next begins when one ends */
	uint32_t sequential_percent;  /* of I/Os: go on where the stream is; the others are at random places */
	uint32_t streams;             /* that take turns, 0: one */
	uint32_t run;                 /* I/Os of a stream at a stroke; 0: one */
	uint32_t zipf_percent;        /* skew of the random ones: exponent in hundredths, up to 200; 0: none */
	uint64_t first, span;         /* where on the device; span 0: to its end */
	uint32_t flush_every;         /* so many writes are followed by a Flush each time; 0: none is */
	bool fua;                     /* writes are durable before they end */
	uint32_t phases;              /* bit n: it works in phase n; 0: in all */
	uint64_t burst_ns, every_ns;  /* it works at the beginning of each `every_ns` for so long; 0: all the time */
	/* Of a device with a policy: jobs with the same number above 0 are one tenant, and the first of them says its
	 * terms; 0: it is one by itself. */
	unsigned tenant;
	struct policy_tenant terms;
	uint8_t priority;             /* 0, served most, to QOS_PRIORITIES - 1 */
};

struct lab_phase {
	char name[LAB_MAX_NAME];
	uint64_t ns;
	bool measured;
};

struct lab_device {
	char spec[BLK_SPEC];
	uint32_t block_size;          /* 0: 4096 */
	uint32_t times_percent;       /* all times of its profile together, of what they are; 0: as they are */
	/* What stands before the device; NULL: nothing does.  In the fabric there is the switch alone, the target's
	 * own, and tenants are hosts: the terms are of the first job of each. */
	const struct policy_ops *policy;
	struct policy_terms terms;    /* what that is told */
};

/* What the simulation charges for work; printed with every result.  What is 0 costs nothing. */
struct lab_world {
	uint32_t turn_ns;             /* a reactor's turn */
	uint32_t io_ns;               /* one read or write of a stream, or operation on a file */
	uint32_t byte_ps;             /* a byte moved through a stream, in picoseconds */
	uint32_t latency_ns;          /* one way */
	uint32_t jitter_ns;           /* up to so much more */
	uint32_t mbit;                /* a second, that a host or target sends, and as many that it receives; 0: no
				       * limit */
	uint32_t segment_bytes;       /* that arrive at once */
	uint32_t file_ns;             /* until an operation on a file: device is done; any number at a time */
	uint32_t mail_ns;             /* from one reactor of the target to another */
};

enum lab_rig {
	LAB_FABRIC,                   /* the real target and real hosts over a simulated network */
	LAB_DIRECT,                   /* the devices alone, driven from one reactor */
};

struct lab_setup {
	enum lab_rig rig;
	struct lab_world world;
	unsigned reactors;            /* of the target */
	unsigned hosts;
	struct lab_device devices[LAB_DEVICES_MAX];
	unsigned device_count;
	struct lab_job jobs[LAB_JOBS_MAX];
	unsigned job_count;
	struct lab_phase phases[LAB_PHASES_MAX];
	unsigned phase_count;
	uint64_t bin_ns;              /* what ends is counted by such pieces of time too, in all phases; 0: it is not */
};

/* No device, job or phase; one host, one reactor, and a world of a data centre: 25 Gbit/s and 10 us each way. */
void lab_setup_init(struct lab_setup *setup, enum lab_rig rig);

/* Each fills the next one and returns it, for what else is to be said of it. */
struct lab_device *lab_setup_device(struct lab_setup *setup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct lab_job *lab_setup_job(struct lab_setup *setup, const char *name, enum lab_op op, uint32_t bytes,
    uint32_t depth);
struct lab_phase *lab_setup_phase(struct lab_setup *setup, const char *name, uint64_t ns, bool measured);

/* How many pieces of time there are. */
unsigned lab_setup_bins(const struct lab_setup *setup);

/* NULL, or what is wrong with it in plain words. */
const char *lab_setup_wrong(const struct lab_setup *setup);

#endif
