/* SPDX-License-Identifier: MIT */
/* The calling thread's call stack, for a file: C's frames as addresses, and Python's lines. These
 * replace the interpreter's frames and all frames outside them. Python's lines are there if CPython
 * 3.10 or newer is in the process and the thread holds the interpreter's lock. Python gives that up
 * in calls that block. */
#ifndef CLPOOL_HOOKS_FRAMES_H
#define CLPOOL_HOOKS_FRAMES_H

#include "hooks/call_stack.h"
#include "hooks/call_tree.h"

enum { CLPI_FRAME_BYTES = 960 /* the most of a frame's text, with its end */ };

typedef struct clpi_python_line {
  void *code;   /* a reference to its code object */
  int position; /* of the call in the code; to find its line takes long */
} clpi_python_line;

typedef struct clpi_frames {
  int lock; /* what gives the interpreter's lock back; negative: it was not taken */
  size_t line_count, frame_count;
  clpi_python_line lines[CLPI_MOST_FRAMES]; /* innermost first */
  uintptr_t frames[CLPI_MOST_FRAMES];       /* outermost first; all inside the lines */
} clpi_frames;

/* Sets two addresses, in whose objects the innermost frames are left out. Before any other call. */
void clpi_frames_leave_out(const void *one, const void *other);

/* Reads the calling thread's stack. `callback_return` is as in clpi_call_stack_capture, or NULL. It
 * runs no code of the program. The locks that it may wait for are the dynamic linker's and, if it
 * `takes_lock` until clpi_frames_end, the interpreter's. */
void clpi_frames_read(clpi_frames *frames, const void *callback_return, bool takes_lock);

/* Releases what clpi_frames_read holds. Call it on the same thread. */
void clpi_frames_end(const clpi_frames *frames);

/* Receives a new frame: its number, its caller's (0: none), and file:line:function or
 * object+0xoffset, without control characters. */
typedef void clpi_frame_definer(uint32_t number, uint32_t caller, const char *text, void *argument);

/* Returns the number of the innermost frame, 0 if there is none, and defines new frames. Numbers
 * are those of nodes in `tree`, which the caller uses for nothing else. If host memory runs out, it
 * is the number of an outer frame. */
uint32_t clpi_frames_number(const clpi_frames *frames, clpi_call_tree *tree,
                            clpi_frame_definer *define, void *argument);

#endif
