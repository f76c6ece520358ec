/*
 * mail.h - what the cores of a target say to each other.
 *
 * A tagged union of fixed size: it can be printed, counted and replayed.
 * Pointers are tokens of their owner's memory: the owner keeps what they point
 * to until the answer has come, and only the owner looks inside.
 */
#ifndef WEIR_TARGET_MAIL_H
#define WEIR_TARGET_MAIL_H

#include <stdint.h>

#include "ctrl/ctrl.h"
#include "wire/fabrics.h"
#include "world/world.h"

struct assoc;
struct blk_tenant;
struct conn;
struct eventlog;
struct ordered_ask;
struct ordered_command;
struct target_look;
struct request;
struct reserve_found;
struct resv;
struct resv_effect;
struct target_wish;
struct view;

enum target_mail_kind { /* from BLK_MAIL on it is of devices (blk.h) */
	MAIL_STREAM = 1,  /* 0 -> any: a connection for you */
	MAIL_CONN_GONE,   /* any -> 0: one connection fewer */
	MAIL_JOIN,        /* admin queue's core -> 0: may this controller be? */
	MAIL_JOINED,      /* and back: yes or no, when none of its host is dying any more */
	MAIL_DYING,       /* controller's core -> 0: its admin connection is gone */
	MAIL_LEFT,        /* controller's core -> 0: it is gone, and nothing of it is at a device; also of one
			   * that was refused */
	MAIL_FENCE,       /* controller's core -> 0: end others of my host */
	MAIL_FENCED,      /* and back: they are gone */
	MAIL_END,         /* 0 -> controller's core: end */
	MAIL_ABORT,       /* controller's core -> queue's: abort a command */
	MAIL_ABORTED,     /* and back: done, or not */
	MAIL_SEEK,        /* queue's core -> 0: the same as ATTACH, to a static controller: 0 knows which core's */
	MAIL_ATTACH,      /* queue's core, or 0 -> controller's: may this I/O queue connect? */
	MAIL_ATTACHED,    /* and back: yes or no */
	MAIL_DETACH,      /* queue's core -> controller's: the queue is gone, and when it last heard of its host */
	MAIL_DETACHED,    /* and back: nothing more will come to it from here */
	MAIL_CLOSE,       /* controller's core -> queue's: close */
	MAIL_CACHE,       /* controller's core -> queue's: from now on each write is durable, or not */
	MAIL_CACHE_SET,   /* and back: so it is */
	MAIL_ERROR,       /* queue's core -> controller's: a command failed */
	MAIL_ERROR_HEARD, /* and back, for either */
	MAIL_ERRORS_MISSED, /* queue's core -> controller's: so many failed of which nothing else is said */
	MAIL_ALIVE_ASK,   /* controller's core -> queue's: when was your last command? */
	MAIL_ALIVE,       /* and back */
	MAIL_STATS_ASK,   /* controller's core, or 0 -> all: what was done for a subsystem? */
	MAIL_STATS,       /* and back: what the asked core counted; followed by */
	MAIL_STATS_MORE,
	MAIL_STATS_BEFORE, /* and back from 0 too: what all starts before this one counted; followed by */
	MAIL_STATS_KEPT,
	MAIL_COUNT,       /* 0 -> all: note down what you counted */
	MAIL_COUNTED,     /* and back: it stands in your core */
	MAIL_PREPARE,     /* 0 -> all: open the volumes that a new config has */
	MAIL_PREPARED,    /* and back: done, or why not */
	MAIL_DISCARD,     /* 0 -> all: it will not be: close them again */
	MAIL_DISCARDED,   /* and back */
	MAIL_SWITCH,      /* 0 -> all: this is served now */
	MAIL_SWITCHED,    /* and back: nothing refers to the old view any more */
	MAIL_RETIRED,     /* any -> 0: the channel to a volume that was given up is closed */
	MAIL_RESERVE,     /* queue's core -> 0: a command of reservations; it stands still until RESERVED, and so
			   * do others of its namespace and core */
	MAIL_RESERVED,    /* and back: it is done; to itself, without a command: the line goes on */
	MAIL_RESV_TAKE,   /* 0 -> all: who holds a namespace now */
	MAIL_RESV_TAKEN,  /* and back: so it is, and the commands that were to end have */
	MAIL_RESV_TELL,   /* 0 -> all: your controllers' hosts shall hear of it */
	MAIL_RESV_TOLD,   /* and back */
	MAIL_RESV_WHO,    /* 0 -> 0 -> 1 ...: which controllers do registrants have? */
	MAIL_RESV_FOUND,  /* and from the last to 0 */
	MAIL_PRESENT_ASK, /* controller's core -> 0: which controllers are there? */
	MAIL_PRESENT,     /* and back: they stand where you said */
	MAIL_LOOK,        /* any -> a volume's home: what goes on there? */
	MAIL_LOOKED,      /* and back: it stands where you said */
	MAIL_WISH,        /* controller's core -> 0: for the keeper */
	MAIL_WISHED,      /* and back: what came of it */
	MAIL_WISH_OVER,   /* controller's core -> 0: what the keeper has of it is not to be begun any more */
	MAIL_SETTLE,      /* controller's core -> any: have writes to what was protected ended? */
	MAIL_SETTLED,     /* and back: yes, or not yet */
	MAIL_EVENT,       /* any -> 0: something that the subsystem of a controller keeps in mind */
	MAIL_EVENT_HEARD, /* and back */
	MAIL_EVENTS_COPY, /* controller's core -> 0: its host wants to read the events */
	MAIL_EVENTS_COPIED, /* and back: a copy, or none */
	MAIL_EVENTS_GIVE, /* controller's core -> 0: the copy is not needed any more */
	MAIL_TENANT_GONE, /* 0 -> all: forget a host, of which nothing is at a device */
	MAIL_TENANT_FORGOTTEN, /* and back */
	MAIL_ORDER,       /* controller's core -> 0: a command of ordered writes; lent until */
	MAIL_ORDERED,     /* and back: it is done */
	MAIL_ORDER_ASK,   /* 0 -> a part's core: of a stream */
	MAIL_ORDER_SAID,  /* and back */
	MAIL_ORDER_CLOSE, /* 0 -> a part's core: a stream goes on elsewhere */
	MAIL_ORDER_HOLD,  /* that part's core -> others that have something of it: a floor is durable */
	MAIL_ORDER_HELD,  /* and back: whether anything is left that is above it */
	MAIL_ORDER_LEFT,  /* part's core -> 0: it has nothing of a stream any more */
	MAIL_DRAIN,       /* 0 -> all: end */
	MAIL_DRAINED,     /* and back */
};

struct target_mail {
	uint16_t kind, from;
	uint16_t key, qid;        /* the controller's, by which cores know it: key % reactors is its core */
	union {
		struct {
			struct stream *stream;
			uint16_t portal;
		} stream;
		int failure;              /* PREPARED: 0 or a negative errno */
		const struct view *view;  /* SWITCH */
		uint16_t slot;            /* RETIRED: of the volume */
		struct {
			struct request *req; /* lent to core 0, with all that it refers to */
			uint16_t slot;       /* of its volume, which nobody else has before RESERVED */
			struct nvme_status status; /* RESERVED */
		} reserve;
		struct { /* core 0's: it stands until all have answered */
			const struct resv *state;
			union {
				const struct resv_effect *effect; /* TAKE, TELL */
				struct reserve_found *found;      /* WHO: whose turn it is writes to it */
			};
			uint32_t nsid;
			uint16_t slot; /* of its volume, which nobody else has before */
		} resv;
		struct {
			struct conn *conn;                      /* token */
			const struct nvme_connect_data *data;   /* stands until JOINED */
		} join;
		struct {
			struct conn *conn;
			uint8_t admission;     /* enum ctrl_admission */
			uint16_t cntlid;       /* of one that was admitted, */
			uint64_t association;  /* and its number; */
			const struct blk_tenant *tenant; /* and its host, which stays as long as it does; or NULL */
		} joined;
		struct {
			uint64_t *there, *attached; /* the asker's: core 0 writes to them meanwhile */
			uint64_t newest;            /* PRESENT: the number of the last association */
			uint32_t nsid;
		} present;
		struct target_look *look; /* the asker's: the home writes to it meanwhile */
		struct {
			struct target_wish *wish; /* lent to core 0 */
			struct nvme_status status; /* WISHED */
			uint32_t nsid;
		} wish;
		struct {
			struct target_wish *wish; /* lent to the asked core, which looks at it alone */
			bool done;             /* of the answer */
		} settle;
		uint16_t fence;        /* FENCE: the controller, or WEIR_FENCE_OLDER */
		uint32_t ended;        /* FENCED: so many controllers */
		struct {
			struct conn *conn;     /* of ABORT; a token */
			uint16_t cid;
			uint16_t place;        /* the same in both: where the controller keeps it */
			bool done;             /* of the answer */
		} abort;
		struct {
			struct conn *conn;                      /* token */
			const struct nvme_connect_sqe *sqe;     /* stand until ATTACHED */
			const struct nvme_connect_data *data;
			uint16_t core;         /* the queue's */
		} attach;
		struct {
			struct conn *conn;
			struct nvme_status status;
			struct nvme_connect_fault fault;
			bool durable, credits, ordered;
			uint64_t association;
			const struct blk_tenant *tenant;
		} attached;
		const struct blk_tenant *tenant; /* TENANT_GONE, TENANT_FORGOTTEN: stands until all have answered */
		struct {
			struct conn *conn;
			bool durable;
		} cache;
		struct conn *conn;     /* DETACHED, CLOSE */
		struct {
			struct conn *conn;     /* of the ASK; a token */
			uint64_t heard_ns;     /* of the answer: the last sign of life */
			uint32_t round;        /* the same in both */
		} alive;
		struct {
			struct conn *conn;
			uint64_t command_ns;   /* when the last command came: nobody can ask any more */
		} detach;
		struct {
			struct conn *conn;
			uint64_t lba;
			le32 nsid;
			le16 cid, status;
			uint8_t opcode;
			bool bad;              /* a block that was made unreadable on purpose */
			uint32_t missed;       /* of ERRORS_MISSED: how many */
		} error;
		uint16_t events;       /* STATS_ASK: number of the subsystem's log */
		struct {
			uint64_t reads, writes, read_blocks512, write_blocks512, media_errors;
		} stats;               /* STATS, STATS_BEFORE */
		struct {
			uint64_t errors, busy_s;
			union {
				struct {
					uint64_t power_cycles, unsafe_shutdowns, on_ms;
				}; /* of KEPT */
				struct ctrl_wear wear; /* of MORE: of the worst volume that the asked core knows */
			};
		} stats_more;
		struct {
			uint8_t what;          /* enum events_what (events.h) */
			uint32_t nsid;
			uint64_t previous_ms;
			uint64_t reset_ms;     /* since the controller's last reset; of a Timestamp */
			le32 cdw10, cdw11;     /* of a Set Features */
			uint32_t dw0;          /* and of its completion */
		} event;
		struct ordered_command *order;  /* ORDER, ORDERED */
		struct ordered_ask *order_ask;  /* ASK, SAID: core 0's, lent */
		struct {
			uint32_t owner, floor;
			uint16_t stream, part; /* that is told */
			uint32_t home;         /* the part where the stream goes on */
			uint16_t term;         /* HOLD: it has there */
			bool done;             /* HELD: nothing is left */
		} order_hold;          /* CLOSE, HOLD, HELD, LEFT */
		struct {
			struct request *req;   /* a token */
			struct eventlog *copy; /* COPIED, GIVE: core 0's; nobody writes to it */
		} events_copy;
	};
};
_Static_assert(sizeof(struct target_mail) == sizeof(struct mail), "fits a mail, to the byte");

#endif
