/*
 * target.c - a target before it starts: what it is, and how large its parts are.
 *
 * Answers: which subsystems and namespaces are there, with which names and
 * identifiers.  Does not know reactors or connections.
 */
#include <errno.h>
#include <stdio.h>

#include "base/rng.h"
#include "target/core.h"

enum { DEFAULT_HANDSHAKE_MS = 10000, DEFAULT_STALL_MS = 30000 };

/* 16 bytes that depend on the identity and the number alone; a version-8 UUID (RFC 9562). */
static void
derive(const uint8_t identity[16], uint64_t number, uint8_t out[16])
{
	struct rng rng;

	rng_seed(&rng, get_le64(identity) + number * 0x9e3779b97f4a7c15u);
	put_le64(out, rng_next(&rng) ^ get_le64(identity + 8));
	put_le64(out + 8, rng_next(&rng));
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static void
describe_namespace(struct target *target, uint32_t index, const struct blk *blk)
{
	struct ns_info *ns = &target->ns[index];

	*ns = (struct ns_info){
		.nsid = index + 1,
		.block_size = blk->block_size,
		.blocks = blk->blocks,
		.volatile_cache = blk->volatile_cache,
		.trim_zeroes = blk->trim_zeroes,
		.shared = true,
	};
	derive(target->options.volume_ids[index], 1, ns->uuid);
	derive(target->options.volume_ids[index], 2, ns->nguid);
}

static void
describe_subsystems(struct target *target)
{
	const struct target_options *options = &target->options;
	struct subsys_info common = {
		.model = "Weir", .firmware = "0.1.0",
		.io_queues_max = TARGET_IO_QUEUES, .entries_max = TARGET_QUEUE_ENTRIES,
		.incapsule_max = TARGET_INCAPSULE, .mdts_shift = TARGET_MDTS_SHIFT,
		.fused_max = TARGET_FUSED_MAX, .copy_max = TARGET_COPY_MAX,
		.copy_ranges = TARGET_COPY_RANGES, .copy_range_max = TARGET_COPY_RANGE_MAX,
	};

	snprintf(common.serial, sizeof(common.serial), "W%016llx",
	    (unsigned long long)get_le64(options->identity));
	target->nvm = target->discovery = common;
	snprintf(target->nvm.nqn, sizeof(target->nvm.nqn), "%s", options->subnqn);
	target->nvm.ns = target->ns;
	target->nvm.ns_count = options->volume_count;
	snprintf(target->discovery.nqn, sizeof(target->discovery.nqn), "%s", NVME_DISCOVERY_NQN);
	target->discovery.discovery = true;
	target->shown[0] = (struct subsys_shown){ &target->nvm, UINT32_MAX };
	target->discovery.shown = target->shown;
	target->discovery.shown_count = 1;
	target->discovery.genctr = 1;
}

int
target_create(struct arena *arena, const struct target_options *options, struct target **out,
    char why[256])
{
	struct target *target;
	char field[NVME_NQN_FIELD] = { 0 };

	if (strlen(options->subnqn) > NVME_NQN_MAX) {
		snprintf(why, 256, "the subsystem NQN is longer than %d bytes", NVME_NQN_MAX);
		return -EINVAL;
	}
	memcpy(field, options->subnqn, strlen(options->subnqn));
	if (nvme_nqn_length(field) < 0 || strncmp(field, "nqn.", 4) != 0 ||
	    strcmp(field, NVME_DISCOVERY_NQN) == 0) {
		snprintf(why, 256, "'%s' is not an NQN for a subsystem (nqn.yyyy-mm.reverse.domain:name)",
		    options->subnqn);
		return -EINVAL;
	}
	if (options->volume_count == 0 || options->volume_count > TARGET_NS_MAX ||
	    options->listen_count == 0 || options->listen_count > TARGET_LISTENERS_MAX) {
		snprintf(why, 256, "1 to %d namespaces and 1 to %d listeners, please", TARGET_NS_MAX,
		    TARGET_LISTENERS_MAX);
		return -EINVAL;
	}
	target = arena_alloc(arena, sizeof(*target));
	if (target == NULL) {
		snprintf(why, 256, "out of memory");
		return -ENOMEM;
	}
	target->arena = arena;
	target->options = *options;
	if (target->options.handshake_timeout_ms == 0)
		target->options.handshake_timeout_ms = DEFAULT_HANDSHAKE_MS;
	if (target->options.stall_timeout_ms == 0)
		target->options.stall_timeout_ms = DEFAULT_STALL_MS;
	if (target->options.connections_max == 0)
		target->options.connections_max = 4096;
	for (uint32_t i = 0; i < options->volume_count; i++) {
		target->volumes[i] = options->volumes[i];
		describe_namespace(target, i, options->volumes[i]);
	}
	memcpy(target->listen, options->listen, options->listen_count * sizeof(*options->listen));
	describe_subsystems(target);
	*out = target;
	return 0;
}

const struct target_listen *
target_bound(const struct target *target, uint32_t index)
{
	return &target->listen[index];
}

size_t
target_queue_bytes(uint32_t entries)
{
	return entries * sizeof(struct request);
}

size_t
target_connection_bytes(void)
{
	return sizeof(struct conn) + TARGET_INCAPSULE;
}

size_t
target_controller_bytes(uint32_t volumes)
{
	return sizeof(struct assoc) + volumes * sizeof(struct blk_io);
}

size_t
target_reactor_bytes(void)
{
	return sizeof(struct core) + sizeof(struct gather) + CTRL_PAGE_MAX + SCRATCH_PIECES * SCRATCH_BYTES;
}
