/* SPDX-License-Identifier: MIT */
/* The events of all allocators' frees that command queues have not executed yet. A thread that
 * needs the memory waits for them. */
#ifndef CLPOOL_OPENCL_PENDING_FREES_H
#define CLPOOL_OPENCL_PENDING_FREES_H

#include <CL/cl.h>
#include <clpool/status.h>

/* Adds the event of a free, and takes over the caller's reference. If host memory runs out, it
 * releases the event, and no thread will wait for that free. */
void clpi_cl_pending_frees_add(const void *allocator, cl_context context, cl_event event);

/* Waits on the host for all earlier frees of the allocator. It also waits for those of others in
 * the context, but 20 ms at most, because their queues may wait for something that the caller does
 * later. A free that failed counts as done. CLP_BACKEND_ERROR: the first failure of
 * clWaitForEvents; the call has still waited for the other events. */
clp_status clpi_cl_pending_frees_wait(const void *allocator, cl_context context);

/* Drops the frees of an allocator that has ended, so that no thread waits for them. Inside a pool's
 * on_out_of_memory, it first waits for them, 20 ms at most. */
void clpi_cl_pending_frees_leave(const void *allocator, cl_context context);

#endif
