#include "wire/fabrics.h"

int
nvme_nqn_length(const char field[NVME_NQN_FIELD])
{
	size_t length = strnlen(field, NVME_NQN_FIELD);

	return length > 0 && length <= NVME_NQN_MAX ? (int)length : -1;
}
