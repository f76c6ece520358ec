/*
 * test_resv_random.c - do random commands from several hosts do what a second
 * account of the rules says?
 *
 * The second account is a table of keys by host.  It says which hosts are
 * registered afterwards and who holds what, and works out who hears of it by
 * comparing before and after.
 */
#include "resv_bench.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"

enum { MODEL_HOSTS = 80 };

struct model {
	unsigned hosts;
	uint64_t key[MODEL_HOSTS + 1]; /* by number from 1; 0: not registered */
	unsigned since[MODEL_HOSTS + 1], clock;
	unsigned type, holder; /* of types 1 to 4 */
	uint32_t generation;
	bool ptpl;
};

static unsigned
model_count(const struct model *m)
{
	unsigned count = 0;

	for (unsigned x = 1; x <= m->hosts; x++)
		count += m->key[x] != 0;
	return count;
}

static bool
model_holds(const struct model *m, unsigned x)
{
	return m->key[x] != 0 && (m->type >= 5 || (m->type != 0 && m->holder == x));
}

static enum nvme_sc
model_register(struct model *m, const struct resv_command *c)
{
	unsigned action = c->cdw10 & 7, cptpl = c->cdw10 >> 30;
	uint64_t *mine = &m->key[c->host], now = action == 1 ? 0 : c->key[1];
	bool ignore = c->cdw10 & 8, fits = *mine == c->key[0] || ignore;

	if (action > 2 || cptpl == 1 || (action != 1 && now == 0))
		return NVME_SC_INVALID_FIELD;
	if ((action == 0 && *mine != 0 && *mine != now) || (action == 1 && (*mine == 0 || !fits)) ||
	    (action == 2 && !(*mine != 0 ? fits : ignore)))
		return NVME_SC_RESV_CONFLICT;
	if (*mine == 0 && model_count(m) == RESV_HOSTS_MAX)
		return NVME_SC_INTERNAL;
	if (*mine == 0)
		m->since[c->host] = ++m->clock;
	*mine = now;
	if (cptpl >= 2)
		m->ptpl = cptpl == 3;
	return NVME_SC_SUCCESS;
}

static enum nvme_sc
model_acquire(struct model *m, const struct resv_command *c)
{
	unsigned action = c->cdw10 & 15, type = c->cdw10 >> 8 & 0xff, gone = 0;
	uint64_t prkey = c->key[1], held = m->type != 0 && m->type < 5 ? m->key[m->holder] : 0;
	bool takes = m->type >= 5 ? prkey == 0 : held != 0 && held == prkey;

	if (action > 2 || type - 1 > 5)
		return NVME_SC_INVALID_FIELD;
	if (m->key[c->host] == 0 || m->key[c->host] != c->key[0])
		return NVME_SC_RESV_CONFLICT;
	if (action == 0 && m->type != 0)
		return model_holds(m, c->host) && m->type == type ? NVME_SC_SUCCESS : NVME_SC_RESV_CONFLICT;
	if (action != 0 && prkey == 0 && m->type < 5)
		return NVME_SC_INVALID_FIELD;
	for (unsigned x = 1; action != 0 && x <= m->hosts; x++) {
		if (m->key[x] == 0 || (prkey != 0 && m->key[x] != prkey) || (x == c->host && takes))
			continue;
		m->key[x] = 0;
		gone++;
	}
	if (action != 0 && !takes)
		return gone > 0 ? NVME_SC_SUCCESS : NVME_SC_RESV_CONFLICT;
	m->type = type;
	m->holder = c->host;
	return NVME_SC_SUCCESS;
}

static enum nvme_sc
model_release(struct model *m, const struct resv_command *c)
{
	unsigned action = c->cdw10 & 15;

	if (action > 1)
		return NVME_SC_INVALID_FIELD;
	if (m->key[c->host] == 0 || m->key[c->host] != c->key[0])
		return NVME_SC_RESV_CONFLICT;
	if (action == 1) {
		memset(m->key, 0, sizeof(m->key));
	} else if (model_holds(m, c->host)) {
		if ((c->cdw10 >> 8 & 0xff) != m->type)
			return NVME_SC_INVALID_FIELD;
		m->type = 0;
	}
	return NVME_SC_SUCCESS;
}

static enum nvme_sc
model_do(struct model *m, const struct resv_command *c)
{
	enum nvme_sc sc = c->opcode == NVME_RESV_REGISTER ? model_register(m, c) :
	    c->opcode == NVME_RESV_ACQUIRE ? model_acquire(m, c) : model_release(m, c);

	if (sc == NVME_SC_SUCCESS && (c->opcode == NVME_RESV_REGISTER || (c->cdw10 & 7) != 0))
		m->generation++;
	if (model_count(m) == 0 || (m->type < 5 && m->key[m->holder] == 0))
		m->type = 0;
	return sc;
}

static char
model_letter(const struct model *was, const struct model *is, const struct resv_command *c, unsigned x)
{
	if (x == c->host || was->key[x] == 0)
		return '\0';
	if (is->key[x] == 0)
		return c->opcode == NVME_RESV_RELEASE ? 'P' : 'G';
	if (was->type == is->type || was->type == 0 || (is->type == 0 && was->type < 3))
		return '\0';
	return 'R';
}

static void
model_told(const struct model *was, const struct model *is, const struct resv_command *c,
    char told[RESV_TEXT_MAX], char ended[RESV_TEXT_MAX])
{
	bool ends = c->opcode == NVME_RESV_ACQUIRE && (c->cdw10 & 7) == 2;
	char *t = told, *e = ended;

	*t = *e = '\0';
	for (unsigned x = 1; x <= was->hosts; x++) {
		char letter = model_letter(was, is, c, x);

		if (letter != '\0')
			t += sprintf(t, "%s%u%c", t == told ? "" : " ", x, letter);
		if (letter == 'G' && ends)
			e += sprintf(e, "%s%u", e == ended ? "" : " ", x);
	}
}

static void
model_state(const struct model *m, char text[RESV_TEXT_MAX])
{
	char *at = text + sprintf(text, "%s", resv_type_names[m->type]);
	unsigned last = 0;

	for (unsigned i = model_count(m); i > 0; i--) {
		unsigned next = 0;

		for (unsigned x = 1; x <= m->hosts; x++)
			if (m->key[x] != 0 && m->since[x] > last && (next == 0 || m->since[x] < m->since[next]))
				next = x;
		last = m->since[next];
		at += sprintf(at, " %u%c%s", next, (char)m->key[next], model_holds(m, next) ? "*" : "");
	}
}

static unsigned
model_access(const struct model *m, unsigned x)
{
	bool may = m->type == 0 || model_holds(m, x) || (m->type >= 3 && m->key[x] != 0);

	return may ? RESV_READ | RESV_WRITE : m->type % 2 == 1 ? RESV_READ : 0;
}

/* Mostly commands that can succeed: keys are few, and CRKEY is mostly right. */
static struct resv_command
command_make(struct rng *rng, const struct model *m)
{
	static const enum nvme_io_opcode opcodes[] = { NVME_RESV_REGISTER, NVME_RESV_REGISTER, NVME_RESV_ACQUIRE,
		NVME_RESV_ACQUIRE, NVME_RESV_RELEASE };
	struct resv_command c = { 1 + (unsigned)rng_below(rng, m->hosts), opcodes[rng_below(rng, 5)], 0, { 0 } };
	uint32_t type = rng_below(rng, 3) == 0 ? (uint32_t)rng_below(rng, 8) : m->type != 0 ? m->type : 6;
	bool is_register = c.opcode == NVME_RESV_REGISTER;

	c.cdw10 = type << 8 | (uint32_t)rng_below(rng, 3);
	if (c.opcode == NVME_RESV_RELEASE && rng_below(rng, 4) != 0)
		c.cdw10 &= ~UINT32_C(7);
	if (is_register && rng_below(rng, 2) == 0)
		c.cdw10 &= ~UINT32_C(7);
	if (rng_below(rng, is_register ? 3 : 20) == 0)
		c.cdw10 |= NVME_RESV_IEKEY;
	if (rng_below(rng, 40) == 0)
		c.cdw10 |= (uint32_t)rng_below(rng, 8);
	if (is_register && rng_below(rng, 4) == 0)
		c.cdw10 |= (uint32_t)rng_below(rng, 4) << 30;
	c.key[0] = rng_below(rng, 5) == 0 ? 'a' : m->key[c.host];
	c.key[1] = rng_below(rng, 8) == 0 ? 0 : 'a' + rng_below(rng, 5);
	return c;
}

/* How often what was done by how many kinds of commands: none may be missing. */
struct tally {
	unsigned done[3][3], refused[3], told[3], ended, full;
};

static void
tally_add(struct tally *tally, const struct resv_command *c, enum nvme_sc sc, const char *told, const char *ended)
{
	unsigned kind = c->opcode == NVME_RESV_REGISTER ? 0 : c->opcode == NVME_RESV_ACQUIRE ? 1 : 2;

	if (sc == NVME_SC_SUCCESS)
		tally->done[kind][c->cdw10 & 7]++;
	else
		tally->refused[kind]++;
	for (unsigned i = 0; i < 3; i++)
		tally->told[i] += strchr(told, "GRP"[i]) != NULL;
	tally->ended += *ended != '\0';
	tally->full += sc == NVME_SC_INTERNAL;
}

static void
compare(struct rng *rng, struct resv_bench *b, struct model *m, struct tally *tally)
{
	char told[RESV_TEXT_MAX], ended[RESV_TEXT_MAX], text[RESV_TEXT_MAX];
	struct resv_command c = command_make(rng, m);
	struct model was = *m;
	enum nvme_sc sc = model_do(m, &c);

	assert_int_equal(resv_do(b, &c), sc);
	model_told(&was, m, &c, told, ended);
	model_state(m, text);
	assert_string_equal(resv_state(b), text);
	assert_string_equal(resv_told(b), told);
	assert_string_equal(resv_ended(b), ended);
	assert_int_equal(b->resv.generation, m->generation);
	assert_int_equal(b->resv.ptpl, m->ptpl);
	for (unsigned x = 1; x <= m->hosts; x++)
		assert_int_equal(resv_access(&b->resv, resv_hostid(x)), model_access(m, x));
	tally_add(tally, &c, sc, told, ended);
}

static struct tally
run(uint64_t seed, unsigned hosts, unsigned commands)
{
	struct model m = { .hosts = hosts };
	struct tally tally = { 0 };
	struct resv_bench b;
	struct rng rng;

	rng_seed(&rng, seed);
	resv_init(&b.resv, true);
	for (unsigned i = 0; i < commands; i++)
		compare(&rng, &b, &m, &tally);
	return tally;
}

static void
a_hundred_thousand_commands_of_few_hosts_do_what_the_rules_say(void **state)
{
	struct tally tally = run(1, 6, 100000);

	for (unsigned kind = 0; kind < 3; kind++) {
		assert_true(tally.refused[kind] > 100 && tally.told[kind] > 100);
		for (unsigned action = 0; action < (kind == 2 ? 2 : 3); action++)
			assert_true(tally.done[kind][action] > 100);
	}
	assert_true(tally.ended > 100);
}

static void
many_hosts_that_only_come_and_go_fill_the_table(void **state)
{
	struct model m = { .hosts = MODEL_HOSTS };
	struct tally tally = { 0 };
	struct resv_bench b;
	struct rng rng;

	rng_seed(&rng, 2);
	resv_init(&b.resv, true);
	for (unsigned i = 0; i < 3000; i++) {
		/* A crowd that registers, then one command of any kind. */
		for (unsigned x = 1; i % 50 == 0 && x <= MODEL_HOSTS; x++) {
			const struct resv_command add = { x, NVME_RESV_REGISTER, 0, { 0, 'a' + x % 5 } };

			assert_int_equal(resv_do(&b, &add), model_do(&m, &add));
		}
		compare(&rng, &b, &m, &tally);
	}
	assert_true(tally.full > 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_thousand_commands_of_few_hosts_do_what_the_rules_say),
		cmocka_unit_test(many_hosts_that_only_come_and_go_fill_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
