/* SPDX-License-Identifier: MIT */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "trace/names.h"

#include <stdio.h>

START_TEST(a_name_is_kept_once)
{
  trace_names names = {0};
  char text[] = "weights";
  const char *kept = trace_names_keep(&names, text);
  text[0] = 'h';
  ck_assert_str_eq(kept, "weights");
  ck_assert_str_eq(trace_names_keep(&names, text), "heights");
  ck_assert_ptr_eq(trace_names_keep(&names, "weights"), kept);
  ck_assert_str_eq(trace_names_keep(&names, ""), "");
  trace_names_end(&names);
}
END_TEST

START_TEST(many_names_are_each_kept_once)
{
  enum { MANY = 20000 };
  static const char *kept[MANY];
  char text[32];
  trace_names names = {0};
  for (unsigned i = 0; i < 2 * MANY; i++) {
    (void)snprintf(text, sizeof(text), "weights of layer %u", i % MANY);
    const char *found = trace_names_keep(&names, text);
    ck_assert_str_eq(found, text);
    if (i < MANY)
      kept[i] = found;
    else
      ck_assert_ptr_eq(found, kept[i - MANY]);
  }
  trace_names_end(&names);
}
END_TEST

/* The name itself; what the tree takes is not counted. */
START_TEST(without_host_memory_there_is_none)
{
  trace_names names = {0};
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  const char *kept = trace_names_keep(&names, "weights");
  clpt_host_stop();
  ck_assert_ptr_null(kept);
  ck_assert_str_eq(trace_names_keep(&names, "weights"), "weights");
  trace_names_end(&names);
}
END_TEST

CLPT_MAIN("names", clpt_run)
{
  TCase *tests = clpt_case(suite, "names");
  tcase_add_test(tests, a_name_is_kept_once);
  tcase_add_test(tests, many_names_are_each_kept_once);
  tcase_add_test(tests, without_host_memory_there_is_none);
}
