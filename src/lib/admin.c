/*
 * admin.c - what a subsystem's controllers are asked: namespaces, Identify, log pages, any admin command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "lib/status.h"
#include "wire/log.h"

/* ---- any command ---- */

struct asking {
	struct call call;
	struct weir_subsys *ws;
	int path;
	struct ctrlr_cmd cmd;
	uint32_t timeout_ms;    /* as of struct weir_admin */
	struct iovec iov;
	struct weir_result result;
	uint32_t transfer_max;  /* bytes of one command, of the controller that was asked */
	bool lost;              /* whether it was executed is not known */
};

static void
answered(struct ctrlr_cmd *cmd)
{
	struct asking *a = cmd->owner;
	const struct hreq *req = &cmd->io.req;

	a->lost = cmd->io.lost;
	a->result = lib_result(cmd->late ? -ETIMEDOUT : a->lost ? -ECONNRESET : 0, req->status, req->dw0, req->dw1);
	if (cmd->late)
		call_says(&a->call, -ETIMEDOUT, "%s was not answered within %u ms: its path was given up", cmd->name,
		    cmd->timeout_ms);
	else if (a->lost)
		call_says(&a->call, -ECONNRESET, "the path was lost before the command was answered");
	else if (a->result.error != 0)
		call_says(&a->call, a->result.error, "admin command %02xh: %s", req->sqe.opcode,
		    weir_status_text(a->result.status));
	call_over(&a->call);
}

/* The controller that is to be asked, or NULL, and the call has ended. */
static struct ctrlr *
controller_of(struct asking *a)
{
	struct subsys *subsys = a->ws->subsys;
	struct ctrlr *ctrlr = NULL;

	if (a->path >= 0 && (unsigned)a->path >= subsys_path_count(subsys)) {
		call_says(&a->call, -EINVAL, "there is no path %d", a->path);
	} else {
		ctrlr = subsys_ctrlr(subsys, a->path);
		if (ctrlr == NULL && a->path < 0)
			call_says(&a->call, -ENOTCONN, "no path is live");
		else if (ctrlr == NULL)
			call_says(&a->call, -ENOTCONN, "path %d is not live", a->path);
	}
	if (ctrlr == NULL)
		call_over(&a->call);
	return ctrlr;
}

static void
set_timeout(struct asking *a)
{
	uint32_t usual_ms = subsys_options(a->ws->subsys)->io_timeout_ms;
	const char *name = weir_opcode_name(true, a->cmd.io.req.sqe.opcode);

	a->cmd.name = name != NULL ? name : "an admin command";
	a->cmd.timeout_ms = a->timeout_ms == UINT32_MAX ? 0 : options_or(a->timeout_ms, usual_ms);
}

static void
run_ask(struct call *call)
{
	struct asking *a = container_of(call, struct asking, call);
	struct ctrlr *ctrlr = controller_of(a);

	if (ctrlr == NULL)
		return;
	set_timeout(a);
	a->transfer_max = ctrlr_facts(ctrlr)->transfer_max;
	if (a->cmd.io.req.length <= a->transfer_max) {
		ctrlr_submit(ctrlr, &a->cmd);
		return;
	}
	call_says(call, -EINVAL, "%u bytes are more than one command of this controller can have, %u",
	    a->cmd.io.req.length, a->transfer_max);
	call_over(call);
}

static void
fill(struct asking *a, const struct weir_admin *admin)
{
	struct hreq *req = &a->cmd.io.req;

	a->timeout_ms = admin->timeout_ms;
	a->iov = (struct iovec){ admin->data, admin->bytes };
	a->cmd.done = answered;
	a->cmd.owner = a;
	req->sqe = (struct nvme_sqe){
		.opcode = admin->opcode, .nsid = le32_of(admin->nsid), .cdw10 = le32_of(admin->cdw10),
		.cdw11 = le32_of(admin->cdw11), .cdw12 = le32_of(admin->cdw12), .cdw13 = le32_of(admin->cdw13),
		.cdw14 = le32_of(admin->cdw14), .cdw15 = le32_of(admin->cdw15),
	};
	req->data = admin->bytes == 0 ? HREQ_NONE : admin->write != 0 ? HREQ_WRITE : HREQ_READ;
	req->length = admin->bytes;
	req->iov = &a->iov;
	req->iov_count = admin->bytes != 0;
}

int
weir_subsys_admin(struct weir_subsys *ws, int path, const struct weir_admin *admin, struct weir_result *result)
{
	struct asking a = { .ws = ws, .path = path };
	int rc;

	if (result != NULL)
		*result = (struct weir_result){ .error = -EINVAL };
	if (admin->opcode == NVME_FABRICS || admin->opcode == NVME_ADMIN_ASYNC_EVENT ||
	    admin->opcode == NVME_ADMIN_KEEP_ALIVE)
		return lib_fail(-EINVAL, "admin command %02xh is the library's own", admin->opcode);
	if (admin->bytes % 4 != 0 || (admin->bytes > 0 && admin->data == NULL))
		return lib_fail(-EINVAL, "the data are not whole double words");
	fill(&a, admin);
	rc = call_make(ws->host, &a.call, run_ask);
	if (a.result.error == 0)
		a.result.error = rc; /* it was not sent */
	if (result != NULL)
		*result = a.result;
	return rc;
}

/* One that only reads: of a path that was lost meanwhile another one is asked. */
static int
ask_any(struct weir_subsys *ws, int path, const struct weir_admin *admin)
{
	int rc = -ECONNRESET;

	for (int tries = 0; rc == -ECONNRESET && tries < WEIR_PATHS_MAX; tries++) {
		struct asking a = { .ws = ws, .path = path };

		fill(&a, admin);
		rc = call_make(ws->host, &a.call, run_ask);
		if (path >= 0 || !a.lost)
			break;
	}
	return rc;
}

/* ---- Identify, and log pages ---- */

int
weir_subsys_identify(struct weir_subsys *ws, int path, uint8_t cns, uint32_t nsid, uint16_t cntid, void *page)
{
	const struct weir_admin admin = {
		.opcode = NVME_ADMIN_IDENTIFY, .nsid = nsid, .cdw10 = cns | (uint32_t)cntid << 16, .data = page,
		.bytes = NVME_IDENTIFY_LEN,
	};

	return ask_any(ws, path, &admin);
}

static void
run_most(struct call *call)
{
	struct asking *a = container_of(call, struct asking, call);
	struct ctrlr *ctrlr = controller_of(a);

	if (ctrlr == NULL)
		return;
	a->transfer_max = ctrlr_facts(ctrlr)->transfer_max;
	call_over(call);
}

int
weir_subsys_log(struct weir_subsys *ws, int path, uint8_t lid, uint8_t lsp, uint32_t nsid, uint64_t offset, void *page,
    uint32_t bytes)
{
	struct asking most = { .ws = ws, .path = path };
	int rc;

	if (bytes % 4 != 0 || offset % 4 != 0 || bytes == 0)
		return lib_fail(-EINVAL, "offset and length of a log page are multiples of 4");
	rc = call_make(ws->host, &most.call, run_most);
	for (uint32_t at = 0, now; rc == 0 && at < bytes; at += now) {
		struct weir_admin admin = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = nsid };
		uint32_t words;

		now = bytes - at < most.transfer_max ? bytes - at : most.transfer_max;
		words = now / 4 - 1;
		admin.cdw10 = lid | (lsp & 0x7fu) << 8 | NVME_LOG_RAE | words << 16;
		admin.cdw11 = words >> 16;
		admin.cdw12 = (uint32_t)(offset + at);
		admin.cdw13 = (uint32_t)((offset + at) >> 32);
		admin.data = (uint8_t *)page + at;
		admin.bytes = now;
		rc = ask_any(ws, path, &admin);
	}
	return rc;
}

/* ---- namespaces ---- */

int
weir_subsys_namespaces(struct weir_subsys *ws, uint32_t first, uint32_t *nsids, unsigned max)
{
	le32 *list = malloc(NVME_IDENTIFY_LEN);
	unsigned count = 0, there = NVME_NS_LIST_MAX;

	if (list == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a list of namespaces");
	/* The list has what is above a number; a whole page may have more behind it. */
	for (uint32_t after = first > 0 ? first - 1 : 0; there == NVME_NS_LIST_MAX && count < max;) {
		int rc = weir_subsys_identify(ws, -1, NVME_CNS_NS_ACTIVE_LIST, after, 0, list);

		if (rc != 0) {
			free(list);
			return rc;
		}
		for (there = 0; there < NVME_NS_LIST_MAX && le32_get(list[there]) > after && count < max; there++)
			nsids[count++] = after = le32_get(list[there]);
	}
	free(list);
	return (int)count;
}

struct finding {
	struct call call;
	struct weir_subsys *ws;
	struct subsys_find find;
	struct subsys_ns ns;
};

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct finding *f = find->owner;

	if (ns != NULL)
		f->ns = *ns;
	else
		call_says(&f->call, error, "%s", why);
	call_over(&f->call);
}

static void
run_find(struct call *call)
{
	struct finding *f = container_of(call, struct finding, call);

	subsys_find(f->ws->subsys, &f->find);
}

/* That there is none, and which there are. */
static int
none_such(struct weir_subsys *ws, uint32_t nsid)
{
	enum { SOME = 8 };
	uint32_t some[SOME + 1];
	int count = weir_subsys_namespaces(ws, 1, some, SOME + 1);
	char list[SOME * 12 + 8];
	size_t at = 0;

	if (count <= 0)
		return lib_fail(-ENODEV, "no namespace %u; there %s", nsid, count == 0 ? "is none" : "may be others");
	for (int i = 0; i < count && i < SOME; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%u", i > 0 ? ", " : "", some[i]);
	snprintf(list + at, sizeof(list) - at, "%s", count > SOME ? " ..." : "");
	return lib_fail(-ENODEV, "no namespace %u; there %s %s", nsid, count == 1 ? "is" : "are", list);
}

static void
translate(const struct subsys_ns *from, uint32_t nsid, struct weir_namespace *ns)
{
	weir_namespace_decode(&from->identify, nsid, ns);
	weir_namespace_descriptors(from->descriptors, ns);
	ns->blocks = from->blocks;
	ns->block_size = from->block_size;
	ns->transfer_max = from->transfer_max;
	ns->compare_write_blocks = from->compare_write_blocks;
	ns->volatile_cache = from->volatile_cache;
}

int
weir_subsys_namespace(struct weir_subsys *ws, uint32_t nsid, struct weir_namespace *ns)
{
	struct finding *f;
	int rc;

	if (nsid == 0 || nsid == UINT32_MAX)
		return lib_fail(-EINVAL, "%u is not the number of a namespace", nsid);
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return lib_fail(-ENOMEM, "there is no memory to ask for a namespace");
	f->ws = ws;
	f->find = (struct subsys_find){ .nsid = nsid, .found = found, .owner = f };
	rc = call_make(ws->host, &f->call, run_find);
	if (rc == 0)
		translate(&f->ns, nsid, ns);
	free(f);
	return rc == -ENODEV ? none_such(ws, nsid) : rc;
}
