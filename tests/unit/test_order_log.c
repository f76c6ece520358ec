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

#include "order_log_bench.h"

/* ---- what a stream does ---- */

static void
write_group(struct log_server *server, struct log_stream *stream)
{
	struct order_log *log = &server->parts[stream->part].log;
	struct order_track *track = &stream->tracks[stream->part];
	struct order_entry entry = { .prev = stream->prev, .num = 1, .count = 1, .blocks = 8, .nsid = KEEPS };
	struct log_write *write = &stream->writes[stream->last + 1];

	if (stream->last + 2 >= GROUPS)
		return;
	if (rng_below(&server->rng, 4) != 0) {
		order_track_tell(track, stream->floor);
		if (!order_log_ask(log, track)) {
			server->refused++;
			order_log_sweep(log);
			return;
		}
		*write = (struct log_write){ .here = true, .appended = true, .in_flight = true,
			.in_place = rng_below(&server->rng, 8) == 0 };
		entry.flags = (uint16_t)(ORDER_ENTRY_LAST | (write->in_place ? ORDER_ENTRY_IN_PLACE : 0));
		entry.first = entry.last = stream->prev = stream->last + 1;
		write->place = order_log_append(log, track, &entry);
		server->appended++;
	} else {
		*write = (struct log_write){ 0 };
	}
	stream->last++;
	if (order_after(stream->last, stream->high))
		stream->high = stream->last;
}

static void
end_some(struct log_server *server, struct log_stream *stream)
{
	for (uint32_t group = stream->floor + 1; group <= stream->last; group++) {
		struct log_write *write = &stream->writes[group];

		if (!write->in_flight || !write->durable || rng_below(&server->rng, 2) == 0)
			continue;
		write->in_flight = false;
		write->persists = rng_below(&server->rng, 400) != 0; /* or it failed */
		write->word = order_log_end(&server->parts[stream->part].log, write->place, write->persists);
	}
}

static void
move_floor(struct log_server *server, struct log_stream *stream)
{
	uint32_t floor = stream->floor;

	while (floor < stream->last && (!stream->writes[floor + 1].here || stream->writes[floor + 1].persist_durable))
		floor++;
	stream->floor += (uint32_t)rng_below(&server->rng, floor - stream->floor + 1);
}

static void
settle(struct log_server *server)
{
	for (unsigned i = 0; i < 2 * PARTS; i++)
		log_commit(server, i % PARTS); /* one may be on its way */
	for (unsigned i = 0; i < STREAMS; i++)
		for (unsigned round = 0; round < 64; round++)
			end_some(server, &server->streams[i]);
	for (unsigned i = 0; i < 2 * PARTS; i++)
		log_commit(server, i % PARTS);
}

static void
cut_off(struct log_stream *stream, uint32_t cut)
{
	for (uint32_t group = cut + 1; group <= stream->last; group++) {
		if (stream->writes[group].in_place && stream->writes[group].durable)
			stream->left[stream->lefts++] = group;
		stream->writes[group] = (struct log_write){ 0 };
	}
	stream->last = cut;
	for (stream->prev = cut; stream->prev > stream->floor && !stream->writes[stream->prev].here;)
		stream->prev--;
}

/* Its connection comes again, to whichever reactor; a mark that is durable goes before all else. */
static void
connect_anew(struct log_server *server, struct log_stream *stream, uint32_t cut)
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
		log_commit(server, to);
		if (tries > 100)
			fail_msg("the log is full for ever");
	}
	log_commit(server, to);
	if (from != to)
		order_track_close(&server->parts[from].log, &stream->tracks[from], true);
	stream->part = to;
}

static void
tell_other_parts(struct log_server *server, struct log_stream *stream)
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

static const struct order_listed *
find(const struct order_list *list, uint32_t group)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].first == group)
			return &list->entries[i];
	return NULL;
}

static void
hold_left(const struct log_stream *stream, const struct order_known *known, uint32_t count, uint32_t floor)
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
hold(struct log_stream *stream, const struct order_stream *read)
{
	uint32_t listed = 0;

	assert_null(read->lost);
	assert_int_equal(read->term, stream->term);
	assert_false(order_above(read->list.floor, stream->floor));
	for (uint32_t group = read->list.floor + 1; group <= stream->last; group++) {
		struct log_write *write = &stream->writes[group];
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
adopt(struct log_server *server, struct log_stream *stream, const struct order_known *known, uint32_t count)
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
crash(struct log_server *server)
{
	uint32_t count = 0, same, streams = 0;

	for (unsigned i = 0; i < PARTS; i++)
		if (server->parts[i].log.taken || log_take(&server->parts[i]))
			log_keep_some(server, &server->parts[i], false);
	for (unsigned i = 0; i < PARTS; i++)
		count = log_read_part(server, i, count);
	order_known_sort(server->known, count);
	for (uint32_t at = 0; at < count; at += same) {
		struct order_known *known = &server->known[at];
		struct log_stream *stream = &server->streams[known->entry.stream];
		struct order_stream read;

		same = order_known_same(known, count - at);
		order_stream_read(known, same, log_keeps, NULL, server->room, &read);
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
	struct log_server *server = log_begin(seed);

	for (unsigned i = 0; i < STREAMS; i++)
		connect_anew(server, &server->streams[i], 0);
	for (int round = 0; round < 3000; round++) {
		struct log_stream *stream = &server->streams[rng_below(&server->rng, STREAMS)];

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
		log_commit(server, (unsigned)rng_below(&server->rng, PARTS));
		if (rng_below(&server->rng, 4) == 0)
			log_take(&server->parts[rng_below(&server->rng, PARTS)]);
	}
	assert_in_range(server->appended, 5 * SLOTS, UINT64_MAX);
	log_end(server);
}

static void
whatever_happens_it_has_what_was_durable(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 80; seed++)
		play(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_happens_it_has_what_was_durable),
	};

	return cmocka_run_group_tests_name("order_log", tests, NULL, NULL);
}
