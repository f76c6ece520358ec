/*
 * internal.h - what the files of ctrl/ share: one admin command at work.
 */
#ifndef WEIR_CTRL_INTERNAL_H
#define WEIR_CTRL_INTERNAL_H

#include "ctrl/ctrl.h"

struct admin {
	struct ctrl *ctrl;
	const struct nvme_sqe *sqe;
	const uint8_t *in; /* in_len bytes from the host */
	uint32_t in_len;
	uint8_t *out;      /* CTRL_PAGE_MAX bytes */
	const struct ctrl_given *given;
	uint64_t now_ns;
	struct ctrl_reply *reply;
};

/* The part of a page that is asked for; what is put outside of it is dropped. */
struct window {
	uint8_t *out;
	uint64_t from; /* page offset of out[0] */
	uint32_t room;
};

struct nvme_identify_ctrl;
struct nvme_identify_ns;

void window_put(const struct window *w, uint64_t at, const void *bytes, uint64_t count);

/* There is no sensor: a machine room's air. */
enum { CTRL_KELVIN = 303, CTRL_KELVIN_WARNING = 343, CTRL_KELVIN_CRITICAL = 353 };

static inline void
admin_refuse(struct admin *cmd, enum nvme_sc sc)
{
	cmd->reply->status = nvme_status_of(sc, true);
}

/* Zeroed room for an answer of `bytes` bytes, or NULL: the SGL is not for just as much, and refused.  To be had
 * before the answer changes anything: what is not answered was not read. */
void *admin_answer(struct admin *cmd, uint32_t bytes);

/* Copies text to a field of `bytes` bytes, padded with spaces. */
void ctrl_pad(char *field, size_t bytes, const char *text);

/* Whether the namespace is active here. */
bool ctrl_attached(const struct ctrl *ctrl, const struct ns_info *ns);

/* The namespace, or NULL. */
const struct ns_info *ctrl_ns(const struct ctrl *ctrl, uint32_t nsid);
uint32_t ctrl_kato_round(uint32_t kato_ms); /* up to the granularity */

void admin_identify(struct admin *cmd);
void admin_get_log(struct admin *cmd);
void admin_set_features(struct admin *cmd);
void admin_get_features(struct admin *cmd);
void admin_async_event(struct admin *cmd);

/* Which commands there are, for log page 05h; and which features, for 12h: 256 words. */
void admin_effects(const struct ctrl *ctrl, le32 effects[256]);
void features_effects(const struct ctrl *ctrl, le32 effects[256]);

enum nvme_ana_state ana_group_state(const struct ctrl *ctrl, const struct subsys_info *subsys, uint32_t id);
/* Whether ANA holds back the command, which is about an NSID that is attached here, or by UINT32_MAX about all of
 * them; if so it is answered.  `lost_alone`: no state but persistent loss does. */
bool ana_holds(struct admin *cmd, bool lost_alone);
void ana_compare(struct ctrl *ctrl, const struct subsys_info *old, const struct subsys_info *new);
void ana_make(struct admin *cmd, const struct window *w);

void reservation_reset(struct ctrl *ctrl);
void reservation_make(struct admin *cmd, const struct window *w);
void resv_mask_forget(struct ctrl *ctrl, uint32_t nsid); /* the namespace is another one */
void resv_mask_set(struct admin *cmd, uint32_t value);
uint32_t resv_mask_get(struct admin *cmd, bool by_default, uint8_t *data);
void persistence_set(struct admin *cmd, uint32_t value);
uint32_t persistence_get(struct admin *cmd, bool by_default, uint8_t *data);
void protection_set(struct admin *cmd, uint32_t value);
uint32_t protection_get(struct admin *cmd, bool by_default, uint8_t *data);

void discovery_make(struct admin *cmd, const struct window *w);
uint64_t discovery_bytes(const struct admin *cmd);

uint64_t persistent_bytes(const struct admin *cmd);
void persistent_make(struct admin *cmd, const struct window *w);
bool persistent_establishes(const struct ctrl *ctrl, const struct nvme_sqe *sqe);

bool manage_claimed(const struct subsys_info *subsys);
bool manage_there(const struct admin *cmd, uint16_t cntlid); /* whether the subsystem has the controller */
bool manage_needs_controllers(const struct ctrl *ctrl, const struct nvme_sqe *sqe);
uint32_t manage_data_in(const struct nvme_sqe *sqe);
void admin_ns_management(struct admin *cmd);
void admin_ns_attachment(struct admin *cmd);
void identify_list(struct admin *cmd, bool all);
void identify_allocated_list(struct admin *cmd);
void identify_ns_controllers(struct admin *cmd);
void identify_controllers(struct admin *cmd);

/* Weir's extension (doc/extension.md) */
void extension_identify(const struct ctrl *ctrl, struct nvme_identify_ctrl *id);
void extension_identify_ns(const struct ns_info *ns, struct nvme_identify_ns *id);
void extension_set(struct admin *cmd, uint32_t value);
uint32_t extension_get(struct admin *cmd, bool by_default, uint8_t *data);
void admin_list(struct admin *cmd);
void admin_cut(struct admin *cmd);
void admin_floor(struct admin *cmd);
void extension_view(struct admin *cmd, const struct window *w);
void admin_fence(struct admin *cmd);

uint64_t ctrl_timestamp_ms(const struct ctrl *ctrl, uint64_t now_ns); /* feature 0Eh */
void features_reset(struct ctrl *ctrl);
uint32_t features_data_in(uint8_t fid);

void events_reset(struct ctrl *ctrl);
void events_notify(struct ctrl *ctrl, enum ctrl_notice notice);
/* A namespace came, went or is not the same; the controller's snapshot tells of it already. */
void events_ns_changed(struct ctrl *ctrl, uint32_t nsid);
/* The host read the page of an event, or turned events off. */
void events_page_read(struct ctrl *ctrl, uint8_t lid);
void events_configured(struct ctrl *ctrl);
/* The bits of feature 0Bh, and OAES, that a controller of the kind has. */
uint32_t events_supported(const struct ctrl *ctrl);

#endif
