/* The control socket: a question is answered, whole or in as many words as there is memory for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/ctl.h"
#include "fakeworld.h"

/* One asker, who has said all that he will. */
struct bench {
	struct fakeworld fw;
	struct reactor *reactor;
	struct ctl ctl;
	struct stream stream;
	const char *question;
	char answer[256];
	size_t sent, got;
	bool closed, aborted, ok;
	const char *text;
	uint64_t fail_at; /* the n-th allocation after the question */
};

static ssize_t
say(struct stream *stream, const struct iovec *iov, int count)
{
	struct bench *b = container_of(stream, struct bench, stream);
	size_t bytes = strlen(b->question + b->sent);

	assert_true(count == 1 && bytes <= iov->iov_len);
	memcpy(iov->iov_base, b->question + b->sent, bytes);
	b->sent += bytes;
	return (ssize_t)bytes;
}

static ssize_t
hear(struct stream *stream, const struct iovec *iov, int count)
{
	struct bench *b = container_of(stream, struct bench, stream);

	assert_true(count == 1 && b->got + iov->iov_len < sizeof(b->answer));
	memcpy(b->answer + b->got, iov->iov_base, iov->iov_len);
	b->got += iov->iov_len;
	return (ssize_t)iov->iov_len;
}

static void
wants(struct stream *stream, unsigned events)
{
	(void)stream;
	(void)events;
}

static void
hang_up(struct stream *stream, bool abort)
{
	struct bench *b = container_of(stream, struct bench, stream);

	b->closed = true;
	b->aborted = abort;
}

static const struct stream_ops stream_ops = { .readv = say, .writev = hear, .wants = wants, .close = hang_up };

static int
listens(struct reactor *reactor, struct listener *listener)
{
	(void)reactor;
	(void)listener;
	return 0;
}

static const struct world_ops world = { .listen = listens };

static void
asked(struct ctl *ctl, struct ctl_question *question)
{
	struct bench *b = ctl->owner;

	assert_string_equal(question->word, "apply");
	b->reactor->arena->fail_at = b->fail_at;
	ctl_answer(question, b->ok, b->text, strlen(b->text));
}

static void
ask(struct bench *b, const char *text, bool ok, uint64_t fail_at)
{
	const struct world_ops *before;

	*b = (struct bench){ .question = "apply\nwhat there shall be", .text = text, .ok = ok, .fail_at = fail_at };
	fakeworld_init(&b->fw, 1);
	b->reactor = &b->fw.reactors[0];
	before = b->reactor->world;
	b->reactor->world = &world;
	assert_int_equal(ctl_listen(&b->ctl, b->reactor, "/socket", asked, b), 0);
	b->stream = (struct stream){ .ops = &stream_ops, .reactor = b->reactor };
	b->ctl.listener.accepted(&b->ctl.listener, &b->stream);
	b->stream.ready(&b->stream, STREAM_READABLE);
	assert_true(b->closed && b->ctl.asker_count == 0);
	b->reactor->arena->fail_at = 0;
	ctl_end(&b->ctl);
	b->reactor->world = before;
	fakeworld_fini(&b->fw);
}

static void
a_question_is_answered_in_a_word_and_a_text(void **state)
{
	struct bench b;

	(void)state;
	ask(&b, "+ something\n", true, 0);
	assert_string_equal(b.answer, "ok\n+ something\n");
	ask(&b, "it cannot be\n", false, 0);
	assert_string_equal(b.answer, "error\nit cannot be\n");
	assert_false(b.aborted);
}

static void
whether_it_is_done_is_answered_without_memory_too(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned ok = 0; ok < 2; ok++) {
		ask(&b, "+ something\n", ok, 1);
		assert_int_equal(strncmp(b.answer, ok ? "ok\nwhat" : "error\nwhat", ok ? 7 : 10), 0);
		assert_true(strstr(b.answer, "out of memory\n") != NULL && !b.aborted);
	}
}

static void
a_question_that_is_not_whole_is_refused_when_the_target_stops(void **state)
{
	const struct world_ops *before;
	struct bench b = { .question = "" };

	(void)state;
	fakeworld_init(&b.fw, 1);
	b.reactor = &b.fw.reactors[0];
	before = b.reactor->world;
	b.reactor->world = &world;
	assert_int_equal(ctl_listen(&b.ctl, b.reactor, "/socket", asked, &b), 0);
	b.stream = (struct stream){ .ops = &stream_ops, .reactor = b.reactor };
	b.ctl.listener.accepted(&b.ctl.listener, &b.stream);
	ctl_stop(&b.ctl);
	assert_true(b.closed && !b.aborted && b.ctl.asker_count == 0);
	assert_string_equal(b.answer, "error\nthe target is stopping\n");
	ctl_end(&b.ctl);
	b.reactor->world = before;
	fakeworld_fini(&b.fw);
}

/* Askers at one socket, of whom none is answered before the end; what the last is told. */
static void
crowd(struct bench *askers, unsigned count, uint64_t fail_at)
{
	const struct world_ops *before;
	struct bench *b = &askers[0];

	fakeworld_init(&b->fw, 1);
	b->reactor = &b->fw.reactors[0];
	before = b->reactor->world;
	b->reactor->world = &world;
	assert_int_equal(ctl_listen(&b->ctl, b->reactor, "/socket", asked, b), 0);
	b->reactor->arena->fail_at = fail_at;
	for (unsigned i = 0; i < count; i++) {
		askers[i].question = "";
		askers[i].stream = (struct stream){ .ops = &stream_ops, .reactor = b->reactor };
		b->ctl.listener.accepted(&b->ctl.listener, &askers[i].stream);
		assert_int_equal(askers[i].closed, i == count - 1);
	}
	assert_true(b->ctl.asker_count == count - 1 && !askers[count - 1].aborted);
	b->reactor->arena->fail_at = 0;
	ctl_end(&b->ctl);
	b->reactor->world = before;
	fakeworld_fini(&b->fw);
}

static void
who_is_one_too_many_is_told_so(void **state)
{
	struct bench askers[CTL_ASKERS_MAX + 1] = { 0 };

	(void)state;
	crowd(askers, CTL_ASKERS_MAX + 1, 0);
	assert_string_equal(askers[CTL_ASKERS_MAX].answer, "busy\nothers ask already, and no more can at once\n");
}

static void
who_finds_no_memory_is_told_so(void **state)
{
	struct bench asker = { 0 };

	(void)state;
	crowd(&asker, 1, 1);
	assert_string_equal(asker.answer, "busy\nout of memory\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_answered_in_a_word_and_a_text),
		cmocka_unit_test(whether_it_is_done_is_answered_without_memory_too),
		cmocka_unit_test(a_question_that_is_not_whole_is_refused_when_the_target_stops),
		cmocka_unit_test(who_is_one_too_many_is_told_so),
		cmocka_unit_test(who_finds_no_memory_is_told_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
