#include "toy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"

/* ---- echo server ---- */

enum { ECHO_BYTES = 3000 };

struct echo {
	struct toy_server *server;
	struct stream *stream;
	bool ended, closed;
	size_t fill;
	uint8_t bytes[ECHO_BYTES];
};

static void
echo_close(struct echo *echo, bool broken)
{
	if (broken)
		echo->server->broken++;
	else
		echo->server->ended++;
	echo->closed = true;
	echo->stream->ops->close(echo->stream, broken);
}

static ssize_t
echo_read(struct echo *echo)
{
	struct iovec iov = { echo->bytes + echo->fill, ECHO_BYTES - echo->fill };
	ssize_t n = echo->stream->ops->readv(echo->stream, &iov, 1);

	if (n > 0)
		echo->server->received += (uint64_t)n;
	if (n > 0 && !echo->server->sink)
		echo->fill += (size_t)n;
	if (n == 0)
		echo->ended = true;
	return n;
}

static ssize_t
echo_write(struct echo *echo)
{
	struct iovec iov[2] = {
		{ echo->bytes, echo->fill / 3 },
		{ echo->bytes + echo->fill / 3, echo->fill - echo->fill / 3 },
	};
	ssize_t n = echo->stream->ops->writev(echo->stream, iov, 2);

	if (n > 0) {
		echo->fill -= (size_t)n;
		memmove(echo->bytes, echo->bytes + n, echo->fill);
	}
	return n;
}

static void
echo_ready(struct stream *stream, unsigned events)
{
	struct echo *echo = stream->owner;
	ssize_t in = -EAGAIN, out = -EAGAIN;

	assert(!echo->closed && events != 0);
	if ((events & STREAM_READABLE) && echo->fill < ECHO_BYTES && !echo->ended)
		in = echo_read(echo);
	if (echo->fill > 0)
		out = echo_write(echo);
	if ((in < 0 && in != -EAGAIN) || (out < 0 && out != -EAGAIN)) {
		echo_close(echo, true);
	} else if (echo->ended && echo->fill == 0) {
		echo_close(echo, false);
	} else {
		stream->ops->wants(stream, (echo->fill > 0 ? STREAM_WRITABLE : 0u) |
		    (echo->fill < ECHO_BYTES && !echo->ended ? STREAM_READABLE : 0u));
	}
}

static void
echo_begin(struct reactor *reactor, struct toy_server *server, struct stream *stream)
{
	struct echo *echo = arena_alloc(reactor->arena, sizeof(*echo));

	assert(echo != NULL);
	echo->server = server;
	echo->stream = stream;
	stream->owner = echo;
	stream->ready = echo_ready;
	stream->ops->wants(stream, STREAM_READABLE);
}

static void
server_accepted(struct listener *listener, struct stream *stream)
{
	struct toy_server *server = listener->owner;
	struct reactor *reactor = stream->reactor;
	struct mail mail = { .kind = 1 };

	if (++server->accepted % 2 == 1 || reactor->count == 1) {
		echo_begin(reactor, server, stream);
		return;
	}
	stream->ops->detach(stream);
	mail.words[0] = (uintptr_t)stream;
	reactor->world->post(reactor, reactor->count - 1, &mail);
}

static void
server_mail(struct reactor *reactor, const struct mail *mail)
{
	struct stream *stream = (struct stream *)(uintptr_t)mail->words[0];
	int rc = stream->ops->attach(stream, reactor);

	assert(rc == 0);
	echo_begin(reactor, reactor->owner, stream);
}

int
toy_server_start(struct reactor *reactor, void *arg)
{
	struct toy_server *server = arg;
	struct listener *listener;

	reactor->owner = server;
	reactor->on_mail = server_mail;
	if (reactor->index != 0)
		return 0;
	listener = arena_alloc(reactor->arena, sizeof(*listener));
	if (listener == NULL)
		return -ENOMEM;
	strcpy(listener->host, server->host);
	listener->port = server->port;
	listener->owner = server;
	listener->accepted = server_accepted;
	return reactor->world->listen(reactor, listener);
}

/* ---- client ---- */

static uint8_t
pattern(const struct toy_client *client, uint64_t at)
{
	return (uint8_t)(((at + client->salt) * 0x9e3779b97f4a7c15ULL) >> 56);
}

static void
client_close(struct toy_client *client, struct stream *stream, int error)
{
	client->error = error;
	client->done = true;
	stream->owner = NULL;
	stream->ops->close(stream, client->abort);
}

static ssize_t
client_read(struct toy_client *client, struct stream *stream)
{
	struct reactor *reactor = stream->reactor;
	size_t first = (size_t)(reactor->world->random(reactor) % 700);
	struct iovec iov[2] = { { reactor->scratch, first }, { reactor->scratch + first, 1 + first * 3 } };
	ssize_t n = stream->ops->readv(stream, iov, 2);

	for (ssize_t i = 0; i < n; i++)
		client->wrong |= reactor->scratch[i] != pattern(client, client->received++);
	return n;
}

static ssize_t
client_write(struct toy_client *client, struct stream *stream)
{
	struct reactor *reactor = stream->reactor;
	size_t bytes = 1 + (size_t)(reactor->world->random(reactor) % 9000);
	struct iovec iov = { reactor->scratch, 0 };
	ssize_t n;

	if (bytes > client->total - client->sent)
		bytes = (size_t)(client->total - client->sent);
	for (size_t i = 0; i < bytes; i++)
		reactor->scratch[i] = pattern(client, client->sent + i);
	iov.iov_len = bytes;
	n = stream->ops->writev(stream, &iov, 1);
	if (n > 0)
		client->sent += (uint64_t)n;
	return n;
}

static void
client_ready(struct stream *stream, unsigned events)
{
	struct toy_client *client = stream->owner;
	uint64_t enough = client->close_at > 0 ? client->close_at : client->total;
	ssize_t n;

	assert(client != NULL && events != 0);
	if (events & STREAM_READABLE) {
		n = client_read(client, stream);
		if (n <= 0 && n != -EAGAIN) {
			client_close(client, stream, n == 0 ? -EPIPE : (int)n);
			return;
		}
	}
	if ((events & STREAM_WRITABLE) && client->sent < client->total) {
		n = client_write(client, stream);
		if (n < 0 && n != -EAGAIN) {
			client_close(client, stream, (int)n);
			return;
		}
	}
	if (client->received >= enough || (client->hasty && client->sent == client->total))
		client_close(client, stream, 0);
	else
		stream->ops->wants(stream, STREAM_READABLE |
		    (client->sent < client->total ? STREAM_WRITABLE : 0u));
}

int
toy_client_start(struct reactor *reactor, void *arg)
{
	struct toy_client *client = arg;
	struct stream *stream;
	int rc = reactor->world->connect(reactor, client->host, client->port, &stream);

	if (rc != 0)
		return rc;
	client->sent = client->received = 0;
	client->done = false;
	client->error = 0;
	stream->owner = client;
	stream->ready = client_ready;
	stream->ops->wants(stream, STREAM_READABLE | STREAM_WRITABLE);
	return 0;
}

/* ---- mail ---- */

struct mailer {
	struct timer timer;
	struct reactor *reactor;
	struct toy_mail *toy;
	uint32_t round;
	uint32_t next[16]; /* per sender: the number expected */
	uint32_t sent[16]; /* per receiver */
};

static void
mailer_get(struct reactor *reactor, const struct mail *mail)
{
	struct mailer *mailer = reactor->owner;

	mailer->toy->wrong |= mail->arg != mailer->next[mail->from]++ || mail->words[4] != reactor->index;
	mailer->toy->received++;
}

static void
mailer_fire(struct timer *timer)
{
	struct mailer *mailer = container_of(timer, struct mailer, timer);
	struct reactor *reactor = mailer->reactor;

	for (unsigned to = 0; to < reactor->count; to++)
		for (unsigned i = 0; i <= mailer->round % 3; i++) {
			struct mail mail = { .kind = 2, .arg = mailer->sent[to]++ };

			mail.words[4] = to;
			reactor->world->post(reactor, to, &mail);
		}
	if (++mailer->round < mailer->toy->rounds)
		timer_set(&reactor->timers, timer, reactor->now_ns + 1000);
}

int
toy_mail_start(struct reactor *reactor, void *arg)
{
	struct mailer *mailer = arena_alloc(reactor->arena, sizeof(*mailer));

	if (mailer == NULL)
		return -ENOMEM;
	assert(reactor->count <= 16);
	mailer->reactor = reactor;
	mailer->toy = arg;
	mailer->timer.fire = mailer_fire;
	reactor->owner = mailer;
	reactor->on_mail = mailer_get;
	timer_set(&reactor->timers, &mailer->timer, reactor->now_ns + 1000);
	return 0;
}

/* ---- writer ---- */

enum { WRITER_DEPTH = 4, WRITER_SYNC_EVERY = 7 };

struct writer_op {
	struct file_io io;
	struct iovec iov;
	struct writer *writer;
	uint32_t page, version;
	uint32_t covered[TOY_PAGES]; /* of a sync: what was done when it was submitted */
	uint8_t *bytes;
	bool busy;
};

struct writer {
	struct toy_writer *toy;
	struct reactor *reactor;
	struct file *file;
	struct task task;
	struct writer_op ops[WRITER_DEPTH];
};

uint32_t
toy_page_version(const uint8_t *page, uint32_t index)
{
	uint64_t first = get_le64(page);

	for (size_t i = 0; i < TOY_PAGE; i += 8)
		if (get_le64(page + i) != first)
			return UINT32_MAX;
	if (first == 0)
		return 0;
	return first >> 32 == index ? (uint32_t)first : UINT32_MAX;
}

static void
writer_done(struct file_io *io)
{
	struct writer_op *op = io->owner;
	struct toy_writer *toy = op->writer->toy;

	op->busy = false;
	toy->in_flight--;
	if (io->result < 0 || (io->op == FILE_WRITE && io->result != TOY_PAGE)) {
		toy->failed++;
	} else if (io->op == FILE_SYNC) {
		for (int i = 0; i < TOY_PAGES; i++)
			if (toy->synced[i] < op->covered[i])
				toy->synced[i] = op->covered[i];
	} else {
		toy->written[op->page] = op->version;
		if (io->durable)
			toy->synced[op->page] = op->version;
	}
	reactor_run_in(op->writer->reactor, PHASE_SUBMIT, &op->writer->task);
}

/* One write at a time per page, so that the order of versions is known. */
static bool
page_busy(const struct writer *writer, uint32_t page)
{
	for (int i = 0; i < WRITER_DEPTH; i++)
		if (writer->ops[i].busy && writer->ops[i].io.op == FILE_WRITE && writer->ops[i].page == page)
			return true;
	return false;
}

static void
writer_issue(struct writer *writer, struct writer_op *op)
{
	struct toy_writer *toy = writer->toy;
	struct reactor *reactor = writer->reactor;
	uint64_t r = reactor->world->random(reactor);

	op->page = (uint32_t)(r % TOY_PAGES);
	if (toy->issued % WRITER_SYNC_EVERY == WRITER_SYNC_EVERY - 1) {
		op->io = (struct file_io){ .op = FILE_SYNC };
		memcpy(op->covered, toy->written, sizeof(op->covered));
	} else {
		while (page_busy(writer, op->page))
			op->page = (op->page + 1) % TOY_PAGES;
		op->version = ++toy->submitted[op->page];
		for (size_t i = 0; i < TOY_PAGE; i += 8)
			put_le64(op->bytes + i, (uint64_t)op->page << 32 | op->version);
		op->iov = (struct iovec){ op->bytes, TOY_PAGE };
		op->io = (struct file_io){
			.op = FILE_WRITE, .durable = (r >> 32) % 8 == 0,
			.offset = (uint64_t)op->page * TOY_PAGE, .iov = &op->iov, .iov_count = 1,
		};
	}
	op->io.done = writer_done;
	op->io.owner = op;
	op->busy = true;
	toy->in_flight++;
	toy->issued++;
	writer->reactor->world->file_submit(writer->file, &op->io);
}

static void
writer_run(struct task *task)
{
	struct writer *writer = container_of(task, struct writer, task);
	struct toy_writer *toy = writer->toy;

	for (int i = 0; i < WRITER_DEPTH && toy->issued < toy->ops; i++)
		if (!writer->ops[i].busy)
			writer_issue(writer, &writer->ops[i]);
	if (toy->issued >= toy->ops && toy->in_flight == 0 && !toy->done) {
		toy->done = true;
		writer->reactor->world->file_close(writer->file);
	}
}

int
toy_writer_start(struct reactor *reactor, void *arg)
{
	struct writer *writer = arena_alloc(reactor->arena, sizeof(*writer));
	int rc;

	if (writer == NULL)
		return -ENOMEM;
	writer->toy = arg;
	writer->toy->in_flight = 0;
	writer->toy->done = false;
	writer->reactor = reactor;
	task_init(&writer->task, writer_run);
	for (int i = 0; i < WRITER_DEPTH; i++) {
		writer->ops[i].writer = writer;
		writer->ops[i].bytes = arena_alloc_aligned(reactor->arena, TOY_PAGE, 4096);
		if (writer->ops[i].bytes == NULL)
			return -ENOMEM;
	}
	rc = reactor->world->file_open(reactor, writer->toy->path, TOY_PAGES * TOY_PAGE, 4096, &writer->file);
	if (rc == 0)
		reactor_run_in(reactor, PHASE_SUBMIT, &writer->task);
	return rc;
}

/* ---- what tests begin with ---- */

struct sim_process *
toy_process(struct sim *sim, const char *name, unsigned reactors, int (*start)(struct reactor *, void *),
    void *arg)
{
	struct sim_process_options options = { .start = start, .arg = arg };

	return sim_process_create(sim, name, reactors, &options);
}

struct toy_client
toy_client_of(uint64_t total)
{
	return (struct toy_client){ .host = "10.0.0.1", .port = 4420, .total = total, .salt = total };
}

struct sim_process *
toy_serve(struct sim *sim, struct toy_server *server)
{
	struct sim_process *process;

	*server = (struct toy_server){ .host = "10.0.0.1", .port = 4420 };
	process = toy_process(sim, "server", 2, toy_server_start, server);
	sim_run_until(sim, sim_now(sim) + 1000 * 1000, NULL, NULL);
	return process;
}
