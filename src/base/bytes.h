/*
 * bytes.h - little-endian integers as they lie on the wire.
 *
 * A wire integer is a struct of bytes: it has no alignment, and using one
 * without converting it does not compile.  Conversions are single loads and
 * stores on a little-endian machine.
 */
#ifndef WEIR_BASE_BYTES_H
#define WEIR_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

typedef struct { uint8_t b[2]; } le16;
typedef struct { uint8_t b[4]; } le32;
typedef struct { uint8_t b[8]; } le64;
typedef struct { le64 low, high; } le128;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Weir's conversions are written for little-endian machines"
#endif

static inline uint16_t le16_get(le16 w) { uint16_t v; memcpy(&v, w.b, sizeof(v)); return v; }
static inline uint32_t le32_get(le32 w) { uint32_t v; memcpy(&v, w.b, sizeof(v)); return v; }
static inline uint64_t le64_get(le64 w) { uint64_t v; memcpy(&v, w.b, sizeof(v)); return v; }

static inline le16 le16_of(uint16_t v) { le16 w; memcpy(w.b, &v, sizeof(v)); return w; }
static inline le32 le32_of(uint32_t v) { le32 w; memcpy(w.b, &v, sizeof(v)); return w; }
static inline le64 le64_of(uint64_t v) { le64 w; memcpy(w.b, &v, sizeof(v)); return w; }

/* The same at any address, for parsers that walk bytes. */
static inline uint16_t get_le16(const void *p) { uint16_t v; memcpy(&v, p, sizeof(v)); return v; }
static inline uint32_t get_le32(const void *p) { uint32_t v; memcpy(&v, p, sizeof(v)); return v; }
static inline uint64_t get_le64(const void *p) { uint64_t v; memcpy(&v, p, sizeof(v)); return v; }
static inline void put_le16(void *p, uint16_t v) { memcpy(p, &v, sizeof(v)); }
static inline void put_le32(void *p, uint32_t v) { memcpy(p, &v, sizeof(v)); }
static inline void put_le64(void *p, uint64_t v) { memcpy(p, &v, sizeof(v)); }

#endif
