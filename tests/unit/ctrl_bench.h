/*
 * ctrl_bench.h - a controller under test: asked, and what it said.
 */
#ifndef TESTS_CTRL_BENCH_H
#define TESTS_CTRL_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ctrl/ctrl.h"
#include "wire/feature.h"
#include "wire/identify.h"
#include "wire/log.h"

#define NO_EVENT UINT32_MAX

extern const struct ns_info namespaces[2]; /* NSIDs 1 and 3 */
extern const struct portal_info portals[2];
extern const struct subsys_info nvm, discovery;

/* A snapshot that a test may write to. */
struct snapshot {
	struct subsys_info subsys;
	struct ns_info ns[CTRL_NS_MAX];
	struct ana_group ana[CTRL_ANA_MAX];
};

/* A controller, and what was said last. */
struct bench {
	struct ctrl ctrl;
	struct ctrl_reply reply;
	struct ctrl_stats stats;
	const struct eventlog *events;
	const uint64_t *there, *attached;
	bool ptpl;
	const struct weir_log_view *view;
	uint64_t now_ns;
	uint8_t out[CTRL_PAGE_MAX];
	struct snapshot snapshots[2];
};

struct nvme_connect_data connect_data(const struct subsys_info *subsys);
void property_set(struct bench *b, uint32_t ofst, uint64_t value);
uint64_t property_get(struct bench *b, uint32_t ofst, uint8_t attrib);
struct bench *bench_disabled(const struct subsys_info *subsys);
struct bench *bench_enabled(const struct subsys_info *subsys);
enum nvme_sc admin(struct bench *b, uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11, uint32_t length);
enum nvme_sc identify(struct bench *b, uint32_t cns, uint32_t nsid);
enum nvme_sc get_log_at(struct bench *b, uint32_t lid, uint32_t bytes, uint64_t offset);
enum nvme_sc get_log(struct bench *b, uint32_t lid, uint32_t bytes);
enum nvme_sc set_feature(struct bench *b, uint32_t cdw10, uint32_t value);
enum nvme_sc get_feature(struct bench *b, uint32_t cdw10, uint32_t value, uint32_t length);
/* A copy of the controller's snapshot, to be changed and given to bench_update(), which spoils the old one. */
struct snapshot *bench_copy(struct bench *b);
void bench_update(struct bench *b, const struct snapshot *next);
bool hold(struct bench *b, uint16_t cid); /* an Asynchronous Event Request */
uint32_t event(struct bench *b);          /* DW0 of the next one that completes, or NO_EVENT */
bool all_zero(const uint8_t *p, size_t bytes);

#endif
