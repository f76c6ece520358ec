/*
 * watch.c - staying with a discovery service, and being told when its log changes.
 *
 *     opened --ready--> reading --done--> listening --event--> reading
 *        ^                 \___________________/
 *        |                        lost, or not to be read
 *        +------ retry <------------'
 *
 * Here as in NVMe over Fabrics a discovery controller stays while it is kept
 * alive, and reports changes by an asynchronous event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/watch.h"
#include "wire/log.h"

enum { KATO_MS = 10000, RETRY_MS = 100, RETRY_MAX_MS = 10000 };

static void open_again(struct timer *timer);

static void
say(struct weir_discovery_watch *watch, enum weir_log_level level, const char *what)
{
	host_log(watch->host, level, "discovery at %s: %s",
	    address_text(watch->options.addr, watch->options.port).text, what);
}

/* Once, until it answers: it is tried again and again. */
static void
say_silent(struct weir_discovery_watch *watch, const char *why)
{
	say(watch, watch->silent ? WEIR_LOG_INFO : WEIR_LOG_WARNING, why);
	watch->silent = true;
}

static void
wait_and_retry(struct weir_discovery_watch *watch)
{
	struct reactor *reactor = host_reactor(watch->host);

	timer_set(&reactor->timers, &watch->retry, reactor->now_ns + watch->wait_ms * UINT64_C(1000000));
	watch->wait_ms = watch->wait_ms * 2 < RETRY_MAX_MS ? watch->wait_ms * 2 : RETRY_MAX_MS;
}

static void
read_log(struct weir_discovery_watch *watch)
{
	watch->again = false;
	watch->reading = true;
	log_reader_start(&watch->reader, watch->ctrlr);
}

static void
tell(struct weir_discovery_watch *watch)
{
	struct weir_discovery discovery = { .generation = watch->reader.head.generation };

	if (discovery_add(&discovery, &watch->reader, 0) == 0)
		watch->changed(watch->arg, &discovery);
	else
		host_log(watch->host, WEIR_LOG_ERROR, "%s", weir_error());
	weir_discovery_free(&discovery);
}

static void
begin_anew(struct weir_discovery_watch *watch, const char *why)
{
	say_silent(watch, why);
	ctrlr_destroy(watch->ctrlr);
	watch->ctrlr = NULL;
	watch->ready = watch->reading = false;
	wait_and_retry(watch);
}

/* Of a log that could not be read nobody would tell us again: its event has been heard. */
static void
on_read(struct log_reader *reader, int error, const char *why)
{
	struct weir_discovery_watch *watch = reader->owner;

	watch->reading = false;
	if (watch->ending != NULL)
		return;
	if (error != 0) {
		begin_anew(watch, why);
		return;
	}
	if (watch->silent)
		say(watch, WEIR_LOG_WARNING, "it answers now");
	watch->silent = false;
	watch->wait_ms = RETRY_MS;
	tell(watch);
	if (watch->again)
		read_log(watch);
}

static void
on_ready(struct ctrlr *ctrlr)
{
	struct weir_discovery_watch *watch = ctrlr_owner(ctrlr);

	watch->ready = true;
	read_log(watch);
}

static void
on_event(struct ctrlr *ctrlr, uint32_t dw0)
{
	struct weir_discovery_watch *watch = ctrlr_owner(ctrlr);

	if ((dw0 & 7) != NVME_EVENT_NOTICE || (dw0 >> 8 & 0xff) != NVME_NOTICE_DISCOVERY)
		return;
	if (watch->reading || !watch->ready)
		watch->again = true;
	else
		read_log(watch);
}

static void
on_lost(struct ctrlr *ctrlr, int error, const char *why)
{
	begin_anew(ctrlr_owner(ctrlr), why);
}

static void
open_again(struct timer *timer)
{
	struct weir_discovery_watch *watch = container_of(timer, struct weir_discovery_watch, retry);
	int rc = ctrlr_open(host_reactor(watch->host), &watch->options, &watch->ctrlr);

	if (rc == 0)
		return;
	watch->ctrlr = NULL;
	say_silent(watch, strerror(-rc));
	wait_and_retry(watch);
}

/* ---- the beginning and the end ---- */

struct watching {
	struct call call;
	struct weir_discovery_watch *watch;
};

static void
run_begin(struct call *call)
{
	open_again(&container_of(call, struct watching, call)->watch->retry);
	call_over(call);
}

int
weir_discovery_watch(struct weir_host *host, const char *uri, const struct weir_discovery_options *given,
    void (*changed)(void *arg, const struct weir_discovery *discovery), void *arg,
    struct weir_discovery_watch **out)
{
	struct weir_discovery_options options;
	struct ctrlr_options how;
	struct watching watching;
	struct weir_discovery_watch *watch;
	int rc = OPTIONS_TAKE(&options, given);

	if (rc == 0)
		rc = discovery_find(host, uri, &options, &how);
	if (rc != 0)
		return rc;
	watch = calloc(1, sizeof(*watch));
	if (watch == NULL)
		return lib_fail(-ENOMEM, "there is no memory to watch a discovery service");
	watch->host = host;
	watch->changed = changed;
	watch->arg = arg;
	watch->wait_ms = RETRY_MS;
	watch->retry.fire = open_again;
	watch->reader.done = on_read;
	watch->reader.owner = watch;
	watch->options = how;
	watch->options.kato_ms = KATO_MS;
	watch->options.events = NVME_ASYNC_DISCOVERY;
	watch->options.ready = on_ready;
	watch->options.lost = on_lost;
	watch->options.event = on_event;
	watch->options.owner = watch;
	watching.watch = watch;
	rc = call_make(host, &watching.call, run_begin);
	if (rc != 0) {
		free(watch);
		return rc;
	}
	pthread_mutex_lock(&host->lock);
	list_push(&host->watches, &watch->node);
	pthread_mutex_unlock(&host->lock);
	*out = watch;
	return 0;
}

static void
on_closed(void *owner)
{
	struct weir_discovery_watch *watch = owner;

	call_over(watch->ending);
}

static void
run_end(struct call *call)
{
	struct weir_discovery_watch *watch = container_of(call, struct watching, call)->watch;

	watch->ending = call;
	timer_clear(&host_reactor(watch->host)->timers, &watch->retry);
	if (watch->ready) {
		ctrlr_close(watch->ctrlr, on_closed);
		return;
	}
	if (watch->ctrlr != NULL)
		ctrlr_destroy(watch->ctrlr);
	call_over(call);
}

void
weir_discovery_unwatch(struct weir_discovery_watch *watch)
{
	struct watching watching = { .watch = watch };

	if (watch == NULL)
		return;
	assert(!host_is_service(watch->host));
	pthread_mutex_lock(&watch->host->lock);
	list_remove(&watch->node);
	pthread_mutex_unlock(&watch->host->lock);
	(void)call_make(watch->host, &watching.call, run_end);
	log_reader_end(&watch->reader);
	free(watch);
}
