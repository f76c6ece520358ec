/*
 * mintco_text.h - files of lab/mintco that are built in.
 */
#ifndef WEIR_MINTCO_TEXT_H
#define WEIR_MINTCO_TEXT_H

struct mintco_text {
	const char *name, *text;
};

extern const struct mintco_text mintco_texts[];
extern const unsigned mintco_count;

#endif
