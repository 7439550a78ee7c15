/* SPDX-License-Identifier: MIT */
/* An array that doubles. */
#include "arena/tape_runs.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_RUNS = 64, MOST_RUNS = 1 << 17 };

static bool reserve(clpi_tape_runs *runs)
{
  if (runs->count < runs->capacity)
    return true;
  size_t capacity = runs->capacity ? 2 * runs->capacity : FIRST_RUNS;
  clpi_tape_run *grown =
      capacity > MOST_RUNS ? NULL : realloc(runs->runs, capacity * sizeof(*grown));
  if (!grown)
    return false;
  runs->runs = grown;
  runs->capacity = capacity;
  return true;
}

void clpi_tape_runs_end(clpi_tape_runs *runs)
{
  free(runs->runs);
}

void clpi_tape_runs_add(clpi_tape_runs *runs, size_t from, size_t until)
{
  if (from >= until)
    return;
  if (!reserve(runs))
    clpi_tape_runs_forget(runs);
  if (runs->capacity)
    runs->runs[runs->count++] = (clpi_tape_run){(uint32_t)from, (uint32_t)until};
}
