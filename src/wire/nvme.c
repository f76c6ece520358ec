#include "wire/nvme.h"

#include <errno.h>

struct text {
	uint16_t sc; /* SCT << 8 | SC */
	const char *text;
};

/* NVMe Base 2.0, figures 94 to 98, and NVM Command Set 1.0, 3.1; ascending. */
static const struct text texts[] = {
	{ 0x000, "success" },
	{ 0x001, "invalid command opcode" },
	{ 0x002, "invalid field in command" },
	{ 0x003, "command id conflict" },
	{ 0x004, "data transfer error" },
	{ 0x005, "aborted due to power loss" },
	{ 0x006, "internal error" },
	{ 0x007, "command abort requested" },
	{ 0x008, "aborted due to submission queue deletion" },
	{ 0x009, "aborted due to failed fused command" },
	{ 0x00a, "aborted due to missing fused command" },
	{ 0x00b, "invalid namespace or format" },
	{ 0x00c, "command sequence error" },
	{ 0x00d, "invalid SGL segment descriptor" },
	{ 0x00e, "invalid number of SGL descriptors" },
	{ 0x00f, "data SGL length invalid" },
	{ 0x010, "metadata SGL length invalid" },
	{ 0x011, "SGL descriptor type invalid" },
	{ 0x014, "atomic write unit exceeded" },
	{ 0x015, "operation denied" },
	{ 0x016, "SGL offset invalid" },
	{ 0x018, "host identifier inconsistent format" },
	{ 0x019, "keep alive timer expired" },
	{ 0x01a, "keep alive timeout invalid" },
	{ 0x01b, "aborted due to preempt and abort" },
	{ 0x01c, "sanitize failed" },
	{ 0x01d, "sanitize in progress" },
	{ 0x020, "namespace is write protected" },
	{ 0x021, "command interrupted" },
	{ 0x022, "transient transport error" },
	{ 0x024, "admin command media not ready" },
	{ 0x080, "LBA out of range" },
	{ 0x081, "capacity exceeded" },
	{ 0x082, "namespace not ready" },
	{ 0x083, "reservation conflict" },
	{ 0x084, "format in progress" },
	{ 0x101, "invalid queue identifier" },
	{ 0x102, "invalid queue size" },
	{ 0x103, "abort command limit exceeded" },
	{ 0x105, "asynchronous event request limit exceeded" },
	{ 0x109, "invalid log page" },
	{ 0x10a, "invalid format" },
	{ 0x10d, "feature identifier not saveable" },
	{ 0x10e, "feature not changeable" },
	{ 0x10f, "feature not namespace specific" },
	{ 0x115, "namespace insufficient capacity" },
	{ 0x116, "namespace identifier unavailable" },
	{ 0x118, "namespace already attached" },
	{ 0x119, "namespace is private" },
	{ 0x11a, "namespace not attached" },
	{ 0x11b, "thin provisioning not supported" },
	{ 0x11c, "controller list invalid" },
	{ 0x124, "ANA group identifier invalid" },
	{ 0x127, "namespace attachment limit exceeded" },
	{ 0x129, "I/O command set not supported" },
	{ 0x12c, "invalid I/O command set" },
	{ 0x180, "conflicting attributes" },
	{ 0x181, "invalid protection information" },
	{ 0x182, "attempted write to read only range" },
	{ 0x183, "command size limit exceeded" },
	{ 0x191, "authentication required" },
	{ 0x280, "write fault" },
	{ 0x281, "unrecovered read error" },
	{ 0x282, "end-to-end guard check error" },
	{ 0x283, "end-to-end application tag check error" },
	{ 0x284, "end-to-end reference tag check error" },
	{ 0x285, "compare failure" },
	{ 0x286, "access denied" },
	{ 0x287, "deallocated or unwritten logical block" },
	{ 0x300, "internal path error" },
	{ 0x301, "asymmetric access persistent loss" },
	{ 0x302, "asymmetric access inaccessible" },
	{ 0x303, "asymmetric access transition" },
	{ 0x360, "controller pathing error" },
	{ 0x370, "host pathing error" },
	{ 0x371, "command aborted by host" },
};

/* The codes that mean something else, or anything at all, only in Fabrics commands (Base 2.0, figure 97). */
static const struct text connect_texts[] = {
	{ 0x180, "connect incompatible format" },
	{ 0x181, "connect controller busy" },
	{ 0x182, "connect invalid parameters" },
	{ 0x183, "connect restart discovery" },
	{ 0x184, "connect invalid host" },
	{ 0x185, "invalid queue type" },
	{ 0x190, "discover restart" },
};

static const char *
text_find(const struct text *list, size_t count, enum nvme_sc sc)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].sc == sc)
			return list[i].text;
	return NULL;
}

const char *
nvme_status_text(struct nvme_status status, bool connect)
{
	static const char *const unknown[] = {
		"unknown generic status", "unknown command specific status",
		"unknown media error", "unknown path status",
	};
	enum nvme_sc sc = nvme_sc(status);
	const char *text = NULL;

	if (connect)
		text = text_find(connect_texts, sizeof(connect_texts) / sizeof(connect_texts[0]), sc);
	if (text == NULL)
		text = text_find(texts, sizeof(texts) / sizeof(texts[0]), sc);
	if (text == NULL)
		text = status.sct <= NVME_SCT_PATH ? unknown[status.sct] : "unknown status";
	return text;
}

struct nvme_status
nvme_status_of_errno(int error, bool write)
{
	switch (-error) {
	case 0:
		return NVME_OK;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return nvme_status_of(NVME_SC_CAPACITY, true);
	case EIO:
		return nvme_status_of(write ? NVME_SC_WRITE_FAULT : NVME_SC_READ_ERROR, false);
	case EOPNOTSUPP:
		return nvme_status_of(NVME_SC_INVALID_OPCODE, true);
	case ERANGE:
		return nvme_status_of(NVME_SC_LBA_RANGE, true);
	case EROFS:
		return nvme_status_of(NVME_SC_WRITE_PROTECTED, true);
	default: /* ENOMEM among them: a later try may find memory */
		return nvme_status_of(NVME_SC_INTERNAL, false);
	}
}

/* What is not here is -EIO, or -ENOLINK where a path says it: another one may do better. */
static const struct {
	uint16_t sc;
	int error;
} errors[] = {
	{ NVME_SC_SUCCESS, 0 },
	{ NVME_SC_INVALID_OPCODE, -EOPNOTSUPP },
	{ NVME_SC_INVALID_FIELD, -EINVAL },
	{ NVME_SC_CID_CONFLICT, -EINVAL },
	{ NVME_SC_POWER_LOSS, -ECANCELED },
	{ NVME_SC_ABORT_REQUESTED, -ECANCELED },
	{ NVME_SC_SQ_DELETED, -ECANCELED },
	{ NVME_SC_FUSED_FAILED, -ECANCELED },
	{ NVME_SC_FUSED_MISSING, -ECANCELED },
	{ NVME_SC_INVALID_NS, -ENODEV },
	{ NVME_SC_SEQUENCE, -EINVAL },
	{ NVME_SC_SGL_LENGTH, -EINVAL },
	{ NVME_SC_SGL_TYPE, -EINVAL },
	{ NVME_SC_ATOMIC_UNIT, -EINVAL },
	{ NVME_SC_DENIED, -EACCES },
	{ NVME_SC_HOST_ID_FORMAT, -EINVAL },
	{ NVME_SC_KATO_INVALID, -EINVAL },
	{ NVME_SC_PREEMPT_ABORTED, -ECANCELED },
	{ NVME_SC_SANITIZING, -EAGAIN },
	{ NVME_SC_WRITE_PROTECTED, -EROFS },
	{ NVME_SC_INTERRUPTED, -EAGAIN },
	{ NVME_SC_TRANSIENT_TRANSPORT, -EAGAIN },
	{ NVME_SC_LBA_RANGE, -ERANGE },
	{ NVME_SC_CAPACITY, -ENOSPC },
	{ NVME_SC_NS_NOT_READY, -EAGAIN },
	{ NVME_SC_RESV_CONFLICT, -EBUSY },
	{ NVME_SC_FORMATTING, -EAGAIN },
	{ NVME_SC_ABORT_LIMIT, -EAGAIN },
	{ NVME_SC_AER_LIMIT, -EAGAIN },
	{ NVME_SC_LOG_PAGE, -EOPNOTSUPP },
	{ NVME_SC_INVALID_FORMAT, -EINVAL },
	{ NVME_SC_NOT_SAVEABLE, -EINVAL },
	{ NVME_SC_NOT_CHANGEABLE, -EINVAL },
	{ NVME_SC_NOT_NS_SPECIFIC, -EINVAL },
	{ NVME_SC_NS_CAPACITY, -ENOSPC },
	{ NVME_SC_NSID_UNAVAILABLE, -ENOSPC },
	{ NVME_SC_NS_ATTACHED, -EINVAL },
	{ NVME_SC_NS_PRIVATE, -EINVAL },
	{ NVME_SC_NS_NOT_ATTACHED, -EINVAL },
	{ NVME_SC_THIN_PROVISIONING, -EOPNOTSUPP },
	{ NVME_SC_CTRL_LIST, -EINVAL },
	{ NVME_SC_ANA_GROUP, -EINVAL },
	{ NVME_SC_ATTACHMENTS, -ENOSPC },
	{ NVME_SC_COMMAND_SET, -EOPNOTSUPP },
	{ NVME_SC_CONFLICTING_ATTRIBUTES, -EINVAL },
	{ NVME_SC_READ_ONLY_RANGE, -EROFS },
	{ NVME_SC_SIZE_LIMIT, -EINVAL },
	{ NVME_SC_AUTH_REQUIRED, -EACCES },
	{ NVME_SC_COMPARE, -EILSEQ },
	{ NVME_SC_ACCESS_DENIED, -EACCES },
	{ NVME_SC_HOST_ABORTED, -ECANCELED },
};

int
nvme_status_errno(struct nvme_status status)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].sc == nvme_sc(status))
			return errors[i].error;
	return status.sct == NVME_SCT_PATH ? -ENOLINK : -EIO;
}
