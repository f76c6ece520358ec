/*
 * status.h - a command's end as the public interface tells it (weir/status.h).
 */
#ifndef WEIR_LIB_STATUS_H
#define WEIR_LIB_STATUS_H

#include <weir/status.h>

#include "wire/nvme.h"

weir_status lib_status(struct nvme_status status);

/*
 * `error` is 0 where the target has ended the command, and its status says how; else a negative errno, which stands:
 * the status is then what the target had said last, or success where it has said nothing.
 */
struct weir_result lib_result(int error, struct nvme_status status, uint32_t dw0, uint32_t dw1);

#endif
