/*
 * features.c - Set Features and Get Features (NVMe Base 2.0, 5.14, 5.27).
 *
 * Nothing is saved over a power cycle, so the saved value of a feature is its
 * default.  A feature is a row of the table; most are a word of the controller
 * with bits that may be set.
 */
#include "ctrl/internal.h"

#include "wire/extension.h"
#include "wire/feature.h"
#include "wire/log.h"

/* Whose it is: the controller's, each namespace's, or a namespace's as far as the controller reaches it. */
enum feature_of { OF_CTRL, OF_NS, OF_PATH };

struct feature {
	bool discovery;  /* also of a discovery controller */
	bool changeable;
	enum feature_of of;
	uint16_t data;   /* bytes that Set brings and Get takes; 0: a word in DW0 */
	bool data_get;   /* ... only Get does */
	void (*set)(struct admin *cmd, uint32_t value); /* what is not changeable may have its own answer, or NULL */
	uint32_t (*get)(struct admin *cmd, bool by_default, uint8_t *data);
	bool (*claimed)(const struct subsys_info *subsys); /* NULL: always there */
};

static uint32_t
cdw11(const struct admin *cmd)
{
	return le32_get(cmd->sqe->cdw11);
}

void
features_reset(struct ctrl *ctrl)
{
	ctrl->features = (struct ctrl_features){ .hot = CTRL_KELVIN_WARNING, .write_cache = 1 };
	ctrl->async_config = 0;
	ctrl->kato_ms = ctrl->kato_connect_ms;
	reservation_reset(ctrl);
}

/* ---- one by one; a set that answers wrongly has not changed anything ---- */

static void
set_word(struct admin *cmd, uint32_t *word, uint32_t value, uint32_t allowed)
{
	if (value & ~allowed)
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	else
		*word = value;
}

static void
arbitration_set(struct admin *cmd, uint32_t value)
{
	set_word(cmd, &cmd->ctrl->features.arbitration, value, UINT32_C(0xffffff07));
}

static uint32_t
arbitration_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? 0 : cmd->ctrl->features.arbitration;
}

/* There is one power state, 0, with any workload hint. */
static void
power_set(struct admin *cmd, uint32_t value)
{
	set_word(cmd, &cmd->ctrl->features.power, value, 0xe0);
}

static uint32_t
power_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? 0 : cmd->ctrl->features.power;
}

static void
temperature_set(struct admin *cmd, uint32_t value)
{
	struct ctrl_features *f = &cmd->ctrl->features;
	uint32_t sensor = NVME_TEMPERATURE_SENSOR(value), side = NVME_TEMPERATURE_SIDE(value);

	if ((sensor != 0 && sensor != NVME_TEMPERATURE_ALL) || side > NVME_TEMPERATURE_UNDER) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	*(side == NVME_TEMPERATURE_UNDER ? &f->cold : &f->hot) = value & 0xffff;
	if (CTRL_KELVIN >= f->hot || CTRL_KELVIN <= f->cold)
		events_notify(cmd->ctrl, CTRL_TEMPERATURE);
}

static uint32_t
temperature_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	const struct ctrl_features *f = &cmd->ctrl->features;

	if (NVME_TEMPERATURE_SIDE(cdw11(cmd)) == NVME_TEMPERATURE_UNDER)
		return by_default ? 0 : f->cold;
	return by_default ? CTRL_KELVIN_WARNING : f->hot;
}

static uint32_t
recovery_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return 0; /* no time limit on error recovery, no error on deallocated blocks */
}

static void
write_cache_set(struct admin *cmd, uint32_t value)
{
	/* Also of the value it has: one who set it before may still wait, or have met a flush that failed. */
	set_word(cmd, &cmd->ctrl->features.write_cache, value, 1);
	if (nvme_ok(cmd->reply->status))
		cmd->reply->action = CTRL_WRITE_CACHE;
}

static uint32_t
write_cache_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? 1 : cmd->ctrl->features.write_cache;
}

static uint32_t
queues_answer(uint32_t queues)
{
	return (queues - 1) | (queues - 1) << 16;
}

/* A queue pair takes one of each, so the smaller number asked for decides. */
static void
queues_set(struct admin *cmd, uint32_t value)
{
	struct ctrl *ctrl = cmd->ctrl;
	uint32_t sq = value & 0xffff, cq = value >> 16, queues = (sq < cq ? sq : cq) + 1;

	if (sq == 0xffff || cq == 0xffff) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	} else if (ctrl->io_queues_made) { /* also where they have left again */
		admin_refuse(cmd, NVME_SC_SEQUENCE);
	} else {
		if (queues > ctrl->subsys->io_queues_max)
			queues = ctrl->subsys->io_queues_max;
		ctrl->io_queues_granted = queues;
		cmd->reply->dw0 = queues_answer(queues);
	}
}

static uint32_t
queues_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	const struct ctrl *ctrl = cmd->ctrl;
	bool granted = !by_default && ctrl->io_queues_granted != 0;

	return queues_answer(granted ? ctrl->io_queues_granted : ctrl->subsys->io_queues_max);
}

static void
atomicity_set(struct admin *cmd, uint32_t value)
{
	set_word(cmd, &cmd->ctrl->features.atomicity, value, 1);
}

static uint32_t
atomicity_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? 0 : cmd->ctrl->features.atomicity;
}

static void
events_set(struct admin *cmd, uint32_t value)
{
	set_word(cmd, &cmd->ctrl->async_config, value, events_supported(cmd->ctrl));
	events_configured(cmd->ctrl);
}

static uint32_t
events_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? 0 : cmd->ctrl->async_config;
}

static void
timestamp_set(struct admin *cmd, uint32_t value)
{
	struct ctrl *ctrl = cmd->ctrl;

	cmd->reply->action = CTRL_TIMESTAMP;
	cmd->reply->previous_ms = ctrl_timestamp_ms(ctrl, cmd->now_ns) & NVME_TIMESTAMP_MASK;
	ctrl->timestamp_ms = get_le64(cmd->in) & NVME_TIMESTAMP_MASK;
	ctrl->timestamp_set_ns = cmd->now_ns;
	ctrl->timestamp_of_host = true;
}

uint64_t
ctrl_timestamp_ms(const struct ctrl *ctrl, uint64_t now_ns)
{
	return ctrl->timestamp_ms + (now_ns - ctrl->timestamp_set_ns) / 1000000;
}

static uint32_t
timestamp_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	const struct ctrl *ctrl = cmd->ctrl;

	if (by_default)
		return 0;
	put_le64(data, ctrl_timestamp_ms(ctrl, cmd->now_ns) & NVME_TIMESTAMP_MASK);
	data[6] = ctrl->timestamp_of_host ? NVME_TIMESTAMP_OF_HOST : 0;
	return 0;
}

static void
kato_set(struct admin *cmd, uint32_t value)
{
	cmd->ctrl->kato_ms = ctrl_kato_round(value);
	cmd->reply->action = CTRL_KATO;
}

/* What Connect said is its first value, and again after a reset; the default is the transport's (5.27.1.12). */
static uint32_t
kato_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? NVME_KATO_DEFAULT_MS : cmd->ctrl->kato_ms;
}

static void
behavior_set(struct admin *cmd, uint32_t value)
{
	for (size_t i = 0; i < sizeof(cmd->ctrl->features.behavior); i++) {
		if (cmd->in[i] > 1) {
			admin_refuse(cmd, NVME_SC_INVALID_FIELD);
			return;
		}
	}
	memcpy(cmd->ctrl->features.behavior, cmd->in, sizeof(cmd->ctrl->features.behavior));
}

static uint32_t
behavior_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	if (!by_default)
		memcpy(data, cmd->ctrl->features.behavior, sizeof(cmd->ctrl->features.behavior));
	return 0;
}

/* Over Fabrics it came with Connect (5.27.1.25). */
static void
host_id_set(struct admin *cmd, uint32_t value)
{
	admin_refuse(cmd, NVME_SC_SEQUENCE);
}

static uint32_t
host_id_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	memcpy(data, cmd->ctrl->hostid, sizeof(cmd->ctrl->hostid));
	return NVME_HOST_ID_EXTENDED;
}

/* ---- the table ---- */

static bool has_reservations(const struct subsys_info *subsys) { return subsys->reservations; }
static bool has_protection(const struct subsys_info *subsys) { return subsys->nwpc != 0; }

static const struct feature features[256] = {
	/*                                disc.  change of       data         set              get */
	[NVME_FEATURE_ARBITRATION] =      { false, true,  OF_CTRL, 0, false,   arbitration_set, arbitration_get, NULL },
	[NVME_FEATURE_POWER] =            { false, true,  OF_CTRL, 0, false,   power_set,       power_get, NULL },
	[NVME_FEATURE_TEMPERATURE] =      { false, true,  OF_CTRL, 0, false,   temperature_set, temperature_get, NULL },
	[NVME_FEATURE_RECOVERY] =         { false, false, OF_PATH, 0, false,   NULL,            recovery_get, NULL },
	[NVME_FEATURE_WRITE_CACHE] =      { false, true,  OF_CTRL, 0, false,   write_cache_set, write_cache_get,
	    subsys_volatile_cache },
	[NVME_FEATURE_QUEUES] =           { false, true,  OF_CTRL, 0, false,   queues_set,      queues_get, NULL },
	[NVME_FEATURE_ATOMICITY] =        { false, true,  OF_CTRL, 0, false,   atomicity_set,   atomicity_get, NULL },
	[NVME_FEATURE_EVENTS] =           { true,  true,  OF_CTRL, 0, false,   events_set,      events_get, NULL },
	[NVME_FEATURE_TIMESTAMP] =        { false, true,  OF_CTRL, 8, false,   timestamp_set,   timestamp_get, NULL },
	[NVME_FEATURE_KATO] =             { true,  true,  OF_CTRL, 0, false,   kato_set,        kato_get, NULL },
	[NVME_FEATURE_BEHAVIOR] =         { false, true,  OF_CTRL, 512, false, behavior_set,    behavior_get, NULL },
	[NVME_FEATURE_HOST_ID] =          { false, false, OF_CTRL, 16, true,   host_id_set,     host_id_get, NULL },
	[NVME_FEATURE_RESV_MASK] =        { false, true,  OF_PATH, 0, false,   resv_mask_set,   resv_mask_get,
	    has_reservations },
	[NVME_FEATURE_RESV_PERSISTENCE] = { false, true,  OF_PATH, 0, false,   persistence_set, persistence_get,
	    has_reservations },
	[NVME_FEATURE_PROTECTION] =       { false, true,  OF_NS,   0, false,   protection_set,  protection_get,
	    has_protection },
	[WEIR_FEATURE] =                  { false, true,  OF_CTRL, 0, false,   extension_set,   extension_get, NULL },
};

static const struct feature *
find(const struct ctrl *ctrl, uint8_t fid)
{
	const struct feature *feature = &features[fid];

	if (feature->get == NULL || (ctrl->subsys->discovery && !feature->discovery))
		return NULL;
	if (feature->claimed != NULL && !feature->claimed(ctrl->subsys))
		return NULL; /* Identify says that there is none */
	return feature;
}

uint32_t
features_data_in(uint8_t fid)
{
	return features[fid].data_get ? 0 : features[fid].data;
}

void
features_effects(const struct ctrl *ctrl, le32 effects[256])
{
	for (uint32_t fid = 0; fid < 256; fid++) {
		const struct feature *feature = find(ctrl, (uint8_t)fid);

		if (feature != NULL)
			effects[fid] = le32_of(NVME_EFFECT_SUPPORTED |
			    (feature->of == OF_CTRL ? NVME_SCOPE_CTRL : NVME_SCOPE_NS));
	}
}

/*
 * A namespace that the controller does not reach has no features of its own but protection, and where that is for
 * good, or where all are named, none can be set (Base 2.0, 8.1.4; NVM Command Set 1.0, 2.1.1).
 */
static bool
held_back(struct admin *cmd, const struct feature *feature, bool set)
{
	if (feature->of == OF_CTRL || (feature->of == OF_NS && !set))
		return false;
	return ana_holds(cmd, feature->of == OF_NS && le32_get(cmd->sqe->nsid) != UINT32_MAX);
}

void
admin_set_features(struct admin *cmd)
{
	uint32_t cdw10 = le32_get(cmd->sqe->cdw10), nsid = le32_get(cmd->sqe->nsid);
	uint8_t fid = (uint8_t)cdw10;
	const struct feature *feature = find(cmd->ctrl, fid);

	if (feature == NULL)
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	else if (cdw10 & NVME_FEATURE_SAVE)
		admin_refuse(cmd, NVME_SC_NOT_SAVEABLE);
	else if (held_back(cmd, feature, true))
		return;
	else if (feature->set == NULL)
		admin_refuse(cmd, NVME_SC_NOT_CHANGEABLE);
	else if (feature->of == OF_CTRL && nsid != 0 && nsid != UINT32_MAX)
		admin_refuse(cmd, NVME_SC_NOT_NS_SPECIFIC);
	else if (feature->of != OF_CTRL && nsid != UINT32_MAX && ctrl_ns(cmd->ctrl, nsid) == NULL)
		admin_refuse(cmd, NVME_SC_INVALID_NS);
	else if (cmd->in_len < features_data_in(fid))
		admin_refuse(cmd, NVME_SC_SGL_LENGTH);
	else
		feature->set(cmd, cdw11(cmd));
}

/* What Get asks for that there is not: a sensor, the short host identifier, a namespace. */
static enum nvme_sc
get_wrong(const struct admin *cmd, uint8_t fid, const struct feature *feature)
{
	uint32_t value = cdw11(cmd), nsid = le32_get(cmd->sqe->nsid);

	if (feature->of != OF_CTRL && ctrl_ns(cmd->ctrl, nsid) == NULL &&
	    (nsid != UINT32_MAX || feature->changeable)) /* what each may have another value of */
		return NVME_SC_INVALID_NS;
	if (fid == NVME_FEATURE_TEMPERATURE && (NVME_TEMPERATURE_SENSOR(value) != 0 ||
	    NVME_TEMPERATURE_SIDE(value) > NVME_TEMPERATURE_UNDER))
		return NVME_SC_INVALID_FIELD;
	if (fid == NVME_FEATURE_HOST_ID && !(value & NVME_HOST_ID_EXTENDED))
		return NVME_SC_INVALID_FIELD;
	return NVME_SC_SUCCESS;
}

void
admin_get_features(struct admin *cmd)
{
	uint32_t cdw10 = le32_get(cmd->sqe->cdw10), select = NVME_FEATURE_SELECT(cdw10);
	uint8_t fid = (uint8_t)cdw10, *data = NULL;
	const struct feature *feature = find(cmd->ctrl, fid);
	enum nvme_sc wrong;

	if (feature == NULL || select > NVME_SELECT_CAPABILITIES) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	if (select == NVME_SELECT_CAPABILITIES) {
		cmd->reply->dw0 = (feature->of != OF_CTRL ? NVME_CAPABLE_PER_NS : 0) |
		    (feature->changeable ? NVME_CAPABLE_CHANGE : 0);
		return;
	}
	wrong = get_wrong(cmd, fid, feature);
	if (wrong != NVME_SC_SUCCESS) {
		admin_refuse(cmd, wrong);
		return;
	}
	if (held_back(cmd, feature, false))
		return;
	if (feature->data > 0) {
		data = admin_answer(cmd, feature->data);
		if (data == NULL)
			return;
	}
	cmd->reply->dw0 = feature->get(cmd, select != NVME_SELECT_CURRENT, data);
}
