/* SPDX-License-Identifier: MIT */
/* What clpool/profile.h promises of frames: the walker's stacks. test_line_profile.c has those of
 * the library, which are left out. */
#include "core/base/boundary.h"
#include "hooks/call_stack.h"
#include "support/suite.h"
#include "support/workers.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#define AND_STAY __asm__ volatile("" ::: "memory") /* so that the caller has a frame */

static clpi_call_stack stack;

/* As a hook's callback does it. */
__attribute__((noinline)) static void callback(void)
{
  clpi_call_stack_capture(&stack, clpi_walk_stack, CLPI_CALLBACK_RETURN);
  AND_STAY;
}

__attribute__((noinline)) static void recurse(unsigned levels) /* NOLINT: that is the test */
{
  if (levels > 1)
    recurse(levels - 1);
  else
    callback();
  AND_STAY;
}

CLPI_ENTRY static void enter_library(void)
{
}
CLPI_EXIT static void leave_library(void)
{
}

/* A walk that does not come back to the program. */
static void walk_deep_in_the_library(clpi_frame_visitor *visitor, void *argument)
{
  visitor((uintptr_t)enter_library, argument);
  visitor((uintptr_t)leave_library, argument);
  for (uintptr_t i = 0; i < 2 * CLPI_MOST_LIBRARY_FRAMES; i++)
    visitor(i, argument);
}

START_TEST(frames_are_kept_that_are_too_many_to_be_the_librarys)
{
  clpi_call_stack_capture(&stack, walk_deep_in_the_library, NULL);
  ck_assert_uint_eq(stack.seen, 2 * CLPI_MOST_LIBRARY_FRAMES);
}
END_TEST

START_TEST(of_a_deep_stack_the_outermost_frames_are_kept)
{
  callback();
  uintptr_t outermost = clpi_call_stack_frame(&stack, 0);
  size_t above = clpi_call_stack_depth(&stack);
  const unsigned levels[] = {CLPI_MOST_FRAMES - (unsigned)above - 1,
                             CLPI_MOST_FRAMES - (unsigned)above, 10000};
  for (int n = 0; n < 3; n++) {
    recurse(levels[n]);
    ck_assert_uint_eq(clpi_call_stack_depth(&stack), CLPI_MOST_FRAMES - (n == 0));
    ck_assert_uint_eq(stack.seen, above + levels[n]);
    ck_assert_uint_eq(clpi_call_stack_frame(&stack, 0), outermost);
    for (size_t i = above; i < clpi_call_stack_depth(&stack); i++)
      ck_assert_ptr_eq(
          _Unwind_FindEnclosingFunction((void *)(clpi_call_stack_frame(&stack, i) + 1)), recurse);
  }
}
END_TEST

/* Stacks by chance, of functions of which one has a frame of a size by chance: on a stack that was
 * seen before, the walker does without the unwinder, and finds the same. */

enum { STACKS = 4000, MOST_CALLS = 30, DEEP = 500, MOST_FRAMES = 600 };

typedef struct walked {
  size_t count;
  uintptr_t frames[MOST_FRAMES]; /* innermost first */
} walked;

static void note_frame(uintptr_t address, void *argument)
{
  walked *to = argument;
  if (to->count < MOST_FRAMES)
    to->frames[to->count++] = address;
}

static _Unwind_Reason_Code unwind_frame(struct _Unwind_Context *context, void *argument)
{
  if (_Unwind_GetIP(context) == 0)
    return _URC_END_OF_STACK;
  note_frame(_Unwind_GetIP(context) - 1, argument);
  return _URC_NO_REASON;
}

/* Compares all frames outside of this one's. */
__attribute__((noinline)) static void compare_walks(clpt_worker *self)
{
  walked found = {0}, expected = {0};
  clpi_walk_stack(note_frame, &found);
  _Unwind_Backtrace(unwind_frame, &expected);
  size_t outside = expected.count - 1;
  if (found.count < outside || memcmp(found.frames + found.count - outside, expected.frames + 1,
                                      outside * sizeof(*found.frames)) != 0)
    clpt_wrong(self, "another stack: %zu frames, not %zu", found.count, expected.count);
  AND_STAY;
}

__attribute__((noinline)) static void descend(clpt_worker *self, unsigned calls); /* NOLINT */

__attribute__((noinline)) static void descend_with_room(clpt_worker *self, /* NOLINT */
                                                        unsigned calls)
{
  char *room = __builtin_alloca(16 + clpt_chance_below(&self->chance, 20) * 16);
  __asm__ volatile("" : : "r"(room) : "memory");
  descend(self, calls);
  AND_STAY;
}

static void descend(clpt_worker *self, unsigned calls) /* NOLINT: that is the test */
{
  if (calls == 0)
    compare_walks(self);
  else if (clpt_chance_below(&self->chance, 8) == 0)
    descend_with_room(self, calls - 1);
  else
    descend(self, calls - 1);
  AND_STAY;
}

static void walk_by_chance(clpt_worker *self)
{
  for (unsigned i = 0; i < STACKS; i++)
    descend(self, (unsigned)clpt_chance_below(&self->chance, i % 100 ? MOST_CALLS : DEEP));
}

START_TEST(stacks_are_those_of_the_unwinder)
{
  static clpt_workers workers;
  static const clpt_work work[] = {walk_by_chance};
  clpt_workers_start(&workers, 3, work, 1, 1, NULL);
  clpt_workers_join(&workers);
}
END_TEST

static ucontext_t program, coroutine;
static size_t room_bytes;

__attribute__((noinline)) static void walk_with_room(void)
{
  walked found = {0};
  char *room = __builtin_alloca(room_bytes);
  __asm__ volatile("" : : "r"(room) : "memory");
  clpi_walk_stack(note_frame, &found);
  ck_assert_uint_gt(found.count, 1);
  AND_STAY;
}

/* A distance that was learned would lead beyond a coroutine's stack, to what cannot be read. */
START_TEST(a_coroutines_stack_ends_sooner)
{
  enum { STACK_BYTES = 128 * 1024, MORE_BYTES = 1 << 20 };
  char *all = mmap(NULL, STACK_BYTES + MORE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(all, MAP_FAILED);
  ck_assert_int_eq(mprotect(all, STACK_BYTES, PROT_READ | PROT_WRITE), 0);
  room_bytes = MORE_BYTES / 2;
  for (int n = 0; n < 100; n++) /* often enough to be learned */
    walk_with_room();
  room_bytes = 16;
  getcontext(&coroutine);
  coroutine.uc_stack = (stack_t){.ss_sp = all, .ss_size = STACK_BYTES};
  coroutine.uc_link = &program;
  makecontext(&coroutine, walk_with_room, 0);
  ck_assert_int_eq(swapcontext(&program, &coroutine), 0);
  munmap(all, STACK_BYTES + MORE_BYTES);
}
END_TEST

CLPT_MAIN("call stack", clpt_run)
{
  TCase *tests = clpt_case(suite, "call stack");
  tcase_add_test(tests, frames_are_kept_that_are_too_many_to_be_the_librarys);
  tcase_add_test(tests, of_a_deep_stack_the_outermost_frames_are_kept);
  tcase_add_test(tests, stacks_are_those_of_the_unwinder);
  tcase_add_test(tests, a_coroutines_stack_ends_sooner);
}
