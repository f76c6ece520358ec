/*
 * open.c - from what the operator wrote to a device.
 *
 * Whatever is wrong with a specification is said here in words that name it.
 */
#include "blk/opening.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "world/reactor.h"

enum {
	SPEC_MAX = BLK_SPEC,
	BYTES_MIN = 1024 * 1024,
	KEEP_MIN = 64 * 1024,
	KEEP_USUAL = 16 * 1024 * 1024,
	KEEP_MAX = 1024 * 1024 * 1024,
	DELAY_MAX_MS = 3600 * 1000,
};

int
opening_refuse(const struct opening *o, int error, const char *format, ...)
{
	int used = snprintf(o->why, BLK_WHY, "%.*s: ", BLK_WHY_SPEC, o->spec);
	va_list args;

	va_start(args, format);
	vsnprintf(o->why + used, (size_t)(BLK_WHY - used), format, args);
	va_end(args);
	return error;
}

int
opening_size(const struct opening *o, const char *text, uint64_t *bytes)
{
	if (!size_parse(text, bytes))
		return opening_refuse(o, -EINVAL, "`%.40s` is not a size (a number with K, M, G or T)", text);
	if (*bytes < BYTES_MIN)
		return opening_refuse(o, -EINVAL, "smaller than 1M, the smallest volume");
	if (*bytes % o->block_size != 0)
		return opening_refuse(o, -EINVAL, "the size is not a multiple of the block size, %u", o->block_size);
	if (*bytes > INT64_MAX)
		return opening_refuse(o, -EINVAL, "too large");
	return 0;
}

static int
open_mem(const struct opening *o, const char *rest, struct blk **blk)
{
	uint64_t bytes;
	int error = opening_size(o, rest, &bytes);

	if (error != 0)
		return error;
	error = mem_open(o->reactor, bytes, o->block_size, blk);
	return error == 0 ? 0 : opening_refuse(o, error, "not enough memory");
}

static int
open_null(const struct opening *o, const char *rest, struct blk **blk)
{
	uint64_t bytes;
	int error = opening_size(o, rest, &bytes);

	if (error != 0)
		return error;
	error = null_open(o->reactor, bytes, o->block_size, blk);
	return error == 0 ? 0 : opening_refuse(o, error, "not enough memory");
}

static int
check_file(const struct opening *o, const struct blk *blk)
{
	uint64_t bytes = blk->blocks * o->block_size;

	if (bytes < BYTES_MIN)
		return opening_refuse(o, -EINVAL,
		    "the file has %llu bytes; the smallest volume has 1M (add ,size=1G to extend it)",
		    (unsigned long long)bytes);
	return 0;
}

/* Of a `file:`; what its `size=` says, or NULL. */
static const char *
take_path(const char *rest, char path[SPEC_MAX])
{
	const char *option = strrchr(rest, ',');
	bool sized = option != NULL && strncmp(option, ",size=", 6) == 0;

	snprintf(path, SPEC_MAX, "%.*s", (int)(sized ? (size_t)(option - rest) : strlen(rest)), rest);
	return sized ? option + 6 : NULL;
}

static int
open_file(const struct opening *o, const char *rest, struct blk **blk)
{
	char path[SPEC_MAX], reason[BLK_WHY];
	const char *size = take_path(rest, path);
	uint64_t bytes = 0;
	int error = size != NULL ? opening_size(o, size, &bytes) : 0;

	if (error != 0)
		return error;
	if (path[0] == '\0')
		return opening_refuse(o, -EINVAL, "no path");
	reason[0] = '\0';
	error = file_blk_open(o->reactor, path, bytes, o->block_size, blk, reason);
	if (error == -ENOENT && bytes == 0)
		return opening_refuse(o, error, "no such file; with a size it would be created");
	if (error == -EBUSY)
		return opening_refuse(o, error, "the file is in use already");
	if (error == -ENOTBLK)
		return opening_refuse(o, error, "neither a file nor a block device");
	if (error != 0 && reason[0] == '\0')
		snprintf(reason, sizeof(reason), "%s", strerrordesc_np(-error));
	if (error != 0)
		return opening_refuse(o, error, "%.80s", reason);
	error = check_file(o, *blk);
	if (error != 0)
		(*blk)->ops->destroy(*blk);
	return error;
}

/* One option of a fault plan, `length` bytes long. */
static int
read_fault(const struct opening *o, const char *option, size_t length, void *arg)
{
	struct fault_plan *plan = arg;
	const struct { const char *name; uint64_t *value; bool counted; uint64_t most; } known[] = {
		{ "drop-write=", &plan->drop_write, true, UINT64_MAX },
		{ "flush-error=", &plan->flush_error, true, UINT64_MAX },
		{ "read-error=", &plan->read_lba, false, UINT64_MAX },
		{ "write-error=", &plan->write_lba, false, UINT64_MAX },
		{ "dead=", &plan->dead, true, 1 },
		{ "hold=", &plan->hold_lba, false, UINT64_MAX },
		{ "delay=", &plan->delay_ms, true, DELAY_MAX_MS },
		{ "delay-write=", &plan->delay_write_ms, true, DELAY_MAX_MS },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t name = strlen(known[i].name);
		const char *value = option + name;

		if (strncmp(option, known[i].name, name) != 0)
			continue;
		if (!number_parse(&value, known[i].value) || value != option + length ||
		    (known[i].counted && *known[i].value == 0) || *known[i].value > known[i].most)
			return opening_refuse(o, -EINVAL, "`%.*s` needs a %s", (int)length, option,
			    known[i].counted ? "number from 1" : "block number");
		return 0;
	}
	return opening_refuse(o, -EINVAL,
	    "`%.*s` is not a fault (drop-write=N, flush-error=N, read-error=LBA, write-error=LBA, dead=1, hold=LBA, "
	    "delay=MS, delay-write=MS)",
	    (int)(length < 40 ? length : 40), option);
}

int
opening_options(const struct opening *o, const char *rest, const char *at,
    int (*read)(const struct opening *o, const char *option, size_t length, void *plan), void *plan)
{
	while (rest < at) {
		size_t length = strcspn(rest, ",@");
		int error = read(o, rest, length, plan);

		if (error != 0)
			return error;
		rest += length;
		if (*rest == ',')
			rest++;
	}
	return 0;
}

static int
open_fault(const struct opening *o, const char *rest, struct blk **blk)
{
	struct fault_plan plan = { .read_lba = UINT64_MAX, .write_lba = UINT64_MAX, .hold_lba = UINT64_MAX };
	const char *at = strchr(rest, '@');
	struct blk *inner;
	int error;

	if (at == NULL)
		return opening_refuse(o, -EINVAL, "no `@SPEC` that says which device is to fail");
	if (at == rest)
		return opening_refuse(o, -EINVAL, "no fault is named before the `@`");
	error = opening_options(o, rest, at, read_fault, &plan);
	if (error == 0)
		error = blk_open(o->reactor, at + 1, o->block_size, &inner, o->why);
	if (error != 0)
		return error;
	error = fault_open(o->reactor, &plan, inner, blk);
	return error == 0 ? 0 : opening_refuse(o, error, "not enough memory");
}

static int
read_volatile(const struct opening *o, const char *option, size_t length, void *arg)
{
	struct volatile_plan *plan = arg;
	const char *seed = option + strlen("seed=");
	char size[SPEC_MAX];

	snprintf(size, sizeof(size), "%.*s", (int)length, option);
	if (strncmp(size, "seed=", 5) == 0) {
		if (!number_parse(&seed, &plan->seed) || seed != option + length || plan->seed == 0)
			return opening_refuse(o, -EINVAL, "`%.40s` needs a number from 1", size);
	} else if (strncmp(size, "keep=", 5) == 0) {
		if (!size_parse(size + 5, &plan->keep) || plan->keep < KEEP_MIN || plan->keep > KEEP_MAX)
			return opening_refuse(o, -EINVAL, "`%.40s` needs a size from 64K to 1G", size);
	} else {
		return opening_refuse(o, -EINVAL, "`%.40s` is not an option (keep=SIZE, seed=N)", size);
	}
	return 0;
}

int
opening_volatile(const struct opening *o, const struct volatile_plan *plan, struct blk *inner, struct blk **blk)
{
	int error;

	assert(inner != NULL);
	if (inner->blocks > UINT32_MAX) {
		blk_discard(inner, o->reactor);
		return opening_refuse(o, -EFBIG, "more than %u blocks", UINT32_MAX);
	}
	error = volatile_open(o->reactor, plan, inner, blk);
	return error == 0 ? 0 : opening_refuse(o, error, "not enough memory");
}

static int
open_volatile(const struct opening *o, const char *rest, struct blk **blk)
{
	struct volatile_plan plan = { .keep = KEEP_USUAL };
	const char *at = strchr(rest, '@');
	struct blk *inner;
	int error;

	if (at == NULL)
		return opening_refuse(o, -EINVAL, "no `@SPEC` that says which device is to have a cache");
	error = opening_options(o, rest, at, read_volatile, &plan);
	if (error == 0)
		error = blk_open(o->reactor, at + 1, o->block_size, &inner, o->why);
	return error == 0 ? opening_volatile(o, &plan, inner, blk) : error;
}

const char *
blk_spec_inner(const char *spec)
{
	const char *at;

	while ((strncmp(spec, "fault:", 6) == 0 || strncmp(spec, "volatile:", 9) == 0 ||
	    strncmp(spec, "flash:", 6) == 0) && (at = strchr(spec, '@')) != NULL)
		spec = at + 1;
	return spec;
}

bool
blk_spec_path(const char *spec, char path[BLK_SPEC])
{
	const char *inner = blk_spec_inner(spec);

	if (strncmp(inner, "file:", 5) != 0)
		return false;
	(void)take_path(inner + 5, path);
	return true;
}

void
blk_discard(struct blk *blk, struct reactor *reactor)
{
	(void)!blk_undo(blk, reactor); /* what went wrong before is what is told */
	blk->ops->destroy(blk);
}

int
blk_undo_blocks(struct blk *blk, struct reactor *reactor)
{
	(void)reactor;
	blk->blocks = blk->before;
	return 0;
}

int
blk_open(struct reactor *reactor, const char *spec, uint32_t block_size, struct blk **blk, char why[BLK_WHY])
{
	static const struct {
		const char *prefix;
		int (*open)(const struct opening *o, const char *rest, struct blk **blk);
	} kinds[] = {
		{ "mem:", open_mem },
		{ "null:", open_null },
		{ "file:", open_file },
		{ "fault:", open_fault },
		{ "volatile:", open_volatile },
		{ "flash:", opening_flash },
	};
	const struct opening o = { reactor, spec, block_size, why };

	why[0] = '\0';
	*blk = NULL;
	if (block_size != 512 && block_size != 4096)
		return opening_refuse(&o, -EINVAL, "a block has 512 or 4096 bytes, not %u", block_size);
	if (strlen(spec) >= SPEC_MAX)
		return opening_refuse(&o, -ENAMETOOLONG, "longer than %d bytes", SPEC_MAX - 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i].prefix);
		int error;

		if (strncmp(spec, kinds[i].prefix, length) != 0)
			continue;
		error = kinds[i].open(&o, spec + length, blk);
		assert(error != 0 || *blk != NULL);
		if (error == 0)
			memcpy((*blk)->spec, spec, strlen(spec) + 1);
		return error;
	}
	return opening_refuse(&o, -EINVAL,
	    "not a volume; there are mem:SIZE, null:SIZE, file:PATH[,size=SIZE], fault:OPTIONS@SPEC, "
	    "volatile:OPTIONS@SPEC and flash:PROFILE,SIZE");
}
