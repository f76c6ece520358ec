#include "forger.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 32 * 1024, TYPES = 16 };

/* What one side says, on its way to the other: `out` goes on as soon as it can. */
struct way {
	struct stream *from, *to;
	bool ended;              /* nothing more comes */
	int error;               /* why */
	size_t in_len, out_len;
	uint8_t in[BYTES], out[2 * BYTES];
	unsigned seen[TYPES];    /* PDUs of each type */
};

struct pair {
	struct forger *forger;
	struct way said, told;   /* by the target, and to it */
};

static bool
passes(struct pair *pair, struct way *way, uint8_t *pdu)
{
	struct forger *f = pair->forger;
	uint8_t type = pdu[0];

	assert(type < TYPES);
	f->pair = pair;
	if (way == &pair->said)
		return f->forge(f, pdu, way->seen[type]++);
	f->terms += type == PDU_H2C_TERM;
	if (f->hear != NULL && !f->hear(f, pdu))
		return false;
	return type != PDU_H2C_TERM || !f->deaf;
}

static void
take_pdus(struct pair *pair, struct way *way)
{
	uint32_t plen;

	while (way->in_len >= PDU_CH_LEN && way->in_len >= (plen = get_le32(way->in + 4))) {
		assert(plen >= PDU_CH_LEN);
		if (passes(pair, way, way->in)) {
			assert(way->out_len + plen <= sizeof(way->out));
			memcpy(way->out + way->out_len, way->in, plen);
			way->out_len += plen;
		}
		way->in_len -= plen;
		memmove(way->in, way->in + plen, way->in_len);
	}
}

static void
move(struct pair *pair, struct way *way)
{
	struct iovec iov = { way->in + way->in_len, BYTES - way->in_len };
	ssize_t n = way->ended || way->out_len > BYTES ? -EAGAIN : way->from->ops->readv(way->from, &iov, 1);

	if (n > 0) {
		way->in_len += (size_t)n;
		take_pdus(pair, way);
	} else if (n != -EAGAIN) {
		way->ended = true;
		way->error = (int)n;
	}
	iov = (struct iovec){ way->out, way->out_len };
	n = way->out_len > 0 ? way->to->ops->writev(way->to, &iov, 1) : 0;
	if (n > 0) {
		way->out_len -= (size_t)n;
		memmove(way->out, way->out + n, way->out_len);
	}
}

static bool
is_over(const struct way *way)
{
	return way->ended && (way->error != 0 || way->out_len == 0);
}

static unsigned
wants(const struct way *in, const struct way *out)
{
	return (in->ended || in->out_len > BYTES ? 0u : STREAM_READABLE) |
	    (out->out_len > 0 ? STREAM_WRITABLE : 0u);
}

static void
ready(struct stream *stream, unsigned events)
{
	struct pair *pair = stream->owner;
	struct way *said = &pair->said, *told = &pair->told;
	bool over;

	(void)events;
	move(pair, said);
	move(pair, told);
	over = is_over(said) || is_over(told);
	if (!over) {
		said->from->ops->wants(said->from, wants(said, told));
		told->from->ops->wants(told->from, wants(told, said));
		return;
	}
	told->from->ops->close(told->from, said->error != 0);
	said->from->ops->close(said->from, told->error != 0);
	pair->forger->open--;
	pair->forger->resets += told->ended && told->error != 0;
	pair->forger->leaves += told->ended && told->error == 0;
	arena_free(pair->forger->reactor->arena, pair);
}

static void
accepted(struct listener *listener, struct stream *stream)
{
	struct forger *f = listener->owner;
	struct pair *pair = arena_alloc(f->reactor->arena, sizeof(*pair));
	struct stream *target;
	int rc = f->reactor->world->connect(f->reactor, f->target, f->port, &target);

	assert(pair != NULL && rc == 0);
	f->open++;
	pair->forger = f;
	pair->said.from = pair->told.to = target;
	pair->said.to = pair->told.from = stream;
	target->owner = stream->owner = pair;
	target->ready = stream->ready = ready;
	target->ops->wants(target, STREAM_READABLE | STREAM_WRITABLE);
	stream->ops->wants(stream, STREAM_READABLE);
}

int
forger_start(struct reactor *reactor, void *arg)
{
	struct forger *f = arg;
	struct listener *listener = arena_alloc(reactor->arena, sizeof(*listener));
	int rc;

	assert(listener != NULL);
	f->reactor = reactor;
	listener->owner = f;
	listener->accepted = accepted;
	listener->port = f->any_port ? 0 : f->port;
	snprintf(listener->host, sizeof(listener->host), "%s", f->host);
	rc = reactor->world->listen(reactor, listener);
	f->own_port = listener->port;
	return rc;
}
