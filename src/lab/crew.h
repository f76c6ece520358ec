/*
 * crew.h - much that does not depend on one another, done side by side.
 */
#ifndef WEIR_LAB_CREW_H
#define WEIR_LAB_CREW_H

#include "lab/rig.h"

/* Who does it. */
struct lab_crew {
	/* Memory that is zeroed, and the same for all of them; NULL: there is none. */
	void *(*share)(struct lab_crew *crew, size_t bytes);
	void (*unshare)(struct lab_crew *crew, void *memory, size_t bytes);
	/* Calls work(arg, i) once for each i below `count`, each in a process of its own that was as this one is now:
	 * what it writes to what is shared is all that is left of it.  look(arg) is called here, now and then.  Where
	 * a work() answers false no further ones are begun.  False: not all was done, and `why`, where no work()
	 * knows. */
	bool (*work)(struct lab_crew *crew, unsigned count, bool (*work)(void *arg, unsigned i),
	    void (*look)(void *arg), void *arg, char why[LAB_WHY]);
};

/*
 * Calls work(piece, arg, i, found) for each i below `count`, with a lab like this one that has an arena of its own, and
 * nothing of what the others did; what it finds are `bytes` without pointers, at found[i].  By the crew of the lab, or
 * one after the other where it has none: what comes of them is the same.  Each counts as one measurement, however many
 * it takes.  False: one of them answered so, and the lab says why.
 */
bool lab_each(struct lab *lab, unsigned count,
    bool (*work)(struct lab *piece, const void *arg, unsigned i, void *found), const void *arg, void *found,
    size_t bytes) __attribute__((warn_unused_result));

#endif
