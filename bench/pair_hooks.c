/* SPDX-License-Identifier: MIT */
/* What hooks add to pairs of a pool on host memory, and what it costs to register one. */
#include "pair.h"

#include <stdio.h>

enum { PROFILE_DEPTH = 16 };

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

/* A hook and whose it is to be: a pool's; NULL: the thread's. */
typedef struct registration {
  const clp_hook *hook;
  clp_pool *pool;
} registration;

static bool begin(const bench_source *on)
{
  const registration *it = on->device;
  clp_status status =
      it->pool != NULL ? clp_pool_add_hook(it->pool, it->hook) : clp_hook_push(it->hook);
  return status == CLP_SUCCESS || bench_failed("%s: %s", on->name, clp_last_error()->message);
}

static bool finish(const bench_source *on)
{
  const registration *it = on->device;
  clp_status status =
      it->pool != NULL ? clp_pool_remove_hook(it->pool, it->hook) : clp_hook_pop(it->hook);
  return status == CLP_SUCCESS || bench_failed("%s: %s", on->name, clp_last_error()->message);
}

static bool run_registrations(void *self, unsigned thread, size_t times)
{
  (void)thread;
  for (size_t i = 0; i < times; i++)
    if (!begin(self) || !finish(self))
      return false;
  return true;
}

/* Pairs while the hook is registered, which it is for a turn: else the contenders without a hook
 * would have one about, too. */
static bench_source hooked(const char *name, clp_pool *pool, registration *it)
{
  return (bench_source){name,           BENCH_POOL,       .pool = clp_pool_retain(pool),
                        .begin = begin, .finish = finish, .device = it};
}

static bool compare(const pair_host *on, clp_pool *pool, clp_pool *other, const clp_hook *hooks[3],
                    const bench_options *options, const bench_title *title)
{
  registration none = {&no_callbacks, NULL}, of_pool = {&no_callbacks, pool},
               elsewhere = {&empty_callbacks, other}, empty = {&empty_callbacks, NULL},
               trace = {hooks[0], NULL}, print = {hooks[1], NULL}, profile = {hooks[2], NULL};
  bench_source sources[] = {
      on->mallocs[0],
      {"no hook", BENCH_POOL, true, .pool = clp_pool_retain(pool)},
      hooked("a hook on another pool", pool, &elsewhere),
      hooked("no callbacks", pool, &none),
      hooked("no callbacks, the pool's", pool, &of_pool),
      hooked("empty callbacks", pool, &empty),
      hooked("trace", pool, &trace),
      hooked("debug print", pool, &print),
      hooked("line profile", pool, &profile),
      {"push and pop", BENCH_NOTHING, .run = run_registrations, .device = &none},
      {"add and remove", BENCH_NOTHING, .run = run_registrations, .device = &of_pool},
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

/* What the hooks write is lost at once, so that no disk is in the figures. */
bool pair_hold_hooks(void *device, const bench_options *options, const bench_title *title)
{
  static const char nowhere[] = "/dev/null";
  const pair_host *on = device;
  FILE *sink = fopen(nowhere, "w");
  clp_pool *pool = bench_make_pool(on->host, CLP_DEFAULT_REUSE_FLAGS),
           *other = bench_make_pool(on->host, CLP_DEFAULT_REUSE_FLAGS);
  clp_hook *trace = NULL, *print = NULL;
  clp_line_profile *lines = NULL;
  bool ok = (sink != NULL && clp_trace_hook_create(nowhere, NULL, &trace) == CLP_SUCCESS &&
             clp_debug_print_hook_create(sink, &print) == CLP_SUCCESS &&
             clp_line_profile_create(PROFILE_DEPTH, &lines) == CLP_SUCCESS) ||
            bench_failed("no hooks to %s", nowhere);
  ok = ok && other != NULL &&
       compare(on, pool, other, (const clp_hook *[]){trace, print, clp_line_profile_hook(lines)},
               options, title);
  clp_pool_release(pool);
  clp_pool_release(other);
  clp_line_profile_destroy(lines);
  clp_debug_print_hook_destroy(print);
  (void)clp_trace_hook_destroy(trace); /* nobody reads it */
  if (sink != NULL)
    (void)fclose(sink);
  return ok;
}
