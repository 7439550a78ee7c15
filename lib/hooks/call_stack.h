/* SPDX-License-Identifier: MIT */
/* The calling thread's call stack, as addresses in fixed space: no names, no memory. */
#ifndef CLPOOL_HOOKS_CALL_STACK_H
#define CLPOOL_HOOKS_CALL_STACK_H

#include <stddef.h>
#include <stdint.h>

enum {
  CLPI_MOST_FRAMES = 256,        /* of a deeper stack, so many are kept: the outermost */
  CLPI_MOST_LIBRARY_FRAMES = 64, /* between an exit and its entry there are no more */
  CLPI_FRAME_PLACES = CLPI_MOST_FRAMES + CLPI_MOST_LIBRARY_FRAMES
};

/* Told of a frame: an address inside of its call, so a byte before where it returns to. */
typedef void clpi_frame_visitor(uintptr_t address, void *argument);

/* Shows the frames of its caller and of all callers of that, innermost first. */
typedef void clpi_stack_walker(clpi_frame_visitor *visitor, void *argument);

/* libgcc's unwinder. It goes by the tables that compilers make for exceptions and needs no frame
 * pointers. It allocates nothing and takes no lock where the C library knows how to find those
 * tables without (glibc 2.35). */
clpi_stack_walker clpi_walk_stack;

/* The program's frames, without the library's own. Counted from the innermost, frame n is at
 * n % CLPI_FRAME_PLACES. */
typedef struct clpi_call_stack {
  size_t seen; /* all of them */
  uintptr_t recent[CLPI_FRAME_PLACES];
} clpi_call_stack;

/* Fills `stack`. `callback_return` is where the hook's callback returns to: what comes before that
 * is the callback's. From there on, and from an exit on, frames are the library's up to an entry
 * (core/base/boundary.h), if there is one: a hook may be called by hand, too, and an exit from a
 * function that is no entry. */
void clpi_call_stack_capture(clpi_call_stack *stack, clpi_stack_walker *walk,
                             const void *callback_return);

/* How many frames are kept. */
static inline size_t clpi_call_stack_depth(const clpi_call_stack *stack)
{
  return stack->seen < CLPI_MOST_FRAMES ? stack->seen : CLPI_MOST_FRAMES;
}

/* Frame `n` of them, the outermost is 0. */
static inline uintptr_t clpi_call_stack_frame(const clpi_call_stack *stack, size_t n)
{
  return stack->recent[(stack->seen - 1 - n) % CLPI_FRAME_PLACES];
}

#endif
