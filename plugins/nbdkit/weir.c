/*
 * weir.c - nbdkit-weir-plugin: a namespace of an NVMe/TCP target, for whoever speaks NBD.
 *
 * All clients share one volume of libweir, which keeps the connections to the
 * target and may be used by any number of threads: what is here is options,
 * and the one interface said in words of the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>
#include <weir/weir.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

enum {
	QUEUES = 16, QUEUES_MAX = 127, /* nbdkit's threads of one client; what a weir_host takes */
	IDENTIFY_CONTROLLER = 1,
	ONCS_DSM = 1 << 2, ONCS_WRITE_ZEROES = 1 << 3,
	BLOCK_MAX = 65536,             /* NBD has no larger ones */
};

static struct {
	const char *uri;
	unsigned queues, loss_s;
	bool hdgst, ddgst;
} asked = { .queues = QUEUES };

static struct weir_host *host;
static struct weir_volume *volume;
static uint16_t oncs; /* what its controllers can do beside reading and writing */

/* ---- options ---- */

static int
config_uri(const char *value)
{
	struct weir_uri uri;

	if (weir_uri_parse(value, &uri) < 0) {
		nbdkit_error("uri=%s: %s", value, weir_error());
		return -1;
	}
	if (uri.subnqn[0] == '\0') {
		nbdkit_error("uri=%s: names no subsystem: nvme+tcp://HOST:PORT/SUBNQN?ns=N is needed", value);
		return -1;
	}
	asked.uri = nbdkit_strdup_intern(value);
	return asked.uri ? 0 : -1;
}

static int
config_queues(const char *value)
{
	if (nbdkit_parse_unsigned("queues", value, &asked.queues) < 0)
		return -1;
	if (asked.queues == 0 || asked.queues > QUEUES_MAX) {
		nbdkit_error("queues=%s: 1 to %d", value, QUEUES_MAX);
		return -1;
	}
	return 0;
}

static int
config_loss(const char *value)
{
	if (nbdkit_parse_unsigned("loss", value, &asked.loss_s) < 0)
		return -1;
	if (asked.loss_s == 0 || asked.loss_s > UINT32_MAX / 1000) {
		nbdkit_error("loss=%s: a number of seconds, 1 to %" PRIu32, value, UINT32_MAX / 1000);
		return -1;
	}
	return 0;
}

static int
config_bool(const char *value, bool *flag)
{
	int parsed = nbdkit_parse_bool(value);

	*flag = parsed > 0;
	return parsed < 0 ? -1 : 0;
}

static int
weir_config(const char *key, const char *value)
{
	if (strcmp(key, "uri") == 0)
		return config_uri(value);
	if (strcmp(key, "queues") == 0)
		return config_queues(value);
	if (strcmp(key, "loss") == 0)
		return config_loss(value);
	if (strcmp(key, "hdgst") == 0)
		return config_bool(value, &asked.hdgst);
	if (strcmp(key, "ddgst") == 0)
		return config_bool(value, &asked.ddgst);
	nbdkit_error("there is no parameter '%s'", key);
	return -1;
}

static int
weir_config_complete(void)
{
	if (asked.uri)
		return 0;
	nbdkit_error("uri=nvme+tcp://HOST:PORT/SUBNQN?ns=N is needed");
	return -1;
}

#define CONFIG_HELP \
	"[uri=]<URI>      (required) the namespace: nvme+tcp://HOST[:PORT][,HOST[:PORT]...]/SUBNQN?ns=N\n" \
	"queues=<N>       requests at the target at the same time, 1 to 127 (default 16)\n" \
	"loss=<SECONDS>   how long requests wait for a target that is gone (default 60)\n" \
	"hdgst=<BOOL>     header digests (default false)\n" \
	"ddgst=<BOOL>     data digests (default false)"

/* ---- the volume ---- */

static void
say(void *arg, enum weir_log_level level, const char *text)
{
	if (level == WEIR_LOG_INFO)
		nbdkit_debug("%s", text);
	else
		nbdkit_error("%s", text);
}

static int
open_volume(void)
{
	struct weir_host_options of_host = WEIR_OPTIONS(weir_host_options);
	struct weir_subsys_options of_subsys = WEIR_OPTIONS(weir_subsys_options);
	struct weir_volume_options of_volume = WEIR_OPTIONS(weir_volume_options);
	struct weir_volume *opened;
	int ret;

	of_host.queues_max = asked.queues;
	of_host.log = say;
	ret = weir_host_create(&of_host, &host);
	if (ret < 0) {
		host = NULL;
		return ret;
	}
	of_subsys.queues = (uint16_t)asked.queues;
	of_subsys.loss_ms = asked.loss_s * 1000;
	of_subsys.hdgst = asked.hdgst;
	of_subsys.ddgst = asked.ddgst;
	of_volume.queues = asked.queues;
	of_volume.host = host;
	of_volume.subsys = &of_subsys;
	ret = weir_volume_open(asked.uri, &of_volume, &opened);
	volume = ret == 0 ? opened : NULL;
	return ret;
}

static int
learn_commands(void)
{
	struct weir_controller controller;
	uint8_t page[4096];
	int ret;

	ret = weir_subsys_identify(weir_volume_subsys(volume), -1, IDENTIFY_CONTROLLER, 0, 0, page);
	if (ret < 0)
		return ret;
	weir_controller_decode(page, 0, &controller);
	oncs = controller.oncs;
	return 0;
}

static void
close_volume(void)
{
	if (volume)
		weir_volume_close(volume);
	weir_host_destroy(host);
	volume = NULL;
	host = NULL;
}

static int
connect_target(void)
{
	uint32_t block;

	if (open_volume() < 0 || learn_commands() < 0) {
		nbdkit_error("%s", weir_error());
		return -1;
	}
	block = weir_volume_block_size(volume);
	if (block > BLOCK_MAX) {
		nbdkit_error("%s: blocks of %" PRIu32 " bytes are more than NBD can have", asked.uri, block);
		return -1;
	}
	return 0;
}

/* Whether it can be served: said now, when nbdkit can still end with an error that its caller sees. */
static int
weir_get_ready(void)
{
	int ret = connect_target();

	close_volume();
	return ret;
}

/* For good: libweir has a thread of its own, which would not survive nbdkit's fork. */
static int
weir_after_fork(void)
{
	return connect_target();
}

/* ---- what a client is told of it ---- */

static void *
weir_open(int readonly)
{
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static const char *
weir_export_description(void *handle)
{
	return asked.uri;
}

static int64_t
weir_get_size(void *handle)
{
	return (int64_t)weir_volume_size(volume);
}

static int
weir_block_size(void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	*minimum = weir_volume_block_size(volume);
	*preferred = *minimum > 4096 ? *minimum : 4096;
	*maximum = UINT32_MAX;
	return 0;
}

/* While the target is gone nobody can say: then writes will be told. */
static int
weir_can_write(void *handle)
{
	struct weir_namespace ns;
	int ret = weir_subsys_namespace(weir_volume_subsys(volume), weir_volume_nsid(volume), &ns);

	return ret < 0 || !ns.protected_now;
}

/* A Flush is of the namespace, whoever wrote. */
static int
weir_can_multi_conn(void *handle)
{
	return 1;
}

static int
weir_can_fua(void *handle)
{
	return NBDKIT_FUA_NATIVE;
}

static int
weir_can_trim(void *handle)
{
	return (oncs & ONCS_DSM) != 0;
}

/* Where not, nbdkit writes zeros. */
static int
weir_can_zero(void *handle)
{
	return (oncs & ONCS_WRITE_ZEROES) != 0;
}

/* Faster than to send as many zeros, in any case. */
static int
weir_can_fast_zero(void *handle)
{
	return (oncs & ONCS_WRITE_ZEROES) != 0;
}

/* ---- what it asks for ---- */

/* NBD knows few errors, and nbdkit makes EINVAL of all others. */
static int
nbd_errno(int error, bool writing)
{
	switch (error) {
	case EINVAL:
	case ENOMEM:
	case ENOSPC:
	case ESHUTDOWN:
	case EOPNOTSUPP:
		return error;
	case ERANGE:
		return writing ? ENOSPC : EINVAL;
	case EACCES:
	case EBUSY:
	case EROFS:
		return EPERM;
	default:
		return EIO;
	}
}

/* 0, or -1 with the error said and set. */
static int
answer(int ret, bool writing)
{
	if (ret == 0)
		return 0;
	nbdkit_error("%s", weir_error());
	nbdkit_set_error(nbd_errno(-ret, writing));
	return -1;
}

/* Where FUA was wanted of what has none in libweir. */
static int
durable(int ret, uint32_t flags)
{
	return ret == 0 && flags & NBDKIT_FLAG_FUA ? weir_volume_flush(volume) : ret;
}

static int
weir_pread(void *handle, void *data, uint32_t count, uint64_t offset, uint32_t flags)
{
	return answer(weir_volume_read(volume, data, count, offset), false);
}

static int
weir_pwrite(void *handle, const void *data, uint32_t count, uint64_t offset, uint32_t flags)
{
	if (flags & NBDKIT_FLAG_FUA)
		return answer(weir_volume_write_fua(volume, data, count, offset), true);
	return answer(weir_volume_write(volume, data, count, offset), true);
}

static int
weir_flush(void *handle, uint32_t flags)
{
	return answer(weir_volume_flush(volume), true);
}

static int
weir_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	return answer(durable(weir_volume_trim(volume, count, offset), flags), true);
}

static int
weir_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	return answer(durable(weir_volume_zero(volume, count, offset, flags & NBDKIT_FLAG_MAY_TRIM), flags), true);
}

static struct nbdkit_plugin plugin = {
	.name = "weir",
	.longname = "nbdkit Weir plugin",
	.version = WEIR_VERSION,
	.description = "A namespace of an NVMe/TCP target",
	.config = weir_config,
	.config_complete = weir_config_complete,
	.config_help = CONFIG_HELP,
	.magic_config_key = "uri",
	.get_ready = weir_get_ready,
	.after_fork = weir_after_fork,
	.cleanup = close_volume,
	.open = weir_open,
	.export_description = weir_export_description,
	.get_size = weir_get_size,
	.block_size = weir_block_size,
	.can_write = weir_can_write,
	.can_multi_conn = weir_can_multi_conn,
	.can_fua = weir_can_fua,
	.can_trim = weir_can_trim,
	.can_zero = weir_can_zero,
	.can_fast_zero = weir_can_fast_zero,
	.pread = weir_pread,
	.pwrite = weir_pwrite,
	.flush = weir_flush,
	.trim = weir_trim,
	.zero = weir_zero,
};

struct nbdkit_plugin *plugin_init(void); /* which nbdkit looks for; its header makes it and does not declare it */

NBDKIT_REGISTER_PLUGIN(plugin)
