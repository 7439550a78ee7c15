/* SPDX-License-Identifier: MIT */
/* What a pair, an allocation and its release, costs: mallocs and drivers against pools. */
#include "pair.h"

#include "failed.h"

#include <stdio.h>
#include <stdlib.h>

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
  static const char *const contests[] = {
      [PAIR_ONE] = "one",           [PAIR_SIZES] = "sizes", [PAIR_THREADS] = "threads",
      [PAIR_HANDOVER] = "handover", [PAIR_TURNS] = "turns", [PAIR_MISS] = "miss",
      [PAIR_PEAK] = "peak",         [PAIR_SCALE] = "scale", [PAIR_CONTESTS] = NULL};
  static const bench_program program = {
      .purpose = "Times pairs, one allocation and its release, of each kind of memory here.",
      .contests = contests,
      .has_devices = true,
      .by_name = 1u << PAIR_SCALE};
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
  return bench_had_devices(&options, devices) ? EXIT_SUCCESS : EXIT_FAILURE;
}
