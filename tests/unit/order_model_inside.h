/* order_model_inside.h - what the files of the model share. */
#ifndef WEIR_TESTS_ORDER_MODEL_INSIDE_H
#define WEIR_TESTS_ORDER_MODEL_INSIDE_H

#include "order/known.h"
#include "order_model.h"

static inline bool
rio_chance(struct rio *model, unsigned of_100)
{
	return rng_below(&model->rng, 100) < of_100;
}

static inline struct rio_way *
rio_way_of(struct rio *model, unsigned stream, unsigned server)
{
	return &model->streams[stream].ways[server];
}

/* Where a stream goes on at a server. */
static inline struct rio_part *
rio_home(struct rio *model, unsigned server, unsigned stream)
{
	return &model->servers[server].parts[model->servers[server].home[stream]];
}

void rio_violation(struct rio *model, const char *what);
bool rio_keeps(void *model, uint32_t nsid);

/* What is kept of a server's log. */
uint64_t rio_slot_hash(uint32_t slot, const struct order_image *image);
bool rio_take(struct rio_part *part);
void rio_keep_entry(struct rio_part *part, uint64_t place, unsigned words);
void rio_keep_word(struct rio_part *part, uint32_t slot);
void rio_keep_empty(struct rio_part *part, uint32_t slot);

/* What an entry wrote is deallocated, and that is durable. */
void rio_zero(struct rio *model, unsigned server, unsigned stream, const struct order_entry *entry);
void rio_zeroed(struct rio *model, unsigned server, unsigned stream);

/* What a host may do next; false: it did nothing. */
bool rio_submit_something(struct rio *model, unsigned stream);
bool rio_send(struct rio *model, unsigned stream, unsigned server);
bool rio_get_back(struct rio *model, unsigned stream, unsigned server);
bool rio_tell_floor(struct rio *model, unsigned stream, unsigned server);

/* It has what is kept, and nothing else. */
void rio_begin_server(struct rio *model, struct rio_server *server);

/* What its host was told. */
void rio_look_at_ends(struct rio *model, unsigned stream);

void rio_turn(struct rio *model, unsigned server);

/* A step of a stream that was lost. */
bool rio_recover(struct rio *model, unsigned stream, unsigned server);

/* Of a host that was gone: all up to a group is there, and nothing after it. */
void rio_hold(struct rio *model, unsigned stream, uint32_t there);

/* All is there that was submitted. */
void rio_hold_all(struct rio *model);

#endif
