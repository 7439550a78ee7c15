/* SPDX-License-Identifier: MIT */
/* Host memory call number 0, 1, 2, ... fails in a scenario that touches every function of the
 * core: the function says so, leaves the figures as they were, works when tried again, and nothing
 * is left in the end. */
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"

enum { MANY = 80, LARGEST_STEP = 4 }; /* more buffers than one piece of bookkeeping holds */

typedef struct scenario {
  clpt_device device;
  clp_allocator *own, *simulated, *host;
  clp_pool *pools[3]; /* on each of these */
  clp_buffer *buffers[3][MANY];
  size_t turn; /* of a step that is taken many times */
} scenario;

/* The steps: one call each, which may be tried again if it failed. */

static clp_status create_own(scenario *it)
{
  return clp_allocator_create(&it->device.ops, &it->device, &it->own);
}

static clp_status create_simulated(scenario *it)
{
  return clp_simulated_allocator_create(1u << 20, &it->simulated);
}

static clp_status create_host(scenario *it)
{
  return clp_host_allocator_create(0, &it->host);
}

static clp_status create_pool(scenario *it)
{
  clp_allocator *allocators[] = {it->own, it->simulated, it->host};
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  options.leading_bits_in_bin_id = 2 * (unsigned)it->turn;
  return clp_pool_create(allocators[it->turn], &options, &it->pools[it->turn]);
}

static clp_status allocate(scenario *it)
{
  size_t pool = it->turn % 3, buffer = it->turn / 3;

  return clp_pool_allocate(it->pools[pool], buffer * 7, &it->buffers[pool][buffer]);
}

static clp_status release(scenario *it)
{
  size_t pool = it->turn % 3, buffer = it->turn / 3;

  return clp_buffer_release(it->buffers[pool][buffer]);
}

static clp_status set_limits(scenario *it)
{
  return it->turn == 0 ? clp_pool_set_limit(it->pools[0], 1u << 20)
                       : clp_pool_set_limit_fraction(it->pools[1], 0.75);
}

static clp_status read_figures(scenario *it)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_bin_stats bin_stats = CLP_BIN_STATS_INIT;
  size_t bins[LARGEST_STEP], count;
  clp_status status = clp_pool_get_stats(it->pools[it->turn], &stats);

  if (status == CLP_SUCCESS)
    status = clp_pool_get_bins(it->pools[it->turn], bins, LARGEST_STEP, &count);
  if (status == CLP_SUCCESS)
    status = clp_pool_get_bin_stats(it->pools[it->turn], bins[0], &bin_stats);
  return status;
}

static clp_status trim(scenario *it)
{
  return clp_pool_trim_to(it->pools[it->turn], 5000);
}

static clp_status free_held(scenario *it)
{
  return clp_pool_free_held(it->pools[it->turn]);
}

static clp_status stop_holding(scenario *it)
{
  return clp_pool_stop_holding(it->pools[it->turn]);
}

static clp_status allocate_bare(scenario *it)
{
  clp_memory memory = 0;
  clp_status status = clp_allocator_allocate(it->host, 1000, &memory);

  (void)clp_allocator_free(it->host, memory, 1000);
  return status;
}

static clp_status release_all(scenario *it)
{
  for (size_t i = 0; i < 3; i++)
    clp_pool_release(it->pools[i]);
  clp_allocator_release(it->own);
  clp_allocator_release(it->simulated);
  clp_allocator_release(it->host);
  return CLP_SUCCESS;
}

static const struct step {
  const char *name;
  clp_status (*take)(scenario *it);
  size_t turns;
} steps[] = {
    {"create own allocator", create_own, 1},
    {"create simulated allocator", create_simulated, 1},
    {"create host allocator", create_host, 1},
    {"create pool", create_pool, 3},
    {"set limit", set_limits, 2},
    {"allocate", allocate, (size_t)3 * MANY},
    {"read figures", read_figures, 3},
    {"release", release, (size_t)3 * MANY},
    {"trim", trim, 3},
    {"free held", free_held, 3},
    {"allocate after that", allocate, 30},
    {"release again", release, 30},
    {"allocate and free bare", allocate_bare, 1},
    {"stop holding", stop_holding, 3},
    {"release pools and allocators", release_all, 1},
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void read_all_figures(const scenario *it, clp_pool_stats figures[3])
{
  for (size_t i = 0; i < 3; i++) {
    figures[i] = (clp_pool_stats)CLP_POOL_STATS_INIT;
    if (it->pools[i] != NULL)
      (void)clp_pool_get_stats(it->pools[i], &figures[i]);
  }
}

/* The step met a failure. */
static void assert_told(const scenario *it, const struct step *step, clp_status status,
                        const clp_pool_stats before[3])
{
  clp_pool_stats after[3];

  /* The host allocator's blocks are the device memory that it hands out. */
  ck_assert_msg(status == CLP_OUT_OF_HOST_MEMORY ||
                    (status == CLP_OUT_OF_DEVICE_MEMORY && it->host != NULL),
                "%s gave %s", step->name, clp_status_name(status));
  ck_assert_int_eq(clp_last_error()->status, status);
  ck_assert_str_ne(clp_last_error()->message, "");
  read_all_figures(it, after);
  for (size_t i = 0; i < 3; i++)
    clpt_assert_same_figures(&before[i], &after[i]);
}

/* Takes a step with the failure to come at the call `*nth`, which counts down. Whether it came;
 * then the step is taken again. */
static bool take_step(scenario *it, const struct step *step, clpt_host_failure failure,
                      unsigned long *nth)
{
  clp_pool_stats before[3];
  clp_status status;
  bool failed;

  read_all_figures(it, before);
  clpt_host_start(failure, *nth);
  status = step->take(it);
  *nth -= clpt_host_stop();
  failed = clpt_host_failed();
  /* What a thread keeps for itself, the library can do without. */
  if (failed && status != CLP_SUCCESS) {
    assert_told(it, step, status, before);
    clpt_host_start(CLPT_HOST_COUNTS, 0);
    status = step->take(it);
    (void)clpt_host_stop();
  }
  if (status != CLP_SUCCESS)
    ck_abort_msg("%s: %s", step->name, clp_last_error()->message);
  return failed;
}

/* Whether the scenario came as far as call `nth`. */
static bool run_scenario(clpt_host_failure failure, unsigned long nth)
{
  static scenario it; /* large */
  bool failed = false;

  /* A thread's first failure takes host memory for the text, until the thread ends. */
  (void)clp_set_last_error(CLP_BUSY, 0, "from before");
  memset(&it, 0, sizeof(it));
  clpt_device_init(&it.device);
  for (size_t i = 0; i < STEPS; i++)
    for (it.turn = 0; it.turn < steps[i].turns; it.turn++) {
      bool here = take_step(&it, &steps[i], failed ? CLPT_HOST_COUNTS : failure, &nth);
      failed = failed || here;
      if (i == STEPS - 1)
        memset(it.pools, 0, sizeof(it.pools));
    }
  clpt_device_assert_ended(&it.device);
  ck_assert_int_eq(clpt_host_live(), 0);
  return failed;
}

START_TEST(the_scenario_passes_when_nothing_fails)
{
  ck_assert(!run_scenario(CLPT_HOST_COUNTS, 0));
}
END_TEST

START_TEST(whichever_call_fails_it_is_told_and_nothing_is_lost)
{
  unsigned long calls = 0;

  while (run_scenario(_i == 0 ? CLPT_HOST_FAILS_ONCE : CLPT_HOST_STAYS_OUT, calls))
    calls++;
  ck_assert_uint_ge(calls, 20);
}
END_TEST

CLPT_MAIN("host memory failures", clpt_run)
{
  TCase *tests = clpt_case(suite, "host memory failures");

  tcase_add_test(tests, the_scenario_passes_when_nothing_fails);
  tcase_add_loop_test(tests, whichever_call_fails_it_is_told_and_nothing_is_lost, 0, 2);
}
