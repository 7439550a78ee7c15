/* SPDX-License-Identifier: MIT */
/* The calls with which the program enqueues work: they note it for the order of its context
 * (order.h), and make the driver refuse ranges beyond the requested bytes, because blocks are
 * larger. */
#ifndef CLPOOL_LAYER_ENQUEUE_H
#define CLPOOL_LAYER_ENQUEUE_H

#include <CL/cl_layer.h>

/* Sets these functions in a layer's table. */
void clpi_enqueue_fill(cl_icd_dispatch *functions);

#endif
