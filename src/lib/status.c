#include "lib/status.h"

#include <errno.h>
#include <string.h>

#include "host/cache.h"

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

/* What has words of its own, whatever the target had said before; the rest is the target's, or the system's. */
const char *
weir_result_text(const struct weir_result *result)
{
	switch (-result->error) {
	case ETIMEDOUT: return "given up: it was not answered in time, or no path was there for the loss time";
	case ENOLINK: return "no path reaches the namespace";
	case ESTALE: return "the connection was lost, and whether it was done is not known";
	case ESHUTDOWN: return "the queue was closed meanwhile";
	default: break;
	}
	if (result->error == -EIO && result->status == 0)
		return CACHE_LOST_WORDS;
	return result->status != 0 || result->error == 0 ? weir_status_text(result->status) : strerror(-result->error);
}
