#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_log_bench.h"

bool
log_keeps(void *arg, uint32_t nsid)
{
	(void)arg;
	return nsid == KEEPS;
}

struct log_server *
log_begin(uint64_t seed)
{
	struct log_server *server = calloc(1, sizeof(*server));

	rng_seed(&server->rng, seed);
	for (unsigned i = 0; i < PARTS; i++) {
		struct log_part *part = &server->parts[i];

		order_log_init(&part->log, part->slots, SLOTS, SEED, part->states, part->is, part->words);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		struct log_stream *stream = &server->streams[i];

		stream->writes = calloc(GROUPS, sizeof(*stream->writes));
		order_track_init(&server->parts[0].log, &stream->tracks[0], OWNER, (uint16_t)i);
		stream->has[0] = true;
	}
	return server;
}

void
log_end(struct log_server *server)
{
	for (unsigned i = 0; i < STREAMS; i++)
		free(server->streams[i].writes);
	free(server);
}

/* ---- commits ---- */

bool
log_take(struct log_part *part)
{
	if (!order_log_take(&part->log, &part->commit))
		return false;
	memcpy(part->commit_words, part->commit.words, part->commit.word_count * sizeof(uint32_t));
	return true;
}

/* Any of its words of eight bytes comes: all, none, or by chance. */
void
log_keep_some(struct log_server *server, struct log_part *part, bool whole)
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

void
log_note_durable(struct log_server *server, unsigned which)
{
	struct log_part *part = &server->parts[which];

	for (unsigned i = 0; i < STREAMS; i++) {
		struct log_stream *stream = &server->streams[i];

		if (stream->part != which)
			continue;
		for (uint32_t group = stream->floor + 1; group <= stream->last; group++) {
			struct log_write *write = &stream->writes[group];

			if (write->appended && write->place < part->log.durable)
				write->durable = true;
			if (write->persists && write->word <= part->log.words_durable)
				write->persist_durable = true;
		}
	}
}

void
log_commit(struct log_server *server, unsigned which)
{
	struct log_part *part = &server->parts[which];

	if (!part->log.taken && !log_take(part)) {
		order_log_sweep(&part->log);
		return;
	}
	log_keep_some(server, part, true);
	order_log_done(&part->log);
	log_note_durable(server, which);
	order_log_sweep(&part->log);
}

uint32_t
log_read_part(struct log_server *server, unsigned which, uint32_t count)
{
	struct log_part *part = &server->parts[which];
	const struct order_part read = { part->slots, SLOTS, SEED };
	struct order_scan scan;

	memcpy(part->slots, part->kept, sizeof(part->slots));
	order_scan(&read, &scan);
	assert_false(scan.corrupt);
	order_log_init(&part->log, part->slots, SLOTS, SEED, part->states, part->is, part->words);
	order_log_load(&part->log, &scan);
	for (uint64_t place = scan.next; place < scan.torn_to; place++)
		part->kept[place % SLOTS] = part->slots[place % SLOTS];
	return count + order_known_read(&read, &scan, which, &server->known[count]);
}
