/* SPDX-License-Identifier: MIT */
/* What the process takes of memory, and the bound on it. */
#include "support/suite.h"
#include "trace/host_memory.h"

#include <stdlib.h>

START_TEST(what_is_written_to_is_taken)
{
  enum { BYTES = 64 << 20, MOST_OFF = 8 << 20 };
  size_t before = trace_host_memory_used();
  if (before == 0) /* no /proc */
    return;
  volatile char *block = malloc(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096)
    block[i] = 1;
  ck_assert_uint_gt(trace_host_memory_used(), before + BYTES - MOST_OFF);
  free((void *)block);
  ck_assert_uint_ge(trace_host_memory_usual(), before / 2);
}
END_TEST

static size_t used;
static size_t used_now(void)
{
  return used;
}

START_TEST(a_bound_is_on_what_is_taken_since)
{
  static const struct {
    size_t bytes, after;
    clp_status expected;
  } cases[] = {
      {10, 110, CLP_SUCCESS},
      {10, 111, CLP_LIMIT_EXCEEDED},
      {10, 50, CLP_SUCCESS},
      {0, 1000, CLP_SUCCESS},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    used = 100;
    trace_host_memory_bound bound = trace_host_memory_begin(cases[i].bytes, used_now);
    used = cases[i].after;
    ck_assert_int_eq(trace_host_memory_check(&bound, "trace", 7, "it"), cases[i].expected);
    if (cases[i].expected)
      clpt_message_has("trace:7: 10 bytes of host memory are not enough for it");
  }
}
END_TEST

CLPT_MAIN("host_memory", clpt_run)
{
  TCase *tests = clpt_case(suite, "host_memory");
  tcase_add_test(tests, what_is_written_to_is_taken);
  tcase_add_test(tests, a_bound_is_on_what_is_taken_since);
}
