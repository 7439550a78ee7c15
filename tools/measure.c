/* SPDX-License-Identifier: MIT */
/* Every cost of an allocator, size by size, in several rounds. */
#include "measure.h"

#include "measure_blocks.h"
#include "measure_pairs.h"
#include "program.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3 };

const clpi_measure_options clpi_measure_usual = {
    .seconds = 1.0,
    .size_count = 10,
    .sizes = {256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
};

/* One allocator that is being measured. */
typedef struct measurement {
  clpi_measured memory;
  double budget; /* nanoseconds for a size in a round */
  /* The least that a round found, of each size; infinite: nothing was measured. */
  double least[TRACE_COST_POINTS][TRACE_COST_OPERATIONS];
} measurement;

static void keep_least(double *least, double time)
{
  if (time < *least)
    *least = time;
}

static int measure_blocks(const measurement *it, size_t bytes, double least[TRACE_COST_OPERATIONS])
{
  clpi_block_times times;
  int code = clpi_measure_blocks(&it->memory, bytes, it->budget * 0.7, &times);
  if (code)
    return code;
  keep_least(&least[TRACE_COST_ALLOCATE], times.allocate);
  keep_least(&least[TRACE_COST_FREE], times.free);
  if (!it->memory.fill)
    return CLPI_EXIT_SUCCESS;
  keep_least(&least[TRACE_COST_FILL_FRESH], times.fill_fresh);
  keep_least(&least[TRACE_COST_FILL_REUSED], times.fill_reused);
  return CLPI_EXIT_SUCCESS;
}

typedef int measure_pair(const clpi_measured *memory, size_t bytes, double budget, double *pair);

static int measure_pairs(const measurement *it, measure_pair *measure, size_t bytes, double *least)
{
  double pair;
  int code = measure(&it->memory, bytes, it->budget * 0.1, &pair);
  if (!code)
    keep_least(least, pair);
  return code;
}

static int measure_size(const measurement *it, size_t bytes, double least[TRACE_COST_OPERATIONS])
{
  int code = measure_blocks(it, bytes, least);
  if (!code && it->memory.make_parts)
    code = measure_pairs(it, clpi_measure_parts, bytes, &least[TRACE_COST_SUB_BUFFER]);
  if (!code)
    code = measure_pairs(it, clpi_measure_pool, bytes, &least[TRACE_COST_POOL_PAIR]);
  if (!code)
    code = measure_pairs(it, clpi_measure_arena, bytes, &least[TRACE_COST_ARENA_PAIR]);
  return code;
}

/* How many of the sizes, which ascend, are not too large for the device. */
static size_t count_fitting(const clpi_measured *memory, const clpi_measure_options *options)
{
  size_t count = options->size_count;
  while (count > 0) {
    size_t bytes = options->sizes[count - 1];
    bool is_too_large =
        (memory->opened.device.max_block_bytes > 0 &&
         bytes > memory->opened.device.max_block_bytes / 2) ||
        (memory->opened.device.bytes > 0 && bytes > memory->opened.device.bytes / 16);
    if (!is_too_large)
      break;
    count--;
  }
  return count;
}

/* The largest first: malloc, beneath memory of the host, behaves as it does in a process that had
 * large blocks before. */
static int measure_rounds(measurement *it, const clpi_measure_options *options, size_t sizes,
                          const char *label)
{
  clpi_progress bar = clpi_progress_begin(label);
  int code = CLPI_EXIT_SUCCESS;
  for (size_t done = 0; done < ROUNDS * sizes && !code; done++) {
    size_t i = sizes - 1 - done % sizes;
    code = measure_size(it, options->sizes[i], it->least[i]);
    clpi_progress_update(&bar, done + 1, ROUNDS * sizes, done + 1);
  }
  clpi_progress_end(&bar);
  return code;
}

/* What is beyond the fourth digit was chance. */
static double round_time(double nanoseconds)
{
  char text[32];
  snprintf(text, sizeof(text), "%.4g", nanoseconds);
  return strtod(text, NULL);
}

/* Adds what was measured of a size. False: it is there already, or there is no room. */
static bool add_size(trace_costs *costs, const char *allocator, size_t bytes,
                     const double times[TRACE_COST_OPERATIONS])
{
  bool added = true;
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS; i++)
    if (isfinite(times[i]))
      added = trace_costs_add(costs, allocator, i, bytes, round_time(times[i])) && added;
  return added;
}

static int add_all(const measurement *it, const clpi_measure_options *options, size_t sizes,
                   const char *allocator, trace_costs *costs)
{
  if (!*costs->device)
    snprintf(costs->device, sizeof(costs->device), "%.*s", (int)sizeof(costs->device) - 1,
             it->memory.opened.device.name);
  for (size_t i = 0; i < sizes; i++) {
    if (add_size(costs, allocator, options->sizes[i], it->least[i]))
      continue;
    clpi_complain("%s was measured before", allocator);
    return CLPI_EXIT_FAILED;
  }
  return CLPI_EXIT_SUCCESS;
}

static int measure_and_add(measurement *it, const clpi_measure_options *options,
                           const char *allocator, trace_costs *costs)
{
  char label[64];
  size_t sizes = count_fitting(&it->memory, options);
  if (sizes == 0) {
    clpi_complain("%s: every size is too large for this device", allocator);
    return CLPI_EXIT_FAILED;
  }
  it->budget = options->seconds * 1e9 / (double)(ROUNDS * sizes);
  for (size_t i = 0; i < sizes; i++)
    for (trace_cost_operation j = 0; j < TRACE_COST_OPERATIONS; j++)
      it->least[i][j] = HUGE_VAL;
  snprintf(label, sizeof(label), "measuring %s", allocator);
  int code = measure_rounds(it, options, sizes, label);
  return code ? code : add_all(it, options, sizes, allocator, costs);
}

int clpi_measure_costs(const clpi_allocator_choice *choice, const clpi_measure_options *options,
                       trace_costs *costs)
{
  measurement it;
  if (choice->kind == CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("the simulated allocator has no device, so nothing can be measured on it");
  int code = clpi_measured_open(choice, &it.memory);
  if (code)
    return code;
  code = measure_and_add(&it, options, clpi_allocators[choice->kind].name, costs);
  clpi_measured_close(&it.memory);
  return code;
}
