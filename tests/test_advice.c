/* SPDX-License-Identifier: MIT */
/* Advice: for loads whose best setting is known, and that it changes nothing. */
#include "core/pool.h"
#include "support/failmalloc.h"
#include "support/loads.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/advice.h>
#include <clpool/arena.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

enum { ENOUGH = 3000 };

/* A pool on a simulated device, whose memory can be split, or on an arena on it. */
typedef struct advised {
  clp_allocator *device, *arena;
  clp_pool *pool;
} advised;

static void start(advised *it, unsigned leading_bits, bool on_arena)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  options.leading_bits_in_bin_id = leading_bits;
  it->arena = NULL;
  clpt_ok(clp_simulated_allocator_create(0, &it->device));
  if (on_arena)
    clpt_ok(clp_arena_allocator_create(it->device, NULL, &it->arena));
  clpt_ok(clp_pool_create(on_arena ? it->arena : it->device, &options, &it->pool));
}

static void end(advised *it)
{
  clp_pool_release(it->pool);
  clp_allocator_release(it->arena);
  clp_allocator_release(it->device);
}

static clp_pool_advice advise(const clp_pool *pool, clp_objective objective)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT;

  advice.objective = objective;
  clpt_ok_quietly(clp_pool_advise(pool, &advice));
  ck_assert(advice.objective == objective);
  return advice;
}

static clp_pool_advice advise_after(unsigned leading_bits, bool on_arena, clpt_load load,
                                    clp_objective objective)
{
  clp_pool_advice advice;
  advised it;

  start(&it, leading_bits, on_arena);
  ck_assert(clpt_load_run(it.pool, load, ENOUGH));
  advice = advise(it.pool, objective);
  ck_assert_uint_eq(advice.allocations, ENOUGH);
  end(&it);
  return advice;
}

/* --- the call --- */

START_TEST(what_cannot_be_is_refused)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT, untouched;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_advise(NULL, &advice));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_advise(rig.pool, NULL));
  advice.objective = (clp_objective)(CLP_OBJECTIVE_MEMORY + 1);
  untouched = advice;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_advise(rig.pool, &advice));
  clpt_message_has("objective 3");
  ck_assert_mem_eq(&advice, &untouched, sizeof(advice));
  advice.objective = CLP_OBJECTIVE_TIME;
  for (size_t bytes = 0; bytes < offsetof(clp_pool_advice, on_arena); bytes += sizeof(unsigned)) {
    advice.struct_size = bytes;
    clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_advise(rig.pool, &advice));
  }
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_thousand_allocations_are_enough)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT, untouched = advice;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_fails(CLP_NOT_FOUND, clp_pool_advise(rig.pool, &advice));
  for (int i = 0; i < 999; i++) {
    clpt_hold(rig.pool, 0, 1); /* does not count */
    clpt_hold(rig.pool, 1000, 1);
  }
  clpt_fails(CLP_NOT_FOUND, clp_pool_advise(rig.pool, &advice));
  clpt_message_has("999 allocations");
  ck_assert_mem_eq(&advice, &untouched, sizeof(advice));
  clpt_hold(rig.pool, 1000, 1);
  advice = advise(rig.pool, CLP_OBJECTIVE_BALANCED);
  ck_assert_uint_eq(advice.allocations, 1000);
  ck_assert_double_eq_tol(advice.hit_rate_now, 0.999, 1e-9);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(peaks_that_begin_anew_need_something_in_use)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT;
  clp_buffer *buffer;
  clpt_rig rig;

  clpt_rig_start(&rig);
  ck_assert(clpt_load_run(rig.pool, clpt_load_by_chance, 2000));
  clpt_ok(clp_pool_reset_peaks(rig.pool));
  clpt_fails(CLP_NOT_FOUND, clp_pool_advise(rig.pool, &advice));
  clpt_message_has("2000 allocations");
  buffer = clpt_allocate(rig.pool, 60000);
  advice = advise(rig.pool, CLP_OBJECTIVE_BALANCED);
  ck_assert_double_gt(advice.footprint_now, 10); /* all is held still */
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

typedef struct newer_advice {
  clp_pool_advice known;
  unsigned char tail[24];
} newer_advice;

START_TEST(callers_may_be_older_or_newer)
{
  size_t older = offsetof(clp_pool_advice, hit_rate);
  newer_advice advice, untouched;
  clpt_rig rig;

  clpt_rig_start(&rig);
  ck_assert(clpt_load_run(rig.pool, clpt_load_by_chance, 2000));
  memset(&advice, 0xa5, sizeof(advice));
  advice.known.struct_size = older;
  advice.known.objective = CLP_OBJECTIVE_TIME;
  untouched = advice;
  clpt_ok(clp_pool_advise(rig.pool, &advice.known));
  ck_assert_uint_eq(advice.known.struct_size, older);
  ck_assert_uint_eq(advice.known.leading_bits_in_bin_id, 0);
  ck_assert_mem_eq((char *)&advice + older, (char *)&untouched + older, sizeof(advice) - older);
  advice.known.struct_size = sizeof(advice);
  clpt_ok(clp_pool_advise(rig.pool, &advice.known));
  ck_assert_uint_eq(advice.known.allocations, 2000);
  for (size_t i = 0; i < sizeof(advice.tail); i++)
    ck_assert_uint_eq(advice.tail[i], 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(asking_changes_nothing)
{
  clp_pool_stats before, after;
  clpt_rig rig;

  clpt_rig_start(&rig);
  ck_assert(clpt_load_run(rig.pool, clpt_load_two_phases, ENOUGH));
  clpt_device_clear_trace(&rig.device);
  before = clpt_stats(rig.pool);
  for (int objective = 0; objective < 3; objective++)
    advise(rig.pool, (clp_objective)objective);
  after = clpt_stats(rig.pool);
  ck_assert_mem_eq(&before, &after, sizeof(before));
  clpt_device_trace_is(&rig.device, "");
  clpt_rig_end(&rig);
}
END_TEST

/* --- what is advised --- */

START_TEST(time_is_best_with_few_bits_that_give_the_same_hits)
{
  clp_pool_advice advice = advise_after(4, false, clpt_load_by_chance, CLP_OBJECTIVE_TIME);

  ck_assert_uint_eq(advice.leading_bits_in_bin_id, 0);
  ck_assert(!advice.on_arena);
  ck_assert_double_gt(advice.hit_rate, advice.hit_rate_now);
  ck_assert_double_lt(advice.footprint, advice.footprint_now);
}
END_TEST

START_TEST(time_is_never_best_on_an_arena)
{
  clp_pool_advice advice = advise_after(6, true, clpt_load_by_chance, CLP_OBJECTIVE_TIME);

  ck_assert_uint_le(advice.leading_bits_in_bin_id, 1);
  ck_assert(!advice.on_arena);
  ck_assert_double_gt(advice.hit_rate, advice.hit_rate_now);
}
END_TEST

/* Each block of a pool of 0 bits is twice as large as asked for. */
START_TEST(memory_is_best_with_many_bits_where_sizes_are_few)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool_advice advice;
  clpt_rig rig;

  options.leading_bits_in_bin_id = 0;
  clpt_device_init(&rig.device); /* whose blocks cannot be split */
  clpt_rig_start_with(&rig, &options);
  ck_assert(clpt_load_run(rig.pool, clpt_load_powers_of_two, ENOUGH));
  advice = advise(rig.pool, CLP_OBJECTIVE_MEMORY);
  ck_assert_uint_ge(advice.leading_bits_in_bin_id, 5);
  ck_assert(!advice.on_arena);
  ck_assert_double_eq_tol(advice.hit_rate, advice.hit_rate_now, 0.005);
  ck_assert_double_eq_tol(advice.footprint / advice.footprint_now, 0.51, 0.03);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(memory_is_best_on_an_arena_where_sizes_change)
{
  clpt_load loads[] = {clpt_load_by_chance, clpt_load_growing, clpt_load_two_phases};
  clp_pool_advice advice = advise_after(4, false, loads[_i], CLP_OBJECTIVE_MEMORY);

  ck_assert(advice.on_arena);
  ck_assert_uint_ge(advice.leading_bits_in_bin_id, 2);
  ck_assert_double_lt(advice.footprint, 1.4);
  ck_assert_double_gt(advice.footprint_now, 1.8);
}
END_TEST

START_TEST(what_is_as_good_as_any_stays)
{
  clp_pool_advice advice = advise_after(4, false, clpt_load_a_few_block_sizes, (clp_objective)_i);

  ck_assert_uint_eq(advice.leading_bits_in_bin_id, 4);
  ck_assert(!advice.on_arena);
  ck_assert_double_eq(advice.hit_rate, advice.hit_rate_now);
  ck_assert_double_eq(advice.footprint, advice.footprint_now);
  ck_assert_ptr_nonnull(strstr(advice.reason, "as it is"));
}
END_TEST

START_TEST(a_balance_gives_up_hits_for_memory)
{
  clp_pool_advice time = advise_after(6, false, clpt_load_growing, CLP_OBJECTIVE_TIME);
  clp_pool_advice balance = advise_after(6, false, clpt_load_growing, CLP_OBJECTIVE_BALANCED);
  clp_pool_advice memory = advise_after(6, false, clpt_load_growing, CLP_OBJECTIVE_MEMORY);

  ck_assert(balance.on_arena);
  ck_assert_double_le(balance.hit_rate, time.hit_rate);
  ck_assert_double_ge(balance.hit_rate, memory.hit_rate);
  ck_assert_double_le(balance.footprint, time.footprint);
  ck_assert_double_ge(balance.footprint, memory.footprint);
}
END_TEST

/* --- where the pool stands --- */

START_TEST(the_footprint_on_an_arena_is_that_of_its_segments)
{
  clp_arena_stats taken = CLP_ARENA_STATS_INIT;
  clp_pool_advice advice;
  clp_pool_stats stats;
  clp_pool *other;
  advised it;

  start(&it, 6, true);
  ck_assert(clpt_load_run(it.pool, clpt_load_by_chance, ENOUGH));
  advice = advise(it.pool, CLP_OBJECTIVE_MEMORY);
  ck_assert(advice.on_arena);
  stats = clpt_stats(it.pool);
  clpt_ok(clp_arena_get_stats(it.arena, &taken));
  ck_assert_double_eq(advice.footprint_now,
                      (double)taken.peak_reserved_bytes / (double)stats.peak_active_bytes);
  other = clpt_pool(it.arena); /* then segments are not this pool's alone */
  advice = advise(it.pool, CLP_OBJECTIVE_MEMORY);
  ck_assert_double_eq(advice.footprint_now,
                      (double)stats.peak_managed_bytes / (double)stats.peak_active_bytes);
  clp_pool_release(other);
  end(&it);
}
END_TEST

/* After a start-up that takes much more than what comes then. */
START_TEST(what_an_arena_took_before_peaks_were_reset_does_not_count)
{
  enum { MOST = 400, FEW = 30, MEGABYTE = 1 << 20 };
  clp_buffer *buffers[MOST];
  clp_arena_stats taken = CLP_ARENA_STATS_INIT;
  clp_pool_advice advice;
  clp_pool_stats stats;
  advised it;

  start(&it, 4, true);
  for (size_t i = 0; i < MOST; i++)
    buffers[i] = clpt_allocate(it.pool, MEGABYTE);
  for (size_t i = 0; i < MOST; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_ok(clp_pool_free_held(it.pool));
  clpt_ok(clp_pool_reset_peaks(it.pool));
  for (size_t i = 0; i < FEW * 100; i++) {
    if (i >= FEW)
      clpt_ok(clp_buffer_release(buffers[i % FEW]));
    buffers[i % FEW] = clpt_allocate(it.pool, MEGABYTE - i);
  }
  advice = advise(it.pool, CLP_OBJECTIVE_MEMORY);
  stats = clpt_stats(it.pool);
  clpt_ok(clp_arena_get_stats(it.arena, &taken));
  ck_assert_uint_gt(taken.peak_reserved_bytes, 10 * stats.peak_active_bytes);
  ck_assert_double_eq(advice.footprint_now,
                      (double)taken.reserved_bytes / (double)stats.peak_active_bytes);
  for (size_t i = 0; i < FEW; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_ok(clp_pool_free_held(it.pool));
  ck_assert_double_eq(advise(it.pool, CLP_OBJECTIVE_MEMORY).footprint_now, advice.footprint_now);
  end(&it);
}
END_TEST

START_TEST(a_peak_that_an_arena_reaches_after_a_reset_counts)
{
  clp_arena_stats taken = CLP_ARENA_STATS_INIT;
  clp_pool_advice advice;
  clp_pool_stats stats;
  clp_buffer *buffer;
  advised it;

  start(&it, 4, true);
  ck_assert(clpt_load_run(it.pool, clpt_load_by_chance, ENOUGH));
  clpt_ok(clp_pool_reset_peaks(it.pool));
  buffer = clpt_allocate(it.pool, 1000);
  advise(it.pool, CLP_OBJECTIVE_MEMORY);
  clpt_ok(clp_buffer_release(buffer));
  clpt_hold(it.pool, 100 << 20, 1);
  clpt_ok(clp_pool_free_held(it.pool));
  advice = advise(it.pool, CLP_OBJECTIVE_MEMORY);
  stats = clpt_stats(it.pool);
  clpt_ok(clp_arena_get_stats(it.arena, &taken));
  ck_assert_uint_lt(taken.reserved_bytes, 100 << 20);
  ck_assert_double_eq(advice.footprint_now,
                      (double)taken.peak_reserved_bytes / (double)stats.peak_active_bytes);
  end(&it);
}
END_TEST

/* Of the pool's setting, what was counted is told, and not what is expected of it. */
START_TEST(what_the_pool_has_is_no_change)
{
  static const clpt_load loads[] = {clpt_load_by_chance, clpt_load_powers_of_two, clpt_load_growing,
                                    clpt_load_two_phases, clpt_load_a_few_block_sizes};

  for (unsigned i = 0; i < 2 * 5 * 3; i++) {
    bool on_arena = i % 2;
    clp_pool_advice advice =
        advise_after((unsigned)_i, on_arena, loads[i / 2 % 5], (clp_objective)(i / 10));
    bool is_same = advice.leading_bits_in_bin_id == (unsigned)_i && advice.on_arena == on_arena;

    ck_assert_msg(is_same == (strstr(advice.reason, "as it is") != NULL), "%s", advice.reason);
    if (is_same)
      ck_assert_double_eq(advice.hit_rate, advice.hit_rate_now);
  }
}
END_TEST

START_TEST(sizes_may_be_huge)
{
  clp_pool_advice advice = advise_after(4, false, clpt_load_huge, CLP_OBJECTIVE_MEMORY);

  ck_assert_double_ge(advice.footprint, 1);
}
END_TEST

START_TEST(more_bits_than_are_told_apart_can_be_asked_about)
{
  clp_pool_advice advice =
      advise_after(CLP_MAX_LEADING_BITS, false, clpt_load_by_chance, CLP_OBJECTIVE_TIME);

  ck_assert_uint_eq(advice.leading_bits_in_bin_id, 0);
  ck_assert_double_gt(advice.hit_rate, 0.8);
  ck_assert_double_lt(advice.hit_rate_now, 0.5);
}
END_TEST

START_TEST(a_pool_that_gave_all_back_still_knows)
{
  clp_pool_advice before, after;
  advised it;

  start(&it, 4, false);
  clpt_ok(clp_pool_set_limit(it.pool, 100 << 20));
  ck_assert(clpt_load_run(it.pool, clpt_load_by_chance, ENOUGH));
  before = advise(it.pool, CLP_OBJECTIVE_MEMORY);
  clpt_ok(clp_pool_trim_to(it.pool, 1000));
  after = advise(it.pool, CLP_OBJECTIVE_MEMORY);
  ck_assert_mem_eq(&before, &after, sizeof(before));
  end(&it);
}
END_TEST

START_TEST(a_pool_that_stopped_holding_cannot_tell)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT;
  advised it;

  start(&it, 4, false);
  if (_i)
    ck_assert(clpt_load_run(it.pool, clpt_load_by_chance, ENOUGH));
  clpt_ok(clp_pool_stop_holding(it.pool));
  ck_assert(clpt_load_run(it.pool, clpt_load_by_chance, ENOUGH)); /* all misses */
  clpt_fails(CLP_NOT_FOUND, clp_pool_advise(it.pool, &advice));
  clpt_message_has(_i ? "6000 allocations" : "3000 allocations");
  clpt_message_has("stopped holding");
  end(&it);
}
END_TEST

/* --- the reason --- */

static void assert_says(const clp_pool_advice *advice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void assert_says(const clp_pool_advice *advice, const char *format, ...)
{
  char part[64];
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(part, sizeof(part), format, arguments);
  va_end(arguments);
  ck_assert_msg(strstr(advice->reason, part) != NULL, "\"%s\" lacks \"%s\"", advice->reason, part);
}

START_TEST(the_reason_is_a_line_with_the_figures)
{
  clp_pool_advice advice =
      advise_after(_i % 2 ? 2 : 8, _i % 2, clpt_load_by_chance, (clp_objective)(_i / 2));
  size_t length = strlen(advice.reason);

  ck_assert_uint_lt(length, sizeof(advice.reason) - 20); /* larger figures would fit */
  ck_assert_uint_gt(length, 0);
  for (size_t i = 0; i < length; i++)
    ck_assert(isprint((unsigned char)advice.reason[i]));
  assert_says(&advice, "leading_bits_in_bin_id %u%s ", advice.leading_bits_in_bin_id,
              advice.on_arena ? " on an arena" : "");
  assert_says(&advice, "%llu allocations", (unsigned long long)advice.allocations);
  assert_says(&advice, "%.2f %%", 100 * advice.hit_rate);
  assert_says(&advice, "%.2f times", advice.footprint);
  assert_says(&advice, "%.2f %%", 100 * advice.hit_rate_now);
  assert_says(&advice, "%.2f times", advice.footprint_now);
}
END_TEST

/* --- threads, and host memory that fails --- */

static void run_load(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds; i++)
    if (!clpt_load_run(self->shared, clpt_load_by_chance, 100))
      clpt_wrong(self, "a call failed");
}

static void ask(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds; i++) {
    clp_pool_advice advice = CLP_POOL_ADVICE_INIT;
    clp_status status = clp_pool_advise(self->shared, &advice);
    if (status && status != CLP_NOT_FOUND)
      clpt_note_failure(self, "clp_pool_advise", status);
    if (!status && !(advice.footprint >= 1 && advice.hit_rate >= 0 && advice.hit_rate <= 1))
      clpt_wrong(self, "footprint %g, hit rate %g", advice.footprint, advice.hit_rate);
  }
}

START_TEST(threads_are_at_work_meanwhile)
{
  static const clpt_work work[] = {run_load, run_load, run_load, ask};
  unsigned rounds = clpt_iterations(200);
  clpt_workers workers;
  clp_pool_stats stats;
  advised it;

  start(&it, 4, _i);
  clpt_workers_start(&workers, 4, work, 4, rounds, it.pool);
  clpt_workers_join(&workers);
  stats = clpt_stats(it.pool);
  ck_assert_uint_eq(stats.allocations, 3 * 100 * (uint64_t)rounds);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(advise(it.pool, CLP_OBJECTIVE_TIME).allocations, stats.allocations);
  end(&it);
}
END_TEST

/* Which of an allocation's calls for host memory may fail: its histogram's. */
static unsigned long find_optional_call(void)
{
  for (unsigned long nth = 0; nth < 20; nth++) {
    clp_buffer *buffer;
    clpt_rig rig;
    clp_status status;

    clpt_rig_start(&rig);
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    status = clp_pool_allocate(rig.pool, 1000, &buffer);
    clpt_host_stop();
    if (!status)
      clpt_ok(clp_buffer_release(buffer));
    ck_assert(!status || status == CLP_OUT_OF_HOST_MEMORY);
    bool found = !status && clpt_host_failed() && !rig.pool->sizes.levels[9];
    clpt_rig_end(&rig);
    if (found)
      return nth;
  }
  ck_abort_msg("no call was for the histogram");
}

START_TEST(without_host_memory_there_is_no_advice_but_all_else)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT;
  unsigned long optional = find_optional_call();
  clp_buffer *buffer = NULL;
  clp_status status;
  bool ok;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_host_start(CLPT_HOST_STAYS_OUT, optional);
  ok = clp_pool_allocate(rig.pool, 1000, &buffer) == CLP_SUCCESS;
  for (int i = 0; i < 1000; i++)
    ok = ok && clp_buffer_release(buffer) == CLP_SUCCESS &&
         clp_pool_allocate(rig.pool, 1000, &buffer) == CLP_SUCCESS;
  status = clp_pool_advise(rig.pool, &advice);
  clpt_host_stop();
  ck_assert(ok);
  ck_assert_int_eq(status, CLP_NOT_FOUND);
  clpt_message_has("no look told");
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, 1000);
  for (int i = 0; i < 1000; i++)
    clpt_hold(rig.pool, 2000, 1);
  advise(rig.pool, CLP_OBJECTIVE_TIME); /* there is memory again */
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("advice");
  TCase *tests = clpt_case(suite, "the call");

  tcase_add_test(tests, what_cannot_be_is_refused);
  tcase_add_test(tests, a_thousand_allocations_are_enough);
  tcase_add_test(tests, peaks_that_begin_anew_need_something_in_use);
  tcase_add_test(tests, callers_may_be_older_or_newer);
  tcase_add_test(tests, asking_changes_nothing);

  tests = clpt_case(suite, "what is advised");
  tcase_add_test(tests, time_is_best_with_few_bits_that_give_the_same_hits);
  tcase_add_test(tests, time_is_never_best_on_an_arena);
  tcase_add_test(tests, memory_is_best_with_many_bits_where_sizes_are_few);
  tcase_add_loop_test(tests, memory_is_best_on_an_arena_where_sizes_change, 0, 3);
  tcase_add_loop_test(tests, what_is_as_good_as_any_stays, CLP_OBJECTIVE_TIME,
                      CLP_OBJECTIVE_MEMORY + 1);
  tcase_add_test(tests, a_balance_gives_up_hits_for_memory);

  tests = clpt_case(suite, "where the pool stands");
  tcase_add_test(tests, the_footprint_on_an_arena_is_that_of_its_segments);
  tcase_add_test(tests, what_an_arena_took_before_peaks_were_reset_does_not_count);
  tcase_add_test(tests, a_peak_that_an_arena_reaches_after_a_reset_counts);
  tcase_add_loop_test(tests, what_the_pool_has_is_no_change, 0, 7);
  tcase_add_test(tests, sizes_may_be_huge);
  tcase_add_test(tests, more_bits_than_are_told_apart_can_be_asked_about);
  tcase_add_test(tests, a_pool_that_gave_all_back_still_knows);
  tcase_add_loop_test(tests, a_pool_that_stopped_holding_cannot_tell, 0, 2);

  tests = clpt_case(suite, "the reason");
  tcase_add_loop_test(tests, the_reason_is_a_line_with_the_figures, 0, 6);

  tests = clpt_case(suite, "threads and host memory");
  tcase_add_loop_test(tests, threads_are_at_work_meanwhile, 0, 2);
  tcase_add_test(tests, without_host_memory_there_is_no_advice_but_all_else);
  return clpt_run(suite);
}
