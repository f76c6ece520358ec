#include "target/look.h"

#include "blk/home.h"

/* The channel of a volume that is served yet; NULL: it is not, or not any more. */
static struct blk_chan *
chan_of(const struct core *core, uint64_t volume)
{
	struct blk_chan *chan = core->chans[volume_slot(volume)];

	return chan != NULL && chan->blk->number == volume ? chan : NULL;
}

/* What has no home is as well known here as anywhere. */
static unsigned
home_index(const struct core *core, uint64_t volume)
{
	const struct blk_chan *chan = chan_of(core, volume);

	return chan != NULL && home_inner(chan->blk) != NULL ? home_of(chan->blk)->index : core->reactor->index;
}

void
target_look(struct target *target, struct target_look *look)
{
	look_begin(target->cores[0], look);
}

static bool
look_tenant(struct blk_chan *chan, struct target_look *look)
{
	if (look->each)
		return fair_look_next(chan, &look->next, &look->tenant);
	return look->of != NULL && fair_look_tenant(chan, look->of, &look->tenant);
}

void
look_begin(struct core *core, struct target_look *look)
{
	const struct target_mail mail = { .kind = MAIL_LOOK, .look = look };

	core_post(core, home_index(core, look->volume), &mail);
}

void
look_mail(struct core *core, const struct target_mail *mail)
{
	struct target_mail back = { .kind = MAIL_LOOKED, .look = mail->look };
	struct target_look *look = mail->look;
	struct blk_chan *chan;

	if (mail->kind == MAIL_LOOKED) {
		look->done(look);
		return;
	}
	chan = chan_of(core, look->volume);
	look->there = chan != NULL;
	look->shared = look->there && fair_look(chan, &look->device);
	look->known = look->shared && look_tenant(chan, look);
	look->worn = look->there && blk_health(chan, &look->health);
	core_post(core, mail->from, &back);
}
