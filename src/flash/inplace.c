/* inplace.c - when each channel is free is all there is to know. */
#include "flash/inplace.h"

#include <assert.h>
#include <errno.h>

struct inplace {
	struct arena *arena;
	uint64_t *free_ns;        /* of each channel */
	uint32_t channels;
	uint32_t sense_ns, write_ns;
	uint32_t out_ns, in_ns;   /* what a unit takes on its channel, from the media and to them */
};

/* When the last of these units was moved that are ready for their channels then, one in `unit_ns`. */
static uint64_t
move(struct inplace *inplace, uint64_t first, uint32_t count, uint32_t unit_ns, uint64_t ready_ns)
{
	uint32_t channel = (uint32_t)(first % inplace->channels);
	uint32_t each = count / inplace->channels, more = count % inplace->channels;
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < inplace->channels && i < count; i++) {
		uint64_t *free_ns = &inplace->free_ns[channel];

		if (*free_ns < ready_ns)
			*free_ns = ready_ns;
		*free_ns += (uint64_t)unit_ns * (each + (i < more));
		if (*free_ns > last_ns)
			last_ns = *free_ns;
		if (++channel == inplace->channels)
			channel = 0;
	}
	return last_ns;
}

uint64_t
inplace_read(struct inplace *inplace, uint64_t first, uint32_t count, uint64_t now_ns)
{
	assert(count > 0);
	return move(inplace, first, count, inplace->out_ns, now_ns + inplace->sense_ns);
}

uint64_t
inplace_write(struct inplace *inplace, uint64_t first, uint32_t count, uint64_t now_ns)
{
	assert(count > 0);
	return move(inplace, first, count, inplace->in_ns, now_ns) + inplace->write_ns;
}

void
inplace_cut(struct inplace *inplace)
{
	for (uint32_t i = 0; i < inplace->channels; i++)
		inplace->free_ns[i] = 0;
}

/* Rounded up.  Moved are thousandths / 1000 of the bytes, at mb_s / 1000 bytes a nanosecond. */
static uint32_t
moving_ns(uint32_t bytes, uint32_t overhead_permille, uint32_t mb_s)
{
	return (uint32_t)(((uint64_t)bytes * (1000 + overhead_permille) + mb_s - 1) / mb_s);
}

int
inplace_create(struct arena *arena, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct inplace **made)
{
	struct inplace *inplace = arena_alloc(arena, sizeof(*inplace));

	if (inplace == NULL)
		return -ENOMEM;
	*inplace = (struct inplace){
		.arena = arena, .channels = geometry->channels,
		.sense_ns = profile->read_ns, .write_ns = profile->program_ns,
		.out_ns = moving_ns(geometry->unit_bytes, profile->overhead_permille, profile->channel_mb_s),
		.in_ns = moving_ns(geometry->unit_bytes, profile->overhead_permille, profile->channel_write_mb_s),
	};
	inplace->free_ns = arena_alloc(arena, inplace->channels * sizeof(inplace->free_ns[0]));
	if (inplace->free_ns == NULL) {
		inplace_destroy(inplace);
		return -ENOMEM;
	}
	*made = inplace;
	return 0;
}

void
inplace_destroy(struct inplace *inplace)
{
	if (inplace == NULL)
		return;
	arena_free(inplace->arena, inplace->free_ns);
	arena_free(inplace->arena, inplace);
}
