/*
 * memory.c - does a target take more memory than it says that it does?
 *
 * It says so by sums for what it has: connections, entries of queues, controllers, volumes (target.h, blk.h), of which
 * `weir serve --explain-memory` makes what the operator is told.  What it takes beside what it had with no volumes and
 * no hosts is held to them again and again, whatever happens meanwhile.  How much it has of each thing it is believed;
 * what it has and lists nowhere is too much when it does not fit into what those sums leave.
 */
#include "target/apply.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "trial/internal.h"

size_t
memory_taken(const struct served *served)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_TARGET_REACTORS); i++)
		bytes += sim_process_reactor(served->process, i)->arena->bytes;
	return bytes;
}

static size_t
connection_bytes(const struct conn *conn)
{
	return target_connection_bytes() + (conn->slots == &conn->first ? 0 : target_queue_bytes(conn->tc.slot_count));
}

/* Of a trial's hosts, none of which has wishes about namespaces. */
static size_t
hosts_bytes(const struct core *core)
{
	size_t bytes = 0;

	list_for_each(&core->conns, node)
		bytes += connection_bytes(container_of(node, struct conn, node));
	list_for_each(&core->assocs, node)
		bytes += target_controller_bytes() - wish_bytes();
	return bytes;
}

/* As many tenants as it has hosts, with what those were before who are not forgotten yet. */
static size_t
fair_part(const struct volume *volume)
{
	const struct trial *trial = volume->served->trial;

	if (!volume->fair)
		return 0;
	return fair_bytes((unsigned)trial_knob(trial, KNOB_TARGET_REACTORS)) +
	    2 * trial_knob(trial, KNOB_HOSTS) * fair_tenant_bytes();
}

static size_t
volumes_bytes(const struct served *served)
{
	unsigned reactors = (unsigned)trial_knob(served->trial, KNOB_TARGET_REACTORS);
	size_t bytes = 0;

	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++)
		if (served->volumes[i].blk != NULL)
			bytes += blk_bytes(reactors) + target_volume_bytes() + fair_part(&served->volumes[i]);
	return bytes;
}

/* What it serves, and what it is about to. */
static size_t
views_bytes(const struct target *target)
{
	const struct change *change = target->change;

	return target->view->bytes + (change != NULL ? sizeof(*change) + change->view->bytes : 0);
}

void
memory_look(const struct served *served)
{
	size_t taken, most;

	if (!served_is_up(served) || served->before == 0)
		return;
	taken = memory_taken(served);
	most = served->before + volumes_bytes(served) + views_bytes(served->target);
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_TARGET_REACTORS); i++)
		most += hosts_bytes(served->target->cores[i]);
	if (taken > most)
		trial_wrong(served->trial, "memory", "target %u takes %zu bytes beside what it had at first, and "
		    "%zu at most by what it says that it takes", served->index, taken - served->before,
		    most - served->before);
}
