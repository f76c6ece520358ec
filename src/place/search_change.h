/*
 * search_change.h - changes of a plan: found at random, tried, and kept or not (search.h).
 */
#ifndef WEIR_PLACE_SEARCH_CHANGE_H
#define WEIR_PLACE_SEARCH_CHANGE_H

#include "place/search_state.h"

/* To where it costs least now: one of at most `tries_max` disks in use, or a new one of the kinds that may be; of any
 * other only where none of these has room.  False: none at all has. */
bool search_insert(struct search *search, uint32_t workload, uint32_t tries_max);

/* Some whole disks are taken apart, and what was on them is put on others, which may be new ones of few kinds. */
void search_shake(struct search *search);

/* So many evaluations long changes at random: one that makes it dearer is kept the less likely, the lower `warmth` is,
 * which falls evenly by factors; in parts of what a disk costs on average. */
void search_anneal(struct search *search, uint64_t evaluations, double warmth_from, double warmth_to);

#endif
