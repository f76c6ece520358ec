/*
 * weir/view.h - what goes on at a namespace that hosts share, as its target tells it (doc/extension.md, VIEW).
 *
 *     struct weir_view view;
 *     if (weir_volume_view(volume, &view) == 0 && view.shared)
 *             printf("%" PRIu64 " bytes a second more can be read\n", view.kinds[WEIR_READS].headroom);
 *
 * A host sees the device and itself: the controllers and queues that it has together, and nothing of others.  All
 * numbers are a target's, and passed on as they are.
 */
#ifndef WEIR_VIEW_H
#define WEIR_VIEW_H

#include <weir/volume.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weir_view_state {
	WEIR_UNDERUSED,  /* nothing waits in the device */
	WEIR_AVOIDANCE,  /* its latencies are as usual */
	WEIR_CONGESTED,  /* above that */
	WEIR_OVERLOADED, /* longer than they may be */
};

enum { WEIR_READS, WEIR_WRITES };

#define WEIR_ENDLESS UINT64_MAX /* there is no bound */

/* I/Os that have ended.  Latencies are bounds that so many of the last whole second did not exceed, in ns, known to an
 * eighth; 0: there was none. */
struct weir_view_count {
	uint64_t ios, bytes, failed;
	uint64_t lately_ios, lately_bytes; /* in the last whole second */
	uint64_t p50_ns, p99_ns, p999_ns;
};

struct weir_view_kind {
	enum weir_view_state state;        /* as its last I/O said */
	uint64_t ewma_ns;                  /* average latency, less what sizes take anyway */
	uint64_t thresh_ns;                /* above that it is congested; 0: it is not paced */
	uint64_t headroom;                 /* bytes a second beyond what was done lately, or WEIR_ENDLESS */
	struct weir_view_count done;       /* by all hosts; latencies are the device's */
};

struct weir_view {
	uint32_t nsid;
	bool shared;                       /* else only what is of the medium is known */
	bool paced;                        /* I/O goes as fast as the device bears */
	bool stalled;                      /* an I/O has been at the device for too long */
	bool known;                        /* this host has done I/O: else nothing of it is known */
	bool wears;                        /* the medium says how it is: else nothing of it is known */
	enum weir_view_state state;        /* the worse of the kinds of which there were any lately */
	uint64_t rate;                     /* bytes a second that may go to the device, or WEIR_ENDLESS */
	uint64_t occupied;                 /* what is in flight, as bytes of reads that cost the same; */
	uint64_t most;                     /* and may be, or WEIR_ENDLESS */
	uint32_t write_cost;               /* a byte written beside one read, in 1024ths */
	uint32_t tenants;                  /* hosts with I/O, or that had some until just now */
	uint32_t waiting, inflight;        /* I/Os of all of them: for their turn, and at the device */
	struct weir_view_kind kinds[2];    /* WEIR_READS, WEIR_WRITES */
	struct {
		uint32_t weight;
		uint32_t credits;              /* I/Os under way that do not wait for long; 0: any number */
		uint32_t waiting, inflight;
		struct weir_view_count kinds[2]; /* latencies count from when a command came to the target */
	} host;
	struct {
		uint64_t written_bytes;        /* by command */
		uint64_t media_bytes;          /* for whatever reason */
		uint32_t used_percent;         /* of its life: may be beyond 100 */
		uint8_t spare_percent, spare_threshold_percent;
	} medium;
};

/* Of a namespace, which must be active for this host.  Blocks.  0, or what weir_subsys_log() says; -EOPNOTSUPP: the
 * target tells nobody, or was not asked to (plain). */
int weir_subsys_view(struct weir_subsys *subsys, uint32_t nsid, struct weir_view *view);
int weir_volume_view(struct weir_volume *volume, struct weir_view *view);

/* The page itself, as of weir/log.h.  False: it is none, and `view` all zeros. */
bool weir_view_decode(const void *page, size_t bytes, struct weir_view *view);

/* "congested"; NULL: there is no such state. */
const char *weir_view_state_name(enum weir_view_state state);

#ifdef __cplusplus
}
#endif

#endif
