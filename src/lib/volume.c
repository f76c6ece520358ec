/*
 * volume.c - a volume's beginning and end, and what it is (weir/volume.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/volume.h"
#include "wire/identify.h"

enum { QUEUES = 8, BLOCKS_MAX = 65536 /* NLB has 16 bits */ };

/* ---- limits ---- */

static uint32_t
at_most(uint64_t value, uint64_t most)
{
	return (uint32_t)(value != 0 && value < most ? value : most);
}

/* Of CNS 06h what there is; a target without that page has its limits elsewhere or none. */
static void
find_limits(struct weir_volume *volume, const struct weir_controller *controller, const struct weir_namespace *ns)
{
	struct nvme_identify_ctrl_nvm nvm = { 0 };
	struct volume_limits *limits = &volume->limits;
	unsigned wzsl;

	if (weir_subsys_identify(volume->ws, -1, NVME_CNS_CSI_CTRL, 0, 0, &nvm) != 0)
		memset(&nvm, 0, sizeof(nvm));
	wzsl = nvm.wzsl < 32 ? nvm.wzsl : 0;
	if (controller->oncs & NVME_ONCS_WRITE_ZEROES)
		limits->zero_blocks = at_most(wzsl > 0 ? (UINT64_C(4096) << wzsl) / ns->block_size : 0, BLOCKS_MAX);
	if (controller->oncs & NVME_ONCS_DSM) {
		limits->trim_blocks = at_most(le32_get(nvm.dmrsl), UINT32_MAX);
		limits->trim_total = le64_get(nvm.dmsl) != 0 ? le64_get(nvm.dmsl) : UINT64_MAX;
		limits->trim_ranges = at_most(nvm.dmrl, WEIR_RANGES_MAX);
	}
	if ((controller->oncs & NVME_ONCS_COPY) && ns->copy_max > 0 && ns->copy_total > 0) {
		limits->copy_blocks = at_most(ns->copy_max, BLOCKS_MAX);
		limits->copy_total = ns->copy_total;
		limits->copy_ranges = at_most(ns->copy_ranges, WEIR_RANGES_MAX);
	}
}

static int
look_at_controller(struct weir_volume *volume, const struct weir_namespace *ns)
{
	struct weir_controller controller;
	void *page = malloc(NVME_IDENTIFY_LEN);
	int rc;

	if (page == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a volume");
	rc = weir_subsys_identify(volume->ws, -1, NVME_CNS_CTRL, 0, 0, page);
	if (rc == 0) {
		weir_controller_decode(page, NVME_VS_2_0, &controller);
		find_limits(volume, &controller, ns);
	}
	free(page);
	return rc;
}

/* ---- the beginning ---- */

/* The first there is. */
static int
choose_namespace(struct weir_volume *volume, const char *uri)
{
	int count = weir_subsys_namespaces(volume->ws, 1, &volume->nsid, 1);

	if (count == 0)
		return lib_fail(-ENODEV, "%s: the subsystem has no namespace", uri);
	return count < 0 ? count : 0;
}

static int
look_at_namespace(struct weir_volume *volume)
{
	struct weir_namespace ns;
	uint32_t changes;
	int rc;

	pthread_mutex_lock(&volume->host->lock);
	changes = volume->ws->changes;
	pthread_mutex_unlock(&volume->host->lock);
	rc = weir_subsys_namespace(volume->ws, volume->nsid, &ns);
	if (rc != 0)
		return rc;
	volume->block_size = ns.block_size;
	volume->size = ns.blocks * ns.block_size;
	volume->changes = changes;
	if (ns.transfer_max < ns.block_size)
		return lib_fail(-EPROTO, "namespace %u: no command may be as large as a block", volume->nsid);
	return look_at_controller(volume, &ns);
}

static int
connect_volume(struct weir_volume *volume, const char *text, const struct weir_volume_options *options)
{
	struct weir_host_options of_host = { .size = sizeof(of_host), .queues_max = volume->queues_max };
	struct weir_subsys_options of_subsys;
	struct weir_uri uri;
	int rc = options_take(&of_subsys, sizeof(of_subsys), options->subsys, "subsys");

	if (rc == 0)
		rc = weir_uri_parse(text, &uri);
	if (rc == 0 && volume->own_host)
		rc = weir_host_create(&of_host, &volume->host);
	if (rc != 0)
		return rc;
	of_subsys.size = sizeof(of_subsys);
	if (of_subsys.queues == 0)
		of_subsys.queues = (uint16_t)volume->queues_max;
	volume->nsid = uri.nsid;
	rc = weir_subsys_connect(volume->host, text, &of_subsys, &volume->ws);
	if (rc == 0 && volume->nsid == 0)
		rc = choose_namespace(volume, text);
	if (rc == 0)
		rc = look_at_namespace(volume);
	return rc != 0 ? rc : pool_open(volume);
}

static struct weir_volume *
volume_make(const struct weir_volume_options *options)
{
	unsigned queues = options_or(options->queues, QUEUES);
	struct weir_volume *volume = calloc(1, sizeof(*volume) + queues * sizeof(volume->pool[0]));

	if (volume == NULL)
		return NULL;
	volume->host = options->host;
	volume->own_host = options->host == NULL;
	volume->queues_max = volume->pooled = queues;
	volume->wake_fd = -1;
	pthread_mutex_init(&volume->lock, NULL);
	pthread_cond_init(&volume->given, NULL);
	return volume;
}

int
weir_volume_open(const char *uri, const struct weir_volume_options *given, struct weir_volume **out)
{
	struct weir_volume_options options;
	struct weir_volume *volume;
	int rc = OPTIONS_TAKE(&options, given);

	if (rc != 0)
		return rc;
	if (options.queues > SUBSYS_LANES_MAX)
		return lib_fail(-EINVAL, "queues is %u; it is %d at most", options.queues, SUBSYS_LANES_MAX);
	volume = volume_make(&options);
	if (volume == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a volume");
	rc = connect_volume(volume, uri, &options);
	if (rc != 0) {
		char why[512];

		snprintf(why, sizeof(why), "%s", weir_error());
		weir_volume_close(volume);
		return lib_fail(rc, "%s", why);
	}
	*out = volume;
	return 0;
}

void
weir_volume_close(struct weir_volume *volume)
{
	if (volume == NULL)
		return;
	pool_close(volume);
	weir_subsys_disconnect(volume->ws);
	if (volume->own_host)
		weir_host_destroy(volume->host);
	pthread_cond_destroy(&volume->given);
	pthread_mutex_destroy(&volume->lock);
	free(volume);
}

/* ---- what it is ---- */

/* Asks again where something of the subsystem's namespaces has changed, or where it must be known. */
static uint64_t
size_now(struct weir_volume *volume, bool ask)
{
	struct weir_namespace ns;
	uint32_t changes;
	uint64_t size;

	pthread_mutex_lock(&volume->host->lock);
	changes = volume->ws->changes;
	pthread_mutex_unlock(&volume->host->lock);
	pthread_mutex_lock(&volume->lock);
	ask |= volume->changes != changes;
	pthread_mutex_unlock(&volume->lock);
	/* Unlocked: it may take as long as the service thread likes. */
	ask = ask && !host_is_service(volume->host) && weir_subsys_namespace(volume->ws, volume->nsid, &ns) == 0;
	pthread_mutex_lock(&volume->lock);
	if (ask) {
		volume->size = ns.blocks * ns.block_size;
		volume->changes = changes;
	}
	size = volume->size;
	pthread_mutex_unlock(&volume->lock);
	return size;
}

uint64_t
weir_volume_size(const struct weir_volume *volume)
{
	return size_now((struct weir_volume *)volume, false);
}

uint32_t
weir_volume_block_size(const struct weir_volume *volume)
{
	return volume->block_size;
}

uint32_t
weir_volume_nsid(const struct weir_volume *volume)
{
	return volume->nsid;
}

struct weir_subsys *
weir_volume_subsys(struct weir_volume *volume)
{
	return volume->ws;
}

int
volume_check(struct weir_volume *volume, const char *what, uint64_t bytes, uint64_t offset)
{
	uint64_t size;

	if (bytes % volume->block_size != 0 || offset % volume->block_size != 0)
		return lib_fail(-EINVAL, "%s of %" PRIu64 " bytes at %" PRIu64 ": not whole blocks of %u bytes", what,
		    bytes, offset, volume->block_size);
	size = size_now(volume, false);
	if (offset > size || bytes > size - offset)
		size = size_now(volume, true);
	if (offset > size || bytes > size - offset)
		return lib_fail(-ERANGE, "%s of %" PRIu64 " bytes at %" PRIu64 ": the volume has %" PRIu64, what, bytes,
		    offset, size);
	return 0;
}
