#include "order_model.h"

#include <string.h>

#include "order/entry.h"
#include "order/group.h"
#include "order_model_inside.h"

void
rio_violation(struct rio *model, const char *what)
{
	if (model->violation == NULL)
		model->violation = what;
}

bool
rio_keeps(void *arg, uint32_t nsid)
{
	const struct rio *model = arg;

	return model->plan.keeps[nsid - 1];
}

/* ---- drives ---- */

static struct rio_pending *
add_pending(struct rio_server *server, unsigned drive, uint64_t block, uint32_t value)
{
	struct rio_pending *pending = &server->pending[server->pending_count++];

	*pending = (struct rio_pending){
		.drive = (uint8_t)drive, .block = (uint8_t)block, .value = value, .request = RIO_NONE,
		.taking_back = RIO_NONE,
	};
	return pending;
}

static void
remove_pending(struct rio_server *server, unsigned at)
{
	server->pending_count--;
	memmove(&server->pending[at], &server->pending[at + 1],
	    (server->pending_count - at) * sizeof(server->pending[0]));
}

static void
settle(struct rio_server *server, unsigned at)
{
	const struct rio_pending *pending = &server->pending[at];

	server->media[pending->drive][pending->block] = pending->value;
	remove_pending(server, at);
}

/* All that had ended by then is on the medium, in the order in which it did. */
static void
flush(struct rio_server *server, unsigned drive, uint64_t ended)
{
	for (;;) {
		int first = RIO_NONE;

		for (unsigned i = 0; i < server->pending_count; i++) {
			const struct rio_pending *pending = &server->pending[i];

			if (pending->drive == drive && pending->ended != 0 && pending->ended <= ended &&
			    (first == RIO_NONE || pending->ended < server->pending[first].ended))
				first = (int)i;
		}
		if (first == RIO_NONE)
			return;
		settle(server, (unsigned)first);
	}
}

static void
end_pending(struct rio_server *server, int request, int taking_back, bool keeps)
{
	for (unsigned i = 0; i < server->pending_count;) {
		struct rio_pending *pending = &server->pending[i];

		if (pending->ended != 0 || pending->request != request || pending->taking_back != taking_back) {
			i++;
			continue;
		}
		pending->ended = ++server->ended;
		pending->request = pending->taking_back = RIO_NONE;
		if (keeps)
			settle(server, i);
		else
			i++;
	}
}

static void
begin_write(struct rio_server *server, struct rio_request *request)
{
	const struct order_write *write = &request->write;

	request->at_drive = true;
	for (uint32_t i = 0; i < write->blocks; i++)
		add_pending(server, request->drive, write->lba + i, request->values[i])->request =
		    (int16_t)(request - server->requests);
}

/* ---- a server's turn ---- */

static struct rio_request *
request_of(struct order_write *write)
{
	return (struct rio_request *)((char *)write - offsetof(struct rio_request, write));
}

static void
send_back(struct rio *model, unsigned which, struct rio_request *request)
{
	struct rio_way *way = rio_way_of(model, request->stream, which);
	struct rio_part *home = rio_home(model, which, request->stream);

	request->used = false;
	if (request->epoch != way->epoch)
		return;
	way->back[(way->back_from + way->back_count++) % RIO_WIRE] = (struct rio_answer){
		request->item, request->write.outcome,
		order_log_left(&home->serve.log, &home->streams[request->stream].track),
	};
}

static void
turn(struct rio *model, unsigned which)
{
	struct rio_server *server = &model->servers[which];

	for (unsigned i = 0; i < model->plan.parts; i++) {
		struct rio_part *part = &server->parts[i];
		struct order_served *flushed;
		struct order_write *write;

		while ((write = order_serve_go(&part->serve)) != NULL)
			begin_write(server, request_of(write));
		while ((flushed = order_serve_flush(&part->serve)) != NULL)
			server->flush_of[flushed - part->streams] = server->ended + 1;
		while ((write = order_serve_answer(&part->serve)) != NULL)
			send_back(model, which, request_of(write));
	}
}

static void
keep_slot(struct rio_part *part, uint32_t slot, const struct order_image *image)
{
	part->kept_hash ^= rio_slot_hash(slot, &part->kept[slot]);
	part->kept[slot] = *image;
	part->kept_hash ^= rio_slot_hash(slot, image);
}

bool
rio_take(struct rio_part *part)
{
	if (!order_log_take(&part->serve.log, &part->commit))
		return false;
	memcpy(part->commit_words, part->commit.words, part->commit.word_count * sizeof(uint32_t));
	return true;
}

/* `words`: of eight words of an entry those that come. */
void
rio_keep_entry(struct rio_part *part, uint64_t place, unsigned words)
{
	uint32_t slot = (uint32_t)(place % RIO_SLOTS);
	struct order_image image = part->kept[slot];

	for (unsigned word = 0; word < 8; word++)
		if ((words >> word & 1) != 0)
			memcpy((char *)&image + 8 * word, (char *)&part->slots[slot] + 8 * word, 8);
	keep_slot(part, slot, &image);
}

void
rio_keep_word(struct rio_part *part, uint32_t slot)
{
	struct order_image image = part->kept[slot];

	image.persist = part->slots[slot].persist;
	keep_slot(part, slot, &image);
}

void
rio_keep_empty(struct rio_part *part, uint32_t slot)
{
	keep_slot(part, slot, &(struct order_image){ 0 });
}

/* ---- what happens: at servers ---- */

static struct rio_request *
free_request(struct rio_server *server)
{
	for (unsigned i = 0; i < RIO_REQUESTS; i++)
		if (!server->requests[i].used)
			return &server->requests[i];
	return NULL;
}

static bool
arrive(struct rio *model, unsigned which, unsigned server_number)
{
	struct rio_way *way = rio_way_of(model, which, server_number);
	struct rio_server *server = &model->servers[server_number];
	struct rio_part *home = rio_home(model, server_number, which);
	struct rio_request *request = free_request(server);
	const struct rio_message *message = &way->wire[way->wire_from];
	const char *wrong;

	if (way->is != RIO_GOES || way->wire_count == 0 || request == NULL)
		return false;
	way->wire_from = (way->wire_from + 1) % RIO_WIRE;
	way->wire_count--;
	*request = (struct rio_request){
		.item = message->item, .stream = which, .epoch = way->epoch, .drive = message->nsid - 1, .used = true,
		.write = {
			.attribute = message->attribute, .lba = message->lba, .blocks = message->blocks,
			.nsid = message->nsid, .keeps = model->plan.keeps[message->nsid - 1],
		},
	};
	memcpy(request->values, message->values, message->blocks * sizeof(uint32_t));
	wrong = order_serve_arrive(&home->serve, &home->streams[which], &request->write);
	if (wrong != NULL)
		rio_violation(model, wrong);
	else if (!home->streams[which].stopped && rio_chance(model, 60))
		order_serve_ready(&home->serve, &request->write);
	turn(model, server_number);
	return true;
}

static bool
get_floor(struct rio *model, unsigned which, unsigned server)
{
	struct rio_way *way = rio_way_of(model, which, server);

	if (way->is != RIO_GOES || !way->floor_told)
		return false;
	way->floor_told = false;
	order_track_tell(&rio_home(model, server, which)->streams[which].track, way->floor);
	return true;
}

static bool
get_data(struct rio *model, unsigned which)
{
	struct rio_server *server = &model->servers[which];
	unsigned from = (unsigned)rng_below(&model->rng, RIO_REQUESTS);

	for (unsigned i = 0; i < RIO_REQUESTS; i++) {
		struct rio_request *request = &server->requests[(from + i) % RIO_REQUESTS];
		struct rio_part *home = rio_home(model, which, request->stream);

		if (request->used && !request->write.piece.ready && !home->streams[request->stream].stopped) {
			order_serve_ready(&home->serve, &request->write);
			return true;
		}
	}
	return false;
}

static struct rio_part *
any_part(struct rio *model, unsigned which)
{
	return &model->servers[which].parts[rng_below(&model->rng, model->plan.parts)];
}

static bool
append(struct rio *model, unsigned which)
{
	struct rio_part *part = any_part(model, which);

	order_serve_append(&part->serve);
	return rio_take(part);
}

static bool
make_durable(struct rio *model, unsigned which)
{
	struct rio_part *part = any_part(model, which);

	if (!part->serve.log.taken)
		return false;
	for (uint64_t place = part->commit.from; place < part->commit.to; place++)
		rio_keep_entry(part, place, 0xff);
	for (uint32_t i = 0; i < part->commit.word_count; i++)
		rio_keep_word(part, part->commit_words[i]);
	order_serve_durable(&part->serve);
	turn(model, which);
	return true;
}

/* Another part that had the stream is told what is durable where it goes on, and leaves when it has nothing of it. */
static bool
tell_parts(struct rio *model, unsigned which, unsigned stream)
{
	struct rio_part *home = rio_home(model, which, stream), *part = any_part(model, which);
	struct order_track *track = &part->streams[stream].track;
	const struct order_track *at_home = &home->streams[stream].track;

	if (part == home || !part->has[stream] || track->leaving == 0 || at_home->newest >= home->serve.log.durable)
		return false;
	order_track_hold(&part->serve.log, track, at_home->stands);
	part->has[stream] = !order_track_leave(&part->serve.log, track);
	return true;
}

static bool
end_write(struct rio *model, unsigned which)
{
	struct rio_server *server = &model->servers[which];
	unsigned from = (unsigned)rng_below(&model->rng, RIO_REQUESTS);

	for (unsigned i = 0; i < RIO_REQUESTS; i++) {
		unsigned at = (from + i) % RIO_REQUESTS;
		struct rio_request *request = &server->requests[at];

		if (!request->used || !request->at_drive)
			continue;
		request->at_drive = false;
		/* One that fails has done what it has done. */
		end_pending(server, (int)at, RIO_NONE, model->plan.keeps[request->drive]);
		order_serve_ended(&rio_home(model, which, request->stream)->serve, &request->write,
		    rng_below(&model->rng, 1000) > 0);
		turn(model, which);
		return true;
	}
	return false;
}

static bool
end_flush(struct rio *model, unsigned which, unsigned stream)
{
	struct rio_server *server = &model->servers[which];
	struct rio_part *home = rio_home(model, which, stream);
	struct order_served *served = &home->streams[stream];
	uint64_t ended = server->flush_of[stream];

	if (ended == 0)
		return false;
	server->flush_of[stream] = 0;
	for (unsigned bit = 0; bit < served->nsid_count; bit++)
		if ((served->flushing >> bit & 1) != 0)
			flush(server, served->nsids[bit] - 1, ended - 1);
	order_serve_flushed(&home->serve, served, rng_below(&model->rng, 1000) > 0);
	turn(model, which);
	return true;
}

/* ---- taking back; see order_model_recover.c ---- */

void
rio_zero(struct rio *model, unsigned which, unsigned stream, const struct order_entry *entry)
{
	for (uint32_t i = 0; i < entry->blocks; i++)
		add_pending(&model->servers[which], entry->nsid - 1, entry->lba + i, 0)->taking_back = (int8_t)stream;
}

void
rio_zeroed(struct rio *model, unsigned which, unsigned stream)
{
	struct rio_server *server = &model->servers[which];

	for (unsigned drive = 0; drive < model->plan.drives; drive++) {
		end_pending(server, RIO_NONE, (int)stream, false);
		flush(server, drive, server->ended);
	}
}

void
rio_turn(struct rio *model, unsigned which)
{
	turn(model, which);
}

/* ---- by chance ---- */

static bool
happen(struct rio *model, unsigned what)
{
	unsigned stream = (unsigned)rng_below(&model->rng, model->plan.streams);
	unsigned server = (unsigned)rng_below(&model->rng, model->plan.servers);

	if ((model->resting >> stream & 1) != 0)
		stream = 0;
	switch (what) {
	case 0: return rio_submit_something(model, stream);
	case 1: return rio_send(model, stream, server);
	case 2: return arrive(model, stream, server);
	case 3: return get_data(model, server);
	case 4: return append(model, server);
	case 5: return make_durable(model, server);
	case 6: return end_write(model, server);
	case 7: return end_flush(model, server, stream);
	case 8: return rio_get_back(model, stream, server);
	case 9: return rio_tell_floor(model, stream, server);
	case 10: return get_floor(model, stream, server);
	case 11: return tell_parts(model, server, stream);
	default: return rio_recover(model, stream, server);
	}
}

void
rio_step(struct rio *model)
{
	enum { WHATS = 13, TRIES = 40 };

	for (unsigned tries = 0; tries < TRIES; tries++)
		if (happen(model, (unsigned)rng_below(&model->rng, WHATS)))
			return;
}

/* ---- it begins ---- */

void
rio_begin(struct rio *model, const struct rio_plan *plan, uint64_t seed)
{
	unsigned count = 0;

	memset(model, 0, sizeof(*model));
	rng_seed(&model->rng, seed);
	model->plan = *plan;
	/* Servers in turns, so that stripes behind one another are on different ones. */
	for (unsigned drive = 0; drive < plan->drives; drive++)
		for (unsigned server = 0; server < plan->servers; server++)
			model->members[count++] = (struct order_member){
				server, drive + 1, RIO_RUN, plan->keeps[drive],
			};
	model->layout = (struct order_layout){
		.members = model->members, .count = count, .servers = plan->servers, .block_length = sizeof(uint32_t),
		.stripe = count == 1 ? RIO_BLOCKS : plan->stripe, .blocks = RIO_BLOCKS,
	};
	for (unsigned i = 0; i < RIO_ALL; i++)
		model->writer[i] = model->left[i].stream = RIO_NONE;
	for (unsigned server = 0; server < plan->servers; server++) {
		rio_begin_server(model, &model->servers[server]);
	}
	for (unsigned i = 0; i < plan->streams; i++)
		model->streams[i].gone = true;
}
