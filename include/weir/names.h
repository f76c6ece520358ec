/*
 * names.h - words for the numbers of the specifications, for people and for JSON.
 *
 * As one writes them within a sentence; they do not change from one version of
 * the library to the next.  A number that has none is "unknown"; never NULL.
 * Any thread; the texts stay.
 */
#ifndef WEIR_NAMES_H
#define WEIR_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of discovery: TRTYPE ("tcp"), ADRFAM ("ipv4"), SUBTYPE ("nvm"), TREQ b1:0 ("required"), SECTYPE of TCP ("tls1.3"). */
const char *weir_transport_name(uint8_t trtype);
const char *weir_adrfam_name(uint8_t adrfam);
const char *weir_subtype_name(uint8_t subtype);
const char *weir_treq_name(uint8_t treq);
const char *weir_sectype_name(uint8_t sectype);

const char *weir_controller_type_name(uint8_t type);      /* CNTRLTYPE: "io" */
const char *weir_ana_name(uint8_t state);                 /* enum weir_ana: "optimized" */
const char *weir_path_state_name(unsigned state);         /* enum weir_path_state: "live" */
const char *weir_lid_name(uint8_t lid);                   /* a log page: "smart" */
const char *weir_warning_name(unsigned bit);              /* 0 to 7 of the critical warning: "spare" */
const char *weir_persistent_name(uint8_t type);           /* enum weir_persistent_type: "power on or reset" */
const char *weir_reservation_notice_name(uint8_t type);   /* "registration preempted" */
const char *weir_opcode_name(bool admin, uint8_t opcode); /* "identify"; else of the NVM command set: "read" */

#ifdef __cplusplus
}
#endif

#endif
