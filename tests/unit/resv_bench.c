#include "resv_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const resv_type_names[7] = { "-", "WE", "EA", "WERO", "EARO", "WEAR", "EAAR" };

const uint8_t *
resv_hostid(unsigned number)
{
	static uint8_t ids[256][RESV_HOSTID_LEN];

	assert_true(number > 0 && number < 256);
	memset(ids[number], 0x11, RESV_HOSTID_LEN);
	ids[number][RESV_HOSTID_LEN - 1] = (uint8_t)number;
	return ids[number];
}

unsigned
resv_number(const uint8_t *hostid)
{
	unsigned number = hostid[RESV_HOSTID_LEN - 1];

	assert_memory_equal(hostid, resv_hostid(number), RESV_HOSTID_LEN);
	return number;
}

void
resv_set(struct resv_bench *b, const char *state)
{
	struct resv *resv = &b->resv;
	unsigned type = 0;
	char *end;

	resv_init(resv, true);
	while (strncmp(state, resv_type_names[type], strcspn(state, " ")) != 0 ||
	    strlen(resv_type_names[type]) != strcspn(state, " "))
		assert_true(++type < 7);
	resv->type = (enum nvme_resv_type)type;
	state += strcspn(state, " ");
	while (*state == ' ') {
		struct resv_host *host = &resv->hosts[resv->host_count];

		memcpy(host->hostid, resv_hostid((unsigned)strtoul(state, &end, 10)), RESV_HOSTID_LEN);
		host->key = (uint8_t)*end++;
		if (*end == '*' && type < NVME_RESV_WE_AR)
			resv->holder = resv->host_count;
		state = end + (*end == '*');
		resv->host_count++;
	}
	assert_int_equal(*state, 0);
	assert_true(resv_valid(resv));
}

const char *
resv_state(const struct resv_bench *b)
{
	static char text[RESV_TEXT_MAX];
	const struct resv *resv = &b->resv;
	bool all = resv->type >= NVME_RESV_WE_AR;
	char *at = text + sprintf(text, "%s", resv_type_names[resv->type]);

	for (uint32_t i = 0; i < resv->host_count; i++)
		at += sprintf(at, " %u%c%s", resv_number(resv->hosts[i].hostid), (char)resv->hosts[i].key,
		    all || i == resv->holder ? "*" : "");
	return text;
}

/* The ids in the order of their numbers, so that two lists can be compared; a blank is no letter. */
static const char *
list_text(char text[RESV_TEXT_MAX], const char *letters)
{
	char *at = text;

	*at = '\0';
	for (unsigned number = 1; number < 256; number++) {
		if (letters[number] == ' ')
			at += sprintf(at, "%s%u", at == text ? "" : " ", number);
		else if (letters[number] != '\0')
			at += sprintf(at, "%s%u%c", at == text ? "" : " ", number, letters[number]);
	}
	return text;
}

const char *
resv_told(const struct resv_bench *b)
{
	static char text[RESV_TEXT_MAX];
	char letters[256] = { 0 };

	for (uint32_t i = 0; i < b->effect.notice_count; i++) {
		unsigned number = resv_number(b->effect.notices[i].hostid);

		assert_int_equal(letters[number], 0); /* each host once */
		letters[number] = "?GRP"[b->effect.notices[i].kind];
	}
	return list_text(text, letters);
}

const char *
resv_ended(const struct resv_bench *b)
{
	static char text[RESV_TEXT_MAX];
	char letters[256] = { 0 };

	for (uint32_t i = 0; i < b->effect.abort_count; i++) {
		assert_int_equal(letters[resv_number(b->effect.aborts[i])], 0);
		letters[resv_number(b->effect.aborts[i])] = ' ';
	}
	return list_text(text, letters);
}

static bool
counts(const struct resv_command *command)
{
	unsigned action = command->cdw10 & 7;

	return command->opcode == NVME_RESV_REGISTER || action != 0;
}

/* What doc/reservations.md says is true after every command. */
static void
judge(const struct resv_bench *b, const struct resv_command *command, const struct resv *before)
{
	const struct resv *after = &b->resv;
	bool same = memcmp(before, after, sizeof(*before)) == 0;

	assert_true(resv_valid(after));
	assert_int_equal(b->effect.changed, !same);
	assert_int_equal(b->effect.persist, !same && (before->ptpl || after->ptpl));
	if (!nvme_ok(b->status)) {
		assert_true(same);
		assert_int_equal(b->effect.notice_count + b->effect.abort_count, 0);
		assert_int_equal(b->status.dnr, nvme_sc(b->status) != NVME_SC_INTERNAL);
		return;
	}
	assert_int_equal(after->generation, (uint32_t)(before->generation + counts(command)));
	for (uint32_t i = 0; i < b->effect.notice_count; i++)
		assert_int_not_equal(resv_number(b->effect.notices[i].hostid), command->host);
}

enum nvme_sc
resv_do(struct resv_bench *b, const struct resv_command *command)
{
	const struct nvme_sqe sqe = { .opcode = (uint8_t)command->opcode, .cdw10 = le32_of(command->cdw10) };
	const struct nvme_resv_register_data keys = { le64_of(command->key[0]), le64_of(command->key[1]) };
	const struct nvme_resv_acquire_data acquire = { keys.crkey, keys.nrkey };
	const struct nvme_resv_release_data release = { keys.crkey };
	const uint8_t *hostid = resv_hostid(command->host);
	struct resv before;

	memcpy(&before, &b->resv, sizeof(before));
	memset(&b->effect, 0xff, sizeof(b->effect));
	if (command->opcode == NVME_RESV_REGISTER)
		b->status = resv_register(&b->resv, hostid, &sqe, &keys, &b->effect);
	else if (command->opcode == NVME_RESV_ACQUIRE)
		b->status = resv_acquire(&b->resv, hostid, &sqe, &acquire, &b->effect);
	else
		b->status = resv_release(&b->resv, hostid, &sqe, &release, &b->effect);
	judge(b, command, &before);
	return nvme_sc(b->status);
}

static void
play(const struct resv_rule *rule, unsigned line)
{
	struct resv_bench b;
	enum nvme_sc sc;

	resv_set(&b, rule->before);
	sc = resv_do(&b, &rule->command);
	if (sc != rule->sc || (sc == NVME_SC_SUCCESS &&
	    (strcmp(resv_state(&b), rule->after) != 0 || strcmp(resv_told(&b), rule->told) != 0)))
		fail_msg("rule %u, %s: %03x, %s, told %s", line, rule->before, sc, resv_state(&b), resv_told(&b));
	assert_int_equal(b.effect.abort_count, 0);
}

void
resv_play(const struct resv_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		play(&rules[i], (unsigned)i);
}
