/* SPDX-License-Identifier: MIT */
/* A program that uses pools may run under our layer that pools buffers (layer/run.c). What a pool
 * takes, the layer then leaves to the driver, or blocks would come from two pools. */
#ifndef CLPOOL_OPENCL_UNDER_LAYER_H
#define CLPOOL_OPENCL_UNDER_LAYER_H

#include <CL/cl.h>

/* What the layer calls its function as an extension of OpenCL. */
#define CLPI_CL_LEAVE_BUFFERS "clpoolLeaveBuffers"

/* Buffers that the calling thread makes between CL_TRUE and CL_FALSE are left to the driver. Where
 * that lacks memory, the layer gives back what it holds and does not wait: the thread has the
 * driver's lock, and its pool waits without. */
typedef void(CL_API_CALL *clpi_cl_leave_buffers)(cl_bool leave);

/* The layer's function; NULL: there is no such layer. */
clpi_cl_leave_buffers clpi_cl_find_leave_buffers(void);

#endif
