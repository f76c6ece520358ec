/*
 * weir/identify.h - controllers and namespaces, decoded from Identify (NVMe Base 2.0, 5.17).
 *
 * Decoders are given 4096 raw bytes as weir_subsys_identify() reads them, at
 * any address, and cannot fail: what a field of the specification cannot be is
 * passed on, but for texts, in which a '?' stands for what is no character or
 * cannot be shown.  They keep nothing; any thread may call them.
 */
#ifndef WEIR_IDENTIFY_H
#define WEIR_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_controller {
	uint16_t vid, ssvid, cntlid;
	char serial[21], model[41], firmware[9]; /* without the spaces behind */
	char subnqn[257];
	uint32_t version;          /* VS: major << 16 | minor << 8 | tertiary */
	uint8_t type;              /* CNTRLTYPE: 1 I/O, 2 discovery, 3 administrative; 0 before NVMe 1.4 */
	bool multi_port, multi_controller, ana; /* CMIC */
	uint64_t transfer_max;     /* MDTS in bytes, of 4 KiB pages; 0: no limit */
	uint32_t namespaces;       /* NN */
	uint16_t commands_max;     /* MAXCMD; 0: not said */
	uint16_t oacs, oncs, fuses;
	uint32_t oaes, ctratt, sgls;
	uint8_t lpa, vwc, fna, fcatt;
	uint16_t ofcs;
	uint32_t ioccsz, iorcsz, icdoff; /* bytes */
	uint32_t kas_ms;           /* granularity of keep alive */
	uint8_t aborts, events;    /* ACL + 1, AERL + 1, cut at 255 */
	uint8_t log_entries_max;   /* ELPE + 1, cut at 255 */
	uint32_t anatt_s, ana_group_max, ana_groups;
	uint8_t anacap;
	uint64_t capacity, unallocated; /* TNVMCAP, UNVMCAP: bytes; UINT64_MAX where they are more */
	uint16_t warning_kelvin, critical_kelvin; /* 0: not said */
	uint32_t awun, awupf, acwu; /* blocks, 1's based */
	uint8_t ieee[3];
	uint8_t fguid[16];
	/* Weir's extension; zeros: the target has none (doc/extension.md). */
	uint16_t weir_version;
	uint32_t weir_capabilities;
};

/* CNS 01h; `version`: the property VS, or 0: as the page says, which before NVMe 1.2 it does not. */
void weir_controller_decode(const void *page, uint32_t version, struct weir_controller *controller);

struct weir_lba_format {
	uint32_t block_size;       /* bytes; 0: it is not to be had */
	uint16_t metadata;         /* bytes per block */
	uint8_t performance;       /* 0 best to 3 degraded */
};

struct weir_namespace {
	uint32_t nsid;
	uint64_t blocks, capacity_blocks, used_blocks; /* NSZE, NCAP, NUSE */
	uint32_t block_size;       /* bytes; 0: it has a format that there is not */
	uint16_t metadata;         /* bytes per block; libweir does I/O only where it is 0 */
	uint32_t transfer_max;     /* bytes of one I/O by each live path; set by weir_subsys_namespace() */
	uint32_t copy_max;         /* blocks of one range of a Copy (MSSRL) */
	uint32_t copy_total;       /* of all (MCL) */
	uint16_t copy_ranges;      /* MSRC + 1 */
	/* Of both the namespace's own, or 0: as of its controller, which weir_subsys_namespace() puts there. */
	uint32_t atomic_blocks;    /* written whole or not at all: the smaller of normal and power fail; 1's based */
	uint32_t compare_write_blocks; /* of a Compare and Write; of weir_subsys_namespace() 0: it is not to be had */
	uint32_t optimal_blocks;   /* NOIOB; 0: not said */
	uint32_t write_granularity, write_alignment; /* blocks; 0: not said */
	uint32_t deallocate_granularity, deallocate_alignment; /* the same */
	bool thin, shared, protected_now, volatile_cache; /* volatile_cache: set by weir_subsys_namespace() */
	uint8_t dlfeat;            /* what deallocated blocks read as: b2:0 1 zeros, 2 FFh */
	uint8_t rescap;
	uint32_t ana_group;        /* 0: none */
	uint64_t cache_life;       /* another one when what was not flushed may be gone; 0: not told */
	uint8_t nguid[16], eui64[8];
	uint8_t uuid[16];          /* from the identification descriptors; zeros: none */
	unsigned formats, format;  /* of lba_format[] how many, and which it has */
	struct weir_lba_format lba_format[64];
};

/* CNS 00h; all zeros are a namespace that is not active. */
void weir_namespace_decode(const void *page, uint32_t nsid, struct weir_namespace *ns);

/* Adds the UUID (and where `ns` has none, NGUID and EUI64) of CNS 03h. */
void weir_namespace_descriptors(const void *page, struct weir_namespace *ns);

#ifdef __cplusplus
}
#endif

#endif
