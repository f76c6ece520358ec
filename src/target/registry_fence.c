/*
 * registry_fence.c - whom does a fence end, and when are they all gone?
 *
 * Of the same host: all controllers that are older than the one that asks, or one
 * that it names.  Who asks, and how it is told, is in fence.c.
 */
#include <assert.h>

#include "target/registry.h"
#include "wire/extension.h"

static void
fenced(struct core *core, uint16_t key, uint32_t ended)
{
	struct target_mail mail = { .kind = MAIL_FENCED, .key = key, .ended = ended };

	core_post(core, key % core->reactor->count, &mail);
}

/* Whether the fence of `entry` waits for the end of `member`. */
static bool
waits_for(const struct entry *entry, const struct entry *member)
{
	if (member == entry || !entry_same_id(member, entry) || member->number >= entry->fence.below)
		return false;
	return entry->fence.named == WEIR_FENCE_OLDER || entry->fence.named == member->cntlid;
}

static void
end(struct core *core, struct entry *entry)
{
	struct target_mail mail = { .kind = MAIL_END, .key = entry->key };

	if (entry->ending || entry->state != ENTRY_ALIVE)
		return;
	entry->ending = true;
	core_post(core, entry->key % core->reactor->count, &mail);
}

/* Ends others of its host, all that are older or the one that is named, and answers when they are gone. */
void
registry_fence(struct core *core, const struct target_mail *mail)
{
	struct entry *entry = core->registry->by_key[mail->key];

	if (entry == NULL || entry->state == ENTRY_WAITING)
		return; /* it has gone meanwhile, and nobody waits for the answer */
	if (entry->fence.left > 0)
		fenced(core, entry->key, 0); /* the controller was reset: nobody waits for that one any more */
	entry->fence.left = 0;
	entry->fence.named = mail->fence;
	entry->fence.below = mail->fence == WEIR_FENCE_OLDER ? entry->number : core->registry->number + 1;
	list_for_each(&entry->roll->members, node) {
		if (!waits_for(entry, entry_of(node)))
			continue;
		end(core, entry_of(node));
		entry->fence.left++;
	}
	entry->fence.ended = entry->fence.left;
	if (entry->fence.left == 0)
		fenced(core, entry->key, 0);
}

void
registry_fence_count_down(struct core *core, const struct entry *gone)
{
	list_for_each(&gone->roll->members, node) {
		struct entry *entry = entry_of(node);

		if (entry->fence.left > 0 && waits_for(entry, gone) && --entry->fence.left == 0)
			fenced(core, entry->key, entry->fence.ended);
	}
}
