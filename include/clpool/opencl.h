/* SPDX-License-Identifier: MIT */
/* clpool/opencl.h - OpenCL memory: allocators for cl_mem buffers.
 *
 * The only header of clpool that includes CL/cl.h. CL_TARGET_OPENCL_VERSION is the caller's. */
#ifndef CLPOOL_OPENCL_H
#define CLPOOL_OPENCL_H

#include <CL/cl.h>
#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Buffers from clCreateBuffer in `context`, with `mem_flags` (pyopencl.tools.DeferredAllocator):
 * memory exists when the driver likes, so it may prove to be missing where a buffer is first used.
 * 0 flags mean CL_MEM_READ_WRITE. Retains the context. Name "cl-deferred".
 *
 * Out of memory is CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES or CL_OUT_OF_HOST_MEMORY.
 * With several devices in the context, a block must suit them all. Any thread.
 * CLP_INVALID_ARGUMENT: NULL context or out; flags that exclude each other, are for other objects
 *   than buffers, or bring their own memory (CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR).
 * CLP_BACKEND_ERROR: the context cannot be asked about its devices. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_deferred_allocator_create(cl_context context, cl_mem_flags mem_flags,
                                            clp_allocator **out);

/** As above, in the context of `queue`, but makes sure at once that the memory exists on the
 * queue's device (pyopencl.tools.ImmediateAllocator), so that out of memory is reported here, where
 * a pool can react: clEnqueueMigrateMemObjects with content undefined from OpenCL 1.2, a small
 * write before. That may still be pending on the queue when this returns, and leaves the content
 * undefined: a first use on another queue must be ordered after it. Retains the queue, which is the
 * home stream. Name "cl-immediate".
 * CLP_INVALID_ARGUMENT: NULL queue or out, flags as above.
 * CLP_BACKEND_ERROR: the queue cannot be asked about its device. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_immediate_allocator_create(cl_command_queue queue, cl_mem_flags mem_flags,
                                             clp_allocator **out);

/** The buffer's memory as a cl_mem, borrowed: valid until the buffer is released, and not to be
 * released by the caller. Its CL_MEM_SIZE is clp_buffer_capacity. NULL for a buffer of zero bytes,
 * for NULL, and, with CLP_INVALID_ARGUMENT as last error, for memory that is no cl_mem. */
cl_mem clp_buffer_cl_mem(const clp_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
