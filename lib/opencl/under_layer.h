/* SPDX-License-Identifier: MIT */
/* Pools under our layer that pools buffers (layer/run.c). The layer then leaves the buffers that a
 * pool takes to the driver. Otherwise two pools would manage each block. */
#ifndef CLPOOL_OPENCL_UNDER_LAYER_H
#define CLPOOL_OPENCL_UNDER_LAYER_H

#include <CL/cl.h>

/* The name of the layer's function, an extension of OpenCL. */
#define CLPI_CL_LEAVE_BUFFERS "clpoolLeaveBuffers"

/* Makes the layer leave the buffers of the calling thread to the driver, between CL_TRUE and
 * CL_FALSE. If the driver lacks memory, the layer gives back what it holds, but does not wait: the
 * thread holds the driver lock. The thread's pool waits later, without the lock. */
typedef void(CL_API_CALL *clpi_cl_leave_buffers)(cl_bool leave);

/* Returns the layer's function. NULL: there is no such layer. */
clpi_cl_leave_buffers clpi_cl_find_leave_buffers(void);

#endif
