/*
 * weir/weir.h - all of libweir.
 */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/discovery.h>
#include <weir/host.h>
#include <weir/identify.h>
#include <weir/limiter.h>
#include <weir/log.h>
#include <weir/names.h>
#include <weir/ordered.h>
#include <weir/queue.h>
#include <weir/status.h>
#include <weir/subsys.h>
#include <weir/uri.h>
#include <weir/view.h>
#include <weir/volume.h>

#endif
