/*
 * serve.c - `weir serve`: the target over the kernel's world.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd.h"
#include "control.h"
#include "serve.h"
#include "survey.h"
#include "sys/clock.h"
#include "sys/line.h"

enum {
	NS_PER_MS = 1000 * 1000,
	LOOK_NS = 10 * 1000 * 1000,  /* how often it is looked whether disks have answered */
	COUNT_NS = 50 * 1000 * 1000, /* and then for the reactors to say what they did */
};

static_assert(TARGET_MAIL_MAX(CONF_CONNECTIONS_MAX) <= RT_MAIL_MAX, "reactors can keep what they may have to say");

struct serve {
	struct serve_options options;
	char default_spec[512];

	struct rt *rt;
	struct arena arena;
	struct serving serving;
	struct control control;
	struct timer ready, stop_limit, look;
	int failed;            /* negative errno: what ends it though nobody asked */
	struct errand last;    /* when it is done, all that were given before it are, but those apart */
	bool drained;
	uint64_t stop_count;
	bool left;             /* it ends before all that was begun is done */
};

/* ---- statistics ---- */

static void
print_stats(void *owner, const struct target_stats *sum)
{
	(void)owner;
	line_print("{\"now_ns\":%" PRIu64 ",\"turns\":%" PRIu64 ",\"busy_turns\":%" PRIu64 ",\"busy_ns\":%" PRIu64
	    ",\"syscalls\":%" PRIu64 ",\"reads\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"connections\":%" PRIu64 "}\n",
	    clock_now_ns(), sum->turns, sum->busy_turns, sum->busy_ns, sum->syscalls, sum->reads, sum->writes,
	    sum->connections);
}

/* ---- volumes ---- */

static int
default_volume(struct serve *serve)
{
	const char *said = serve->options.data_dir, *base;
	struct served *told = &serve->options.told;
	char dir[200];
	int rc;

	if (said != NULL)
		snprintf(dir, sizeof(dir), "%s", said);
	else if ((base = getenv("XDG_DATA_HOME")) != NULL && base[0] == '/')
		snprintf(dir, sizeof(dir), "%s/weir", base);
	else if ((base = getenv("HOME")) != NULL && base[0] == '/')
		snprintf(dir, sizeof(dir), "%s/.local/share/weir", base);
	else
		snprintf(dir, sizeof(dir), "/var/lib/weir");
	rc = said != NULL && strlen(said) >= sizeof(dir) ? -ENAMETOOLONG : folder_make(dir);
	if (rc != 0) {
		fprintf(stderr, "weir: cannot make the data directory %s: %s\n", dir, strerror(-rc));
		return rc;
	}
	snprintf(serve->default_spec, sizeof(serve->default_spec), "file:%s/volume.img,size=1G", dir);
	told->specs[told->spec_count++] = serve->default_spec;
	return 0;
}

/* What is served first: as the file says, or the options. */
static int
configure(struct serve *serve, struct configured *first)
{
	struct served *told = &serve->options.told;

	if (serve->options.config == NULL) {
		if (listen_resolve(told->listen, told->listen_count) != 0 ||
		    listen_inherit(told->listen, &told->listen_count, &serve->options.rt) != 0)
			return -EINVAL;
		listen_by_default(told->listen, &told->listen_count);
		if (told->spec_count == 0 && default_volume(serve) != 0)
			return -EINVAL;
		if (served_conf(told, first) != 0)
			return -EINVAL;
	} else if (config_read(&first->arena, serve->options.config, &first->conf) != 0 ||
	    listen_inherit_conf(first->conf, &serve->options.rt) != 0) {
		return -EINVAL;
	}
	return first->conf->state_dir != NULL ? state_dir_take(first->conf->state_dir) : 0;
}

/* ---- life ---- */

static void
no_errand(struct errand *errand)
{
	(void)errand;
}

static void
stop_or_look(struct timer *timer)
{
	struct serve *serve = container_of(timer, struct serve, look);
	struct reactor *reactor = rt_reactor(serve->rt, 0);

	/* Who asked for a configuration that is being applied is told what became of it. */
	if (serving_waits(&serve->serving) || serving_applies(&serve->serving) || control_waits(&serve->control))
		timer_set(&reactor->timers, timer, reactor->now_ns + LOOK_NS);
	else
		rt_stop(serve->rt);
}

static void
errands_done(struct errand *errand)
{
	struct serve *serve = container_of(errand, struct serve, last);

	serve->look.fire = stop_or_look;
	stop_or_look(&serve->look);
}

/* Errands may take as long as a disk does, and are waited for while signals and the time are still looked at. */
static void
drained(void *owner)
{
	struct serve *serve = owner;
	struct reactor *reactor = rt_reactor(serve->rt, 0);

	serve->drained = true;
	serve->last = (struct errand){ .run = no_errand, .done = errands_done };
	reactor->world->errand(reactor, &serve->last);
}

/* Everything that was promised to a host is on its way or on the disk: that is not lost by leaving at once. */
static void
leave_now(void)
{
	fflush(stdout);
	_exit(EXIT_LEFT);
}

static void
counted(void *owner, const struct target_stats *sum)
{
	print_stats(owner, sum);
	leave_now();
}

static void
count_expired(struct timer *timer)
{
	(void)timer;
	leave_now();
}

/* Without waiting for more than the counters, which a reactor that stands still does not say. */
static void
leave(struct serve *serve, struct reactor *reactor)
{
	if (!serve->options.stats || serve->left)
		leave_now();
	serve->left = true;
	serve->stop_limit.fire = count_expired;
	timer_set(&reactor->timers, &serve->stop_limit, reactor->now_ns + COUNT_NS);
	target_ask_stats(serve->serving.target, counted, serve);
}

static void
stop_expired(struct timer *timer)
{
	struct serve *serve = container_of(timer, struct serve, stop_limit);

	/* A host whose wish is at a disk is waited for, too. */
	line_say(!serve->drained && !serving_waits(&serve->serving) ?
	    "weir: a volume did not finish its I/O in time; leaving it\n" :
	    surveys_wait(&serve->serving) || control_waits(&serve->control) ?
	    "weir: a disk did not answer in time; leaving it\n" :
	    "weir: files were not made or removed in time; leaving them\n");
	leave(serve, rt_reactor(serve->rt, 0));
}

static void
stop_begin(struct serve *serve, struct reactor *reactor)
{
	serve->stop_limit.fire = stop_expired;
	timer_set(&reactor->timers, &serve->stop_limit,
	    reactor->now_ns + (uint64_t)serve->options.stop_ms * NS_PER_MS);
	control_stop(&serve->control);
	target_drain(serve->serving.target, drained, serve);
}

static void
on_signal(struct reactor *reactor, int signal)
{
	struct serve *serve = rt_owner(rt_of(reactor));

	if (signal == SIGUSR1) {
		if (serve->options.stats)
			target_ask_stats(serve->serving.target, print_stats, serve);
	} else if (signal == SIGHUP) {
		control_reload(&serve->control, serve->options.config);
	} else if (signal == SIGTERM || signal == SIGINT) {
		if (serve->stop_count++ == 0)
			stop_begin(serve, reactor);
		else
			leave(serve, reactor); /* asked twice */
	}
}

/* In the first turn of reactor 0, which comes when all threads have been made. */
static void
say_ready(struct timer *timer)
{
	struct serve *serve = container_of(timer, struct serve, ready);

	puts("weir: ready");
	if (fflush(stdout) == 0)
		return;
	/* Who waits for that line would wait for ever. */
	serve->failed = -errno;
	line_say("weir: cannot write to standard output: %s\n", strerror(-serve->failed));
	if (serve->stop_count++ == 0)
		stop_begin(serve, rt_reactor(serve->rt, 0));
}

static int
start(struct serve *serve, struct configured *first)
{
	char why[256];
	int rc = serving_make(&serve->serving, rt_reactor(serve->rt, 0), &serve->arena, first, why);
	struct target *target = serve->serving.target;

	for (unsigned i = serve->options.rt.reactors; rc == 0 && i-- > 0;)
		rc = target_start(target, rt_reactor(serve->rt, i), why);
	if (rc == 0)
		rc = control_begin(&serve->control, &serve->serving, serve->options.config != NULL, why);
	serving_started(&serve->serving, rc == 0);
	if (rc != 0) {
		fprintf(stderr, "weir: %s\n", why);
		return rc;
	}
	listen_warn(first->conf, listen_opened(NULL, first->conf));
	config_warn(first->conf);
	for (uint32_t i = 0; i < first->conf->listener_count; i++) {
		const struct target_listen *listen = target_bound(target, i);

		printf(strchr(listen->host, ':') != NULL ? "weir: listening on [%s]:%u\n" :
		    "weir: listening on %s:%u\n", listen->host, listen->port);
	}
	if (serve->serving.order != NULL)
		printf("weir: ordered writes: their log is %s, which survives %s%s\n", first->conf->order_log.place,
		    serve->serving.order->survives, serve->serving.order->begun_anew ?
		    "; what it had is gone with an earlier start of the machine" : "");
	serve->ready.fire = say_ready;
	timer_set(&rt_reactor(serve->rt, 0)->timers, &serve->ready, rt_reactor(serve->rt, 0)->now_ns);
	return 0;
}

static void
stop(struct serve *serve)
{
	control_end(&serve->control);
	if (serve->serving.target != NULL)
		for (unsigned i = 0; i < serve->options.rt.reactors; i++)
			target_fini(serve->serving.target, rt_reactor(serve->rt, i));
	serving_end(&serve->serving);
	rt_destroy(serve->rt);
	arena_drop(&serve->arena);
}

static int
run(struct serve *serve, struct configured *first)
{
	const char *missing;
	int rc;

	serve->options.rt.missing = &missing;
	rc = rt_create(&serve->rt, &serve->options.rt);
	if (rc != 0) {
		fprintf(stderr, "weir: cannot start: there is no %s: %s\n", missing, strerror(-rc));
		configured_drop(first);
		return rc;
	}
	rc = start(serve, first);
	if (rc == 0) {
		rc = rt_run(serve->rt);
		if (rc != 0)
			fprintf(stderr, "weir: cannot run: %s\n", strerror(-rc));
		else
			rc = serve->failed;
		if (serve->options.stats) {
			struct target_stats sum;

			target_stats(serve->serving.target, &sum);
			print_stats(serve, &sum);
		}
	}
	stop(serve);
	return rc;
}

/* Connections and files that may be open at once: as many as the system lets us, and a word where that is too few. */
static void
raise_files(const struct conf *conf, unsigned reactors)
{
	uint64_t need = 64 + conf->connections_max + (uint64_t)reactors * RT_LINGER_MAX;
	struct rlimit limit;

	for (uint32_t i = 0; i < conf->subsys_count; i++)
		need += 3 * (uint64_t)(conf->subsys[i].ns_count + conf->subsys[i].pool_count);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < need)
		fprintf(stderr, "weir: warning: %" PRIu64 " connections and files may be needed, and %" PRIu64
		    " are allowed (ulimit -n)\n", need, (uint64_t)limit.rlim_cur);
}

/* As many as the configuration may come to have without being changed; the volumes of the operator are known. */
static int
explain_conf(struct explained *explained, struct arena *arena, const struct conf *conf)
{
	explained->volumes = 0;
	for (uint32_t i = 0; i < conf->subsys_count; i++) {
		explained->volumes += conf->subsys[i].ns_count + conf->subsys[i].pool_count;
		explained->spec_count += conf->subsys[i].ns_count;
		explained->shared += conf->qos.mode != CONF_QOS_OFF ? conf->subsys[i].pool_count : 0;
	}
	explained->order_log = conf->order_log.place != NULL;
	explained->order_slots = conf->order_log.slots;
	if (conf->connections_max > 0)
		explained->connections = conf->connections_max;
	explained->specs = arena_alloc(arena, (explained->spec_count + 1) * sizeof(*explained->specs));
	explained->spec_count = 0;
	for (uint32_t i = 0; explained->specs != NULL && i < conf->subsys_count; i++)
		for (uint32_t n = 0; n < conf->subsys[i].ns_count; n++) {
			char spec[CONF_SPEC];

			explained->shared += conf->subsys[i].ns[n].mode != CONF_QOS_OFF;
			conf_volume_spec(&conf->subsys[i].ns[n], spec);
			explained->specs[explained->spec_count] = arena_strdup(arena, spec);
			if (explained->specs[explained->spec_count++] == NULL)
				return -ENOMEM;
		}
	return explained->specs != NULL ? 0 : -ENOMEM;
}

static int
explain(struct serve_options *options)
{
	struct served *told = &options->told;
	struct explained explained = {
		.reactors = options->rt.reactors, .volumes = told->spec_count > 0 ? told->spec_count : 1,
		.connections = told->connections_max > 0 ? told->connections_max : CONF_DEFAULT_CONNECTIONS,
		.specs = told->specs, .spec_count = told->spec_count,
		.order_log = told->order_log != NULL, .order_slots = told->order_slots,
	};
	struct arena arena;
	struct conf *conf;
	int rc = 0;

	arena_init(&arena, 0);
	if (options->config != NULL && (rc = config_read(&arena, options->config, &conf)) == 0)
		rc = explain_conf(&explained, &arena, conf);
	if (rc == 0)
		rc = explain_memory(&explained);
	arena_drop(&arena);
	return rc == 0 ? EXIT_OK : EXIT_FAILED;
}

int
cmd_serve(int argc, char **argv)
{
	struct serve serve = { 0 };
	struct serve_options *options = &serve.options;
	struct configured *first;

	if (serve_options_parse(argc, argv, options) != 0)
		return EXIT_USAGE;
	if (options->explain)
		return explain(options);
	options->rt.reactor = (struct reactor_options){ SERVE_SMALL_BUFS, SERVE_LARGE_BUFS };
	options->rt.on_signal = on_signal;
	options->rt.owner = &serve;
	serve.control.path = options->control;
	first = configured_make();
	if (first == NULL)
		fprintf(stderr, "weir: out of memory\n");
	if (first == NULL || configure(&serve, first) != 0) {
		configured_drop(first);
		return EXIT_FAILED;
	}
	raise_files(first->conf, options->rt.reactors);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails its writes, not us */
	arena_init(&serve.arena, 0);
	if (run(&serve, first) != 0)
		return EXIT_FAILED;
	return serve.left ? EXIT_LEFT : EXIT_OK;
}
