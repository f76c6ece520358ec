/*
 * waf_theory.h - what theory says of write amplification.
 *
 * Of uniform random writes to a page-mapped drive that is full, whose blocks are
 * large.  The spare is raw space over user space, minus one.
 */
#ifndef WEIR_PLACE_WAF_THEORY_H
#define WEIR_PLACE_WAF_THEORY_H

/* The principal branch of Lambert's W: w e^w = x, w >= -1; x >= -1/e, else NAN. */
double waf_lambert_w0(double x);

/* A = alpha / (alpha + W0(-alpha e^-alpha)), alpha = 1 + spare (Xiang and Kurkoski 2011; the same as Desnoyers' for
 * least recently written blocks).  INFINITY where nothing is spare. */
double waf_uniform(double spare);

/* A = (1 + spare) / (2 spare): older, and up to a tenth too low (Agarwal and Marrow 2010). */
double waf_uniform_simple(double spare);

/* What is spare of a drive that holds back `reserve` of its blocks. */
double waf_spare(double blocks, double reserve, double units_per_block, double user_units);

#endif
