/* SPDX-License-Identifier: MIT */
/* That what the trace hook writes can be replayed, to the same figures, whatever it was shown. */
#include "core/hooks/hook.h"
#include "support/pools.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/trace_log.h"
#include "support/traces.h"
#include "support/workers.h"

enum { LIVE = 200 };

/* Sizes as programs have them: some often, some seldom, some none. */
static size_t size_by(clpt_chance *chance)
{
  size_t size = (size_t)1 << clpt_chance_below(chance, 20);

  return clpt_chance_below(chance, 8) == 0 ? 0 : size + (size_t)clpt_chance_below(chance, size);
}

/* Allocates and releases by chance, all in the end. */
static void run_by_chance(clp_pool *pool, unsigned rounds)
{
  clpt_chance chance = clpt_chance_seed(1);
  clp_buffer *buffers[LIVE] = {NULL};

  for (unsigned i = 0; i < rounds; i++) {
    clp_buffer **place = &buffers[clpt_chance_below(&chance, LIVE)];
    clpt_ok(clp_buffer_release(*place));
    *place = NULL;
    if (clpt_chance_below(&chance, 3) > 0)
      (void)clp_pool_allocate(pool, size_by(&chance), place);
  }
  for (size_t i = 0; i < LIVE; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
}

START_TEST(a_replay_has_the_figures_of_the_run)
{
  unsigned rounds = clpt_iterations(20000);
  clp_allocator *allocator = clpt_simulated(0);
  clp_pool *pool = clpt_pool(allocator);
  trace_replay_result result;
  clp_pool_stats stats;
  clpt_trace_log log;

  clpt_trace_log_start(&log);
  clpt_ok(_i == 0 ? clp_hook_push(log.hook) : clp_pool_add_hook(pool, log.hook));
  run_by_chance(pool, rounds);
  clpt_ok(_i == 0 ? clp_hook_pop(log.hook) : clp_pool_remove_hook(pool, log.hook));
  clpt_trace_log_close(&log);
  stats = clpt_stats(pool);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_gt(stats.allocations, rounds / 2);
  ck_assert_uint_eq(result.allocations, stats.allocations);
  ck_assert_uint_eq(result.frees, stats.allocations);
  ck_assert_uint_eq(result.hits, stats.hits);
  ck_assert_uint_eq(result.misses, stats.misses);
  ck_assert_uint_eq(result.device_allocations, stats.device_allocations);
  ck_assert_uint_eq(result.peak_active_bytes, stats.peak_active_bytes);
  ck_assert_uint_eq(result.peak_managed_bytes, stats.peak_managed_bytes);
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.recorded_failures, 0);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(what_failed_is_recorded_and_not_replayed)
{
  clp_allocator *allocator = clpt_simulated(0);
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *none;
  trace_replay_result result;
  clpt_trace_log log;

  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  clpt_hold(pool, 100, 2);
  clpt_ok(clp_pool_set_limit(pool, 1000));
  for (int i = 0; i < 5; i++)
    clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 1000, &none));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_eq(result.allocations, 2);
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.recorded_failures, 5);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(frees_of_what_was_allocated_unseen_are_left_out)
{
  clpt_rig rig;
  clp_buffer *early, *empty, *seen;
  trace_replay_result result;
  clpt_trace_log log;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  early = clpt_allocate(rig.pool, 100);
  empty = clpt_allocate(rig.pool, 0);
  clpt_ok(clp_hook_push(log.hook));
  seen = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_buffer_release(early));
  clpt_ok(clp_buffer_release(empty));
  clpt_ok(clp_buffer_release(seen));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_eq(result.allocations, 1);
  ck_assert_uint_eq(result.frees, 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_was_freed_unseen_is_told_when_it_comes_back)
{
  clpt_rig rig;
  clp_buffer *buffer;
  clp_memory memory;
  clpt_trace_log log;
  char *text;
  const char *at;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  buffer = clpt_allocate(rig.pool, 100);
  memory = clp_buffer_memory(buffer);
  clpt_ok(clp_hook_pop(log.hook));
  clpt_ok(clp_buffer_release(buffer)); /* as a thread without the hook would */
  clpt_ok(clp_hook_push(log.hook));
  buffer = clpt_allocate(rig.pool, 101);
  ck_assert_uint_eq(clp_buffer_memory(buffer), memory);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  text = clpt_trace_log_text(&log);
  at = clpt_after_row(text + strlen(CLPT_HEADER), clpt_row("allocate", memory, 100, "0"));
  at = clpt_after_row(at, clpt_row("free", memory, 100, "0"));
  at = clpt_after_row(at, clpt_row("allocate", memory, 101, "0"));
  at = clpt_after_row(at, clpt_row("free", memory, 101, "0"));
  ck_assert_str_eq(at, "");
  free(text);
  clpt_rig_end(&rig);
}
END_TEST

/* A size that was told wrong once would end a replay: the memory went and came back unseen. */
START_TEST(a_free_tells_the_size_that_its_allocation_told)
{
  clpt_rig rig;
  clp_buffer *buffer;
  trace_replay_result result;
  clpt_trace_log log;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_hook_pop(log.hook));
  clpt_ok(clp_buffer_release(buffer));
  buffer = clpt_allocate(rig.pool, 101);
  clpt_ok(clp_hook_push(log.hook));
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_eq(result.frees, 1);
  ck_assert_uint_eq(result.peak_active_bytes, 100);
  clpt_rig_end(&rig);
}
END_TEST

/* Buffers that threads hand to each other. */
typedef struct exchange {
  clp_pool *pool;
  clp_hook *hook; /* that threads push; NULL: it is the pool's */
  _Atomic(clp_buffer *) places[LIVE];
} exchange;

static void trade(clpt_worker *self)
{
  exchange *with = self->shared;

  if (with->hook && self->number % 2 == 0 && clp_hook_push(with->hook))
    clpt_wrong(self, "not pushed");
  for (unsigned i = 0; i < self->rounds; i++) {
    clp_buffer *buffer = NULL;
    if (clp_pool_allocate(with->pool, size_by(&self->chance), &buffer))
      clpt_wrong(self, "not allocated: %s", clp_last_error()->message);
    buffer = atomic_exchange(&with->places[clpt_chance_below(&self->chance, LIVE)], buffer);
    if (clp_buffer_release(buffer))
      clpt_wrong(self, "not released: %s", clp_last_error()->message);
    if (clpt_chance_below(&self->chance, 200) == 0)
      (void)clp_pool_free_held(with->pool);
  }
}

/* With a hook of the pool's, and with one that every other thread has. */
START_TEST(what_threads_do_at_once_can_be_replayed)
{
  enum { THREADS = 6 };
  static exchange with;
  const clpt_work work[] = {trade};
  unsigned rounds = clpt_iterations(8000);
  clp_allocator *allocator = clpt_simulated(0);
  clpt_workers workers;
  trace_replay_result result;
  clp_pool_stats stats;
  clpt_trace_log log;

  memset(&with, 0, sizeof(with));
  with.pool = clpt_pool(allocator);
  clpt_trace_log_start(&log);
  with.hook = _i == 0 ? NULL : log.hook;
  if (_i == 0)
    clpt_ok(clp_pool_add_hook(with.pool, log.hook));
  clpt_workers_start(&workers, THREADS, work, 1, rounds, &with);
  clpt_workers_join(&workers);
  stats = clpt_stats(with.pool);
  for (size_t i = 0; i < LIVE; i++)
    clpt_ok(clp_buffer_release(with.places[i]));
  clp_pool_release(with.pool);
  ck_assert(!clpi_is_watched());
  clpt_trace_log_close(&log);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_eq(result.allocations, stats.allocations / (_i == 0 ? 1 : 2));
  ck_assert_uint_eq(result.failures, 0);
  if (_i == 0)
    ck_assert_uint_eq(result.frees, result.allocations);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("trace hook replay", clpt_run)
{
  TCase *replays = clpt_case(suite, "replays");

  tcase_add_loop_test(replays, a_replay_has_the_figures_of_the_run, 0, 2);
  tcase_add_test(replays, what_failed_is_recorded_and_not_replayed);
  tcase_add_test(replays, frees_of_what_was_allocated_unseen_are_left_out);
  tcase_add_test(replays, what_was_freed_unseen_is_told_when_it_comes_back);
  tcase_add_test(replays, a_free_tells_the_size_that_its_allocation_told);
  tcase_add_loop_test(replays, what_threads_do_at_once_can_be_replayed, 0, 2);
}
