#include "trace/volumes.h"

#include <string.h>

/* FNV-1a. */
#define HASH_BASIS 2166136261u
#define HASH_PRIME 16777619u

struct key {
	uint32_t hash;
	unsigned length;
	char name[TRACE_VOLUME_NAME];
	const char *why;
};

static void
key_add(struct key *key, const char *at, size_t length)
{
	uint32_t hash = key->hash;

	if (length >= TRACE_VOLUME_NAME - key->length) {
		key->why = "what its volume is called is longer than 63 bytes";
		return;
	}
	for (size_t i = 0; i < length; i++) {
		if (at[i] <= ' ' || at[i] > '~')
			key->why = "what its volume is called cannot be shown";
		hash = (hash ^ (unsigned char)at[i]) * HASH_PRIME;
		key->name[key->length + i] = at[i];
	}
	key->hash = hash;
	key->length += (unsigned)length;
}

const char *
volumes_find(struct volumes *volumes, const struct line_said *said, uint32_t *volume)
{
	struct key key = { .hash = HASH_BASIS };
	uint32_t slot;

	key_add(&key, said->volume[0].at, said->volume[0].length);
	if (said->joint != '\0') {
		key_add(&key, &said->joint, 1);
		key_add(&key, said->volume[1].at, said->volume[1].length);
	}
	if (key.why != NULL)
		return key.why;
	key.name[key.length] = '\0';
	for (slot = key.hash % VOLUME_SLOTS; volumes->slots[slot] != 0; slot = (slot + 1) % VOLUME_SLOTS) {
		*volume = volumes->slots[slot] - 1u;
		if (memcmp(volumes->names[*volume], key.name, key.length + 1) == 0)
			return NULL;
	}
	if (volumes->count == TRACE_VOLUMES)
		return "there are more than 4096 volumes before it";
	*volume = volumes->count++;
	volumes->slots[slot] = (uint16_t)volumes->count;
	memcpy(volumes->names[*volume], key.name, key.length + 1);
	return NULL;
}
