/* SPDX-License-Identifier: MIT */
/* What clpool/profile.h promises of frames: the walker's stacks, and those of the library that are
 * left out. */
#include "core/base/boundary.h"
#include "hooks/call_stack.h"
#include "support/suite.h"
#include "support/workers.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

/* Functions that are called, as they are, by a frame that stays. */
#define AND_STAY __asm__ volatile("" ::: "memory")
#define FUNCTION(name, call)                                                                       \
  __attribute__((noinline)) static void name(void)                                                 \
  {                                                                                                \
    call;                                                                                          \
    AND_STAY;                                                                                      \
  }

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

/* --- the walker --- */

/* As a hook's callback does it. */
FUNCTION(callback, clpi_call_stack_capture(&stack, clpi_walk_stack, CLPI_CALLBACK_RETURN))

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
      ck_assert(is_in(i, recurse));
  }
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
  const uint64_t way = clpt_chance_below(&from->self->chance, 16);
  if (from->left-- == 0)
    compare_walks(from->self);
  else if (way < 2)
    descend_with_room(from);
  else if (way < 9)
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

/* --- the library's own frames --- */

/* What stands for the library's functions is in the same sections as what it marks itself. */
static void (*exit_calls)(void);

FUNCTION(library_inside, callback())
CLPI_ENTRY FUNCTION(library_entry, library_inside()) FUNCTION(allocates, library_entry()) CLPI_ENTRY
    FUNCTION(entry_by_entry, library_entry()) FUNCTION(allocates_by_two_entries, entry_by_entry())

        CLPI_EXIT FUNCTION(library_exit, exit_calls())
            FUNCTION(library_between, library_exit()) CLPI_ENTRY
    FUNCTION(calling_entry, library_between()) FUNCTION(calls, calling_entry()) CLPI_EXIT
    FUNCTION(outer_exit, library_exit()) CLPI_ENTRY FUNCTION(entry_above_two_exits, outer_exit())
        FUNCTION(calls_by_two_exits, entry_above_two_exits())
            FUNCTION(calls_without_entry, library_exit())

    /* What is called, and who is seen: the program's callers of the entry and, if not NULL, around
     * it. An allocator of the library's own may call one of the program's; an exit without an entry
     * hides itself alone. */
    static const struct {
  void (*called)(void), (*inner)(void), (*outer)(void);
} shown[] = {
    {allocates, allocates, NULL},
    {allocates_by_two_entries, allocates_by_two_entries, NULL},
    {calls, allocates, calls},
    {calls_by_two_exits, allocates, calls_by_two_exits},
    {calls_without_entry, allocates, calls_without_entry},
};

START_TEST(the_librarys_frames_are_left_out)
{
  exit_calls = allocates;
  recurse(1);
  size_t above = clpi_call_stack_depth(&stack) - 1, frames = shown[_i].outer ? 2 : 1;
  shown[_i].called();
  ck_assert_uint_eq(stack.seen, above + frames);
  ck_assert(is_in_from_innermost(0, (void *)(uintptr_t)shown[_i].inner));
  ck_assert(is_in_from_innermost(frames - 1, (void *)(uintptr_t)shown[_i].called));
}
END_TEST

FUNCTION(recurse_and_allocate, recurse(CLPI_MOST_FRAMES))

/* What the library's frames would take the places of is what is furthest inside. */
START_TEST(of_a_deep_stack_no_frame_is_the_librarys)
{
  exit_calls = recurse_and_allocate;
  innermost_calls = allocates;
  calls();
  innermost_calls = callback;
  size_t i = 0;
  while (!is_in(i, calls))
    i++;
  ck_assert(is_in(i + 1, recurse_and_allocate));
  for (i += 2; i < CLPI_MOST_FRAMES; i++)
    ck_assert(is_in(i, recurse));
}
END_TEST

CLPT_MAIN("call stack", clpt_run)
{
  TCase *tests = clpt_case(suite, "call stack");
  tcase_add_test(tests, of_a_deep_stack_the_outermost_frames_are_kept);
  tcase_add_test(tests, stacks_are_those_of_the_unwinder);
  tcase_add_test(tests, a_coroutines_stack_ends_sooner);
  tcase_add_loop_test(tests, the_librarys_frames_are_left_out, 0, sizeof(shown) / sizeof(shown[0]));
  tcase_add_test(tests, of_a_deep_stack_no_frame_is_the_librarys);
}
