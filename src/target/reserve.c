/*
 * reserve.c - reservations: core 0 keeps their state and decides.
 *
 * Commands come by mail from the cores where their connections live, and stand
 * still there until the answer; of one namespace one comes of a core at a time,
 * and one is done at a time, host by host.  What it changed is made durable,
 * then taken by every core, which ends commands that are to end; then hosts are
 * told, and the command is answered.  Does not know what a command means (resv/)
 * nor how the state lies on the medium (reserve_kept.c).  The cores' part is in
 * reserve_lend.c and reserve_core.c.
 */
#include <assert.h>

#include "target/hostline.h"
#include "target/reserve.h"
#include "target/state_file.h"

static void next(struct reserve *reserve);

static void
to_all(struct reserve *reserve, enum target_mail_kind kind)
{
	struct target_mail mail = {
		.kind = (uint16_t)kind,
		.resv = {
			.state = &reserve->copies[reserve->current], .effect = &reserve->effect,
			.nsid = reserve_nsid(reserve->now), .slot = reserve->slot,
		},
	};
	struct reactor *reactor = reserve->core->reactor;

	reserve->left = reactor->count;
	for (unsigned i = 0; i < reactor->count; i++)
		core_post(reserve->core, i, &mail);
}

/* The command goes back to the core it came from. */
static void
answer(struct core *core, struct request *req, uint16_t slot, struct nvme_status status)
{
	struct target_mail mail = {
		.kind = MAIL_RESERVED, .reserve = { .req = req, .slot = slot, .status = status },
	};

	core_post(core, req->conn->core->reactor->index, &mail);
}

static void
finish(struct reserve *reserve, struct nvme_status status)
{
	struct request *req = reserve->now;

	reserve->now = NULL;
	answer(reserve->core, req, reserve->slot, status);
}

/* ---- what a command does ---- */

static struct nvme_status
apply(const struct request *req, struct resv *state, struct resv_effect *effect)
{
	const uint8_t *hostid = req->conn->hostid;
	const void *data = req->piece.iov_base;

	if (req->conn->qid == 0)
		return resv_set_ptpl(state, le32_get(req->sqe.cdw11) & NVME_RESV_PERSIST_PTPL, effect);
	if (req->sqe.opcode == NVME_RESV_REGISTER)
		return resv_register(state, hostid, &req->sqe, data, effect);
	if (req->sqe.opcode == NVME_RESV_ACQUIRE)
		return resv_acquire(state, hostid, &req->sqe, data, effect);
	assert(req->sqe.opcode == NVME_RESV_RELEASE);
	return resv_release(state, hostid, &req->sqe, data, effect);
}

static bool
is_report(const struct request *req)
{
	return req->conn->qid != 0 && req->sqe.opcode == NVME_RESV_REPORT;
}

/* Every core takes the other copy. */
static void
publish(struct reserve *reserve)
{
	reserve->current ^= 1;
	to_all(reserve, MAIL_RESV_TAKE);
}

static void
change(struct reserve *reserve)
{
	struct resv *state = &reserve->copies[!reserve->current];
	struct nvme_status status;

	*state = reserve->copies[reserve->current];
	status = apply(reserve->now, state, &reserve->effect);
	if (!nvme_ok(status) || (!reserve->effect.changed && !reserve->doubt))
		finish(reserve, status);
	else if (!reserve->effect.persist && !reserve->doubt)
		publish(reserve);
	else
		reserve_keep(reserve);
}

/* Core after core says which controllers it has of the registrants. */
static void
ask_for_controllers(struct reserve *reserve)
{
	struct target_mail mail = {
		.kind = MAIL_RESV_WHO,
		.resv = {
			.state = &reserve->copies[reserve->current], .found = &reserve->found,
			.nsid = reserve_nsid(reserve->now), .slot = reserve->slot,
		},
	};

	reserve->found.count = 0;
	core_post(reserve->core, 0, &mail);
}

/* What a report says lies in the first buffer; behind it are zeros, as far as the host wants them. */
static void
report(struct reserve *reserve)
{
	struct request *req = reserve->now;
	uint32_t first = req->xfer.length < RESV_REPORT_MAX ? req->xfer.length : RESV_REPORT_MAX;
	struct nvme_sqe sqe = req->sqe;

	static_assert((int)RESV_REPORT_MAX <= (int)BUFS_SMALL, "it needs no second buffer");
	sqe.cdw10 = le32_of(first / 4 - 1);
	for (uint32_t i = 0; i < req->bufs.count; i++)
		memset(req->bufs.iov[i].iov_base, 0, req->bufs.iov[i].iov_len);
	finish(reserve, resv_report(&reserve->copies[reserve->current], &sqe, reserve->found.controllers,
	    reserve->found.count, req->bufs.iov[0].iov_base, first));
}

/* ---- one after the other ---- */

static void
next(struct reserve *reserve)
{
	while (reserve->now == NULL && !list_empty(&reserve->waiting)) {
		reserve->now = hostline_pop(&reserve->waiting);
		if (is_report(reserve->now))
			ask_for_controllers(reserve);
		else
			change(reserve);
	}
}

void
reserve_kept(struct reserve *reserve, bool durable)
{
	if (durable)
		publish(reserve);
	else
		finish(reserve, nvme_status_of(NVME_SC_INTERNAL, false));
	next(reserve);
}

/* All cores have taken the state, or told whom it concerns. */
static void
round_over(struct reserve *reserve, bool told)
{
	if (--reserve->left > 0)
		return;
	if (!told && reserve->effect.notice_count > 0) {
		to_all(reserve, MAIL_RESV_TELL);
		return;
	}
	finish(reserve, NVME_OK);
	next(reserve);
}

/* The first command of a namespace makes its state. */
static void
arrived(struct core *core, struct request *req, uint16_t slot)
{
	struct target_volume *volume = &core->target->volumes[slot];

	/* It was given up while the command was on its way: what is begun now may last longer than it is there. */
	if (volume->blk == NULL || volume->left > 0) {
		answer(core, req, slot, nvme_status_of(NVME_SC_INVALID_NS, true));
		return;
	}
	if (volume->reserve == NULL)
		volume->reserve = reserve_make(core, slot);
	if (volume->reserve == NULL) {
		core_log_peer(core, "a command of reservations is not done: out of memory");
		answer(core, req, slot, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	hostline_push(&volume->reserve->waiting, req);
	next(volume->reserve);
}

void
reserve_mail(struct core *core, const struct target_mail *mail)
{
	struct reserve *reserve = NULL;

	if (mail->kind != MAIL_RESERVE)
		reserve = core->target->volumes[mail->resv.slot].reserve;
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_RESERVE:
		arrived(core, mail->reserve.req, mail->reserve.slot);
		return;
	case MAIL_RESV_TAKEN:
	case MAIL_RESV_TOLD:
		round_over(reserve, mail->kind == MAIL_RESV_TOLD);
		return;
	case MAIL_RESV_FOUND:
		report(reserve);
		next(reserve);
		return;
	default:
		assert(false); /* not for us */
	}
}

/* ---- life ---- */

size_t
reserve_bytes(void)
{
	return arena_takes(sizeof(struct reserve), 0) + arena_takes(RESV_SLOT_LEN, 4096) +
	    arena_takes(sizeof(struct state_file), 0);
}

struct reserve *
reserve_make(struct core *core, uint16_t slot)
{
	struct reserve *reserve = arena_alloc(core->reactor->arena, sizeof(*reserve));
	bool keeps = core->target->volumes[slot].keeps;

	if (reserve == NULL)
		return NULL;
	reserve->image = arena_alloc_aligned(core->reactor->arena, RESV_SLOT_LEN, 4096);
	reserve->place = keeps ? state_file_make(core->target) : NULL;
	if (reserve->image == NULL || (keeps && reserve->place == NULL)) {
		if (reserve->place != NULL)
			state_file_close(reserve->place);
		arena_free(core->reactor->arena, reserve->image);
		arena_free(core->reactor->arena, reserve);
		return NULL;
	}
	reserve->core = core;
	reserve->slot = slot;
	list_init(&reserve->waiting);
	resv_init(&reserve->copies[0], keeps);
	return reserve;
}

bool
reserve_busy(const struct core *core, uint32_t slot)
{
	const struct reserve *reserve = core->target->volumes[slot].reserve;

	return core->reactor->index == 0 && reserve != NULL && reserve->now != NULL;
}

/* Nobody refers to the namespace any more: its state goes, and what is kept of it stays. */
void
reserve_forget(struct target *target, uint32_t slot)
{
	struct reserve *reserve = target->volumes[slot].reserve;
	struct arena *arena;

	if (reserve == NULL)
		return;
	arena = reserve->core->reactor->arena;
	target->volumes[slot].reserve = NULL;
	if (reserve->place != NULL)
		state_file_close(reserve->place);
	arena_free(arena, reserve->image);
	arena_free(arena, reserve);
}

/* What a core that begins to serve the volume has of it. */
const struct resv *
reserve_state(const struct target *target, uint32_t slot)
{
	const struct reserve *reserve = target->volumes[slot].reserve;

	return reserve != NULL ? &reserve->copies[reserve->current] : NULL;
}

void
reserve_end(struct core *core)
{
	if (core->reactor->index == 0)
		for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++)
			reserve_forget(core->target, slot);
}
