/* SPDX-License-Identifier: MIT */
/* Live blocks: dense slots, given out again; and replays that find no host memory. */
#include "support/failing_allocator.h"
#include "support/host_failures.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/live_blocks.h"
#include "trace/replay.h"

#include <stdio.h>

static size_t add(trace_live_blocks *live, uint64_t pointer)
{
  trace_event event = {.action = TRACE_ALLOCATE, .pointer = pointer, .size = 8};
  size_t slot = SIZE_MAX;
  clpt_ok(trace_live_blocks_add(live, NULL, &event, &slot));
  return slot;
}

static size_t discard(trace_live_blocks *live, uint64_t pointer)
{
  trace_event event = {.action = TRACE_FREE, .pointer = pointer, .size = 8};
  size_t slot = SIZE_MAX;
  clpt_ok(trace_live_blocks_remove(live, NULL, &event, &slot));
  return slot;
}

START_TEST(slots_are_dense_and_used_again)
{
  trace_live_blocks live = {0};
  ck_assert_uint_eq(add(&live, 10), 0);
  ck_assert_uint_eq(add(&live, 20), 1);
  ck_assert_uint_eq(add(&live, 30), 2);
  ck_assert_uint_eq(discard(&live, 20), 1);
  ck_assert_uint_eq(discard(&live, 10), 0);
  ck_assert_uint_eq(add(&live, 20), 0);
  ck_assert_uint_eq(add(&live, 40), 1);
  ck_assert_uint_eq(add(&live, 50), 3);
  trace_live_blocks_end(&live);
}
END_TEST

/* Blocks of no bytes may share the null pointer. */
START_TEST(null_pointers_are_counted)
{
  trace_live_blocks live = {0};
  const trace_event event = {.action = TRACE_FREE, .pointer = 0, .size = 8};
  ck_assert(!trace_live_blocks_has(&live, &event));
  ck_assert_uint_eq(add(&live, 0), 0);
  ck_assert_uint_eq(add(&live, 0), 1);
  ck_assert_uint_eq(add(&live, 10), 2);
  ck_assert_uint_eq(discard(&live, 0), 1);
  ck_assert(trace_live_blocks_has(&live, &event));
  ck_assert_uint_eq(discard(&live, 0), 0);
  ck_assert(!trace_live_blocks_has(&live, &event));
  trace_live_blocks_end(&live);
}
END_TEST

/* However long the trace, there are as many slots as blocks were ever live at once. */
START_TEST(memory_is_of_what_is_live)
{
  enum { LIVE = 300 };
  unsigned rounds = clpt_iterations(1000);
  trace_live_blocks live = {0};
  for (unsigned round = 0; round < rounds; round++) {
    for (unsigned i = 0; i < LIVE; i++)
      add(&live, (uint64_t)round * LIVE + i + 1);
    for (unsigned i = 0; i < LIVE; i++)
      discard(&live, (uint64_t)round * LIVE + (i * 7) % LIVE + 1);
  }
  ck_assert_uint_eq(live.slots, LIVE);
  ck_assert_uint_eq(live.by_pointer.count, 0);
  trace_live_blocks_end(&live);
}
END_TEST

/* The whole replay, with each allocation of host memory failing in turn: it ends with that, or does
 * without; what was taken is given back. More blocks than a first table of them holds are live. */
START_TEST(replay_without_host_memory)
{
  enum { ROWS = 600 };
  char rows[ROWS * 16];
  size_t length = 0;
  for (unsigned i = 1; i <= ROWS; i++)
    length += (size_t)snprintf(rows + length, sizeof(rows) - length, "%sa%x=%u", i > 1 ? " " : "",
                               i, i * 5);
  clpt_host_failures each = {.stride = 97, .may_do_without = true, .has_threads = true};
  while (!each.is_over) {
    clpt_device device;
    clpt_device_init(&device);
    clp_allocator *allocator = clpt_device_allocator(&device);
    trace_reader *reader = clpt_short_trace(rows);
    trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
    trace_replay_result result;
    options.pooled = _i;
    clpt_host_fail_next(&each);
    clp_status status = trace_replay(reader, allocator, &options, &result);
    clpt_host_check(&each, status);
    ck_assert(status || result.allocations == ROWS);
    clp_allocator_release(allocator);
    trace_close(reader);
    clpt_device_assert_ended(&device);
  }
  ck_assert_uint_gt(each.count, 10);
}
END_TEST

CLPT_MAIN("live blocks", clpt_run)
{
  TCase *slots = clpt_case(suite, "slots");
  tcase_add_test(slots, slots_are_dense_and_used_again);
  tcase_add_test(slots, null_pointers_are_counted);
  tcase_add_test(slots, memory_is_of_what_is_live);
  TCase *host = clpt_case(suite, "host memory");
  tcase_add_loop_test(host, replay_without_host_memory, 0, 2);
}
