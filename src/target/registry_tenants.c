/*
 * registry_tenants.c - which hosts have associations: each is one tenant of all devices.
 *
 * It has a number by which devices know it, and that is another one's when every core has forgotten it.  One that comes
 * back before that has another number.
 */
#include <assert.h>

#include "target/registry.h"

static struct tenant *
tenant_of(struct list *node)
{
	return container_of(node, struct tenant, node);
}

/* 0: there is none. */
static uint16_t
number_take(struct registry *registry)
{
	for (unsigned i = 0; i < BLK_TENANTS / 64; i++) {
		uint64_t unused = ~registry->tenant_numbers[i];

		if (unused == 0)
			continue;
		registry->tenant_numbers[i] |= unused & -unused;
		return (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(unused));
	}
	return 0;
}

static struct tenant *
tenant_make(struct core *core, const char *hostnqn)
{
	struct tenant *tenant = arena_alloc(core->reactor->arena, sizeof(*tenant));

	if (tenant != NULL)
		tenant->who.number = number_take(core->registry);
	if (tenant == NULL || tenant->who.number == 0) {
		core_log_peer(core, "a host is not told apart from others where volumes are shared: %s",
		    tenant == NULL ? "out of memory" : "there are too many");
		arena_free(core->reactor->arena, tenant);
		return NULL;
	}
	memcpy(tenant->who.name, hostnqn, sizeof(tenant->who.name));
	tenant->who.name[sizeof(tenant->who.name) - 1] = '\0';
	list_push(&core->registry->tenants, &tenant->node);
	return tenant;
}

struct tenant *
tenant_take(struct core *core, const char hostnqn[NVME_NQN_FIELD])
{
	struct tenant *tenant = NULL;

	list_for_each(&core->registry->tenants, node)
		if (tenant_of(node)->members > 0 &&
		    strncmp(tenant_of(node)->who.name, hostnqn, sizeof(tenant->who.name)) == 0)
			tenant = tenant_of(node);
	if (tenant == NULL)
		tenant = tenant_make(core, hostnqn);
	if (tenant != NULL)
		tenant->members++;
	return tenant;
}

void
tenant_give(struct core *core, struct tenant *tenant)
{
	struct target_mail mail = { .kind = MAIL_TENANT_GONE };

	if (tenant == NULL || --tenant->members > 0)
		return;
	mail.tenant = &tenant->who;
	tenant->left = core->reactor->count;
	for (unsigned i = 0; i < core->reactor->count; i++)
		core_post(core, i, &mail);
}

static void
forgotten(struct core *core, struct tenant *tenant)
{
	uint16_t number = tenant->who.number;

	assert(tenant->members == 0 && tenant->left > 0);
	if (--tenant->left > 0)
		return;
	core->registry->tenant_numbers[number / 64] &= ~(UINT64_C(1) << number % 64);
	list_remove(&tenant->node);
	arena_free(core->reactor->arena, tenant);
}

void
tenant_mail(struct core *core, const struct target_mail *mail)
{
	struct target_mail answer = { .kind = MAIL_TENANT_FORGOTTEN, .tenant = mail->tenant };

	if (mail->kind == MAIL_TENANT_FORGOTTEN) {
		forgotten(core, container_of(mail->tenant, struct tenant, who));
		return;
	}
	terms_forget(core, mail->tenant);
	core_post(core, 0, &answer);
}

void
tenants_begin(struct registry *registry)
{
	list_init(&registry->tenants);
	registry->tenant_numbers[0] = 1; /* nobody's */
}

void
tenants_end(struct core *core)
{
	struct list *node;

	while ((node = list_pop(&core->registry->tenants)) != NULL)
		arena_free(core->reactor->arena, tenant_of(node));
}
