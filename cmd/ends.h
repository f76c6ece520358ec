/*
 * ends.h - what bytes are moved from and to (pump.h): a volume, a file, a stream.
 */
#ifndef WEIR_CMD_ENDS_H
#define WEIR_CMD_ENDS_H

#include <sys/types.h>
#include <weir/weir.h>

#include "host_options.h"
#include "pump.h"

/* ---- end_volume.c ---- */

/* A namespace that is open for I/O. */
struct volume {
	struct weir_subsys *subsys;
	struct weir_queue *queue;
	struct weir_namespace ns;
	char nqn[WEIR_NQN_MAX + 1];
	uint64_t bytes;
	bool write_zeroes, copies; /* the controller can */
};

/* Connects, and opens one queue of so many I/Os; of a URI that names no namespace the first.  0, or -1 after having
 * said why not. */
int volume_open(struct volume *volume, struct weir_host *host, const struct host_options *options,
    const struct weir_uri *uri, unsigned depth) __attribute__((warn_unused_result));
void volume_close(struct volume *volume);

struct volume_end {
	struct end end;
	struct volume *volume;
	uint64_t base;     /* bytes: where in the volume the first piece begins */
	bool fua;          /* of what is written */
	bool unmap;        /* zeros are given back to the target */
	bool pad;          /* a last piece that ends within a block is filled up with zeros; else cut to whole blocks */
	uint64_t copy_from; /* volume_copy_init(): bytes, where in the volume it comes from */
};

void volume_source_init(struct volume_end *end, struct volume *volume, uint64_t base);

void volume_sink_init(struct volume_end *end, struct volume *volume, uint64_t base);

/* A sink that lets the target copy, from `from` to `base`; what the source has filled is not looked at. */
void volume_copy_init(struct volume_end *end, struct volume *volume, uint64_t from, uint64_t base);

/* Bytes of one Copy. */
uint64_t volume_copy_max(const struct volume *volume);

/* ---- end_file.c ---- */

struct file_end {
	struct end end;
	int fd;
	bool seekable;      /* else it is a stream */
	bool fresh;         /* a sink: there is nothing in it, so zeros need not be written */
	bool pipe;          /* a sink: takes a little at a time without blocking */
	uint64_t base;      /* where in the file the first piece begins */
	uint64_t hole, data; /* from hole to data there are none; both 0: nobody has looked */
};

/* What is behind a descriptor: `size` is how much there is from where it stands, or PUMP_UNKNOWN.  0 or -errno. */
int file_end_init(struct file_end *end, int fd, uint64_t *size) __attribute__((warn_unused_result));
void file_source_init(struct file_end *end);
/* `sparse`: zeros are left out; false: they cannot be, there. */
bool file_sink_init(struct file_end *end, bool sparse) __attribute__((warn_unused_result));

/* All has been written, `total` bytes of it: what was left out at the end is made up for.  0 or -errno. */
int file_sink_end(struct file_end *end, uint64_t total) __attribute__((warn_unused_result));

/* Answers each piece at once, and has no bytes of its own: what is before a copy by the target, and behind a check. */
extern struct end nothing_source, nothing_sink;

#endif
