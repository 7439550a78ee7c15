/* SPDX-License-Identifier: MIT */
/* What a pair, an allocation and its release, costs: mallocs and drivers against pools. */
#include "pair.h"

#include "failed.h"

#include <stdio.h>
#include <stdlib.h>

const char *const pair_contest_names[] = {
    [PAIR_ONE] = "one",           [PAIR_SIZES] = "sizes", [PAIR_THREADS] = "threads",
    [PAIR_HANDOVER] = "handover", [PAIR_MISS] = "miss",   [PAIR_CONTESTS] = NULL};

bool pair_hold(const pair_event *events, size_t count, const bench_options *options,
               const char *name, void *device)
{
  bool ok = true;
  for (const pair_event *event = events; event < events + count; event++) {
    bool wanted = options->contests >> event->contest & 1;
    size_t times = !wanted ? 0 : event->each_size ? options->size_count : 1;
    for (size_t i = 0; ok && i < times; i++) {
      bench_title title = {pair_contest_names[event->contest], name, event->pattern,
                           options->sizes[i], event->scales};
      ok = event->hold(device, options, &title);
    }
  }
  return ok;
}

clp_pool *pair_make_pool(clp_allocator *allocator, bool holding)
{
  clp_pool *pool = NULL;
  if (clp_pool_create(allocator, NULL, &pool) == CLP_SUCCESS &&
      (holding || clp_pool_stop_holding(pool) == CLP_SUCCESS))
    return pool;
  bench_failed("no pool: %s", clp_last_error()->message);
  clp_pool_release(pool);
  return NULL;
}

int main(int argc, char **argv)
{
  static const bench_program program = {
      "Times pairs, one allocation and its release, of each kind of memory here.",
      pair_contest_names};
  bench_rival rivals[BENCH_MAX_RIVALS];
  bench_options options;
  size_t devices = 0;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status))
    return status;

  size_t rival_count = bench_find_rivals(argv, rivals);
  if (!options.json)
    printf("clpool %s: medians of %u rounds\n", clp_version(), options.effort.rounds);
  if (!pair_on_host(&options, rivals, rival_count) || !pair_on_opencl(&options, &devices))
    return EXIT_FAILURE;
  if (devices == 0)
    bench_failed("no OpenCL device here, host memory only");
  return EXIT_SUCCESS;
}
