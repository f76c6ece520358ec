#include "unpack.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define DAMAGED "damaged"
#define CUT_OFF "cut off"
#define FOLLOWED "something else follows it"
#define TOO_LARGE "it takes more than 128 MiB of memory to unpack"
#define NO_MEMORY "there is no memory to unpack it"

enum { GZIP_WINDOW = 15 + 16 /* the largest; and no other header than gzip's (zlib.h) */, ZSTD_WINDOW = 27 };

/* A piece of work: what is left of what came, and of the room. */
struct turn {
	const uint8_t *packed;
	size_t length;
	uint8_t *text;
	size_t room;
	bool end;
};

struct packer {
	const char *name; /* NULL: nothing */
	uint8_t begin[UNPACK_BEGIN], mask[UNPACK_BEGIN]; /* which bits of the first bytes are so */
	bool (*open)(struct unpack *unpack);
	void (*close)(struct unpack *unpack);
	/* Goes on where there is something to take, or inside a piece; moves both on.  NULL, or why it cannot. */
	const char *(*step)(struct unpack *unpack, struct turn *turn);
};

struct unpack {
	const struct packer *packer;
	bool inside;  /* a packed piece has begun, and has not ended */
	bool second;  /* one has ended */
	union {
		z_stream gzip;
		lzma_stream xz;
		ZSTD_DStream *zstd;
	};
};

/* A step took what lies before `packed`, and made what lies before `text`. */
static void
turn_moves(struct turn *turn, const uint8_t *packed, uint8_t *text)
{
	turn->length -= (size_t)(packed - turn->packed);
	turn->room -= (size_t)(text - turn->text);
	turn->packed = packed;
	turn->text = text;
}

/* ---- nothing packed it ---- */

static bool
plain_open(struct unpack *unpack)
{
	return true;
}

static void
plain_close(struct unpack *unpack)
{
}

static const char *
plain_step(struct unpack *unpack, struct turn *turn)
{
	size_t bytes = turn->length < turn->room ? turn->length : turn->room;

	memcpy(turn->text, turn->packed, bytes);
	turn_moves(turn, turn->packed + bytes, turn->text + bytes);
	return NULL;
}

/* ---- gzip (RFC 1952) ---- */

static bool
gzip_open(struct unpack *unpack)
{
	return inflateInit2(&unpack->gzip, GZIP_WINDOW) == Z_OK;
}

static void
gzip_close(struct unpack *unpack)
{
	inflateEnd(&unpack->gzip);
}

/* Zeros between the pieces, and after them, are what fills up a tape. */
static bool
gzip_begins(struct unpack *unpack, struct turn *turn)
{
	while (unpack->second && turn->length > 0 && *turn->packed == 0) {
		turn->packed++;
		turn->length--;
	}
	if (turn->length == 0)
		return false;
	unpack->inside = inflateReset(&unpack->gzip) == Z_OK;
	return unpack->inside;
}

static const char *
gzip_step(struct unpack *unpack, struct turn *turn)
{
	z_stream *z = &unpack->gzip;
	int did;

	assert(turn->length <= UINT_MAX && turn->room <= UINT_MAX);
	if (!unpack->inside && !gzip_begins(unpack, turn))
		return NULL;
	z->next_in = turn->packed;
	z->avail_in = (uInt)turn->length;
	z->next_out = turn->text;
	z->avail_out = (uInt)turn->room;
	did = inflate(z, Z_NO_FLUSH);
	turn_moves(turn, z->next_in, z->next_out);
	if (did == Z_STREAM_END) {
		unpack->inside = false;
		unpack->second = true;
	}
	if (did == Z_OK || did == Z_STREAM_END || did == Z_BUF_ERROR)
		return NULL;
	if (did == Z_MEM_ERROR)
		return NO_MEMORY;
	return unpack->second && z->total_out == 0 ? FOLLOWED : DAMAGED;
}

/* ---- xz ---- */

static bool
xz_open(struct unpack *unpack)
{
	unpack->xz = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&unpack->xz, UNPACK_MEMORY, LZMA_CONCATENATED) == LZMA_OK;
}

static void
xz_close(struct unpack *unpack)
{
	lzma_end(&unpack->xz);
}

/* The library looks for further pieces itself, and is told where the last one may end. */
static const char *
xz_step(struct unpack *unpack, struct turn *turn)
{
	lzma_stream *xz = &unpack->xz;
	lzma_ret did;

	xz->next_in = turn->packed;
	xz->avail_in = turn->length;
	xz->next_out = turn->text;
	xz->avail_out = turn->room;
	did = lzma_code(xz, turn->end ? LZMA_FINISH : LZMA_RUN);
	turn_moves(turn, xz->next_in, xz->next_out);
	unpack->inside = did != LZMA_STREAM_END;
	switch (did) {
	case LZMA_OK:
	case LZMA_BUF_ERROR: /* nothing came, and nothing was left */
	case LZMA_STREAM_END:
		return NULL;
	case LZMA_MEMLIMIT_ERROR:
		return TOO_LARGE;
	case LZMA_MEM_ERROR:
		return NO_MEMORY;
	default:
		return DAMAGED;
	}
}

/* ---- zstd (RFC 8878) ---- */

static bool
zstd_open(struct unpack *unpack)
{
	unpack->zstd = ZSTD_createDStream();
	return unpack->zstd != NULL &&
	    !ZSTD_isError(ZSTD_DCtx_setParameter(unpack->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW));
}

static void
zstd_close(struct unpack *unpack)
{
	ZSTD_freeDStream(unpack->zstd);
}

static const char *
zstd_step(struct unpack *unpack, struct turn *turn)
{
	ZSTD_inBuffer in = { turn->packed, turn->length, 0 };
	ZSTD_outBuffer out = { turn->text, turn->room, 0 };
	size_t did = ZSTD_decompressStream(unpack->zstd, &out, &in);

	turn_moves(turn, turn->packed + in.pos, turn->text + out.pos);
	if (!ZSTD_isError(did)) {
		unpack->inside = did != 0;
		unpack->second |= did == 0;
		return NULL;
	}
	switch (ZSTD_getErrorCode(did)) {
	case ZSTD_error_frameParameter_windowTooLarge:
		return TOO_LARGE;
	case ZSTD_error_memory_allocation:
		return NO_MEMORY;
	case ZSTD_error_prefix_unknown:
		return unpack->second ? FOLLOWED : DAMAGED;
	default:
		return DAMAGED;
	}
}

/* ---- all of them ---- */

/* How they begin; the second of zstd is a frame to be skipped, as parallel packers put first. */
static const struct packer packers[] = {
	{ "gzip", { 0x1f, 0x8b, 0x08 }, { 0xff, 0xff, 0xff }, gzip_open, gzip_close, gzip_step },
	{ "xz", { 0xfd, '7', 'z', 'X', 'Z', 0 }, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, xz_open, xz_close, xz_step },
	{ "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, { 0xff, 0xff, 0xff, 0xff }, zstd_open, zstd_close, zstd_step },
	{ "zstd", { 0x50, 0x2a, 0x4d, 0x18 }, { 0xf0, 0xff, 0xff, 0xff }, zstd_open, zstd_close, zstd_step },
};
static const struct packer plain = { NULL, { 0 }, { 0 }, plain_open, plain_close, plain_step };

static const struct packer *
packer_of(const void *bytes, size_t length)
{
	uint8_t begin[UNPACK_BEGIN] = { 0 };

	memcpy(begin, bytes, length < UNPACK_BEGIN ? length : UNPACK_BEGIN);
	for (unsigned i = 0; i < sizeof(packers) / sizeof(packers[0]); i++) {
		int at = 0;

		while (at < UNPACK_BEGIN && (begin[at] & packers[i].mask[at]) == packers[i].begin[at])
			at++;
		if (at == UNPACK_BEGIN)
			return &packers[i];
	}
	return &plain;
}

const char *
unpack_packer(const struct unpack *unpack)
{
	return unpack->packer->name;
}

struct unpack *
unpack_create(const void *begin, size_t length)
{
	struct unpack *unpack = calloc(1, sizeof(*unpack));

	if (unpack == NULL)
		return NULL;
	unpack->packer = packer_of(begin, length);
	if (unpack->packer->open(unpack))
		return unpack;
	unpack_destroy(unpack);
	return NULL;
}

void
unpack_destroy(struct unpack *unpack)
{
	if (unpack == NULL)
		return;
	unpack->packer->close(unpack);
	free(unpack);
}

const char *
unpack_some(struct unpack *unpack, const uint8_t **packed, size_t *length, bool end, void *text, size_t room,
    size_t *made)
{
	struct turn turn = { *packed, *length, text, room, end };
	const char *why = NULL;

	/* Within a piece there may be bytes to be made though all are taken. */
	while (why == NULL && turn.room > 0 && (turn.length > 0 || unpack->inside)) {
		struct turn before = turn;

		why = unpack->packer->step(unpack, &turn);
		if (turn.length == before.length && turn.room == before.room)
			break;
	}
	*made = room - turn.room;
	*packed = turn.packed;
	*length = turn.length;
	if (why == NULL && end && *made == 0 && room > 0 && (unpack->inside || *length > 0))
		why = CUT_OFF;
	return why;
}
