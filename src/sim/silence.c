/*
 * silence.c - who does not hear whom, or late, or wrongly: addresses that are cut off, processes that are parted, far,
 * dark, or behind a network that changes bytes.
 *
 * What arrives on a silent link is held back, and arrives when it is mended, in
 * the order it would have.
 */
#include <stdio.h>
#include <string.h>

#include "sim/link.h"

struct cut {
	struct list node;
	char host[64];
	uint16_t port;
	enum sim_cut how;
};

static struct cut *
cut_find(const struct sim *sim, const char *host, uint16_t port)
{
	list_for_each(&sim->cuts, node) {
		struct cut *cut = container_of(node, struct cut, node);

		if (cut->port == port && strcmp(cut->host, host) == 0)
			return cut;
	}
	return NULL;
}

static bool
is_cut(const struct sim_link *link, enum sim_cut how)
{
	const struct cut *cut = cut_find(link->sim, link->host, link->port);

	return cut != NULL && cut->how == how;
}

struct part {
	struct list node;
	const struct sim_process *a, *b;
};

static struct part *
part_find(const struct sim *sim, const struct sim_process *a, const struct sim_process *b)
{
	list_for_each(&sim->parts, node) {
		struct part *part = container_of(node, struct part, node);

		if ((part->a == a && part->b == b) || (part->a == b && part->b == a))
			return part;
	}
	return NULL;
}

bool
sim_link_is_reset(const struct sim_link *link)
{
	return is_cut(link, SIM_CUT_RESET);
}

bool
sim_link_is_silent(const struct sim_link *link, unsigned side)
{
	const struct sim *sim = link->sim;
	const struct sim_process *process = sim_link_process(link, side);

	if (is_cut(link, SIM_CUT_HOLD) || (process != NULL && process->dark))
		return true;
	return !list_empty(&sim->parts) && part_find(sim, process, sim_link_process(link, 1 - side)) != NULL;
}

void
sim_cut(struct sim *sim, const char *host, uint16_t port, enum sim_cut how)
{
	struct cut *cut = sim_alloc(sim, sizeof(*cut));

	assert(cut_find(sim, host, port) == NULL);
	snprintf(cut->host, sizeof(cut->host), "%s", host);
	cut->port = port;
	cut->how = how;
	list_push(&sim->cuts, &cut->node);
	if (how != SIM_CUT_RESET)
		return;
	list_for_each(&sim->links, node) {
		struct sim_link *link = container_of(node, struct sim_link, node);

		if (link->port != port || strcmp(link->host, host) != 0)
			continue;
		sim_link_event(link, SIM_RESET, 0, 0, sim->now_ns);
		sim_link_event(link, SIM_RESET, 1, 0, sim->now_ns);
	}
}

void
sim_net_let_go(struct sim *sim)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&sim->held_back)) != NULL)
		sim_event_put(sim, container_of(node, struct sim_event, node), sim->now_ns);
}

void
sim_mend(struct sim *sim, const char *host, uint16_t port)
{
	struct cut *cut = cut_find(sim, host, port);

	assert(cut != NULL);
	list_remove(&cut->node);
	arena_free(&sim->arena, cut);
	sim_net_let_go(sim);
}

void
sim_process_slow(struct sim_process *process, uint32_t factor)
{
	assert(factor > 0);
	sim_trace(process->sim, SIM_SLOW, process->index, factor, 0);
	process->slow = factor;
}

void
sim_process_flips(struct sim_process *process, uint32_t ppm, uint32_t spared)
{
	sim_trace(process->sim, SIM_FLIPS, process->index, ppm, spared);
	process->flips_ppm = ppm;
	process->flips_spared = spared;
}

void
sim_part(struct sim *sim, struct sim_process *a, struct sim_process *b)
{
	struct part *part = sim_alloc(sim, sizeof(*part));

	assert(a != b && part_find(sim, a, b) == NULL);
	part->a = a;
	part->b = b;
	list_push(&sim->parts, &part->node);
	sim_trace(sim, SIM_PART, a->index, b->index, 1);
}

void
sim_join(struct sim *sim, struct sim_process *a, struct sim_process *b)
{
	struct part *part = part_find(sim, a, b);

	assert(part != NULL);
	sim_trace(sim, SIM_PART, part->a->index, part->b->index, 0);
	list_remove(&part->node);
	arena_free(&sim->arena, part);
	sim_net_let_go(sim);
}

