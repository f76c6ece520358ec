/*
 * identify.h - the data structures of Identify (NVMe Base 2.0, 5.17; NVM
 * Command Set 1.0, 4.1.5).
 *
 * Layouts only: what the fields hold is for the controller to say and for the
 * host to judge.  Fields of features that Weir has not are left in the
 * reserved bytes around them.
 */
#ifndef WEIR_WIRE_IDENTIFY_H
#define WEIR_WIRE_IDENTIFY_H

#include <assert.h>
#include <stddef.h>

#include "base/bytes.h"

enum { NVME_IDENTIFY_LEN = 4096 };

/* CNS: what an Identify asks for (Base 2.0, figure 273). */
enum nvme_cns {
	NVME_CNS_NS = 0x00,
	NVME_CNS_CTRL = 0x01,
	NVME_CNS_NS_ACTIVE_LIST = 0x02,
	NVME_CNS_NS_DESCRIPTORS = 0x03,
	NVME_CNS_CSI_NS = 0x05,
	NVME_CNS_CSI_CTRL = 0x06,
	NVME_CNS_CSI_NS_ACTIVE_LIST = 0x07,
	NVME_CNS_CSI_INDEPENDENT_NS = 0x08,
	NVME_CNS_NS_ALLOCATED_LIST = 0x10,
	NVME_CNS_NS_ALLOCATED = 0x11,
	NVME_CNS_NS_CTRL_LIST = 0x12,
	NVME_CNS_CTRL_LIST = 0x13,
	NVME_CNS_CSI_NS_ALLOCATED_LIST = 0x1a,
	NVME_CNS_CSI_NS_ALLOCATED = 0x1b,
	NVME_CNS_COMMAND_SETS = 0x1c,
};

enum { NVME_CSI_NVM = 0 };

struct nvme_id_power_state {
	le16 mp; /* maximum power, centiwatts */
	uint8_t reserved2[30];
};
static_assert(sizeof(struct nvme_id_power_state) == 32, "power state descriptor");

struct nvme_identify_ctrl {
	le16 vid, ssvid;
	char sn[20], mn[40], fr[8]; /* ASCII padded with spaces */
	uint8_t rab, ieee[3], cmic, mdts;
	le16 cntlid;
	le32 ver, rtd3r, rtd3e, oaes, ctratt;
	uint8_t reserved100[11], cntrltype, fguid[16];
	uint8_t reserved128[128];
	le16 oacs;
	uint8_t acl, aerl, frmw, lpa, elpe, npss, avscc, apsta;
	le16 wctemp, cctemp;
	uint8_t reserved270[10];
	le128 tnvmcap, unvmcap;
	uint8_t reserved312[8];
	le16 kas; /* 100 ms */
	uint8_t reserved322[20];
	uint8_t anatt, anacap;
	le32 anagrpmax, nanagrpid;
	le32 pels; /* 64 KiB */
	uint8_t reserved356[156];
	uint8_t sqes, cqes;
	le16 maxcmd;
	le32 nn;
	le16 oncs, fuses;
	uint8_t fna, vwc;
	le16 awun, awupf;
	uint8_t icsvscc, nwpc;
	le16 acwu, cdfs;
	le32 sgls, mnan;
	uint8_t reserved544[224];
	char subnqn[256];
	uint8_t reserved1024[768];
	le32 ioccsz, iorcsz; /* 16 bytes */
	le16 icdoff;
	uint8_t fcatt, msdbd;
	le16 ofcs;
	uint8_t dctype, reserved1807[241];
	struct nvme_id_power_state psd[32];
	uint8_t vendor[1024];
};
static_assert(sizeof(struct nvme_identify_ctrl) == NVME_IDENTIFY_LEN, "Identify Controller");
static_assert(offsetof(struct nvme_identify_ctrl, sn) == 4, "SN");
static_assert(offsetof(struct nvme_identify_ctrl, cmic) == 76, "CMIC");
static_assert(offsetof(struct nvme_identify_ctrl, cntlid) == 78, "CNTLID");
static_assert(offsetof(struct nvme_identify_ctrl, ctratt) == 96, "CTRATT");
static_assert(offsetof(struct nvme_identify_ctrl, cntrltype) == 111, "CNTRLTYPE");
static_assert(offsetof(struct nvme_identify_ctrl, oacs) == 256, "OACS");
static_assert(offsetof(struct nvme_identify_ctrl, wctemp) == 266, "WCTEMP");
static_assert(offsetof(struct nvme_identify_ctrl, kas) == 320, "KAS");
static_assert(offsetof(struct nvme_identify_ctrl, anatt) == 342, "ANATT");
static_assert(offsetof(struct nvme_identify_ctrl, sqes) == 512, "SQES");
static_assert(offsetof(struct nvme_identify_ctrl, vwc) == 525, "VWC");
static_assert(offsetof(struct nvme_identify_ctrl, sgls) == 536, "SGLS");
static_assert(offsetof(struct nvme_identify_ctrl, subnqn) == 768, "SUBNQN");
static_assert(offsetof(struct nvme_identify_ctrl, ioccsz) == 1792, "IOCCSZ");
static_assert(offsetof(struct nvme_identify_ctrl, ofcs) == 1804, "OFCS");
static_assert(offsetof(struct nvme_identify_ctrl, psd) == 2048, "PSD");
static_assert(offsetof(struct nvme_identify_ctrl, vendor) == 3072, "vendor specific");

enum nvme_cmic { NVME_CMIC_MULTI_PORT = 1, NVME_CMIC_MULTI_CTRL = 2, NVME_CMIC_ANA = 1 << 3 };
enum nvme_anacap { NVME_ANACAP_STATES = 0x1f /* each of the five */, NVME_ANACAP_GROUP_CHOSEN = 1 << 7 };
enum nvme_oacs { NVME_OACS_NS_MANAGEMENT = 1 << 3 };
enum nvme_cntrltype { NVME_CNTRLTYPE_IO = 1, NVME_CNTRLTYPE_DISCOVERY = 2 };
enum nvme_lpa { NVME_LPA_EFFECTS = 1 << 1, NVME_LPA_EXTENDED = 1 << 2, NVME_LPA_PERSISTENT = 1 << 4,
	NVME_LPA_PAGES = 1 << 5 };
enum nvme_oncs {
	NVME_ONCS_COMPARE = 1 << 0,
	NVME_ONCS_WRITE_UNCORRECTABLE = 1 << 1,
	NVME_ONCS_DSM = 1 << 2,
	NVME_ONCS_WRITE_ZEROES = 1 << 3,
	NVME_ONCS_SAVE_SELECT = 1 << 4,
	NVME_ONCS_RESERVATIONS = 1 << 5,
	NVME_ONCS_TIMESTAMP = 1 << 6,
	NVME_ONCS_VERIFY = 1 << 7,
	NVME_ONCS_COPY = 1 << 8,
};
enum nvme_vwc { NVME_VWC_PRESENT = 1, NVME_VWC_FLUSH_ALL = 3 << 1 };
enum nvme_nwpc { NVME_NWPC_PROTECT = 1, NVME_NWPC_POWER_CYCLE = 2, NVME_NWPC_PERMANENT = 4 };
enum nvme_fcatt { NVME_FCATT_STATIC = 1 };
enum nvme_ofcs { NVME_OFCS_DISCONNECT = 1 };
#define NVME_CTRATT_HOSTID128 (UINT32_C(1) << 0)
#define NVME_CTRATT_TBKAS (UINT32_C(1) << 6)
#define NVME_SGLS_BYTE_ALIGNED UINT32_C(1)
#define NVME_SGLS_DWORD_ALIGNED UINT32_C(2)
#define NVME_SGLS_OFFSET (UINT32_C(1) << 20)
#define NVME_SGLS_TRANSPORT (UINT32_C(1) << 21)

struct nvme_lba_format {
	le16 ms;
	uint8_t lbads, rp; /* log2 of the block size in bytes */
};
static_assert(sizeof(struct nvme_lba_format) == 4, "LBA format");

struct nvme_identify_ns { /* CNS 00h */
	le64 nsze, ncap, nuse; /* blocks */
	uint8_t nsfeat, nlbaf, flbas, mc, dpc, dps, nmic, rescap, fpi, dlfeat;
	le16 nawun, nawupf, nacwu, nabsn, nabo, nabspf, noiob;
	uint8_t nvmcap[16];
	le16 npwg, npwa, npdg, npda, nows, mssrl;
	le32 mcl;
	uint8_t msrc, reserved81[11];
	le32 anagrpid;
	uint8_t reserved96[3], nsattr;
	le16 nvmsetid, endgid;
	uint8_t nguid[16], eui64[8];
	struct nvme_lba_format lbaf[64];
	uint8_t reserved384[8]; /* vendor specific too, but read by some as LBSTM */
	uint8_t vendor[3704];
};
static_assert(sizeof(struct nvme_identify_ns) == NVME_IDENTIFY_LEN, "Identify Namespace");
static_assert(offsetof(struct nvme_identify_ns, nsfeat) == 24, "NSFEAT");
static_assert(offsetof(struct nvme_identify_ns, dlfeat) == 33, "DLFEAT");
static_assert(offsetof(struct nvme_identify_ns, nvmcap) == 48, "NVMCAP");
static_assert(offsetof(struct nvme_identify_ns, npwg) == 64, "NPWG");
static_assert(offsetof(struct nvme_identify_ns, anagrpid) == 92, "ANAGRPID");
static_assert(offsetof(struct nvme_identify_ns, nsattr) == 99, "NSATTR");
static_assert(offsetof(struct nvme_identify_ns, nguid) == 104, "NGUID");
static_assert(offsetof(struct nvme_identify_ns, lbaf) == 128, "LBAF");
static_assert(offsetof(struct nvme_identify_ns, vendor) == 392, "vendor specific");

enum nvme_nmic { NVME_NMIC_SHARED = 1 };
enum nvme_rescap { NVME_RESCAP_PTPL = 1, NVME_RESCAP_TYPES = 0x7e /* each of the six */, NVME_RESCAP_IEKEY_1_3 = 0x80 };
enum nvme_nsattr { NVME_NSATTR_PROTECTED = 1 };
enum nvme_nsfeat { NVME_NSFEAT_THIN = 1, NVME_NSFEAT_ATOMICS = 2, NVME_NSFEAT_OPTIMAL = 1 << 4 };
enum { NVME_FUSES_COMPARE_WRITE = 1, NVME_OCFS_FORMAT0 = 1 };
enum nvme_dlfeat { NVME_DLFEAT_ZEROES = 1, NVME_DLFEAT_DEAC = 1 << 3 };

struct nvme_ns_descriptor { /* CNS 03h: NIDL bytes follow; the list ends with NIDL 0 */
	uint8_t nidt, nidl, reserved2[2];
};
static_assert(sizeof(struct nvme_ns_descriptor) == 4, "namespace identification descriptor");

enum nvme_nidt { NVME_NIDT_EUI64 = 1, NVME_NIDT_NGUID = 2, NVME_NIDT_UUID = 3, NVME_NIDT_CSI = 4 };

struct nvme_identify_ctrl_nvm { /* CNS 06h, CSI 0 */
	uint8_t vsl, wzsl, wusl, dmrl;
	le32 dmrsl;
	le64 dmsl;
	uint8_t reserved16[4080];
};
static_assert(sizeof(struct nvme_identify_ctrl_nvm) == NVME_IDENTIFY_LEN, "NVM Identify Controller");

struct nvme_identify_ns_independent { /* CNS 08h */
	uint8_t nsfeat, nmic, rescap, fpi;
	le32 anagrpid;
	uint8_t nsattr, reserved9;
	le16 nvmsetid, endgid;
	uint8_t nstat, reserved15[4081];
};
static_assert(sizeof(struct nvme_identify_ns_independent) == NVME_IDENTIFY_LEN, "CNS 08h");
static_assert(offsetof(struct nvme_identify_ns_independent, nstat) == 14, "NSTAT");

enum nvme_nstat { NVME_NSTAT_READY = 1 };
enum { NVME_NS_LIST_MAX = 1024 };

struct nvme_ctrl_ids { /* CNS 12h, 13h */
	le16 count, cntlid[2047];
};
static_assert(sizeof(struct nvme_ctrl_ids) == NVME_IDENTIFY_LEN, "controller list");

#endif
