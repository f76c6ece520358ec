/*
 * nand.c - dies take jobs, channels take transfers, and each is due at most once.
 *
 * A die has two queues, one of urgent reads, and one of the rest, whose first stays in it until it has ended: it may
 * be on the die, or suspended there while urgent reads are served, or wait for power.  Power is what such a job
 * holds from its beginning until its end, suspended or not; who waits for it has nothing on the die yet, which serves
 * urgent reads.
 *
 * A transfer that has begun goes on to its end.  Of those that wait, the urgent come first and in order, so that their
 * times are known when they are asked for: free_ns is when the last of them ends.  What is not urgent waits until then.
 */
#include "flash/nand.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>

#include "flash/due.h"

enum die_state {
	DIE_IDLE,       /* nothing is on it that goes on; a suspended job never stays */
	DIE_SENSING,    /* a read */
	DIE_WAITING,    /* for the channel, and not urgently: a read, or a program for its next page */
	DIE_MOVING,     /* a read's data, or a page of a program's */
	DIE_CELLS,      /* programs or erases */
	DIE_SUSPENDING,
	DIE_RESUMING,
};

/* How far the first of the rest has come. */
enum first_state {
	FIRST_WAITS,    /* in the queue alone */
	FIRST_UNPOWERED, /* in line for power */
	FIRST_POWERED,  /* power was kept for it until the die is free */
	FIRST_BEGUN,    /* on the die, or suspended */
};

struct die {
	struct fifo urgent;    /* reads */
	struct fifo rest;
	struct fifo_node node; /* of a channel, or of those that wait for power */
	struct nand_job *job;  /* on it now; not where it was suspended and a read is served */
	uint32_t left;         /* of the first of the rest: bytes to be moved, then ns of the cells */
	uint32_t load;         /* jobs of the rest */
	uint16_t number, channel;
	uint8_t state;         /* enum die_state */
	uint8_t first;         /* enum first_state */
	uint8_t suspends;      /* of the first of the rest */
	uint8_t ahead;         /* urgent reads that went before it: since it might have begun, or was suspended last */
} __attribute__((aligned(64)));
static_assert(sizeof(struct die) == 64, "what is known of a die is a cache line");

struct channel {
	uint64_t free_ns;    /* when all is over that has begun or is urgent */
	struct fifo waiting; /* dies */
};

/* What moving takes one way.  Most transfers are as large as the one before. */
struct rate {
	uint32_t thousandths; /* moved per byte: 1000, and what error correction adds */
	uint32_t mb_s;
	uint32_t bytes, ns;   /* the last */
};

struct nand {
	struct due due;      /* dies, then channels */
	struct die *dies;
	struct channel *channels;
	struct rate in, out; /* to dies, and from them */
	struct fifo unpowered; /* dies */
	uint32_t power;        /* so many more may have it */
	uint32_t page_bytes, suspend_ns, resume_ns, suspends_max;
	bool suspends[NAND_ERASE + 1]; /* by op */

	struct arena *arena;
	uint32_t die_count, channel_count, power_max;
};

/* Urgent reads that come while cells are at work, and those found waiting when they set to work. */
static void reads_first(struct nand *nand, struct die *die, uint64_t now_ns);
static void die_next(struct nand *nand, struct die *die, uint64_t now_ns);

static struct nand_job *
first_of(const struct fifo *queue)
{
	return container_of(queue->head, struct nand_job, node);
}

static void
die_enter(struct nand *nand, struct die *die, enum die_state state, uint64_t until_ns)
{
	die->state = (uint8_t)state;
	due_set(&nand->due, die->number, until_ns);
}

/* ---- channels ---- */

/* Rounded up.  Moved are thousandths / 1000 of the bytes, at mb_s / 1000 bytes a nanosecond. */
static uint32_t
rate_ns(struct rate *rate, uint32_t bytes)
{
	if (rate->bytes != bytes) {
		rate->bytes = bytes;
		rate->ns = (uint32_t)(((uint64_t)bytes * rate->thousandths + rate->mb_s - 1) / rate->mb_s);
	}
	return rate->ns;
}

/* A program moves a page at a time, and lets others go between. */
static uint32_t
piece_bytes(const struct nand *nand, const struct die *die)
{
	return die->left < nand->page_bytes ? die->left : nand->page_bytes;
}

static void
move(struct nand *nand, struct channel *channel, struct die *die, uint64_t now_ns)
{
	uint64_t begin_ns = channel->free_ns > now_ns ? channel->free_ns : now_ns;

	channel->free_ns = begin_ns + (die->job->op == NAND_READ ? rate_ns(&nand->out, die->job->bytes) :
	    rate_ns(&nand->in, piece_bytes(nand, die)));
	die_enter(nand, die, DIE_MOVING, channel->free_ns);
}

static void
wait_to_move(struct nand *nand, struct die *die, uint64_t now_ns)
{
	struct channel *channel = &nand->channels[die->channel];

	if (fifo_empty(&channel->waiting))
		due_set(&nand->due, nand->die_count + die->channel,
		    channel->free_ns > now_ns ? channel->free_ns : now_ns);
	fifo_push(&channel->waiting, &die->node);
	die_enter(nand, die, DIE_WAITING, DUE_NEVER);
}

/* It was to be free, and somebody waits. */
static void
channel_run(struct nand *nand, uint32_t number, uint64_t now_ns)
{
	struct channel *channel = &nand->channels[number];

	if (channel->free_ns <= now_ns)
		move(nand, channel, container_of(fifo_pop(&channel->waiting), struct die, node), now_ns);
	due_set(&nand->due, nand->die_count + number, fifo_empty(&channel->waiting) ? DUE_NEVER : channel->free_ns);
}

/* ---- power ---- */

static bool
power_take(struct nand *nand, struct die *die)
{
	if (nand->power == 0) {
		fifo_push(&nand->unpowered, &die->node);
		return false;
	}
	nand->power--;
	return true;
}

static void
power_give(struct nand *nand, uint64_t now_ns)
{
	struct fifo_node *node = fifo_pop(&nand->unpowered);
	struct die *die;

	if (node == NULL) {
		nand->power++;
		return;
	}
	die = container_of(node, struct die, node);
	die->first = FIRST_POWERED;
	die->ahead = NAND_READS_AHEAD; /* they went before it while there was none, and power is not to lie idle */
	if (die->state == DIE_IDLE)
		die_next(nand, die, now_ns);
}

/* ---- dies ---- */

static void
read_begin(struct nand *nand, struct die *die, struct nand_job *job, uint64_t now_ns)
{
	die->job = job;
	die_enter(nand, die, DIE_SENSING, now_ns + job->cells_ns);
}

/* For as long as is left of the first of the rest, if nobody wants to read. */
static void
cells_begin(struct nand *nand, struct die *die, uint64_t now_ns)
{
	die_enter(nand, die, DIE_CELLS, now_ns + die->left);
	reads_first(nand, die, now_ns);
}

static void
reads_first(struct nand *nand, struct die *die, uint64_t now_ns)
{
	uint64_t left_ns = nand->due.at_ns[die->number] - now_ns;

	if (fifo_empty(&die->urgent) || !nand->suspends[die->job->op] || die->suspends == nand->suspends_max ||
	    left_ns <= nand->suspend_ns) /* it is over as soon */
		return;
	die->left = (uint32_t)left_ns;
	die->suspends++;
	die->ahead = 0;
	die_enter(nand, die, DIE_SUSPENDING, now_ns + nand->suspend_ns);
}

/* The first of the rest goes on the die, or waits for power and leaves it idle. */
static void
rest_begin(struct nand *nand, struct die *die, uint64_t now_ns)
{
	struct nand_job *job = first_of(&die->rest);

	if (die->first == FIRST_WAITS && !power_take(nand, die)) {
		die->first = FIRST_UNPOWERED;
		die_enter(nand, die, DIE_IDLE, DUE_NEVER);
		return;
	}
	die->first = FIRST_BEGUN;
	die->job = job;
	die->suspends = 0;
	if (job->op == NAND_READ) {
		read_begin(nand, die, job, now_ns);
	} else if (job->op == NAND_PROGRAM) {
		die->left = job->bytes;
		wait_to_move(nand, die, now_ns);
	} else {
		die->left = job->cells_ns;
		cells_begin(nand, die, now_ns);
	}
}

/* Nothing is on it, but for what may be suspended: what is next? */
static void
die_next(struct nand *nand, struct die *die, uint64_t now_ns)
{
	bool other = !fifo_empty(&die->rest) && die->first != FIRST_UNPOWERED;

	if (!fifo_empty(&die->urgent) && (!other || die->ahead < NAND_READS_AHEAD)) {
		die->ahead = (uint8_t)(die->ahead + other);
		read_begin(nand, die, first_of(&die->urgent), now_ns);
	} else if (!other) {
		die_enter(nand, die, DIE_IDLE, DUE_NEVER);
	} else if (die->first == FIRST_BEGUN) {
		die->job = first_of(&die->rest);
		die_enter(nand, die, DIE_RESUMING, now_ns + nand->resume_ns);
	} else {
		rest_begin(nand, die, now_ns);
	}
}

static struct nand_job *
job_end(struct nand *nand, struct die *die, uint64_t now_ns)
{
	struct nand_job *job = die->job;

	job->end_ns = now_ns;
	if (job->urgent) {
		fifo_pop(&die->urgent);
	} else {
		fifo_pop(&die->rest);
		die->load--;
		die->first = FIRST_WAITS;
		die->ahead = 0;
	}
	if (!job->urgent)
		power_give(nand, now_ns);
	die_next(nand, die, now_ns);
	return job;
}

/* The page was moved. */
static void
program_moved(struct nand *nand, struct die *die, uint64_t now_ns)
{
	die->left -= piece_bytes(nand, die);
	if (die->left > 0) {
		wait_to_move(nand, die, now_ns);
		return;
	}
	die->left = die->job->cells_ns;
	cells_begin(nand, die, now_ns);
}

/* What it was at is over: the job that ended with it, or NULL. */
static struct nand_job *
die_run(struct nand *nand, struct die *die, uint64_t now_ns)
{
	switch ((enum die_state)die->state) {
	case DIE_SENSING:
		if (die->job->urgent)
			move(nand, &nand->channels[die->channel], die, now_ns);
		else
			wait_to_move(nand, die, now_ns);
		return NULL;
	case DIE_MOVING:
		if (die->job->op == NAND_READ)
			return job_end(nand, die, now_ns);
		program_moved(nand, die, now_ns);
		return NULL;
	case DIE_CELLS:
		return job_end(nand, die, now_ns);
	case DIE_SUSPENDING:
		die_next(nand, die, now_ns);
		return NULL;
	case DIE_RESUMING:
		cells_begin(nand, die, now_ns);
		return NULL;
	case DIE_IDLE:
	case DIE_WAITING:
		break;
	}
	assert(false); /* what waits is never due */
	return NULL;
}

/* ---- all of them ---- */

void
nand_submit(struct nand *nand, struct nand_job *job, uint64_t now_ns)
{
	struct die *die = &nand->dies[job->die];

	assert(job->die < nand->die_count && now_ns <= due_first_ns(&nand->due));
	assert(job->cells_ns > 0 && (job->bytes > 0) == (job->op != NAND_ERASE));
	assert(!job->urgent || job->op == NAND_READ);
	fifo_push(job->urgent ? &die->urgent : &die->rest, &job->node);
	die->load += !job->urgent;
	if (die->state == DIE_IDLE)
		die_next(nand, die, now_ns);
	else if (die->state == DIE_CELLS)
		reads_first(nand, die, now_ns);
}

uint64_t
nand_next(const struct nand *nand)
{
	return due_first_ns(&nand->due);
}

struct nand_job *
nand_run(struct nand *nand, uint64_t now_ns)
{
	for (;;) {
		uint32_t number = due_first(&nand->due);
		uint64_t at_ns = due_first_ns(&nand->due);
		struct nand_job *job = NULL;

		if (at_ns > now_ns || at_ns == DUE_NEVER)
			return NULL;
		if (number < nand->die_count)
			job = die_run(nand, &nand->dies[number], at_ns);
		else
			channel_run(nand, number - nand->die_count, at_ns);
		if (job != NULL)
			return job;
	}
}

uint32_t
nand_load(const struct nand *nand, uint32_t die)
{
	return nand->dies[die].load;
}

void
nand_cut(struct nand *nand)
{
	for (uint32_t i = 0; i < nand->die_count; i++) {
		struct die *die = &nand->dies[i];

		*die = (struct die){ .number = (uint16_t)i, .channel = (uint16_t)(i % nand->channel_count) };
		fifo_init(&die->urgent);
		fifo_init(&die->rest);
		due_set(&nand->due, i, DUE_NEVER);
	}
	for (uint32_t i = 0; i < nand->channel_count; i++) {
		nand->channels[i].free_ns = 0;
		fifo_init(&nand->channels[i].waiting);
		due_set(&nand->due, nand->die_count + i, DUE_NEVER);
	}
	fifo_init(&nand->unpowered);
	nand->power = nand->power_max;
}

int
nand_create(struct arena *arena, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct nand **made)
{
	struct nand *nand = arena_alloc(arena, sizeof(*nand));

	assert(geometry->dies <= UINT16_MAX && geometry->channels <= geometry->dies && geometry->channels > 0 &&
	    profile->programs_max > 0 && profile->suspends_max <= UINT8_MAX);
	if (nand == NULL)
		return -ENOMEM;
	*nand = (struct nand){
		.in = { .thousandths = 1000 + profile->overhead_permille, .mb_s = profile->channel_write_mb_s },
		.out = { .thousandths = 1000 + profile->overhead_permille, .mb_s = profile->channel_mb_s },
		.page_bytes = profile->page_bytes, .suspend_ns = profile->suspend_ns, .resume_ns = profile->resume_ns,
		.suspends_max = profile->suspends_max,
		.suspends = { [NAND_PROGRAM] = profile->suspends_program, [NAND_ERASE] = profile->suspends_erase },
		.arena = arena, .die_count = geometry->dies, .channel_count = geometry->channels,
		.power_max = profile->programs_max,
	};
	nand->dies = arena_alloc_aligned(arena, nand->die_count * sizeof(nand->dies[0]), alignof(struct die));
	nand->channels = arena_alloc(arena, nand->channel_count * sizeof(nand->channels[0]));
	if (nand->dies == NULL || nand->channels == NULL ||
	    due_init(&nand->due, arena, nand->die_count + nand->channel_count) != 0) {
		nand_destroy(nand);
		return -ENOMEM;
	}
	nand_cut(nand);
	*made = nand;
	return 0;
}

void
nand_destroy(struct nand *nand)
{
	if (nand == NULL)
		return;
	due_fini(&nand->due);
	arena_free(nand->arena, nand->channels);
	arena_free(nand->arena, nand->dies);
	arena_free(nand->arena, nand);
}
