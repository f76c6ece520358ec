/*
 * fence.c - a host ends its dead associations, and hears when nothing of them can happen any more.
 *
 * On the controller's core: fences of one controller are asked of the registry
 * one after the other.  (doc/extension.md)
 */
#include <assert.h>

#include "target/assoc.h"

enum { UNANSWERED_MAX = 8 }; /* of before resets: what a controller has under way to core 0 is bounded */

static struct request *
first(const struct assoc *assoc)
{
	return container_of(assoc->fencers.head, struct request, xfer.tx_node);
}

/* What the command names is kept where its answer will be. */
static void
ask(struct assoc *assoc)
{
	struct target_mail mail = {
		.kind = MAIL_FENCE, .key = assoc->key, .fence = (uint16_t)first(assoc)->xfer.dw0,
	};

	core_post(assoc->core, 0, &mail);
}

void
fence_begin(struct assoc *assoc, struct request *req, uint16_t which)
{
	bool alone = fifo_empty(&assoc->fencers);

	if (assoc->fences_dropped >= UNANSWERED_MAX) {
		request_answer(req, nvme_status_of(NVME_SC_INTERRUPTED, false));
		return;
	}
	req->stage = STAGE_MAIL;
	req->xfer.dw0 = which;
	fifo_push(&assoc->fencers, &req->xfer.tx_node);
	if (alone)
		ask(assoc);
}

void
fence_done(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);
	struct request *req;

	if (assoc == NULL)
		return;
	if (assoc->fences_dropped > 0) {
		assoc->fences_dropped--;
		return;
	}
	assert(!fifo_empty(&assoc->fencers));
	req = first(assoc);
	fifo_pop(&assoc->fencers);
	req->xfer.dw0 = mail->ended;
	request_answer(req, NVME_OK);
	if (!fifo_empty(&assoc->fencers))
		ask(assoc);
}

/* The admin connection goes, or the controller is reset: nobody waits any more. */
void
fence_drop(struct assoc *assoc)
{
	if (fifo_empty(&assoc->fencers))
		return;
	assoc->fences_dropped++; /* the first one was asked for; the next one ends its waiting */
	request_free_all(&assoc->fencers);
}
