/* What goes over the connections of a rig: messages are told apart by the length that each begins with. */
#include <string.h>

#include "base/bytes.h"
#include "lab/ordered_inside.h"

enum { LENGTH_AT = 4 }; /* PLEN, in the common header of a PDU */

static struct ordered_link *
link_of(struct ordered_rig *rig, uint64_t id, unsigned side)
{
	unsigned at = 0;

	while (at < rig->link_count && (rig->links[at].id != id || rig->links[at].side != side))
		at++;
	if (at == rig->link_count) {
		assert(rig->link_count < ORDERED_LINKS_MAX);
		rig->links[rig->link_count++] = (struct ordered_link){ .id = id, .side = side };
	}
	return &rig->links[at];
}

/* Some bytes of a message: of its header, or all that is there of the rest. */
static size_t
take(struct ordered_rig *rig, struct ordered_link *link, const uint8_t *bytes, size_t count)
{
	if (link->left > 0) {
		size_t part = count < link->left ? count : link->left;

		link->left -= (uint32_t)part;
		return part;
	}
	link->header[link->got++] = *bytes;
	if (link->got == sizeof(link->header)) {
		link->got = 0;
		link->left = get_le32(link->header + LENGTH_AT) - (uint32_t)sizeof(link->header);
		rig->wire.messages[link->side]++;
	}
	return 1;
}

size_t
ordered_wire_see(void *arg, const struct sim_process *connected, uint64_t id, unsigned side, const uint8_t *bytes,
    size_t count, bool *may)
{
	struct ordered_rig *rig = arg;
	struct ordered_link *link = link_of(rig, id, side);

	(void)connected;
	rig->wire.bytes[side] += count;
	for (size_t at = 0; at < count;)
		at += take(rig, link, bytes + at, count - at);
	*may = false; /* nothing is changed */
	return count;
}
