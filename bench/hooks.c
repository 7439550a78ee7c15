/* SPDX-License-Identifier: MIT */
/* What hooks add to warm pairs of a pool on host memory, and what it costs to register one. */
#include "compare.h"
#include "failed.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROFILE_DEPTH = 16 };

typedef struct hook_bench {
  bench_rival rival;
  clp_allocator *allocator;
  clp_pool *pool, *other_pool;
  clp_hook *trace, *debug_print;
  clp_line_profile *profile;
  FILE *sink; /* of the debug print */
} hook_bench;

/* --- hooks of the program's own --- */

static void look_away(const clp_hook_event *event, void *user_data)
{
  (void)event, (void)user_data;
}

static clp_hook no_callbacks = {.struct_size = sizeof no_callbacks, .name = "no callbacks"};

static clp_hook empty_callbacks = {.struct_size = sizeof empty_callbacks,
                                   .name = "empty callbacks",
                                   .malloc_preprocess = look_away,
                                   .malloc_postprocess = look_away,
                                   .alloc_preprocess = look_away,
                                   .alloc_postprocess = look_away,
                                   .free_preprocess = look_away,
                                   .free_postprocess = look_away,
                                   .device_free_preprocess = look_away,
                                   .device_free_postprocess = look_away};

/* --- what is timed --- */

/* A hook and whose it is to be: a pool's; NULL: the thread's. */
typedef struct registration {
  const clp_hook *hook;
  clp_pool *pool;
} registration;

static bool begin(const registration *it, const bench_source *source)
{
  clp_status status =
      it->pool != NULL ? clp_pool_add_hook(it->pool, it->hook) : clp_hook_push(it->hook);
  return status == CLP_SUCCESS || bench_failed("%s: %s", source->name, clp_last_error()->message);
}

static bool end(const registration *it, const bench_source *source)
{
  clp_status status =
      it->pool != NULL ? clp_pool_remove_hook(it->pool, it->hook) : clp_hook_pop(it->hook);
  return status == CLP_SUCCESS || bench_failed("%s: %s", source->name, clp_last_error()->message);
}

/* Pairs while the hook is registered, which it is for a turn: else the contenders without a hook
 * would have one about, too. */
static bool run_pairs(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  if (!begin(source->device, source))
    return false;
  bool ok = bench_one.run[BENCH_POOL](self, thread, times);
  return end(source->device, source) && ok;
}

static bool run_registrations(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  (void)thread;
  for (size_t i = 0; i < times; i++)
    if (!begin(source->device, source) || !end(source->device, source))
      return false;
  return true;
}

static bool compare(const hook_bench *bench, const bench_options *options, size_t bytes)
{
  clp_pool *pool = bench->pool;
  registration none = {&no_callbacks, NULL}, of_pool = {&no_callbacks, pool},
               elsewhere = {&empty_callbacks, bench->other_pool}, empty = {&empty_callbacks, NULL},
               trace = {bench->trace, NULL}, debug_print = {bench->debug_print, NULL},
               profile = {clp_line_profile_hook(bench->profile), NULL};
  bench_source sources[] = {
      {"malloc", BENCH_MALLOC, .is_basis = true, .rival = bench->rival},
      {"no hook", BENCH_POOL, .is_basis = true, .pool = pool},
      {"a hook on another pool", .pool = pool, .run = run_pairs, .device = &elsewhere},
      {"no callbacks", .pool = pool, .run = run_pairs, .device = &none},
      {"no callbacks, the pool's", .pool = pool, .run = run_pairs, .device = &of_pool},
      {"empty callbacks", .pool = pool, .run = run_pairs, .device = &empty},
      {"trace", .pool = pool, .run = run_pairs, .device = &trace},
      {"debug print", .pool = pool, .run = run_pairs, .device = &debug_print},
      {"line profile", .pool = pool, .run = run_pairs, .device = &profile},
      {"push and pop", .run = run_registrations, .device = &none},
      {"add and remove", .run = run_registrations, .device = &of_pool},
  };
  bench_title title = {"hooks", "host", &bench_one, bytes, false};
  return bench_compare(options, &title, sources, sizeof sources / sizeof *sources);
}

/* --- the run --- */

static bool make_pools(hook_bench *bench)
{
  return (clp_host_allocator_create(0, &bench->allocator) == CLP_SUCCESS &&
          clp_pool_create(bench->allocator, NULL, &bench->pool) == CLP_SUCCESS &&
          clp_pool_create(bench->allocator, NULL, &bench->other_pool) == CLP_SUCCESS) ||
         bench_failed("no pools: %s", clp_last_error()->message);
}

/* What they write is lost at once, so that no disk is in the figures. */
static bool make_hooks(hook_bench *bench)
{
  static const char nowhere[] = "/dev/null";
  bench->sink = fopen(nowhere, "w");
  if (bench->sink == NULL)
    return bench_failed("cannot open %s", nowhere);
  return (clp_trace_hook_create(nowhere, NULL, &bench->trace) == CLP_SUCCESS &&
          clp_debug_print_hook_create(bench->sink, &bench->debug_print) == CLP_SUCCESS &&
          clp_line_profile_create(PROFILE_DEPTH, &bench->profile) == CLP_SUCCESS) ||
         bench_failed("no hooks: %s", clp_last_error()->message);
}

static void release_all(hook_bench *bench)
{
  clp_pool_release(bench->pool);
  clp_pool_release(bench->other_pool);
  clp_allocator_release(bench->allocator);
  clp_line_profile_destroy(bench->profile);
  clp_debug_print_hook_destroy(bench->debug_print);
  (void)clp_trace_hook_destroy(bench->trace); /* nobody reads it */
  if (bench->sink != NULL)
    (void)fclose(bench->sink);
}

int main(int argc, char **argv)
{
  static const bench_program program = {"Times what hooks add to warm pairs.", NULL, false, 0};
  bench_rival rivals[BENCH_MAX_RIVALS];
  bench_options options;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status))
    return status;

  (void)bench_find_rivals(argv, rivals); /* the first, which is always there, will do */
  if (!options.json)
    printf("clpool %s: medians of %u rounds\n", clp_version(), options.effort.rounds);
  hook_bench bench = {.rival = rivals[0]};
  bool ok = make_pools(&bench) && make_hooks(&bench);
  for (size_t i = 0; ok && i < options.size_count; i++)
    ok = compare(&bench, &options, options.sizes[i]);
  release_all(&bench);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
