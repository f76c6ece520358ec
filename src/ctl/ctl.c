#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

enum { NS_PER_MS = 1000000, FIRST_BYTES = 16 * 1024 };

/* One who asks: his question while it comes, then the answer while it goes. */
struct asker {
	struct list node;
	struct ctl *ctl;
	struct stream *stream; /* NULL: he has gone, and the answer is not there yet */
	struct timer patience;
	struct ctl_question question;
	char *buffer;
	size_t room, used, sent;
	bool asked, answered;
};

static void
asker_end(struct asker *asker, bool abort)
{
	struct ctl *ctl = asker->ctl;

	timer_clear(&ctl->reactor->timers, &asker->patience);
	if (asker->stream != NULL)
		asker->stream->ops->close(asker->stream, abort);
	asker->stream = NULL;
	if (asker->asked && !asker->answered)
		return; /* the question is still its answerer's */
	list_remove(&asker->node);
	ctl->asker_count--;
	arena_free(ctl->reactor->arena, asker->buffer);
	arena_free(ctl->reactor->arena, asker);
}

static void
impatient(struct timer *timer)
{
	asker_end(container_of(timer, struct asker, patience), true);
}

/* ---- the answer ---- */

static void
answer_on(struct asker *asker)
{
	while (asker->sent < asker->used) {
		struct iovec iov = { asker->buffer + asker->sent, asker->used - asker->sent };
		ssize_t bytes = asker->stream->ops->writev(asker->stream, &iov, 1);

		if (bytes == -EAGAIN) {
			asker->stream->ops->wants(asker->stream, STREAM_WRITABLE);
			return;
		}
		if (bytes <= 0) {
			asker_end(asker, true);
			return;
		}
		asker->sent += (size_t)bytes;
	}
	asker_end(asker, false);
}

/* Whether it is done is told in any case, in the memory of the question. */
static const char lost[] = "what else there is to say is lost: out of memory\n";

/* For the answer; where there is none, that of the question stays. */
static bool
make_room(struct asker *asker, size_t bytes)
{
	struct arena *arena = asker->ctl->reactor->arena;
	char *buffer = arena_alloc_raw(arena, bytes);

	if (buffer == NULL)
		return false;
	arena_free(arena, asker->buffer);
	asker->buffer = buffer;
	asker->room = bytes;
	return true;
}

void
ctl_answer(struct ctl_question *question, bool ok, const char *text, size_t bytes)
{
	struct asker *asker = container_of(question, struct asker, question);
	const char *word = ok ? "ok\n" : "error\n";
	size_t length = strlen(word);

	asker->answered = true;
	if (asker->stream == NULL) {
		asker_end(asker, true);
		return;
	}
	if (!make_room(asker, length + bytes)) {
		text = lost;
		bytes = strlen(lost);
	}
	if (length + bytes > asker->room) {
		asker_end(asker, true);
		return;
	}
	memcpy(asker->buffer, word, length);
	memcpy(asker->buffer + length, text, bytes);
	asker->used = length + bytes;
	timer_set(&asker->ctl->reactor->timers, &asker->patience,
	    asker->ctl->reactor->now_ns + (uint64_t)CTL_PATIENCE_MS * NS_PER_MS);
	answer_on(asker);
}

/* ---- the question ---- */

static void
refuse(struct asker *asker, const char *why)
{
	asker->asked = true;
	ctl_answer(&asker->question, false, why, strlen(why));
}

/* All of it is there. */
static void
question_whole(struct asker *asker)
{
	const char *end = memchr(asker->buffer, '\n', asker->used);
	size_t word = end != NULL ? (size_t)(end - asker->buffer) : asker->used;

	timer_clear(&asker->ctl->reactor->timers, &asker->patience);
	asker->stream->ops->wants(asker->stream, 0);
	if (word >= CTL_WORD_MAX) {
		refuse(asker, "what is that?\n");
		return;
	}
	memcpy(asker->question.word, asker->buffer, word);
	asker->question.text = end != NULL ? end + 1 : asker->buffer + asker->used;
	asker->question.bytes = asker->used - (size_t)(asker->question.text - asker->buffer);
	asker->asked = true;
	asker->ctl->asked(asker->ctl, &asker->question);
}

/* NULL; or why it cannot. */
static const char *
grow(struct asker *asker)
{
	struct arena *arena = asker->ctl->reactor->arena;
	size_t room = asker->room == 0 ? FIRST_BYTES : 2 * asker->room;
	char *buffer;

	if (asker->used > CTL_TEXT_MAX)
		return "too long\n";
	buffer = arena_alloc_raw(arena, room);
	if (buffer == NULL)
		return "out of memory\n";
	if (asker->used > 0)
		memcpy(buffer, asker->buffer, asker->used);
	arena_free(arena, asker->buffer);
	asker->buffer = buffer;
	asker->room = room;
	return NULL;
}

static void
question_on(struct asker *asker)
{
	for (;;) {
		const char *why = asker->used == asker->room ? grow(asker) : NULL;
		struct iovec iov;
		ssize_t bytes;

		if (why != NULL) {
			refuse(asker, why);
			return;
		}
		iov = (struct iovec){ asker->buffer + asker->used, asker->room - asker->used };
		bytes = asker->stream->ops->readv(asker->stream, &iov, 1);
		if (bytes == -EAGAIN)
			return;
		if (bytes < 0) {
			asker_end(asker, true);
			return;
		}
		if (bytes == 0) {
			question_whole(asker);
			return;
		}
		asker->used += (size_t)bytes;
	}
}

static void
ready(struct stream *stream, unsigned events)
{
	struct asker *asker = stream->owner;

	(void)events;
	if (asker->answered)
		answer_on(asker);
	else if (!asker->asked)
		question_on(asker);
}

/* His question is not read, nor kept, and that is all he is told. */
static void
turn_away(struct stream *stream, const char *answer)
{
	struct iovec iov = { (char *)answer, strlen(answer) };

	stream->ops->close(stream, stream->ops->writev(stream, &iov, 1) != (ssize_t)iov.iov_len);
}

static void
accepted(struct listener *listener, struct stream *stream)
{
	struct ctl *ctl = listener->owner;
	struct asker *asker;

	if (ctl->asker_count == CTL_ASKERS_MAX) {
		turn_away(stream, "busy\nothers ask already, and no more can at once\n");
		return;
	}
	asker = arena_alloc(ctl->reactor->arena, sizeof(*asker));
	if (asker == NULL) {
		turn_away(stream, "busy\nout of memory\n");
		return;
	}
	asker->ctl = ctl;
	asker->stream = stream;
	asker->patience.fire = impatient;
	timer_set(&ctl->reactor->timers, &asker->patience,
	    ctl->reactor->now_ns + (uint64_t)CTL_PATIENCE_MS * NS_PER_MS);
	list_push(&ctl->askers, &asker->node);
	ctl->asker_count++;
	stream->owner = asker;
	stream->ready = ready;
	stream->ops->wants(stream, STREAM_READABLE);
}

/* ---- life ---- */

int
ctl_listen(struct ctl *ctl, struct reactor *reactor, const char *path,
    void (*asked)(struct ctl *ctl, struct ctl_question *question), void *owner)
{
	*ctl = (struct ctl){ .reactor = reactor, .asked = asked, .owner = owner };
	list_init(&ctl->askers);
	if (path[0] != '/' || strlen(path) >= sizeof(ctl->listener.host))
		return path[0] != '/' ? -EINVAL : -ENAMETOOLONG;
	snprintf(ctl->listener.host, sizeof(ctl->listener.host), "%s", path);
	ctl->listener.accepted = accepted;
	ctl->listener.owner = ctl;
	return reactor->world->listen(reactor, &ctl->listener);
}

static void
unlisten(struct ctl *ctl)
{
	if (ctl->listener.impl != NULL)
		ctl->reactor->world->unlisten(ctl->reactor, &ctl->listener);
}

void
ctl_stop(struct ctl *ctl)
{
	unlisten(ctl);
	list_for_each(&ctl->askers, node) {
		struct asker *asker = container_of(node, struct asker, node);

		if (!asker->asked)
			refuse(asker, "the target is stopping\n");
	}
}

void
ctl_end(struct ctl *ctl)
{
	unlisten(ctl);
	list_for_each(&ctl->askers, node) {
		struct asker *asker = container_of(node, struct asker, node);

		asker->answered = true; /* nobody will */
		asker_end(asker, true);
	}
}
