/*
 * identity.c - who does this host say it is?
 *
 * What the administrator has written down for all of NVMe (/etc/nvme), else
 * what is made of the machine's identity, the same after a restart.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/uuid.h"
#include "lib/internal.h"
#include "sys/clock.h"

/* 16 bytes that depend on the text alone (FNV-1a, forwards and backwards), as a UUID of version 8: of one's own
 * making. */
static void
digest(const char *text, uint8_t out[UUID_BYTES])
{
	uint64_t a = 0xcbf29ce484222325u, b = 0x84222325cbf29ce4u;
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		a = (a ^ (uint8_t)text[i]) * 0x100000001b3u;
		b = (b ^ (uint8_t)text[len - 1 - i]) * 0x100000001b3u;
	}
	memcpy(out, &a, 8);
	memcpy(out + 8, &b, 8);
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static void
uuid_print(const uint8_t id[UUID_BYTES], char text[UUID_TEXT + 1])
{
	for (unsigned i = 0; i < UUID_BYTES; i++)
		text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

void
identity_of_nqn(const char *nqn, uint8_t id[UUID_BYTES])
{
	const char *uuid = strstr(nqn, ":uuid:");

	if (uuid == NULL || !uuid_parse(uuid + sizeof(":uuid:") - 1, id))
		digest(nqn, id);
}

void
identity_of_uri(const struct weir_host *host, const struct weir_uri *uri, char nqn[NVME_NQN_FIELD],
    uint8_t id[UUID_BYTES])
{
	memcpy(nqn, host->nqn, sizeof(host->nqn));
	memcpy(id, host->id, sizeof(host->id));
	if (uri->hostnqn[0] == '\0' || strcmp(uri->hostnqn, host->nqn) == 0)
		return;
	snprintf(nqn, NVME_NQN_FIELD, "%s", uri->hostnqn);
	identity_of_nqn(uri->hostnqn, id);
}

/* The first line of a file without the blanks around it; "": there is none. */
static void
line_of(const char *etc, const char *name, char *line, size_t bytes)
{
	char path[256];
	const char *blanks = " \t\r\n";
	ssize_t got = -1;
	size_t skip;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", etc, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		got = read(fd, line, bytes - 1);
		close(fd);
	}
	line[got > 0 ? got : 0] = '\0';
	skip = strspn(line, blanks);
	memmove(line, line + skip, strlen(line) - skip + 1);
	line[strcspn(line, blanks)] = '\0';
}

static int
keep_nqn(const char *where, const char *text, char nqn[NVME_NQN_FIELD])
{
	if (!nqn_usable(text, strlen(text)))
		return lib_fail(-EINVAL, "%s: '%.240s' is no name: 1 to 223 bytes without a space", where, text);
	snprintf(nqn, NVME_NQN_FIELD, "%.*s", NVME_NQN_MAX, text);
	return 0;
}

/* Of this machine; where it has no identity, of this process. */
static void
made_up(const char *etc, char nqn[NVME_NQN_FIELD])
{
	char machine[64], text[128], uuid[UUID_TEXT + 1];
	uint8_t id[UUID_BYTES];

	line_of(etc, "machine-id", machine, sizeof(machine));
	if (machine[0] == '\0')
		snprintf(machine, sizeof(machine), "%016llx%016llx", (unsigned long long)clock_random(),
		    (unsigned long long)clock_random());
	/* The machine's identity itself is not for strangers: machine-id(5). */
	snprintf(text, sizeof(text), "weir host/%s", machine);
	digest(text, id);
	uuid_print(id, uuid);
	snprintf(nqn, NVME_NQN_FIELD, "nqn.2014-08.org.nvmexpress:uuid:%s", uuid);
}

int
identity_find(const char *etc, const char *hostnqn, const char *hostid, char nqn[NVME_NQN_FIELD],
    uint8_t id[UUID_BYTES])
{
	char line[512], line_id[64] = "";
	int rc = 0;

	if (hostnqn != NULL) {
		rc = keep_nqn("hostnqn", hostnqn, nqn);
	} else {
		line_of(etc, "nvme/hostnqn", line, sizeof(line));
		line_of(etc, "nvme/hostid", line_id, sizeof(line_id));
		if (line[0] != '\0')
			rc = keep_nqn("/etc/nvme/hostnqn", line, nqn);
		else
			made_up(etc, nqn);
	}
	if (rc != 0)
		return rc;
	if (hostid == NULL && line_id[0] != '\0')
		hostid = line_id;
	if (hostid == NULL)
		identity_of_nqn(nqn, id);
	else if (!uuid_parse(hostid, id))
		return lib_fail(-EINVAL, "%s: '%s' is not a UUID", hostid == line_id ? "/etc/nvme/hostid" : "hostid",
		    hostid);
	return 0;
}
