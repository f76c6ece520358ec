/*
 * crc32c.h - CRC-32C (Castagnoli), the digest of NVMe/TCP (TCP Transport 1.0, 3.3.1.1).
 */
#ifndef WEIR_BASE_CRC32C_H
#define WEIR_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Continues a digest over `bytes` bytes more.  Begin with 0; the result is the
 * finished digest of all bytes so far: crc32c(0, "123456789", 9) == 0xe3069283.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same by table, whatever the processor: what crc32c() is checked against. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes);

#endif
