/* SPDX-License-Identifier: MIT */
/* What a pool expects of other settings, against what the same load comes to with them. */
#include "core/forecast.h"
#include "core/stats.h"
#include "support/loads.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>

enum { ALLOCATIONS = 3000 };

/* What a load comes to. */
typedef struct outcome {
  clpi_forecast forecast;
  clp_pool_stats stats;
  size_t taken_bytes;
} outcome;

static outcome run(clpt_load load, unsigned leading_bits, bool on_arena)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_stats arena_stats = CLP_ARENA_STATS_INIT;
  clp_allocator *device, *arena = NULL;
  clp_pool *pool, *locked;
  clpi_taken taken;
  outcome result;

  options.leading_bits_in_bin_id = leading_bits;
  clpt_ok(clp_simulated_allocator_create(0, &device));
  if (on_arena)
    clpt_ok(clp_arena_allocator_create(device, NULL, &arena));
  clpt_ok(clp_pool_create(arena ? arena : device, &options, &pool));
  ck_assert(clpt_load_run(pool, load, ALLOCATIONS));
  result.stats = clpt_stats(pool);
  if (arena)
    clpt_ok(clp_arena_get_stats(arena, &arena_stats));
  result.taken_bytes = arena ? arena_stats.peak_reserved_bytes : result.stats.peak_managed_bytes;
  taken = clpi_forecast_read_taken(pool);
  locked = clpi_lock_all(pool);
  clpi_forecast_make_locked(locked, &result.stats, &taken, &result.forecast);
  clpi_unlock_all(locked);
  clp_pool_release(pool);
  clp_allocator_release(arena);
  clp_allocator_release(device);
  return result;
}

static double footprint(const outcome *of)
{
  return (double)of->taken_bytes / (double)of->stats.peak_active_bytes;
}

static void assert_within(double value, double real, double part, const char *what, unsigned bits)
{
  ck_assert_msg(value <= real * (1 + part) && value >= real / (1 + part),
                "%s of %u bits: %g expected, %g real", what, bits, value, real);
}

static const clpt_load loads[] = {clpt_load_by_chance, clpt_load_powers_of_two,
                                  clpt_load_two_phases, clpt_load_a_few_block_sizes};

START_TEST(its_own_setting_is_counted)
{
  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits += 2) {
    outcome real = run(loads[_i], bits, false);
    const clpi_forecast *forecast = &real.forecast;

    ck_assert_uint_eq(forecast->allocations, ALLOCATIONS);
    ck_assert_double_eq(forecast->now.misses, (double)real.stats.misses);
    ck_assert_double_eq(forecast->now.footprint, footprint(&real));
    ck_assert_double_eq_tol(forecast->plain[bits].misses, (double)real.stats.misses, 1e-6);
    ck_assert_double_eq_tol(forecast->plain[bits].footprint, footprint(&real), 1e-9);
  }
}
END_TEST

START_TEST(bins_of_other_settings_are_told_about)
{
  unsigned own = _i < 4 ? 4 : 0;
  outcome here = run(loads[_i % 4], own, false);

  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
    outcome real = run(loads[_i % 4], bits, false);
    double part = bits > own + 2 || bits + 2 < own ? 0.6 : 0.4;

    assert_within(here.forecast.plain[bits].misses, (double)real.stats.misses, part, "misses",
                  bits);
    assert_within(here.forecast.plain[bits].footprint, footprint(&real), part, "footprint", bits);
  }
}
END_TEST

START_TEST(an_arena_is_told_about)
{
  outcome here = run(loads[_i], 4, false), there = run(loads[_i], 4, true);

  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
    outcome real = run(loads[_i], bits, true);

    assert_within(here.forecast.arena[bits].footprint, footprint(&real), 0.4, "arena", bits);
    assert_within(there.forecast.arena[bits].footprint, footprint(&real), 0.4, "its arena", bits);
    ck_assert_double_ge(here.forecast.arena[bits].misses, here.forecast.plain[bits].misses);
  }
}
END_TEST

START_TEST(a_pool_on_an_arena_tells_what_bins_alone_would_do)
{
  outcome here = run(loads[_i], 4, true);

  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
    outcome real = run(loads[_i], bits, false);

    assert_within(here.forecast.plain[bits].misses, (double)real.stats.misses, 0.4, "misses", bits);
    assert_within(here.forecast.plain[bits].footprint, footprint(&real), 0.4, "footprint", bits);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("forecast");
  TCase *tests = clpt_case(suite, "forecast");

  tcase_add_loop_test(tests, its_own_setting_is_counted, 0, 4);
  tcase_add_loop_test(tests, bins_of_other_settings_are_told_about, 0, 8);
  tcase_add_loop_test(tests, an_arena_is_told_about, 0, 4);
  tcase_add_loop_test(tests, a_pool_on_an_arena_tells_what_bins_alone_would_do, 0, 4);
  return clpt_run(suite);
}
