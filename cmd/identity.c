/*
 * identity.c - who the subsystem and its volumes are, the same after a restart.
 *
 * What hosts are told is derived from these 16 bytes elsewhere.  How a volume's
 * specification is read is not known here: the volume says which file it is in.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blk/blk.h"
#include "serve.h"
#include "sys/clock.h"

/* 16 bytes that depend on the text alone (FNV-1a, forwards and backwards). */
static void
digest(const char *text, uint8_t out[16])
{
	uint64_t a = 0xcbf29ce484222325u, b = 0x84222325cbf29ce4u;
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		a = (a ^ (uint8_t)text[i]) * 0x100000001b3u;
		b = (b ^ (uint8_t)text[len - 1 - i]) * 0x100000001b3u;
	}
	memcpy(out, &a, 8);
	memcpy(out + 8, &b, 8);
}

static void
machine_id(char *id, size_t bytes)
{
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	if (fd >= 0) {
		got = read(fd, id, bytes - 1);
		close(fd);
	}
	id[got > 0 ? got : 0] = '\0';
}

/* The subsystem as one of this machine. */
static void
full_name(const char *nqn, char name[512])
{
	char machine[64];

	machine_id(machine, sizeof(machine));
	snprintf(name, 512, "%s/%s", machine, nqn);
}

/* When a file was made, which writing, growing and renaming leave as it is; empty: its file system does not say. */
struct birth {
	char text[64];
};

static struct birth
birth_of(const char *path)
{
	struct birth birth = { "" };
	struct statx st;

	if (statx(AT_FDCWD, path, 0, STATX_BTIME, &st) == 0 && (st.stx_mask & STATX_BTIME))
		snprintf(birth.text, sizeof(birth.text), "/%jd.%u", (intmax_t)st.stx_btime.tv_sec,
		    (unsigned)st.stx_btime.tv_nsec);
	return birth;
}

/*
 * A file is the same volume after a restart.  Another file is another volume, though it may well have the number
 * of one that was removed: so the time when it was made is a part of it.  What lies in RAM is a new volume each
 * time, because its content is.  A block device is known by its number: its node in /dev is made anew at each
 * boot, and there may be several of one device.
 */
void
identify_volume(const char *nqn, const struct blk *blk, uint8_t id[16])
{
	char whose[512], text[1024];
	struct stat st;

	full_name(nqn, whose);
	if (blk->path == NULL || stat(blk->path, &st) != 0)
		snprintf(text, sizeof(text), "%" PRIx64 "/%" PRIx64, clock_random(), clock_random());
	else if (S_ISBLK(st.st_mode))
		snprintf(text, sizeof(text), "%s/block/%ju", whose, (uintmax_t)st.st_rdev);
	else
		snprintf(text, sizeof(text), "%s/%ju/%ju%s", whose, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		    birth_of(blk->path).text);
	digest(text, id);
}

/* A host NQN has one host identifier, wherever it is used. */
void
identify_host(const char *nqn, uint8_t id[16])
{
	digest(nqn, id);
	id[0] |= 1; /* zeros are no identifier */
}

void
identify_subsys(const char *nqn, uint8_t id[16])
{
	char whose[512];

	full_name(nqn, whose);
	digest(whose, id);
}
