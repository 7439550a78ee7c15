/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/opencl.h - OpenCL memory: allocators for cl_mem buffers and shared virtual memory, and
 * buffers as what OpenCL takes.
 *
 * The only header of clpool that includes CL/cl.h. CL_TARGET_OPENCL_VERSION is the caller's.
 *
 * The library is not linked with OpenCL. It takes its functions from the program's own loader, when
 * they are first needed, or loads libOpenCL.so.1, or what the environment's CLPOOL_OPENCL_LIBRARY
 * names. Where there is none, what needs it is CLP_NOT_SUPPORTED, and the last error says why.
 *
 * The streams of these allocators (clpool/pool.h, "Stream order") are the command queues of their
 * context, on any of its devices, in-order and out-of-order ones. All work of an out-of-order queue
 * up to a moment is taken together: a barrier orders it before what comes later. Work that ends
 * with an error counts as done as soon as all earlier work of its queue has ended; commands of a
 * queue that was made to wait for it may fail as well, which is OpenCL's rule for events. */
#ifndef CLPOOL_OPENCL_H
#define CLPOOL_OPENCL_H

#include <CL/cl.h>
#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <clpool/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Buffers from clCreateBuffer in `context`, with `mem_flags` (pyopencl.tools.DeferredAllocator):
 * the driver decides when memory is really taken, so it may be missing where a buffer is first
 * used. PoCL's CPU devices end the process there, unless `mem_flags` has CL_MEM_ALLOC_HOST_PTR.
 * 0 flags mean CL_MEM_READ_WRITE. Retains the context. Name "cl-deferred".
 *
 * Out of memory is CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES or CL_OUT_OF_HOST_MEMORY.
 * With several devices in the context, a block must be allowed on all of them. Any thread.
 * CLP_INVALID_ARGUMENT: NULL context or out; flags that exclude each other, are for other objects
 *   than buffers, or bring their own memory (CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR).
 * CLP_NOT_SUPPORTED: there is no OpenCL.
 * CLP_BACKEND_ERROR: the context cannot be asked about its devices. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_deferred_allocator_create(cl_context context, cl_mem_flags mem_flags,
                                            clp_allocator **out);

/** As clp_cl_deferred_allocator_create, in the context of `queue`, but makes sure at once that the
 * memory exists on the queue's device (pyopencl.tools.ImmediateAllocator), so that out of memory is
 * reported here, where a pool can react: clEnqueueMigrateMemObjects with content undefined from
 * OpenCL 1.2 (on NVIDIA's devices a fill of one byte, since their driver crashes when other threads
 * give work to queues meanwhile), a small write before. That may still be pending on the queue when
 * an allocation returns, and leaves the content undefined: a first use on another queue must be
 * ordered after it, as clp_pool_allocate_on does. Retains the queue, which is the home stream. Name
 * "cl-immediate".
 *
 * PoCL's CPU devices (PoCL 1.8 and newer) cannot report at an enqueue that memory is missing: they
 * end the process. There the allocator adds CL_MEM_ALLOC_HOST_PTR to the flags, as CL_MEM_FLAGS of
 * its buffers shows, and clCreateBuffer reports it. A buffer is then memory as malloc gives it: a
 * limit of the address space (RLIMIT_AS) makes the allocation fail, but pages come on first use,
 * and the system ends processes that find none (a memory limit of a cgroup).
 * CLP_INVALID_ARGUMENT: NULL queue or out, flags as there. CLP_NOT_SUPPORTED: there is no OpenCL.
 * CLP_BACKEND_ERROR: the queue cannot be asked about its device. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_immediate_allocator_create(cl_command_queue queue, cl_mem_flags mem_flags,
                                             clp_allocator **out);

/** Which shared virtual memory to allocate. The defaults are zeros. */
typedef struct clp_cl_svm_options {
  size_t struct_size; /**< sizeof(clp_cl_svm_options) */
  cl_bitfield flags;  /**< cl_svm_mem_flags: CL_MEM_READ_WRITE (what 0 means), CL_MEM_READ_ONLY or
                         CL_MEM_WRITE_ONLY, with CL_MEM_SVM_FINE_GRAIN_BUFFER, and
                         CL_MEM_SVM_ATOMICS with that */
  size_t alignment;   /**< of every block, bytes: a power of two, at most the size of the devices'
                         largest built-in type (128, where OpenCL is whole). 0: that size */
  cl_command_queue queue; /**< the home stream; retained. NULL: none */
} clp_cl_svm_options;

/** The defaults. */
#define CLP_CL_SVM_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(clp_cl_svm_options), 0, 0, NULL                                                         \
  }

/** Shared virtual memory from clSVMAlloc in `context` (pyopencl.tools.SVMAllocator), coarse-grain
 * or fine-grain as the options say; NULL options are CLP_CL_SVM_OPTIONS_INIT. Memory is a pointer.
 * Retains the context and the queue. Name "cl-svm".
 *
 * With a home stream, memory is freed by clEnqueueSVMFree behind all work that the queue was given
 * before. Without, clSVMFree frees it at once, whatever may still use it, as PyOpenCL does: that is
 * for callers who have synchronized. Blocks that a pool got back on streams are freed by
 * clEnqueueSVMFree on their stream, or when the work there is done. A pool that is out of memory
 * waits for such frees. Where a device is NVIDIA's, whose driver does not survive clEnqueueSVMFree
 * beside other threads' calls, the host waits for that work instead and calls clSVMFree: with a
 * home stream it finishes that queue for each block, whichever streams used it.
 *
 * clSVMAlloc does not say why it fails, so everything else is ruled out before and its NULL is
 * CLP_OUT_OF_DEVICE_MEMORY. With several devices in the context, all must have what is asked for.
 * Any thread.
 * CLP_INVALID_ARGUMENT: NULL context or out; flags that exclude each other, that are unknown or not
 *   for shared virtual memory, CL_MEM_SVM_ATOMICS without CL_MEM_SVM_FINE_GRAIN_BUFFER; an
 *   alignment that is no power of two or too large; a queue of another context; a struct_size too
 *   small or with unknown fields set.
 * CLP_NOT_SUPPORTED: there is no OpenCL; a device is of OpenCL before 2.0, or does not have shared
 *   virtual memory of that kind.
 * CLP_BACKEND_ERROR: the context cannot be asked about its devices. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_svm_allocator_create(cl_context context, const clp_cl_svm_options *options,
                                       clp_allocator **out);

/** The buffer's memory as a cl_mem, borrowed: valid until the buffer is released, and not to be
 * released by the caller. Its CL_MEM_SIZE is clp_buffer_capacity. NULL for a buffer of zero bytes,
 * for NULL, and, with CLP_INVALID_ARGUMENT as last error, for memory that is no cl_mem. */
cl_mem clp_buffer_cl_mem(const clp_buffer *buffer);

/** The buffer's memory as a pointer to shared virtual memory, for clSetKernelArgSVMPointer and its
 * like; borrowed, valid until the buffer is released. clp_buffer_capacity bytes are there. NULL for
 * a buffer of zero bytes, for NULL, and, with CLP_INVALID_ARGUMENT as last error, for memory that
 * is none. */
void *clp_buffer_svm_pointer(const clp_buffer *buffer);

/** Bytes [origin, origin + bytes) of a buffer as a cl_mem of their own, as clCreateSubBuffer gives,
 * which refuses the buffers of a pool on an arena: those are sub-buffers. `*out` is the caller's,
 * who releases it before the buffer; it keeps nothing. The origin is aligned as the context's
 * devices demand (CL_DEVICE_MEM_BASE_ADDR_ALIGN). `flags` as for clp_pool_create_cl_mem. NVIDIA's
 * driver (580) crashes where several threads have work in flight on sub-buffers that overlap,
 * however it is ordered. Any thread. CLP_INVALID_ARGUMENT: NULL buffer or out; memory that is no
 * cl_mem; a region that is empty or not within clp_buffer_size; an origin that is not aligned;
 * other flags, or flags that do not go with the allocator's. Others as clCreateSubBuffer reports.
 */
clp_status clp_buffer_create_sub_buffer(const clp_buffer *buffer, cl_mem_flags flags, size_t origin,
                                        size_t bytes, cl_mem *out);

/** A plain cl_mem of `bytes`, for code that knows nothing of clpool: its last clReleaseMemObject
 * gives the memory back to the pool. `*out` is the caller's. It is a sub-buffer of a block of the
 * pool, so no sub-buffers can be made of it; CL_MEM_SIZE is what was asked for. It counts as an
 * active buffer: it keeps the pool and all that is beneath.
 *
 * Order. The last clReleaseMemObject is a clp_buffer_release: use the cl_mem on the allocator's
 * home stream alone (the release need not wait for work that was queued there before), or wait
 * before the release for the work that uses it. OpenCL says that the memory comes back only after
 * that work is done, but not every driver keeps to it: NVIDIA's does, and brings the memory back
 * some time after the release, from a thread of its own; PoCL 3.1 brings it back at the release.
 *
 * `flags` say how kernels and the host access it, as those of clCreateSubBuffer: CL_MEM_READ_WRITE
 * and its like, CL_MEM_HOST_READ_ONLY and its like; 0 for those of the allocator. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or out; a pool whose memory is no cl_mem; other flags, or flags
 *   that do not go with the allocator's; zero bytes, which OpenCL does not have.
 * Others as clp_pool_allocate, and as clCreateSubBuffer reports. */
clp_status clp_pool_create_cl_mem(clp_pool *pool, size_t bytes, cl_mem_flags flags, cl_mem *out);

#ifdef __cplusplus
}
#endif

#endif
