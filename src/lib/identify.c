/*
 * identify.c - controllers and namespaces, decoded from Identify (weir/identify.h).
 */
#include <assert.h>
#include <string.h>

#include <weir/identify.h>

#include "lib/decode.h"
#include "wire/extension.h"
#include "wire/identify.h"

enum { PAGE_SHIFT = 12, UNIT = 16 /* bytes, of capsules */, KAS_MS = 100 };

/* 0's based, in a byte that holds less. */
static uint8_t
one_more(uint8_t value)
{
	return (uint8_t)(value < UINT8_MAX ? value + 1 : UINT8_MAX);
}

static uint32_t
in_units(le32 units)
{
	uint64_t bytes = (uint64_t)le32_get(units) * UNIT;

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* MDTS: pages of 4 KiB, as a power of two. */
static uint64_t
transfer_max(uint8_t mdts)
{
	if (mdts == 0)
		return 0;
	return mdts < 64 - PAGE_SHIFT ? UINT64_C(1) << (mdts + PAGE_SHIFT) : UINT64_MAX;
}

static void
decode_names(const struct nvme_identify_ctrl *id, struct weir_controller *controller)
{
	lib_text(controller->serial, sizeof(controller->serial), id->sn, sizeof(id->sn));
	lib_text(controller->model, sizeof(controller->model), id->mn, sizeof(id->mn));
	lib_text(controller->firmware, sizeof(controller->firmware), id->fr, sizeof(id->fr));
	lib_text(controller->subnqn, sizeof(controller->subnqn), id->subnqn, sizeof(id->subnqn));
	memcpy(controller->ieee, id->ieee, sizeof(controller->ieee));
	memcpy(controller->fguid, id->fguid, sizeof(controller->fguid));
}

static void
decode_limits(const struct nvme_identify_ctrl *id, struct weir_controller *controller)
{
	controller->transfer_max = transfer_max(id->mdts);
	controller->namespaces = le32_get(id->nn);
	controller->commands_max = le16_get(id->maxcmd);
	controller->ioccsz = in_units(id->ioccsz);
	controller->iorcsz = in_units(id->iorcsz);
	controller->icdoff = (uint32_t)le16_get(id->icdoff) * UNIT;
	controller->kas_ms = (uint32_t)le16_get(id->kas) * KAS_MS;
	controller->aborts = one_more(id->acl);
	controller->events = one_more(id->aerl);
	controller->log_entries_max = one_more(id->elpe);
	controller->anatt_s = id->anatt;
	controller->ana_group_max = le32_get(id->anagrpmax);
	controller->ana_groups = le32_get(id->nanagrpid);
	controller->capacity = lib_number(id->tnvmcap);
	controller->unallocated = lib_number(id->unvmcap);
	controller->warning_kelvin = le16_get(id->wctemp);
	controller->critical_kelvin = le16_get(id->cctemp);
	controller->awun = le16_get(id->awun) + UINT32_C(1);
	controller->awupf = le16_get(id->awupf) + UINT32_C(1);
	controller->acwu = le16_get(id->acwu) + UINT32_C(1);
}

static void
decode_capabilities(const struct nvme_identify_ctrl *id, struct weir_controller *controller)
{
	controller->multi_port = (id->cmic & NVME_CMIC_MULTI_PORT) != 0;
	controller->multi_controller = (id->cmic & NVME_CMIC_MULTI_CTRL) != 0;
	controller->ana = (id->cmic & NVME_CMIC_ANA) != 0;
	controller->anacap = id->anacap;
	controller->oacs = le16_get(id->oacs);
	controller->oncs = le16_get(id->oncs);
	controller->fuses = le16_get(id->fuses);
	controller->oaes = le32_get(id->oaes);
	controller->ctratt = le32_get(id->ctratt);
	controller->sgls = le32_get(id->sgls);
	controller->lpa = id->lpa;
	controller->vwc = id->vwc;
	controller->fna = id->fna;
	controller->fcatt = id->fcatt;
	controller->ofcs = le16_get(id->ofcs);
}

static void
decode_extension(const struct nvme_identify_ctrl *id, struct weir_controller *controller)
{
	static const char magic[4] = WEIR_MAGIC;
	struct weir_identify weir;

	memcpy(&weir, id->vendor, sizeof(weir));
	if (memcmp(weir.magic, magic, sizeof(magic)) != 0 ||
	    le16_get(weir.length) < offsetof(struct weir_identify, reserved12))
		return;
	controller->weir_version = le16_get(weir.version);
	controller->weir_capabilities = le32_get(weir.capabilities);
}

void
weir_controller_decode(const void *page, uint32_t version, struct weir_controller *controller)
{
	struct nvme_identify_ctrl id;

	memcpy(&id, page, sizeof(id));
	memset(controller, 0, sizeof(*controller));
	controller->vid = le16_get(id.vid);
	controller->ssvid = le16_get(id.ssvid);
	controller->cntlid = le16_get(id.cntlid);
	controller->version = version != 0 ? version : le32_get(id.ver);
	controller->type = id.cntrltype;
	decode_names(&id, controller);
	decode_limits(&id, controller);
	decode_capabilities(&id, controller);
	decode_extension(&id, controller);
}

/* ---- namespaces ---- */

/* Blocks of less than 512 bytes there are not: the format is none. */
static struct weir_lba_format
decode_format(const struct nvme_lba_format *lbaf)
{
	return (struct weir_lba_format){
		.block_size = lbaf->lbads >= 9 && lbaf->lbads < 32 ? UINT32_C(1) << lbaf->lbads : 0,
		.metadata = le16_get(lbaf->ms), .performance = lbaf->rp & 3,
	};
}

static void
decode_formats(const struct nvme_identify_ns *id, struct weir_namespace *ns)
{
	ns->formats = id->nlbaf < 64 ? id->nlbaf + 1u : 64;
	ns->format = id->flbas & 0xf;
	if (ns->formats > 16)
		ns->format |= (id->flbas >> 5 & 3u) << 4;
	for (unsigned i = 0; i < ns->formats; i++)
		ns->lba_format[i] = decode_format(&id->lbaf[i]);
	ns->block_size = ns->lba_format[ns->format].block_size; /* zeros where it has one that there is not */
	ns->metadata = ns->lba_format[ns->format].metadata;
}

/* 0's based, but that 0 is the value of the controller. */
static uint32_t
atomic(le16 blocks)
{
	return le16_get(blocks) != 0 ? le16_get(blocks) + UINT32_C(1) : 0;
}

/* Where NSFEAT says that they mean anything. */
static void
decode_sizes(const struct nvme_identify_ns *id, struct weir_namespace *ns)
{
	uint32_t normal = atomic(id->nawun), power_fail = atomic(id->nawupf);

	if ((id->nsfeat & NVME_NSFEAT_ATOMICS) != 0) {
		ns->atomic_blocks = normal < power_fail ? normal : power_fail;
		ns->compare_write_blocks = atomic(id->nacwu);
	}
	if ((id->nsfeat & NVME_NSFEAT_OPTIMAL) == 0)
		return;
	ns->write_granularity = le16_get(id->npwg) + UINT32_C(1);
	ns->write_alignment = le16_get(id->npwa) + UINT32_C(1);
	ns->deallocate_granularity = le16_get(id->npdg) + UINT32_C(1);
	ns->deallocate_alignment = le16_get(id->npda) + UINT32_C(1);
}

void
weir_namespace_decode(const void *page, uint32_t nsid, struct weir_namespace *ns)
{
	struct nvme_identify_ns id;

	memcpy(&id, page, sizeof(id));
	memset(ns, 0, sizeof(*ns));
	ns->nsid = nsid;
	ns->blocks = le64_get(id.nsze);
	ns->capacity_blocks = le64_get(id.ncap);
	ns->used_blocks = le64_get(id.nuse);
	ns->copy_max = le16_get(id.mssrl);
	ns->copy_total = le32_get(id.mcl);
	ns->copy_ranges = (uint16_t)(id.msrc + 1);
	ns->optimal_blocks = le16_get(id.noiob);
	ns->thin = (id.nsfeat & NVME_NSFEAT_THIN) != 0;
	ns->shared = (id.nmic & NVME_NMIC_SHARED) != 0;
	ns->protected_now = (id.nsattr & NVME_NSATTR_PROTECTED) != 0;
	ns->dlfeat = id.dlfeat;
	ns->rescap = id.rescap;
	ns->ana_group = le32_get(id.anagrpid);
	ns->cache_life = weir_cache_life(id.vendor);
	memcpy(ns->nguid, id.nguid, sizeof(ns->nguid));
	memcpy(ns->eui64, id.eui64, sizeof(ns->eui64));
	decode_formats(&id, ns);
	decode_sizes(&id, ns);
}

static void
fill(uint8_t *id, const uint8_t *from, size_t bytes)
{
	static const uint8_t none[16];

	assert(bytes <= sizeof(none));
	if (memcmp(id, none, bytes) == 0)
		memcpy(id, from, bytes);
}

void
weir_namespace_descriptors(const void *page, struct weir_namespace *ns)
{
	const uint8_t *bytes = page;
	struct nvme_ns_descriptor head;

	for (size_t at = 0; at + sizeof(head) <= NVME_IDENTIFY_LEN; at += sizeof(head) + head.nidl) {
		const uint8_t *id = bytes + at + sizeof(head);

		memcpy(&head, bytes + at, sizeof(head));
		if (head.nidl == 0 || at + sizeof(head) + head.nidl > NVME_IDENTIFY_LEN)
			return;
		if (head.nidt == NVME_NIDT_UUID && head.nidl == sizeof(ns->uuid))
			memcpy(ns->uuid, id, sizeof(ns->uuid));
		else if (head.nidt == NVME_NIDT_NGUID && head.nidl == sizeof(ns->nguid))
			fill(ns->nguid, id, sizeof(ns->nguid));
		else if (head.nidt == NVME_NIDT_EUI64 && head.nidl == sizeof(ns->eui64))
			fill(ns->eui64, id, sizeof(ns->eui64));
	}
}
