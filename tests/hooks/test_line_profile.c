/* SPDX-License-Identifier: MIT */
/* The line profile as an object: arguments, its hook, reset, files and host memory that fail. */
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/profiles.h"
#include "support/suite.h"

#include <errno.h>
#include <stdio.h>

/* --- Arguments --- */

START_TEST(the_hook_has_the_callbacks_that_record)
{
  clp_line_profile *profile = clpt_profile(0);
  const clp_hook *hook = clp_line_profile_hook(profile);
  ck_assert_ptr_eq(hook, clp_line_profile_hook(profile));
  ck_assert_uint_eq(hook->struct_size, sizeof(clp_hook));
  ck_assert_str_eq(hook->name, "line_profile");
  ck_assert(hook->malloc_preprocess && hook->malloc_postprocess);
  ck_assert(hook->alloc_postprocess && hook->free_preprocess);
  ck_assert(!hook->alloc_preprocess && !hook->free_postprocess);
  ck_assert(!hook->device_free_preprocess && !hook->device_free_postprocess);
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(profiles_are_apart)
{
  clp_line_profile *one = clpt_profile(0), *other = clpt_profile(0);
  CLPT_SET_STACK(1);
  clpt_take(one, 10, 0);
  CLPT_SET_STACK(2);
  clpt_take(other, 20, 0);
  clpt_folds(one, "p.c:1:f 10\n");
  clpt_folds(other, "p.c:2:f 20\n");
  clp_line_profile_destroy(one);
  clpt_folds(other, "p.c:2:f 20\n");
  clp_line_profile_destroy(other);
}
END_TEST

/* --- Recording --- */

/* The unrounded size is not what counts. */
START_TEST(bytes_are_as_rounded)
{
  clp_line_profile *profile = clpt_profile(0);
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.size = 1000, .mem_size = 1024};
  CLPT_SET_STACK(1);
  hook->malloc_preprocess(&event, hook->user_data);
  event = (clp_hook_event){.mem_size = 2048, .memory = 1};
  hook->alloc_postprocess(&event, hook->user_data);
  clpt_prints(profile, "_root (1.00KB, 2.00KB)\n"
                       "  p.c:1:f (1.00KB, 2.00KB)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(a_report_takes_nothing_away)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1);
  clpt_take(profile, 1, 0);
  clpt_folds(profile, "p.c:1:f 1\n");
  clpt_folds(profile, "p.c:1:f 1\n");
  clpt_take(profile, 1, 0);
  clpt_folds(profile, "p.c:1:f 2\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(reset_forgets)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1, 2);
  clpt_take(profile, 10, 20);
  clpt_ok(clp_line_profile_reset(profile));
  clpt_prints(profile, "_root (0.00B, 0.00B)\n");
  CLPT_SET_STACK(3);
  clpt_take(profile, 5, 0);
  clpt_prints(profile, "_root (5.00B, 0.00B)\n"
                       "  p.c:3:f (5.00B, 0.00B)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(of_a_stack_too_deep_the_outermost_frames_count)
{
  enum { DEPTH = 1000 };
  static uintptr_t addresses[DEPTH];
  clp_line_profile *profile = clpt_profile(0);
  for (size_t i = 0; i < DEPTH; i++)
    addresses[i] = i + 1;
  clpt_set_stack(addresses, DEPTH);
  clpt_take(profile, 1, 0);
  char *text = clpt_printed(profile);
  ck_assert_ptr_nonnull(strstr(text, "  p.c:1:f (1.00B, 0.00B)\n"));
  ck_assert_ptr_nonnull(strstr(text, "p.c:256:f (1.00B, 0.00B)\n"));
  ck_assert_ptr_null(strstr(text, "p.c:257:f"));
  free(text);
  clp_line_profile_destroy(profile);
}
END_TEST

/* --- Files --- */

typedef clp_status writer(clp_line_profile *profile, FILE *file);
static writer *const writers[] = {clp_line_profile_print, clp_line_profile_write_folded};

START_TEST(a_full_disk_is_told)
{
  FILE *full = fopen("/dev/full", "w");
  if (!full)
    return;
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1);
  clpt_take(profile, 1, 0);
  clpt_fails(CLP_IO_ERROR, writers[_i](profile, full));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  fclose(full);
  clp_line_profile_destroy(profile);
}
END_TEST

/* What does not fit into the file's buffer fails before the flush: in each part of a line. */
START_TEST(a_full_disk_is_told_wherever_it_fills_up)
{
  FILE *full = fopen("/dev/full", "w");
  if (!full)
    return;
  setvbuf(full, NULL, _IONBF, 0);
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1, 2);
  clpt_take(profile, 1, 0);
  clpt_fails(CLP_IO_ERROR, writers[_i](profile, full));
  clpt_set_stack(NULL, 0);
  clpt_take(profile, 1, 0);
  clpt_fails(CLP_IO_ERROR, writers[_i](profile, full));
  fclose(full);
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(a_file_that_is_only_read_is_told)
{
  FILE *file = fopen("/dev/null", "r");
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1);
  clpt_take(profile, 1, 0);
  clpt_fails(CLP_IO_ERROR, writers[_i](profile, file));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
  fclose(file);
  clp_line_profile_destroy(profile);
}
END_TEST

/* --- Host memory --- */

START_TEST(a_profile_without_host_memory_is_not_made)
{
  clpt_host_failures each = {0};
  while (!each.is_over) {
    clp_line_profile *profile = (clp_line_profile *)&each;
    clpt_host_fail_next(&each);
    clp_status status = clp_line_profile_create(0, &profile);
    if (!status)
      clp_line_profile_destroy(profile);
    clpt_host_check(&each, status);
    ck_assert(!status || !profile);
    ck_assert_int_eq(clpt_host_live(), 0);
  }
  ck_assert_uint_eq(each.count, 2);
}
END_TEST

START_TEST(a_stack_that_is_known_needs_no_host_memory)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1, 2, 3);
  clpt_take(profile, 1, 1);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  for (unsigned i = 0; i < 1000; i++)
    clpt_take(profile, 1, 1);
  ck_assert_uint_eq(clpt_host_stop(), 0);
  clpt_folds(profile, "p.c:1:f;p.c:2:f;p.c:3:f 1001\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(what_was_not_recorded_is_told)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1, 2);
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clpt_take_buffer(profile, 1024, 2048, 7);
  clpt_host_stop();
  clpt_prints(profile, "_root (1.00KB, 2.00KB)\n"
                       "  _unrecorded (1.00KB, 2.00KB)\n");
  clpt_prints_view(profile, CLP_VIEW_NOW, "_root (0.00B)\n");
  clpt_release(profile, 7);
  clpt_take(profile, 1, 1);
  CLPT_SET_STACK(1, 3);
  clpt_take(profile, 512, 0);
  clpt_prints(profile, "_root (1.50KB, 2.00KB)\n"
                       "  p.c:1:f (513.00B, 1.00B)\n"
                       "    p.c:2:f (1.00B, 1.00B)\n"
                       "    p.c:3:f (512.00B, 0.00B)\n"
                       "  _unrecorded (1.00KB, 2.00KB)\n");
  clpt_folds(profile, "p.c:1:f;p.c:2:f 1\n"
                      "p.c:1:f;p.c:3:f 512\n"
                      "_unrecorded 1024\n");
  clpt_ok(clp_line_profile_reset(profile));
  clpt_prints(profile, "_root (0.00B, 0.00B)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(what_was_not_recorded_may_be_in_use)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_stack(NULL, 0);
  clpt_take_buffer(profile, 1, 0, 1); /* makes room for the next one, though for no stack */
  CLPT_SET_STACK(1, 2);
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clpt_take_buffer(profile, 1024, 0, 2);
  clpt_host_stop();
  clpt_prints_view(profile, CLP_VIEW_NOW, "_root (1.00KB)\n  _unrecorded (1.00KB)\n");
  clpt_release(profile, 2);
  clpt_folds_view(profile, CLP_VIEW_NOW, "_root 1\n");
  clpt_folds_view(profile, CLP_VIEW_PEAK, "_root 1\n_unrecorded 1024\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(a_report_without_host_memory_says_so)
{
  clp_line_profile *profile = clpt_profile(0);
  char text[512], before[512];
  CLPT_SET_STACK(1, 2, 3);
  clpt_take(profile, 1, 0);
  clpt_host_failures each = {.may_do_without = true};
  while (!each.is_over) {
    FILE *file = fmemopen(text, sizeof(text), "w");
    (void)fputs("", file);
    clpt_host_fail_next(&each);
    clpt_host_check(&each, writers[_i](profile, file));
    fclose(file);
    ck_assert_int_eq(clpt_host_live(), 0);
    ck_assert_uint_eq(clpt_open_sessions, 0);
  }
  ck_assert_uint_ge(each.count, 8);
  FILE *file = fmemopen(before, sizeof(before), "w");
  clpt_ok(writers[_i](profile, file));
  fclose(file);
  ck_assert_str_eq(text, before);
  clp_line_profile_destroy(profile);
}
END_TEST

static clp_status no_session(void **session)
{
  (void)session;
  return clp_set_last_error(CLP_OUT_OF_HOST_MEMORY, 0, "no session");
}

START_TEST(a_source_of_names_that_fails_ends_the_report)
{
  static const clpi_symbols none = {.open = no_session};
  clp_line_profile *profile = clpt_profile(0);
  profile->symbols = &none;
  clpt_fails(CLP_OUT_OF_HOST_MEMORY, writers[_i](profile, stdout));
  clpt_message_has("no session");
  clp_line_profile_destroy(profile);
}
END_TEST

CLPT_MAIN("line profile", clpt_run)
{
  const int kinds = sizeof(writers) / sizeof(writers[0]);
  TCase *arguments = clpt_case(suite, "arguments");
  tcase_add_test(arguments, the_hook_has_the_callbacks_that_record);
  tcase_add_test(arguments, profiles_are_apart);
  TCase *recording = clpt_case(suite, "recording");
  tcase_add_test(recording, bytes_are_as_rounded);
  tcase_add_test(recording, a_report_takes_nothing_away);
  tcase_add_test(recording, reset_forgets);
  tcase_add_test(recording, of_a_stack_too_deep_the_outermost_frames_count);
  TCase *files = clpt_case(suite, "files");
  tcase_add_loop_test(files, a_full_disk_is_told, 0, kinds);
  tcase_add_loop_test(files, a_full_disk_is_told_wherever_it_fills_up, 0, kinds);
  tcase_add_loop_test(files, a_file_that_is_only_read_is_told, 0, kinds);
  TCase *host = clpt_case(suite, "host memory");
  tcase_add_test(host, a_profile_without_host_memory_is_not_made);
  tcase_add_test(host, a_stack_that_is_known_needs_no_host_memory);
  tcase_add_test(host, what_was_not_recorded_is_told);
  tcase_add_test(host, what_was_not_recorded_may_be_in_use);
  tcase_add_loop_test(host, a_report_without_host_memory_says_so, 0, kinds);
  tcase_add_loop_test(host, a_source_of_names_that_fails_ends_the_report, 0, kinds);
}
