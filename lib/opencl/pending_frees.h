/* SPDX-License-Identifier: MIT */
/* The events of frees that command queues have not executed yet, of all allocators, for a thread
 * that needs the memory to wait for. */
#ifndef CLPOOL_OPENCL_PENDING_FREES_H
#define CLPOOL_OPENCL_PENDING_FREES_H

#include <CL/cl.h>
#include <clpool/status.h>

/* Adds the event of a free, and takes over the caller's reference. If host memory runs out, the
 * event is released, and nobody will wait for that free. */
void clpi_cl_pending_frees_add(const void *allocator, cl_context context, cl_event event);

/* Waits on the host for every free of the allocator that was added before, and for those of others
 * in the context 20 ms at most, since their queues may wait for what the caller does later. A free
 * that failed counts as done. CLP_BACKEND_ERROR: the first failure of clWaitForEvents; the other
 * events were waited for nevertheless. */
clp_status clpi_cl_pending_frees_wait(const void *allocator, cl_context context);

/* The allocator has ended; nobody will wait for its frees any more. In a pool's on_out_of_memory,
 * which frees memory so, it waits for them, 20 ms at most. */
void clpi_cl_pending_frees_leave(const void *allocator, cl_context context);

#endif
