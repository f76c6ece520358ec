/*
 * reserved_apply.c - an operator who takes namespaces away from a target and
 * brings them back, with what is kept of them: as it was, spoilt, or where it
 * cannot be read.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "reserved.h"
#include "resv/image.h"
#include "sim/disk.h"

enum {
	TAKEN_PORT = 4999, FILE_LEN = RESV_SLOTS * RESV_SLOT_LEN,
	STATE_HANDLES = 2, /* of a file that is kept: who holds it, and reactor 0 */
};

static const uint8_t uuids[RSVD_NS][16] = { { 0x11, 1, 2, 3 }, { 0x22, 1, 2, 3 } };
static const uint8_t another[16] = { 0x33, 1, 2, 3 };

void
rsvd_state_path(unsigned ns, char path[80])
{
	snprintf(path, 80, RSVD_STATE "/reservations/%02x010203-0000-0000-0000-000000000000", uuids[ns][0]);
}

/* ---- what the target is told to serve ---- */

int
rsvd_volume_open(struct reserved *r, struct reactor *reactor, unsigned ns, char why[256])
{
	char spec[64];
	int rc;

	snprintf(spec, sizeof(spec), "file:v%u.img,size=1M", ns);
	rc = probe_open(&r->ns[ns].probe, reactor, spec, why);
	r->ns[ns].open = rc == 0;
	return rc;
}

void
rsvd_config(struct reserved *r, unsigned mask, struct rsvd_config *c)
{
	memset(c, 0, sizeof(*c));
	c->listen[0] = (struct target_listen){ .host = "10.0.0.1", .port = RSVD_PORT };
	c->subsys = (struct target_subsys){ .nqn = RSVD_NQN, .listeners = 1, .ns = c->ns };
	c->config = (struct target_config){
		.listen = c->listen, .listen_count = 1, .subsys = &c->subsys, .subsys_count = 1,
		.state_dir = RSVD_STATE,
	};
	for (unsigned i = 0; i < RSVD_NS; i++) {
		struct target_ns *ns = &c->ns[c->subsys.ns_count];

		if (!(mask >> i & 1))
			continue;
		*ns = (struct target_ns){ .nsid = i + 1, .volume = &r->ns[i].probe.blk };
		memcpy(ns->uuid, uuids[i], sizeof(ns->uuid));
		c->subsys.ns_count++;
	}
}

/* Those that are served, or are about to be. */
static unsigned
present(const struct reserved *r)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < RSVD_NS; i++)
		if (r->ns[i].there & RSVD_IS)
			mask |= 1u << i;
	return mask;
}

static void
set_there(struct reserved *r, unsigned ns, unsigned there)
{
	r->ns[ns].there = there;
	rsvd_model_changed(r);
}

/* ---- what is kept, spoilt ---- */

static struct sim_file *
state_file(struct reserved *r, unsigned ns)
{
	char path[80];

	rsvd_state_path(ns, path);
	return sim_file_find(r->sim, path);
}

int
rsvd_file_refusal(void *arg, const char *path)
{
	static const int errors[] = { -EACCES, -EIO, -EMFILE };
	struct reserved *r = arg;
	char of[80];

	if (r->refuse_in == 0)
		return 0;
	rsvd_state_path(r->changing, of);
	if (strcmp(path, of) != 0 || --r->refuse_in > 0)
		return 0;
	return errors[r->version % 3];
}

static void
slot_put(struct sim_file *file, unsigned index, const uint8_t slot[RESV_SLOT_LEN])
{
	sim_disk_put(file, (uint64_t)index * RESV_SLOT_LEN, slot, RESV_SLOT_LEN, true);
}

static void
damage(struct reserved *r, struct sim_file *file, unsigned index)
{
	uint8_t slot[RESV_SLOT_LEN];

	sim_file_peek(file, (uint64_t)index * RESV_SLOT_LEN, slot, sizeof(slot), false);
	slot[rng_below(&r->rng, RESV_SLOT_LEN)] ^= (uint8_t)(1 + rng_below(&r->rng, 255));
	slot_put(file, index, slot);
}

/* A slot of a version to come. */
static void
make_foreign(struct reserved *r, struct sim_file *file)
{
	uint8_t slot[RESV_SLOT_LEN] = "WEIRRESV";

	slot[8] = 2;
	put_le32(slot + RESV_SLOT_LEN - 4, crc32c(0, slot, RESV_SLOT_LEN - 4));
	slot_put(file, (unsigned)rng_below(&r->rng, RESV_SLOTS), slot);
}

/* The older of two slots may be spoilt: it is not what is found. */
static void
damage_older(struct reserved *r, struct sim_file *file)
{
	uint8_t both[FILE_LEN];
	uint64_t n[RESV_SLOTS];

	sim_file_peek(file, 0, both, sizeof(both), false);
	for (unsigned i = 0; i < RESV_SLOTS; i++) {
		const uint8_t *slot = both + i * RESV_SLOT_LEN;

		n[i] = get_le64(slot + 32);
		if (get_le32(slot + RESV_SLOT_LEN - 4) != crc32c(0, slot, RESV_SLOT_LEN - 4))
			return; /* a write was cut: the other one is what is found */
	}
	if (n[0] > 2 && n[1] > 2 && (n[0] + 1 == n[1] || n[1] + 1 == n[0]))
		damage(r, file, n[0] > n[1]);
}

void
rsvd_unspoil(struct reserved *r)
{
	struct sim_file *file = r->spoilt ? state_file(r, r->changing) : NULL;

	for (unsigned i = 0; i < RESV_SLOTS && file != NULL; i++)
		slot_put(file, i, r->kept + i * RESV_SLOT_LEN);
	r->spoilt = false;
	r->refuse_in = 0;
}

/* ---- a change ---- */

static bool
is_as_expected(int rc, int expected)
{
	if (expected == -EACCES)
		return rc == -EACCES || rc == -EIO || rc == -EMFILE;
	return rc == expected || (expected == -ENOMEM && rc == 0);
}

static void
applied(struct target_applied *told, int rc, const char *why)
{
	struct reserved *r = container_of(told, struct reserved, applied);
	struct rsvd_ns *ns = &r->ns[r->changing];

	if ((rc != 0) != r->must_fail || (r->expected != 0 && !is_as_expected(rc, r->expected)))
		rsvd_wrong(r, "applied: %d, %s; not %d", rc, why, r->expected);
	if (rc != 0)
		rsvd_unspoil(r);
	r->spoilt = false;
	r->refuse_in = 0;
	if (state_file(r, r->changing) != NULL &&
	    sim_process_files(r->target_process, state_file(r, r->changing)) > STATE_HANDLES)
		rsvd_wrong(r, "what is kept of a volume that was unused is open still");
	ns->probe.refuse = PROBE_NOWHERE;
	if (ns->leaving) {
		set_there(r, r->changing, RSVD_IS_NOT);
		return;
	}
	r->applying = false;
	set_there(r, r->changing, rc == 0 ? RSVD_IS : RSVD_IS_NOT);
	if (rc != 0)
		ns->leaving = r->applying = true;
	else
		r->counts.added++;
}

static void
unused(struct target_applied *told, struct blk *blk)
{
	struct reserved *r = container_of(told, struct reserved, applied);
	struct rsvd_ns *ns = &r->ns[r->changing];

	if (&ns->probe.blk != blk || !ns->leaving || ns->there != RSVD_IS_NOT)
		rsvd_wrong(r, "a volume is unused that was not given up");
	if (ns->probe.channels != 0 || ns->probe.busy != 0)
		rsvd_wrong(r, "a volume is unused with something in flight");
	r->applying = ns->leaving = false;
	ns->probe.poisoned = true;
	if (rng_below(&r->rng, 2) == 0) {
		probe_close(&ns->probe);
		ns->open = false;
	}
	/* What was not to be kept is gone with it; of one that was not added there was nothing else. */
	if (!r->must_fail) {
		r->counts.removed++;
		model_retire(&r->models[r->changing]);
		rsvd_model_changed(r);
	}
}

static int
begin(struct reserved *r, struct rsvd_config *c, char why[256])
{
	int rc;

	r->applied = (struct target_applied){ .applied = applied, .unused = unused };
	rc = target_apply(r->target, &c->config, &r->applied, why);
	r->applying = rc == 0;
	return rc;
}

static void
take_away(struct reserved *r, unsigned ns)
{
	struct rsvd_config c;
	char why[256];
	int rc;

	r->changing = ns;
	r->must_fail = false;
	r->expected = 0;
	r->ns[ns].leaving = true;
	rsvd_config(r, present(r) & ~(1u << ns), &c);
	set_there(r, ns, RSVD_IS | RSVD_IS_NOT);
	rc = begin(r, &c, why);
	if (rc != 0)
		rsvd_wrong(r, "namespace %u cannot be taken away: %d, %s", ns, rc, why);
}

/* What reading it will say, or what comes after that. */
static int
comes_late(struct reserved *r, int expected)
{
	r->must_fail = expected != 0;
	r->expected = expected;
	return 0;
}

/* What is wrong with the next change; answers what is to be said of it at once. */
static int
make_trouble(struct reserved *r, unsigned ns, enum rsvd_trouble trouble, struct rsvd_config *c)
{
	struct sim_file *file = state_file(r, ns);
	struct target_ns *last = &c->ns[c->subsys.ns_count - 1];

	r->must_fail = false;
	r->expected = 0;
	r->spoilt = file != NULL && (trouble == RSVD_DAMAGED || trouble == RSVD_FOREIGN);
	switch (trouble) {
	case RSVD_NO_OPEN:
	case RSVD_NO_FETCH:
		/* Of a file that is not there nothing is fetched: the next open would be that of a host's command. */
		r->refuse_in = trouble == RSVD_NO_OPEN ? 1 : file != NULL ? 2 : 0;
		return comes_late(r, file != NULL || trouble == RSVD_NO_OPEN ? -EACCES : 0);
	case RSVD_DAMAGED:
		for (unsigned i = 0; i < RESV_SLOTS && file != NULL; i++)
			damage(r, file, i);
		return comes_late(r, file != NULL ? -EUCLEAN : 0);
	case RSVD_FOREIGN:
		if (file != NULL)
			make_foreign(r, file);
		return comes_late(r, file != NULL ? -EINVAL : 0);
	case RSVD_TAKEN_PORT:
		c->listen[c->config.listen_count++] = (struct target_listen){ .host = "10.0.0.1", .port = TAKEN_PORT };
		return comes_late(r, -EADDRINUSE);
	case RSVD_NO_CHANNEL:
		r->ns[ns].probe.refuse = (unsigned)rng_below(&r->rng, r->reactors);
		r->must_fail = true;
		return 0;
	case RSVD_NO_MEMORY:
		r->reactor0->arena->fail_at = 1 + rng_below(&r->rng, 8);
		return -ENOMEM;
	case RSVD_SAME_UUID: /* two of one, or that of one that is served */
		if (c->subsys.ns_count < 2)
			return 0;
		memcpy(c->ns[1].uuid, c->ns[0].uuid, sizeof(c->ns[1].uuid));
		return -EINVAL;
	case RSVD_OTHER_UUID: /* of one that is served already */
		if (c->subsys.ns_count < 2)
			return 0;
		memcpy((last->nsid == ns + 1 ? &c->ns[0] : last)->uuid, another, sizeof(another));
		return -EINVAL;
	case RSVD_NO_TROUBLE:
	case RSVD_TROUBLES:
		break;
	}
	return 0;
}

/* What a change that is refused must leave as it was. */
static uint64_t
held(const struct reserved *r)
{
	uint64_t sum = (uint64_t)sim_process_files(r->target_process, NULL) << 48;

	for (unsigned i = 0; i < r->reactors; i++)
		sum += sim_process_reactor(r->target_process, i)->arena->bytes;
	return sum;
}

static void
bring_back(struct reserved *r, unsigned ns)
{
	enum rsvd_trouble trouble = rng_below(&r->rng, 2) == 0 ? RSVD_NO_TROUBLE :
	    (enum rsvd_trouble)rng_below(&r->rng, RSVD_TROUBLES);
	struct sim_file *file = state_file(r, ns);
	struct rsvd_config c;
	uint64_t before;
	char why[256] = "";
	int rc = r->ns[ns].open ? 0 : rsvd_volume_open(r, r->reactor0, ns, why), expected;

	if (rc != 0) {
		rsvd_wrong(r, "volume %u cannot be opened: %s", ns, why);
		return;
	}
	if (file != NULL && rng_below(&r->rng, 4) == 0)
		damage_older(r, file);
	if (file != NULL)
		sim_file_peek(file, 0, r->kept, sizeof(r->kept), false);
	r->changing = ns;
	r->ns[ns].probe.poisoned = false;
	rsvd_config(r, present(r) | 1u << ns, &c);
	expected = make_trouble(r, ns, trouble, &c);
	before = held(r);
	rc = begin(r, &c, why);
	r->reactor0->arena->fail_at = 0;
	if (!is_as_expected(rc, expected))
		rsvd_wrong(r, "target_apply: %d, %s; not %d", rc, why, expected);
	if (rc != 0 && strlen(why) == 0)
		rsvd_wrong(r, "target_apply: %d, and it does not say why", rc);
	if (rc != 0 && held(r) != before)
		rsvd_wrong(r, "target_apply: %d, and something of it is left", rc);
	r->counts.troubles[trouble] += rc != 0 || r->must_fail;
	if (rc != 0) {
		rsvd_unspoil(r);
		r->ns[ns].probe.poisoned = true;
		return;
	}
	r->counts.back += file != NULL && !r->must_fail;
	set_there(r, ns, r->must_fail ? RSVD_IS_NOT : RSVD_IS | RSVD_IS_NOT);
}

/* One that is still being given up cannot come back. */
static void
come_back_too_early(struct reserved *r)
{
	struct rsvd_config c;
	char why[256];
	struct target_applied none = { 0 };

	rsvd_config(r, (1u << RSVD_NS) - 1, &c);
	if (target_apply(r->target, &c.config, &none, why) != -EBUSY)
		rsvd_wrong(r, "another config is taken while one is under way");
	r->counts.busy++;
}

static void
operate(struct timer *timer)
{
	struct reserved *r = container_of(timer, struct reserved, operator);
	unsigned ns = (unsigned)rng_below(&r->rng, RSVD_NS);

	timer_set(&r->reactor0->timers, timer, r->reactor0->now_ns + 20 * RSVD_US + rng_below(&r->rng, 600 * RSVD_US));
	if (r->applying) {
		if (r->ns[r->changing].open && !r->ns[r->changing].probe.poisoned)
			come_back_too_early(r);
		return;
	}
	if (r->quiet && present(r) == (1u << RSVD_NS) - 1)
		return;
	while (r->quiet && r->ns[ns].there & RSVD_IS)
		ns = (ns + 1) % RSVD_NS;
	if (r->ns[ns].there & RSVD_IS)
		take_away(r, ns);
	else
		bring_back(r, ns);
}

static void
taken_accepted(struct listener *listener, struct stream *stream)
{
	(void)listener;
	stream->ops->close(stream, true);
}

void
rsvd_operate_begin(struct reserved *r, struct reactor *reactor)
{
	int rc;

	if (!r->applies)
		return;
	r->reactor0 = reactor;
	r->taken = (struct listener){ .accepted = taken_accepted, .host = "10.0.0.1", .port = TAKEN_PORT };
	rc = reactor->world->listen(reactor, &r->taken);
	assert(rc == 0);
	r->operator = (struct timer){ .fire = operate };
	timer_set(&reactor->timers, &r->operator, reactor->now_ns + 200 * RSVD_US);
}
