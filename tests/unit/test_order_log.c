/*
 * test_order_log.c - who appends to the log: several streams in two parts, which rest, move, are cut and have floors;
 * after each crash the log is held against what was durable, and what may have been.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/group.h"
#include "order/log.h"

enum { SLOTS = 1024, PARTS = 2, STREAMS = 6, GROUPS = 1 << 16, OWNER = 7, KEEPS = 1 };

/* What the test knows of a write. */
struct write {
	bool here;              /* it went to this server */
	bool appended, durable; /* its entry */
	bool in_flight;
	bool persists, persist_durable;
	bool in_place;
	uint64_t place, word;
};

struct stream {
	struct order_track tracks[PARTS];
	bool has[PARTS];        /* a track there */
	unsigned part;
	uint16_t term;
	uint32_t last, prev, floor, high, good;
	bool rests;
	struct write *writes;   /* by group */
	uint32_t left[GROUPS];  /* in place and cut off: groups */
	uint32_t lefts;
};

struct part {
	struct order_log log;
	struct order_image slots[SLOTS], kept[SLOTS]; /* in memory, and what a crash leaves */
	struct order_slot states[SLOTS];
	uint32_t words[SLOTS];
	struct order_commit commit;
	uint32_t commit_words[SLOTS];
};

struct server {
	struct rng rng;
	struct part parts[PARTS];
	struct stream streams[STREAMS];
	struct order_known known[PARTS * SLOTS];
	struct order_listed room[PARTS * SLOTS];
	uint64_t refused, appended;
};

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)arg;
	return nsid == KEEPS;
}

static struct server *
begin(uint64_t seed)
{
	struct server *server = calloc(1, sizeof(*server));

	rng_seed(&server->rng, seed);
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *part = &server->parts[i];

		order_log_init(&part->log, part->slots, SLOTS, part->states, part->words);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		struct stream *stream = &server->streams[i];

		stream->writes = calloc(GROUPS, sizeof(*stream->writes));
		order_track_init(&server->parts[0].log, &stream->tracks[0], OWNER, (uint16_t)i);
		stream->has[0] = true;
	}
	return server;
}

static void
end(struct server *server)
{
	for (unsigned i = 0; i < STREAMS; i++)
		free(server->streams[i].writes);
	free(server);
}

/* ---- commits ---- */

static bool
take(struct part *part)
{
	if (!order_log_take(&part->log, &part->commit))
		return false;
	memcpy(part->commit_words, part->commit.words, part->commit.word_count * sizeof(uint32_t));
	return true;
}

/* Any of its words of eight bytes comes: all, none, or by chance. */
static void
keep_some(struct server *server, struct part *part, bool whole)
{
	const struct order_commit *commit = &part->commit;

	for (uint64_t place = commit->from; place < commit->to; place++) {
		unsigned how = whole ? 1 : (unsigned)rng_below(&server->rng, 3);
		unsigned words = how == 0 ? 0 : how == 1 ? 0xff : (unsigned)rng_below(&server->rng, 256);

		for (unsigned word = 0; word < 8; word++)
			if ((words >> word & 1) != 0)
				memcpy((char *)&part->kept[place % SLOTS] + 8 * word,
				    (char *)&part->slots[place % SLOTS] + 8 * word, 8);
	}
	for (uint32_t i = 0; i < commit->word_count; i++)
		if (whole || rng_below(&server->rng, 2) == 0)
			part->kept[part->commit_words[i]].persist = part->slots[part->commit_words[i]].persist;
}

static void
note_durable(struct server *server, unsigned which)
{
	struct part *part = &server->parts[which];

	for (unsigned i = 0; i < STREAMS; i++) {
		struct stream *stream = &server->streams[i];

		if (stream->part != which)
			continue;
		for (uint32_t group = stream->floor + 1; group <= stream->last; group++) {
			struct write *write = &stream->writes[group];

			if (write->appended && write->place < part->log.durable)
				write->durable = true;
			if (write->persists && write->word <= part->log.words_durable)
				write->persist_durable = true;
		}
	}
}

static void
commit(struct server *server, unsigned which)
{
	struct part *part = &server->parts[which];

	if (!part->log.taken && !take(part)) {
		order_log_sweep(&part->log);
		return;
	}
	keep_some(server, part, true);
	order_log_done(&part->log);
	note_durable(server, which);
	order_log_sweep(&part->log);
}

/* ---- what a stream does ---- */

static void
write_group(struct server *server, struct stream *stream)
{
	struct order_log *log = &server->parts[stream->part].log;
	struct order_track *track = &stream->tracks[stream->part];
	struct order_entry entry = { .prev = stream->prev, .num = 1, .count = 1, .blocks = 8, .nsid = KEEPS };
	struct write *write = &stream->writes[stream->last + 1];

	if (stream->last + 2 >= GROUPS)
		return;
	if (rng_below(&server->rng, 4) != 0) {
		order_track_tell(track, stream->floor);
		if (!order_log_ask(log, track)) {
			server->refused++;
			order_log_sweep(log);
			return;
		}
		*write = (struct write){ .here = true, .appended = true, .in_flight = true,
			.in_place = rng_below(&server->rng, 8) == 0 };
		entry.flags = (uint16_t)(ORDER_ENTRY_LAST | (write->in_place ? ORDER_ENTRY_IN_PLACE : 0));
		entry.first = entry.last = stream->prev = stream->last + 1;
		write->place = order_log_append(log, track, &entry);
		server->appended++;
	} else {
		*write = (struct write){ 0 };
	}
	stream->last++;
	if (order_after(stream->last, stream->high))
		stream->high = stream->last;
}

static void
end_some(struct server *server, struct stream *stream)
{
	for (uint32_t group = stream->floor + 1; group <= stream->last; group++) {
		struct write *write = &stream->writes[group];

		if (!write->in_flight || !write->durable || rng_below(&server->rng, 2) == 0)
			continue;
		write->in_flight = false;
		write->persists = rng_below(&server->rng, 400) != 0; /* or it failed */
		write->word = order_log_end(&server->parts[stream->part].log, write->place, write->persists);
	}
}

static void
move_floor(struct server *server, struct stream *stream)
{
	uint32_t floor = stream->floor;

	while (floor < stream->last && (!stream->writes[floor + 1].here || stream->writes[floor + 1].persist_durable))
		floor++;
	stream->floor += (uint32_t)rng_below(&server->rng, floor - stream->floor + 1);
}

static void
settle(struct server *server)
{
	for (unsigned i = 0; i < 2 * PARTS; i++)
		commit(server, i % PARTS); /* one may be on its way */
	for (unsigned i = 0; i < STREAMS; i++)
		for (unsigned round = 0; round < 64; round++)
			end_some(server, &server->streams[i]);
	for (unsigned i = 0; i < 2 * PARTS; i++)
		commit(server, i % PARTS);
}

static void
cut_off(struct stream *stream, uint32_t cut)
{
	for (uint32_t group = cut + 1; group <= stream->last; group++) {
		if (stream->writes[group].in_place && stream->writes[group].durable)
			stream->left[stream->lefts++] = group;
		stream->writes[group] = (struct write){ 0 };
	}
	stream->last = cut;
	for (stream->prev = cut; stream->prev > stream->floor && !stream->writes[stream->prev].here;)
		stream->prev--;
}

/* Its connection comes again, to whichever reactor; a mark that is durable goes before all else. */
static void
connect_anew(struct server *server, struct stream *stream, uint32_t cut)
{
	unsigned to = (unsigned)rng_below(&server->rng, PARTS), from = stream->part;
	struct order_log *log = &server->parts[to].log;

	if (!stream->has[to])
		order_track_init(log, &stream->tracks[to], OWNER, (uint16_t)(stream - server->streams));
	stream->has[to] = true;
	cut_off(stream, cut);
	order_track_tell(&stream->tracks[to], stream->floor);
	stream->term++;
	for (unsigned tries = 0; !order_log_cut(log, &stream->tracks[to], stream->term, cut, stream->high, false);
	    tries++) {
		commit(server, to);
		if (tries > 100)
			fail_msg("the log is full for ever");
	}
	commit(server, to);
	if (from != to)
		order_track_close(&server->parts[from].log, &stream->tracks[from], true);
	stream->part = to;
}

static void
tell_other_parts(struct server *server, struct stream *stream)
{
	const struct order_log *home = &server->parts[stream->part].log;

	for (unsigned i = 0; i < PARTS; i++) {
		struct order_log *log = &server->parts[i].log;

		if (!stream->has[i] || i == stream->part)
			continue;
		if (home->durable == home->next)
			order_track_hold(log, &stream->tracks[i], stream->tracks[stream->part].stands);
		if (order_track_leave(log, &stream->tracks[i]))
			stream->has[i] = false;
	}
}

/* ---- crashes ---- */

static uint32_t
read_part(struct server *server, unsigned which, uint32_t count)
{
	struct part *part = &server->parts[which];
	const struct order_part read = { part->slots, SLOTS };
	struct order_scan scan;

	memcpy(part->slots, part->kept, sizeof(part->slots));
	order_scan(&read, &scan);
	assert_false(scan.corrupt);
	order_log_init(&part->log, part->slots, SLOTS, part->states, part->words);
	order_log_load(&part->log, &scan);
	for (uint64_t place = scan.next; place < scan.torn_to; place++)
		part->kept[place % SLOTS] = part->slots[place % SLOTS];
	return count + order_known_read(&read, &scan, which, &server->known[count]);
}

static const struct order_listed *
find(const struct order_list *list, uint32_t group)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].first == group)
			return &list->entries[i];
	return NULL;
}

static void
hold_left(const struct stream *stream, const struct order_known *known, uint32_t count, uint32_t floor)
{
	for (uint32_t i = 0; i < stream->lefts; i++) {
		bool found = !order_above(stream->left[i], floor);

		for (uint32_t k = 0; k < count && !found; k++)
			found = known[k].role == ORDER_LEFT && known[k].entry.first == stream->left[i];
		assert_true(found);
	}
}

/* What the log says is what was durable, and of the rest what may be. */
static void
hold(struct stream *stream, const struct order_stream *read)
{
	uint32_t listed = 0;

	assert_null(read->lost);
	assert_int_equal(read->term, stream->term);
	assert_false(order_above(read->list.floor, stream->floor));
	for (uint32_t group = read->list.floor + 1; group <= stream->last; group++) {
		struct write *write = &stream->writes[group];
		const struct order_listed *entry = find(&read->list, group);

		listed += entry != NULL;
		assert_true(entry != NULL || !write->durable);
		assert_true(entry == NULL || write->appended);
		assert_true(entry == NULL || !entry->valid || write->persists);
		assert_true(!write->persist_durable || entry->valid);
		write->durable = write->appended = write->here = entry != NULL;
		write->persists = write->persist_durable = entry != NULL && entry->valid;
		write->in_flight = false;
		write->word = 0;
	}
	assert_int_equal(listed, read->list.count);
}

static void
adopt(struct server *server, struct stream *stream, const struct order_known *known, uint32_t count)
{
	unsigned home = 0;
	uint16_t term = known[count - 1].entry.term;

	for (uint32_t i = 0; i < count; i++)
		if (known[i].entry.term == term)
			home = known[i].part;
	for (unsigned part = 0; part < PARTS; part++) {
		stream->has[part] = false;
		for (uint32_t i = 0; i < count && !stream->has[part]; i++)
			stream->has[part] = known[i].part == part;
		if (!stream->has[part])
			continue;
		order_track_init(&server->parts[part].log, &stream->tracks[part], known->entry.owner,
		    known->entry.stream);
		order_track_adopt(&server->parts[part].log, &stream->tracks[part], known, count, part);
		if (part != home)
			order_track_close(&server->parts[part].log, &stream->tracks[part], true);
	}
	stream->part = home;
}

static void
crash(struct server *server)
{
	uint32_t count = 0, same, streams = 0;

	for (unsigned i = 0; i < PARTS; i++)
		if (server->parts[i].log.taken || take(&server->parts[i]))
			keep_some(server, &server->parts[i], false);
	for (unsigned i = 0; i < PARTS; i++)
		count = read_part(server, i, count);
	order_known_sort(server->known, count);
	for (uint32_t at = 0; at < count; at += same) {
		struct order_known *known = &server->known[at];
		struct stream *stream = &server->streams[known->entry.stream];
		struct order_stream read;

		same = order_known_same(known, count - at);
		order_stream_read(known, same, keeps, NULL, server->room, &read);
		hold(stream, &read);
		hold_left(stream, known, same, read.list.floor);
		adopt(server, stream, known, same);
		stream->good = order_server_prefix(&read.list).group;
		if (order_after(stream->floor, stream->good))
			stream->good = stream->floor; /* what came since went to other servers */
		streams++;
	}
	assert_int_equal(streams, STREAMS);
	for (unsigned i = 0; i < STREAMS; i++)
		connect_anew(server, &server->streams[i], server->streams[i].good);
}

static void
play(uint64_t seed)
{
	struct server *server = begin(seed);

	for (unsigned i = 0; i < STREAMS; i++)
		connect_anew(server, &server->streams[i], 0);
	for (int round = 0; round < 3000; round++) {
		struct stream *stream = &server->streams[rng_below(&server->rng, STREAMS)];

		switch (rng_below(&server->rng, 160)) {
		case 0: crash(server); break;
		case 1: settle(server); connect_anew(server, stream, stream->floor +
			(uint32_t)rng_below(&server->rng, stream->last - stream->floor + 1)); break;
		case 2: stream->rests = !stream->rests; break;
		case 3: case 4: tell_other_parts(server, stream); break;
		default: break;
		}
		for (uint64_t many = stream->rests ? 0 : rng_below(&server->rng, 40); many > 0; many--)
			write_group(server, stream);
		end_some(server, stream);
		move_floor(server, stream);
		commit(server, (unsigned)rng_below(&server->rng, PARTS));
		if (rng_below(&server->rng, 4) == 0)
			take(&server->parts[rng_below(&server->rng, PARTS)]);
	}
	assert_in_range(server->appended, 5 * SLOTS, UINT64_MAX);
	end(server);
}

static void
whatever_happens_it_has_what_was_durable(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 80; seed++)
		play(seed);
}

/* ---- by hand ---- */

/* A group that is durable and has ended, or false where it may not be appended. */
static bool
write_one(struct server *server, struct order_track *track, uint32_t group, uint32_t floor)
{
	struct order_log *log = &server->parts[0].log;
	struct order_entry entry = {
		.first = group, .last = group, .prev = group - 1, .num = 1, .count = 1, .blocks = 8, .nsid = KEEPS,
		.flags = ORDER_ENTRY_LAST,
	};
	uint64_t place;

	order_track_tell(track, floor);
	if (!order_log_ask(log, track)) {
		order_log_sweep(log);
		commit(server, 0);
		return false;
	}
	place = order_log_append(log, track, &entry);
	commit(server, 0);
	order_log_end(log, place, true);
	commit(server, 0);
	return true;
}

/* One that says no floor has half of what is left; the other one goes on and on, and nothing of the first is lost. */
static void
who_says_no_floor_leaves_room_for_others(void **state)
{
	struct server *server = begin(1);
	struct order_track *held = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint32_t group = 1, most, refused = 0;

	(void)state;
	most = order_log_left(&server->parts[0].log, held);
	assert_in_range(most, SLOTS / 4, SLOTS / 2);
	while (write_one(server, held, group, ORDER_NO_GROUP))
		group++;
	assert_in_range(group - 1, most - 2, most);
	assert_int_equal(order_log_left(&server->parts[0].log, held), 0);
	for (uint32_t written = 1; written <= 20 * SLOTS;) {
		if (write_one(server, other, written, written - 1))
			written++;
		else
			assert_in_range(++refused, 0, SLOTS);
	}
	assert_int_equal(held->writes.count, group - 1);
	assert_false(write_one(server, held, group, ORDER_NO_GROUP));
	/* And when it says one, that stands before anything else of it comes. */
	assert_true(write_one(server, held, group, group - 1));
	assert_int_equal(held->marks.count, 1);
	assert_int_equal(held->writes.count, 1);
	end(server);
}

/* Those that say no floor share all there is; and whoever comes last has what is guaranteed. */
static void
each_stream_has_what_is_guaranteed(void **state)
{
	struct server *server = begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track more[64];
	uint32_t opened = 0, tracks = log->tracks, groups[64] = { 0 };

	(void)state;
	assert_int_equal(log->guaranteed, ORDER_GUARANTEED_LEAST);
	for (; order_log_opens(log); opened++) {
		assert_in_range(opened, 0, 63);
		order_track_init(log, &more[opened], OWNER, (uint16_t)(100 + opened));
	}
	assert_int_equal(log->tracks, tracks + opened);
	assert_in_range(opened + tracks, SLOTS / 2 / (ORDER_GUARANTEED_LEAST + 1), SLOTS / ORDER_GUARANTEED_LEAST);
	for (uint32_t i = 0; i < opened; i++)
		while (write_one(server, &more[i], groups[i] + 1, ORDER_NO_GROUP))
			groups[i]++;
	for (uint32_t i = 0; i < opened; i++)
		assert_in_range(groups[i], ORDER_GUARANTEED_LEAST, SLOTS);
	/* What one does not need it does not take from others. */
	for (uint32_t i = 0; i < opened; i++) {
		for (unsigned tries = 0; !write_one(server, &more[i], groups[i] + 1, groups[i]); tries++)
			assert_in_range(tries, 0, 8);
		order_track_close(log, &more[i], true);
	}
	assert_int_equal(log->unspent, tracks * ORDER_GUARANTEED_LEAST);
	end(server);
}

/* What was appended anew after a commit was taken is not durable when that one is done. */
static void
a_place_is_free_only_when_what_took_it_over_is_durable(void **state)
{
	struct server *server = begin(1);
	struct part *part = &server->parts[0];
	struct order_track *held = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint32_t moved = 0;

	(void)state;
	for (uint32_t group = 1; group <= 200; group++)
		assert_true(write_one(server, held, group, ORDER_NO_GROUP));
	for (uint32_t group = 1; group <= 4 * SLOTS; group++) {
		struct order_entry entry = {
			.first = group, .last = group, .prev = group - 1, .num = 1, .count = 1, .blocks = 8,
			.nsid = KEEPS, .flags = ORDER_ENTRY_LAST,
		};
		uint64_t place, swept;

		order_track_tell(other, group - 1);
		for (int tries = 0; !order_log_ask(&part->log, other); tries++) {
			assert_in_range(tries, 0, 100);
			commit(server, 0);
		}
		place = order_log_append(&part->log, other, &entry);
		assert_true(take(part));
		swept = part->log.swept;
		order_log_sweep(&part->log);
		moved += part->log.swept > swept;
		keep_some(server, part, true);
		order_log_done(&part->log);
		assert_int_equal(part->log.tail, swept);
		order_log_end(&part->log, place, true);
		commit(server, 0);
	}
	assert_in_range(moved, SLOTS, 4 * SLOTS);
	end(server);
}

static void
what_was_closed_leaves_when_nothing_of_it_is_left(void **state)
{
	struct server *server = begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *closed = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint32_t tracks = log->tracks, group = 1;
	uint64_t newest;

	(void)state;
	write_one(server, closed, 1, ORDER_NO_GROUP);
	assert_false(order_track_leave(log, closed));
	order_track_tell(closed, 1);
	order_track_close(log, closed, false);
	newest = closed->newest;
	while (!order_track_leave(log, closed)) {
		group += write_one(server, other, group, group - 1);
		assert_in_range(group, 1, 8 * SLOTS);
	}
	/* Its last mark was appended away from what it was for. */
	assert_in_range(closed->newest, newest + ORDER_BATCH_MAX + 1, log->next - SLOTS - ORDER_BATCH_MAX);
	assert_int_equal(log->tracks, tracks - 1);
	end(server);
}

/*
 * What is closed has its last write and the mark behind it in slots that one batch overwrites, of which only the mark's
 * is written when the power goes.  The batch never was: its slots are emptied, and of these only the mark's is when the
 * power goes again.  The write is there, and that nothing of it is needed, too.
 */
static void
what_was_closed_is_not_there_again_after_a_torn_batch(void **state)
{
	struct server *server = begin(1);
	struct part *part = &server->parts[0];
	struct order_track *closed = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint64_t write;
	struct order_stream read;
	uint32_t group = 1, count, same;
	bool found = false;

	(void)state;
	for (; group <= 20; group++)
		assert_true(write_one(server, other, group, group - 1));
	assert_true(write_one(server, closed, 1, ORDER_NO_GROUP));
	write = closed->newest;
	order_track_tell(closed, 1);
	assert_true(order_log_cut(&part->log, closed, 1, 1, 1, false));
	assert_int_equal(closed->newest, write + 1);
	commit(server, 0);
	order_track_close(&part->log, closed, false);
	while (part->log.next < write + SLOTS)
		group += write_one(server, other, group, group - 1);
	assert_int_equal(part->log.next, write + SLOTS);
	part->kept[(write + 1) % SLOTS] = (struct order_image){ 0 };
	count = read_part(server, 0, 0);
	order_known_sort(server->known, count);
	for (uint32_t at = 0; at < count; at += same) {
		same = order_known_same(&server->known[at], count - at);
		order_stream_read(&server->known[at], same, keeps, NULL, server->room, &read);
		if (read.stream == 0)
			assert_int_equal(read.list.count, 0);
		for (uint32_t i = at; i < at + same; i++)
			found = found || server->known[i].place == write;
	}
	assert_true(found);
	end(server);
}

/* Nor what was told here: only what is durable elsewhere. */
static void
what_another_part_holds_is_needed_no_more(void **state)
{
	struct server *server = begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *track = &server->streams[0].tracks[0];

	(void)state;
	for (uint32_t group = 1; group <= 10; group++)
		assert_true(write_one(server, track, group, ORDER_NO_GROUP));
	order_track_tell(track, 9);
	order_track_close(log, track, true);
	assert_int_equal(track->writes.count, 10);
	order_track_hold(log, track, 4);
	assert_int_equal(track->writes.count, 6);
	order_track_hold(log, track, 3);
	assert_int_equal(track->writes.count, 6);
	order_track_hold(log, track, 10);
	assert_int_equal(track->writes.count, 0);
	end(server);
}

/* Of cuts that take back as much as the one before one mark is needed; and those of a batch leave room for what is. */
static void
cuts_again_and_again_leave_room(void **state)
{
	struct server *server = begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *held = &server->streams[0].tracks[0], *cut = &server->streams[1].tracks[0];
	unsigned refused = 0;

	(void)state;
	for (uint32_t group = 1; group <= 200; group++)
		assert_true(write_one(server, held, group, ORDER_NO_GROUP));
	for (uint32_t term = 1; term <= 8 * SLOTS;) {
		if (order_log_cut(log, cut, (uint16_t)term, 5, 9, false)) {
			assert_int_equal(cut->marks.count, 1);
			term++;
			refused = 0;
			continue;
		}
		assert_in_range(++refused, 0, 20);
		commit(server, 0);
	}
	assert_int_equal(held->writes.count, 200);
	end(server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_closed_is_not_there_again_after_a_torn_batch),
		cmocka_unit_test(what_another_part_holds_is_needed_no_more),
		cmocka_unit_test(cuts_again_and_again_leave_room),
		cmocka_unit_test(who_says_no_floor_leaves_room_for_others),
		cmocka_unit_test(each_stream_has_what_is_guaranteed),
		cmocka_unit_test(a_place_is_free_only_when_what_took_it_over_is_durable),
		cmocka_unit_test(what_was_closed_leaves_when_nothing_of_it_is_left),
		cmocka_unit_test(whatever_happens_it_has_what_was_durable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
