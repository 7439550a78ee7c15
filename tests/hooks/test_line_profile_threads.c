/* SPDX-License-Identifier: MIT */
/* Several threads record into one profile, while others report and reset. */
#include "support/profiles.h"
#include "support/suite.h"
#include "support/workers.h"

#include <stdio.h>

enum { RECORDERS = 6, STACKS = 40 };

static clp_line_profile *profile;

/* Stacks of two frames: the recorder's number, and one of many that all recorders share. */
static void record(clpt_worker *self)
{
  uintptr_t stack[2] = {1000 + self->number};
  clpt_set_stack(stack, 2);
  for (unsigned i = 0; i < self->rounds; i++) {
    stack[1] = 1 + clpt_chance_below(&self->chance, STACKS);
    uint64_t id = self->number * STACKS + stack[1]; /* another recorder's is another one */
    clpt_take_buffer(profile, 2, 1, id);
    if (i + STACKS < self->rounds && i % 3)
      clpt_release(profile, id);
  }
}

static void report(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds / 20 + 1; i++) {
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    clp_line_profile_view view = i % 3;
    clp_status status = clp_line_profile_print_view(profile, view, file);
    if (!status)
      status = clp_line_profile_write_folded_view(profile, view, file);
    fclose(file);
    if (status)
      clpt_wrong(self, "%s", clp_last_error()->message);
    else if (strncmp(text, "_root (", 7) != 0 || text[length - 1] != '\n')
      clpt_wrong(self, "no whole report: %s", text);
    free(text);
  }
}

static void reset(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds / 5; i++)
    if (clp_line_profile_reset(profile))
      clpt_wrong(self, "%s", clp_last_error()->message);
}

START_TEST(each_thread_is_counted)
{
  static const clpt_work work[] = {record};
  unsigned rounds = clpt_iterations(20000);
  clpt_workers all;
  char expected[64];
  profile = clpt_profile(2);
  clpt_workers_start(&all, RECORDERS, work, 1, rounds, NULL);
  clpt_workers_join(&all);
  char *text = clpt_folded(profile);
  for (unsigned i = 0; i < RECORDERS; i++) {
    (void)snprintf(expected, sizeof(expected), "p.c:%u:f %u\n", 1000 + i, 2 * rounds);
    ck_assert_msg(strstr(text, expected), "no %s in %s", expected, text);
  }
  free(text);
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(reports_run_while_others_record)
{
  static const clpt_work work[] = {record, record, report, record, reset};
  clpt_workers all;
  profile = clpt_profile(0);
  clpt_workers_start(&all, 10, work, 5, clpt_iterations(4000), NULL);
  clpt_workers_join(&all);
  clp_line_profile_destroy(profile);
  ck_assert_uint_eq(clpt_open_sessions, 0);
}
END_TEST

/* The real walker and the real names: neither has state that threads share. */
START_TEST(real_stacks_and_names_in_several_threads)
{
  static const clpt_work work[] = {record, report, record, report};
  clpt_workers all;
  clpt_ok(clp_line_profile_create(0, &profile));
  clpt_workers_start(&all, 4, work, 4, clpt_iterations(200), NULL);
  clpt_workers_join(&all);
  clp_line_profile_destroy(profile);
}
END_TEST

CLPT_MAIN("line profile threads", clpt_run)
{
  TCase *tests = clpt_case(suite, "threads");
  tcase_add_test(tests, each_thread_is_counted);
  tcase_add_test(tests, reports_run_while_others_record);
  tcase_add_test(tests, real_stacks_and_names_in_several_threads);
}
