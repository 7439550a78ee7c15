/* SPDX-License-Identifier: MIT */
/* Walking the stack, and leaving the library's own frames out. */
#include "hooks/call_stack.h"

#include <stdbool.h>
#include <unwind.h>

/* The linker's names for the bounds of the sections of core/base/boundary.h; NULL where one is
 * empty. */
#define BOUND __attribute__((weak, visibility("hidden")))
extern const char __start_clpool_entry[] BOUND, __stop_clpool_entry[] BOUND;
extern const char __start_clpool_exit[] BOUND, __stop_clpool_exit[] BOUND;

/* Whose frames the walk is at, innermost first. */
typedef enum place {
  AT_HOOK,    /* the callback's, then the library's up to an entry */
  AT_PROGRAM, /* the program's, up to an exit */
  AT_LIBRARY  /* the library's, if an entry follows */
} place;

typedef struct capture {
  clpi_call_stack *stack;
  uintptr_t callback_return;
  place place;
  size_t seen_at_exit; /* while AT_LIBRARY */
} capture;

typedef struct walk {
  clpi_frame_visitor *visitor;
  void *argument;
} walk;

static bool is_between(uintptr_t address, const char *start, const char *stop)
{
  return address >= (uintptr_t)start && address < (uintptr_t)stop;
}

static bool is_entry(uintptr_t address)
{
  return is_between(address, __start_clpool_entry, __stop_clpool_entry);
}

static bool is_exit(uintptr_t address)
{
  return is_between(address, __start_clpool_exit, __stop_clpool_exit);
}

static void keep_frame(uintptr_t address, void *argument)
{
  capture *at = argument;
  clpi_call_stack *stack = at->stack;
  if (at->place == AT_HOOK && (is_entry(address) || address + 1 == at->callback_return))
    stack->seen = 0;
  if (is_entry(address)) {
    if (at->place == AT_LIBRARY)
      stack->seen = at->seen_at_exit;
    at->place = AT_PROGRAM;
    return;
  }
  if (at->place == AT_PROGRAM && is_exit(address)) {
    at->place = AT_LIBRARY;
    at->seen_at_exit = stack->seen;
    return;
  }
  if (at->place == AT_LIBRARY && stack->seen == at->seen_at_exit + CLPI_MOST_LIBRARY_FRAMES)
    at->place = AT_PROGRAM;
  stack->recent[stack->seen++ % CLPI_FRAME_PLACES] = address;
}

void clpi_call_stack_capture(clpi_call_stack *stack, clpi_stack_walker *walker,
                             const void *callback_return)
{
  capture at = {.stack = stack, .callback_return = (uintptr_t)callback_return};
  stack->seen = 0;
  walker(keep_frame, &at);
}

static _Unwind_Reason_Code show_frame(struct _Unwind_Context *context, void *argument)
{
  const walk *to = argument;
  int at_instruction =
      0; /* a signal came in: the address is the instruction's, none returns there */
  uintptr_t address = _Unwind_GetIPInfo(context, &at_instruction);
  if (!address)
    return _URC_END_OF_STACK;
  to->visitor(at_instruction ? address : address - 1, to->argument);
  return _URC_NO_REASON;
}

void clpi_walk_stack(clpi_frame_visitor *visitor, void *argument)
{
  walk to = {visitor, argument};
  _Unwind_Backtrace(show_frame, &to);
}
