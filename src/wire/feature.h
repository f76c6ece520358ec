/*
 * feature.h - the features of Set and Get Features (NVMe Base 2.0, 5.27.1).
 *
 * Numbers and bits only.
 */
#ifndef WEIR_WIRE_FEATURE_H
#define WEIR_WIRE_FEATURE_H

#include <stdint.h>

enum nvme_feature {
	NVME_FEATURE_ARBITRATION = 0x01,
	NVME_FEATURE_POWER = 0x02,
	NVME_FEATURE_TEMPERATURE = 0x04,
	NVME_FEATURE_RECOVERY = 0x05,
	NVME_FEATURE_WRITE_CACHE = 0x06,
	NVME_FEATURE_QUEUES = 0x07,
	NVME_FEATURE_ATOMICITY = 0x0a,
	NVME_FEATURE_EVENTS = 0x0b,
	NVME_FEATURE_TIMESTAMP = 0x0e,
	NVME_FEATURE_KATO = 0x0f,
	NVME_FEATURE_BEHAVIOR = 0x16,
	NVME_FEATURE_HOST_ID = 0x81,
	NVME_FEATURE_RESV_MASK = 0x82,
	NVME_FEATURE_RESV_PERSISTENCE = 0x83,
	NVME_FEATURE_PROTECTION = 0x84,
};

#define NVME_FEATURE_SAVE (UINT32_C(1) << 31)         /* CDW10 of Set */
#define NVME_FEATURE_SELECT(cdw10) ((cdw10) >> 8 & 7) /* CDW10 of Get */

enum nvme_select {
	NVME_SELECT_CURRENT,
	NVME_SELECT_DEFAULT,
	NVME_SELECT_SAVED,
	NVME_SELECT_CAPABILITIES,
};

enum nvme_capable { NVME_CAPABLE_SAVE = 1, NVME_CAPABLE_PER_NS = 2, NVME_CAPABLE_CHANGE = 4 };

/* 04h: CDW11 is the threshold in kelvin, the sensor and which side of it. */
#define NVME_TEMPERATURE_SENSOR(cdw11) ((cdw11) >> 16 & 15)
#define NVME_TEMPERATURE_SIDE(cdw11) ((cdw11) >> 20 & 3)
enum { NVME_TEMPERATURE_OVER = 0, NVME_TEMPERATURE_UNDER = 1, NVME_TEMPERATURE_ALL = 15 };

enum { NVME_KATO_DEFAULT_MS = 120000 };              /* 0Fh, over TCP */

#define NVME_TIMESTAMP_MASK UINT64_C(0xffffffffffff) /* 0Eh: milliseconds since 1970 */
enum { NVME_TIMESTAMP_OF_HOST = 1 << 1 };            /* byte 6: who said so */

/* 84h: how a namespace is protected against writes. */
enum nvme_protection {
	NVME_PROTECT_NONE,
	NVME_PROTECT_WRITES,
	NVME_PROTECT_UNTIL_POWER_CYCLE,
	NVME_PROTECT_FOR_EVER,
};

enum { NVME_HOST_ID_EXTENDED = 1 };                  /* 81h, CDW11: the 16-byte form */
enum { NVME_RESV_PERSIST_PTPL = 1 };                 /* 83h, CDW11 */

#endif
