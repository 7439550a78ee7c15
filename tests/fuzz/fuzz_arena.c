/* SPDX-License-Identifier: MIT */
/* Fuzzes an arena's segments: the input is a list of what is done to them, two bytes each, after
 * each of which they must be as the model says. Tells at the end how much was tried. */
#include "fuzz.h"
#include "support/range_model.h"

const char fuzz_corpus[] = "arena";

static unsigned long long steps;

static void tell_steps(void)
{
  fprintf(stderr, "fuzz_arena: %llu operations, each compared with the model\n", steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  clpt_ranges ranges;
  if (steps == 0)
    atexit(tell_steps);
  clpt_ranges_start(&ranges);
  for (size_t at = 0; at + 2 <= length; at += 2, steps++) {
    const char *wrong = clpt_ranges_step(&ranges, input[at], input[at + 1]);
    if (wrong)
      fprintf(stderr, "step %zu: %s\n", at / 2, wrong);
    fuzz_require(!wrong);
  }
  clpt_ranges_end(&ranges);
  return 0;
}
