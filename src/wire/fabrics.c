#include "wire/fabrics.h"

int
nvme_nqn_length(const char field[NVME_NQN_FIELD])
{
	size_t length = strnlen(field, NVME_NQN_FIELD);

	return nqn_valid(field, length) ? (int)length : -1;
}

struct nvme_sqe
nvme_property_command(uint8_t fctype, uint32_t ofst, uint32_t value)
{
	struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = fctype, .ofst = le32_of(ofst), .value = le64_of(value),
	};
	struct nvme_sqe plain;

	memcpy(&plain, &sqe, sizeof(plain));
	return plain;
}
