/* SPDX-License-Identifier: MIT */
/* Known answers for the arithmetic of bins, which bin_answers.py computes. */
#ifndef CLPT_BIN_ANSWERS_H
#define CLPT_BIN_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bin_of_size {
  unsigned leading_bits;
  uint64_t size, bin;
} bin_of_size;

typedef struct size_of_bin {
  unsigned leading_bits;
  uint64_t bin, size;
} size_of_bin;

extern const bin_of_size bins_of_sizes[];
extern const size_t bins_of_sizes_count;
extern const size_of_bin sizes_of_bins[];
extern const size_t sizes_of_bins_count;

#endif
