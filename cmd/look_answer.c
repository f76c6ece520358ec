#include "look_answer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/extension.h"

enum { HEAD = 4, FIRST_ROOM = 4096 };

/* ---- writing ---- */

/* `needed` is LOOK_ANSWER_MAX at most, and so is what there is room for. */
static bool
grow(struct look_answer *answer, size_t needed)
{
	size_t room = answer->room > 0 ? answer->room : FIRST_ROOM;
	char *bytes;

	while (room < needed)
		room *= 2;
	if (room <= answer->room)
		return true;
	bytes = realloc(answer->bytes, room);
	if (bytes == NULL)
		return false;
	answer->bytes = bytes;
	answer->room = room;
	return true;
}

static void
put(struct look_answer *answer, const void *bytes, size_t count)
{
	memcpy(answer->bytes + answer->used, bytes, count);
	answer->used += count;
}

static void
put_head(struct look_answer *answer, enum look_kind kind, size_t length, size_t group)
{
	const uint8_t head[HEAD] = { (uint8_t)kind, (uint8_t)group, (uint8_t)length, (uint8_t)(length >> 8) };

	put(answer, head, HEAD);
}

static int
add(struct look_answer *answer, enum look_kind kind, const char *name, const char *group,
    const struct weir_log_view *page)
{
	size_t length = strlen(name), of_group = strlen(group);
	size_t needed = answer->used + HEAD + length + of_group + sizeof(*page);

	static_assert((LOOK_ANSWER_MAX & (LOOK_ANSWER_MAX - 1)) == 0, "what is doubled comes to it");
	assert(length <= LOOK_NAME_MAX && of_group <= LOOK_GROUP_MAX);
	if (needed + HEAD > LOOK_ANSWER_MAX) /* the end must have its place */
		return -ENOSPC;
	if (!grow(answer, needed))
		return -ENOMEM;
	put_head(answer, kind, length, of_group);
	put(answer, name, length);
	put(answer, group, of_group);
	put(answer, page, sizeof(*page));
	return 0;
}

int
look_answer_volume(struct look_answer *answer, const char *name, const struct weir_log_view *page)
{
	return add(answer, LOOK_VOLUME, name, "", page);
}

int
look_answer_host(struct look_answer *answer, const char *nqn, const char *group, const struct weir_log_view *page)
{
	return add(answer, LOOK_HOST, nqn, group, page);
}

int
look_answer_end(struct look_answer *answer, enum look_kind kind)
{
	if (!grow(answer, answer->used + HEAD))
		return -ENOMEM;
	put_head(answer, kind, 0, 0);
	return 0;
}

void
look_answer_drop(struct look_answer *answer)
{
	free(answer->bytes);
	*answer = (struct look_answer){ 0 };
}

/* ---- reading ---- */

static const char *
take(struct look_reader *reader, size_t bytes)
{
	const char *at = reader->at;

	if (bytes > reader->left)
		return NULL;
	reader->at += bytes;
	reader->left -= bytes;
	return at;
}

/* Whether a record of this kind, with names so long, may come here.  The target itself is in no group. */
static bool
may_come(const struct look_reader *reader, int kind, size_t length, size_t group)
{
	switch (kind) {
	case LOOK_VOLUME: return length > 0 && length <= LOOK_NAME_MAX && group == 0;
	case LOOK_HOST: return reader->any && length <= NQN_MAX && group <= (length > 0 ? LOOK_GROUP_MAX : 0);
	case LOOK_END:
	case LOOK_MORE: return length == 0 && group == 0 && reader->left == 0;
	default: return false;
	}
}

/* A text of so many bytes, into where there is room for it. */
static bool
take_text(struct look_reader *reader, size_t length, char *text)
{
	const char *at = take(reader, length);

	if (at == NULL || memchr(at, '\0', length) != NULL)
		return false;
	memcpy(text, at, length);
	text[length] = '\0';
	return true;
}

bool
look_answer_next(struct look_reader *reader, struct look_record *record)
{
	const char *head = take(reader, HEAD), *page;
	size_t length, group;

	if (head == NULL)
		return false;
	group = (uint8_t)head[1];
	length = get_le16((const uint8_t *)head + 2);
	if (!may_come(reader, head[0], length, group))
		return false;
	*record = (struct look_record){ .kind = (enum look_kind)head[0] };
	if (record->kind == LOOK_END || record->kind == LOOK_MORE)
		return true;
	if (!take_text(reader, length, record->name) || !take_text(reader, group, record->group))
		return false;
	page = take(reader, sizeof(struct weir_log_view));
	if (page == NULL)
		return false;
	reader->any = true;
	return weir_view_decode(page, sizeof(struct weir_log_view), &record->view);
}
