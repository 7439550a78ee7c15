/* SPDX-License-Identifier: MIT */
/* Call stacks by number, and their frames as text. Any thread. */
#ifndef CLPOOL_LAYER_STACKS_H
#define CLPOOL_LAYER_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Before any other call. False: no host memory. */
bool clpi_stacks_begin(void);

/* The calling thread's stack, without the layer's and the loader's frames. 0: it is not known. */
uint32_t clpi_stack_here(void);

/* Receives a frame: "file:line function", or "object+0xoffset" where no line is known. */
typedef void clpi_stack_visitor(const char *frame, void *argument);

/* Visits the frames of a stack, innermost first. */
void clpi_stack_show(uint32_t stack, clpi_stack_visitor *visitor, void *argument);

#endif
