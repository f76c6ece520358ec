/*
 * trace.h - `weir trace`: what is recorded of I/O, told, made and played.
 *
 * Each of its commands has a file with its options, and answers the exit code.
 */
#ifndef WEIR_CMD_TRACE_H
#define WEIR_CMD_TRACE_H

#include "trace/reader.h"

int trace_stat(int argc, char **argv);
int trace_synth(int argc, char **argv);
int trace_replay(int argc, char **argv);

struct argp_state;

/* What options say of formats, for those who read and who write. */
#define TRACE_FORMAT_WORDS "msr, spc, fiu, ssdsim, vscsi or blkparse"

/* "msr": its number, or the program ends with a message. */
enum trace_format trace_format_of(struct argp_state *state, const char *arg);

/* A number that may have a fraction, `least` or more; what is none ends the program with a message. */
double trace_amount_of(struct argp_state *state, const char *option, const char *arg, double least);

#endif
