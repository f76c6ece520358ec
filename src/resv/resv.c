#include "resv/internal.h"

/* What a host may do, as the specification's figure has it: by type, and by what the host is. */
static const struct {
	uint8_t holder, registrant, other;
} rules[] = {
#define RW (RESV_READ | RESV_WRITE)
	/*                    holder  registrant  other */
	[NVME_RESV_NONE] =  { RW,     RW,         RW },
	[NVME_RESV_WE] =    { RW,     RESV_READ,  RESV_READ },
	[NVME_RESV_EA] =    { RW,     0,          0 },
	[NVME_RESV_WE_RO] = { RW,     RW,         RESV_READ },
	[NVME_RESV_EA_RO] = { RW,     RW,         0 },
	[NVME_RESV_WE_AR] = { RW,     RW,         RESV_READ },
	[NVME_RESV_EA_AR] = { RW,     RW,         0 },
#undef RW
};

void
resv_init(struct resv *resv, bool can_persist)
{
	*resv = (struct resv){ .holder = RESV_NOBODY, .can_persist = can_persist };
}

uint32_t
resv_find(const struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN])
{
	for (uint32_t i = 0; i < resv->host_count; i++)
		if (memcmp(resv->hosts[i].hostid, hostid, RESV_HOSTID_LEN) == 0)
			return i;
	return RESV_NOBODY;
}

bool
resv_holds(const struct resv *resv, uint32_t place)
{
	if (place == RESV_NOBODY)
		return false;
	return resv_type_of_all(resv->type) || place == resv->holder;
}

unsigned
resv_access(const struct resv *resv, const uint8_t hostid[RESV_HOSTID_LEN])
{
	uint32_t place = resv_find(resv, hostid);

	if (resv_holds(resv, place))
		return rules[resv->type].holder;
	return place != RESV_NOBODY ? rules[resv->type].registrant : rules[resv->type].other;
}

static bool
hosts_valid(const struct resv *resv)
{
	static const uint8_t zeros[RESV_HOSTID_LEN];

	if (resv->host_count > RESV_HOSTS_MAX)
		return false;
	for (uint32_t i = 0; i < resv->host_count; i++) {
		const struct resv_host *host = &resv->hosts[i];

		if (host->key == 0 || memcmp(host->hostid, zeros, sizeof(zeros)) == 0)
			return false;
		if (resv_find(resv, host->hostid) != i)
			return false;
	}
	return true;
}

bool
resv_valid(const struct resv *resv)
{
	if (!hosts_valid(resv) || (resv->ptpl && !resv->can_persist))
		return false;
	switch (resv->type) {
	case NVME_RESV_NONE:
		return resv->holder == RESV_NOBODY;
	case NVME_RESV_WE:
	case NVME_RESV_EA:
	case NVME_RESV_WE_RO:
	case NVME_RESV_EA_RO:
		return resv->holder < resv->host_count;
	case NVME_RESV_WE_AR:
	case NVME_RESV_EA_AR:
		return resv->holder == RESV_NOBODY && resv->host_count > 0;
	}
	return false;
}
