/* SPDX-License-Identifier: MIT */
/* The views of bytes in use, now and at the peak: cases, and random programs against a model. */
#include "support/chance.h"
#include "support/profiles.h"
#include "support/suite.h"

#include <inttypes.h>
#include <stdio.h>

enum { KB = 1024 };

static clp_line_profile *profile;

static void setup(void)
{
  profile = clpt_profile(0);
}

static void teardown(void)
{
  clp_line_profile_destroy(profile);
}

/* --- Cases --- */

START_TEST(a_view_shows_the_lines_that_have_bytes_in_use)
{
  CLPT_SET_STACK(1, 2);
  clpt_take_buffer(profile, KB, KB, 20);
  CLPT_SET_STACK(1, 3);
  clpt_take_buffer(profile, 2 * KB, 0, 30);
  clpt_release(profile, 20);
  CLPT_SET_STACK(1);
  clpt_take_buffer(profile, 512, 512, 10);
  clpt_prints(profile, "_root (3.50KB, 1.50KB)\n"
                       "  p.c:1:f (3.50KB, 1.50KB)\n"
                       "    p.c:2:f (1.00KB, 1.00KB)\n"
                       "    p.c:3:f (2.00KB, 0.00B)\n");
  clpt_prints_view(profile, CLP_VIEW_NOW,
                   "_root (2.50KB)\n"
                   "  p.c:1:f (2.50KB)\n"
                   "    p.c:3:f (2.00KB)\n");
  clpt_folds_view(profile, CLP_VIEW_NOW, "p.c:1:f 512\np.c:1:f;p.c:3:f 2048\n");
  clpt_prints_view(profile, CLP_VIEW_PEAK,
                   "_root (3.00KB)\n"
                   "  p.c:1:f (3.00KB)\n"
                   "    p.c:2:f (1.00KB)\n"
                   "    p.c:3:f (2.00KB)\n");
  clpt_folds_view(profile, CLP_VIEW_PEAK, "p.c:1:f;p.c:2:f 1024\np.c:1:f;p.c:3:f 2048\n");
}
END_TEST

/* Each step is a buffer at the line of its ID, 0 bytes: its release. */
static const struct {
  struct {
    uint64_t id, bytes;
  } steps[6];
  const char *now, *peak;
} cases[] = {
    {{{0}}, "", ""},
    {{{1, 5}}, "p.c:1:f 5\n", "p.c:1:f 5\n"},
    {{{1, 5}, {1, 0}}, "", "p.c:1:f 5\n"},
    {{{1, 0}}, "", ""},                                       /* was never seen */
    {{{1, 5}, {1, 0}, {1, 0}}, "", "p.c:1:f 5\n"},            /* released before */
    {{{1, 5}, {1, 0}, {2, 5}}, "p.c:2:f 5\n", "p.c:1:f 5\n"}, /* the first peak */
    {{{1, 5}, {1, 0}, {2, 6}}, "p.c:2:f 6\n", "p.c:2:f 6\n"}, /* a higher one */
    {{{1, 5}, {1, 7}}, "p.c:1:f 7\n", "p.c:1:f 7\n"},         /* a release was not seen */
    {{{1, 5}, {1, 3}}, "p.c:1:f 3\n", "p.c:1:f 5\n"},         /* likewise */
    {{{1, 5}, {2, 9}, {2, 0}, {1, 0}, {2, 1}}, "p.c:2:f 1\n", "p.c:1:f 5\np.c:2:f 9\n"},
    {{{1, UINT64_MAX}, {1, 0}, {2, 1}}, "p.c:2:f 1\n", "p.c:1:f 18446744073709551615\n"},
};

START_TEST(buffers_count_from_their_allocation_to_their_release)
{
  for (size_t i = 0; i < 6 && cases[_i].steps[i].id; i++) {
    uint64_t id = cases[_i].steps[i].id, bytes = cases[_i].steps[i].bytes;
    CLPT_SET_STACK(id);
    if (bytes)
      clpt_take_buffer(profile, bytes, 0, id);
    else
      clpt_release(profile, id);
  }
  clpt_folds_view(profile, CLP_VIEW_NOW, cases[_i].now);
  clpt_folds_view(profile, CLP_VIEW_PEAK, cases[_i].peak);
}
END_TEST

START_TEST(a_reset_forgets_buffers_in_use)
{
  CLPT_SET_STACK(1);
  clpt_take_buffer(profile, 100, 0, 1);
  clpt_ok(clp_line_profile_reset(profile));
  clpt_prints_view(profile, CLP_VIEW_NOW, "_root (0.00B)\n");
  clpt_take_buffer(profile, 7, 0, 2);
  clpt_release(profile, 1);
  clpt_prints_view(profile, CLP_VIEW_NOW, "_root (7.00B)\n  p.c:1:f (7.00B)\n");
  clpt_prints_view(profile, CLP_VIEW_PEAK, "_root (7.00B)\n  p.c:1:f (7.00B)\n");
}
END_TEST

/* --- Random programs --- */

enum { STACKS = 10, IDS = 30, STEPS = 3000, TAKEN_BYTES = 1000 };

/* 0 is the root's, 1 to 3 are of one frame, the others below them. */
static uintptr_t stacks[STACKS][2];

/* Bytes in use by stack, and those of each buffer. */
static struct {
  uint64_t now[STACKS], at_peak[STACKS], peak;
  struct {
    uint64_t bytes;
    unsigned stack;
  } buffers[IDS + 1];
} model;

static void enter(unsigned stack)
{
  stacks[stack][0] = stack < 4 ? stack : 1 + stack % 3;
  stacks[stack][1] = 10 + stack;
  clpt_set_stack(stacks[stack], stack > 3 ? 2 : stack > 0);
}

static void release(uint64_t id)
{
  model.now[model.buffers[id].stack] -= model.buffers[id].bytes;
  model.buffers[id].bytes = 0;
}

static void take(uint64_t id, unsigned stack, uint64_t bytes)
{
  uint64_t sum = 0;
  release(id);
  model.buffers[id].bytes = bytes;
  model.buffers[id].stack = stack;
  model.now[stack] += bytes;
  for (unsigned i = 0; i < STACKS; i++)
    sum += model.now[i];
  if (sum <= model.peak)
    return;
  model.peak = sum;
  memcpy(model.at_peak, model.now, sizeof(model.now));
}

/* A request, with another one inside it, as an on_out_of_memory makes them. */
static void take_with_another_inside(clpt_chance *chance, uint64_t id, uint64_t bytes)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.mem_size = bytes};
  unsigned outer = (unsigned)clpt_chance_below(chance, STACKS);
  unsigned inner = (unsigned)clpt_chance_below(chance, STACKS);
  uint64_t inner_id = 1 + id % IDS;
  enter(outer);
  hook->malloc_preprocess(&event, hook->user_data);
  enter(inner);
  clpt_take_buffer(profile, bytes, 0, inner_id);
  take(inner_id, inner, bytes);
  enter(outer);
  event.buffer_id = id;
  hook->malloc_postprocess(&event, hook->user_data);
  take(id, outer, bytes);
}

static void step(clpt_chance *chance)
{
  uint64_t id = 1 + clpt_chance_below(chance, IDS), kind = clpt_chance_below(chance, 100);
  uint64_t bytes = clpt_chance_below(chance, TAKEN_BYTES);
  unsigned stack = (unsigned)clpt_chance_below(chance, STACKS);
  enter(stack);
  if (kind < 45) { /* its release may not have been seen */
    clpt_take_buffer(profile, bytes, bytes / 2, id);
    take(id, stack, bytes);
  } else if (kind < 85) {
    clpt_release(profile, id);
    release(id);
  } else if (kind < 90) {
    clpt_take_buffer(profile, bytes, 0, 0); /* fails */
  } else if (kind < 99) {
    take_with_another_inside(chance, id, bytes);
  } else if (clpt_chance_below(chance, 10) == 0) {
    clpt_ok(clp_line_profile_reset(profile));
    memset(&model, 0, sizeof(model));
  }
}

static unsigned stack_of(const char *line)
{
  unsigned outer = 0, inner = 0;
  int frames = sscanf(line, "p.c:%u:f;p.c:%u:f", &outer, &inner);
  return frames == 2 ? inner - 10 : outer;
}

static void check(clp_line_profile_view view, const uint64_t *expected)
{
  char *text = clpt_folded_view(profile, view), *rest = text, *line;
  uint64_t found[STACKS] = {0};
  while ((line = strsep(&rest, "\n")) && *line) {
    unsigned stack = stack_of(line);
    ck_assert_uint_lt(stack, STACKS);
    ck_assert_uint_eq(found[stack], 0);
    ck_assert_int_eq(sscanf(strchr(line, ' '), "%" SCNu64, &found[stack]), 1);
  }
  ck_assert_mem_eq(found, expected, sizeof(found));
  free(text);
}

START_TEST(random_programs_are_as_the_model)
{
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  memset(&model, 0, sizeof(model));
  for (unsigned i = 0; i < STEPS; i++) {
    step(&chance);
    if (clpt_chance_below(&chance, 8))
      continue;
    check(CLP_VIEW_NOW, model.now);
    check(CLP_VIEW_PEAK, model.at_peak);
  }
}
END_TEST

CLPT_MAIN("line profile views", clpt_run)
{
  TCase *tests = clpt_case(suite, "views");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_view_shows_the_lines_that_have_bytes_in_use);
  tcase_add_loop_test(tests, buffers_count_from_their_allocation_to_their_release, 0,
                      sizeof(cases) / sizeof(cases[0]));
  tcase_add_test(tests, a_reset_forgets_buffers_in_use);
  tcase_add_loop_test(tests, random_programs_are_as_the_model, 0, 20);
}
