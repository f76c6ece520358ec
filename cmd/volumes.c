#include "volumes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply_files.h"
#include "blk/devices.h"
#include "refuse.h"
#include "serve.h"
#include "sharing.h"
#include "sys/line.h"

/* ---- one ---- */

static struct volume **
table_at(const struct serving *serving, const char *nqn, uint32_t nsid)
{
	uint32_t hash = 2166136261;

	for (; *nqn != '\0'; nqn++)
		hash = (hash ^ (uint8_t)*nqn) * 16777619;
	return (struct volume **)&serving->volume_table[(hash + nsid) % SERVING_VOLUMES];
}

struct volume *
volume_find(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns)
{
	struct volume *volume = *table_at(serving, subsys->nqn, ns->nsid);

	for (; volume != NULL; volume = volume->same)
		if (!volume->retired && !volume->made && volume->nsid == ns->nsid &&
		    volume->block_size == ns->block_size &&
		    strcmp(volume->nqn, subsys->nqn) == 0 && strcmp(volume->volume, ns->volume) == 0)
			return volume;
	return NULL;
}

static struct volume *
volume_find_made(const struct serving *serving, const struct made_ns *ns)
{
	struct volume *volume = *table_at(serving, ns->nqn, ns->nsid);

	for (; volume != NULL; volume = volume->same)
		if (!volume->retired && volume->made && memcmp(volume->id, ns->uuid, sizeof(volume->id)) == 0)
			return volume;
	return NULL;
}

/* Of a namespace that its host deleted nothing stays: neither reservations nor blocks. */
struct leavings {
	struct errand errand;
	struct pool_job job;
	struct serving *serving;
	uint8_t id[16];
	char state_dir[CONF_STATE_DIR_MAX + 1], path[CONF_SPEC], folder[CONF_SPEC];
};

/* After whatever was to make them. */
static void
remove_reservations(struct errand *errand)
{
	struct leavings *leavings = container_of(errand, struct leavings, errand);

	hosted_remove_reservations(leavings->state_dir, leavings->id);
}

/* The pool may hang, and others have errands too. */
static void
reservations_removed(struct errand *errand)
{
	struct leavings *leavings = container_of(errand, struct leavings, errand);

	pool_jobs_give(&leavings->serving->hosted.leavings, &leavings->job);
}

static void
remove_blocks(struct pool_job *job)
{
	hosted_remove_volume(container_of(job, struct leavings, job)->path);
}

static void
blocks_removed(struct pool_job *job)
{
	struct leavings *leavings = container_of(job, struct leavings, job);

	leavings->serving->leavings--;
	arena_free(leavings->serving->arena, leavings);
}

/* NULL: there are none; or there is no memory, and they go with the next start. */
static struct leavings *
leavings_of(struct serving *serving, const struct volume *volume)
{
	const char *state_dir = serving->now->conf->state_dir;
	struct leavings *leavings = NULL;
	const char *name;

	if (volume->doomed && volume->blk->path != NULL && state_dir != NULL)
		leavings = arena_alloc(serving->arena, sizeof(*leavings));
	if (leavings == NULL)
		return NULL;
	name = strrchr(volume->blk->path, '/');
	leavings->errand = (struct errand){ .run = remove_reservations, .done = reservations_removed };
	leavings->job = (struct pool_job){ .folder = leavings->folder, .run = remove_blocks, .done = blocks_removed };
	leavings->serving = serving;
	serving->leavings++;
	snprintf(leavings->folder, sizeof(leavings->folder), "%.*s", name != NULL ? (int)(name - volume->blk->path) : 0,
	    volume->blk->path);
	memcpy(leavings->id, volume->id, sizeof(leavings->id));
	snprintf(leavings->state_dir, sizeof(leavings->state_dir), "%s", state_dir);
	snprintf(leavings->path, sizeof(leavings->path), "%s", volume->blk->path);
	return leavings;
}

/* It is nobody's any more; what was its device is closed, or its opening's. */
static void
volume_remove(struct volume *volume)
{
	struct serving *serving = volume->serving;
	struct volume **at = table_at(serving, volume->nqn, volume->nsid);

	while (*at != volume)
		at = &(*at)->same;
	*at = volume->same;
	volume_forget_file(serving, volume);
	list_remove(&volume->node);
	arena_free(serving->arena, volume);
}

static void
run_close(struct errand *errand)
{
	struct volume *volume = container_of(errand, struct volume, errand);

	opening_close(&(struct opening){ .annex = volume->annex, .blk = volume->blk });
}

static void
closed(struct errand *errand)
{
	struct volume *volume = container_of(errand, struct volume, errand);
	struct leavings *leavings = volume->leavings;
	struct reactor *reactor = volume->serving->reactor;

	volume_remove(volume);
	if (leavings != NULL)
		reactor->world->errand(reactor, &leavings->errand);
}

/* Its file is nobody else's before that is done. */
static void
volume_close(struct volume *volume)
{
	struct reactor *reactor = volume->serving->reactor;

	volume->retired = volume->closing = true;
	volume->leavings = leavings_of(volume->serving, volume);
	volume->errand = (struct errand){
		.run = run_close, .done = closed, .apart = true, .disk = volume->file.id[0],
	};
	reactor->world->errand(reactor, &volume->errand);
}

/* What opened it takes that back. */
static void
volume_withdraw(struct volume *volume)
{
	if (volume->opening == NULL) {
		volume_close(volume);
		return;
	}
	volume->opening->annex = volume->annex;
	volume->opening->blk = volume->blk;
	volume_remove(volume);
}

/* The one that was opened for it beside the reactor, or NULL. */
static struct opening *
opening_find(struct serving *serving, const char *nqn, uint32_t nsid)
{
	if (hosted_works(&serving->hosted)) /* a configuration's may be a thread's yet */
		return hosted_opening(&serving->hosted, nqn, nsid);
	return apply_files_opening(&serving->files, nqn, nsid);
}

/* Before anything is done to the file. */
static int
open_now(struct serving *serving, struct opening *opening, char why[256])
{
	struct volume_names names;
	char path[BLK_SPEC];
	int rc = 0;

	if (blk_spec_path(opening->spec, path)) {
		opening_look(serving->reactor, path, &names);
		rc = volume_alone(serving, opening->nqn, opening->nsid, path, &names, why);
	}
	if (rc == 0)
		opening_run(opening);
	return rc;
}

/* Asked again, of a name that a file has only now. */
static int
take(struct volume *volume, struct opening *opening, char why[256])
{
	struct serving *serving = volume->serving;
	int rc = 0;

	if (opening->rc != 0)
		return refuse(why, opening->rc, "%s", opening->why);
	if (opening->blk->path != NULL)
		rc = volume_alone(serving, opening->nqn, opening->nsid, opening->blk->path, &opening->names, why);
	if (rc != 0)
		return rc;
	volume->blk = opening->blk;
	volume->annex = opening->annex;
	memcpy(volume->id, opening->id, sizeof(volume->id));
	opening->annex = NULL;
	opening->blk = NULL;
	if (volume->blk->path != NULL)
		volume_note_file(serving, volume, &opening->names);
	return 0;
}

/* What was not opened beside the reactor is now: at the start, and what hosts have made in memory. */
static int
volume_open(struct serving *serving, const char *nqn, uint32_t nsid, const char *spec, uint32_t block_size,
    enum conf_qos_mode mode, struct volume **out, char why[256])
{
	struct volume *volume = arena_alloc(serving->arena, sizeof(*volume)), **at;
	struct opening now, *opening = opening_find(serving, nqn, nsid);
	int rc = 0;

	if (volume == NULL)
		return refuse(why, -ENOMEM, "out of memory");
	volume->serving = serving;
	volume->opening = opening;
	if (opening == NULL) {
		opening = &now;
		opening_init(opening, serving->reactor, nqn, nsid, spec, block_size, mode);
		rc = open_now(serving, opening, why);
	}
	if (rc == 0)
		rc = take(volume, opening, why);
	if (rc != 0) {
		if (opening == &now)
			(void)!opening_undo(opening); /* what went wrong before is what is told */
		arena_free(serving->arena, volume);
		return rc;
	}
	snprintf(volume->nqn, sizeof(volume->nqn), "%s", nqn);
	volume->nsid = nsid;
	volume->block_size = block_size;
	volume->changed = true;
	at = table_at(serving, volume->nqn, nsid); /* a name too long is cut there, and refused by the target */
	volume->same = *at;
	*at = volume;
	list_push(&serving->volumes, &volume->node);
	*out = volume;
	return 0;
}

static int
volume_open_configured(struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns,
    const char *given, struct volume **out, char why[256])
{
	const char *how = given;
	char spec[CONF_SPEC], path[BLK_SPEC], reason[256];
	int rc = 0;

	conf_volume_spec(ns, spec);
	if (given == NULL)
		how = spec;
	if (serving->starting && blk_spec_path(how, path)) /* later who opens it beside the reactor has looked */
		rc = opening_place(path, serving->now->conf->state_dir, reason);
	if (rc == 0)
		rc = volume_open(serving, subsys->nqn, ns->nsid, how, ns->block_size, ns->mode, out, reason);
	if (rc != 0 && given != NULL && strncmp(reason, given, strnlen(given, BLK_WHY_SPEC)) == 0)
		return refuse(why, rc, "--ns %.250s", reason);
	if (rc != 0 && given != NULL)
		return refuse(why, rc, "--ns %.100s: %.140s", given, reason);
	if (rc != 0)
		return refuse(why, rc, "namespace %u: %.230s", ns->nsid, reason);
	assert(*out != NULL);
	snprintf((*out)->volume, sizeof((*out)->volume), "%s", ns->volume);
	return 0;
}

/* Open, and at least as large as it is to be; or NULL, and why. */
struct volume *
volume_ready(struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns, const char *given,
    int *rc, char why[256])
{
	struct volume *volume = volume_find(serving, subsys, ns);
	uint64_t blocks = ns->size / ns->block_size;

	*rc = 0;
	if (volume == NULL)
		*rc = volume_open_configured(serving, subsys, ns, given, &volume, why);
	else if ((*rc = sharing_fits(subsys, ns, volume->blk, why)) == 0 && volume->blk->blocks < blocks) {
		*rc = volume->blk->ops->grow == NULL ? -EOPNOTSUPP :
		    volume->blk->ops->grow(volume->blk, volume->annex, blocks);
		if (*rc == -ESTALE)
			refuse(why, *rc, "namespace %u: %.200s is no longer the file that is served", ns->nsid,
			    volume->blk->path);
		else if (*rc != 0)
			refuse(why, *rc,
			    "namespace %u of %.120s: a volume of this kind cannot grow so far while it is used: %s",
			    ns->nsid, subsys->nqn, strerrordesc_np(-*rc));
		else
			volume->changed = true;
	}
	if (*rc != 0)
		return NULL;
	assert(volume != NULL);
	volume->wanted = true;
	return volume;
}

/* A stand-in whose I/O fails: a host may delete it, and what lies in its file stays until then. */
static int
open_lost(struct serving *serving, const struct made_ns *ns, struct volume **volume, const char *reason)
{
	char spec[CONF_SPEC], why[256];
	int rc;

	snprintf(spec, sizeof(spec), "fault:dead=1@null:%" PRIu64, hosted_volume_bytes(ns));
	rc = volume_open(serving, ns->nqn, ns->nsid, spec, ns->block_size, CONF_QOS_OFF, volume, why);
	if (rc == 0)
		fprintf(stderr, "weir: namespace %u of %s, which a host has made, is lost, and its I/O fails: %s\n",
		    ns->nsid, ns->nqn, reason);
	return rc;
}

/* Its file is gone, or spoilt; not: somebody else uses it, or there is no memory. */
static bool
is_lost(const struct serving *serving, const struct made_ns *ns, int rc)
{
	return serving->starting && !ns->fresh && rc != -EBUSY && rc != -EAGAIN && rc != -ENOMEM && rc != -EMFILE &&
	    rc != -ENFILE;
}

static int
open_made(struct serving *serving, const struct conf_subsys *subsys, const struct made *made, const struct made_ns *ns,
    struct volume **volume, char reason[256])
{
	enum conf_qos_mode mode = serving->now->conf->qos.mode;
	char spec[CONF_SPEC];
	int rc;

	hosted_spec(made, ns, subsys->pool, spec);
	rc = volume_open(serving, subsys->nqn, ns->nsid, spec, ns->block_size, mode, volume, reason);
	if (rc == 0 && (*volume)->blk->blocks < ns->blocks) {
		volume_withdraw(*volume);
		rc = refuse(reason, -EINVAL, "%.200s: smaller than it was", spec);
	}
	return rc != 0 && is_lost(serving, ns, rc) ? open_lost(serving, ns, volume, reason) : rc;
}

/* The same of one that a host has made, or is about to. */
struct volume *
volume_ready_made(struct serving *serving, const struct conf_subsys *subsys, const struct made *made,
    const struct made_ns *ns, int *rc, char why[256])
{
	struct volume *volume = volume_find_made(serving, ns);
	char reason[256];

	*rc = 0;
	if (volume == NULL)
		*rc = open_made(serving, subsys, made, ns, &volume, reason);
	if (*rc != 0) {
		refuse(why, *rc, "namespace %u, which a host has made: %.200s", ns->nsid, reason);
		return NULL;
	}
	assert(volume != NULL);
	memcpy(volume->id, ns->uuid, sizeof(volume->id));
	volume->made = volume->wanted = true;
	return volume;
}

/* Nobody uses it any more, or never did.  What a host made waits until it is known whether its file is to go. */
void
volumes_unused(struct target_applied *applied, struct blk *blk)
{
	struct serving *serving = container_of(applied, struct serving, applied);

	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		if (volume->closing || volume->blk != blk)
			continue;
		volume->unused = true;
		if (volume->doomed || !volume->made || !hosted_works(&serving->hosted))
			volume_close(volume);
		break;
	}
}

void
volumes_withdraw(struct serving *serving, const struct list *since)
{
	struct list *next;

	for (struct list *node = since->next; node != &serving->volumes; node = next) {
		next = node->next;
		volume_withdraw(container_of(node, struct volume, node));
	}
}

/* ---- all ---- */

void
volumes_unwanted(struct serving *serving)
{
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		assert(!volume->changed);
		volume->wanted = false;
	}
}

void
volumes_undo(struct serving *serving)
{
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);
		bool ours = volume->changed && volume->opening == NULL;
		int rc = ours ? blk_undo(volume->blk, volume->annex) : 0;

		volume->changed = false;
		if (rc != 0)
			line_say("weir: %s stays as the change that failed has made it: %s\n", volume->blk->path,
			    strerrordesc_np(-rc));
	}
}

/* What of them is of no use any more: volumes of a failed change were of none. */
void
volumes_settle(struct serving *serving, bool done)
{
	if (!done)
		volumes_undo(serving);
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		if (!done && volume->opening != NULL) {
			volume_withdraw(volume);
			continue;
		}
		volume->opening = NULL;
		volume->changed = false;
		volume->held = done ? volume->wanted : volume->held;
		volume->retired = volume->retired || !volume->held;
	}
}

void
volumes_kept(struct serving *serving, bool kept)
{
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		volume->doomed = volume->doomed || (kept && volume->made && volume->retired);
		if (volume->unused && !volume->closing)
			volume_close(volume);
	}
}

bool
volumes_wait(const struct serving *serving)
{
	list_for_each(&serving->volumes, node) {
		const struct volume *volume = container_of(node, struct volume, node);

		if (volume->closing || volume->doomed)
			return true;
	}
	return serving->leavings > 0;
}

void
volumes_end(struct serving *serving)
{
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		if (volume->closing)
			volume_remove(volume); /* that was run, and nobody was told */
		else
			volume_close(volume);
	}
}
