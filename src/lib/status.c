#include "lib/status.h"

weir_status
lib_status(struct nvme_status status)
{
	return (weir_status)(status.sct << 8 | status.sc | (status.dnr ? WEIR_STATUS_DNR : 0));
}

struct weir_result
lib_result(int error, struct nvme_status status, uint32_t dw0, uint32_t dw1)
{
	return (struct weir_result){
		.error = error != 0 ? error : nvme_status_errno(status),
		.status = lib_status(status), .dw0 = dw0, .dw1 = dw1,
	};
}

const char *
weir_status_text(weir_status status)
{
	return nvme_status_text(nvme_status_of((enum nvme_sc)(status & 0x7ff), false), false);
}
