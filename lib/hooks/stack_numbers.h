/* SPDX-License-Identifier: MIT */
/* Numbers of call stacks, and the frames of a number as text. Any thread. */
#ifndef CLPOOL_HOOKS_STACK_NUMBERS_H
#define CLPOOL_HOOKS_STACK_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* The innermost frames in the objects of this library and of an address are left out. Before any
 * other call. False: no host memory. */
bool clpi_stacks_begin(const void *left_out);

/* The calling thread's stack; takes Python's lock for a while. 0: it is not known. */
uint32_t clpi_stack_here(void);

/* The frames, innermost first, each with a null byte behind it; another null byte ends them. A
 * frame is "file:line function", or "object+0xoffset" where no line is known. The result is for
 * free. NULL: the stack is not known, or there is no host memory. */
char *clpi_stack_text(uint32_t stack);

#endif
