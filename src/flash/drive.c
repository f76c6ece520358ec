#include "flash/drive_parts.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { STEP_BITS = 20 };

static struct drive_cmd *
head_of(const struct fifo *fifo)
{
	return fifo_empty(fifo) ? NULL : container_of(fifo->head, struct drive_cmd, node);
}

/* ---- made and ended ---- */

static void
lines_init(struct drive *d)
{
	struct fifo *const lines[] = {
		&d->outside, &d->reads, &d->writes, &d->starved, &d->placing, &d->flushes, &d->flushing, &d->journaling,
		&d->leaving, &d->ended, &d->journal_cmds,
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		fifo_init(lines[i]);
	d->inside = 0;
	d->front_ns = d->in_ns = d->out_ns = 0;
	d->place_ns = UINT64_MAX;
	d->free_pieces = NULL;
	for (uint32_t i = DRIVE_PIECES; i-- > 0; d->free_pieces = &d->pieces[i])
		d->pieces[i].next_free = d->free_pieces;
}

static uint32_t
slots_of(const struct drive *d)
{
	return d->profile.buffer_bytes / d->geometry.unit_bytes;
}

/* What a row can be, and what one read of the media finds beside it. */
static uint32_t
moves_of_die(const struct drive *d)
{
	return 2 * d->geometry.row_units;
}

static int
make_nand(struct drive *d)
{
	bool keeps = d->store != NULL && !d->profile.power_loss_protection;
	int error;

	d->dies = arena_alloc(d->arena, sizeof(*d->dies) * d->geometry.dies);
	d->moves = arena_alloc(d->arena, sizeof(*d->moves) * d->geometry.dies * moves_of_die(d));
	if (d->dies == NULL || d->moves == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->geometry.dies; i++) {
		struct drive_die *die = &d->dies[i];

		die->moves = d->moves + (size_t)i * moves_of_die(d);
		die->slots = BUFFER_NONE;
	}
	error = buffer_init(&d->buffer, d->arena, slots_of(d), d->geometry.dies, d->geometry.unit_bytes, keeps);
	if (error == 0)
		error = ftl_create(d->arena, &d->geometry, &d->profile, &d->ftl);
	if (error == 0)
		error = nand_create(d->arena, &d->geometry, &d->profile, &d->nand);
	if (error == 0)
		d->map = ftl_map(d->ftl);
	d->share = slots_of(d) / d->geometry.dies;
	return error;
}

static int
make_pmr(struct drive *d, const struct drive_options *options)
{
	const struct pmr_options region = { .memory = options->pmr, .bytes = d->profile.pmr_bytes,
		.link_mb_s = d->profile.link_mb_s, .seed = options->seed };

	return options->pmr != NULL && region.bytes > 0 ? pmr_create(d->arena, &region, &d->pmr) : 0;
}

static int
make_parts(struct drive *d, uint64_t seed)
{
	d->pieces = arena_alloc(d->arena, sizeof(*d->pieces) * DRIVE_PIECES);
	if (d->pieces == NULL)
		return -ENOMEM;
	lines_init(d);
	return d->profile.media == FLASH_IN_PLACE ? drive_inplace_create(d, seed) : make_nand(d);
}

int
drive_create(struct arena *arena, const struct drive_options *options, struct drive **drive)
{
	struct drive *d = arena_alloc(arena, sizeof(*d));
	int error;

	if (d == NULL)
		return -ENOMEM;
	*d = (struct drive){ .arena = arena, .profile = options->profile, .geometry = options->geometry,
		.store = options->store, .zero = options->zero, .owner = options->owner };
	assert(d->geometry.row_units <= FLASH_ROW_UNITS_MAX);
	error = make_parts(d, options->seed);
	if (error == 0)
		error = make_pmr(d, options);
	if (error != 0) {
		drive_destroy(d);
		return error;
	}
	d->front_step_ns = (uint32_t)(1000000000 / d->profile.front_end_iops);
	d->link_step = ((UINT64_C(1000) << STEP_BITS) + d->profile.link_mb_s - 1) / d->profile.link_mb_s;
	*drive = d;
	return 0;
}

void
drive_destroy(struct drive *d)
{
	if (d->nand != NULL)
		nand_destroy(d->nand);
	if (d->ftl != NULL)
		ftl_destroy(d->ftl);
	drive_inplace_destroy(d);
	pmr_destroy(d->pmr);
	buffer_fini(&d->buffer);
	arena_free(d->arena, d->moves);
	arena_free(d->arena, d->dies);
	arena_free(d->arena, d->pieces);
	arena_free(d->arena, d);
}

/* ---- the way in and out ---- */

static uint64_t
link_move(const struct drive *d, uint64_t *free_ns, uint64_t ns, uint64_t bytes)
{
	if (*free_ns < ns)
		*free_ns = ns;
	*free_ns += bytes * d->link_step >> STEP_BITS;
	return *free_ns;
}

uint64_t drive_link_in(struct drive *d, uint64_t ns, uint64_t bytes) { return link_move(d, &d->in_ns, ns, bytes); }
uint64_t drive_link_out(struct drive *d, uint64_t ns, uint64_t bytes) { return link_move(d, &d->out_ns, ns, bytes); }

static void
count(struct drive *d, const struct drive_cmd *cmd)
{
	struct drive_counts *c = &d->counts;

	switch ((enum drive_op)cmd->op) {
	case DRIVE_READ:
		c->read_commands++;
		c->read_bytes += cmd->bytes;
		break;
	case DRIVE_WRITE:
		c->write_commands++;
		c->write_bytes += cmd->bytes;
		break;
	case DRIVE_FLUSH:
		c->flush_commands++;
		break;
	case DRIVE_TRIM:
		c->trim_commands++;
		break;
	}
}

/* The front end begins with it, and the controller spends its time on it: in the order they came, reads apart. */
static void
enter(struct drive *d, struct drive_cmd *cmd, uint64_t now_ns)
{
	bool reads = cmd->op == DRIVE_READ;
	uint64_t begin = d->front_ns > now_ns ? d->front_ns : now_ns;

	d->inside++;
	d->front_ns = begin + d->front_step_ns;
	cmd->at_ns = begin + (reads ? d->profile.controller_read_ns : d->profile.controller_write_ns);
	if (!reads)
		cmd->at_ns = drive_link_in(d, cmd->at_ns, cmd->op == DRIVE_WRITE ? cmd->bytes : 0);
	fifo_push(reads ? &d->reads : &d->writes, &cmd->node);
}

void
drive_submit(struct drive *d, struct drive_cmd *cmd, uint64_t now_ns)
{
	assert(cmd->bytes % DRIVE_SECTOR == 0 && cmd->offset % DRIVE_SECTOR == 0);
	assert(cmd->offset + cmd->bytes <= d->geometry.units * d->geometry.unit_bytes);
	assert(cmd->op == DRIVE_FLUSH || cmd->bytes > 0);
	count(d, cmd);
	cmd->left = 0;
	cmd->next = drive_unit_of(d, cmd->offset);
	cmd->last = cmd->bytes > 0 ? drive_unit_of(d, cmd->offset + cmd->bytes - 1) : 0;
	if (d->inside < d->profile.commands_max)
		enter(d, cmd, now_ns);
	else
		fifo_push(&d->outside, &cmd->node);
}

void
drive_end(struct drive *d, struct drive_cmd *cmd)
{
	struct fifo_node *next;

	cmd->end_ns = d->now_ns;
	fifo_push(&d->ended, &cmd->node);
	d->inside--;
	next = fifo_pop(&d->outside);
	if (next != NULL)
		enter(d, container_of(next, struct drive_cmd, node), d->now_ns);
}

/* ---- what is next ---- */

enum source { LEAVING, READS, WRITES, PLACING, FLUSHES, NOTHING };

static void
earlier(uint64_t ns, enum source source, uint64_t *least, enum source *which)
{
	if (ns < *least) {
		*least = ns;
		*which = source;
	}
}

static void
earlier_line(const struct fifo *line, enum source source, uint64_t *least, enum source *which)
{
	if (!fifo_empty(line))
		earlier(head_of(line)->at_ns, source, least, which);
}

static uint64_t
media_next(const struct drive *d)
{
	return d->nand != NULL ? nand_next(d->nand) : drive_inplace_next(d);
}

/* What is due beside the media; of those at the same instant the first one here. */
static enum source
next_of(const struct drive *d, uint64_t *at_ns)
{
	enum source which = NOTHING;

	*at_ns = UINT64_MAX;
	earlier_line(&d->leaving, LEAVING, at_ns, &which);
	earlier_line(&d->reads, READS, at_ns, &which);
	earlier_line(&d->writes, WRITES, at_ns, &which);
	earlier(d->place_ns, PLACING, at_ns, &which);
	earlier_line(&d->flushes, FLUSHES, at_ns, &which);
	return which;
}

uint64_t
drive_next(const struct drive *d)
{
	uint64_t at_ns, media_ns;

	if (!fifo_empty(&d->ended))
		return 0;
	(void)next_of(d, &at_ns);
	media_ns = media_next(d);
	return at_ns < media_ns ? at_ns : media_ns;
}

/* ---- what happens ---- */

static void
job_done(struct drive *d, struct nand_job *nand)
{
	struct drive_job *job = container_of(nand, struct drive_job, nand);

	switch ((enum drive_job_kind)job->kind) {
	case DRIVE_PIECE:
		drive_piece_done(d, container_of(job, struct drive_piece, job));
		break;
	case DRIVE_COLLECT:
	case DRIVE_ROW:
	case DRIVE_ERASE:
		drive_die_done(d, job);
		break;
	case DRIVE_JOURNAL:
		drive_journal_done(d);
		break;
	}
}

static struct drive_cmd *
take(struct fifo *line)
{
	return container_of(fifo_pop(line), struct drive_cmd, node);
}

static void
command_begin(struct drive *d, struct drive_cmd *cmd)
{
	if (cmd->op == DRIVE_FLUSH) {
		cmd->sequence = d->buffer.sequence;
		drive_flush_begin(d, cmd);
	} else if (d->inplace != NULL) {
		drive_inplace_begin(d, cmd);
	} else if (cmd->op == DRIVE_READ) {
		drive_read(d, cmd);
	} else {
		fifo_push(&d->placing, &cmd->node);
		drive_place(d);
	}
}

static void
step(struct drive *d, enum source source)
{
	switch (source) {
	case LEAVING:
		drive_end(d, take(&d->leaving));
		break;
	case READS:
		command_begin(d, take(&d->reads));
		break;
	case WRITES:
		command_begin(d, take(&d->writes));
		break;
	case PLACING:
		d->place_ns = UINT64_MAX;
		drive_place(d);
		break;
	case FLUSHES:
		fifo_push(&d->flushing, &take(&d->flushes)->node);
		drive_flush_look(d);
		break;
	case NOTHING:
		break;
	}
}

/* The media go on until a job ends, or something else is due. */
static void
media_run(struct drive *d, uint64_t until_ns)
{
	struct nand_job *job;

	if (d->nand == NULL) {
		d->now_ns = drive_inplace_next(d);
		drive_inplace_done(d);
	} else if ((job = nand_run(d->nand, until_ns)) != NULL) {
		d->now_ns = job->end_ns;
		job_done(d, job);
	}
}

struct drive_cmd *
drive_run(struct drive *d, uint64_t now_ns)
{
	for (;;) {
		uint64_t at_ns, until_ns;
		enum source source;

		if (!fifo_empty(&d->ended))
			return take(&d->ended);
		source = next_of(d, &at_ns);
		until_ns = at_ns < now_ns ? at_ns : now_ns;
		if (media_next(d) <= until_ns) { /* dies go on before new commands come to them */
			media_run(d, until_ns);
		} else if (at_ns <= now_ns) {
			d->now_ns = at_ns;
			step(d, source);
		} else {
			return NULL;
		}
	}
}

/* ---- the power ---- */

/* What is in the buffer is on the media when there is power again, or never was; dies go on with what there is. */
static void
cut_nand(struct drive *d)
{
	nand_cut(d->nand);
	for (uint32_t i = 0; i < d->geometry.dies; i++)
		drive_die_cut(d, i);
	ftl_cut(d->ftl);
	if (d->profile.power_loss_protection)
		drive_merge_again(d);
	else
		buffer_empty(&d->buffer);
	d->journal_busy = d->dirty = false;
	d->force = 0;
	d->deal_left = 0;
	for (uint32_t i = 0; i < d->geometry.dies; i++)
		drive_die_kick(d, i);
}

void
drive_cut(struct drive *d, uint64_t now_ns)
{
	assert(now_ns >= d->now_ns);
	d->now_ns = now_ns;
	lines_init(d);
	d->counts.cuts++;
	if (d->inplace != NULL)
		drive_inplace_cut(d);
	else
		cut_nand(d);
	if (d->pmr != NULL)
		pmr_cut(d->pmr, now_ns);
}

/* ---- to look at ---- */

const struct drive_counts *drive_counts(const struct drive *d) { return &d->counts; }
const struct flash_geometry *drive_geometry(const struct drive *d) { return &d->geometry; }
const struct flash_profile *drive_profile(const struct drive *d) { return &d->profile; }
struct ftl *drive_ftl(struct drive *d) { return d->ftl; }
struct pmr *drive_pmr(struct drive *d) { return d->pmr; }

const char *
drive_check(const struct drive *d, bool idle)
{
	uint32_t pieces = 0;

	for (const struct drive_piece *p = d->free_pieces; p != NULL; p = p->next_free)
		pieces++;
	if (idle && pieces != DRIVE_PIECES)
		return "a read of the media is lost";
	if (idle && d->inside != 0)
		return "a command is inside";
	return d->ftl != NULL ? ftl_check(d->ftl) : NULL;
}
