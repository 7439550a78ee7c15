/* SPDX-License-Identifier: MIT */
/* The calling thread's call stack as addresses, in fixed space: nothing is allocated, and nothing
 * is resolved to names. */
#ifndef CLPOOL_HOOKS_CALL_STACK_H
#define CLPOOL_HOOKS_CALL_STACK_H

#include <stddef.h>
#include <stdint.h>

enum {
  CLPI_MOST_FRAMES = 256,        /* of a deeper stack, only the outermost frames are kept */
  CLPI_MOST_LIBRARY_FRAMES = 64, /* the most between an exit and its entry */
  CLPI_RING_FRAMES = CLPI_MOST_FRAMES + CLPI_MOST_LIBRARY_FRAMES
};

/* Receives a frame as an address inside its call instruction: the return address minus 1. */
typedef void clpi_frame_visitor(uintptr_t address, void *argument);

/* Visits the frames of its caller and of all callers above, innermost first. */
typedef void clpi_stack_walker(clpi_frame_visitor *visitor, void *argument);

/* The walker that uses libgcc's unwinder, which reads the tables that compilers make for exceptions
 * and needs no frame pointers. On x86-64 it needs the unwinder only for calls that it has not seen
 * yet. It waits for no lock, unless the unwinder does, as with glibc before 2.35. */
clpi_stack_walker clpi_walk_stack;

/* The return address of a hook's callback. Use it only in the callback itself. */
#define CLPI_CALLBACK_RETURN __builtin_extract_return_addr(__builtin_return_address(0))

/* A ring of the program's frames, without the library's own. Counted from the innermost, frame n is
 * at n % CLPI_RING_FRAMES. */
typedef struct clpi_call_stack {
  size_t seen; /* how many frames there were, kept or not */
  uintptr_t recent[CLPI_RING_FRAMES];
} clpi_call_stack;

/* Fills `stack` with the calling thread's frames, and leaves out the callback's and the library's.
 * `callback_return` is the return address of the hook's callback: frames inside it are the
 * callback's. Frames from there to an entry (core/base/boundary.h), and from an exit to an entry,
 * are the library's. If no entry follows, they are kept: the program may have called the hook. */
void clpi_call_stack_capture(clpi_call_stack *stack, clpi_stack_walker *walk,
                             const void *callback_return);

static inline size_t clpi_call_stack_depth(const clpi_call_stack *stack)
{
  return stack->seen < CLPI_MOST_FRAMES ? stack->seen : CLPI_MOST_FRAMES;
}

/* Returns kept frame `n`; the outermost is 0. */
static inline uintptr_t clpi_call_stack_frame(const clpi_call_stack *stack, size_t n)
{
  return stack->recent[(stack->seen - 1 - n) % CLPI_RING_FRAMES];
}

#endif
