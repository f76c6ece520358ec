/*
 * flash_cut.c - the power of a modelled drive goes while its reactors run: what was under way fails, and what is left
 * the drive says.
 */
#include <assert.h>

#include "blk/flash.h"
#include "blk/home.h"

void
flash_cut(struct blk *blk, struct reactor *reactor)
{
	struct home *home = home_of(blk);
	struct flash_blk *fb = container_of(home->inner, struct flash_blk, blk);
	struct flash_chan *fc = NULL;

	assert(reactor->index == home->index && fb->inner == NULL);
	if (home->chan != NULL)
		fc = container_of(home->chan, struct flash_chan, chan);
	if (fc != NULL)
		flash_catch_up(fc);
	drive_cut(fb->drive, reactor->now_ns);
	if (fc != NULL)
		flash_end_all(fc, nvme_status_of(NVME_SC_POWER_LOSS, false));
}
