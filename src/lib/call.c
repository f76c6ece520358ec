/*
 * call.c - how does a thread have something done on the service thread, and wait for its end?
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/internal.h"

bool
host_is_service(const struct weir_host *host)
{
	return pthread_equal(pthread_self(), host->service) != 0;
}

static void
run(struct rt_call *rt_call, struct reactor *reactor)
{
	struct call *call = container_of(rt_call, struct call, rt);

	call->run(call);
}

void
call_says(struct call *call, int error, const char *format, ...)
{
	va_list args;

	call->error = error;
	va_start(args, format);
	vsnprintf(call->why, sizeof(call->why), format, args);
	va_end(args);
}

void
call_over(struct call *call)
{
	sem_post(&call->over);
}

int
call_make(struct weir_host *host, struct call *call, void (*what)(struct call *call))
{
	if (host_is_service(host))
		return lib_fail(-EDEADLK, "this cannot be called from a callback of the service thread");
	call->host = host;
	call->run = what;
	call->error = 0;
	call->why[0] = '\0';
	call->rt.run = run;
	sem_init(&call->over, 0, 0);
	rt_call(host->rt, 0, &call->rt);
	while (sem_wait(&call->over) != 0)
		; /* a signal was handled */
	sem_destroy(&call->over);
	return call->error != 0 ? lib_fail(call->error, "%s", call->why) : 0;
}
