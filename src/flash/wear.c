/* wear.c - sums over what the drive and its translation layer count. */
#include "flash/wear.h"

void
wear_of_ftl(const struct ftl *ftl, const struct flash_geometry *g, const struct flash_profile *profile,
    struct flash_wear *wear)
{
	uint64_t blocks = (uint64_t)g->dies * (g->blocks - g->slc_fixed_blocks), erases_of_these = 0;

	*wear = (struct flash_wear){ .media_bytes = wear_units(ftl_counts(ftl)) * g->unit_bytes,
		.erases_least = UINT32_MAX };
	for (uint32_t block = 0; block < g->dies * g->blocks; block++) {
		uint32_t erases = ftl_erases_of(ftl, block);

		wear->erases += erases;
		if (block % g->blocks < g->slc_fixed_blocks)
			continue;
		erases_of_these += erases;
		if (erases < wear->erases_least)
			wear->erases_least = erases;
		if (erases > wear->erases_most)
			wear->erases_most = erases;
	}
	wear->erases_mean_permille = erases_of_these * 1000 / blocks;
	wear->used_percent = erases_of_these * 100 / (blocks * profile->endurance);
}

/* All of it may be written as often as its endurance says. */
static void
wear_in_place(const struct drive *drive, struct flash_wear *wear)
{
	const struct flash_geometry *g = drive_geometry(drive);

	*wear = (struct flash_wear){ .media_bytes = drive_counts(drive)->write_bytes };
	wear->used_percent = wear->media_bytes / (g->units * g->unit_bytes / 100) / drive_profile(drive)->endurance;
}

void
wear_of_drive(struct drive *drive, struct flash_wear *wear)
{
	const struct flash_profile *profile = drive_profile(drive);

	if (profile->media == FLASH_IN_PLACE) {
		wear_in_place(drive, wear);
		return;
	}
	wear_of_ftl(drive_ftl(drive), drive_geometry(drive), profile, wear);
	wear->media_bytes += drive_counts(drive)->journal_pages * profile->page_bytes;
}
