/*
 * wire_layout.h - what test_wire_layout holds against libnvme: rows of our
 * name and libnvme's.  Both headers define the same names, so they are compiled
 * apart, each expanding its own half of the rows.
 */
#ifndef TESTS_WIRE_LAYOUT_H
#define TESTS_WIRE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

extern const uint64_t their_values[];
extern const size_t their_count;

#define CTRL(ours, theirs) FIELD(nvme_identify_ctrl, ours, nvme_id_ctrl, theirs)
#define NS(ours, theirs) FIELD(nvme_identify_ns, ours, nvme_id_ns, theirs)
#define SMART(ours, theirs) FIELD(nvme_log_smart, ours, nvme_smart_log, theirs)
#define DISC(ours, theirs) FIELD(nvme_log_discovery_entry, ours, nvmf_disc_log_entry, theirs)
#define RESV(ours, theirs) FIELD(nvme_resv_entry, ours, nvme_registered_ctrl_ext, theirs)
#define PEL(ours, theirs) FIELD(nvme_persistent_log, ours, nvme_persistent_event_log, theirs)
#define EVENT(ours, theirs) FIELD(nvme_persistent_event, ours, nvme_persistent_event_entry, theirs)
#define SAME(macro, field) macro(field, field)

#define WIRE_LAYOUT_ROWS \
	SIZE(nvme_identify_ctrl, nvme_id_ctrl) \
	SAME(CTRL, vid) SAME(CTRL, ssvid) SAME(CTRL, sn) SAME(CTRL, mn) SAME(CTRL, fr) \
	SAME(CTRL, rab) SAME(CTRL, ieee) SAME(CTRL, cmic) SAME(CTRL, mdts) SAME(CTRL, cntlid) \
	SAME(CTRL, ver) SAME(CTRL, rtd3r) SAME(CTRL, rtd3e) SAME(CTRL, oaes) SAME(CTRL, ctratt) \
	SAME(CTRL, cntrltype) SAME(CTRL, fguid) SAME(CTRL, oacs) SAME(CTRL, acl) SAME(CTRL, aerl) \
	SAME(CTRL, frmw) SAME(CTRL, lpa) SAME(CTRL, elpe) SAME(CTRL, npss) SAME(CTRL, avscc) \
	SAME(CTRL, apsta) SAME(CTRL, wctemp) SAME(CTRL, cctemp) SAME(CTRL, kas) SAME(CTRL, anatt) \
	SAME(CTRL, anacap) SAME(CTRL, anagrpmax) SAME(CTRL, nanagrpid) SAME(CTRL, sqes) \
	SAME(CTRL, cqes) SAME(CTRL, maxcmd) SAME(CTRL, nn) SAME(CTRL, oncs) SAME(CTRL, fuses) \
	SAME(CTRL, fna) SAME(CTRL, vwc) SAME(CTRL, awun) SAME(CTRL, awupf) SAME(CTRL, icsvscc) \
	SAME(CTRL, nwpc) SAME(CTRL, acwu) CTRL(cdfs, ocfs) SAME(CTRL, sgls) SAME(CTRL, mnan) \
	SAME(CTRL, subnqn) SAME(CTRL, ioccsz) SAME(CTRL, iorcsz) SAME(CTRL, icdoff) \
	SAME(CTRL, fcatt) SAME(CTRL, msdbd) SAME(CTRL, ofcs) SAME(CTRL, dctype) SAME(CTRL, psd) \
	CTRL(vendor, vs) SIZE(nvme_id_power_state, nvme_id_psd) \
	SIZE(nvme_identify_ns, nvme_id_ns) SAME(NS, nsze) SAME(NS, ncap) SAME(NS, nuse) \
	SAME(NS, nsfeat) SAME(NS, nlbaf) SAME(NS, flbas) SAME(NS, mc) SAME(NS, dpc) SAME(NS, dps) \
	SAME(NS, nmic) SAME(NS, rescap) SAME(NS, fpi) SAME(NS, dlfeat) SAME(NS, nawun) \
	SAME(NS, nawupf) SAME(NS, nacwu) SAME(NS, nabsn) SAME(NS, nabo) SAME(NS, nabspf) \
	SAME(NS, noiob) SAME(NS, nvmcap) SAME(NS, npwg) SAME(NS, npwa) SAME(NS, npdg) \
	SAME(NS, npda) SAME(NS, nows) SAME(NS, mssrl) SAME(NS, mcl) SAME(NS, msrc) \
	SAME(NS, anagrpid) SAME(NS, nsattr) SAME(NS, nvmsetid) SAME(NS, endgid) SAME(NS, nguid) \
	SAME(NS, eui64) SAME(NS, lbaf) NS(vendor, vs) FIELD(nvme_lba_format, lbads, nvme_lbaf, ds) \
	FIELD(nvme_ns_descriptor, nidl, nvme_ns_id_desc, nidl) \
	SIZE(nvme_identify_ns_independent, nvme_id_independent_id_ns) \
	FIELD(nvme_identify_ns_independent, nstat, nvme_id_independent_id_ns, nstat) \
	SIZE(nvme_identify_ctrl_nvm, nvme_id_ctrl_nvm) \
	FIELD(nvme_identify_ctrl_nvm, dmsl, nvme_id_ctrl_nvm, dmsl) SIZE(nvme_ctrl_ids, nvme_ctrl_list) \
	SIZE(nvme_log_error_entry, nvme_error_log_page) \
	FIELD(nvme_log_error_entry, status, nvme_error_log_page, status_field) \
	FIELD(nvme_log_error_entry, location, nvme_error_log_page, parm_error_location) \
	FIELD(nvme_log_error_entry, lba, nvme_error_log_page, lba) \
	FIELD(nvme_log_error_entry, trtype, nvme_error_log_page, trtype) \
	FIELD(nvme_log_error_entry, command_specific, nvme_error_log_page, cs) \
	SIZE(nvme_log_smart, nvme_smart_log) SAME(SMART, temperature) \
	SMART(available_spare, avail_spare) SMART(units_read, data_units_read) \
	SMART(units_written, data_units_written) SAME(SMART, host_reads) SAME(SMART, host_writes) \
	SMART(busy_minutes, ctrl_busy_time) SAME(SMART, power_cycles) SAME(SMART, power_on_hours) \
	SAME(SMART, unsafe_shutdowns) SAME(SMART, media_errors) \
	SMART(error_entries, num_err_log_entries) SMART(warning_minutes, warning_temp_time) \
	SMART(sensor, temp_sensor) SIZE(nvme_log_firmware, nvme_firmware_slot) \
	FIELD(nvme_log_firmware, revision, nvme_firmware_slot, frs) \
	SIZE(nvme_log_effects, nvme_cmd_effects_log) FIELD(nvme_log_effects, io, nvme_cmd_effects_log, iocs) \
	SIZE(nvme_log_discovery_entry, nvmf_disc_log_entry) SAME(DISC, trtype) SAME(DISC, adrfam) \
	SAME(DISC, subtype) SAME(DISC, treq) SAME(DISC, portid) SAME(DISC, cntlid) SAME(DISC, asqsz) \
	SAME(DISC, eflags) SAME(DISC, trsvcid) SAME(DISC, subnqn) SAME(DISC, traddr) SAME(DISC, tsas) \
	SIZE(nvme_log_discovery, nvmf_discovery_log) \
	FIELD(nvme_log_discovery, recfmt, nvmf_discovery_log, recfmt) \
	SIZE(nvme_log_ana, nvme_ana_log) FIELD(nvme_log_ana, group_count, nvme_ana_log, ngrps) \
	SIZE(nvme_log_ana_group, nvme_ana_group_desc) FIELD(nvme_log_ana_group, ns_count, nvme_ana_group_desc, nnsids) \
	FIELD(nvme_log_ana_group, changes, nvme_ana_group_desc, chgcnt) \
	FIELD(nvme_log_ana_group, state, nvme_ana_group_desc, state) \
	SIZE(nvme_log_reservation, nvme_resv_notification_log) \
	FIELD(nvme_log_reservation, type, nvme_resv_notification_log, rnlpt) \
	FIELD(nvme_log_reservation, left, nvme_resv_notification_log, nalp) \
	FIELD(nvme_log_reservation, nsid, nvme_resv_notification_log, nsid) \
	FIELD(nvme_resv_report, rtype, nvme_resv_status, rtype) \
	FIELD(nvme_resv_report, registrants, nvme_resv_status, regctl) \
	FIELD(nvme_resv_report, ptpls, nvme_resv_status, ptpls) \
	FIELD(nvme_resv_report, entries, nvme_resv_status, regctl_eds) \
	SIZE(nvme_resv_entry, nvme_registered_ctrl_ext) SAME(RESV, cntlid) SAME(RESV, rcsts) \
	SAME(RESV, rkey) SAME(RESV, hostid) \
	SAME(CTRL, tnvmcap) SAME(CTRL, unvmcap) \
	VALUE(NVME_ADMIN_NS_MANAGEMENT, nvme_admin_ns_mgmt) VALUE(NVME_ADMIN_NS_ATTACHMENT, nvme_admin_ns_attach) \
	VALUE(NVME_OACS_NS_MANAGEMENT, NVME_CTRL_OACS_NS_MGMT) \
	VALUE(NVME_ANACAP_GROUP_CHOSEN, NVME_CTRL_ANACAP_GRPID_MGMT) \
	VALUE(NVME_CNS_NS_ALLOCATED_LIST, NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST) \
	VALUE(NVME_CNS_NS_ALLOCATED, NVME_IDENTIFY_CNS_ALLOCATED_NS) \
	CODE(1, NVME_SC_INVALID_FORMAT, NVME_SC_INVALID_FORMAT) \
	CODE(1, NVME_SC_NS_CAPACITY, NVME_SC_NS_INSUFFICIENT_CAP) \
	CODE(1, NVME_SC_NSID_UNAVAILABLE, NVME_SC_NS_ID_UNAVAILABLE) \
	CODE(1, NVME_SC_NS_ATTACHED, NVME_SC_NS_ALREADY_ATTACHED) CODE(1, NVME_SC_NS_PRIVATE, NVME_SC_NS_IS_PRIVATE) \
	CODE(1, NVME_SC_NS_NOT_ATTACHED, NVME_SC_NS_NOT_ATTACHED) \
	CODE(1, NVME_SC_THIN_PROVISIONING, NVME_SC_THIN_PROV_NOT_SUPP) \
	CODE(1, NVME_SC_CTRL_LIST, NVME_SC_CTRL_LIST_INVALID) CODE(1, NVME_SC_ANA_GROUP, NVME_SC_ANA_GROUP_ID_INVALID) \
	CODE(1, NVME_SC_COMMAND_SET, NVME_SC_IOCS_NOT_SUPPORTED) \
	SAME(CTRL, pels) SIZE(nvme_persistent_log, nvme_persistent_event_log) PEL(events, tnev) PEL(length, tll) \
	PEL(revision, rv) PEL(header_length, lhl) PEL(timestamp, ts) PEL(power_on_hours, poh) \
	PEL(power_cycles, pcc) SAME(PEL, vid) SAME(PEL, sn) SAME(PEL, mn) SAME(PEL, subnqn) \
	PEL(generation, gen_number) PEL(context, rci) PEL(supported, seb) \
	SIZE(nvme_persistent_event, nvme_persistent_event_entry) EVENT(header_length, ehl) \
	SAME(EVENT, cntlid) EVENT(timestamp, ets) EVENT(port, pelpid) EVENT(vendor_length, vsil) EVENT(length, el) \
	SIZE(nvme_persistent_timestamp, nvme_time_stamp_change_event) \
	SIZE(nvme_persistent_namespace, nvme_change_ns_event) \
	FIELD(nvme_persistent_namespace, ncap, nvme_change_ns_event, nscap) \
	FIELD(nvme_persistent_namespace, anagrpid, nvme_change_ns_event, ana_grp_id) \
	FIELD(nvme_persistent_namespace, nsid, nvme_change_ns_event, nsid) \
	VALUE(NVME_PERSISTENT_SMART, NVME_PEL_SMART_HEALTH_EVENT) \
	VALUE(NVME_PERSISTENT_TIMESTAMP, NVME_PEL_TIMESTAMP_EVENT) \
	VALUE(NVME_PERSISTENT_RESET, NVME_PEL_POWER_ON_RESET_EVENT) \
	VALUE(NVME_PERSISTENT_HARDWARE, NVME_PEL_NSS_HW_ERROR_EVENT) \
	VALUE(NVME_PERSISTENT_NAMESPACE, NVME_PEL_CHANGE_NS_EVENT) \
	VALUE(NVME_PERSISTENT_FEATURE, NVME_PEL_SET_FEATURE_EVENT) \
	VALUE(NVME_PERSISTENT_ESTABLISH, NVME_PEVENT_LOG_EST_CTX_AND_READ) \
	VALUE(NVME_PERSISTENT_RELEASE, NVME_PEVENT_LOG_RELEASE_CTX) \
	VALUE(NVME_LOG_PERSISTENT, NVME_LOG_LID_PERSISTENT_EVENT) \
	SIZE(nvme_connect_data, nvmf_connect_data) \
	FIELD(nvme_connect_data, cntlid, nvmf_connect_data, cntlid) \
	FIELD(nvme_connect_data, subnqn, nvmf_connect_data, subsysnqn) \
	FIELD(nvme_connect_data, hostnqn, nvmf_connect_data, hostnqn) \
	VALUE(NVME_ADMIN_GET_LOG_PAGE, nvme_admin_get_log_page) \
	VALUE(NVME_ADMIN_IDENTIFY, nvme_admin_identify) VALUE(NVME_ADMIN_ABORT, nvme_admin_abort_cmd) \
	VALUE(NVME_ADMIN_SET_FEATURES, nvme_admin_set_features) \
	VALUE(NVME_ADMIN_GET_FEATURES, nvme_admin_get_features) \
	VALUE(NVME_ADMIN_ASYNC_EVENT, nvme_admin_async_event) \
	VALUE(NVME_ADMIN_KEEP_ALIVE, nvme_admin_keep_alive) VALUE(NVME_FABRICS, nvme_admin_fabrics) \
	VALUE(NVME_FLUSH, nvme_cmd_flush) VALUE(NVME_WRITE, nvme_cmd_write) VALUE(NVME_READ, nvme_cmd_read) \
	VALUE(NVME_WRITE_UNCORRECTABLE, nvme_cmd_write_uncor) VALUE(NVME_WRITE_ZEROES, nvme_cmd_write_zeroes) \
	VALUE(NVME_DATASET_MGMT, nvme_cmd_dsm) \
	VALUE(NVME_RESV_REGISTER, nvme_cmd_resv_register) VALUE(NVME_RESV_REPORT, nvme_cmd_resv_report) \
	VALUE(NVME_RESV_ACQUIRE, nvme_cmd_resv_acquire) VALUE(NVME_RESV_RELEASE, nvme_cmd_resv_release) \
	VALUE(NVME_RREGA_REPLACE, NVME_RESERVATION_RREGA_REPLACE_KEY) \
	VALUE(NVME_CPTPL_CLEAR, NVME_RESERVATION_CPTPL_CLEAR) VALUE(NVME_CPTPL_SET, NVME_RESERVATION_CPTPL_PERSIST) \
	VALUE(NVME_RACQA_PREEMPT_ABORT, NVME_RESERVATION_RACQA_PREEMPT_AND_ABORT) \
	VALUE(NVME_RRELA_CLEAR, NVME_RESERVATION_RRELA_CLEAR) VALUE(NVME_RESV_WE, NVME_RESERVATION_RTYPE_WE) \
	VALUE(NVME_RESV_WE_RO, NVME_RESERVATION_RTYPE_WERO) VALUE(NVME_RESV_EA_AR, NVME_RESERVATION_RTYPE_EAAR) \
	VALUE(NVME_RESV_REGISTRATION_PREEMPTED, NVME_RESV_NOTIFY_RNLPT_REGISTRATION_PREEMPTED) \
	VALUE(NVME_RESV_RELEASED, NVME_RESV_NOTIFY_RNLPT_RESERVATION_RELEASED) \
	VALUE(NVME_RESV_PREEMPTED, NVME_RESV_NOTIFY_RNLPT_RESERVATION_PREEMPTED) \
	VALUE(NVME_CAP, NVME_REG_CAP) VALUE(NVME_VS, NVME_REG_VS) VALUE(NVME_CC, NVME_REG_CC) \
	VALUE(NVME_CSTS, NVME_REG_CSTS) VALUE(NVME_CRTO, NVME_REG_CRTO) \
	VALUE(NVME_CNS_NS_DESCRIPTORS, NVME_IDENTIFY_CNS_NS_DESC_LIST) \
	VALUE(NVME_CNS_CSI_NS, NVME_IDENTIFY_CNS_CSI_NS) \
	VALUE(NVME_CNS_CSI_CTRL, NVME_IDENTIFY_CNS_CSI_CTRL) \
	VALUE(NVME_CNS_CSI_INDEPENDENT_NS, NVME_IDENTIFY_CNS_CSI_INDEPENDENT_ID_NS) \
	VALUE(NVME_CNS_COMMAND_SETS, NVME_IDENTIFY_CNS_COMMAND_SET_STRUCTURE) \
	VALUE(NVME_LOG_CHANGED_NS, NVME_LOG_LID_CHANGED_NS) VALUE(NVME_LOG_EFFECTS, NVME_LOG_LID_CMD_EFFECTS) \
	VALUE(NVME_LOG_FEATURE_EFFECTS, NVME_LOG_LID_FID_SUPPORTED_EFFECTS) \
	VALUE(NVME_LOG_ANA, NVME_LOG_LID_ANA) VALUE(NVME_ANA_OPTIMIZED, NVME_ANA_STATE_OPTIMIZED) \
	VALUE(NVME_ANA_NON_OPTIMIZED, NVME_ANA_STATE_NONOPTIMIZED) \
	VALUE(NVME_ANA_INACCESSIBLE, NVME_ANA_STATE_INACCESSIBLE) \
	VALUE(NVME_ANA_PERSISTENT_LOSS, NVME_ANA_STATE_PERSISTENT_LOSS) \
	VALUE(NVME_ANA_CHANGE, NVME_ANA_STATE_CHANGE) VALUE(NVME_NOTICE_ANA, NVME_AER_NOTICE_ANA) \
	VALUE(NVME_CMIC_ANA, NVME_CTRL_CMIC_MULTI_ANA_REPORTING) \
	CODE(3, NVME_SC_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE) \
	CODE(3, NVME_SC_ANA_TRANSITION, NVME_SC_ANA_TRANSITION) \
	VALUE(NVME_NSATTR_PROTECTED, NVME_NS_NSATTR_WRITE_PROTECTED) \
	VALUE(NVME_LOG_RESERVATION, NVME_LOG_LID_RESERVATION) \
	VALUE(NVME_RESV_REGISTRATION_PREEMPTED, NVME_RESV_NOTIFY_RNLPT_REGISTRATION_PREEMPTED) \
	VALUE(NVME_RESV_RELEASED, NVME_RESV_NOTIFY_RNLPT_RESERVATION_RELEASED) \
	VALUE(NVME_RESV_PREEMPTED, NVME_RESV_NOTIFY_RNLPT_RESERVATION_PREEMPTED) \
	VALUE(NVME_FEATURE_RESV_MASK, NVME_FEAT_FID_RESV_MASK) \
	VALUE(NVME_FEATURE_RESV_PERSISTENCE, NVME_FEAT_FID_RESV_PERSIST) \
	VALUE(NVME_FEATURE_PROTECTION, NVME_FEAT_FID_WRITE_PROTECT) \
	VALUE(NVME_NWPC_POWER_CYCLE, NVME_CTRL_NWPC_WRITE_PROTECT_POWER_CYCLE) \
	VALUE(NVME_NWPC_PERMANENT, NVME_CTRL_NWPC_WRITE_PROTECT_PERMANENT) \
	VALUE(NVME_RESCAP_PTPL, NVME_NS_RESCAP_PTPL) VALUE(NVME_RESCAP_IEKEY_1_3, NVME_NS_RESCAP_IEK_13) \
	VALUE(NVME_ONCS_RESERVATIONS, NVME_CTRL_ONCS_RESERVATIONS) \
	VALUE(NVME_ERROR_TRANSIENT, NVME_AER_ERROR_TRANSIENT_INTERNAL_ERROR) \
	VALUE(NVME_LOG_DISCOVERY, NVME_LOG_LID_DISCOVER) \
	VALUE(NVME_FEATURE_TEMPERATURE, NVME_FEAT_FID_TEMP_THRESH) \
	VALUE(NVME_FEATURE_RECOVERY, NVME_FEAT_FID_ERR_RECOVERY) \
	VALUE(NVME_FEATURE_WRITE_CACHE, NVME_FEAT_FID_VOLATILE_WC) \
	VALUE(NVME_FEATURE_QUEUES, NVME_FEAT_FID_NUM_QUEUES) \
	VALUE(NVME_FEATURE_ATOMICITY, NVME_FEAT_FID_WRITE_ATOMIC) \
	VALUE(NVME_FEATURE_EVENTS, NVME_FEAT_FID_ASYNC_EVENT) \
	VALUE(NVME_FEATURE_TIMESTAMP, NVME_FEAT_FID_TIMESTAMP) VALUE(NVME_FEATURE_KATO, NVME_FEAT_FID_KATO) \
	VALUE(NVME_FEATURE_BEHAVIOR, NVME_FEAT_FID_HOST_BEHAVIOR) \
	VALUE(NVME_FEATURE_HOST_ID, NVME_FEAT_FID_HOST_ID) VALUE(NVME_FEATURE_RESV_MASK, NVME_FEAT_FID_RESV_MASK) \
	VALUE(NVME_FEATURE_RESV_PERSISTENCE, NVME_FEAT_FID_RESV_PERSIST) \
	VALUE(NVME_LOG_RESERVATION, NVME_LOG_LID_RESERVATION) \
	VALUE(NVME_ONCS_RESERVATIONS, NVME_CTRL_ONCS_RESERVATIONS) VALUE(NVME_RESCAP_PTPL, NVME_NS_RESCAP_PTPL) \
	VALUE(NVME_RESCAP_IEKEY_1_3, NVME_NS_RESCAP_IEK_13) \
	VALUE(NVME_CTRATT_TBKAS, NVME_CTRL_CTRATT_TBKAS) VALUE(NVME_LPA_EXTENDED, NVME_CTRL_LPA_EXTENDED) \
	VALUE(NVME_LPA_PAGES, NVME_CTRL_LPA_LI0_LI5_LI12_LI13) VALUE(NVME_ONCS_DSM, NVME_CTRL_ONCS_DSM) \
	VALUE(NVME_ONCS_WRITE_ZEROES, NVME_CTRL_ONCS_WRITE_ZEROES) \
	VALUE(NVME_ONCS_TIMESTAMP, NVME_CTRL_ONCS_TIMESTAMP) VALUE(NVME_VWC_FLUSH_ALL, NVME_CTRL_VWC_FLUSH) \
	VALUE(NVME_SGLS_OFFSET, NVME_CTRL_SGLS_OFFSET) VALUE(NVME_SGLS_TRANSPORT, NVME_CTRL_SGLS_TPORT) \
	VALUE(NVME_NSFEAT_OPTIMAL, NVME_NS_FEAT_IO_OPT) \
	VALUE(NVME_DLFEAT_DEAC, NVME_NS_DLFEAT_WRITE_ZEROES) VALUE(NVME_NIDT_NGUID, NVME_NIDT_NGUID) \
	VALUE(NVME_NIDT_CSI, NVME_NIDT_CSI) VALUE(NVME_EVENT_COMMAND_SET, NVME_AER_CSS) \
	VALUE(NVME_COMMAND_SET_RESERVATION, NVME_AER_CSS_NVM_RESERVATION) \
	VALUE(NVME_NOTICE_DISCOVERY, NVME_AER_NOTICE_DISC_CHANGED) \
	VALUE(NVME_SUBTYPE_CURRENT, NVME_NQN_CURR) VALUE(NVME_EFLAGS_EPCSD, NVMF_DISC_EFLAGS_EPCSD) \
	VALUE(NVME_TREQ_NO_SQ_FLOW, NVMF_TREQ_DISABLE_SQFLOW) \
	VALUE(NVME_SC_HOST_ID_FORMAT, NVME_SC_HOSTID_FORMAT) \
	VALUE(NVME_SC_PREEMPT_ABORTED, NVME_SC_CMD_ABORTED_PREMEPT) \
	VALUE(NVME_SC_RESV_CONFLICT, NVME_SC_RESERVATION_CONFLICT) \
	GENERIC(NVME_SC_INVALID_FIELD) GENERIC(NVME_SC_INVALID_NS) GENERIC(NVME_SC_LBA_RANGE) \
	VALUE(NVME_SC_SEQUENCE, NVME_SC_CMD_SEQ_ERROR) VALUE(NVME_SC_SGL_LENGTH, NVME_SC_SGL_INVALID_DATA) \
	VALUE(NVME_SC_SGL_TYPE, NVME_SC_SGL_INVALID_TYPE) VALUE(NVME_SC_CAPACITY, NVME_SC_CAP_EXCEEDED) \
	VALUE(NVME_SC_TRANSIENT_TRANSPORT, NVME_SC_TRAN_TPORT_ERROR) \
	VALUE(NVME_SC_KATO_INVALID, NVME_SC_KAT_INVALID) \
	VALUE(NVME_SC_WRITE_PROTECTED, NVME_SC_NS_WRITE_PROTECTED) \
	CODE(1, NVME_SC_LOG_PAGE, NVME_SC_INVALID_LOG_PAGE) CODE(1, NVME_SC_AER_LIMIT, NVME_SC_ASYNC_LIMIT) \
	CODE(1, NVME_SC_NOT_SAVEABLE, NVME_SC_FEATURE_NOT_SAVEABLE) \
	CODE(1, NVME_SC_NOT_CHANGEABLE, NVME_SC_FEATURE_NOT_CHANGEABLE) \
	CODE(1, NVME_SC_NOT_NS_SPECIFIC, NVME_SC_FEATURE_NOT_PER_NS) \
	CODE(1, NVME_SC_CONNECT_FORMAT, NVME_SC_CONNECT_FORMAT) \
	CODE(1, NVME_SC_CONNECT_PARAMS, NVME_SC_CONNECT_INVALID_PARAM) \
	CODE(1, NVME_SC_CONNECT_HOST, NVME_SC_CONNECT_INVALID_HOST) \
	CODE(1, NVME_SC_CONNECT_QUEUE_TYPE, NVME_SC_DISCONNECT_INVALID_QTYPE) \
	GENERIC(NVME_SC_POWER_LOSS) GENERIC(NVME_SC_NS_NOT_READY) \
	VALUE(NVME_SC_SANITIZING, NVME_SC_SANITIZE_IN_PROGRESS) \
	VALUE(NVME_SC_FORMATTING, NVME_SC_FORMAT_IN_PROGRESS) \
	CODE(1, NVME_SC_CONFLICTING_ATTRIBUTES, NVME_SC_BAD_ATTRIBUTES) \
	CODE(1, NVME_SC_READ_ONLY_RANGE, NVME_SC_READ_ONLY) \
	CODE(2, NVME_SC_COMPARE, NVME_SC_COMPARE_FAILED) CODE(2, NVME_SC_ACCESS_DENIED, NVME_SC_ACCESS_DENIED) \
	CODE(2, NVME_SC_WRITE_FAULT, NVME_SC_WRITE_FAULT) CODE(2, NVME_SC_READ_ERROR, NVME_SC_READ_ERROR) \
	CODE(3, NVME_SC_HOST_ABORTED, NVME_SC_CMD_ABORTED_BY_HOST)

#define GENERIC(name) VALUE(name, name)

#endif
