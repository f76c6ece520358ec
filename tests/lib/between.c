#include "between.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

void
between_start(struct between *between, const struct served *served)
{
	struct rt_options options = rt_options_default();

	options.attended = true;
	*between = (struct between){ .orderer.log = 1 };
	between->forger = (struct forger){
		.host = "127.0.0.1", .target = "127.0.0.1", .port = served->port, .any_port = true,
		.owner = &between->orderer,
	};
	assert_int_equal(rt_create(&between->rt, &options), 0);
	assert_int_equal(orderer_start(rt_reactor(between->rt, 0), &between->forger), 0);
	snprintf(between->uri, sizeof(between->uri), "nvme+tcp://127.0.0.1:%u/%s", between->forger.own_port,
	    SERVED_NQN);
	assert_int_equal(rt_start(between->rt), 0);
}

void
between_stop(struct between *between)
{
	rt_end(between->rt);
	rt_destroy(between->rt);
}
