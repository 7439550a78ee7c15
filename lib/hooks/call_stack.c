/* SPDX-License-Identifier: MIT */
/* Capturing the call stack without the library's own frames. */
#include "hooks/call_stack.h"

#include <stdbool.h>

/* The bounds of the sections of core/base/boundary.h, named by the linker; NULL if a section is
 * empty. */
#define BOUND __attribute__((weak, visibility("hidden")))
extern const char __start_clpool_entry[] BOUND, __stop_clpool_entry[] BOUND;
extern const char __start_clpool_exit[] BOUND, __stop_clpool_exit[] BOUND;

/* Whose frames the walk is passing. It goes from the innermost frame outwards. */
typedef enum region {
  IN_HOOK,    /* the callback's, then the library's up to an entry: left out */
  IN_PROGRAM, /* the program's, up to an exit: kept */
  IN_LIBRARY  /* kept for now, and dropped if an entry follows: then they are the library's */
} region;

typedef struct capture {
  clpi_call_stack *stack;
  uintptr_t callback_return;
  region region;
  size_t seen_at_exit; /* while IN_LIBRARY: frames kept before the exit */
} capture;

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
  if (at->region == IN_HOOK && (is_entry(address) || address + 1 == at->callback_return))
    stack->seen = 0;
  if (is_entry(address)) {
    if (at->region == IN_LIBRARY)
      stack->seen = at->seen_at_exit;
    at->region = IN_PROGRAM;
    return;
  }
  if (at->region == IN_PROGRAM && is_exit(address)) {
    at->region = IN_LIBRARY;
    at->seen_at_exit = stack->seen;
    return;
  }
  if (at->region == IN_LIBRARY && stack->seen == at->seen_at_exit + CLPI_MOST_LIBRARY_FRAMES)
    at->region = IN_PROGRAM;
  stack->recent[stack->seen++ % CLPI_RING_FRAMES] = address;
}

void clpi_call_stack_capture(clpi_call_stack *stack, clpi_stack_walker *walker,
                             const void *callback_return)
{
  capture at = {.stack = stack, .callback_return = (uintptr_t)callback_return};
  stack->seen = 0;
  walker(keep_frame, &at);
}
