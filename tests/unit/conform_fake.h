/*
 * conform_fake.h - the world of memory as conform.h has it.
 */
#ifndef TESTS_CONFORM_FAKE_H
#define TESTS_CONFORM_FAKE_H

#include "conform.h"

extern const struct conform_world conform_fake;

#endif
