/*
 * weir/log.h - log pages, decoded (NVMe Base 2.0, 5.16).
 *
 * Decoders are given what weir_subsys_log() read and how much that is, and
 * look at no byte behind it; a page that is shorter than what it says of
 * itself is cut.
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <weir/subsys.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_smart { /* 02h; counts are cut at UINT64_MAX */
	uint8_t critical_warning;
	uint16_t kelvin;
	uint8_t spare_percent, spare_threshold_percent, used_percent;
	uint64_t read_units, written_units; /* of 512,000 bytes */
	uint64_t reads, writes, busy_minutes, power_cycles, power_on_hours, unsafe_shutdowns;
	uint64_t media_errors, error_entries;
	uint32_t warning_minutes, critical_minutes;
	uint16_t sensor_kelvin[8];
};

struct weir_error_entry { /* 01h */
	uint64_t number;       /* 0: there is none here */
	uint16_t sqid, cid;
	weir_status status;
	uint16_t location;     /* byte b7:0, bit b10:8; 0xffff: none */
	uint64_t lba;
	uint32_t nsid;
	uint8_t opcode;        /* where version is 1 */
	uint8_t version;
};

struct weir_firmware { /* 03h */
	uint8_t active, next;  /* slots, from 1; next 0: the same */
	char revision[7][9];
};

enum weir_ana {
	WEIR_ANA_OPTIMIZED = 1, WEIR_ANA_NON_OPTIMIZED = 2, WEIR_ANA_INACCESSIBLE = 3, WEIR_ANA_PERSISTENT_LOSS = 4,
	WEIR_ANA_CHANGE = 15,
};

struct weir_ana_group { /* 0Ch */
	uint32_t group;
	uint64_t change_count;
	uint8_t state;         /* enum weir_ana */
	uint32_t nsid_count;
	const void *nsids;     /* in the page, 4 bytes each: weir_ana_nsid() */
};

#ifdef __cplusplus
}
#endif

#endif
