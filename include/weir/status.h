/*
 * weir/status.h - how things end: errors of calls, and the status of an NVMe command.
 *
 * A call that can fail answers 0 or a negative errno and, for people, leaves a
 * line of text with its thread: weir_error().  A command that the target ended
 * has a status too (NVMe Base 2.0, 3.3.3.2.1).
 */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Why the last call of the library that failed on this thread did, in plain
 * words without a full stop; "" where none has.  Valid until the next call of
 * this thread that fails.
 */
const char *weir_error(void);

/* Status code type and status code: SCT << 8 | SC, and 0x4000 where the target says "do not retry" (DNR). */
typedef uint16_t weir_status;

#define WEIR_STATUS_DNR 0x4000

/* How a command ended. */
struct weir_result {
	int error;          /* 0, or a negative errno: what the status means, or what happened where there is none */
	weir_status status; /* the target's; 0 with an error: it has said nothing */
	uint32_t dw0, dw1;  /* of the completion */
};

/*
 * What the errors of a command mean:
 *   -EIO         the medium failed, or anything without an errno of its own: see the status.  With status 0, of a
 *                Flush: the target has lost its cache; what was written and not flushed may be gone
 *   -EILSEQ      Compare: the blocks differ
 *   -EINVAL      the target refused the command as wrong
 *   -EOPNOTSUPP  the target does not know it
 *   -ENODEV      the namespace is gone
 *   -ERANGE      outside the namespace
 *   -EROFS       write protected
 *   -EACCES, -EBUSY (a reservation of another host), -ENOSPC, -ECANCELED (aborted)
 *   -EAGAIN      the target cannot do it now, and says that it can later
 *   -ENOLINK     no path reaches the namespace, so the target says on each
 *   -ETIMEDOUT   given up: no answer and no path for the loss time.  Whether a write was done is not known
 *   -ESTALE      a Compare and Write was in flight when its connection was lost: whether it was done is not known
 *   -ESHUTDOWN   the queue or the subsystem was closed meanwhile
 */

/* What the specification calls it, in small letters; never NULL.  Any thread; the text stays. */
const char *weir_status_text(weir_status status);

/* The same of how a command ended: what the target has said, or what happened where it has said nothing; never NULL.
 * Any thread; the text stays. */
const char *weir_result_text(const struct weir_result *result);

#ifdef __cplusplus
}
#endif

#endif
