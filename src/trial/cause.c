#include "trial/cause.h"

#include <errno.h>

static bool
was(uint64_t moment, uint64_t since)
{
	return moment != 0 && moment >= since;
}

/* It was so, within what it takes to recover from it. */
static bool
was_lately(const struct cause_facts *f, uint64_t moment)
{
	return moment != 0 && f->now_ns - moment <= f->recovery_ns;
}

/* Time-outs are counted in ticks, of which there are eight. */
static bool
is_most_of(uint64_t took_ns, uint64_t time_ns)
{
	return time_ns != CAUSE_NEVER && took_ns >= time_ns - time_ns / 4;
}

/* ---- paths ---- */

static bool
has_path(const struct cause_facts *f)
{
	return f->well_since_ns < f->now_ns && f->now_ns - f->well_since_ns >= f->recovery_ns;
}

/* It had none for as long as it waits; or was let in by none of them, and waits for nothing. */
static bool
was_given_up(const struct cause_facts *f)
{
	return was_lately(f, f->back_ns) && (is_most_of(f->back_ns - f->away_ns, f->loss_ns) ||
	    (f->barred_ns != 0 && f->barred_ns + f->recovery_ns >= f->away_ns));
}

/* There is a path, but nothing goes by it before a lost one is over. */
static bool
was_held(const struct cause_facts *f)
{
	return f->held_ns >= f->now_ns && is_most_of(f->now_ns - f->begun_ns, f->loss_ns);
}

/* Given up: what connections may die of; what waits until a lost path is over; and what finds no path. */
static const char *
lacks_no_path(const struct cause_facts *f)
{
	bool gives_up = f->loss_ns != CAUSE_NEVER;

	if (f->lost_ns != 0 && is_most_of(f->now_ns - f->lost_ns, f->loss_ns))
		return NULL;
	if (was_held(f))
		return NULL;
	if (has_path(f))
		return "it had a path";
	if (was_given_up(f) || is_most_of(f->now_ns - f->begun_ns, f->loss_ns) ||
	    (gives_up && was_lately(f, f->paused_ns)))
		return NULL;
	return gives_up ? "its host had not been without a path for so long" : "its host never gives up";
}

/* ---- namespaces ---- */

/* The target says it of its own. */
static const char *
lacks_absence(const struct cause_facts *f)
{
	return was(f->gone_ns, f->begun_ns) ? NULL : "its namespace was served";
}

/* The host knows it by its paths, once there is one. */
static const char *
lacks_known_absence(const struct cause_facts *f)
{
	if (!was(f->gone_ns, f->came_ns))
		return "its namespace was not gone since its host came";
	return was(f->gone_ns, f->begun_ns) || was_lately(f, f->gone_ns) || !has_path(f) ? NULL :
	    "its namespace was served, and its host had a path";
}

/* ---- disks ---- */

/* A sync that failed once never succeeds until the file is opened anew. */
static const char *
lacks_disk(enum lane_op op, const struct cause_facts *f)
{
	bool syncs = op != LANE_READ && op != LANE_COMPARE && op != LANE_VERIFY;

	return was(syncs ? f->disk_failed_ns : f->disk_fails_ns, f->begun_ns) ? NULL : "its disk did not fail";
}

static const char *
lacks_cache(const struct cause_facts *f)
{
	return was(f->cache_lost_ns, f->came_ns) ? NULL : "its target had lost nothing since the host came";
}

/* ---- all of them ---- */

static const char *
without_status(enum lane_op op, int error, const struct cause_facts *f)
{
	switch (error) {
	case -ETIMEDOUT:
		return lacks_no_path(f);
	case -ENODEV:
		return lacks_known_absence(f);
	case -ESTALE:
		return op != LANE_COMPARE_AND_WRITE ? "it could have been sent again" :
		    f->lost_ns == 0 ? "no path was lost" : NULL;
	case -ESHUTDOWN:
		return f->leaves ? NULL : "its queue was not being closed";
	case -EIO:
		return op == LANE_FLUSH ? lacks_cache(f) : "nothing speaks of its cache";
	default:
		return "no I/O ends like that";
	}
}

static bool
reads(enum lane_op op)
{
	return op == LANE_READ || op == LANE_VERIFY || op == LANE_COMPARE || op == LANE_COMPARE_AND_WRITE;
}

static bool
compares(enum lane_op op)
{
	return op == LANE_COMPARE || op == LANE_COMPARE_AND_WRITE;
}

const char *
cause_lacks(enum lane_op op, const struct lane_result *result, const struct cause_facts *f)
{
	struct nvme_status status = result->status;

	if (result->error == 0)
		return NULL;
	switch (nvme_sc(status)) {
	case NVME_SC_SUCCESS:
		return without_status(op, result->error, f);
	case NVME_SC_RESV_CONFLICT: case NVME_SC_PREEMPT_ABORTED: case NVME_SC_LBA_RANGE:
		return NULL; /* claims.h; access.c */
	case NVME_SC_COMPARE:
		return compares(op) ? NULL : "it compares nothing";
	case NVME_SC_READ_ERROR: /* of a block that was made unreadable it is for good */
		if (status.dnr)
			return reads(op) ? NULL : "it reads nothing that can be unreadable";
		return lacks_disk(op, f);
	case NVME_SC_WRITE_FAULT:
		return reads(op) && op != LANE_COMPARE_AND_WRITE ? "it writes nothing" : lacks_disk(op, f);
	case NVME_SC_INVALID_NS:
		return lacks_absence(f);
	case NVME_SC_ABORT_REQUESTED:
		return is_most_of(f->now_ns - f->begun_ns, f->io_timeout_ns) ? NULL : "it had not taken long";
	case NVME_SC_INTERNAL: /* there is no memory for a block in RAM, or for a list of bad blocks */
		if (op == LANE_FLUSH || (reads(op) && op != LANE_COMPARE_AND_WRITE))
			return "it needs no memory";
		return was(f->short_ns, f->begun_ns) ? NULL : "its target had memory";
	case NVME_SC_TRANSIENT_TRANSPORT:
		return was(f->spoilt_ns, f->begun_ns) ? NULL : "nothing was changed on its way";
	case NVME_SC_ANA_INACCESSIBLE: case NVME_SC_ANA_TRANSITION: case NVME_SC_ANA_PERSISTENT_LOSS:
		return f->leaves ? NULL : lacks_no_path(f);
	default:
		return "nothing in the plan can make one end like that";
	}
}
