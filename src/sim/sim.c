/*
 * sim.c - the run: take the next event, let it happen, remember that it did.
 *
 * Knows the clock, the seed and the trace; what an event means is known to
 * process.c, net.c and file.c.
 */
#include "sim/internal.h"
#include "sim/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Digits of pi. */
static const uint64_t salts[4] = {
	0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
};

struct sim_options
sim_options_default(void)
{
	return (struct sim_options){
		.turn_ns = 500, .io_ns = 1000, .byte_ps = 100, .wake_jitter_ns = 2000,
		.latency_ns = 5000, .jitter_ns = 20000,
		.socket_bytes_min = 2048, .socket_bytes_max = 256 * 1024, .segment_max = 64 * 1024,
		.short_ppm = 20000, .spurious_ppm = 10000,
		.mail_ns = 200, .mail_jitter_ns = 5000,
		.io_delay_ns = 10000, .io_jitter_ns = 90000, .writeback_ppm = 100000,
		.file_align = 512, .file_direct = true,
		.max_events = UINT64_MAX, .max_ns = UINT64_MAX,
		.wall_ms = 1767225600000, /* 2026-01-01 */
	};
}

struct sim *
sim_create(uint64_t seed, const struct sim_options *options)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (sim == NULL)
		abort();
	assert(options->file_align > 0 && options->socket_bytes_min > 0 &&
	    options->socket_bytes_min <= options->socket_bytes_max);
	sim->options = *options;
	sim->hash = salts[0];
	sim->next_port = 20000;
	sim_arena_init(&sim->arena, 0);
	rng_seed(&sim->rng, seed);
	fifo_init(&sim->spare);
	fifo_init(&sim->spare_pages);
	list_init(&sim->processes);
	list_init(&sim->links);
	list_init(&sim->listeners);
	list_init(&sim->cuts);
	list_init(&sim->parts);
	fifo_init(&sim->held_back);
	list_init(&sim->files);
	list_init(&sim->sicknesses);
	return sim;
}

void
sim_destroy(struct sim *sim)
{
	if (sim == NULL)
		return;
	list_for_each(&sim->processes, node)
		sim_process_crash(container_of(node, struct sim_process, node), 0);
	arena_drop(&sim->arena);
	free(sim);
}

static void
handle(struct sim *sim, struct sim_event *event)
{
	switch (event->kind) {
	case SIM_TURN:
		sim_reactor_handle_turn(sim, event);
		return;
	case SIM_MAIL:
		sim_reactor_handle_mail(sim, event);
		return;
	case SIM_SYN:
	case SIM_CONNECTED:
	case SIM_BYTES:
	case SIM_FIN:
	case SIM_RESET:
	case SIM_SPACE:
	case SIM_AGAIN:
		sim_net_handle(sim, event);
		return;
	case SIM_IO:
		sim_file_handle(sim, event);
		return;
	case SIM_ERRAND:
		sim_reactor_handle_errand(sim, event);
		return;
	case SIM_READ:
	case SIM_WRITE:
	case SIM_LOG:
	case SIM_START:
	case SIM_CRASH:
	case SIM_PAUSE:
	case SIM_PART:
	case SIM_SLOW:
	case SIM_FAULTS:
	case SIM_SPOIL:
	case SIM_FLIPS:
	case SIM_FLIP:
		break;
	}
	assert(false); /* those are no events */
}

enum sim_end
sim_run_until(struct sim *sim, uint64_t until_ns, bool (*met)(void *arg), void *arg)
{
	bool limited = until_ns >= sim->options.max_ns;

	if (limited)
		until_ns = sim->options.max_ns;
	while (met == NULL || !met(arg)) {
		uint64_t next_ns = sim_event_next_at(sim);

		if (next_ns == UINT64_MAX)
			return SIM_END_IDLE;
		if (sim->events >= sim->options.max_events)
			return SIM_END_LIMIT;
		if (next_ns > until_ns) {
			if (sim->now_ns < until_ns)
				sim->now_ns = until_ns;
			return limited ? SIM_END_LIMIT : SIM_END_TIME;
		}
		sim->events++;
		handle(sim, sim_event_next(sim, &sim->now_ns));
	}
	return SIM_END_MET;
}

uint64_t sim_now(const struct sim *sim) { return sim->now_ns; }
uint64_t sim_events(const struct sim *sim) { return sim->events; }
uint64_t sim_hash(const struct sim *sim) { return sim->hash; }
uint64_t sim_below(struct sim *sim, uint64_t limit) { return rng_below(&sim->rng, limit); }

bool
sim_chance(struct sim *sim, uint32_t ppm)
{
	return ppm > 0 && rng_below(&sim->rng, 1000000) < ppm;
}

uint64_t
sim_delay(struct sim *sim, uint32_t base, uint32_t jitter)
{
	return base + rng_below(&sim->rng, (uint64_t)jitter + 1);
}

/* Both halves of the product: of each side every bit counts in every one of it. */
static uint64_t
fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Two words more.  A product with zero would forget all, and from likely words the salt keeps it; if the hash began
 * with the same salt, which word was first would not matter.
 */
static uint64_t
mix(uint64_t hash, uint64_t salt, uint64_t first, uint64_t second)
{
	return fold(first ^ salt, second ^ hash);
}

static uint64_t
mix_at(uint64_t hash, uint64_t salt, const uint8_t *p)
{
	return mix(hash, salt, get_le64(p), get_le64(p + 8));
}

/* Four lanes, so that the multiplications of a long payload overlap. */
uint64_t
sim_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t a = hash ^ salts[1], b = hash ^ salts[2], c = hash ^ salts[3], d = hash ^ salts[0];
	uint8_t rest[16] = { 0 };
	size_t left = bytes;

	for (; left >= 64; p += 64, left -= 64) {
		a = mix_at(a, salts[0], p);
		b = mix_at(b, salts[1], p + 16);
		c = mix_at(c, salts[2], p + 32);
		d = mix_at(d, salts[3], p + 48);
	}
	hash = mix(mix(a, salts[0], b, c), salts[1], d, bytes);
	for (; left >= 16; p += 16, left -= 16)
		hash = mix_at(hash, salts[2], p);
	memcpy(rest, p, left);
	return mix_at(hash, salts[3], rest);
}

void
sim_trace(struct sim *sim, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	sim->hash = mix(sim->hash, salts[1], (uint64_t)kind << 56 ^ actor, sim->now_ns);
	sim->hash = mix(sim->hash, salts[2], a, b);
	if (sim->options.trace != NULL)
		sim->options.trace(sim->options.arg, sim->now_ns, kind, actor, a, b);
}
