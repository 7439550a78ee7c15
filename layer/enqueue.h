/* SPDX-License-Identifier: MIT */
/* The program's work, shown to the order of its context, and kept within what the program asked
 * for: blocks are larger. Where memory runs out, pools give back what they hold, and it is tried
 * again. Defines the functions of a layer's table. */
#ifndef CLPOOL_LAYER_ENQUEUE_H
#define CLPOOL_LAYER_ENQUEUE_H

#include "context.h"

#include <CL/cl_layer.h>

void clpi_enqueue_fill(cl_icd_dispatch *functions);

/* Whether a call that failed with this code may succeed now: the pools have given memory back, and
 * the context's queues, if it is one of ours, have had time to be done with that. */
bool clpi_try_again(cl_int code, clpi_context *context);

#endif
