/* SPDX-License-Identifier: MIT */
/* What fuzz targets share. Each is a program of its own: with libFuzzer in a build with
 * --enable-fuzzing, else with driver.c, as a test. */
#ifndef CLPT_FUZZ_H
#define CLPT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Tries one input; libFuzzer's name for it. Returns 0, and ends the process where the code under
 * test breaks its word. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length);

/** The folder of its corpus. */
extern const char fuzz_corpus[];

/** What must hold whatever the input is. */
#define fuzz_require(condition)                                                                    \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);               \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

#endif
