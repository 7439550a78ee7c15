/* SPDX-License-Identifier: MIT */
/* Fuzzes an arena: the input is a program of steps, two bytes each, after each of which the arena
 * and its pools must be as the model says. A part of it is repeated, so that the arena follows it
 * as a loop. Tells at the end how much was tried. */
#include "fuzz.h"
#include "support/arena_model.h"

#include <string.h>

const char fuzz_corpus[] = "arena";

static unsigned long long steps, repeated;

static void tell_steps(void)
{
  fprintf(stderr, "fuzz_arena: %llu operations, each compared with the model; %llu in loops\n",
          steps, repeated);
}

enum { BLOCK = 10, TRIM, LOOK, RESERVE, CAPACITY, AGAIN, KINDS, MOST_REPEATED = 3000 };

/* Blocks of the arena itself end loops. */
static bool has_direct;

static void toggle(clpt_model *model, uint8_t what, uint8_t argument)
{
  static const unsigned users[BLOCK] = {0, 0, 0, 0, 0, 0, 0, 1, 1, CLPT_DIRECT};
  static const uint8_t shifts[BLOCK] = {0, 2, 4, 4, 6, 6, 8, 3, 6, 5};
  size_t bytes = (1 + (size_t)argument / CLPT_SLOTS * 5 + argument % 7) << shifts[what];
  clpt_model_toggle(model, argument, bytes, has_direct ? users[what] : users[what] % CLPT_DIRECT);
}

static void step(clpt_model *model, uint8_t what, uint8_t argument)
{
  steps++;
  if (what < BLOCK)
    toggle(model, what, argument);
  else if (what == TRIM)
    clpt_model_trim(model, (size_t)argument * 1024, argument);
  else if (what == RESERVE)
    clpt_model_reserve(model, argument % 4 ? 0 : (size_t)argument * 256);
  else if (what == CAPACITY)
    model->capacity = argument % 4 ? 0 : 1 + (size_t)argument * 1024;
}

/* The steps from `first` on once more, from nothing to nothing in use, and so on. */
static void repeat(clpt_model *model, const uint8_t *first, size_t length, unsigned passes)
{
  static unsigned long long done;
  for (done = 0; passes > 0 && done < MOST_REPEATED; passes--) {
    for (size_t at = 0; at + 2 <= length; at += 2, done++)
      if (first[at] % KINDS < BLOCK)
        step(model, first[at] % KINDS, first[at + 1]);
    clpt_model_free_all(model);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  static clpt_model model;
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  size_t first = 2;
  if (steps == 0)
    atexit(tell_steps);
  memset(&model, 0, sizeof(model));
  model.may_lack = true;
  has_direct = length && input[0] >= 192;
  options.slack = length ? input[0] % 64 / 256.0 : 0.0;
  options.min_segment_bytes = length > 1 ? (size_t)256 << input[1] % 8 : 256;
  clpt_model_start(&model, &options);
  for (size_t at = first; at + 2 <= length && !model.wrong[0]; at += 2) {
    uint8_t what = input[at] % KINDS;
    step(&model, what, input[at + 1]);
    if (what == AGAIN) {
      clpt_model_free_all(&model);
      repeat(&model, input + first, at - first, input[at + 1] % 32);
      first = input[at + 1] % 2 ? at + 2 : first;
    }
    clpt_model_look(&model);
    if (model.wrong[0])
      fprintf(stderr, "step %zu: %s\n", at / 2, model.wrong);
  }
  repeated += clpt_model_figures(&model).repeated_blocks;
  clpt_model_end(&model);
  fuzz_require(!model.wrong[0]);
  return 0;
}
