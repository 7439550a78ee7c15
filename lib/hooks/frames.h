/* SPDX-License-Identifier: MIT */
/* Where the calling thread is, for a file: C's frames as addresses, whose names a reader looks up,
 * and Python's lines, which stand in place of the interpreter's frames and of all outside of them.
 * Python's lines are there if CPython 3.10 or newer is in the process and the thread holds the
 * interpreter's lock; nothing waits for it. */
#ifndef CLPOOL_HOOKS_FRAMES_H
#define CLPOOL_HOOKS_FRAMES_H

#include "hooks/call_stack.h"
#include "hooks/call_tree.h"

enum { CLPI_FRAME_BYTES = 960 /* the most of a frame's text, with its end */ };

typedef struct clpi_python_line {
  void *code;   /* a reference to its code object */
  int position; /* of the call in the code: to find its line takes long */
} clpi_python_line;

typedef struct clpi_frames {
  size_t line_count, frame_count;
  clpi_python_line lines[CLPI_MOST_FRAMES]; /* innermost first */
  uintptr_t frames[CLPI_MOST_FRAMES];       /* outermost first; all inside of the lines */
} clpi_frames;

/* Leaves out innermost frames of the objects that two addresses are in. Before any other call. */
void clpi_frames_leave_out(const void *one, const void *other);

/* Reads where the calling thread is. `callback_return` is as in clpi_call_stack_capture, or NULL.
 * No code of the program runs meanwhile, and no lock is waited for but the dynamic linker's. */
void clpi_frames_read(clpi_frames *frames, const void *callback_return);

/* Ends what was read, on the thread that read it. */
void clpi_frames_end(const clpi_frames *frames);

/* Receives a frame that is new: its number, its caller's (0: none), and file:line:function or
 * object+0xoffset, without control characters. */
typedef void clpi_frame_definer(uint32_t number, uint32_t caller, const char *text, void *argument);

/* The number of the innermost frame, 0 where there is none. Numbers are those of nodes in `tree`,
 * which is for nothing else. Without host memory for all frames it is the number of an outer one.
 */
uint32_t clpi_frames_number(const clpi_frames *frames, clpi_call_tree *tree,
                            clpi_frame_definer *define, void *argument);

#endif
