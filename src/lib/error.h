/*
 * error.h - what a call of the library leaves with its thread when it fails.
 *
 * The text is for people and weir_error() shows it.  It does not know what
 * failed: whoever knows says it, in plain words without a full stop.
 */
#ifndef WEIR_LIB_ERROR_H
#define WEIR_LIB_ERROR_H

/* Remembers the text, cut where it is very long, and answers `error`, a negative errno. */
int lib_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
