/* SPDX-License-Identifier: MIT */
/* Whose a buffer is after a failure: each call of the device fails in each call of the library's
 * that takes a buffer. The status alone says whose the buffer is, and no memory is lost. */
#include "support/late_arena.h"
#include "support/suite.h"

#include <clpool/log.h>
#include <limits.h>

/* --- what is called --- */

static clp_status release(clpt_late_rig *rig, clp_buffer *buffer)
{
  (void)rig;
  return clp_buffer_release(buffer);
}

static clp_status unbind(clpt_late_rig *rig, clp_buffer *buffer)
{
  (void)rig;
  return clp_buffer_unbind(buffer);
}

/* Neither the pool nor the arena knows u. */
static clp_status release_on(clpt_late_rig *rig, clp_buffer *buffer)
{
  return clp_buffer_release_on(buffer, rig->u);
}

static clp_status bind(clpt_late_rig *rig, clp_buffer *buffer)
{
  return clp_buffer_bind(buffer, rig->u);
}

static clp_status record_use(clpt_late_rig *rig, clp_buffer *buffer)
{
  return clp_buffer_record_use(buffer, rig->u);
}

static const struct {
  clp_status (*call)(clpt_late_rig *rig, clp_buffer *buffer);
  bool releases;
} verbs[] = {
    {release, true}, {release_on, true}, {unbind, false}, {bind, false}, {record_use, false}};

enum {
  VERBS = sizeof(verbs) / sizeof(verbs[0]),
  EXCLUSIVE =
      CLPT_LATE_FREEINGS + CLPT_LATE_WAYS, /* behind bins and arenas that free in each way */
  POOLS,
  CASES = 2 * POOLS * VERBS
};

static void start(clpt_late_rig *rig, unsigned pool)
{
  if (pool < CLPT_LATE_FREEINGS)
    clpt_late_rig_start_freeing(rig, CLPT_REUSE_EITHER, (clpt_late_freeing)pool);
  else if (pool < EXCLUSIVE)
    clpt_late_arena_start(rig, CLPT_REUSE_EITHER, pool - CLPT_LATE_FREEINGS);
  else
    clpt_late_arena_start_exclusive(rig, CLPT_REUSE_EITHER, false);
}

/* --- that fails --- */

static void count_errors(clp_log_level level, const char *message, void *user_data)
{
  unsigned *errors = user_data;
  *errors += level == CLP_LOG_ERROR && strstr(message, "on purpose");
}

/* A buffer that is bound to s, whose work is not done; nor is t's, which is noted. */
static clp_buffer *take(clpt_late_rig *rig)
{
  clp_buffer *buffer = clpt_late_take(rig, rig->s);
  clpt_ok(clp_buffer_bind(buffer, rig->s));
  clpt_late_share(rig, buffer, rig->s, rig->t);
  clpt_ok(clp_buffer_record_use(buffer, rig->t));
  clpt_late_order(&rig->device, rig->s, rig->u);
  if (rig->device.addresses)
    clpt_late_close(&rig->device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  return buffer;
}

static void assert_released(clpt_late_rig *rig, clp_buffer *buffer, bool holds, unsigned errors)
{
  clp_pool_stats stats = clpt_stats(rig->pool);
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY); /* from before */
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_le(errors, 1);
  if (!holds)
    ck_assert_uint_le(stats.held_blocks, errors);
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release_on(buffer, rig->s));
}

/* False: there were not so many calls that may fail. */
static bool fail_one(unsigned pool, bool holds, unsigned verb, unsigned after, unsigned count)
{
  unsigned errors = 0;
  clpt_late_rig rig;
  start(&rig, pool);
  clp_buffer *buffer = take(&rig);
  if (!holds)
    clpt_ok(clp_pool_stop_holding(rig.pool));
  clp_set_log(count_errors, &errors);
  (void)clp_set_last_error(CLP_BUSY, 0, "from before");
  rig.device.fault = (clpt_fault){after, count, CLP_BACKEND_ERROR, -6, "on purpose"};
  rig.device.failing = UINT_MAX;
  clp_status status = verbs[verb].call(&rig, buffer);
  rig.device.failing = 0;
  clp_set_log(NULL, NULL);
  bool has_failed = rig.device.faults > 0;
  if (status) {
    ck_assert_int_eq(clp_last_error()->status, status);
    ck_assert_int_eq(clp_last_error()->native_code, -6);
    ck_assert(has_failed);
    ck_assert_uint_eq(errors, 0);
  }
  if (!status && verbs[verb].releases)
    assert_released(&rig, buffer, holds, errors);
  else
    clpt_ok_quietly(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
  clpt_late_rig_end(&rig);
  return has_failed;
}

START_TEST(the_status_alone_says_whose_the_buffer_is)
{
  unsigned verb = (unsigned)_i % VERBS, pool = (unsigned)_i / VERBS / 2;
  bool holds = (unsigned)_i / VERBS % 2;
  for (unsigned after = 0; fail_one(pool, holds, verb, after, 1); after++)
    (void)fail_one(pool, holds, verb, after, UINT_MAX);
}
END_TEST

CLPT_MAIN("whose buffer", clpt_run)
{
  TCase *tests = clpt_case(suite, "failures");
  tcase_add_loop_test(tests, the_status_alone_says_whose_the_buffer_is, 0, CASES);
}
