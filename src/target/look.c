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
look_begin(struct core *core, struct look *look)
{
	const struct target_mail mail = { .kind = MAIL_LOOK, .look = look };

	core_post(core, home_index(core, look->volume), &mail);
}

void
look_mail(struct core *core, const struct target_mail *mail)
{
	struct target_mail back = { .kind = MAIL_LOOKED, .look = mail->look };
	struct look *look = mail->look;
	struct blk_chan *chan;

	if (mail->kind == MAIL_LOOKED) {
		look->done(core, look);
		return;
	}
	chan = chan_of(core, look->volume);
	look->shared = chan != NULL && fair_look(chan, &look->device);
	look->known = look->shared && look->of != NULL && fair_look_tenant(chan, look->of, &look->tenant);
	look->worn = chan != NULL && blk_health(chan, &look->health);
	core_post(core, mail->from, &back);
}
