/* SPDX-License-Identifier: MIT */
/* The program's work, shown to the order of its context, and kept within what the program asked
 * for: blocks are larger. Defines the functions of a layer's table. */
#ifndef CLPOOL_LAYER_ENQUEUE_H
#define CLPOOL_LAYER_ENQUEUE_H

#include <CL/cl_layer.h>

void clpi_enqueue_fill(cl_icd_dispatch *functions);

#endif
