/* SPDX-License-Identifier: MIT */
/* Frames for a file: each is defined once, before the stacks that have it, by its object's path. */
#include "hooks/frames.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AND_STAY __asm__ volatile("" ::: "memory")

enum { MOST = 400 };

/* What was defined. */
static struct {
  uint32_t count;
  uint32_t callers[MOST];
  char texts[MOST][CLPI_FRAME_BYTES];
} defined;
static clpi_call_tree tree;

static void define(uint32_t number, uint32_t caller, const char *text, void *argument)
{
  ck_assert_ptr_eq(argument, &defined);
  ck_assert_uint_eq(number, defined.count + 1);
  ck_assert_uint_lt(caller, number);
  ck_assert_uint_lt(number, MOST);
  defined.callers[number] = caller;
  strcpy(defined.texts[number], text);
  defined.count = number;
}

static void setup(void)
{
  defined.count = 0;
  ck_assert(clpi_call_tree_init(&tree));
}

static void teardown(void)
{
  clpi_call_tree_end(&tree);
}

/* As a hook's callback does it. */
__attribute__((noinline)) static uint32_t number(void)
{
  clpi_frames frames;
  clpi_frames_read(&frames, CLPI_CALLBACK_RETURN);
  uint32_t found = clpi_frames_number(&frames, &tree, define, &defined);
  clpi_frames_end(&frames);
  return found;
}

__attribute__((noinline)) static uint32_t inner(void)
{
  uint32_t found = number();
  AND_STAY;
  return found;
}

START_TEST(a_stack_has_one_number)
{
  uint32_t found[2];
  for (int i = 0; i < 2; i++)
    found[i] = inner();
  ck_assert_uint_eq(found[0], found[1]);
  ck_assert_uint_eq(found[0], defined.count);
  uint32_t here = number();
  ck_assert_uint_eq(here, found[0] + 1);
  ck_assert_uint_eq(inner(), here + 2); /* another line calls it */
}
END_TEST

START_TEST(frames_are_objects_and_offsets)
{
  char path[PATH_MAX] = "", found[PATH_MAX];
  uintptr_t offset;
  ck_assert_int_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
  uint32_t at = inner();
  ck_assert_int_eq(sscanf(defined.texts[at], "%[^+]+0x%" SCNxPTR, found, &offset), 2);
  ck_assert_str_eq(found, path);
  uint32_t levels = 0;
  for (; at; at = defined.callers[at])
    levels++;
  ck_assert_uint_gt(levels, 3);
}
END_TEST

START_TEST(objects_that_are_left_out)
{
  uint32_t with = inner();
  ck_assert_uint_gt(with, 0);
  clpi_frames_leave_out((void *)(uintptr_t)inner, NULL);
  uint32_t found = inner();
  clpi_frames_leave_out(NULL, NULL);
  for (uint32_t at = found; at; at = defined.callers[at])
    ck_assert_uint_ne(at, with);
}
END_TEST

/* The frames that there is memory for have numbers. */
START_TEST(without_host_memory)
{
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  uint32_t found = inner();
  (void)clpt_host_stop();
  ck_assert_uint_eq(found, 0);
  ck_assert_uint_eq(defined.count, 0);
  ck_assert_uint_gt(inner(), 0);
}
END_TEST

CLPT_MAIN("frames", clpt_run)
{
  TCase *tests = clpt_case(suite, "frames");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_stack_has_one_number);
  tcase_add_test(tests, frames_are_objects_and_offsets);
  tcase_add_test(tests, objects_that_are_left_out);
  tcase_add_test(tests, without_host_memory);
}
