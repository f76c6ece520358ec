#include "lab/calibrate.h"

#include <errno.h>
#include <string.h>

#include "lab/internal.h"

enum { BEGIN_NS = 1000 * 1000 };

struct measuring {
	struct lab *lab;
	const struct lab_device *device;
	struct calibrate *calibrate;
	struct reactor *reactor;
	struct blk *blk;
	struct blk_chan *chan;
	struct timer timer;        /* until the gauge is to be asked */
	void *buffer;              /* what is written is always the same, and what is read is not looked at */
	struct gauge_task task;
	struct gauge gauge;
	struct measuring_io {
		struct blk_io blk;
		struct iovec iov;
		struct measuring *measuring;
	} ios[GAUGE_TENANTS][GAUGE_DEPTH];
	bool over;
};

static void
submit(struct measuring *m, struct gauge_io *io)
{
	const struct gauge_load *load = &m->task.loads[io->load];
	struct measuring_io *mio = io->owner;

	mio->iov = (struct iovec){ m->buffer, load->bytes };
	mio->blk.op = load->kind == QOS_READ ? BLK_READ : BLK_WRITE;
	mio->blk.flags = 0;
	mio->blk.lba = io->offset / m->device->block_size;
	mio->blk.blocks = load->bytes / m->device->block_size;
	mio->blk.iov = &mio->iov;
	mio->blk.iov_count = 1;
	blk_submit(m->chan, &mio->blk);
}

static bool
step_begin(struct measuring *m)
{
	if (!calibrate_next(m->calibrate, &m->task))
		return false;
	gauge_begin(&m->gauge, &m->task, m->blk->blocks * m->blk->block_size, m->reactor->now_ns);
	return true;
}

/* All that may go goes, of this step or the next. */
static void
go(struct measuring *m)
{
	uint64_t now_ns = m->reactor->now_ns, wants_ns;
	struct gauge_heard heard[GAUGE_LOADS];
	struct gauge_io *io;

	if (gauge_over(&m->gauge, now_ns)) {
		gauge_hear(&m->gauge, heard);
		calibrate_take(m->calibrate, heard);
		m->over = !step_begin(m);
	}
	if (m->over) {
		timer_clear(&m->reactor->timers, &m->timer);
		return;
	}
	while ((io = gauge_next(&m->gauge, now_ns)) != NULL)
		submit(m, io);
	wants_ns = gauge_deadline(&m->gauge, now_ns);
	timer_set(&m->reactor->timers, &m->timer, wants_ns > now_ns ? wants_ns : now_ns + 1);
}

/* Where the time of a step is over the last of what is in flight goes on. */
static void
wake(struct timer *timer)
{
	struct measuring *m = container_of(timer, struct measuring, timer);

	if (m->reactor->now_ns < m->gauge.until_ns || m->gauge.inflight == 0)
		go(m);
}

static void
done(struct blk_io *blk, struct nvme_status status)
{
	struct gauge_io *io = blk->owner;
	struct measuring *m = ((struct measuring_io *)io->owner)->measuring;

	if (!nvme_ok(status))
		lab_refuse(m->lab, "%s: an I/O failed while it was measured", m->device->spec);
	gauge_ended(&m->gauge, io, m->reactor->now_ns);
	go(m);
}

static void
begin(struct timer *timer)
{
	struct measuring *m = container_of(timer, struct measuring, timer);

	timer->fire = wake;
	m->over = !step_begin(m);
	go(m);
}

static int
start(struct reactor *reactor, void *arg)
{
	struct measuring *m = arg;
	int error = lab_open(m->lab, reactor, m->device, &m->blk);

	m->reactor = reactor;
	m->buffer = arena_alloc_aligned(reactor->arena, QOS_SIZE_MOST, 4096);
	if (error == 0 && m->buffer == NULL)
		error = -ENOMEM;
	if (error == 0)
		error = m->blk->ops->open_chan(m->blk, reactor, &m->chan);
	for (unsigned tenant = 0; tenant < GAUGE_TENANTS; tenant++)
		for (unsigned i = 0; i < GAUGE_DEPTH; i++) {
			m->ios[tenant][i].measuring = m;
			m->ios[tenant][i].blk.done = done;
			m->ios[tenant][i].blk.owner = &m->gauge.ios[tenant][i];
			m->gauge.ios[tenant][i].owner = &m->ios[tenant][i];
		}
	m->timer.fire = begin;
	if (error == 0)
		timer_set(&reactor->timers, &m->timer, BEGIN_NS);
	return error;
}

static bool
is_over(void *arg)
{
	const struct measuring *m = arg;

	return m->over || m->lab->why[0] != '\0';
}

/* In a world that is the direct rig's. */
static struct sim *
world_make(struct lab *lab, const struct lab_device *device)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	struct lab_world world;
	struct sim_options options;

	lab_setup_init(setup, LAB_DIRECT);
	*lab_setup_device(setup, "%s", device->spec) = *device;
	lab_note(lab, setup);
	world = lab_world_varied(lab, setup);
	options = lab_sim_options(lab, &world);
	return sim_create(lab->seed, &options);
}

bool
lab_calibrate(struct lab *lab, const struct lab_device *device, uint64_t time_ns, struct calibrate *calibrate)
{
	struct measuring *m = lab_alloc(lab, sizeof(*m));
	struct sim_process_options process = { .start = start, .arg = m };
	struct sim *sim = world_make(lab, device);
	struct sim_process *made;

	m->lab = lab;
	m->device = device;
	m->calibrate = calibrate;
	calibrate_init(calibrate, time_ns, false);
	lab_expect(lab, 1);
	made = sim_process_create(sim, "device", 1, &process);
	sim_run_until(sim, BEGIN_NS / 2, NULL, NULL);
	if (sim_process_running(made))
		sim_run_until(sim, UINT64_MAX, is_over, m);
	else
		lab_refuse(lab, "the device cannot be used: %s", strerrordesc_np(-sim_process_error(made)));
	lab_ran(lab, sim_hash(sim), sim_events(sim), time_ns);
	sim_destroy(sim);
	return lab->why[0] == '\0';
}
