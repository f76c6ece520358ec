#include "ctrl_bench.h"

const struct ns_info namespaces[2] = {
	{ .nsid = 1, .block_size = 4096, .blocks = 1000, .nguid = { 1 }, .uuid = { 2 },
	  .volatile_cache = true, .trim_zeroes = true, .shared = true, .cache_life = 0x1122334455667788 },
	{ .nsid = 3, .block_size = 512, .blocks = 77, .nguid = { 3 }, .uuid = { 4 },
	  .shared = true },
};

const struct subsys_info nvm = {
	.nqn = "nqn.2026-11.local.weir:test", .serial = "S1", .model = "Weir", .firmware = "0.1",
	.ns = namespaces, .ns_count = 2, .io_queues_max = 8, .entries_max = 1024,
	.incapsule_max = 8192, .mdts_shift = 8,
};

const struct portal_info portals[2] = {
	{ .traddr = "192.0.2.1", .trsvcid = "4420" }, { .traddr = "2001:db8::1", .trsvcid = "4420", .ipv6 = true },
};
static const struct subsys_shown shown[] = { { &nvm, UINT32_MAX } };

const struct subsys_info discovery = {
	.nqn = NVME_DISCOVERY_NQN, .serial = "S0", .model = "Weir", .firmware = "0.1", .discovery = true,
	.mdts_shift = 8, .portals = portals, .portal_count = 2, .shown = shown, .shown_count = 1, .genctr = 7,
};

struct nvme_connect_data
connect_data(const struct subsys_info *subsys)
{
	struct nvme_connect_data data = { .hostid = { 9 }, .cntlid = le16_of(NVME_CNTLID_DYNAMIC) };

	strcpy(data.hostnqn, "nqn.2014-08.org.nvmexpress:uuid:host");
	memcpy(data.subnqn, subsys->nqn, sizeof(data.subnqn));
	return data;
}

void
property_set(struct bench *b, uint32_t ofst, uint64_t value)
{
	struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_PROPERTY_SET, .ofst = le32_of(ofst), .value = le64_of(value),
	};

	ctrl_property(&b->ctrl, &sqe, &b->reply);
}

uint64_t
property_get(struct bench *b, uint32_t ofst, uint8_t attrib)
{
	struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_PROPERTY_GET, .attrib = attrib, .ofst = le32_of(ofst),
	};

	ctrl_property(&b->ctrl, &sqe, &b->reply);
	return b->reply.dw0 | (uint64_t)b->reply.dw1 << 32;
}

struct bench *
bench_disabled(const struct subsys_info *subsys)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct nvme_connect_data data = connect_data(subsys);

	ctrl_init(&b->ctrl, subsys, 5, 1, &data, 5000, 0);
	return b;
}

struct bench *
bench_enabled(const struct subsys_info *subsys)
{
	struct bench *b = bench_disabled(subsys);

	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_int_equal(b->reply.action, CTRL_ENABLED);
	return b;
}

enum nvme_sc
admin(struct bench *b, uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11, uint32_t length)
{
	struct nvme_sqe sqe = {
		.opcode = opcode, .flags = NVME_PSDT_SGL, .cid = le16_of(0x4001), .nsid = le32_of(nsid),
		.sgl1 = { .length = le32_of(length), .id = NVME_SGL_TRANSPORT },
		.cdw10 = le32_of(cdw10), .cdw11 = le32_of(cdw11),
	};
	struct ctrl_given given = { &b->stats, b->events, b->there, b->attached, 0, b->ptpl, b->view };

	memset(b->out, 0xa5, sizeof(b->out));
	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, &given, b->now_ns, &b->reply);
	return nvme_sc(b->reply.status);
}

enum nvme_sc
identify(struct bench *b, uint32_t cns, uint32_t nsid)
{
	return admin(b, NVME_ADMIN_IDENTIFY, nsid, cns, 0, NVME_IDENTIFY_LEN);
}

enum nvme_sc
get_log_at(struct bench *b, uint32_t lid, uint32_t bytes, uint64_t offset)
{
	uint32_t dwords = bytes / 4 - 1;
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_GET_LOG_PAGE, .flags = NVME_PSDT_SGL,
		.sgl1 = { .length = le32_of(bytes), .id = NVME_SGL_TRANSPORT },
		.cdw10 = le32_of(lid | dwords << 16), .cdw11 = le32_of(dwords >> 16),
		.cdw12 = le32_of((uint32_t)offset), .cdw13 = le32_of((uint32_t)(offset >> 32)),
	};
	struct ctrl_given given = { &b->stats, b->events, b->there, b->attached, 0, b->ptpl, b->view };

	memset(b->out, 0xa5, sizeof(b->out));
	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, &given, b->now_ns, &b->reply);
	return nvme_sc(b->reply.status);
}

enum nvme_sc
get_log(struct bench *b, uint32_t lid, uint32_t bytes)
{
	return get_log_at(b, lid, bytes, 0);
}

enum nvme_sc
set_feature(struct bench *b, uint32_t cdw10, uint32_t value)
{
	return admin(b, NVME_ADMIN_SET_FEATURES, 0, cdw10, value, 0);
}

enum nvme_sc
get_feature(struct bench *b, uint32_t cdw10, uint32_t value, uint32_t length)
{
	return admin(b, NVME_ADMIN_GET_FEATURES, 0, cdw10, value, length);
}

struct snapshot *
bench_copy(struct bench *b)
{
	struct snapshot *copy = &b->snapshots[b->ctrl.subsys == &b->snapshots[0].subsys];

	copy->subsys = *b->ctrl.subsys;
	for (uint32_t i = 0; i < copy->subsys.ns_count; i++)
		copy->ns[i] = b->ctrl.subsys->ns[i];
	copy->subsys.ns = copy->ns;
	for (uint32_t i = 0; i < copy->subsys.ana_count; i++)
		copy->ana[i] = b->ctrl.subsys->ana[i];
	copy->subsys.ana = copy->ana;
	return copy;
}

void
bench_update(struct bench *b, const struct snapshot *next)
{
	struct subsys_diff diff = { .old = NULL };

	ctrl_update(&b->ctrl, &next->subsys, &diff);
	memset(&b->snapshots[next == &b->snapshots[0]], 0xdd, sizeof(*next));
}

bool
hold(struct bench *b, uint16_t cid)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ASYNC_EVENT, .flags = NVME_PSDT_SGL, .cid = le16_of(cid) };

	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, NULL, 0, &b->reply);
	return b->reply.held;
}

uint32_t
event(struct bench *b)
{
	uint32_t dw0;
	uint16_t cid;

	return ctrl_event(&b->ctrl, &cid, &dw0) ? dw0 : NO_EVENT;
}

bool
all_zero(const uint8_t *p, size_t bytes)
{
	while (bytes > 0 && *p == 0) {
		p++;
		bytes--;
	}
	return bytes == 0;
}
