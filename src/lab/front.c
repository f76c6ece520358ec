#include "lab/front.h"

#include <errno.h>

static void
wake(struct timer *timer)
{
	lab_front_go_on(container_of(timer, struct lab_front, timer));
}

/* Jobs become tenants, in their order. */
static unsigned
gather(struct lab_front *front, const struct lab_setup *setup, unsigned device,
    struct policy_tenant tenants[POLICY_TENANTS_MAX])
{
	unsigned count = 0;

	for (unsigned j = 0; j < setup->job_count; j++) {
		const struct lab_job *job = &setup->jobs[j];
		unsigned first = j;

		if (job->device != device)
			continue;
		for (unsigned k = 0; k < j && job->tenant > 0 && first == j; k++)
			if (setup->jobs[k].device == device && setup->jobs[k].tenant == job->tenant)
				first = k;
		if (first == j)
			tenants[count++] = job->terms;
		front->tenants[j] = first == j ? count - 1 : front->tenants[first];
	}
	return count;
}

int
lab_front_init(struct lab_front *front, const struct lab_setup *setup, unsigned device, struct reactor *reactor)
{
	struct policy_tenant tenants[POLICY_TENANTS_MAX];
	unsigned count = gather(front, setup, device, tenants);
	const struct lab_device *given = &setup->devices[device];

	front->reactor = reactor;
	front->timer.fire = wake;
	front->policy = policy_create(reactor->arena, given->policy, &given->terms, tenants, count);
	return front->policy != NULL ? 0 : -ENOMEM;
}

void
lab_front_go_on(struct lab_front *front)
{
	uint64_t now_ns = front->reactor->now_ns, next_ns;
	struct policy_io *policy_io;

	while ((policy_io = policy_next(front->policy, now_ns)) != NULL) {
		struct lab_front_io *fio = container_of(policy_io, struct lab_front_io, policy);

		fio->io->begun_ns = now_ns;
		fio->go(fio->io);
	}
	next_ns = policy_deadline(front->policy, now_ns);
	if (next_ns == UINT64_MAX)
		timer_clear(&front->reactor->timers, &front->timer);
	else if (!front->timer.armed || front->timer.deadline_ns != next_ns)
		timer_set(&front->reactor->timers, &front->timer, next_ns > now_ns ? next_ns : now_ns + 1);
}

void
lab_front_arrive(struct lab_front *front, struct lab_front_io *fio, struct lab_io *io, unsigned job)
{
	static const enum qos_op ops[LAB_OPS] = {
		[LAB_READ] = QOS_OP_READ, [LAB_WRITE] = QOS_OP_WRITE, [LAB_FLUSH] = QOS_OP_FLUSH,
		[LAB_TRIM] = QOS_OP_TRIM,
	};
	uint32_t block_size = io->load->setup->devices[io->load->job->device].block_size;

	fio->io = io;
	fio->policy.tenant = front->tenants[job];
	qos_io_init(&fio->policy.qos, ops[io->op], (uint64_t)io->blocks * block_size, io->load->job->priority);
	policy_arrive(front->policy, &fio->policy, front->reactor->now_ns);
	lab_front_go_on(front);
}

void
lab_front_done(struct lab_front *front, struct lab_front_io *fio)
{
	uint64_t now_ns = front->reactor->now_ns;

	policy_done(front->policy, &fio->policy, now_ns - fio->io->begun_ns, now_ns);
}
