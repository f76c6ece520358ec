/*
 * command.c - the commands that change a reservation: Register, Acquire,
 * Release, and feature 83h.
 *
 * Each looks at its fields, then at the state, and only then acts: what is
 * refused has changed nothing.
 */
#include "resv/internal.h"

/* One command at work. */
struct step {
	struct resv *resv;
	struct resv_effect *effect;
	const uint8_t *hostid; /* who sent it */
	uint32_t place;        /* its place among the registrants, or RESV_NOBODY */
	bool was_ptpl;
};

static void
step_begin(struct step *step, struct resv *resv, const uint8_t *hostid, struct resv_effect *effect)
{
	static const uint8_t zeros[RESV_HOSTID_LEN];

	assert(memcmp(hostid, zeros, sizeof(zeros)) != 0);
	effect->changed = effect->persist = false;
	effect->notice_count = effect->abort_count = 0;
	*step = (struct step){ resv, effect, hostid, resv_find(resv, hostid), resv->ptpl };
}

static struct nvme_status
refused(enum nvme_sc sc)
{
	return nvme_status_of(sc, true);
}

/* The state is another; where it outlives a loss of power, or did until now, that must be durable. */
static struct nvme_status
step_changed(const struct step *step)
{
	step->effect->changed = true;
	step->effect->persist = step->was_ptpl || step->resv->ptpl;
	return NVME_OK;
}

static struct nvme_status
step_counted(const struct step *step)
{
	step->resv->generation++;
	return step_changed(step);
}

static void
notice_put(const struct step *step, const uint8_t *hostid, enum nvme_resv_notice kind)
{
	struct resv_effect *effect = step->effect;
	struct resv_notice *notice;

	if (memcmp(hostid, step->hostid, RESV_HOSTID_LEN) == 0)
		return;
	assert(effect->notice_count < RESV_HOSTS_MAX);
	notice = &effect->notices[effect->notice_count++];
	memcpy(notice->hostid, hostid, RESV_HOSTID_LEN);
	notice->kind = kind;
}

static void
notice_all(const struct step *step, enum nvme_resv_notice kind)
{
	for (uint32_t i = 0; i < step->resv->host_count; i++)
		notice_put(step, step->resv->hosts[i].hostid, kind);
}

static void
hold(struct step *step, enum nvme_resv_type type)
{
	step->resv->type = type;
	step->resv->holder = resv_type_of_all(type) ? RESV_NOBODY : step->place;
}

static void
let_go(struct resv *resv)
{
	resv->type = NVME_RESV_NONE;
	resv->holder = RESV_NOBODY;
}

static void
host_add(struct resv *resv, const uint8_t *hostid, uint64_t key)
{
	struct resv_host *host = &resv->hosts[resv->host_count++];

	memcpy(host->hostid, hostid, RESV_HOSTID_LEN);
	host->key = key;
}

/* Those behind it move up; a reservation goes with its holder, or with the last of its holders. */
static void
host_remove(struct step *step, uint32_t place)
{
	struct resv *resv = step->resv;

	assert(place < resv->host_count);
	resv->host_count--;
	memmove(&resv->hosts[place], &resv->hosts[place + 1], (resv->host_count - place) * sizeof(resv->hosts[0]));
	if (place == resv->holder || resv->host_count == 0)
		let_go(resv);
	else if (resv->holder != RESV_NOBODY && resv->holder > place)
		resv->holder--;
	if (place == step->place)
		step->place = RESV_NOBODY;
	else if (step->place != RESV_NOBODY && step->place > place)
		step->place--;
}

/* ---- Register ---- */

static struct nvme_status
register_new(const struct step *step, uint64_t key)
{
	if (step->resv->host_count == RESV_HOSTS_MAX)
		return nvme_status_of(NVME_SC_INTERNAL, false); /* a place may come free */
	host_add(step->resv, step->hostid, key);
	return NVME_OK;
}

static struct nvme_status
register_remove(struct step *step)
{
	enum nvme_resv_type type = step->resv->type;
	bool ends = step->place == step->resv->holder;

	host_remove(step, step->place);
	if (ends && (type == NVME_RESV_WE_RO || type == NVME_RESV_EA_RO))
		notice_all(step, NVME_RESV_RELEASED);
	return NVME_OK;
}

static struct nvme_status
register_act(struct step *step, enum nvme_rrega rrega, bool ignore, uint64_t crkey, uint64_t nrkey)
{
	struct resv_host *host = step->place != RESV_NOBODY ? &step->resv->hosts[step->place] : NULL;
	bool known = host != NULL && (ignore || host->key == crkey);

	switch (rrega) {
	case NVME_RREGA_REGISTER:
		if (host == NULL)
			return register_new(step, nrkey);
		return host->key == nrkey ? NVME_OK : refused(NVME_SC_RESV_CONFLICT);
	case NVME_RREGA_UNREGISTER:
		return known ? register_remove(step) : refused(NVME_SC_RESV_CONFLICT);
	case NVME_RREGA_REPLACE:
		if (host == NULL && ignore)
			return register_new(step, nrkey);
		if (!known)
			return refused(NVME_SC_RESV_CONFLICT);
		host->key = nrkey;
		return NVME_OK;
	}
	return refused(NVME_SC_INVALID_FIELD);
}

struct nvme_status
resv_register(struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN], const struct nvme_sqe *sqe,
    const struct nvme_resv_register_data *data, struct resv_effect *effect)
{
	uint32_t cdw10 = le32_get(sqe->cdw10);
	enum nvme_rrega rrega = (enum nvme_rrega)NVME_RESV_ACTION(cdw10);
	enum nvme_cptpl cptpl = (enum nvme_cptpl)NVME_RESV_CPTPL(cdw10);
	uint64_t crkey = le64_get(data->crkey), nrkey = le64_get(data->nrkey);
	struct nvme_status status;
	struct step step;

	step_begin(&step, resv, hostid, effect);
	if (rrega > NVME_RREGA_REPLACE || (rrega != NVME_RREGA_UNREGISTER && nrkey == 0))
		return refused(NVME_SC_INVALID_FIELD);
	if (cptpl == NVME_CPTPL_RESERVED || (cptpl == NVME_CPTPL_SET && !resv->can_persist))
		return refused(NVME_SC_INVALID_FIELD);
	status = register_act(&step, rrega, cdw10 & NVME_RESV_IEKEY, crkey, nrkey);
	if (!nvme_ok(status))
		return status;
	if (cptpl != NVME_CPTPL_KEEP)
		resv->ptpl = cptpl == NVME_CPTPL_SET;
	return step_counted(&step);
}

/* ---- Acquire ---- */

static struct nvme_status
acquire(struct step *step, enum nvme_resv_type type)
{
	const struct resv *resv = step->resv;

	if (resv->type == NVME_RESV_NONE) {
		hold(step, type);
		return step_changed(step);
	}
	if (resv_holds(resv, step->place) && resv->type == type)
		return NVME_OK;
	return refused(NVME_SC_RESV_CONFLICT);
}

/* Whom a preempt unregisters. */
struct victims {
	uint64_t key;
	bool all;   /* whatever their key */
	bool spare; /* all but the caller */
};

static uint32_t
preempt_remove(struct step *step, struct victims victims, bool end_commands)
{
	struct resv *resv = step->resv;
	uint32_t removed = 0, i = 0;

	while (i < resv->host_count) {
		struct resv_host host = resv->hosts[i];
		bool caller = i == step->place;

		if ((!victims.all && host.key != victims.key) || (caller && victims.spare)) {
			i++;
			continue;
		}
		host_remove(step, i);
		removed++;
		notice_put(step, host.hostid, NVME_RESV_REGISTRATION_PREEMPTED);
		if (end_commands && !caller)
			memcpy(step->effect->aborts[step->effect->abort_count++], host.hostid, RESV_HOSTID_LEN);
	}
	return removed;
}

static struct nvme_status
preempt(struct step *step, uint64_t prkey, enum nvme_resv_type type, bool end_commands)
{
	struct resv *resv = step->resv;
	enum nvme_resv_type before = resv->type;
	bool of_all = resv_type_of_all(before);
	bool takes = of_all ? prkey == 0 : resv->holder != RESV_NOBODY && resv->hosts[resv->holder].key == prkey;

	if (prkey == 0 && !of_all)
		return refused(NVME_SC_INVALID_FIELD);
	if (!takes)
		return preempt_remove(step, (struct victims){ .key = prkey }, end_commands) > 0 ?
		    step_counted(step) : refused(NVME_SC_RESV_CONFLICT);
	preempt_remove(step, (struct victims){ .key = prkey, .all = of_all, .spare = true }, end_commands);
	hold(step, type);
	if (type != before)
		notice_all(step, NVME_RESV_RELEASED);
	return step_counted(step);
}

/* Whether the caller is registered with this key. */
static bool
step_proved(const struct step *step, le64 crkey)
{
	return step->place != RESV_NOBODY && step->resv->hosts[step->place].key == le64_get(crkey);
}

struct nvme_status
resv_acquire(struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN], const struct nvme_sqe *sqe,
    const struct nvme_resv_acquire_data *data, struct resv_effect *effect)
{
	uint32_t cdw10 = le32_get(sqe->cdw10), rtype = NVME_RESV_RTYPE(cdw10);
	enum nvme_resv_type type = (enum nvme_resv_type)rtype;
	uint64_t prkey = le64_get(data->prkey);
	struct step step;

	step_begin(&step, resv, hostid, effect);
	if ((cdw10 & NVME_RESV_IEKEY) || NVME_RESV_ACTION(cdw10) > NVME_RACQA_PREEMPT_ABORT)
		return refused(NVME_SC_INVALID_FIELD);
	if (rtype < NVME_RESV_WE || rtype > NVME_RESV_EA_AR)
		return refused(NVME_SC_INVALID_FIELD);
	if (!step_proved(&step, data->crkey))
		return refused(NVME_SC_RESV_CONFLICT);
	switch ((enum nvme_racqa)NVME_RESV_ACTION(cdw10)) {
	case NVME_RACQA_ACQUIRE:
		return acquire(&step, type);
	case NVME_RACQA_PREEMPT:
		return preempt(&step, prkey, type, false);
	case NVME_RACQA_PREEMPT_ABORT:
		return preempt(&step, prkey, type, true);
	}
	return refused(NVME_SC_INVALID_FIELD);
}

/* ---- Release ---- */

static struct nvme_status
release(struct step *step, uint32_t rtype)
{
	struct resv *resv = step->resv;

	if (!resv_holds(resv, step->place))
		return NVME_OK;
	if (rtype != (uint32_t)resv->type)
		return refused(NVME_SC_INVALID_FIELD);
	if (resv->type != NVME_RESV_WE && resv->type != NVME_RESV_EA)
		notice_all(step, NVME_RESV_RELEASED);
	let_go(resv);
	return step_changed(step);
}

static struct nvme_status
clear(struct step *step)
{
	notice_all(step, NVME_RESV_PREEMPTED);
	while (step->resv->host_count > 0)
		host_remove(step, step->resv->host_count - 1);
	return step_counted(step);
}

struct nvme_status
resv_release(struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN], const struct nvme_sqe *sqe,
    const struct nvme_resv_release_data *data, struct resv_effect *effect)
{
	uint32_t cdw10 = le32_get(sqe->cdw10);
	struct step step;

	step_begin(&step, resv, hostid, effect);
	if ((cdw10 & NVME_RESV_IEKEY) || NVME_RESV_ACTION(cdw10) > NVME_RRELA_CLEAR)
		return refused(NVME_SC_INVALID_FIELD);
	if (!step_proved(&step, data->crkey))
		return refused(NVME_SC_RESV_CONFLICT);
	if (NVME_RESV_ACTION(cdw10) == NVME_RRELA_CLEAR)
		return clear(&step);
	return release(&step, NVME_RESV_RTYPE(cdw10));
}

/* ---- feature 83h ---- */

struct nvme_status
resv_set_ptpl(struct resv *resv, bool ptpl, struct resv_effect *effect)
{
	bool before = resv->ptpl;

	effect->notice_count = effect->abort_count = 0;
	effect->changed = effect->persist = false;
	if (ptpl && !resv->can_persist)
		return refused(NVME_SC_INVALID_FIELD);
	resv->ptpl = ptpl;
	effect->changed = effect->persist = before != ptpl;
	return NVME_OK;
}
