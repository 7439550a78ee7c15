/* SPDX-License-Identifier: MIT */
/* What fuzz targets share. Each is a program of its own: with libFuzzer in a build with
 * --enable-fuzzing, else with driver.c, as a test. */
#ifndef CLPT_FUZZ_H
#define CLPT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

/** A file with that content, read from its beginning. */
static inline int fuzz_open(const void *bytes, size_t length)
{
  int descriptor = memfd_create("fuzzed", MFD_CLOEXEC);
  fuzz_require(descriptor >= 0 && write(descriptor, bytes, length) == (ssize_t)length &&
               lseek(descriptor, 0, SEEK_SET) == 0);
  return descriptor;
}

#endif
