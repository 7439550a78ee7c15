/* SPDX-License-Identifier: MIT */
/* Call stacks: the real walker's, and which frames are kept of made-up ones. */
#include "core/base/boundary.h"
#include "hooks/call_stack.h"
#include "support/profiles.h"
#include "support/suite.h"
#include "support/workers.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

/* Keeps a call from being a tail call: its frame is needed. */
#define AND_STAY __asm__ volatile("" ::: "memory")

static clpi_call_stack stack;

static bool is_in(size_t frame, const void *function)
{
  uintptr_t address = clpi_call_stack_frame(&stack, frame);
  return _Unwind_FindEnclosingFunction((void *)(address + 1)) == function;
}

/* The frame, counted from the innermost. */
static bool is_in_from_innermost(size_t frame, const void *function)
{
  return is_in(clpi_call_stack_depth(&stack) - 1 - frame, function);
}

/* --- The real walker --- */

/* As a hook's callback does it. */
__attribute__((noinline)) static void callback(void)
{
  clpi_call_stack_capture(&stack, clpi_walk_stack,
                          __builtin_extract_return_addr(__builtin_return_address(0)));
  AND_STAY;
}

__attribute__((noinline)) static void inner(void)
{
  callback();
  AND_STAY;
}

__attribute__((noinline)) static void outer(void)
{
  inner();
  AND_STAY;
}

START_TEST(frames_are_those_that_called_the_callback)
{
  outer();
  ck_assert_uint_gt(clpi_call_stack_depth(&stack), 3);
  ck_assert(is_in_from_innermost(0, inner));
  ck_assert(is_in_from_innermost(1, outer));
  ck_assert(!is_in_from_innermost(2, outer));
}
END_TEST

START_TEST(two_lines_of_a_function_are_two_addresses)
{
  callback();
  uintptr_t first = clpi_call_stack_frame(&stack, clpi_call_stack_depth(&stack) - 1);
  size_t depth = clpi_call_stack_depth(&stack);
  callback();
  ck_assert_uint_eq(clpi_call_stack_depth(&stack), depth);
  ck_assert_uint_ne(clpi_call_stack_frame(&stack, depth - 1), first);
}
END_TEST

static void (*innermost_calls)(void) = callback;

__attribute__((noinline)) static void recurse(unsigned levels) /* NOLINT: that is the test */
{
  if (levels > 1)
    recurse(levels - 1);
  else
    innermost_calls();
  AND_STAY;
}

START_TEST(of_a_deep_stack_the_outermost_frames_are_kept)
{
  outer();
  uintptr_t outermost = clpi_call_stack_frame(&stack, 0);
  size_t above = clpi_call_stack_depth(&stack) - 2;
  recurse(10000);
  ck_assert_uint_eq(clpi_call_stack_depth(&stack), CLPI_MOST_FRAMES);
  ck_assert_uint_eq(stack.seen, above + 10000);
  ck_assert_uint_eq(clpi_call_stack_frame(&stack, 0), outermost);
  for (size_t i = above; i < CLPI_MOST_FRAMES; i++)
    ck_assert(is_in(i, recurse));
}
END_TEST

/* Stacks by chance, of functions of which one has a frame of a size by chance: on a stack that was
 * seen before, the walker does without the unwinder, and finds the same. */

enum { STACKS = 4000, MOST_CALLS = 30, MOST_FRAMES = 200 };

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

typedef struct descent {
  clpt_worker *self;
  unsigned left; /* calls */
} descent;

__attribute__((noinline)) static void descend(descent *from); /* NOLINT: that is the test */

__attribute__((noinline)) static void descend_by_another_way(descent *from) /* NOLINT */
{
  char room[400];
  __asm__ volatile("" : : "r"(room) : "memory");
  descend(from);
  AND_STAY;
}

__attribute__((noinline)) static void descend_with_room(descent *from) /* NOLINT */
{
  char *room = __builtin_alloca(16 + clpt_chance_below(&from->self->chance, 20) * 16);
  __asm__ volatile("" : : "r"(room) : "memory");
  descend(from);
  AND_STAY;
}

static void descend(descent *from)
{
  if (from->left-- == 0)
    compare_walks(from->self);
  else if (clpt_chance_below(&from->self->chance, 8) == 0)
    descend_with_room(from);
  else if (clpt_chance_below(&from->self->chance, 2) == 0)
    descend_by_another_way(from);
  else
    descend(from);
  AND_STAY;
}

static void walk_by_chance(clpt_worker *self)
{
  for (unsigned i = 0; i < STACKS; i++) {
    descent from = {self, (unsigned)clpt_chance_below(&self->chance, MOST_CALLS)};
    descend(&from);
  }
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

/* --- The library's own frames --- */

/* These functions stand for the library's: what they call is in the same sections as what the
 * library marks itself. */

static void (*exit_calls)(void);

__attribute__((noinline)) static void library_inside(void)
{
  callback();
  AND_STAY;
}

CLPI_ENTRY static void library_entry(void)
{
  library_inside();
  AND_STAY;
}

__attribute__((noinline)) static void program_allocates(void)
{
  library_entry();
  AND_STAY;
}

CLPI_EXIT static void library_exit(void)
{
  exit_calls();
  AND_STAY;
}

__attribute__((noinline)) static void library_between(void)
{
  library_exit();
  AND_STAY;
}

CLPI_ENTRY static void other_library_entry(void)
{
  library_between();
  AND_STAY;
}

__attribute__((noinline)) static void program_calls(void)
{
  other_library_entry();
  AND_STAY;
}

START_TEST(what_the_entry_calls_is_left_out)
{
  program_allocates();
  ck_assert(is_in_from_innermost(0, program_allocates));
  ck_assert(!is_in_from_innermost(1, program_allocates));
}
END_TEST

CLPI_ENTRY static void entry_that_uses_another(void)
{
  library_entry();
  AND_STAY;
}

START_TEST(an_entry_may_use_another)
{
  callback();
  size_t depth = clpi_call_stack_depth(&stack);
  entry_that_uses_another();
  ck_assert_uint_eq(clpi_call_stack_depth(&stack), depth);
}
END_TEST

START_TEST(the_library_between_two_parts_of_the_program_is_left_out)
{
  exit_calls = program_allocates;
  program_calls();
  ck_assert(is_in_from_innermost(0, program_allocates));
  ck_assert(is_in_from_innermost(1, program_calls));
  ck_assert(!is_in_from_innermost(2, program_calls));
}
END_TEST

START_TEST(frames_that_are_left_out_take_no_room)
{
  exit_calls = program_allocates;
  recurse(1);
  size_t above = clpi_call_stack_depth(&stack) - 1;
  program_calls();
  ck_assert_uint_eq(stack.seen, above + 2);
}
END_TEST

/* An allocator of the library's own may call one of the program's. */
CLPI_EXIT static void outer_exit(void)
{
  library_exit();
  AND_STAY;
}

CLPI_ENTRY static void entry_above_two_exits(void)
{
  outer_exit();
  AND_STAY;
}

__attribute__((noinline)) static void program_above_two_exits(void)
{
  entry_above_two_exits();
  AND_STAY;
}

START_TEST(an_exit_may_call_another)
{
  exit_calls = program_allocates;
  program_above_two_exits();
  ck_assert(is_in_from_innermost(0, program_allocates));
  ck_assert(is_in_from_innermost(1, program_above_two_exits));
  ck_assert(!is_in_from_innermost(2, program_above_two_exits));
}
END_TEST

__attribute__((noinline)) static void program_calls_an_exit(void)
{
  library_exit();
  AND_STAY;
}

START_TEST(an_exit_without_an_entry_hides_itself_alone)
{
  recurse(1);
  size_t above = clpi_call_stack_depth(&stack) - 1;
  exit_calls = program_allocates;
  program_calls_an_exit();
  ck_assert(is_in_from_innermost(0, program_allocates));
  ck_assert(is_in_from_innermost(1, program_calls_an_exit));
  ck_assert_uint_eq(stack.seen, above + 2);
}
END_TEST

__attribute__((noinline)) static void recurse_and_allocate(void)
{
  recurse(CLPI_MOST_FRAMES);
  AND_STAY;
}

/* What the library's frames would take the places of is what is furthest inside. */
START_TEST(of_a_deep_stack_no_frame_is_the_librarys)
{
  exit_calls = recurse_and_allocate;
  innermost_calls = program_allocates;
  program_calls();
  innermost_calls = callback;
  size_t i = 0;
  while (!is_in(i, program_calls))
    i++;
  ck_assert(is_in(i + 1, recurse_and_allocate));
  for (i += 2; i < CLPI_MOST_FRAMES; i++)
    ck_assert(is_in(i, recurse));
}
END_TEST

/* --- Made-up stacks --- */

static void capture(void)
{
  clpi_call_stack_capture(&stack, clpt_walk, NULL);
}

START_TEST(an_empty_stack_has_no_frame)
{
  clpt_set_stack(NULL, 0);
  capture();
  ck_assert_uint_eq(clpi_call_stack_depth(&stack), 0);
}
END_TEST

START_TEST(frames_come_outermost_first)
{
  CLPT_SET_STACK(10, 20, 30);
  capture();
  ck_assert_uint_eq(clpi_call_stack_depth(&stack), 3);
  ck_assert_uint_eq(clpi_call_stack_frame(&stack, 0), 10);
  ck_assert_uint_eq(clpi_call_stack_frame(&stack, 2), 30);
}
END_TEST

START_TEST(a_stack_of_just_as_many_frames_as_fit_is_whole)
{
  uintptr_t addresses[CLPI_MOST_FRAMES + 1];
  for (size_t i = 0; i <= CLPI_MOST_FRAMES; i++)
    addresses[i] = i + 1;
  for (size_t count = CLPI_MOST_FRAMES - 1; count <= CLPI_MOST_FRAMES + 1; count++) {
    size_t kept = count < CLPI_MOST_FRAMES ? count : CLPI_MOST_FRAMES;
    clpt_set_stack(addresses, count);
    capture();
    ck_assert_uint_eq(clpi_call_stack_depth(&stack), kept);
    for (size_t i = 0; i < kept; i++)
      ck_assert_uint_eq(clpi_call_stack_frame(&stack, i), i + 1);
  }
}
END_TEST

START_TEST(the_callbacks_own_frames_are_left_out)
{
  CLPT_SET_STACK(10, 20, 30, 40);
  clpi_call_stack_capture(&stack, clpt_walk, (void *)21);
  ck_assert_uint_eq(clpi_call_stack_depth(&stack), 2);
  ck_assert_uint_eq(clpi_call_stack_frame(&stack, 1), 20);
}
END_TEST

CLPT_MAIN("call stack", clpt_run)
{
  TCase *walker = clpt_case(suite, "walker");
  tcase_add_test(walker, frames_are_those_that_called_the_callback);
  tcase_add_test(walker, two_lines_of_a_function_are_two_addresses);
  tcase_add_test(walker, of_a_deep_stack_the_outermost_frames_are_kept);
  tcase_add_test(walker, stacks_are_those_of_the_unwinder);
  tcase_add_test(walker, a_coroutines_stack_ends_sooner);
  TCase *library = clpt_case(suite, "the library's frames");
  tcase_add_test(library, what_the_entry_calls_is_left_out);
  tcase_add_test(library, an_entry_may_use_another);
  tcase_add_test(library, the_library_between_two_parts_of_the_program_is_left_out);
  tcase_add_test(library, frames_that_are_left_out_take_no_room);
  tcase_add_test(library, an_exit_may_call_another);
  tcase_add_test(library, an_exit_without_an_entry_hides_itself_alone);
  tcase_add_test(library, of_a_deep_stack_no_frame_is_the_librarys);
  TCase *made_up = clpt_case(suite, "made-up stacks");
  tcase_add_test(made_up, an_empty_stack_has_no_frame);
  tcase_add_test(made_up, frames_come_outermost_first);
  tcase_add_test(made_up, a_stack_of_just_as_many_frames_as_fit_is_whole);
  tcase_add_test(made_up, the_callbacks_own_frames_are_left_out);
}
