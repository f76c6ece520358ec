/*
 * engine.h - which of many descriptors have something to do.
 *
 * One engine per reactor.  A descriptor is added once and reported on every
 * edge of its state; it is never armed again.  The engine knows nothing of
 * what a descriptor is: it calls its source.
 */
#ifndef WEIR_SYS_ENGINE_H
#define WEIR_SYS_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct engine;

enum engine_events {
	ENGINE_IN = 1,
	ENGINE_OUT = 2,
	ENGINE_HUP = 4, /* the peer has closed its side, or the descriptor is in error */
};

/* What is called when a descriptor has events; lies in the owner of the descriptor. */
struct source {
	void (*event)(struct source *source, unsigned events);
};

struct engine_ops {
	int (*open)(struct arena *arena, struct engine **engine) __attribute__((warn_unused_result));
	void (*close)(struct engine *engine);

	/* The descriptor is reported once at the start if it is ready then. */
	int (*add)(struct engine *engine, int fd, struct source *source) __attribute__((warn_unused_result));
	void (*remove)(struct engine *engine, int fd);

	/*
	 * Waits until something happens, at most `timeout_ns` (rounded up to what the engine
	 * can do; 0: only looks; negative: for ever), and calls event() of each source that
	 * has something.  event() may remove its own descriptor and no other.  False: a signal was
	 * handled instead.
	 */
	bool (*wait)(struct engine *engine, int64_t timeout_ns);

	/* What poll() finds readable while wait() has something to tell; the engine's. */
	int (*fd)(const struct engine *engine);
};

extern const struct engine_ops engine_epoll;

#endif
